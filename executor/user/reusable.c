/* A list, the newest first; a variable is found by the library that declares it and its name. */
#include "executor/user/reusable.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "executor/user/call.h"

static void
value_fini(const struct reusable *reusable)
{
    if (reusable->info->fini != NULL) {
        reusable->info->fini(reusable->value);
    }
}

static void
forget(struct reusables *reusables, struct reusable *reusable)
{
    struct reusable **at = &reusables->first;

    while (*at != reusable) {
        at = &(*at)->next;
    }
    *at = reusable->next;
    value_fini(reusable);
    free(reusable);
}

void
reusables_forget(struct reusables *reusables, const char *session)
{
    for (struct reusable *reusable = reusables->first, *next; reusable != NULL; reusable = next) {
        next = reusable->next;
        if (session == NULL || strcmp(library_session(reusable->library->message->session), session) == 0) {
            forget(reusables, reusable);
        }
    }
}

/* Who declares it: the function's own library, else the newest of the session that is loaded. */
static granary_err
find_info(const struct libraries *libraries, struct library *library, const char *name, struct library **ret_library,
          const granary_reusable_info **ret_info)
{
    const char *session = library_session(library->message->session);
    granary_err err = library_reusable(library, name, ret_info);

    *ret_library = library;
    if (err != GRANARY_OK || *ret_info != NULL) {
        return err;
    }
    for (struct library *other = libraries->first; other != NULL; other = other->next) {
        const granary_reusable_info *info = NULL;

        if (other != library && other->handle != NULL &&
            strcmp(library_session(other->message->session), session) == 0 &&
            library_reusable(other, name, &info) == GRANARY_OK && info != NULL) {
            *ret_library = other;
            *ret_info = info;
        }
    }
    return *ret_info != NULL
               ? GRANARY_OK
               : gr_fail(GRANARY_ENOENT, "library '%s' declares no reusable variable '%s': GRANARY_REUSABLE(%s, ...)",
                         library->message->name, name, name);
}

static granary_err
reusable_make(struct reusables *reusables, const struct library *library, const granary_reusable_info *info,
              granary_call *call, uint64_t turn, void **ret_value)
{
    struct reusable *reusable = malloc(sizeof *reusable);
    granary_err err;

    if (reusable == NULL) {
        return gr_fail(GRANARY_ENOMEM, "reusable variable '%s': out of memory", info->name);
    }
    *reusable = (struct reusable){.library = library, .info = info, .turn = turn};
    err = info->init(call, &reusable->value);
    if (err != GRANARY_OK) {
        free(reusable);
        return err;
    }
    reusable->next = reusables->first;
    reusables->first = reusable;
    *ret_value = reusable->value;
    return GRANARY_OK;
}

granary_err
reusable_get(struct reusables *reusables, const struct libraries *libraries, struct library *library,
             granary_call *call, uint64_t turn, const char *name, void **ret_value)
{
    const granary_reusable_info *info = NULL;
    struct library *owner;
    struct reusable *reusable = reusables->first;
    granary_err err = find_info(libraries, library, name, &owner, &info);

    if (err != GRANARY_OK) {
        return err;
    }
    while (reusable != NULL && (reusable->library != owner || reusable->info != info)) {
        reusable = reusable->next;
    }
    if (reusable != NULL && reusable->turn != turn && info->reinit != NULL &&
        info->reinit(call, &reusable->value) != GRANARY_OK) {
        forget(reusables, reusable);
        reusable = NULL;
        call->failed = GRANARY_OK; /* a new one may do */
    }
    if (reusable == NULL) {
        return reusable_make(reusables, owner, info, call, turn, ret_value);
    }
    reusable->turn = turn;
    *ret_value = reusable->value;
    return GRANARY_OK;
}
