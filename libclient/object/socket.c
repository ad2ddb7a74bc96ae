/*
 * Requests to the store. One is in progress at a time, and threads take their turn by ticket, so that a long wait for
 * room cannot starve a reader that needs a mapping.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "object/client.h"

granary_err
socket_init(struct socket *s)
{
    s->fd = -1;
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_cond_init(&s->turn, NULL);
    s->reader = gr_frame_reader_create();
    return s->reader == NULL ? gr_fail(GRANARY_ENOMEM, "connect: out of memory") : GRANARY_OK;
}

void
socket_fini(struct socket *s)
{
    while (s->released != NULL) {
        struct store_lease *next = s->released->next;

        free(s->released);
        s->released = next;
    }
    gr_frame_reader_destroy(s->reader);
    gr_fd_close(&s->fd);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_cond_destroy(&s->turn);
}

void
socket_take(granary_client *client)
{
    struct socket *s = &client->socket;
    uint64_t ticket;

    (void)pthread_mutex_lock(&s->lock);
    ticket = s->next_ticket++;
    while (s->serving != ticket) {
        (void)pthread_cond_wait(&s->turn, &s->lock);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

static granary_err
ask_object(granary_client *client, enum gr_store_op op, granary_id id, uint64_t serial, uint32_t scope)
{
    struct gr_object_ref ref = {.serial = serial, .scope = scope};
    struct gr_frame_in frame = {.fd_count = 0};
    granary_err err;

    memcpy(ref.id, id.bytes, sizeof ref.id);
    err = socket_ask(client, op, &ref, sizeof ref, REQUEST_TIMEOUT_MS, &frame);
    gr_frame_in_reset(&frame);
    return err;
}

void
socket_give(granary_client *client)
{
    struct socket *s = &client->socket;
    struct store_lease *lease;

    (void)pthread_mutex_lock(&s->lock);
    while ((lease = s->released) != NULL) {
        s->released = lease->next;
        (void)pthread_mutex_unlock(&s->lock);
        /* A failure means that the store is gone, and its count with it. */
        (void)ask_object(client, GR_STORE_UNLEASE, lease->id, lease->serial, 0);
        free(lease);
        (void)pthread_mutex_lock(&s->lock);
    }
    s->serving++;
    if (s->serving != s->next_ticket) {
        (void)pthread_cond_broadcast(&s->turn);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

void
socket_unlease(granary_client *client, struct store_lease *lease)
{
    struct socket *s = &client->socket;
    bool busy;

    (void)pthread_mutex_lock(&s->lock);
    lease->next = s->released;
    s->released = lease;
    busy = s->serving != s->next_ticket;
    if (!busy) {
        s->next_ticket++;
    }
    (void)pthread_mutex_unlock(&s->lock);
    if (!busy) {
        socket_give(client);
    }
}

/* The connection is of no use any more: an answer may come that nobody expects. */
static granary_err
broken(granary_client *client, granary_err err)
{
    if (err == GRANARY_ETIMEDOUT) {
        atomic_store_explicit(&client->dead, true, memory_order_relaxed);
        return gr_fail(GRANARY_EUNREACHABLE, "instance '%s': the store does not answer: see its log",
                       client->instance.name);
    }
    if (err == GRANARY_EPROTO) {
        atomic_store_explicit(&client->dead, true, memory_order_relaxed);
        return gr_fail_in(err, "instance '%s'", client->instance.name);
    }
    return client_lost(client);
}

granary_err
socket_ask(granary_client *client, enum gr_store_op op, const void *body, uint32_t size, int64_t wait_ms,
           struct gr_frame_in *ret_frame)
{
    struct socket *s = &client->socket;
    struct gr_frame head = {.magic = GR_STORE_MAGIC, .op = (uint16_t)op, .seq = ++s->seq, .size = size};
    struct gr_frame_in frame = {.fd_count = 0};
    granary_err err;

    if (atomic_load_explicit(&client->dead, memory_order_relaxed)) {
        return client_lost(client);
    }
    err = gr_frame_send(s->fd, &head, body, NULL, 0);
    if (err != GRANARY_OK) {
        return client_lost(client);
    }
    err = gr_frame_receive(s->reader, s->fd, gr_deadline_ns(wait_ms), &frame);
    if (err != GRANARY_OK) {
        return broken(client, err);
    }
    if (frame.head.op != op || frame.head.seq != s->seq) {
        gr_frame_in_reset(&frame);
        return broken(client, gr_fail(GRANARY_EPROTO, "the store answered request %u, not %u", frame.head.seq, s->seq));
    }
    if (frame.head.err != GRANARY_OK) {
        err = gr_fail((granary_err)frame.head.err, "%.*s", (int)frame.head.size, (const char *)frame.body);
        gr_frame_in_reset(&frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

granary_err
socket_ask_object(granary_client *client, enum gr_store_op op, granary_id id, uint64_t serial, uint32_t scope)
{
    granary_err err;

    socket_take(client);
    err = ask_object(client, op, id, serial, scope);
    socket_give(client);
    return err;
}
