/*
 * Texts by the rules of languages and of Unicode: collation_key() and nfc_normalize(). ICU knows these (https://icu.unicode.org),
 * a library that need not be there: whichever release is found is loaded when a text first asks for it. The names of its
 * functions end in the release's number, and have not changed their types since release 50.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/rows/text/text.h"
#include "kernel/rows/text/utf8.h"

enum { OLDEST = 50, NEWEST = 120, LANGUAGE_BYTES = 16, SHORT = 256, VALID_LOCALE = 1 };

/* ICU's functions, as its headers declare them with types of their own. */
static struct icu {
    void *(*open)(const char *language, int *status);
    void (*close)(void *collator);
    const char *(*language_of)(const void *collator, int type, int *status);
    int32_t (*key)(const void *collator, const uint16_t *text, int32_t size, uint8_t *key, int32_t room);
    uint16_t *(*from_utf8)(uint16_t *to, int32_t room, int32_t *size, const char *from, int32_t bytes, int *status);
    char *(*to_utf8)(char *to, int32_t room, int32_t *bytes, const uint16_t *from, int32_t size, int *status);
    const void *(*composing)(int *status);
    int32_t (*normalize)(const void *rules, const uint16_t *from, int32_t size, uint16_t *to, int32_t room,
                         int *status);
    bool there;
} icu;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

/* ---- the library ---- */

static bool
find(void *library, const char *name, int release, void *function)
{
    char versioned[64];
    void *found;

    (void)snprintf(versioned, sizeof versioned, "%s_%d", name, release);
    found = dlsym(library, versioned);
    memcpy(function, &found, sizeof found); /* a pointer to data and one to a function have one size, says POSIX */
    return found != NULL;
}

static void
load(void)
{
    void *library = NULL;
    int release = NEWEST + 1;

    while (library == NULL && --release >= OLDEST) {
        char name[64];

        (void)snprintf(name, sizeof name, "libicui18n.so.%d", release);
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL); /* it stays */
    }
    icu.there = library != NULL && find(library, "ucol_open", release, &icu.open) &&
                find(library, "ucol_close", release, &icu.close) &&
                find(library, "ucol_getLocaleByType", release, &icu.language_of) &&
                find(library, "ucol_getSortKey", release, &icu.key) &&
                find(library, "u_strFromUTF8", release, &icu.from_utf8) &&
                find(library, "u_strToUTF8", release, &icu.to_utf8) &&
                find(library, "unorm2_getNFCInstance", release, &icu.composing) &&
                find(library, "unorm2_normalize", release, &icu.normalize);
}

static bool
is_there(void)
{
    (void)pthread_once(&loaded, load);
    return icu.there;
}

/* ---- texts ---- */

/* A text in UTF-16, which is for free() unless it is in `own`. NULL: no memory, or it is no UTF-8. */
static uint16_t *
wide_of(const struct rows_text *text, uint16_t own[SHORT], int32_t *ret_size)
{
    uint16_t *wide = text->size <= SHORT ? own : malloc(text->size * sizeof *wide);
    int status = 0;

    if (wide != NULL) {
        (void)icu.from_utf8(wide, (int32_t)(text->size <= SHORT ? SHORT : text->size), ret_size,
                            text->size > 0 ? text->bytes : "", (int32_t)text->size, &status);
    }
    if (status > 0 && wide != own) {
        free(wide);
    }
    return status > 0 ? NULL : wide;
}

static void
wide_free(uint16_t *wide, const uint16_t *own)
{
    if (wide != own) {
        free(wide);
    }
}

/* ---- collation_key ---- */

/* The rules of a language; NULL: there are none. They stay until another language is asked for. */
static const void *
collator_of(const struct rows_text *language)
{
    static _Thread_local char last[LANGUAGE_BYTES];
    static _Thread_local void *collator;
    char name[LANGUAGE_BYTES] = {0};
    int status = 0;

    if (language->size == 0 || language->size >= sizeof name) {
        return NULL;
    }
    memcpy(name, language->bytes, language->size);
    name[language->size] = '\0';
    if (collator != NULL && strcmp(name, last) == 0) {
        return collator;
    }
    if (collator != NULL) {
        icu.close(collator);
    }
    collator = icu.open(name, &status);
    if (status <= 0 && collator != NULL) { /* of a language it does not know it gives the common rules */
        const char *known = icu.language_of(collator, VALID_LOCALE, &status);

        status = known == NULL || strcmp(known, "root") == 0 ? 1 : status;
    }
    if (status > 0 && collator != NULL) {
        icu.close(collator);
        collator = NULL;
    }
    memcpy(last, name, sizeof last);
    return collator;
}

static void
add_hex(struct gr_buf *out, const uint8_t *bytes, int32_t size)
{
    static const char digits[] = "0123456789ABCDEF";

    for (int32_t i = 0; i < size; i++) {
        const char pair[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};

        gr_buf_add(out, pair, sizeof pair);
    }
}

bool
text_collation_key(struct text_call *call)
{
    const void *collator = is_there() ? collator_of(&call->texts[1]) : NULL;
    uint16_t own[SHORT];
    uint8_t own_key[4 * SHORT];
    uint8_t *key = own_key;
    int32_t size = 0;
    int32_t bytes;
    uint16_t *wide =
        collator == NULL || call->texts[0].size > INT32_MAX / 8 ? NULL : wide_of(&call->texts[0], own, &size);

    if (wide == NULL) {
        return false;
    }
    bytes = icu.key(collator, wide, size, key, sizeof own_key);
    if (bytes > (int32_t)sizeof own_key) {
        key = malloc((size_t)bytes);
        call->no_memory = key == NULL;
        bytes = key == NULL ? 0 : icu.key(collator, wide, size, key, bytes);
    }
    if (bytes > 0) {
        add_hex(call->out, key, bytes - 1); /* a zero ends it */
    }
    if (key != own_key) {
        free(key);
    }
    wide_free(wide, own);
    return true;
}

/* ---- nfc_normalize ---- */

bool
text_nfc_normalize(struct text_call *call)
{
    const struct rows_text *text = &call->texts[0];
    int status = 0;
    uint16_t own[SHORT];
    uint16_t *wide;
    uint16_t *made;
    char *utf8;
    int32_t size = 0;
    int32_t bytes = 0;

    if (rows_is_ascii(text)) {
        return text_give(call, *text);
    }
    wide = !is_there() || text->size > INT32_MAX / 8 ? NULL : wide_of(text, own, &size);
    if (wide == NULL) {
        return false;
    }
    /* A character becomes three at most, each of which has up to three bytes. */
    made = malloc((size_t)size * 3 * sizeof *made + 1);
    utf8 = malloc((size_t)size * 9 + 1);
    call->no_memory = made == NULL || utf8 == NULL;
    if (!call->no_memory) {
        int32_t count = icu.normalize(icu.composing(&status), wide, size, made, 3 * size, &status);

        (void)icu.to_utf8(utf8, 9 * size, &bytes, made, status > 0 ? 0 : count, &status);
    }
    if (status <= 0 && !call->no_memory) {
        gr_buf_add(call->out, utf8, (size_t)bytes);
    }
    free(made);
    free(utf8);
    wide_free(wide, own);
    return status <= 0;
}
