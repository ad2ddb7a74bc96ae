/*
 * Requests to the scheduler and their answers, over one ZeroMQ socket a client.
 *
 * Threads  any number may call at once: whoever waits first takes the socket and hands out what arrives; one that wants
 *          to send interrupts it. So a thread that waits for a graph does not keep another from stopping it.
 * Death    the scheduler's pidfd is watched: its end is noticed at once. A new scheduler that has come up in its
 *          place is asked again. Requests are idempotent, because a submission always has a key. Orders to the pool
 *          are not, and fail with ELOST.
 */
#ifndef CLIENT_CALL_H
#define CLIENT_CALL_H

#include "granary/store.h"
#include "schema/granary.pb-c.h"

/*
 * Send a request (version and seq are filled in) and wait for its answer.
 *
 * timeout_ms  how long the scheduler may take; GRANARY_FOREVER: as long as it lives
 * ret_reply   to be freed with granary__reply__free_unpacked(); given with its error, too, when there is an answer
 * Errors      the reply's own, with its message · EUNREACHABLE · ETIMEDOUT no answer · EVERSION · EPROTO · ENOMEM ·
 *             EFORKED
 */
granary_err call(granary_client *client, Granary__Request *request, int timeout_ms, Granary__Reply **ret_reply);

/* For requests that are answered at once. */
#define CALL_TIMEOUT_MS 60000

/* How long an answer may take that comes after timeout_ms (GRANARY_FOREVER) at the latest. */
int call_patience_ms(int timeout_ms);

#endif
