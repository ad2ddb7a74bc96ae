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
#include <zmq.h>

#include "base/clock.h"
#include "base/fd.h"
#include "message/zmq.h"
#include "wire/frame.h"

struct ends {
    char folder[40];
    char path[64];
    struct gr_zmq_context *context;
    struct gr_zmq_socket *router;
    struct gr_zmq_socket *dealer;
};

static int
ends_open(void **state)
{
    struct ends *ends = calloc(1, sizeof *ends);
    granary_err err;

    assert_non_null(ends);
    strcpy(ends->folder, "/tmp/granary-test-XXXXXX");
    assert_non_null(mkdtemp(ends->folder));
    (void)snprintf(ends->path, sizeof ends->path, "%s/sock", ends->folder);
    ends->context = gr_zmq_context_create(1);
    assert_non_null(ends->context);
    ends->dealer = gr_zmq_dealer(ends->context, ends->path, &err); /* before anybody listens */
    assert_non_null(ends->dealer);
    ends->router = gr_zmq_router(ends->context, ends->path, &err);
    assert_non_null(ends->router);
    *state = ends;
    return 0;
}

static int
ends_close(void **state)
{
    struct ends *ends = *state;

    gr_zmq_close(ends->dealer);
    gr_zmq_close(ends->router);
    gr_zmq_close(NULL);
    gr_zmq_context_destroy(ends->context);
    gr_remove_tree(ends->folder);
    free(ends);
    return 0;
}

/* The next message of a socket, waited for at most ten seconds. */
static bool
next(struct gr_zmq_socket *socket, struct gr_zmq_message *message)
{
    int64_t deadline = gr_deadline_ns(60000);

    while (gr_now_ns() < deadline) {
        if (gr_zmq_receive(socket, message)) {
            return true;
        }
        (void)gr_zmq_wait(&socket, 1, NULL, NULL, 0, gr_left_ms(deadline));
    }
    return false;
}

/* A dealer's message reaches the router with its name, and the answer comes back to it. */
static void
messages_go_there_and_back(void **state)
{
    struct ends *ends = *state;
    struct gr_zmq_message message;
    char *large = malloc(1 << 20);

    assert_non_null(large);
    memset(large, 'L', 1 << 20);
    assert_int_equal(gr_zmq_send(ends->dealer, NULL, "hello", 5), GRANARY_OK);
    assert_int_equal(gr_zmq_send(ends->dealer, NULL, "", 0), GRANARY_OK);
    assert_int_equal(gr_zmq_send(ends->dealer, NULL, large, 1 << 20), GRANARY_OK);
    assert_true(next(ends->router, &message));
    assert_int_equal(message.size, 5);
    assert_memory_equal(message.bytes, "hello", 5);
    assert_in_range(message.peer.size, 1, GR_ZMQ_PEER_MAX);
    assert_int_equal(gr_zmq_send(ends->router, &message.peer, "answer", 6), GRANARY_OK);
    gr_zmq_message_free(&message);
    assert_true(next(ends->router, &message));
    assert_int_equal(message.size, 0);
    gr_zmq_message_free(&message);
    assert_true(next(ends->router, &message));
    assert_int_equal(message.size, 1 << 20);
    assert_memory_equal(message.bytes, large, 1 << 20);
    gr_zmq_message_free(&message);
    assert_false(gr_zmq_receive(ends->router, &message));
    assert_true(next(ends->dealer, &message));
    assert_memory_equal(message.bytes, "answer", 6);
    gr_zmq_message_free(&message);
    free(large);
}

static void
a_peer_nobody_knows_is_unreachable(void **state)
{
    struct ends *ends = *state;
    struct gr_zmq_peer peer = {.bytes = {1, 2, 3}, .size = 3};
    struct stat st;

    assert_int_equal(gr_zmq_send(ends->router, &peer, "x", 1), GRANARY_EUNREACHABLE);
    assert_int_equal(stat(ends->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

/* Envelopes that are none of ours are dropped inside; the message behind them arrives. */
static void
malformed_envelopes_are_dropped(void **state)
{
    struct ends *ends = *state;
    struct gr_zmq_message message;
    char endpoint[128];
    char name[GR_ZMQ_PEER_MAX + 10];
    void *context = zmq_ctx_new();
    void *raw = zmq_socket(context, ZMQ_DEALER);
    int zero = 0;

    memset(name, 'n', sizeof name); /* a name longer than we take */
    (void)snprintf(endpoint, sizeof endpoint, "ipc://%s", ends->path);
    assert_int_equal(zmq_setsockopt(raw, ZMQ_LINGER, &zero, sizeof zero), 0);
    assert_int_equal(zmq_setsockopt(raw, ZMQ_ROUTING_ID, name, sizeof name), 0);
    assert_int_equal(zmq_connect(raw, endpoint), 0);
    assert_int_equal(zmq_send(raw, "long name", 9, 0), 9);
    assert_int_equal(zmq_close(raw), 0);

    raw = zmq_socket(context, ZMQ_DEALER);
    assert_int_equal(zmq_connect(raw, endpoint), 0);
    assert_int_equal(zmq_send(raw, "two", 3, ZMQ_SNDMORE), 3);
    assert_int_equal(zmq_send(raw, "parts", 5, 0), 5);
    assert_int_equal(zmq_send(raw, "good", 4, 0), 4);
    assert_true(next(ends->router, &message));
    assert_int_equal(message.size, 4);
    assert_memory_equal(message.bytes, "good", 4);
    gr_zmq_message_free(&message);
    assert_int_equal(zmq_close(raw), 0);
    assert_int_equal(zmq_ctx_term(context), 0);
}

static void
send_and_leave(const struct ends *ends, const void *bytes, size_t size)
{
    granary_err err;
    int fd = gr_unix_connect(ends->path, &err);

    assert_true(fd >= 0);
    (void)send(fd, bytes, size, MSG_NOSIGNAL);
    gr_fd_close(&fd);
}

/* Bytes that are no ZeroMQ at all, or only at their begin, or of its first versions, end that connection and nothing
 * else: no message is made of them, and closing the socket meanwhile is fine. */
static void
garbage_on_the_socket_is_survived(void **state)
{
    static const unsigned char greetings[][64] = {
        {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1, 'N', 'U', 'L', 'L'}, /* version 3.1 */
        {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'C', 'U', 'R', 'V', 'E'},
        {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 1, 0}, /* 2.0 */
        {1, 0, 5, 0, 'h', 'e', 'l', 'l'},           /* 1.0 */
    };
    struct ends *ends = *state;
    struct gr_zmq_message message;
    char garbage[512];

    for (size_t i = 0; i < sizeof garbage; i++) {
        garbage[i] = (char)(i * 37 + 11);
    }
    assert_int_equal(gr_zmq_send(ends->dealer, NULL, "before", 6), GRANARY_OK);
    assert_true(next(ends->router, &message));
    gr_zmq_message_free(&message);
    for (int i = 0; i < 50; i++) {
        send_and_leave(ends, garbage + i, sizeof garbage - (size_t)i * 10);
        memcpy(garbage, greetings[i % 4], sizeof greetings[0]);
        send_and_leave(ends, garbage, i % 3 == 0 ? sizeof greetings[0] : sizeof garbage);
    }
    assert_int_equal(gr_zmq_send(ends->dealer, NULL, "still here", 10), GRANARY_OK);
    assert_true(next(ends->router, &message));
    assert_int_equal(message.size, 10);
    assert_memory_equal(message.bytes, "still here", 10);
    gr_zmq_message_free(&message);
    for (int i = 0; i < 50; i++) { /* and the teardown follows at once */
        send_and_leave(ends, greetings[3], 8);
    }
}

static void
waiting_watches_descriptors_too(void **state)
{
    struct ends *ends = *state;
    struct gr_zmq_message message;
    int first[2];
    int second[2];
    int fds[2];
    bool ready[2] = {true, true};

    assert_int_equal(pipe(first), 0);
    assert_int_equal(pipe(second), 0);
    fds[0] = first[0];
    fds[1] = second[0];
    assert_false(gr_zmq_wait(&ends->router, 1, fds, ready, 2, 0));
    assert_false(ready[0] || ready[1]);
    assert_int_equal(write(second[1], "x", 1), 1);
    assert_true(gr_zmq_wait(&ends->router, 1, fds, ready, 2, 10000));
    assert_false(ready[0]);
    assert_true(ready[1]);
    gr_fd_close(&first[1]); /* the end of a pipe is something to see */
    assert_true(gr_zmq_wait(NULL, 0, fds, ready, 1, 10000));
    assert_true(ready[0]);
    assert_int_equal(gr_zmq_send(ends->dealer, NULL, "m", 1), GRANARY_OK);
    assert_true(gr_zmq_wait(&ends->router, 1, NULL, NULL, 0, 10000));
    assert_true(next(ends->router, &message));
    gr_zmq_message_free(&message);
    gr_fd_close(&first[0]);
    gr_fd_close(&second[0]);
    gr_fd_close(&second[1]);
}

static void
a_place_that_cannot_be_is_an_error(void **state)
{
    struct ends *ends = *state;
    char longer[200];
    granary_err err = GRANARY_OK;

    memset(longer, 'x', sizeof longer - 1);
    longer[0] = '/';
    longer[sizeof longer - 1] = '\0';
    assert_null(gr_zmq_router(ends->context, longer, &err));
    assert_int_equal(err, GRANARY_EINVAL);
    assert_null(gr_zmq_router(ends->context, "/does/not/exist/sock", &err));
    assert_true(err < 0);
    assert_non_null(strstr(granary_error_message(), "/does/not/exist"));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, ends_open, ends_close)
    const struct CMUnitTest tests[] = {
        TEST(messages_go_there_and_back),      TEST(a_peer_nobody_knows_is_unreachable),
        TEST(malformed_envelopes_are_dropped), TEST(garbage_on_the_socket_is_survived),
        TEST(waiting_watches_descriptors_too), TEST(a_place_that_cannot_be_is_an_error),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
