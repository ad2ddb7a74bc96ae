/* Frames with descriptors over unix sockets: partial reads are kept until a frame is whole. */
#include "wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/fd.h"

/* Descriptors arrive before the frame they belong to is whole; this many may be under way. */
#define FD_QUEUE (GR_FRAME_MAX_FDS * 4)

struct gr_frame_reader {
    size_t used;
    bool takes_fds;
    size_t given; /* bytes of the frame handed out last, dropped at the next call */
    int fds[FD_QUEUE];
    int fd_count;
    _Alignas(8) char bytes[sizeof(struct gr_frame) + GR_FRAME_MAX_BODY + 64];
    _Alignas(8) char body[GR_FRAME_MAX_BODY];
};

void
gr_frame_in_reset(struct gr_frame_in *frame)
{
    for (int i = 0; i < frame->fd_count; i++) {
        gr_fd_close(&frame->fds[i]);
    }
    frame->fd_count = 0;
}

struct gr_frame_reader *
gr_frame_reader_create(bool takes_fds)
{
    struct gr_frame_reader *reader = calloc(1, sizeof *reader);

    if (reader != NULL) {
        reader->takes_fds = takes_fds;
    }
    return reader;
}

void
gr_frame_reader_reset(struct gr_frame_reader *reader)
{
    for (int i = 0; i < reader->fd_count; i++) {
        gr_fd_close(&reader->fds[i]);
    }
    reader->fd_count = 0;
    reader->used = reader->given = 0;
}

void
gr_frame_reader_destroy(struct gr_frame_reader *reader)
{
    if (reader != NULL) {
        gr_frame_reader_reset(reader);
        free(reader);
    }
}

static void
keep_descriptors(struct gr_frame_reader *reader, struct msghdr *message)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (reader->fd_count < FD_QUEUE) {
                reader->fds[reader->fd_count++] = fd;
            } else {
                gr_fd_close(&fd);
            }
        }
    }
}

/* Whether this process may have one more: the kernel drops those on their way to one that may not, and says little. */
static granary_err
find_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    granary_err err = fd >= 0 ? GRANARY_OK : gr_fail_errno("receive a descriptor");

    gr_fd_close(&fd);
    return err;
}

granary_err
gr_frame_reader_fill(struct gr_frame_reader *reader, int fd)
{
    char control[CMSG_SPACE(sizeof(int) * FD_QUEUE)];
    struct iovec part;
    struct msghdr message;
    granary_err err;
    ssize_t n;

    if (reader->given > 0) {
        memmove(reader->bytes, reader->bytes + reader->given, reader->used - reader->given);
        reader->used -= reader->given;
        reader->given = 0;
    }
    part = (struct iovec){reader->bytes + reader->used, sizeof reader->bytes - reader->used};
    if (part.iov_len == 0) {
        return GRANARY_OK;
    }
    message =
        (struct msghdr){.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    if (!reader->takes_fds) { /* without room for them the kernel drops them */
        message.msg_control = NULL;
        message.msg_controllen = 0;
    }
    do {
        n = FAULT_LEAVES(frame_receive, part.iov_base, part.iov_len) ? recvmsg(fd, &message, MSG_CMSG_CLOEXEC) : -1;
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return errno == EAGAIN || errno == EWOULDBLOCK ? GRANARY_OK
                                                       : gr_fail_errno("receive from a socket of the store");
    }
    keep_descriptors(reader, &message);
    if (!reader->takes_fds && (message.msg_flags & MSG_CTRUNC) != 0) {
        return gr_fail(GRANARY_EPROTO, "descriptors, which no request takes");
    }
    if ((message.msg_flags & MSG_CTRUNC) != 0 && (err = find_descriptor()) != GRANARY_OK) {
        return err;
    }
    if (n == 0) {
        return gr_fail(GRANARY_EUNREACHABLE, "the peer closed the connection");
    }
    reader->used += (size_t)n;
    return GRANARY_OK;
}

bool
gr_frame_reader_next(struct gr_frame_reader *reader, struct gr_frame_in *ret_frame, granary_err *ret_err)
{
    struct gr_frame_in frame = {.fd_count = 0};
    size_t whole;

    *ret_err = GRANARY_OK;
    if (reader->used - reader->given < sizeof frame.head) {
        return false;
    }
    memcpy(&frame.head, reader->bytes + reader->given, sizeof frame.head);
    if (frame.head.magic != GR_STORE_MAGIC || frame.head.size > GR_FRAME_MAX_BODY) {
        *ret_err = gr_fail(GRANARY_EPROTO, "not a frame: magic %08x, %u bytes", frame.head.magic, frame.head.size);
        return false;
    }
    whole = sizeof frame.head + frame.head.size;
    if (reader->used - reader->given < whole) {
        return false;
    }
    memcpy(reader->body, reader->bytes + reader->given + sizeof frame.head, frame.head.size);
    frame.body = reader->body;
    reader->given += whole;
    /* One request at a time per connection, so what has arrived belongs to this frame. */
    for (int i = 0; i < reader->fd_count; i++) {
        if (frame.fd_count < GR_FRAME_MAX_FDS) {
            frame.fds[frame.fd_count++] = reader->fds[i];
        } else {
            gr_fd_close(&reader->fds[i]);
        }
    }
    reader->fd_count = 0;
    *ret_frame = frame;
    return true;
}

granary_err
gr_frame_send(int fd, const struct gr_frame *head, const void *body, const int *fds, int fd_count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * GR_FRAME_MAX_FDS)];
    } control = {.bytes = {0}};
    struct iovec parts[2] = {{(void *)(uintptr_t)head, sizeof *head}, {(void *)(uintptr_t)body, head->size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = head->size > 0 ? 2 : 1};
    size_t left = sizeof *head + head->size;
    bool begun = false;

    if (fd_count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)fd_count);
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)fd_count);
        memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * (size_t)fd_count);
    }
    while (left > 0) {
        ssize_t n = FAULT_FAILS(frame_send) ? -1 : sendmsg(fd, &message, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            /* Half a frame cannot be taken back: the caller drops the peer on either. */
            return gr_fail(GRANARY_EBUSY, begun ? "the peer stopped reading inside a frame" : "the peer does not read");
        }
        if (n < 0) {
            return gr_fail_errno("send to a socket of the store");
        }
        begun = true;
        left -= (size_t)n;
        message.msg_control = NULL;
        message.msg_controllen = 0;
        for (size_t i = 0; i < message.msg_iovlen; i++) {
            size_t taken = (size_t)n < parts[i].iov_len ? (size_t)n : parts[i].iov_len;

            parts[i].iov_base = (char *)parts[i].iov_base + taken;
            parts[i].iov_len -= taken;
            n -= (ssize_t)taken;
        }
    }
    return GRANARY_OK;
}

granary_err
gr_frame_receive(struct gr_frame_reader *reader, int fd, int64_t deadline_ns, struct gr_frame_in *ret_frame)
{
    granary_err err;

    while (!gr_frame_reader_next(reader, ret_frame, &err)) {
        struct pollfd poller = {.fd = fd, .events = POLLIN};
        int n;

        if (err != GRANARY_OK) {
            return err;
        }
        n = poll(&poller, 1, gr_left_ms(deadline_ns));
        if (n < 0 && errno != EINTR) {
            return gr_fail_errno("wait at a socket of the store");
        }
        if (n == 0) {
            return gr_fail(GRANARY_ETIMEDOUT, "no answer in time");
        }
        if (n > 0 && (err = gr_frame_reader_fill(reader, fd)) != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

static int
unix_socket(const char *path, int flags, struct sockaddr_un *address, granary_err *ret_err)
{
    int fd;

    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path) {
        *ret_err = gr_fail(GRANARY_EINVAL, "%s: longer than the %zu characters a socket's address holds", path,
                           sizeof address->sun_path - 1);
        return -1;
    }
    memcpy(address->sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd < 0) {
        *ret_err = gr_fail_errno("%s: socket", path);
    }
    return fd;
}

int
gr_unix_listen(const char *path, granary_err *ret_err)
{
    struct sockaddr_un address;
    int fd = unix_socket(path, SOCK_NONBLOCK, &address, ret_err);

    if (fd < 0) {
        return -1;
    }
    (void)unlink(path);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || chmod(path, 0600) < 0 || listen(fd, 1024) < 0) {
        *ret_err = gr_fail_errno("%s", path);
        gr_fd_close(&fd);
    }
    return fd;
}

int
gr_unix_connect(const char *path, granary_err *ret_err)
{
    struct sockaddr_un address;
    int fd = unix_socket(path, 0, &address, ret_err);

    if (fd < 0) {
        return -1;
    }
    if (FAULT_FAILS(client_connect) || connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        *ret_err = errno == ENOENT || errno == ECONNREFUSED
                       ? gr_fail(GRANARY_EUNREACHABLE, "%s: nobody listens there", path)
                       : gr_fail_errno("%s", path);
        gr_fd_close(&fd);
    }
    return fd;
}
