/*
 * The libraries exported to sessions, as the scheduler names them, loaded when a subtask first needs one. Each
 * version is a file of its own in memory, so that versions live side by side. Nothing is ever unloaded.
 */
#ifndef EXECUTOR_USER_LIBRARY_H
#define EXECUTOR_USER_LIBRARY_H

#include "granary/call.h"
#include "schema/granary.pb-c.h"

/* A function of a loaded library. */
struct function {
    const granary_function_info *info;
    uint64_t calls; /* in this process */
    struct function *next;
};

struct library {
    Granary__Library *message;  /* owned */
    void *handle;               /* of dlopen(); NULL: not loaded */
    int file;                   /* in memory. Open as long as it is loaded: the loader knows libraries by name */
    struct function *functions; /* that were asked for */
    struct library *next;
};

struct libraries {
    struct library *first;
    struct library **end;
};

void libraries_init(struct libraries *libraries);
void libraries_fini(struct libraries *libraries);

/* The name a session goes by: "" is the default one's, too. */
const char *library_session(const char *session);

/* Note an export; one that is known already is told again after a change of scheduler. *takes* message. Errors: ENOMEM
 */
granary_err libraries_add(struct libraries *libraries, Granary__Library *message);

/* Errors: ENOENT no such export has come */
granary_err libraries_find(const struct libraries *libraries, const char *session, const char *name,
                           const char *version, struct library **ret_library);

/*
 * Load it, once. Runs its constructors.
 *
 * Errors  ENOENT its object is gone · ECORRUPT it has other bytes than were exported · EINVAL it cannot be loaded, and
 *         why · as granary_object_get()
 */
granary_err library_load(struct library *library, granary_client *client);

/* A function of a loaded library. Errors: ENOENT none of that name · EINVAL it is not declared · EVERSION another abi
 */
granary_err library_function(struct library *library, const char *name, struct function **ret_function);

/* The declaration of a reusable variable in a loaded library; NULL: it has none. Errors: EVERSION */
granary_err library_reusable(const struct library *library, const char *name, const granary_reusable_info **ret_info);

#endif
