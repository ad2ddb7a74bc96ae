#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "wire/frame.h"

struct pair {
    int ours;
    int theirs;
    struct gr_frame_reader *reader; /* reads ours */
    int descriptors;                /* open before */
};

static int
open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL) {
        count++;
    }
    assert_int_equal(closedir(dir), 0);
    return count;
}

static void
set_blocking(int fd, bool blocking)
{
    int flags = fcntl(fd, F_GETFL);

    assert_int_equal(fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK), 0);
}

static int
pair_open(void **state)
{
    struct pair *pair = calloc(1, sizeof *pair);
    int ends[2];

    assert_non_null(pair);
    pair->descriptors = open_descriptors();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pair->ours = ends[0];
    pair->theirs = ends[1];
    set_blocking(pair->ours, false);
    pair->reader = gr_frame_reader_create(true);
    assert_non_null(pair->reader);
    *state = pair;
    return 0;
}

/* Whatever a test did, no descriptor stays open behind the reader. */
static int
pair_close(void **state)
{
    struct pair *pair = *state;
    int before = pair->descriptors;

    gr_frame_reader_destroy(pair->reader);
    gr_fd_close(&pair->ours);
    gr_fd_close(&pair->theirs);
    free(pair);
    return open_descriptors() == before ? 0 : -1;
}

static struct gr_frame
head_of(uint16_t op, uint32_t seq, uint32_t size)
{
    return (struct gr_frame){.magic = GR_STORE_MAGIC, .op = op, .seq = seq, .size = size};
}

static void
assert_same_file(int a, int b)
{
    struct stat first;
    struct stat second;

    assert_int_equal(fstat(a, &first), 0);
    assert_int_equal(fstat(b, &second), 0);
    assert_int_equal(first.st_ino, second.st_ino);
    assert_int_equal(first.st_dev, second.st_dev);
}

/* Bytes of a frame arrive one by one, its descriptors with the first: it is whole with the last byte, not before. */
static void
a_frame_in_pieces_comes_whole(void **state)
{
    struct pair *pair = *state;
    const char body[] = "twelve bytes";
    struct gr_frame head = head_of(GR_STORE_MAP, 7, 12);
    char bytes[sizeof head + 12];
    struct gr_frame_in frame;
    int descriptors[2];
    int relay[2];
    granary_err err;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, relay), 0);
    assert_int_equal(pipe(descriptors), 0);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, body, 12);
    for (size_t i = 0; i < sizeof bytes; i++) {
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(2 * sizeof(int))];
        } control = {.bytes = {0}};
        struct iovec part = {bytes + i, 1};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

        if (i == 0) {
            message.msg_control = control.bytes;
            message.msg_controllen = sizeof control.bytes;
            control.header.cmsg_level = SOL_SOCKET;
            control.header.cmsg_type = SCM_RIGHTS;
            control.header.cmsg_len = CMSG_LEN(2 * sizeof(int));
            memcpy(CMSG_DATA(&control.header), descriptors, 2 * sizeof(int));
        }
        assert_false(gr_frame_reader_next(pair->reader, &frame, &err));
        assert_int_equal(err, GRANARY_OK);
        assert_int_equal(sendmsg(pair->theirs, &message, 0), 1);
        assert_int_equal(gr_frame_reader_fill(pair->reader, pair->ours), GRANARY_OK);
    }
    assert_true(gr_frame_reader_next(pair->reader, &frame, &err));
    assert_memory_equal(&frame.head, &head, sizeof head);
    assert_memory_equal(frame.body, body, 12);
    assert_int_equal((uintptr_t)frame.body % 8, 0);
    assert_int_equal(frame.fd_count, 2);
    assert_same_file(frame.fds[0], descriptors[0]);
    assert_same_file(frame.fds[1], descriptors[1]);
    assert_int_equal(fcntl(frame.fds[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    gr_frame_in_reset(&frame);
    assert_false(gr_frame_reader_next(pair->reader, &frame, &err));
    for (int i = 0; i < 2; i++) {
        gr_fd_close(&descriptors[i]);
        gr_fd_close(&relay[i]);
    }
}

/* Several in one read come out one by one, in order, the last one cut short only when the rest is there. */
static void
several_frames_come_in_order(void **state)
{
    struct pair *pair = *state;
    struct gr_frame_in frame;
    granary_err err;

    for (uint32_t i = 0; i < 10; i++) {
        struct gr_frame head = head_of(GR_STORE_PING, i, i * 3);

        assert_int_equal(gr_frame_send(pair->theirs, &head, "abcdefghijklmnopqrstuvwxyz0", NULL, 0), GRANARY_OK);
    }
    assert_int_equal(gr_frame_reader_fill(pair->reader, pair->ours), GRANARY_OK);
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(gr_frame_reader_next(pair->reader, &frame, &err));
        assert_int_equal(frame.head.seq, i);
        assert_int_equal(frame.head.size, i * 3);
        assert_memory_equal(frame.body, "abcdefghijklmnopqrstuvwxyz0", i * 3);
    }
    assert_false(gr_frame_reader_next(pair->reader, &frame, &err));
    assert_int_equal(gr_frame_reader_fill(pair->reader, pair->ours), GRANARY_OK); /* nothing there is no error */
}

/* The largest body goes through, again and again: the reader's room is used over. */
static void
the_largest_body_goes_through(void **state)
{
    struct pair *pair = *state;
    struct gr_frame head = head_of(GR_STORE_DEAD, 1, GR_FRAME_MAX_BODY);
    char *body = malloc(GR_FRAME_MAX_BODY);
    struct gr_frame_in frame;

    assert_non_null(body);
    for (int round = 0; round < 5; round++) {
        memset(body, 'a' + round, GR_FRAME_MAX_BODY);
        assert_int_equal(gr_frame_send(pair->theirs, &head, body, NULL, 0), GRANARY_OK);
        assert_int_equal(gr_frame_receive(pair->reader, pair->ours, gr_deadline_ns(60000), &frame), GRANARY_OK);
        assert_int_equal(frame.head.size, GR_FRAME_MAX_BODY);
        assert_memory_equal(frame.body, body, GR_FRAME_MAX_BODY);
    }
    free(body);
}

static void
garbage_is_told_from_frames(void **state)
{
    struct pair *pair = *state;
    struct gr_frame_in frame = {.fd_count = -1};
    struct gr_frame bad[2] = {head_of(1, 1, 0), head_of(1, 1, GR_FRAME_MAX_BODY + 1)};

    bad[0].magic ^= 1;
    for (int i = 0; i < 2; i++) {
        struct gr_frame_reader *reader = gr_frame_reader_create(true);
        granary_err err;

        assert_int_equal(write(pair->theirs, &bad[i], sizeof bad[i]), sizeof bad[i]);
        assert_int_equal(gr_frame_reader_fill(reader, pair->ours), GRANARY_OK);
        assert_false(gr_frame_reader_next(reader, &frame, &err));
        assert_int_equal(err, GRANARY_EPROTO);
        assert_false(gr_frame_reader_next(reader, &frame, &err)); /* and stays so */
        assert_int_equal(err, GRANARY_EPROTO);
        gr_frame_reader_destroy(reader);
    }
    assert_int_equal(frame.fd_count, -1);
    assert_int_equal(write(pair->theirs, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27), 27);
    assert_int_equal(gr_frame_receive(pair->reader, pair->ours, gr_deadline_ns(60000), &frame), GRANARY_EPROTO);
}

/* More descriptors than a frame may have: the first ones are given, the rest is closed. What nobody takes is closed
 * with the reader (pair_close() counts). */
static void
unwanted_descriptors_are_closed(void **state)
{
    struct pair *pair = *state;
    struct gr_frame head = head_of(GR_STORE_PING, 1, 8);
    int fds[GR_FRAME_MAX_FDS] = {pair->ours, pair->ours, pair->ours, pair->ours};
    struct gr_frame_in frame;
    granary_err err;

    for (int i = 0; i < 3; i++) { /* three halves of frames, each with descriptors */
        struct iovec part = {&head, sizeof head};
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(sizeof fds)];
        } control = {.bytes = {0}};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};

        part.iov_len = 8;
        part.iov_base = (char *)&head + 8 * i;
        part.iov_len = i < 2 ? 8 : sizeof head - 16;
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof fds);
        memcpy(CMSG_DATA(&control.header), fds, sizeof fds);
        assert_true(sendmsg(pair->theirs, &message, 0) > 0);
        assert_int_equal(gr_frame_reader_fill(pair->reader, pair->ours), GRANARY_OK);
    }
    assert_int_equal(write(pair->theirs, "12345678", 8), 8);
    assert_int_equal(gr_frame_reader_fill(pair->reader, pair->ours), GRANARY_OK);
    assert_true(gr_frame_reader_next(pair->reader, &frame, &err));
    assert_int_equal(frame.fd_count, GR_FRAME_MAX_FDS);
    gr_frame_in_reset(&frame);
    assert_int_equal(open_descriptors(), pair->descriptors + 2);
    assert_int_equal(gr_frame_send(pair->theirs, &head, "12345678", fds, GR_FRAME_MAX_FDS), GRANARY_OK);
    assert_int_equal(gr_frame_reader_fill(pair->reader, pair->ours), GRANARY_OK); /* and nobody asks for it */
}

/* A peer that does not read costs its sender no wait. */
static void
a_peer_that_does_not_read_is_busy(void **state)
{
    struct pair *pair = *state;
    struct gr_frame head = head_of(GR_STORE_PING, 1, 1000);
    char body[1000] = {0};
    granary_err err = GRANARY_OK;
    int sent = 0;

    while (err == GRANARY_OK && sent < 1000000) {
        err = gr_frame_send(pair->ours, &head, body, NULL, 0);
        sent++;
    }
    assert_int_equal(err, GRANARY_EBUSY);
    assert_true(sent > 1);
}

static void
a_peer_that_is_gone_is_unreachable(void **state)
{
    struct pair *pair = *state;
    struct gr_frame head = head_of(GR_STORE_PING, 1, 0);
    struct gr_frame_in frame;

    assert_int_equal(write(pair->theirs, &head, 10), 10); /* dies within a frame */
    gr_fd_close(&pair->theirs);
    assert_int_equal(gr_frame_receive(pair->reader, pair->ours, gr_deadline_ns(60000), &frame), GRANARY_EUNREACHABLE);
    assert_int_equal(gr_frame_send(pair->ours, &head, NULL, NULL, 0), GRANARY_EUNREACHABLE); /* and no SIGPIPE */
}

static void
waiting_for_an_answer_ends(void **state)
{
    struct pair *pair = *state;
    struct gr_frame_in frame;
    int64_t before = gr_now_ns();

    assert_int_equal(gr_frame_receive(pair->reader, pair->ours, gr_deadline_ns(20), &frame), GRANARY_ETIMEDOUT);
    assert_true(gr_now_ns() - before >= 19000000);
}

static void
sockets_listen_and_are_found(void **state)
{
    char folder[] = "/tmp/granary-test-XXXXXX";
    char path[64];
    char longer[200];
    struct stat st;
    granary_err err = GRANARY_OK;
    int listener;
    int client;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/sock", folder);
    assert_int_equal(gr_unix_connect(path, &err), -1);
    assert_int_equal(err, GRANARY_EUNREACHABLE);
    assert_non_null(strstr(granary_error_message(), path));
    listener = gr_unix_listen(path, &err);
    assert_true(listener >= 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    client = gr_unix_connect(path, &err);
    assert_true(client >= 0);
    gr_fd_close(&client);
    gr_fd_close(&listener);
    assert_int_equal(gr_unix_connect(path, &err), -1); /* the file is there, but nobody behind it */
    assert_int_equal(err, GRANARY_EUNREACHABLE);
    listener = gr_unix_listen(path, &err); /* takes the place of the dead one */
    assert_true(listener >= 0);
    gr_fd_close(&listener);
    memset(longer, 'x', sizeof longer - 1);
    longer[0] = '/';
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(gr_unix_connect(longer, &err), -1);
    assert_int_equal(err, GRANARY_EINVAL);
    assert_int_equal(gr_unix_listen(longer, &err), -1);
    assert_int_equal(err, GRANARY_EINVAL);
    assert_int_equal(gr_unix_listen("/does/not/exist/sock", &err), -1);
    assert_int_equal(err, GRANARY_ENOENT);
    gr_remove_tree(folder);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pair_open, pair_close)
    const struct CMUnitTest tests[] = {
        TEST(a_frame_in_pieces_comes_whole),      TEST(several_frames_come_in_order),
        TEST(the_largest_body_goes_through),      TEST(garbage_is_told_from_frames),
        TEST(unwanted_descriptors_are_closed),    TEST(a_peer_that_does_not_read_is_busy),
        TEST(a_peer_that_is_gone_is_unreachable), TEST(waiting_for_an_answer_ends),
        TEST(sockets_listen_and_are_found),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
