#include "store/connection.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "store/world.h"

void
connection_close(struct connection *c)
{
    if (c->page != NULL) {
        (void)munmap(c->page, sizeof *c->page);
    }
    for (unsigned i = 0; i < ROOMS; i++) {
        if (c->rooms[i].segment != 0) {
            gr_fd_close(&c->rooms[i].fd);
        }
    }
    gr_frame_reader_destroy(c->reader);
    gr_fd_close(&c->doorbell);
    gr_fd_close(&c->fd);
    *c = (struct connection){.fd = -1, .doorbell = -1};
}

void
connection_open(struct connection *c)
{
    granary_err err;

    if (c->fd >= 0) {
        return;
    }
    *c = (struct connection){.fd = gr_unix_connect(world.paths.store_socket, &err), .doorbell = -1};
    MUST(c->fd >= 0, "a connection");
    (void)fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->reader = gr_frame_reader_create(true);
}

static void
take_hello(struct connection *c, struct gr_frame_in *frame)
{
    void *page;

    if (frame->fd_count != 3 || c->page != NULL) {
        return;
    }
    page = mmap(NULL, sizeof *c->page, PROT_READ | PROT_WRITE, MAP_SHARED, frame->fds[1], 0);
    MUST(page != MAP_FAILED, "a lease page");
    c->page = page;
    c->head = atomic_load(&c->page->ring_tail);
    gr_fd_close(&c->doorbell);
    c->doorbell = frame->fds[2];
    frame->fds[2] = -1;
}

static void
take_room(struct connection *c, struct gr_frame_in *frame)
{
    struct gr_room_reply reply;

    if (frame->fd_count != 1 || frame->head.size != sizeof reply) {
        return;
    }
    memcpy(&reply, frame->body, sizeof reply);
    for (unsigned i = 0; i < ROOMS; i++) {
        if (c->rooms[i].segment == 0) {
            c->rooms[i] = (struct room){reply.segment, reply.size_bytes, frame->fds[0]};
            frame->fds[0] = -1;
            return;
        }
    }
}

void
connection_read(struct connection *c)
{
    struct gr_frame_in frame;
    granary_err err;

    for (unsigned i = 0; c->fd >= 0 && i < 64; i++) {
        granary_err filled = gr_frame_reader_fill(c->reader, c->fd);
        bool any = false;

        while (gr_frame_reader_next(c->reader, &frame, &err)) {
            any = true;
            if (frame.head.err == 0 && frame.head.op == GR_STORE_HELLO) {
                take_hello(c, &frame);
            } else if (frame.head.err == 0 && frame.head.op == GR_STORE_ROOM) {
                take_room(c, &frame);
            }
            gr_frame_in_reset(&frame);
        }
        MUST(err == GRANARY_OK, "what the store sends are frames");
        if (filled != GRANARY_OK) {
            connection_close(c); /* dropped */
            return;
        }
        if (!any) {
            return;
        }
    }
}

void
connection_send(struct connection *c, const void *bytes, size_t size)
{
    char space[CMSG_SPACE(sizeof(int) * 8)] = {0};
    struct iovec part = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

    if (c->fd < 0 || size == 0) {
        return;
    }
    if (c->passing > 0) {
        static int passed = -1;
        struct cmsghdr *control;

        if (passed < 0) {
            passed = open("/dev/null", O_RDONLY | O_CLOEXEC);
        }
        message.msg_control = space;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * c->passing);
        control = CMSG_FIRSTHDR(&message);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof(int) * c->passing);
        for (unsigned i = 0; i < c->passing; i++) {
            memcpy(CMSG_DATA(control) + i * sizeof passed, &passed, sizeof passed);
        }
        c->passing = 0;
    }
    (void)!sendmsg(c->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
