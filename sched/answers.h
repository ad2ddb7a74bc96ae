/*
 * What clients have asked and were not answered yet. A ticket names a request until it is answered, once. An answer may
 * be held until the disk has what it promises.
 */
#ifndef SCHED_ANSWERS_H
#define SCHED_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text/buf.h"
#include "message/zmq.h"

struct answers;
struct manager;

/* NULL: out of memory. */
struct answers *answers_create(void);
void answers_destroy(struct answers *answers);
/* Where clients are; nothing is sent before. */
void answers_open(struct answers *answers, struct gr_zmq_socket *clients);

/* Whether an answer could not be sent for want of memory: who asked hears no more from this scheduler. */
bool answers_exhausted(const struct answers *answers);

/* A ticket for a request. false: out of memory */
bool answers_ticket(struct answers *answers, const struct gr_zmq_peer *peer, uint64_t seq, uint64_t *ret_ticket);

/* Send a packed Reply without seq; the ticket ends. A client that is gone needs no answer. */
void answers_send(struct answers *answers, uint64_t ticket, struct gr_buf *reply);
/* Say no instead; the ticket ends. */
void answers_refuse(struct answers *answers, uint64_t ticket, granary_err err, const char *why);
/* Answer what cannot even become a request. */
void answers_refuse_peer(struct answers *answers, const struct gr_zmq_peer *peer, uint64_t seq, granary_err err,
                         const char *why);

/*
 * Send it when `number` was synced. *Takes* the reply's bytes.
 *
 * key      of the graph it accepts, or ""
 * Returns  false: out of memory, and it was refused
 */
bool answers_hold(struct answers *answers, uint64_t ticket, struct gr_buf *reply, const char *key, uint64_t number);
/* Everything up to `number` was tried, with that error: send or refuse what was held for it. A graph that was to be
 * accepted, and is refused, is forgotten by the manager. */
void
answers_release(struct answers *answers, uint64_t number, granary_err err, const char *why, struct manager *manager);

#endif
