/*
 * Events: what happened, for who watches (contract/shm.h, struct gr_events). The instance's ring is its flight recorder
 * and outlives the store; a session gets one when somebody subscribes. Nobody is ever waited for: who is too slow finds
 * his place overwritten.
 */
#ifndef STORE_EVENTS_H
#define STORE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/shm.h"
#include "granary/types.h"

struct session;
struct store;

struct recorder {
    struct gr_events *ring; /* of the instance */
    bool unsaid;            /* a session has something to say */
};

/* Make the instance's ring, or go on with the one a store that died left. Errors: EFULL /dev/shm is full · ENOMEM */
granary_err events_open(struct store *store);
/* Unmap the instance's ring, and unlink it: the store stops in order. */
void events_close(struct store *store);

/* The same for a session's ring; it may have one already. */
granary_err events_open_session(struct session *session);
void events_close_session(struct session *session);
/* The ring that a store left for the session, if there is one. */
void events_adopt_session(struct session *session);
/* What a client maps of it; 0 when the session has none. */
uint64_t events_bytes(const struct session *session);

/* Note an event. session, id: may be NULL; client: number or 0. A few stores, no system call. */
void event_note(struct store *store, struct session *session, enum gr_event_kind kind, const granary_id *id, uint64_t a,
                uint64_t b, uint32_t client);

/* Wake subscribers of the sessions in which something was noted, if any sleeps. */
bool events_wake(struct store *store, int64_t now_ns);

#endif
