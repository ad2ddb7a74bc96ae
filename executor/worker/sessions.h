/* Connections to the store, one a session: made when first needed, kept. */
#ifndef EXECUTOR_WORKER_SESSIONS_H
#define EXECUTOR_WORKER_SESSIONS_H

#include "granary/store.h"

struct sessions {
    const char *instance;
    char tag[32]; /* how listings call this process */
    struct session *entries;
    size_t count;
    void (*ended)(void *context, const char *session); /* before the client of one goes; NULL */
    void *context;
};

void sessions_init(struct sessions *sessions, const char *instance, int slot);
void sessions_fini(struct sessions *sessions);

/*
 * The connection for a session ("" is the default one), borrowed until the next call of these. A session that was
 * deleted is not made anew, but for the default one. Errors: ENOENT there is no such session · as granary_connect()
 */
granary_err sessions_client(struct sessions *sessions, const char *session, granary_client **ret_client);

/* Let go of sessions that were deleted: what is mapped of them costs memory until then. */
void sessions_drop_ended(struct sessions *sessions);

#endif
