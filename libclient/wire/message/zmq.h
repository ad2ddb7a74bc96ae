/*
 * ZeroMQ, wrapped: the only file that includes zmq.h is zmq.c. A socket belongs to one thread.
 */
#ifndef MESSAGE_ZMQ_H
#define MESSAGE_ZMQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

struct gr_zmq_context;
struct gr_zmq_socket;

/* io_threads: 1 is enough for everything here. NULL: out of resources. */
struct gr_zmq_context *gr_zmq_context_create(int io_threads);
/* Every socket must be closed before. Does not wait for unsent messages. */
void gr_zmq_context_destroy(struct gr_zmq_context *context);

/* A ROUTER bound to ipc://path, mode 0600, that takes peers of our own uid only. NULL with the error set. */
struct gr_zmq_socket *gr_zmq_router(struct gr_zmq_context *context, const char *path, granary_err *ret_err);
/* A DEALER that connects to ipc://path, now or when the peer comes up; for tests and benchmarks: others have dealer.h.
 * NULL with the error set. */
struct gr_zmq_socket *gr_zmq_dealer(struct gr_zmq_context *context, const char *path, granary_err *ret_err);
void gr_zmq_close(struct gr_zmq_socket *socket);

#define GR_ZMQ_PEER_MAX 32
/* Names a peer of a ROUTER. */
struct gr_zmq_peer {
    unsigned char bytes[GR_ZMQ_PEER_MAX];
    size_t size;
};

/*
 * Send one message, without waiting. peer: ROUTER only, else NULL.
 * Errors: EUNREACHABLE the peer is gone (ROUTER) · EBUSY its queue is full · errno's
 */
granary_err gr_zmq_send(struct gr_zmq_socket *socket, const struct gr_zmq_peer *peer, const void *bytes, size_t size);

/* A received message; its bytes are valid until gr_zmq_message_free(). */
struct gr_zmq_message {
    struct gr_zmq_peer peer; /* ROUTER only */
    int64_t pid;             /* ROUTER only: the process that connected, as the kernel says; 0: it does not */
    const void *bytes;
    size_t size;
    _Alignas(16) unsigned char private_[64];
};

/* Take the next message without waiting: true, or false when there is none. Malformed envelopes are dropped inside. */
bool gr_zmq_receive(struct gr_zmq_socket *socket, struct gr_zmq_message *ret_message);
void gr_zmq_message_free(struct gr_zmq_message *message);

/*
 * Wait until a socket has a message or a plain descriptor is readable, at most timeout_ms (-1: for ever).
 *
 * sockets, fds        what to wait for; ready_fds[i] is set for each fds[i]
 * Returns             true when anything is ready (sockets are best drained with gr_zmq_receive() anyway)
 */
bool gr_zmq_wait(struct gr_zmq_socket *const *sockets, size_t socket_count, const int *fds, bool *ready_fds,
                 size_t fd_count, int timeout_ms);

#endif
