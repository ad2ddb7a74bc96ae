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

/*
 * Make a session. Any client of the instance may, whatever its own session; so with the others below. To test and to
 * make it is one step of the store.
 *
 * options  may be NULL
 * Errors   EEXIST it is there (with if_not_exist: with other settings, which the message names) · EFULL · EINVAL ·
 *          EUNSUPPORTED strict, on a host that cannot · EPERM it is another user's
 */
GRANARY_API granary_err granary_session_create(granary_client *client, const char *name,
                                               const granary_session_options *options);

/* Whether there is a session of that name. Errors: EINVAL it can be no session's name · EUNREACHABLE */
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

/*
 * Every session of the instance.
 *
 * ret_infos  *ret_count entries, to be freed with free()
 * Errors     EUNREACHABLE · ENOMEM
 */
GRANARY_API granary_err granary_session_list(granary_client *client, granary_session_info **ret_infos,
                                             size_t *ret_count);

/*
 * ---- counters ----
 *
 * Named numbers that the processes of a session share. A user function may count rows, hand out positions, or wait
 * until others are done. They live in shared memory as long as the session, and survive the store and their users.
 * Nothing below but open and list asks the store.
 */

typedef struct granary_counter granary_counter;

/*
 * The counter of that name; made, and 0, when the session has none. Two of one name are the same counter.
 *
 * name         1 to 95 bytes of UTF-8 without control characters
 * ret_counter  to be closed before granary_disconnect(); may be used by any number of threads
 * Errors       EINVAL · EFULL a session has at most 1024 · EUNREACHABLE · ENOMEM
 */
GRANARY_API granary_err granary_counter_open(granary_client *client, const char *name, granary_counter **ret_counter);
/* The counter stays. NULL is fine. */
GRANARY_API void granary_counter_close(granary_counter *counter);

/*
 * Add delta, which may be negative, in one step with those of others. Returns the new value; it wraps around. Also in a
 * child after fork(), which may use nothing else of the counter's client but this, get and set_if.
 */
GRANARY_API int64_t granary_counter_add(granary_counter *counter, int64_t delta);
/* The value it has now. */
GRANARY_API int64_t granary_counter_get(const granary_counter *counter);
/* Set it to value if it is *expected. Returns false, with the value it has in *expected, if it is not. */
GRANARY_API bool granary_counter_set_if(granary_counter *counter, int64_t *expected, int64_t value);

/*
 * Sleep until the value is at least `least`.
 *
 * timeout_ms  0: look once; GRANARY_FOREVER
 * ret_value   what it was then; may be NULL
 * Errors      ETIMEDOUT · EUNREACHABLE the session was deleted · EFORKED
 */
GRANARY_API granary_err granary_counter_wait(granary_counter *counter, int64_t least, int timeout_ms,
                                             int64_t *ret_value);

typedef struct granary_counter_info {
    char name[96];
    int64_t value;
    uint32_t waiting; /* threads that wait; those of processes that were killed meanwhile may be among them */
} granary_counter_info;

/* Every counter of the session, in no order. ret_infos is to be freed with free(). Errors: EUNREACHABLE · ENOMEM */
GRANARY_API granary_err granary_counter_list(granary_client *client, granary_counter_info **ret_infos,
                                             size_t *ret_count);

/* ---- the same with the sizes of structs, which may grow: see granary/sized.h ---- */

GRANARY_SIZED_1(granary_err, granary_session_create,
                (granary_client * client, const char *name, const granary_session_options *options),
                (client, name, options), granary_session_options);
GRANARY_SIZED_1(granary_err, granary_session_list,
                (granary_client * client, granary_session_info **ret_infos, size_t *ret_count),
                (client, ret_infos, ret_count), granary_session_info);
GRANARY_SIZED_1(granary_err, granary_counter_list,
                (granary_client * client, granary_counter_info **ret_infos, size_t *ret_count),
                (client, ret_infos, ret_count), granary_counter_info);

#ifdef __cplusplus
}
#endif
#endif
