/*
 * The line of clients that wait for room.
 *
 * Requests are served first come, first served, and restores stand in the same line. But a request that fits may pass
 * the first one, until as many bytes have passed it as it waits for. So a huge request holds nobody up, and is not
 * starved. A client that asks again after its time was over keeps its place.
 */
#ifndef STORE_QUEUE_H
#define STORE_QUEUE_H

#include "store/core/core.h"

/* What the store holds of it. */
struct queue {
    struct list rooms;       /* clients that wait for room, first come first */
    uint64_t ticket;         /* the last one given */
    int64_t deadline_ns;     /* not later than the first deadline among them */
    uint64_t need;           /* bytes that the first who waits waits for; 0: nobody waits */
    struct list quota_waits; /* sessions whose quota is what somebody waits for */
    int64_t tried_ns;        /* when it was last served in vain */
    uint64_t tried_changes;  /* account.changes then */
};

void queue_init(struct queue *queue);

/* The client's request for room: checked, and put in line. */
void queue_request(struct client *client, const struct gr_frame *request, const struct gr_room *room);

/*
 * Answer whoever can be answered, and fail whose time is over. queue->need is what the first who still waits waits for.
 */
void queue_serve(struct store *store, int64_t now_ns);

/* The session is at its quota, or has its share of segments, and this is needed of it: asked of reclaim when nobody
 * waits for memory itself. */
void queue_wait_quota(struct session *session, uint64_t bytes);
/* Nobody waits for a quota, as far as is known now. */
void queue_forget_quotas(struct store *store);
/* What is said when that was in vain. Returns EFULL. */
granary_err queue_fail_quota(const struct session *session, const char *what, uint64_t bytes);

/* When the next one's time is over; INT64_MAX: nobody waits. May be too early, never too late. */
int64_t queue_deadline_ns(const struct store *store);

#endif
