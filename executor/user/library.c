/*
 * Libraries are loaded with dlopen() from files in memory (memfd_create), one a version: the loader takes the same
 * path for the same library.
 */
#include "executor/user/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/id.h"
#include "base/text/buf.h"

#define SYMBOL_MAX 256

void
libraries_init(struct libraries *libraries)
{
    libraries->first = NULL;
    libraries->end = &libraries->first;
}

void
libraries_fini(struct libraries *libraries)
{
    for (struct library *library = libraries->first, *next; library != NULL; library = next) {
        next = library->next;
        for (struct function *function = library->functions, *after; function != NULL; function = after) {
            after = function->next;
            free(function);
        }
        gr_fd_close(&library->file);
        granary__library__free_unpacked(library->message, NULL);
        free(library);
    }
    libraries_init(libraries);
}

const char *
library_session(const char *session)
{
    return session == NULL || session[0] == '\0' ? "default" : session;
}

static struct library *
library_find(const struct libraries *libraries, const char *session, const char *name, const char *version)
{
    struct library *library = libraries->first;

    session = library_session(session);
    while (library != NULL &&
           (strcmp(library->message->name, name) != 0 || strcmp(library->message->version, version) != 0 ||
            strcmp(library_session(library->message->session), session) != 0)) {
        library = library->next;
    }
    return library;
}

granary_err
libraries_add(struct libraries *libraries, Granary__Library *message)
{
    struct library *library = library_find(libraries, message->session, message->name, message->version);

    if (library != NULL) {
        granary__library__free_unpacked(library->message, NULL);
        library->message = message;
        return GRANARY_OK;
    }
    library = malloc(sizeof *library);
    if (library == NULL) {
        granary__library__free_unpacked(message, NULL);
        return gr_fail(GRANARY_ENOMEM, "no memory for a library");
    }
    *library = (struct library){.message = message, .file = -1};
    *libraries->end = library;
    libraries->end = &library->next;
    return GRANARY_OK;
}

granary_err
libraries_find(const struct libraries *libraries, const char *session, const char *name, const char *version,
               struct library **ret_library)
{
    struct library *library = library_find(libraries, session, name, version);

    if (library == NULL) {
        return gr_fail(GRANARY_ENOENT,
                       "library '%s' version %s: not exported to session '%s': export it again with "
                       "`granary export`",
                       name, version, library_session(session));
    }
    *ret_library = library;
    return GRANARY_OK;
}

/* ---- loading ---- */

/* The sealed file as one in memory, if it is what was exported. */
static granary_err
take_file(struct library *library, granary_client *client)
{
    const Granary__Library *message = library->message;
    char version[33];
    granary_view view;
    granary_id id;
    granary_err err;

    if (message->object.len != sizeof id.bytes) {
        return gr_fail(GRANARY_EPROTO, "an object's id has 16 bytes, not %zu", message->object.len);
    }
    memcpy(id.bytes, message->object.data, sizeof id.bytes);
    err = granary_object_get(client, id, 0, &view);
    if (err == GRANARY_ENOENT) {
        return gr_fail(err, "its file was deleted from the store: export it again with `granary export`");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    gr_hash128_format(view.data, view.data_size, version);
    if (strcmp(version, message->version) != 0) {
        err = gr_fail(GRANARY_ECORRUPT, "its file has other bytes than were exported: export it again");
    }
    if (err == GRANARY_OK && (library->file = memfd_create(message->name, MFD_CLOEXEC)) < 0) {
        err = gr_fail_errno("a file in memory");
    }
    if (err == GRANARY_OK) {
        err = gr_write_all(library->file, view.data, view.data_size);
    }
    granary_object_release(client, &view);
    return err;
}

granary_err
library_load(struct library *library, granary_client *client)
{
    char path[64];
    granary_err err;

    if (library->handle != NULL) {
        return GRANARY_OK;
    }
    err = take_file(library, client);
    if (err == GRANARY_OK) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", library->file);
        library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library->handle == NULL) {
            const char *why = dlerror();
            size_t length = strlen(path);

            /* The message begins with the file's name, which says nothing to anybody. */
            if (why != NULL && strncmp(why, path, length) == 0 && strncmp(why + length, ": ", 2) == 0) {
                why += length + 2;
            }
            err = gr_fail(GRANARY_EINVAL, "cannot be loaded: %s", why == NULL ? "?" : why);
        }
    }
    if (err != GRANARY_OK) {
        gr_fd_close(&library->file);
        return gr_fail_in(err, "library '%s'", library->message->name);
    }
    return GRANARY_OK;
}

/* ---- symbols ---- */

/* Names of what it declares, for a message. */
static const char *
names_of(const struct library *library, bool reusables, char *text, size_t size)
{
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < library->message->n_symbols && at < size - 1; i++) {
        const Granary__Symbol *symbol = library->message->symbols[i];

        if ((symbol->is_reusable != 0) == reusables) {
            int length = snprintf(text + at, size - at, "%s%s", at == 0 ? "" : ", ", symbol->name);

            at += length > 0 ? (size_t)length : 0;
        }
    }
    return text[0] == '\0' ? "none" : text;
}

granary_err
library_function(struct library *library, const char *name, struct function **ret_function)
{
    const char *of = library->message->name;
    const granary_function_info *info;
    char symbol[SYMBOL_MAX];
    char names[256];
    struct function *function = library->functions;

    while (function != NULL && strcmp(function->info->name, name) != 0) {
        function = function->next;
    }
    if (function != NULL) {
        *ret_function = function;
        return GRANARY_OK;
    }
    (void)snprintf(symbol, sizeof symbol, "granary_function_%s", name);
    info = dlsym(library->handle, symbol);
    if (info == NULL) {
        bool there = dlsym(library->handle, name) != NULL;

        return there ? gr_fail(GRANARY_EINVAL,
                               "library '%s' has a symbol '%s' but does not declare it: define it with "
                               "GRANARY_FUNCTION(%s)",
                               of, name, name)
                     : gr_fail(GRANARY_ENOENT, "library '%s' has no function '%s'; it has: %s", of, name,
                               names_of(library, false, names, sizeof names));
    }
    if (info->abi != GRANARY_CALL_ABI) {
        return gr_fail(GRANARY_EVERSION,
                       "function '%s' of library '%s' was made for version %u of granary/call.h, this executor has "
                       "%u: build it anew",
                       name, of, info->abi, GRANARY_CALL_ABI);
    }
    if (info->run == NULL || info->name == NULL || strcmp(info->name, name) != 0) {
        return gr_fail(GRANARY_EINVAL,
                       "function '%s' of library '%s': its declaration has another name, or nothing to "
                       "run: declare it with GRANARY_FUNCTION(%s)",
                       name, of, name);
    }
    function = malloc(sizeof *function);
    if (function == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    *function = (struct function){.info = info, .next = library->functions};
    library->functions = function;
    *ret_function = function;
    return GRANARY_OK;
}

granary_err
library_reusable(const struct library *library, const char *name, const granary_reusable_info **ret_info)
{
    char symbol[SYMBOL_MAX];
    const granary_reusable_info *info;

    (void)snprintf(symbol, sizeof symbol, "granary_reusable_%s", name);
    info = dlsym(library->handle, symbol);
    if (info != NULL && (info->abi != GRANARY_CALL_ABI || info->init == NULL)) {
        return gr_fail(GRANARY_EVERSION,
                       "reusable variable '%s' of library '%s' has no init, or was made for another version of "
                       "granary/call.h: build it anew",
                       name, library->message->name);
    }
    *ret_info = info;
    return GRANARY_OK;
}
