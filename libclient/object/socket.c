/*
 * Requests to the store. One is in progress at a time, and threads take their turn by ticket, so that a long wait for
 * room cannot starve a reader that needs a mapping.
 *
 * A request whose answer is lost because the store died is sent to the next one. What adds something carries a number
 * by which the store knows it again, what takes something away by its token finds it gone, and the rest may be done
 * twice. (One of several equal holds that is taken back without its token is the exception: two may go.)
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "object/client.h"
#include "wire/requests.h"

granary_err
socket_init(struct socket *s)
{
    pthread_condattr_t attributes;

    s->fd = -1;
    s->end = &s->first;
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&s->turn, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    s->reader = gr_frame_reader_create(true);
    return s->reader == NULL ? gr_fail(GRANARY_ENOMEM, "connect: out of memory") : GRANARY_OK;
}

void
socket_fini(struct socket *s)
{
    gr_frame_reader_destroy(s->reader);
    gr_fd_close(&s->fd);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->turn);
}

/* ---- the ticket ---- */

/* Out of the queue; with the lock held. */
static void
turn_leave(struct socket *s, const struct turn *turn)
{
    struct turn **place = &s->first;

    while (*place != turn) {
        place = &(*place)->next;
    }
    *place = turn->next;
    if (s->end == &turn->next) {
        s->end = place;
    }
}

bool
socket_take_until(granary_client *client, int64_t deadline_ns)
{
    struct timespec until = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    struct socket *s = &client->socket;
    struct turn turn = {.served = false};
    int status = 0;

    (void)pthread_mutex_lock(&s->lock);
    if (!s->taken) {
        s->taken = turn.served = true;
    } else {
        *s->end = &turn;
        s->end = &turn.next;
    }
    while (!turn.served && status == 0) {
        status = deadline_ns == INT64_MAX ? pthread_cond_wait(&s->turn, &s->lock)
                                          : pthread_cond_timedwait(&s->turn, &s->lock, &until);
    }
    if (!turn.served) {
        turn_leave(s, &turn);
    }
    (void)pthread_mutex_unlock(&s->lock);
    return turn.served;
}

void
socket_take(granary_client *client)
{
    (void)socket_take_until(client, INT64_MAX);
}

/* With the lock held. */
static void
turn_next(struct socket *s)
{
    struct turn *next = s->first;

    if (next == NULL) {
        s->taken = false;
        return;
    }
    s->first = next->next;
    s->end = s->first == NULL ? &s->first : s->end;
    next->served = true;
    (void)pthread_cond_broadcast(&s->turn);
}

/* ---- asking ---- */

granary_err
socket_check_answer(enum gr_store_op op, struct gr_frame_in *frame)
{
    const struct gr_store_request *request = gr_store_request(op);

    if (frame->head.err != GRANARY_OK ||
        (gr_request_size_fits(&request->answer, frame->head.size) && frame->fd_count == request->fds)) {
        return GRANARY_OK;
    }
    return gr_fail(GRANARY_EPROTO, "the store answered %s with %u bytes and %d descriptors", request->name,
                   frame->head.size, frame->fd_count);
}

/*
 * Send a request and wait for its answer. Errors: EUNREACHABLE the store hung up · ETIMEDOUT, errno's: then the answer
 * to what was sent is still to come · EPROTO
 */
static granary_err
exchange(granary_client *client, enum gr_store_op op, const void *body, uint32_t size, int64_t deadline_ns,
         struct gr_frame_in *ret_frame)
{
    struct socket *s = &client->socket;
    struct gr_frame head = {.magic = GR_STORE_MAGIC, .op = (uint16_t)op, .seq = ++s->seq, .size = size};
    granary_err err;
    bool sent;

    if (op == GR_STORE_ROOM) {
        struct gr_room room;

        memcpy(&room, body, sizeof room);
        atomic_store_explicit(&client->page->asked_room, GR_OFFER(room.request), memory_order_release);
    }
    err = gr_frame_send(s->fd, &head, body, NULL, 0);
    sent = err == GRANARY_OK;

    if (sent) {
        err = gr_frame_receive(s->reader, s->fd, deadline_ns, ret_frame);
    }
    if (sent && err != GRANARY_OK && err != GRANARY_EUNREACHABLE && err != GRANARY_EPROTO) {
        s->unanswered = (uint16_t)op;
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = ret_frame->head.op != op || ret_frame->head.seq != s->seq
              ? gr_fail(GRANARY_EPROTO, "the store answered request %u, not %u", ret_frame->head.seq, s->seq)
              : socket_check_answer(op, ret_frame);
    if (err != GRANARY_OK) {
        gr_frame_in_reset(ret_frame);
    }
    return err;
}

/* The answer to an earlier request comes before any other; nobody waits for it. Errors: as exchange() */
static granary_err
await_unanswered(granary_client *client, int64_t deadline_ns)
{
    struct socket *s = &client->socket;
    struct gr_frame_in frame = {.fd_count = 0};
    struct gr_room_reply room;
    granary_err err;

    if (s->unanswered == 0) {
        return GRANARY_OK;
    }
    err = gr_frame_receive(s->reader, s->fd, deadline_ns, &frame);
    if (err == GRANARY_OK && s->unanswered == GR_STORE_ROOM && frame.head.err == GRANARY_OK &&
        frame.head.size >= sizeof room && room_take_granted(client)) {
        memcpy(&room, frame.body, sizeof room);
        s->unwanted = room.segment;
    }
    if (err == GRANARY_OK) {
        s->unanswered = 0;
        gr_frame_in_reset(&frame);
    }
    return err;
}

static granary_err
no_answer(const granary_client *client)
{
    return gr_fail(GRANARY_EUNREACHABLE,
                   "instance '%s': the store does not answer: see `granary top --once`, and its log",
                   client->instance.name);
}

/* When a request has failed: so much after it was sent, but not beyond what the caller can wait. */
static int64_t
answer_by(int64_t answer_ms, int64_t until_ns)
{
    int64_t deadline_ns = gr_deadline_ns(answer_ms);

    return deadline_ns < until_ns ? deadline_ns : until_ns;
}

granary_err
socket_ask_until(granary_client *client, enum gr_store_op op, const void *body, uint32_t size, int64_t answer_ms,
                 int64_t until_ns, struct gr_frame_in *ret_frame)
{
    int64_t deadline_ns = answer_by(answer_ms, until_ns);
    struct gr_frame_in frame = {.fd_count = 0};
    granary_err err = link_check(client);
    bool begun = wait_begin(client, GR_WAIT_answer, NULL, 0);
    bool lost = false;

    while (err == GRANARY_OK) {
        if (link_is_stale(client) || client->link.greeting) {
            err = link_hold(client, until_ns);
            deadline_ns = answer_by(answer_ms, until_ns);
        }
        if (err != GRANARY_OK) {
            break;
        }
        err = await_unanswered(client, deadline_ns);
        if (err == GRANARY_OK) {
            err = exchange(client, op, body, size, deadline_ns, &frame);
            lost = lost || err == GRANARY_EUNREACHABLE;
        }
        if (err != GRANARY_EUNREACHABLE) {
            break;
        }
        err = link_hold(client, until_ns);
        deadline_ns = answer_by(answer_ms, until_ns);
    }
    wait_end(client, begun);
    if (err == GRANARY_ETIMEDOUT) {
        return no_answer(client);
    }
    if (err == GRANARY_EPROTO) {
        return link_broken(client, err);
    }
    /* The store that died had done it, and only the answer was lost. */
    if (err == GRANARY_OK && lost && frame.head.err != GRANARY_OK && frame.head.err == gr_store_request(op)->did) {
        frame.head.err = GRANARY_OK;
        frame.head.size = 0;
    }
    if (err == GRANARY_OK && frame.head.err != GRANARY_OK) {
        err = gr_fail((granary_err)frame.head.err, "%.*s", (int)frame.head.size, (const char *)frame.body);
        gr_frame_in_reset(&frame);
    } else if (err == GRANARY_OK) {
        *ret_frame = frame;
    }
    return err;
}

granary_err
socket_ask(granary_client *client, enum gr_store_op op, const void *body, uint32_t size, int64_t answer_ms,
           struct gr_frame_in *ret_frame)
{
    return socket_ask_until(client, op, body, size, answer_ms, INT64_MAX, ret_frame);
}

bool
socket_take_patiently(granary_client *client, int64_t answer_ms)
{
    int64_t reconnect_ms = client->link.reconnect_ms;

    /* Who has the ticket may be waiting for a store. */
    return socket_take_until(client, gr_deadline_ns(answer_ms < reconnect_ms ? reconnect_ms : answer_ms));
}

granary_err
socket_ask_object(granary_client *client, enum gr_store_op op, granary_id id, uint64_t serial, uint64_t request,
                  int64_t answer_ms, int64_t until_ns)
{
    struct gr_object_ref ref = {.serial = serial, .request = request};
    struct gr_frame_in frame = {.fd_count = 0};
    bool begun = wait_begin(client, GR_WAIT_object, &id, 0);
    granary_err err;

    memcpy(ref.id, id.bytes, sizeof ref.id);
    if (until_ns == INT64_MAX ? !socket_take_patiently(client, answer_ms) : !socket_take_until(client, until_ns)) {
        err = no_answer(client);
    } else {
        err = socket_ask_until(client, op, &ref, sizeof ref, answer_ms, until_ns, &frame);
        gr_frame_in_reset(&frame);
        socket_give(client);
    }
    wait_end(client, begun);
    return err;
}

granary_err
socket_request(granary_client *client, enum gr_store_op op, const void *body, size_t size, void *ret_reply)
{
    struct gr_frame_in frame = {.fd_count = 0};
    granary_err err;

    if (!socket_take_patiently(client, REQUEST_TIMEOUT_MS)) {
        return no_answer(client);
    }
    err = socket_ask(client, op, body, (uint32_t)size, REQUEST_TIMEOUT_MS, &frame);
    if (err == GRANARY_OK && ret_reply != NULL) {
        memcpy(ret_reply, frame.body, frame.head.size);
    }
    gr_frame_in_reset(&frame);
    socket_give(client);
    return err;
}

/* ---- giving the ticket ---- */

void
socket_give(granary_client *client)
{
    struct socket *s = &client->socket;
    uint32_t unwanted = s->unwanted;

    s->unwanted = 0;
    (void)pthread_mutex_lock(&s->lock);
    turn_next(s);
    (void)pthread_mutex_unlock(&s->lock);
    if (unwanted != 0) {
        room_return(client, unwanted);
    }
}
