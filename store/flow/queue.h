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

/* The client's request for room: checked, and put in line. */
void queue_request(struct client *client, const struct gr_frame *request, const struct gr_room *room);

/*
 * Answer whoever can be answered, and fail whose time is over. store->need is what the first who still waits waits for.
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
