/*
 * granary: sessions. A session is the unit of isolation, naming, quota and clean-up: its objects, index and segments
 * are its own. Connecting makes a session that is not there.
 */
#ifndef GRANARY_SESSION_H
#define GRANARY_SESSION_H

#include "granary/store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct granary_session_options {
    uint64_t quota_bytes; /* of memory; 0: the store's budget is the only limit */
    int64_t idle_ms;      /* deleted when it had no client for so long; 0: never */
    bool strict;          /* an object is sealed only when no writable mapping of it is left */
    bool shared;          /* other users whom the instance admits may use it; else only the one who makes it */
    bool if_not_exist;    /* an existing one with these settings is fine */
} granary_session_options;

/* Any client of the instance may call these, whatever its own session. options may be NULL. To test and to make it is
 * one step of the store. Errors: EEXIST it is there (with if_not_exist: with other settings, which the message names) ·
 * EFULL · EINVAL · EUNSUPPORTED strict, on a host that cannot · EPERM it is another user's */
GRANARY_API granary_err granary_session_create(granary_client *client, const char *name,
                                               const granary_session_options *options);

GRANARY_API granary_err granary_session_has(granary_client *client, const char *name, bool *ret_there);

/*
 * Delete a session with everything in it. Its clients' calls fail with EUNREACHABLE from now on; memory they have
 * mapped stays readable until they let go of it. Subtasks of graphs fail with ENOENT, and their graphs with them;
 * granary_graph_delete_all() stops them first, and has the scheduler forget them.
 *
 * Errors  ENOENT (unless if_exist) · EBUSY it is the caller's own · EPERM it is another user's
 */
GRANARY_API granary_err granary_session_delete(granary_client *client, const char *name, bool if_exist);

typedef struct granary_session_info {
    char name[64];
    uint32_t number;
    uint32_t clients;
    uint32_t uid;
    bool strict;
    bool shared;
    uint64_t objects;
    uint64_t used_bytes; /* of memory: its segments */
    uint64_t quota_bytes;
    int64_t idle_ms;
    int64_t created_ms; /* since the Unix epoch */
    int64_t last_used_ms;
} granary_session_info;

/* ret_infos  to be freed with free() */
GRANARY_API granary_err granary_session_list(granary_client *client, granary_session_info **ret_infos,
                                             size_t *ret_count);

#ifdef __cplusplus
}
#endif
#endif
