/* The socket to the store, which one thread at a time talks on: who has the ticket. */
#ifndef OBJECT_SOCKET_H
#define OBJECT_SOCKET_H

#include <pthread.h>
#include <stdbool.h>

#include "contract/store_proto.h"
#include "granary/store.h"
#include "wire/frame.h"

/* A thread that waits for the ticket. */
struct turn {
    bool served;
    struct turn *next;
};

struct socket {
    int fd; /* the same number for ever, whatever it is connected to */
    uint32_t seq;
    struct gr_frame_reader *reader;
    uint16_t unanswered;  /* a request whose caller gave up before the answer came; 0: none */
    uint32_t unwanted;    /* a segment that was granted too late; 0: none */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t turn;
    bool taken;
    struct turn *first; /* who waits for the ticket, first come first */
    struct turn **end;
};

granary_err socket_init(struct socket *s);
void socket_fini(struct socket *s);

/* Take and give the ticket: first come, first served. */
void socket_take(granary_client *client);
void socket_give(granary_client *client);
/* False: it could not be had before the deadline. */
bool socket_take_until(granary_client *client, int64_t deadline_ns);
/* The same for a call without a timeout of its own, whose request may take so long. */
bool socket_take_patiently(granary_client *client, int64_t answer_ms);
/*
 * One request and its answer, with the ticket held; sent again to the next store when this one dies. On OK the frame's
 * descriptors are the caller's to take, by setting them to -1, before gr_frame_in_reset(). A refusal is the store's
 * error with its message. Each store has answer_ms for the answer; that one comes is waited for as long as the
 * connection's options say, whatever answer_ms is. Errors: EUNREACHABLE no store, or no answer · EPROTO
 */
granary_err socket_ask(granary_client *client, enum gr_store_op op, const void *body, uint32_t size, int64_t answer_ms,
                       struct gr_frame_in *ret_frame);
/* The same for a call with a timeout of its own: nothing is waited for beyond until_ns. */
granary_err socket_ask_until(granary_client *client, enum gr_store_op op, const void *body, uint32_t size,
                             int64_t answer_ms, int64_t until_ns, struct gr_frame_in *ret_frame);
/*
 * The same for requests that have an object and whose answer carries nothing; takes and gives the ticket. until_ns
 * INT64_MAX: as socket_ask().
 */
granary_err socket_ask_object(granary_client *client, enum gr_store_op op, granary_id id, uint64_t serial,
                              uint64_t request, int64_t answer_ms, int64_t until_ns);
/* An answer has the size and the descriptors that its request's row says. Errors: EPROTO */
granary_err socket_check_answer(enum gr_store_op op, struct gr_frame_in *frame);
/*
 * One request; takes and gives the ticket. ret_reply: the answer, which has one size; NULL: it does not matter.
 * Errors: the store's · EUNREACHABLE · EPROTO
 */
granary_err socket_request(granary_client *client, enum gr_store_op op, const void *body, size_t size, void *ret_reply);

#endif
