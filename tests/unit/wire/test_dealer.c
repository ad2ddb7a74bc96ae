/* Our end of ZMTP against libzmq's ROUTER, and against an other end that does what libzmq would not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "dealer/dealer.h"
#include "message/zmq.h"

#define PATIENCE_MS 10000
#define MIB         ((size_t)1 << 20)
#define HEAD        9 /* of a frame of more than 255 bytes */

struct ends {
    char folder[40];
    char path[64];
    struct gr_zmq_context *context;
    struct gr_zmq_socket *router;
    struct gr_dealer *dealer;
};

static void
router_open(struct ends *ends)
{
    granary_err err;

    ends->router = gr_zmq_router(ends->context, ends->path, &err);
    assert_non_null(ends->router);
}

/* What was closed is gone when this returns. */
static void
context_anew(struct ends *ends)
{
    gr_zmq_context_destroy(ends->context);
    ends->context = gr_zmq_context_create(1);
    assert_non_null(ends->context);
}

static int
ends_open(void **state)
{
    struct ends *ends = calloc(1, sizeof *ends);

    assert_non_null(ends);
    strcpy(ends->folder, "/tmp/granary-test-XXXXXX");
    assert_non_null(mkdtemp(ends->folder));
    (void)snprintf(ends->path, sizeof ends->path, "%s/sock", ends->folder);
    ends->context = gr_zmq_context_create(1);
    assert_non_null(ends->context);
    *state = ends;
    return 0;
}

static int
ends_close(void **state)
{
    struct ends *ends = *state;

    gr_dealer_close(ends->dealer);
    gr_dealer_close(NULL);
    gr_zmq_close(ends->router);
    gr_zmq_context_destroy(ends->context);
    gr_remove_tree(ends->folder);
    free(ends);
    return 0;
}

/* The router's next message; meanwhile the dealer does what it has to. */
static void
router_next(const struct ends *ends, struct gr_zmq_message *message)
{
    int64_t deadline = gr_deadline_ns(PATIENCE_MS);

    while (!gr_zmq_receive(ends->router, message)) {
        assert_true(gr_now_ns() < deadline);
        (void)gr_dealer_wait(ends->dealer, NULL, NULL, 0, 0);
        (void)gr_zmq_wait(&ends->router, 1, NULL, NULL, 0, 1);
    }
}

static void
router_expect(const struct ends *ends, const void *bytes, size_t size)
{
    struct gr_zmq_message message;

    router_next(ends, &message);
    assert_int_equal(message.size, size);
    assert_memory_equal(message.bytes, bytes, size);
    assert_int_equal(message.pid, getpid());
    gr_zmq_message_free(&message);
}

static void
dealer_expect(const struct ends *ends, const void *expected, size_t expected_size)
{
    int64_t deadline = gr_deadline_ns(PATIENCE_MS);
    const void *bytes;
    size_t size;

    for (;;) {
        assert_int_equal(gr_dealer_receive(ends->dealer, &bytes, &size), GRANARY_OK);
        if (bytes != NULL) {
            break;
        }
        assert_true(gr_now_ns() < deadline);
        assert_true(gr_dealer_wait(ends->dealer, NULL, NULL, 0, gr_left_ms(deadline)));
    }
    assert_int_equal(size, expected_size);
    assert_memory_equal(bytes, expected, expected_size);
}

/* Of every kind of head, and larger than what the kernel takes at once. */
static void
messages_go_there_and_back(void **state)
{
    static const size_t sizes[] = {0, 1, 64, 255, 256, 16384, 70000, 5 * MIB, 3};
    struct ends *ends = *state;
    char *bytes = malloc(5 * MIB);
    const void *none;
    size_t size;

    assert_non_null(bytes);
    for (size_t i = 0; i < 5 * MIB; i++) {
        bytes[i] = (char)(i * 31 + i / 251);
    }
    router_open(ends);
    assert_int_equal(gr_dealer_open(ends->path, &ends->dealer), GRANARY_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct gr_zmq_message message;

        assert_int_equal(gr_dealer_send(ends->dealer, bytes + i, sizes[i] - (sizes[i] > MIB ? i : 0)), GRANARY_OK);
        router_next(ends, &message);
        assert_int_equal(message.size, sizes[i] - (sizes[i] > MIB ? i : 0));
        assert_memory_equal(message.bytes, bytes + i, message.size);
        assert_int_equal(gr_zmq_send(ends->router, &message.peer, message.bytes, message.size), GRANARY_OK);
        assert_int_equal(gr_zmq_send(ends->router, &message.peer, "behind", 6), GRANARY_OK);
        dealer_expect(ends, bytes + i, message.size);
        dealer_expect(ends, "behind", 6);
        gr_zmq_message_free(&message);
    }
    assert_int_equal(gr_dealer_receive(ends->dealer, &none, &size), GRANARY_OK);
    assert_null(none);
    assert_false(gr_dealer_wait(ends->dealer, NULL, NULL, 0, 0));
    free(bytes);
}

/* What was sent before anybody listens comes when somebody does, in order; and to the next one when that is gone. */
static void
what_waits_leaves_with_the_next_connection(void **state)
{
    struct ends *ends = *state;
    char text[32];

    assert_int_equal(gr_dealer_open(ends->path, &ends->dealer), GRANARY_OK);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++) {
            assert_int_equal(
                gr_dealer_send(ends->dealer, text, (size_t)snprintf(text, sizeof text, "round %d, %d", round, i)),
                GRANARY_OK);
        }
        router_open(ends);
        for (int i = 0; i < 1000; i++) {
            router_expect(ends, text, (size_t)snprintf(text, sizeof text, "round %d, %d", round, i));
        }
        gr_zmq_close(ends->router);
        ends->router = NULL;
        (void)unlink(ends->path);
        context_anew(ends);
        assert_false(gr_dealer_wait(ends->dealer, NULL, NULL, 0, 20)); /* it finds out */
    }
}

/* The other end has sent something and is gone: that is read, though nothing can be sent any more. */
static void
last_words_are_heard(void **state)
{
    struct ends *ends = *state;
    struct gr_zmq_message message;
    char text[32];

    router_open(ends);
    assert_int_equal(gr_dealer_open(ends->path, &ends->dealer), GRANARY_OK);
    assert_int_equal(gr_dealer_send(ends->dealer, "who", 3), GRANARY_OK);
    router_next(ends, &message);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(
            gr_zmq_send(ends->router, &message.peer, text, (size_t)snprintf(text, sizeof text, "word %d", i)),
            GRANARY_OK);
    }
    gr_zmq_message_free(&message);
    dealer_expect(ends, "word 0", 6); /* libzmq sends in order, and drops at a close what has not left */
    for (int i = 1; i < 50; i++) {
        dealer_expect(ends, text, (size_t)snprintf(text, sizeof text, "word %d", i));
    }
    for (int64_t until = gr_deadline_ns(PATIENCE_MS); !gr_dealer_wait(ends->dealer, NULL, NULL, 0, 0);) {
        assert_true(gr_now_ns() < until);
    }
    gr_zmq_close(ends->router);
    ends->router = NULL;
    context_anew(ends);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(gr_dealer_send(ends->dealer, "too late", 8), GRANARY_OK);
    }
    dealer_expect(ends, "word 50", 7);
}

/* ---- an other end of our own ---- */

static const unsigned char greeting[64] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
static const unsigned char ready[] = "\x04\x1a"
                                     "\5READY\x0bSocket-Type\0\0\0\4ROUT";

static int
listener_open(const struct ends *ends)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    strcpy(address.sun_path, ends->path);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

/* The next connection, told what we are; it has told the same. */
static int
accept_next(const struct ends *ends, int listener)
{
    char hello[64 + 2 + 0x29];
    int fd;

    (void)gr_dealer_wait(ends->dealer, NULL, NULL, 0, 50); /* it may have to connect */
    fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(recv(fd, hello, sizeof hello, MSG_WAITALL), sizeof hello);
    assert_int_equal(write(fd, greeting, sizeof greeting), sizeof greeting);
    assert_int_equal(write(fd, ready, sizeof ready - 1), sizeof ready - 1);
    return fd;
}

/* A message of several frames is none; one that comes byte by byte is one; a command in between is none. */
static void
frames_are_taken_apart(void **state)
{
    static const char bytes[] = "\1\1a\1\1b\0\1c"                  /* three frames */
                                "\0\4good"                         /* one */
                                "\4\7\4PING\0\0"                   /* a command */
                                "\2\0\0\0\0\0\0\0\5large"          /* with a long head */
                                "\3\0\0\0\0\0\0\0\1d\0\1e\0\3end"; /* two, and one */
    struct ends *ends = *state;
    int listener = listener_open(ends);
    int fd;

    assert_int_equal(gr_dealer_open(ends->path, &ends->dealer), GRANARY_OK);
    fd = accept_next(ends, listener);
    for (size_t i = 0; i < sizeof bytes - 1; i++) {
        assert_int_equal(write(fd, bytes + i, 1), 1);
        (void)gr_dealer_wait(ends->dealer, NULL, NULL, 0, 0);
    }
    dealer_expect(ends, "good", 4);
    dealer_expect(ends, "large", 5);
    dealer_expect(ends, "end", 3);
    gr_fd_close(&fd);
    gr_fd_close(&listener);
}

/* Half of a message had left when the connection broke: all of it leaves by the next one, and nothing twice. */
static void
half_a_message_leaves_again(void **state)
{
    struct ends *ends = *state;
    int listener = listener_open(ends);
    char *large = calloc(1, 4 * MIB);
    char *got = malloc(5 * MIB);
    size_t size = 0;
    int fd;

    assert_true(large != NULL && got != NULL);
    large[MIB] = 'x';
    assert_int_equal(gr_dealer_open(ends->path, &ends->dealer), GRANARY_OK);
    fd = accept_next(ends, listener);
    assert_false(gr_dealer_wait(ends->dealer, NULL, NULL, 0, 0)); /* it is told what we are */
    assert_int_equal(gr_dealer_send(ends->dealer, "first", 5), GRANARY_OK);
    assert_int_equal(gr_dealer_send(ends->dealer, large, 4 * MIB), GRANARY_OK); /* the kernel takes a part */
    assert_int_equal(gr_dealer_send(ends->dealer, "last", 4), GRANARY_OK);
    assert_int_equal(recv(fd, got, 1000, MSG_WAITALL), 1000);
    assert_memory_equal(got, "\0\5first\2", 8);
    gr_fd_close(&fd);
    assert_false(gr_dealer_wait(ends->dealer, NULL, NULL, 0, 1));

    fd = accept_next(ends, listener);
    while (size < HEAD + 4 * MIB + 6) {
        ssize_t came;

        (void)gr_dealer_wait(ends->dealer, NULL, NULL, 0, 0);
        came = recv(fd, got + size, 5 * MIB - size, MSG_DONTWAIT);
        assert_true(came > 0 || (came < 0 && errno == EAGAIN));
        size += came > 0 ? (size_t)came : 0;
    }
    assert_int_equal(size, HEAD + 4 * MIB + 6);
    assert_memory_equal(got, "\2\0\0\0\0\0\x40\0\0", HEAD);
    assert_memory_equal(got + HEAD, large, 4 * MIB);
    assert_memory_equal(got + HEAD + 4 * MIB, "\0\4last", 6);
    gr_fd_close(&fd);
    gr_fd_close(&listener);
    free(large);
    free(got);
}

/* Who is no ROUTER, asks for secrets, refuses us or claims a message beyond all bounds is hung up on, and tried again. */
static void
odd_ends_are_left(void **state)
{
    static const unsigned char odd[3][64] = {
        "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: everything, please\r\n",
        {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 1, 0, 'N', 'U', 'L', 'L'},
        {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'},
    };
    static const char *const behind[] = {"\4\6\5ERROR", "\2\xff\xff\xff\xff\xff\xff\xff\xff"};
    struct ends *ends = *state;
    int listener = listener_open(ends);
    char rest[200];
    int fd;

    assert_int_equal(gr_dealer_open(ends->path, &ends->dealer), GRANARY_OK);
    for (size_t i = 0; i < 5; i++) {
        (void)gr_dealer_wait(ends->dealer, NULL, NULL, 0, 50);
        fd = accept(listener, NULL, NULL);
        assert_true(fd >= 0);
        if (i < 3) {
            assert_int_equal(write(fd, odd[i], sizeof odd[i]), sizeof odd[i]);
        } else {
            assert_int_equal(write(fd, greeting, sizeof greeting), sizeof greeting);
            assert_int_equal(write(fd, behind[i - 3], i == 3 ? 8 : 9), i == 3 ? 8 : 9);
        }
        assert_false(gr_dealer_wait(ends->dealer, NULL, NULL, 0, 5));
        while (recv(fd, rest, sizeof rest, 0) > 0) { /* until it hangs up */
        }
        gr_fd_close(&fd);
    }
    fd = accept_next(ends, listener);
    assert_int_equal(write(fd, "\0\2ok", 4), 4);
    dealer_expect(ends, "ok", 2);
    gr_fd_close(&fd);
    gr_fd_close(&listener);
}

static void
waiting_watches_descriptors_too(void **state)
{
    struct ends *ends = *state;
    int pipe_fds[2];
    int fds[2];
    bool seen[2] = {true, true};

    assert_int_equal(gr_dealer_open(ends->path, &ends->dealer), GRANARY_OK);
    assert_int_equal(pipe(pipe_fds), 0);
    fds[0] = -1;
    fds[1] = pipe_fds[0];
    assert_false(gr_dealer_wait(ends->dealer, fds, seen, 2, 0));
    assert_false(seen[0] || seen[1]);
    assert_int_equal(write(pipe_fds[1], "x", 1), 1);
    assert_true(gr_dealer_wait(ends->dealer, fds, seen, 2, PATIENCE_MS));
    assert_true(!seen[0] && seen[1]);
    assert_true(gr_dealer_wait(NULL, fds, seen, 2, PATIENCE_MS));
    assert_true(!seen[0] && seen[1]);
    gr_fd_close(&pipe_fds[0]);
    gr_fd_close(&pipe_fds[1]);
}

/* An epoll hears of a message, by a later connection, too. */
static void
an_epoll_follows_the_connection(void **state)
{
    struct ends *ends = *state;
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int listener = listener_open(ends);
    struct epoll_event event;

    assert_int_equal(gr_dealer_open(ends->path, &ends->dealer), GRANARY_OK);
    gr_dealer_watch(ends->dealer, epoll_fd);
    for (int i = 0; i < 2; i++) {
        int fd = accept_next(ends, listener);

        assert_false(gr_dealer_wait(ends->dealer, NULL, NULL, 0, 0));
        assert_int_equal(epoll_wait(epoll_fd, &event, 1, 0), 0);
        assert_int_equal(write(fd, "\0\2ok", 4), 4);
        assert_int_equal(epoll_wait(epoll_fd, &event, 1, PATIENCE_MS), 1);
        dealer_expect(ends, "ok", 2);
        gr_fd_close(&fd);
        assert_false(gr_dealer_wait(ends->dealer, NULL, NULL, 0, 0));
    }
    gr_fd_close(&listener);
    gr_fd_close(&epoll_fd);
}

/* Nobody reads: it says so in the end instead of taking all memory. */
static void
who_does_not_read_is_told_of(void **state)
{
    struct ends *ends = *state;
    granary_err err = GRANARY_OK;
    size_t sent = 0;

    assert_int_equal(gr_dealer_open(ends->path, &ends->dealer), GRANARY_OK);
    while (err == GRANARY_OK && sent < 1000000) {
        err = gr_dealer_send(ends->dealer, "", 0);
        sent += err == GRANARY_OK;
    }
    assert_int_equal(err, GRANARY_EBUSY);
    assert_int_equal(sent, 100000);
}

static void
a_place_that_cannot_be_is_an_error(void **state)
{
    struct ends *ends = *state;
    struct rlimit before;
    struct rlimit none;
    char longer[200];

    memset(longer, 'x', sizeof longer - 1);
    longer[0] = '/';
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(gr_dealer_open(longer, &ends->dealer), GRANARY_EINVAL);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(gr_dealer_open(ends->path, &ends->dealer), gr_err_from_errno(EMFILE));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_non_null(strstr(granary_error_message(), "ulimit -n"));
    assert_null(ends->dealer);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_open, ends_close)
    const struct CMUnitTest tests[] = {
        TEST(messages_go_there_and_back),
        TEST(what_waits_leaves_with_the_next_connection),
        TEST(last_words_are_heard),
        TEST(frames_are_taken_apart),
        TEST(half_a_message_leaves_again),
        TEST(odd_ends_are_left),
        TEST(waiting_watches_descriptors_too),
        TEST(an_epoll_follows_the_connection),
        TEST(who_does_not_read_is_told_of),
        TEST(a_place_that_cannot_be_is_an_error),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
