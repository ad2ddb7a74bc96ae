/* Connections to the store, one a session: made when first needed, kept. */
#ifndef EXECUTOR_SESSIONS_H
#define EXECUTOR_SESSIONS_H

#include "granary/store.h"

struct sessions {
    const char *instance;
    char tag[32]; /* how listings call this process */
    struct session *entries;
    size_t count;
};

void sessions_init(struct sessions *sessions, const char *instance, int slot);
void sessions_fini(struct sessions *sessions);

/* The connection for a session ("" is the default one), borrowed. Errors: as granary_connect() */
granary_err sessions_client(struct sessions *sessions, const char *session, granary_client **ret_client);

#endif
