/* A thousand clients at once, and clients that submit and vanish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/process/daemon.h"
#include "rig.h"

#define CLIENTS  1000
#define EACH     16 /* sockets a context allows */
#define CONTEXTS ((CLIENTS + EACH - 1) / EACH)

static void
send_request(struct gr_zmq_socket *socket, Granary__Request *request, uint64_t seq)
{
    uint8_t bytes[512];

    request->version = GRANARY__VERSION__PROTOCOL;
    request->seq = seq;
    assert_true(granary__request__get_packed_size(request) <= sizeof bytes);
    assert_int_equal(gr_zmq_send(socket, NULL, bytes, granary__request__pack(request, bytes)), GRANARY_OK);
}

/* Submit one null under a key of the client's own. */
static void
send_submit(struct gr_zmq_socket *socket, const char *key)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Submit submit = GRANARY__SUBMIT__INIT;
    Granary__Graph graph = GRANARY__GRAPH__INIT;
    Granary__Node node = GRANARY__NODE__INIT;
    Granary__Node *nodes[] = {&node};

    node.name = (char[]){"x"};
    node.op = (char[]){"null"};
    graph.n_nodes = 1;
    graph.nodes = nodes;
    submit.key = (char *)(uintptr_t)key;
    submit.graph = &graph;
    request.body_case = GRANARY__REQUEST__BODY_SUBMIT;
    request.submit = &submit;
    send_request(socket, &request, 1);
}

static void
send_wait(struct gr_zmq_socket *socket, const char *key)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphWait wait = GRANARY__GRAPH_WAIT__INIT;

    wait.key = (char *)(uintptr_t)key;
    wait.timeout_ms = -1;
    request.body_case = GRANARY__REQUEST__BODY_WAIT;
    request.wait = &wait;
    send_request(socket, &request, 2);
}

static granary_err
receive_answer(struct gr_zmq_socket *socket, uint64_t seq)
{
    struct gr_zmq_message message;
    Granary__Reply *reply;
    granary_err err;

    assert_true(gr_zmq_wait(&socket, 1, NULL, NULL, 0, 30000));
    assert_true(gr_zmq_receive(socket, &message));
    reply = granary__reply__unpack(NULL, message.size, message.bytes);
    gr_zmq_message_free(&message);
    assert_non_null(reply);
    assert_int_equal(reply->seq, seq);
    err = (granary_err)reply->err;
    granary__reply__free_unpacked(reply, NULL);
    return err;
}

static void
open_clients(const struct rig *rig, struct gr_zmq_context **contexts, struct gr_zmq_socket **sockets)
{
    for (int i = 0; i < CONTEXTS; i++) {
        contexts[i] = gr_zmq_context_create(1);
    }
    for (int i = 0; i < CLIENTS; i++) {
        granary_err err = GRANARY_OK;

        sockets[i] = gr_zmq_dealer(contexts[i / EACH], rig->instance.sched_socket, &err);
        assert_int_equal(err, GRANARY_OK);
    }
}

static void
close_clients(struct gr_zmq_context **contexts, struct gr_zmq_socket **sockets)
{
    for (int i = 0; i < CLIENTS; i++) {
        gr_zmq_close(sockets[i]);
    }
    for (int i = 0; i < CONTEXTS; i++) {
        gr_zmq_context_destroy(contexts[i]);
    }
}

static void
a_thousand_clients_are_served(void **state)
{
    struct gr_zmq_socket *sockets[CLIENTS];
    struct gr_zmq_context *contexts[CONTEXTS];
    struct rig rig;
    char key[32];

    (void)state;
    rig_init(&rig);
    assert_true(rig_start(&rig, "sqlite"));
    open_clients(&rig, contexts, sockets);
    for (int i = 0; i < CLIENTS; i++) {
        (void)snprintf(key, sizeof key, "c%d", i);
        send_submit(sockets[i], key);
        send_wait(sockets[i], key);
    }
    for (int i = 0; i < CLIENTS; i++) { /* accepted, although nobody can run it yet */
        assert_int_equal(receive_answer(sockets[i], 1), GRANARY_OK);
    }
    rig_executor_start(&rig, 0);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(receive_answer(sockets[i], 2), GRANARY_OK);
    }
    close_clients(contexts, sockets);
    assert_int_equal(rig_stop(&rig, SIGTERM), 0);
    rig_fini(&rig);
}

/* Its graph is accepted, runs to its end, and is known to whoever asks. */
static void
a_graph_outlives_the_client_that_submitted_it(void **state)
{
    struct gr_zmq_socket *sockets[CLIENTS];
    struct gr_zmq_context *contexts[CONTEXTS];
    struct rig rig;
    char key[32];

    (void)state;
    rig_init(&rig);
    assert_true(rig_start(&rig, "memory"));
    open_clients(&rig, contexts, sockets);
    for (int i = 0; i < CLIENTS; i++) {
        (void)snprintf(key, sizeof key, "v%d", i);
        send_submit(sockets[i], key);
        assert_int_equal(receive_answer(sockets[i], 1), GRANARY_OK);
        send_wait(sockets[i], key);
    }
    close_clients(contexts, sockets);
    rig_executor_start(&rig, 0);
    for (int i = 0; i < CLIENTS; i++) {
        (void)snprintf(key, sizeof key, "v%d", i);
        assert_int_equal(rig_wait(&rig, key, NULL), GRANARY_OK);
    }
    assert_int_equal(rig_stop(&rig, SIGTERM), 0);
    rig_fini(&rig);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_clients_are_served),
        cmocka_unit_test(a_graph_outlives_the_client_that_submitted_it),
    };

    (void)gr_daemon_raise_files(); /* two descriptors a socket */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
