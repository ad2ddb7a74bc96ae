/* One connection: a greeting, then frames in and frames out, through a buffer each. https://rfc.zeromq.org/spec/23 */
#include "dealer/dealer.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"

/* Messages that wait to leave; beyond that the other end does not read. */
#define HIGH_WATER 100000
/* What a message may be; the scheduler takes no larger one either. */
#define FRAME_MAX ((uint64_t)1 << 30)
/* A buffer at rest. */
#define ROOM      16384
#define ROOM_KEPT ((size_t)1 << 20)
/* How soon it connects again: a scheduler that is being replaced is back at once. */
#define RETRY_NS 10000000
/* How long a message that does not fit the kernel's buffer may hold its sender up. */
#define FLUSH_MS 50

enum { FLAG_MORE = 1, FLAG_LONG = 2, FLAG_COMMAND = 4, HEAD_MAX = 9, GREETING = 64 };

/* The greeting, and the command behind it. */
#define NULLS_8  "\0\0\0\0\0\0\0\0"
#define NULLS_32 NULLS_8 NULLS_8 NULLS_8 NULLS_8
static const char hello[] = "\xff" NULLS_8 "\x7f"
                            "\3\0"
                            "NULL" NULLS_8 NULLS_8 "\0" NULLS_8 NULLS_8 NULLS_8 "\0\0\0\0\0\0\0"
                            "\x04\x29"
                            "\5READY"
                            "\x0bSocket-Type\0\0\0\6DEALER"
                            "\x08Identity\0\0\0\0";
#define HELLO_SIZE (sizeof hello - 1)
_Static_assert(HELLO_SIZE == GREETING + 2 + 0x29, "the command's size");

struct bytes {
    uint8_t *bytes;
    size_t size, room;
};

struct gr_dealer {
    struct sockaddr_un address;
    int fd;           /* -1: not connected */
    int epoll_fd;     /* who watches; -1 */
    bool greeted;     /* the other end's greeting is read */
    bool ready;       /* both have told what they are: messages may leave */
    bool lost;        /* one that was ready is */
    bool deaf;        /* the other end takes nothing more: what it said is read to its end first */
    bool skipping;    /* the rest of a message of several frames */
    bool drained;     /* the last read took all there was */
    int64_t retry_ns; /* when to connect */
    size_t hello_sent;
    struct bytes in;
    size_t in_at;   /* what is before it was taken */
    size_t waiting; /* bytes of the message at in_at, which is whole; SIZE_MAX: there is none */
    /* Frames. out_sent is somewhere in the one at out_frame, which leaves again, whole, by the next connection. */
    struct bytes out;
    size_t out_sent, out_frame, out_count;
};

/* ---- bytes ---- */

static bool
bytes_reserve(struct bytes *buffer, size_t size)
{
    size_t room = buffer->room == 0 ? ROOM : buffer->room;
    uint8_t *bytes;

    while (room < size) {
        room *= 2;
    }
    if (room == buffer->room) {
        return true;
    }
    bytes = realloc(buffer->bytes, room);
    if (bytes == NULL) {
        return false;
    }
    buffer->bytes = bytes;
    buffer->room = room;
    return true;
}

/* A large one is given back. */
static void
bytes_empty(struct bytes *buffer)
{
    uint8_t *less = buffer->room > ROOM_KEPT ? realloc(buffer->bytes, ROOM) : NULL;

    buffer->size = 0;
    if (less != NULL) {
        buffer->bytes = less;
        buffer->room = ROOM;
    }
}

static size_t
head_write(uint8_t head[HEAD_MAX], size_t size)
{
    if (size <= UINT8_MAX) {
        head[0] = 0;
        head[1] = (uint8_t)size;
        return 2;
    }
    head[0] = FLAG_LONG;
    for (unsigned i = 0; i < 8; i++) {
        head[1 + i] = (uint8_t)(size >> (56 - 8 * i));
    }
    return HEAD_MAX;
}

/* The bytes of a head and of the frame behind it. 0: the head is not there as a whole. */
static size_t
head_read(const uint8_t *bytes, size_t there, uint64_t *ret_size)
{
    uint64_t size = 0;

    if (there < 2 || ((bytes[0] & FLAG_LONG) != 0 && there < HEAD_MAX)) {
        return 0;
    }
    if ((bytes[0] & FLAG_LONG) == 0) {
        *ret_size = bytes[1];
        return 2;
    }
    for (unsigned i = 0; i < 8; i++) {
        size = size << 8 | bytes[1 + i];
    }
    *ret_size = size;
    return HEAD_MAX;
}

/* ---- the connection ---- */

static void
lose(struct gr_dealer *dealer)
{
    gr_fd_close(&dealer->fd);
    dealer->retry_ns = gr_now_ns() + RETRY_NS;
    dealer->lost = dealer->lost || dealer->ready;
    dealer->greeted = dealer->ready = dealer->deaf = dealer->skipping = dealer->drained = false;
    dealer->hello_sent = 0;
    dealer->in_at = 0;
    bytes_empty(&dealer->in);
    dealer->out_sent = dealer->out_frame;
}

/* Nothing leaves any more, for whatever reason: so reading comes to an end, too. */
static void
deafen(struct gr_dealer *dealer)
{
    dealer->deaf = true;
    (void)shutdown(dealer->fd, SHUT_RDWR);
}

static bool
comes_later(int error)
{
    return error == ENOENT || error == ECONNREFUSED || error == EAGAIN || error == EINTR;
}

/* -1 with errno. */
static int
connect_now(struct gr_dealer *dealer)
{
    int fd = FAULT_FAILS(message_open) ? -1 : socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int result = fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&dealer->address, sizeof dealer->address);

    if (result < 0) {
        gr_fd_close(&fd);
        dealer->retry_ns = gr_now_ns() + RETRY_NS;
        return -1;
    }
    dealer->fd = fd;
    if (dealer->epoll_fd >= 0) {
        struct epoll_event event = {.events = EPOLLIN};

        (void)epoll_ctl(dealer->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    }
    return 0;
}

/* Counts what has left, and forgets it when it is all. */
static void
out_left(struct gr_dealer *dealer, size_t count)
{
    struct bytes *out = &dealer->out;
    uint64_t size;
    size_t head;

    dealer->out_sent += count;
    while ((head = head_read(out->bytes + dealer->out_frame, out->size - dealer->out_frame, &size)) > 0 &&
           dealer->out_frame + head + size <= dealer->out_sent) {
        dealer->out_frame += head + size;
        dealer->out_count--;
    }
    if (dealer->out_sent == out->size) {
        dealer->out_sent = dealer->out_frame = 0;
        bytes_empty(out);
    }
}

/* Whether something is to leave by the connection there is. */
static bool
pushes(const struct gr_dealer *dealer)
{
    return dealer->fd >= 0 && !dealer->deaf &&
           (dealer->hello_sent < HELLO_SIZE || (dealer->ready && dealer->out_sent < dealer->out.size));
}

/* What can leave now does. */
static void
push(struct gr_dealer *dealer)
{
    bool more = true;

    if (dealer->fd < 0 && gr_now_ns() >= dealer->retry_ns) {
        (void)connect_now(dealer);
    }
    while (more && pushes(dealer)) {
        bool greeting = dealer->hello_sent < HELLO_SIZE;
        const void *bytes =
            greeting ? (const uint8_t *)hello + dealer->hello_sent : dealer->out.bytes + dealer->out_sent;
        size_t size = greeting ? HELLO_SIZE - dealer->hello_sent : dealer->out.size - dealer->out_sent;
        ssize_t sent = send(dealer->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0) {
            more = errno == EINTR;
            if (!more && errno != EAGAIN) {
                deafen(dealer);
            }
        } else if (greeting) {
            dealer->hello_sent += (size_t)sent;
        } else {
            out_left(dealer, (size_t)sent);
        }
    }
}

/* ---- in ---- */

/* Room for what is missing of the frame at in_at, or for whatever comes. */
static bool
in_reserve(struct gr_dealer *dealer)
{
    struct bytes *in = &dealer->in;
    size_t there = in->size - dealer->in_at;
    uint64_t size = 0;
    size_t wanted = there + 1;

    if (dealer->in_at > 0) {
        memmove(in->bytes, in->bytes + dealer->in_at, there);
        in->size = there;
        dealer->in_at = 0;
    }
    /* No more than twice what has come: a frame may claim any size. */
    if (dealer->greeted && head_read(in->bytes, there, &size) > 0) {
        wanted = size + HEAD_MAX < 2 * there ? size + HEAD_MAX : 2 * there;
    }
    return bytes_reserve(in, wanted < there + 1 ? there + 1 : wanted);
}

/* Read what is there. false: nothing came, or the connection is lost. Errors: ENOMEM */
static granary_err
in_read(struct gr_dealer *dealer, bool *ret_came)
{
    struct bytes *in = &dealer->in;
    ssize_t received = -1;
    size_t room;

    *ret_came = false;
    if (!in_reserve(dealer)) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a message of the scheduler");
    }
    room = in->room - in->size;
    do {
        received = recv(dealer->fd, in->bytes + in->size, room, MSG_DONTWAIT);
    } while (received < 0 && errno == EINTR);
    if (received > 0) {
        in->size += (size_t)received;
        dealer->drained = (size_t)received < room;
        *ret_came = true;
    } else if (received == 0 || errno != EAGAIN) {
        lose(dealer);
    }
    return GRANARY_OK;
}

/* The other end speaks ZMTP 3 without secrets. false: it does not, or not yet all of it is there. */
static bool
in_greeting(struct gr_dealer *dealer)
{
    const uint8_t *bytes = dealer->in.bytes + dealer->in_at;

    if (dealer->in.size - dealer->in_at < GREETING) {
        return false;
    }
    if (bytes[0] != 0xff || bytes[9] != 0x7f || bytes[10] < 3 || memcmp(bytes + 12, "NULL", 5) != 0) {
        lose(dealer);
        return false;
    }
    dealer->in_at += GREETING;
    dealer->greeted = true;
    return true;
}

/* A frame that is whole: a command, part of what is none of ours, or a message. */
static void
in_frame(struct gr_dealer *dealer, size_t head, size_t size)
{
    const uint8_t *bytes = dealer->in.bytes + dealer->in_at;
    bool more = (bytes[0] & FLAG_MORE) != 0;

    if ((bytes[0] & FLAG_COMMAND) != 0) {
        bool ready = size >= 6 && memcmp(bytes + head, "\5READY", 6) == 0;

        dealer->in_at += head + size;
        if (ready) {
            dealer->ready = true;
            push(dealer);
        } else if (!dealer->ready) {
            lose(dealer); /* it refuses us */
        }
    } else if (more || dealer->skipping) {
        dealer->skipping = more;
        dealer->in_at += head + size;
    } else {
        dealer->in_at += head;
        dealer->waiting = size;
    }
}

/* Go through what was read: to the next message, if it is there as a whole. */
static void
in_parse(struct gr_dealer *dealer)
{
    bool more = true;

    while (more && dealer->fd >= 0 && dealer->waiting == SIZE_MAX) {
        uint64_t size = 0;
        size_t there = dealer->in.size - dealer->in_at;
        size_t head = dealer->greeted ? head_read(dealer->in.bytes + dealer->in_at, there, &size) : 0;

        if (!dealer->greeted) {
            more = in_greeting(dealer);
        } else if (head > 0 && size > FRAME_MAX) {
            lose(dealer);
        } else if (head > 0 && there >= head + size) {
            in_frame(dealer, head, (size_t)size);
        } else {
            more = false;
        }
    }
}

/* Get the next message into `waiting`, if it has come. Errors: ENOMEM */
static granary_err
look(struct gr_dealer *dealer)
{
    granary_err err = GRANARY_OK;
    bool came = true;

    push(dealer);
    in_parse(dealer);
    while (err == GRANARY_OK && came && dealer->fd >= 0 && dealer->waiting == SIZE_MAX) {
        if (dealer->drained) {
            came = dealer->drained = false;
        } else {
            err = in_read(dealer, &came);
            in_parse(dealer);
        }
    }
    return err;
}

/* ---- from outside ---- */

granary_err
gr_dealer_open(const char *path, struct gr_dealer **ret_dealer)
{
    struct gr_dealer *dealer;
    granary_err err;

    if (strlen(path) >= sizeof dealer->address.sun_path) {
        return gr_fail(GRANARY_EINVAL, "%s: too long for a socket's path", path);
    }
    dealer = calloc(1, sizeof *dealer);
    if (dealer == NULL || !bytes_reserve(&dealer->in, ROOM)) {
        free(dealer);
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory", path);
    }
    dealer->address.sun_family = AF_UNIX;
    memcpy(dealer->address.sun_path, path, strlen(path) + 1);
    dealer->fd = dealer->epoll_fd = -1;
    dealer->waiting = SIZE_MAX;
    if (connect_now(dealer) < 0 && !comes_later(errno)) {
        err = gr_fail(gr_err_from_errno(errno), "%s: %s%s", path, strerror(errno),
                      errno == EMFILE ? ": raise the limit (ulimit -n)" : "");
        gr_dealer_close(dealer);
        return err;
    }
    push(dealer);
    *ret_dealer = dealer;
    return GRANARY_OK;
}

void
gr_dealer_close(struct gr_dealer *dealer)
{
    if (dealer != NULL) {
        gr_fd_close(&dealer->fd);
        free(dealer->in.bytes);
        free(dealer->out.bytes);
        free(dealer);
    }
}

/* How much of it left at once. */
static size_t
send_at_once(struct gr_dealer *dealer, uint8_t *head, size_t head_size, const void *bytes, size_t size)
{
    struct iovec parts[] = {{head, head_size}, {(void *)(uintptr_t)bytes, size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent;

    if (!dealer->ready || dealer->deaf || dealer->out.size > 0) {
        return 0;
    }
    do {
        sent = sendmsg(dealer->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0 && errno != EAGAIN) {
        deafen(dealer);
    }
    return sent < 0 ? 0 : (size_t)sent;
}

/* Nobody else pushes, and the sender may be busy with something else for long: the other end gets a moment to read. */
static void
flush(struct gr_dealer *dealer)
{
    int64_t deadline = gr_deadline_ns(FLUSH_MS);

    push(dealer);
    while (dealer->ready && pushes(dealer) && gr_now_ns() < deadline) {
        struct pollfd poll_fd = {.fd = dealer->fd, .events = POLLOUT};

        (void)poll(&poll_fd, 1, gr_left_ms(deadline));
        push(dealer);
    }
}

static granary_err
send_now(struct gr_dealer *dealer, const void *bytes, size_t size, bool spoilt)
{
    uint8_t head[HEAD_MAX];
    size_t head_size = head_write(head, size);
    struct bytes *out = &dealer->out;
    size_t sent;

    if (dealer->out_count >= HIGH_WATER) {
        return gr_fail(GRANARY_EBUSY, "the peer does not read");
    }
    sent = spoilt ? 0 : send_at_once(dealer, head, head_size, bytes, size);
    if (sent == head_size + size) {
        return GRANARY_OK;
    }
    if (!bytes_reserve(out, out->size + head_size + size)) {
        if (sent > 0) {
            lose(dealer); /* it would be half a message */
        }
        return gr_fail(GRANARY_ENOMEM, "no memory for a message of %zu bytes", size);
    }
    memcpy(out->bytes + out->size, head, head_size);
    memcpy(out->bytes + out->size + head_size, bytes, size);
    if (spoilt) {
        gr_fault_spoil(out->bytes + out->size + head_size, size);
    }
    out->size += head_size + size;
    dealer->out_sent += sent;
    dealer->out_count++;
    flush(dealer);
    return GRANARY_OK;
}

granary_err
gr_dealer_send(struct gr_dealer *dealer, const void *bytes, size_t size)
{
    enum gr_fault_action fault = FAULT_MEET(message_send);

    switch (fault) {
    case GR_FAULT_ERRNO:
        return errno == EAGAIN ? gr_fail(GRANARY_EBUSY, "the peer does not read") : gr_fail_errno("send");
    case GR_FAULT_DROP:
        return GRANARY_OK;
    default:
        return send_now(dealer, bytes, size, fault == GR_FAULT_CORRUPT);
    }
}

granary_err
gr_dealer_receive(struct gr_dealer *dealer, const void **ret_bytes, size_t *ret_size)
{
    granary_err err = GRANARY_OK;
    bool arrives = false;

    *ret_bytes = NULL;
    if (dealer->in_at == dealer->in.size && dealer->waiting == SIZE_MAX) {
        dealer->in_at = 0;
        bytes_empty(&dealer->in);
    }
    while (!arrives && (err = look(dealer)) == GRANARY_OK && dealer->waiting != SIZE_MAX) {
        enum gr_fault_action fault = FAULT_MEET(message_receive);
        uint8_t *bytes = dealer->in.bytes + dealer->in_at;

        if (fault == GR_FAULT_CORRUPT) {
            gr_fault_spoil(bytes, dealer->waiting);
        }
        arrives = fault != GR_FAULT_DROP;
        if (arrives) {
            *ret_bytes = bytes;
            *ret_size = dealer->waiting;
        }
        dealer->in_at += dealer->waiting;
        dealer->waiting = SIZE_MAX;
    }
    return err;
}

/* Until when to sleep, at most until the next try to connect. */
static int
nap_ms(const struct gr_dealer *dealer, int64_t deadline_ns)
{
    bool connects = dealer != NULL && dealer->fd < 0 && dealer->retry_ns < deadline_ns;

    return gr_left_ms(connects ? dealer->retry_ns : deadline_ns);
}

/* Sleep once. Returns how many of fds are readable. */
static size_t
sleep_once(const struct gr_dealer *dealer, struct pollfd *polls, size_t fd_count, bool *ready_fds, int64_t deadline_ns)
{
    bool both = dealer != NULL && pushes(dealer);
    size_t count = 0;

    polls[fd_count] =
        (struct pollfd){.fd = dealer == NULL ? -1 : dealer->fd, .events = (short)(both ? POLLIN | POLLOUT : POLLIN)};
    if (poll(polls, (nfds_t)fd_count + 1, nap_ms(dealer, deadline_ns)) <= 0) {
        return 0;
    }
    for (size_t i = 0; i < fd_count; i++) {
        ready_fds[i] = polls[i].revents != 0;
        count += ready_fds[i];
    }
    return count;
}

bool
gr_dealer_is_another(const struct gr_dealer *dealer)
{
    return dealer->lost && dealer->ready;
}

bool
gr_dealer_wait(struct gr_dealer *dealer, const int *fds, bool *ready_fds, size_t fd_count, int timeout_ms)
{
    struct pollfd few[32];
    struct pollfd *polls = few;
    int64_t deadline = gr_deadline_ns(timeout_ms);
    const bool was_another = dealer != NULL && gr_dealer_is_another(dealer);
    bool any = false;

    if (fd_count >= sizeof few / sizeof few[0] && (polls = calloc(fd_count + 1, sizeof *polls)) == NULL) {
        return false;
    }
    for (size_t i = 0; i < fd_count; i++) {
        polls[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
        ready_fds[i] = false;
    }
    if (dealer != NULL) {
        in_parse(dealer);
        deadline = dealer->waiting == SIZE_MAX ? deadline : 0;
    }
    do {
        any = sleep_once(dealer, polls, fd_count, ready_fds, deadline) > 0;
        /* For want of memory something is there, too: who receives it is told. */
        any = any || (dealer != NULL && (look(dealer) != GRANARY_OK || dealer->waiting != SIZE_MAX));
    } while (!any && gr_now_ns() < deadline && (dealer == NULL || was_another || !gr_dealer_is_another(dealer)));
    if (polls != few) {
        free(polls);
    }
    return any;
}

void
gr_dealer_watch(struct gr_dealer *dealer, int epoll_fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    dealer->epoll_fd = epoll_fd;
    if (dealer->fd >= 0 && epoll_fd >= 0) {
        (void)epoll_ctl(epoll_fd, EPOLL_CTL_ADD, dealer->fd, &event);
    }
}
