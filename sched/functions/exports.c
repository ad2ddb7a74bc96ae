/* A shelf for each session: its libraries by sequence, so that an executor is sent what it lacks from its mark on. */

#include "sched/functions/exports.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "granary/types.h"
#include "graph/copy.h"
#include "graph/operators/nearest.h"
#include "sched/core/pack.h"

#define SYMBOLS_MAX  1024
#define LIBRARY_SIZE ((size_t)1 << 20) /* packed */

struct shelf {
    LIST_ENTRY(shelf) link;
    char *session;
    uint64_t sequence;
    struct exported *libraries; /* by sequence, ascending */
    size_t count, room;
};

struct exports {
    LIST_HEAD(shelf_list, shelf) shelves;
    size_t left;
};

struct exports *
exports_create(void)
{
    return calloc(1, sizeof(struct exports));
}

static void
exported_fini(struct exported *exported)
{
    granary__library__free_unpacked(exported->library, NULL);
}

void
exports_destroy(struct exports *exports)
{
    while (exports != NULL && !LIST_EMPTY(&exports->shelves)) {
        struct shelf *shelf = LIST_FIRST(&exports->shelves);

        LIST_REMOVE(shelf, link);
        for (size_t i = 0; i < shelf->count; i++) {
            exported_fini(&shelf->libraries[i]);
        }
        free(shelf->libraries);
        free(shelf->session);
        free(shelf);
    }
    free(exports);
}

struct shelf *
exports_of(const struct exports *exports, const char *session)
{
    struct shelf *shelf;

    LIST_FOREACH(shelf, &exports->shelves, link)
    {
        if (strcmp(shelf->session, session) == 0) {
            return shelf;
        }
    }
    return NULL;
}

static struct shelf *
shelf_get(struct exports *exports, const char *session)
{
    struct shelf *shelf = exports_of(exports, session);

    if (shelf != NULL) {
        return shelf;
    }
    shelf = calloc(1, sizeof *shelf);
    if (shelf == NULL || (shelf->session = strdup(session)) == NULL) {
        free(shelf);
        return NULL;
    }
    LIST_INSERT_HEAD(&exports->shelves, shelf, link);
    return shelf;
}

/* ---- a library by itself ---- */

static granary_err
check_symbol(const Granary__Symbol *symbol)
{
    if (!gr_function_name_good(symbol->name)) {
        return gr_fail(GRANARY_EINVAL, "'%.100s' is no name of a function: a C identifier of at most %d bytes",
                       symbol->name, GR_FUNCTION_MAX - 1);
    }
    if (symbol->inputs_max > 0 && symbol->inputs_min > symbol->inputs_max) {
        return gr_fail(GRANARY_EINVAL, "function %s takes at least %u inputs and at most %u", symbol->name,
                       symbol->inputs_min, symbol->inputs_max);
    }
    return symbol->outputs <= 1024 ? GRANARY_OK
                                   : gr_fail(GRANARY_EINVAL, "function %s makes %u outputs, at most 1024 are possible",
                                             symbol->name, symbol->outputs);
}

static granary_err
check_library(const Granary__Library *library)
{
    granary_err err = GRANARY_OK;

    if (!gr_library_name_good(library->name)) {
        return gr_fail(GRANARY_EINVAL,
                       "library '%.100s': its name needs letters, digits, '_', '-', '.' or '+', at most %d",
                       library->name, GR_LIBRARY_MAX - 1);
    }
    if (!gr_version_good(library->version) || library->object.len != GRANARY_ID_BYTES) {
        return gr_fail(GRANARY_EINVAL, "library '%s': a version of 32 hex digits and an object's id are needed",
                       library->name);
    }
    if (library->n_symbols == 0 || library->n_symbols > SYMBOLS_MAX) {
        return gr_fail(GRANARY_EINVAL, "library '%s': it declares %zu functions; 1 to %d are possible", library->name,
                       library->n_symbols, SYMBOLS_MAX);
    }
    if (granary__library__get_packed_size(library) > LIBRARY_SIZE) {
        return gr_fail(GRANARY_EINVAL, "library '%s': what is said of it is too long: at most %zu bytes", library->name,
                       LIBRARY_SIZE);
    }
    for (size_t i = 0; i < library->n_symbols && err == GRANARY_OK; i++) {
        err = check_symbol(library->symbols[i]);
        for (size_t k = 0; k < i && err == GRANARY_OK; k++) {
            if (strcmp(library->symbols[i]->name, library->symbols[k]->name) == 0) {
                err = gr_fail(GRANARY_EINVAL, "it declares %s twice", library->symbols[i]->name);
            }
        }
    }
    return err == GRANARY_OK ? err : gr_fail_in(err, "library '%s'", library->name);
}

static bool
is_named(const Granary__Library *library, const char *name, const char *version)
{
    return strcmp(library->name, name) == 0 && (version[0] == '\0' || strcmp(library->version, version) == 0);
}

/* ---- coming ---- */

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
}

/* Put a library at its place by sequence; takes it on success. */
static granary_err
shelf_put(struct shelf *shelf, struct exported exported)
{
    size_t at = shelf->count;

    if (!gr_grow(&shelf->libraries, &shelf->room, shelf->count, sizeof *shelf->libraries)) {
        return out_of_memory();
    }
    while (at > 0 && shelf->libraries[at - 1].library->sequence > exported.library->sequence) {
        at--;
    }
    memmove(shelf->libraries + at + 1, shelf->libraries + at, (shelf->count - at) * sizeof *shelf->libraries);
    shelf->libraries[at] = exported;
    shelf->count++;
    shelf->sequence = shelf->sequence > exported.library->sequence ? shelf->sequence : exported.library->sequence;
    return GRANARY_OK;
}

static void
shelf_take(struct shelf *shelf, size_t at)
{
    exported_fini(&shelf->libraries[at]);
    shelf->count--;
    memmove(shelf->libraries + at, shelf->libraries + at + 1, (shelf->count - at) * sizeof *shelf->libraries);
}

/* Position of a version; shelf->count: it is not there. */
static size_t
shelf_find(const struct shelf *shelf, const char *name, const char *version)
{
    size_t at = 0;

    while (at < shelf->count && !is_named(shelf->libraries[at].library, name, version)) {
        at++;
    }
    return at;
}

/* The newest exported version of a name; NULL: none. */
static const struct exported *
newest(const struct shelf *shelf, const char *name)
{
    for (size_t at = shelf->count; at-- > 0;) {
        if (!shelf->libraries[at].left && is_named(shelf->libraries[at].library, name, "")) {
            return &shelf->libraries[at];
        }
    }
    return NULL;
}

granary_err
exports_add(struct exports *exports, const Granary__Library *library, const struct exported **ret_exported,
            bool *ret_changed, granary_id *ret_replaced)
{
    granary_err err = check_library(library);
    struct shelf *shelf = err == GRANARY_OK ? shelf_get(exports, library->session) : NULL;
    const struct exported *before;
    struct exported fresh = {0};
    size_t old;

    if (shelf == NULL) {
        return err == GRANARY_OK ? out_of_memory() : err;
    }
    *ret_replaced = (granary_id){{0}};
    before = newest(shelf, library->name);
    if (before != NULL && is_named(before->library, library->name, library->version)) {
        *ret_exported = before;
        *ret_changed = false;
        return GRANARY_OK;
    }
    old = shelf_find(shelf, library->name, library->version);
    fresh.library = gr_message_copy(&library->base);
    if (fresh.library == NULL) {
        return out_of_memory();
    }
    fresh.library->sequence = shelf->sequence + 1;
    fresh.library->unexported = false;
    err = shelf_put(shelf, fresh);
    if (err != GRANARY_OK) {
        exported_fini(&fresh);
        return err;
    }
    if (old < shelf->count - 1) {
        exports->left -= shelf->libraries[old].left;
        memcpy(ret_replaced->bytes, shelf->libraries[old].library->object.data, sizeof ret_replaced->bytes);
        shelf_take(shelf, old);
    }
    *ret_exported = &shelf->libraries[shelf->count - 1];
    *ret_changed = true;
    return GRANARY_OK;
}

granary_err
exports_restore(struct exports *exports, Granary__Library *library)
{
    granary_err err = check_library(library);
    struct shelf *shelf = err == GRANARY_OK ? shelf_get(exports, library->session) : NULL;

    if (err == GRANARY_OK && (shelf == NULL || shelf_find(shelf, library->name, library->version) < shelf->count)) {
        err = shelf == NULL ? out_of_memory() : gr_fail(GRANARY_EINVAL, "library '%s': twice", library->name);
    }
    if (err == GRANARY_OK) {
        err = shelf_put(shelf, (struct exported){.library = library, .left = library->unexported});
    }
    if (err != GRANARY_OK) {
        granary__library__free_unpacked(library, NULL);
        return err;
    }
    exports->left += library->unexported;
    return GRANARY_OK;
}

/* ---- finding ---- */

static const Granary__Symbol *
function_of(const Granary__Library *library, const char *name)
{
    for (size_t i = 0; i < library->n_symbols; i++) {
        if (!library->symbols[i]->is_reusable && strcmp(library->symbols[i]->name, name) == 0) {
            return library->symbols[i];
        }
    }
    return NULL;
}

#define SHOWN 8

static granary_err
no_function(const struct shelf *shelf, const char *session, const struct gr_function_name *name, const char *text)
{
    struct gr_nearest nearest = {.name = name->name};
    struct gr_buf known = {0};
    char hint[GR_HINT_MAX];
    size_t shown = 0;

    for (size_t at = 0; shelf != NULL && at < shelf->count; at++) {
        const Granary__Library *library = shelf->libraries[at].library;

        for (size_t i = 0; i < library->n_symbols && !shelf->libraries[at].left; i++) {
            if (!library->symbols[i]->is_reusable && newest(shelf, library->name) == &shelf->libraries[at]) {
                gr_nearest_offer(&nearest, library->symbols[i]->name);
                if (shown++ < SHOWN) {
                    gr_buf_addf(&known, "%s%s:%s", shown == 1 ? "; there are: " : ", ", library->name,
                                library->symbols[i]->name);
                }
            }
        }
    }
    (void)gr_fail(GRANARY_ENOENT, "function '%.200s' is not exported in session '%.60s'%s%s", text, session,
                  nearest.best != NULL  ? gr_nearest_hint(&nearest, hint)
                  : known.bytes == NULL ? ": export its library with `granary export LIBRARY.so`"
                                        : known.bytes,
                  nearest.best == NULL && shown > SHOWN ? ", ..." : "");
    gr_buf_free(&known);
    return GRANARY_ENOENT;
}

static bool
has_reusable(const Granary__Library *library, const char *name)
{
    for (size_t i = 0; i < library->n_symbols; i++) {
        if (library->symbols[i]->is_reusable && strcmp(library->symbols[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The reusable variables a function asks for are of its own library, or of another one of the session. */
static granary_err
check_reusables(const struct shelf *shelf, const Granary__Library *library, const Granary__Symbol *symbol)
{
    for (size_t i = 0; i < symbol->n_reusables; i++) {
        bool found = has_reusable(library, symbol->reusables[i]);

        for (size_t at = 0; at < shelf->count && !found; at++) {
            found = has_reusable(shelf->libraries[at].library, symbol->reusables[i]);
        }
        if (!found) {
            return gr_fail(
                GRANARY_ENOENT,
                "function %s:%s asks for the reusable variable '%.100s', which no library of session '%.60s' "
                "declares: export the one that does",
                library->name, symbol->name, symbol->reusables[i], shelf->session);
        }
    }
    return GRANARY_OK;
}

static void
fill_function(const Granary__Library *library, const Granary__Symbol *symbol, struct gr_function *ret_function)
{
    /* lengths were checked when it came */
    (void)strcpy(ret_function->name.library, library->name);
    (void)strcpy(ret_function->name.version, library->version);
    (void)strcpy(ret_function->name.name, symbol->name);
    ret_function->inputs_min = symbol->inputs_min;
    ret_function->inputs_max = symbol->inputs_max;
    ret_function->outputs = symbol->outputs == 0 ? 1 : symbol->outputs;
    ret_function->sequence = library->sequence;
}

granary_err
exports_find(const struct shelf *shelf, const char *session, const char *text, struct gr_function *ret_function)
{
    struct gr_function_name name;
    const Granary__Library *found = NULL;
    granary_err err = gr_function_parse(text, &name);

    for (size_t at = 0; err == GRANARY_OK && shelf != NULL && at < shelf->count; at++) {
        const Granary__Library *library = shelf->libraries[at].library;
        bool exact = name.version[0] != '\0'; /* what a running graph uses may be LEFT */

        if ((name.library[0] != '\0' && !is_named(library, name.library, name.version)) ||
            (!exact && newest(shelf, library->name) != &shelf->libraries[at]) ||
            function_of(library, name.name) == NULL) {
            continue;
        }
        if (found != NULL) {
            return gr_fail(GRANARY_EINVAL, "function '%s' is in the libraries %s and %s: write %s:%s or %s:%s", text,
                           found->name, library->name, found->name, name.name, library->name, name.name);
        }
        found = library;
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (found == NULL) {
        return no_function(shelf, session, &name, text);
    }
    err = check_reusables(shelf, found, function_of(found, name.name));
    if (err == GRANARY_OK) {
        fill_function(found, function_of(found, name.name), ret_function);
    }
    return err;
}

/* ---- going ---- */

const struct exported *
exports_leave(struct exports *exports, struct shelf *shelf, const char *name, const char *version)
{
    for (size_t at = 0; shelf != NULL && at < shelf->count; at++) {
        struct exported *exported = &shelf->libraries[at];

        if (!exported->left && is_named(exported->library, name, version)) {
            exported->left = true;
            exported->library->unexported = true;
            exports->left++;
            return exported;
        }
    }
    return NULL;
}

granary_err
exports_no_library(const struct shelf *shelf, const char *session, const char *name, const char *version)
{
    struct gr_nearest nearest = {.name = name};
    char hint[GR_HINT_MAX];

    for (size_t at = 0; shelf != NULL && at < shelf->count; at++) {
        if (!shelf->libraries[at].left) {
            gr_nearest_offer(&nearest, shelf->libraries[at].library->name);
        }
    }
    return gr_fail(GRANARY_ENOENT, "library '%.100s%s%.40s' is not exported in session '%.60s'%s", name,
                   version[0] == '\0' ? "" : "@", version, session,
                   version[0] == '\0' ? gr_nearest_hint(&nearest, hint) : "");
}

const struct exported *
exports_next_left(const struct shelf *shelf, size_t *position)
{
    while (*position < shelf->count) {
        const struct exported *exported = &shelf->libraries[(*position)++];

        if (exported->left) {
            return exported;
        }
    }
    return NULL;
}

size_t
exports_left(const struct exports *exports)
{
    return exports->left;
}

void
exports_drop(struct exports *exports, struct shelf *shelf, const struct exported *exported)
{
    exports->left--;
    shelf_take(shelf, (size_t)(exported - shelf->libraries));
}

/* ---- to executors ---- */

uint64_t
exports_pack(const struct shelf *shelf, uint64_t after, struct gr_buf *message)
{
    for (size_t at = 0; at < shelf->count; at++) {
        const Granary__Library *library = shelf->libraries[at].library;

        if (library->sequence > after) {
            pack_export(message, library);
        }
    }
    return shelf->sequence;
}

void
exports_visit(const struct exports *exports, void (*visit)(void *context, const Granary__Library *library, bool left),
              void *context)
{
    const struct shelf *shelf;

    LIST_FOREACH(shelf, &exports->shelves, link)
    {
        for (size_t at = 0; at < shelf->count; at++) {
            visit(context, shelf->libraries[at].library, shelf->libraries[at].left);
        }
    }
}
