/*
 * Tickets are positions in an array with a list of free ones; answers that wait for the disk stand in a queue by
 * number.
 */
#include "sched/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/grow.h"
#include "contract/versions.h"
#include "sched/core/pack.h"
#include "sched/manager/manager.h"
#include "schema/granary.pb-c.h"

struct pending {
    struct gr_zmq_peer peer;
    uint64_t seq;
    uint64_t next_free;
};

struct held {
    uint64_t number;
    uint64_t ticket;
    struct gr_buf reply;
    char key[sizeof((struct action *)0)->accepted];
};

struct answers {
    struct gr_zmq_socket *clients;
    struct pending *pending; /* by ticket */
    size_t pending_count, pending_room;
    uint64_t pending_free; /* list; UINT64_MAX: empty */
    struct held *held;     /* in order of their numbers */
    size_t held_count, held_room;
    bool exhausted;
};

struct answers *
answers_create(void)
{
    struct answers *answers = calloc(1, sizeof *answers);

    if (answers != NULL) {
        answers->pending_free = UINT64_MAX;
    }
    return answers;
}

void
answers_destroy(struct answers *answers)
{
    if (answers != NULL) {
        for (size_t i = 0; i < answers->held_count; i++) {
            gr_buf_free(&answers->held[i].reply);
        }
        free(answers->held);
        free(answers->pending);
        free(answers);
    }
}

void
answers_open(struct answers *answers, struct gr_zmq_socket *clients)
{
    answers->clients = clients;
}

bool
answers_exhausted(const struct answers *answers)
{
    return answers->exhausted;
}

/* ---- tickets ---- */

bool
answers_ticket(struct answers *answers, const struct gr_zmq_peer *peer, uint64_t seq, uint64_t *ret_ticket)
{
    uint64_t ticket = answers->pending_free;

    if (ticket != UINT64_MAX) {
        answers->pending_free = answers->pending[ticket].next_free;
    } else {
        if (!gr_grow(&answers->pending, &answers->pending_room, answers->pending_count, sizeof *answers->pending)) {
            return false;
        }
        ticket = answers->pending_count++;
    }
    answers->pending[ticket].peer = *peer;
    answers->pending[ticket].seq = seq;
    *ret_ticket = ticket;
    return true;
}

static void
ticket_end(struct answers *answers, uint64_t ticket)
{
    answers->pending[ticket].next_free = answers->pending_free;
    answers->pending_free = ticket;
}

void
answers_send(struct answers *answers, uint64_t ticket, struct gr_buf *reply)
{
    const struct pending *pending = &answers->pending[ticket];

    pack_reply_seq(reply, pending->seq);
    if (gr_buf_ok(reply)) {
        (void)gr_zmq_send(answers->clients, &pending->peer, reply->bytes, reply->size);
    }
    answers->exhausted = answers->exhausted || !gr_buf_ok(reply);
    ticket_end(answers, ticket);
}

void
answers_refuse_peer(struct answers *answers, const struct gr_zmq_peer *peer, uint64_t seq, granary_err err,
                    const char *why)
{
    Granary__Reply reply = GRANARY__REPLY__INIT;
    struct gr_buf bytes = {0};
    void *room;

    reply.version = GR_WIRE_OLDEST;
    reply.seq = seq;
    reply.err = err;
    reply.message = (char *)(uintptr_t)why;
    room = gr_buf_grow(&bytes, granary__reply__get_packed_size(&reply));
    if (room != NULL) {
        (void)granary__reply__pack(&reply, room);
        (void)gr_zmq_send(answers->clients, peer, bytes.bytes, bytes.size);
    }
    answers->exhausted = answers->exhausted || room == NULL;
    gr_buf_free(&bytes);
}

void
answers_refuse(struct answers *answers, uint64_t ticket, granary_err err, const char *why)
{
    const struct pending *pending = &answers->pending[ticket];

    answers_refuse_peer(answers, &pending->peer, pending->seq, err, why);
    ticket_end(answers, ticket);
}

/* ---- held ---- */

bool
answers_hold(struct answers *answers, uint64_t ticket, struct gr_buf *reply, const char *key, uint64_t number)
{
    struct held *held;

    if (!gr_grow(&answers->held, &answers->held_room, answers->held_count, sizeof *answers->held)) {
        answers_refuse(answers, ticket, GRANARY_ENOMEM, "scheduler: out of memory");
        return false;
    }
    held = &answers->held[answers->held_count++];
    *held = (struct held){.number = number, .ticket = ticket, .reply = *reply};
    (void)snprintf(held->key, sizeof held->key, "%s", key);
    *reply = (struct gr_buf){0};
    return true;
}

void
answers_release(struct answers *answers, uint64_t number, granary_err err, const char *why, struct manager *manager)
{
    size_t count = 0;

    while (count < answers->held_count && answers->held[count].number <= number) {
        struct held *held = &answers->held[count++];

        if (err == GRANARY_OK) {
            answers_send(answers, held->ticket, &held->reply);
        } else {
            answers_refuse(answers, held->ticket, err, why);
            if (held->key[0] != '\0') {
                manager_reject(manager, held->key, err, why);
            }
        }
        gr_buf_free(&held->reply);
    }
    answers->held_count -= count;
    if (count > 0) {
        memmove(answers->held, answers->held + count, answers->held_count * sizeof *answers->held);
    }
}
