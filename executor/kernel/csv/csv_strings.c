/*
 * Strings are numbered as they come, by a table with linear probing of its own: a short string is its slot's key, so
 * that nothing else is fetched to compare it, and the slots of sixteen strings are fetched together. Strings are
 * copied sixteen bytes at a time.
 */
#include "kernel/csv/csv_strings.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "kernel/core/scratch.h"

enum {
    SHORT = 12, /* a string of so many bytes is in its slot */
    SLOTS_LEAST = 1024,
    GROUP = 16,       /* strings whose slots are fetched together */
    PROBATION = 4096, /* after so many rows a column of too many different strings is given up */
    SLACK = 64,       /* behind buffers: strings are copied 16 bytes at a time */
};

/* Short strings: their bytes, zeros behind them (none has a zero inside). Longer ones: their hash. */
struct key {
    uint64_t a;
    uint32_t b;
};

struct slot {
    uint64_t a;
    uint32_t b;
    int32_t code; /* code + 1 of a short string, -(code + 1) of a longer one; 0: free */
};

struct csv_strings {
    bool plain;
    int64_t rows;
    int64_t rows_max;
    int64_t nulls;
    size_t text_guess;
    int32_t *codes;   /* encoded */
    int32_t *offsets; /* of entries, or of rows */
    int64_t offsets_room;
    int64_t entries;
    char *text;
    size_t text_size;
    size_t text_room;
    struct slot *slots;
    size_t mask;
};

void
csv_strings_destroy(struct csv_strings *strings)
{
    if (strings != NULL) {
        free(strings->codes);
        free(strings->offsets);
        free(strings->text);
        scratch_free(strings->slots);
        free(strings);
    }
}

/* ---- room ---- */

static void *
column_alloc(size_t size)
{
    return aligned_alloc(64, (size + 64) / 64 * 64);
}

static granary_err
text_room(struct csv_strings *strings, size_t more)
{
    size_t room = strings->text_room;
    char *grown;

    if (strings->text != NULL && more <= room - strings->text_size) {
        return GRANARY_OK;
    }
    if (more > (size_t)INT32_MAX - strings->text_size) {
        return gr_fail(GRANARY_EFULL, "more than 2 GiB of text in one column of a chunk; use smaller chunks");
    }
    room = room < 4096 ? 4096 : room;
    while (room - strings->text_size < more) {
        room *= 2;
    }
    grown = column_alloc(room + SLACK);
    if (grown == NULL) {
        return gr_no_memory("strings");
    }
    if (strings->text_size > 0) {
        memcpy(grown, strings->text, strings->text_size);
    }
    free(strings->text);
    strings->text = grown;
    strings->text_room = room;
    return GRANARY_OK;
}

static granary_err
offsets_room(struct csv_strings *strings)
{
    int64_t room = strings->offsets_room * 4;
    int32_t *grown = column_alloc(((size_t)room + 1) * sizeof *grown);

    if (grown == NULL) {
        return gr_no_memory("strings");
    }
    memcpy(grown, strings->offsets, ((size_t)strings->offsets_room + 1) * sizeof *grown);
    free(strings->offsets);
    strings->offsets = grown;
    strings->offsets_room = room;
    return GRANARY_OK;
}

granary_err
csv_strings_create(int64_t rows_max, size_t text_guess, struct csv_strings **ret_strings)
{
    struct csv_strings *strings = calloc(1, sizeof *strings);

    if (strings == NULL) {
        return gr_no_memory("strings");
    }
    strings->rows_max = rows_max;
    strings->text_guess = text_guess;
    strings->offsets_room = SLOTS_LEAST;
    strings->mask = SLOTS_LEAST - 1;
    strings->codes = column_alloc((size_t)rows_max * sizeof *strings->codes);
    strings->offsets = column_alloc((SLOTS_LEAST + 1) * sizeof *strings->offsets);
    strings->slots = scratch_alloc(SLOTS_LEAST * sizeof *strings->slots);
    if (strings->codes == NULL || strings->offsets == NULL || strings->slots == NULL) {
        csv_strings_destroy(strings);
        return gr_no_memory("strings");
    }
    memset(strings->slots, 0, SLOTS_LEAST * sizeof *strings->slots);
    strings->offsets[0] = 0;
    *ret_strings = strings;
    return GRANARY_OK;
}

/* ---- the table ---- */

static inline uint64_t
load_eight(const char *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Whether one of the low `bytes` bytes is zero. */
static inline bool
has_zero(uint64_t word, size_t bytes)
{
    uint64_t zeros = (word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080);

    return bytes < 8 ? (zeros & ((UINT64_C(1) << 8 * bytes) - 1)) != 0 : zeros != 0;
}

/* The key of a string; *ret_short: it is all of it. */
static inline struct key
key_of(const struct csv_string *string, bool *ret_short)
{
    struct key key = {0, 0};
    size_t size = string->size;

    if (size <= SHORT) {
        uint64_t low = size == 0 ? 0 : load_eight(string->bytes);
        uint64_t high = size <= 8 ? 0 : load_eight(string->bytes + 8);

        key.a = size >= 8 ? low : low & ((UINT64_C(1) << 8 * size) - 1);
        key.b = size <= 8 ? 0 : (uint32_t)(high & ((UINT64_C(1) << 8 * (size - 8)) - 1));
        if (!has_zero(low, size < 8 ? size : 8) &&
            (size <= 8 || !has_zero(key.b | ~UINT64_C(0) << 8 * (size - 8), 4))) {
            *ret_short = true;
            return key;
        }
    }
    key.a = XXH3_64bits(string->bytes, size);
    key.b = (uint32_t)size;
    *ret_short = false;
    return key;
}

static inline size_t
slot_of(uint64_t a, uint32_t b)
{
    uint64_t hash = (a ^ (uint64_t)b << 29) * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)((hash ^ hash >> 32) * UINT64_C(0xc2b2ae3d27d4eb4f) >> 24);
}

static granary_err
slots_grow(struct csv_strings *strings)
{
    size_t count = 4 * (strings->mask + 1);
    struct slot *slots = scratch_alloc(count * sizeof *slots);

    if (slots == NULL) {
        return gr_no_memory("strings");
    }
    memset(slots, 0, count * sizeof *slots);
    for (size_t i = 0; i <= strings->mask; i++) {
        if (strings->slots[i].code != 0) {
            size_t at = slot_of(strings->slots[i].a, strings->slots[i].b) & (count - 1);

            while (slots[at].code != 0) {
                at = (at + 1) & (count - 1);
            }
            slots[at] = strings->slots[i];
        }
    }
    scratch_free(strings->slots);
    strings->slots = slots;
    strings->mask = count - 1;
    return GRANARY_OK;
}

static inline void
append_text(struct csv_strings *strings, const struct csv_string *string)
{
    char *to = strings->text + strings->text_size;

    if (string->size <= 16) {
        memcpy(to, string->bytes, 16);
    } else {
        memcpy(to, string->bytes, string->size);
    }
    strings->text_size += string->size;
}

static granary_err
add_entry(struct csv_strings *strings, const struct csv_string *string, struct key key, bool is_short, size_t at)
{
    granary_err err = text_room(strings, string->size);
    int32_t number = (int32_t)strings->entries + 1;

    if (err == GRANARY_OK && strings->entries == strings->offsets_room) {
        err = offsets_room(strings);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    append_text(strings, string);
    strings->offsets[++strings->entries] = (int32_t)strings->text_size;
    strings->slots[at] = (struct slot){key.a, key.b, is_short ? number : -number};
    return (size_t)strings->entries * 2 > strings->mask ? slots_grow(strings) : GRANARY_OK;
}

static bool
is_entry(const struct csv_strings *strings, int32_t code, const struct csv_string *string)
{
    int32_t begin = strings->offsets[code];

    return (size_t)(strings->offsets[code + 1] - begin) == string->size &&
           memcmp(strings->text + begin, string->bytes, string->size) == 0;
}

static inline granary_err
find_code(struct csv_strings *strings, const struct csv_string *string, struct key key, bool is_short,
          int32_t *ret_code)
{
    size_t at = slot_of(key.a, key.b) & strings->mask;

    for (;; at = (at + 1) & strings->mask) {
        const struct slot *slot = &strings->slots[at];

        if (slot->code == 0) {
            *ret_code = (int32_t)strings->entries;
            return add_entry(strings, string, key, is_short, at);
        }
        if (slot->a == key.a && slot->b == key.b && (slot->code > 0) == is_short &&
            (is_short || is_entry(strings, -slot->code - 1, string))) {
            *ret_code = (is_short ? slot->code : -slot->code) - 1;
            return GRANARY_OK;
        }
    }
}

/* ---- plain ---- */

/* Rows' strings instead of codes. */
static granary_err
become_plain(struct csv_strings *strings)
{
    int32_t *offsets = column_alloc(((size_t)strings->rows_max + 1) * sizeof *offsets);
    int32_t *entry_offsets = strings->offsets;
    char *entry_text = strings->text;
    granary_err err = offsets == NULL ? gr_no_memory("strings") : GRANARY_OK;

    if (err != GRANARY_OK) {
        return err;
    }
    strings->offsets = offsets;
    strings->offsets_room = strings->rows_max;
    strings->text = NULL;
    strings->text_size = strings->text_room = 0;
    offsets[0] = 0;
    err = text_room(strings, strings->text_guess > INT32_MAX / 2 ? INT32_MAX / 2 : strings->text_guess + SLACK);
    for (int64_t i = 0; err == GRANARY_OK && i < strings->rows; i++) {
        int32_t code = strings->codes[i]; /* -1: null, as long as rows are added */

        if (code >= 0) {
            size_t size = (size_t)(entry_offsets[code + 1] - entry_offsets[code]);

            err = text_room(strings, size);
            if (err == GRANARY_OK && size > 0) {
                memcpy(strings->text + strings->text_size, entry_text + entry_offsets[code], size);
                strings->text_size += size;
            }
        }
        offsets[i + 1] = (int32_t)strings->text_size;
    }
    free(entry_offsets);
    free(entry_text);
    free(strings->codes);
    scratch_free(strings->slots);
    strings->codes = NULL;
    strings->slots = NULL;
    strings->plain = true;
    return err;
}

static granary_err
add_plain(struct csv_strings *strings, const struct csv_string *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i].bytes != NULL) {
            granary_err err = text_room(strings, values[i].size);

            if (err != GRANARY_OK) {
                return err;
            }
            append_text(strings, &values[i]);
        }
        strings->offsets[++strings->rows] = (int32_t)strings->text_size;
    }
    return GRANARY_OK;
}

/* ---- columns ---- */

static granary_err
add_codes(struct csv_strings *strings, const struct csv_string *values, size_t count)
{
    struct key keys[GROUP];
    bool shorts[GROUP];
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count; i++) {
        if (values[i].bytes != NULL) {
            keys[i] = key_of(&values[i], &shorts[i]);
            __builtin_prefetch(&strings->slots[slot_of(keys[i].a, keys[i].b) & strings->mask]);
        }
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        int32_t code = -1;

        if (values[i].bytes != NULL) {
            err = find_code(strings, &values[i], keys[i], shorts[i], &code);
        } else {
            strings->nulls++;
        }
        strings->codes[strings->rows++] = code;
    }
    return err;
}

/* Whether too many of the strings so far are different. */
static bool
is_hopeless(const struct csv_strings *strings)
{
    int64_t rows = strings->rows - strings->nulls;

    return strings->entries > strings->rows_max / 4 || (rows >= PROBATION && strings->entries > rows / 2);
}

granary_err
csv_strings_add(struct csv_strings *strings, const struct csv_string *values, size_t count)
{
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && count > 0) {
        size_t now = strings->plain || count < GROUP ? count : GROUP;

        err = strings->plain ? add_plain(strings, values, now) : add_codes(strings, values, now);
        if (err == GRANARY_OK && !strings->plain && is_hopeless(strings)) {
            err = become_plain(strings);
        }
        values += now;
        count -= now;
    }
    return err;
}

granary_err
csv_strings_finish(struct csv_strings *strings, uint8_t *validity, struct gr_column *ret_column)
{
    struct gr_column text = {.view = {.dtype = GRANARY_STRING}, .owned = true};
    struct gr_column codes = {.view = {.dtype = GRANARY_INT32, .rows = strings->rows, .validity = validity},
                              .owned = true};
    struct gr_dictionary *dictionary;
    granary_err err = GRANARY_OK;

    if (!strings->plain && (strings->entries == 0 || strings->entries > (strings->rows - strings->nulls) / 4)) {
        err = become_plain(strings);
    }
    err = err == GRANARY_OK ? text_room(strings, SLACK) : err; /* there is some text, even if it is empty */
    if (err != GRANARY_OK) {
        free(validity);
        return err;
    }
    memset(strings->text + strings->text_size, 0, SLACK);
    text.view.rows = strings->plain ? strings->rows : strings->entries;
    text.view.validity = strings->plain ? validity : NULL;
    text.view.offsets = strings->offsets;
    text.view.values = strings->text;
    strings->offsets = NULL;
    strings->text = NULL;
    if (strings->plain) {
        gr_column_finish(&text);
        *ret_column = text;
        return GRANARY_OK;
    }
    codes.view.values = strings->codes;
    strings->codes = NULL;
    gr_column_finish(&codes); /* nulls are 0 from now on */
    err = gr_dictionary_create(&text, &dictionary);
    if (err != GRANARY_OK) {
        gr_column_free(&codes);
        return err;
    }
    gr_column_set_dictionary(&codes, dictionary);
    *ret_column = codes;
    return GRANARY_OK;
}
