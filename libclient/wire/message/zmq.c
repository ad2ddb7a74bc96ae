/* Sockets of libzmq: what may abort inside it is checked before it is called. */
#include "message/zmq.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zmq.h>

#include "base/error.h"
#include "base/fault/fault.h"

/* Messages queued for one peer; beyond that it does not read, and its sender is told EBUSY. */
#define HIGH_WATER 100000
/* What a context and its first socket take: threads, mailboxes, the connection. */
#define SPARE_FDS    10
#define SOCKETS_MOST 256 /* of a context; those that were closed count until libzmq's thread has come to them */

struct gr_zmq_context {
    void *zmq;
};

struct gr_zmq_socket {
    void *zmq;
    bool is_router;
};

_Static_assert(sizeof(zmq_msg_t) <= sizeof((struct gr_zmq_message *)0)->private_, "room for a zmq_msg_t");

struct gr_zmq_context *
gr_zmq_context_create(int io_threads)
{
    struct gr_zmq_context *context = calloc(1, sizeof *context);

    if (context != NULL && (context->zmq = zmq_ctx_new()) == NULL) {
        free(context);
        context = NULL;
    }
    if (context != NULL) {
        (void)zmq_ctx_set(context->zmq, ZMQ_IO_THREADS, io_threads);
        (void)zmq_ctx_set(context->zmq, ZMQ_MAX_SOCKETS, SOCKETS_MOST);
        (void)zmq_ctx_set(context->zmq, ZMQ_BLOCKY, 0);
    }
    return context;
}

void
gr_zmq_context_destroy(struct gr_zmq_context *context)
{
    if (context != NULL) {
        (void)zmq_ctx_term(context->zmq);
        free(context);
    }
}

static granary_err
fail_zmq(const char *what)
{
    int error = zmq_errno();

    return gr_fail(gr_err_from_errno(error), "%s: %s", what, zmq_strerror(error));
}

/* libzmq aborts where it gets none for its threads: see first. Says why not. */
static granary_err
find_descriptors(const char *path)
{
    granary_err err = GRANARY_OK;
    int fds[SPARE_FDS];
    int count = 0;

    while (count < SPARE_FDS && (fds[count] = eventfd(0, EFD_CLOEXEC)) >= 0) {
        count++;
    }
    if (count < SPARE_FDS) {
        err = gr_fail(gr_err_from_errno(errno), "%s: %s%s", path, strerror(errno),
                      errno == EMFILE ? ": raise the limit (ulimit -n)" : "");
    }
    while (count > 0) {
        (void)close(fds[--count]);
    }
    return err;
}

static struct gr_zmq_socket *
socket_open(struct gr_zmq_context *context, int type, const char *path, granary_err *ret_err)
{
    struct gr_zmq_socket *socket = calloc(1, sizeof *socket);
    int high_water = HIGH_WATER;
    int zero = 0;
    int one = 1;
    int soon_ms = 10; /* a peer that is being replaced is back at once */
    int uid = (int)geteuid();
    int64_t max_size = (int64_t)1 << 30;
    char endpoint[PATH_MAX];

    *ret_err = find_descriptors(path);
    if (*ret_err != GRANARY_OK) {
        free(socket);
        return NULL;
    }
    if (socket == NULL || (socket->zmq = zmq_socket(context->zmq, type)) == NULL) {
        *ret_err = socket == NULL ? gr_fail(GRANARY_ENOMEM, "%s: out of memory", path) : fail_zmq(path);
        free(socket);
        return NULL;
    }
    socket->is_router = type == ZMQ_ROUTER;
    (void)zmq_setsockopt(socket->zmq, ZMQ_LINGER, &zero, sizeof zero);
    (void)zmq_setsockopt(socket->zmq, ZMQ_SNDHWM, &high_water, sizeof high_water);
    (void)zmq_setsockopt(socket->zmq, ZMQ_RCVHWM, &high_water, sizeof high_water);
    (void)zmq_setsockopt(socket->zmq, ZMQ_MAXMSGSIZE, &max_size, sizeof max_size);
    (void)snprintf(endpoint, sizeof endpoint, "ipc://%s", path);
    if (socket->is_router) {
        (void)zmq_setsockopt(socket->zmq, ZMQ_ROUTER_MANDATORY, &one, sizeof one);
        /* The directory's mode keeps others out already; this asks the kernel who the peer is. */
        (void)zmq_setsockopt(socket->zmq, ZMQ_IPC_FILTER_UID, &uid, sizeof uid);
        /* A domain makes libzmq refuse peers that speak ZMTP 1 or 2, before it has a message of theirs. Without it, any
         * bytes are a message of version 1, and libzmq 4.3.4 aborts when they meet a socket that is being closed. No
         * handler stands behind the domain, so others are let in as ever. */
        (void)zmq_setsockopt(socket->zmq, ZMQ_ZAP_DOMAIN, "granary", 7);
        (void)unlink(path);
        if (FAULT_FAILS(message_open) || zmq_bind(socket->zmq, endpoint) < 0 || chmod(path, 0600) < 0) {
            *ret_err = fail_zmq(path);
            gr_zmq_close(socket);
            return NULL;
        }
    } else if (zmq_setsockopt(socket->zmq, ZMQ_RECONNECT_IVL, &soon_ms, sizeof soon_ms) < 0 ||
               FAULT_FAILS(message_open) || zmq_connect(socket->zmq, endpoint) < 0) {
        *ret_err = fail_zmq(path);
        gr_zmq_close(socket);
        return NULL;
    }
    return socket;
}

struct gr_zmq_socket *
gr_zmq_router(struct gr_zmq_context *context, const char *path, granary_err *ret_err)
{
    return socket_open(context, ZMQ_ROUTER, path, ret_err);
}

struct gr_zmq_socket *
gr_zmq_dealer(struct gr_zmq_context *context, const char *path, granary_err *ret_err)
{
    return socket_open(context, ZMQ_DEALER, path, ret_err);
}

void
gr_zmq_close(struct gr_zmq_socket *socket)
{
    if (socket != NULL) {
        (void)zmq_close(socket->zmq);
        free(socket);
    }
}

static granary_err
send_failed(void)
{
    return errno == EAGAIN ? gr_fail(GRANARY_EBUSY, "the peer does not read") : fail_zmq("send");
}

static granary_err
send_now(struct gr_zmq_socket *socket, const struct gr_zmq_peer *peer, const void *bytes, size_t size)
{
    if (peer != NULL && zmq_send(socket->zmq, peer->bytes, peer->size, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) {
        return send_failed();
    }
    return zmq_send(socket->zmq, bytes, size, ZMQ_DONTWAIT) < 0 ? send_failed() : GRANARY_OK;
}

/* With a byte that is wrong. */
static granary_err
send_spoilt(struct gr_zmq_socket *socket, const struct gr_zmq_peer *peer, const void *bytes, size_t size)
{
    char *copy = malloc(size + 1);
    granary_err err;

    if (copy == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a message of %zu bytes", size);
    }
    memcpy(copy, bytes, size);
    gr_fault_spoil(copy, size);
    err = send_now(socket, peer, copy, size);
    free(copy);
    return err;
}

granary_err
gr_zmq_send(struct gr_zmq_socket *socket, const struct gr_zmq_peer *peer, const void *bytes, size_t size)
{
    switch (FAULT_MEET(message_send)) {
    case GR_FAULT_ERRNO:
        return send_failed();
    case GR_FAULT_DROP:
        return GRANARY_OK;
    case GR_FAULT_CORRUPT:
        return send_spoilt(socket, peer, bytes, size);
    default:
        return send_now(socket, peer, bytes, size);
    }
}

/* libzmq notes the credentials of an ipc peer behind its address: "...:uid:gid:pid". */
static int64_t
pid_of(zmq_msg_t *part)
{
    const char *address = zmq_msg_gets(part, "Peer-Address");
    const char *pid = address == NULL ? NULL : strrchr(address, ':');

    return pid == NULL ? 0 : strtoll(pid + 1, NULL, 10);
}

/* Whether a message may be seen. */
static bool
arrives(zmq_msg_t *part)
{
    enum gr_fault_action fault = FAULT_MEET(message_receive);

    if (fault == GR_FAULT_CORRUPT) {
        gr_fault_spoil(zmq_msg_data(part), zmq_msg_size(part));
    }
    return fault != GR_FAULT_DROP;
}

bool
gr_zmq_receive(struct gr_zmq_socket *socket, struct gr_zmq_message *ret_message)
{
    zmq_msg_t *part = (zmq_msg_t *)(void *)ret_message->private_;

    for (;;) {
        size_t parts = 0;
        bool good = true;
        bool more = true;

        ret_message->peer.size = 0;
        while (more) {
            (void)zmq_msg_init(part);
            if (zmq_msg_recv(part, socket->zmq, ZMQ_DONTWAIT) < 0) {
                (void)zmq_msg_close(part);
                return false;
            }
            more = zmq_msg_more(part) != 0;
            if (socket->is_router && parts == 0) {
                good = zmq_msg_size(part) <= GR_ZMQ_PEER_MAX;
                if (good) {
                    ret_message->peer.size = zmq_msg_size(part);
                    memcpy(ret_message->peer.bytes, zmq_msg_data(part), ret_message->peer.size);
                }
            }
            parts++;
            if (more) {
                (void)zmq_msg_close(part);
            }
        }
        /* Exactly one frame behind the envelope; anything else is not ours. */
        if (good && parts == (socket->is_router ? 2u : 1u) && arrives(part)) {
            ret_message->pid = socket->is_router ? pid_of(part) : 0;
            ret_message->bytes = zmq_msg_data(part);
            ret_message->size = zmq_msg_size(part);
            return true;
        }
        (void)zmq_msg_close(part);
    }
}

void
gr_zmq_message_free(struct gr_zmq_message *message)
{
    (void)zmq_msg_close((zmq_msg_t *)(void *)message->private_);
}

bool
gr_zmq_wait(struct gr_zmq_socket *const *sockets, size_t socket_count, const int *fds, bool *ready_fds, size_t fd_count,
            int timeout_ms)
{
    zmq_pollitem_t few[32];
    zmq_pollitem_t *items = few;
    size_t count = socket_count + fd_count;
    bool any;

    if (count > sizeof few / sizeof few[0] && (items = calloc(count, sizeof *items)) == NULL) {
        return false;
    }
    for (size_t i = 0; i < socket_count; i++) {
        items[i] = (zmq_pollitem_t){.socket = sockets[i]->zmq, .fd = -1, .events = ZMQ_POLLIN};
    }
    for (size_t i = 0; i < fd_count; i++) {
        items[socket_count + i] = (zmq_pollitem_t){.fd = fds[i], .events = ZMQ_POLLIN};
    }
    any = zmq_poll(items, (int)count, timeout_ms) > 0;
    for (size_t i = 0; i < fd_count; i++) {
        ready_fds[i] = any && (items[socket_count + i].revents & (ZMQ_POLLIN | ZMQ_POLLERR)) != 0;
    }
    if (items != few) {
        free(items);
    }
    return any;
}
