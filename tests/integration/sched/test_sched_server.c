/* granary-sched as a process: its protocol, its peers' deaths, and its own. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "rig.h"

#define LINES(...) ((const char *const[]){__VA_ARGS__}), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static int
setup(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);

    rig_init(rig);
    *state = rig;
    return 0;
}

static int
teardown(void **state)
{
    rig_fini(*state);
    free(*state);
    return 0;
}

static void
write_file(const struct rig *rig, const char *name, const char *text)
{
    char path[160];
    int fd;

    (void)snprintf(path, sizeof path, "%s/%s", rig->directory, name);
    fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static bool
exists(const struct rig *rig, const char *name)
{
    char path[160];

    (void)snprintf(path, sizeof path, "%s/%s", rig->directory, name);
    return access(path, F_OK) == 0;
}

static void
graphs_run_and_are_forgotten(void **state)
{
    struct rig *rig = *state;

    assert_true(rig_start(rig, "sqlite"));
    rig_executor_start(rig, 0);
    rig_executor_start(rig, 1);
    assert_int_equal(rig_submit(rig, "k", LINES("a", "b a", "c a", "d b c")), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "k", NULL), GRANARY_OK);
    assert_int_equal(rig_ref(rig, GRANARY__REQUEST__BODY_EXPLAIN, "k"), GRANARY_OK);
    assert_int_equal(rig_ref(rig, GRANARY__REQUEST__BODY_DELETE, "k"), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "k", NULL), GRANARY_ENOENT);
    assert_int_equal(rig_ref(rig, GRANARY__REQUEST__BODY_DELETE, "k"), GRANARY_ENOENT);
}

/* An orderly end leaves the state and the lock file, and no socket. */
static void
stops_orderly(void **state)
{
    struct rig *rig = *state;

    assert_true(rig_start(rig, "sqlite"));
    assert_true(exists(rig, "sched.sock") && exists(rig, "pool.sock"));
    assert_int_equal(rig_stop(rig, SIGTERM), 0);
    assert_false(exists(rig, "sched.sock") || exists(rig, "pool.sock"));
    assert_true(exists(rig, "state.db") && exists(rig, "sched.lock"));
    assert_true(rig_start(rig, "memory"));
}

static void
one_scheduler_an_instance(void **state)
{
    struct rig *rig = *state;
    struct rig other = *rig;
    char pid[32];

    assert_true(rig_start(rig, "memory"));
    other.client = NULL;
    assert_false(rig_start(&other, "memory"));
    assert_int_equal(rig_stop(&other, 0), granary_error_exit_status(GRANARY_EBUSY));
    (void)snprintf(pid, sizeof pid, "process %d", (int)rig->sched);
    assert_non_null(strstr(other.said, pid));
    assert_memory_equal(other.said, "ERROR 1 ", 8);
    assert_int_equal(rig_executor_count(rig), 0); /* the first still serves */
}

/* And before it read it, it removed what a dead scheduler left at the endpoint: executors would take that for its own.
 */
static void
a_state_it_cannot_read_is_refused(void **state)
{
    const char *text = "this is no database, whatever its name says";
    struct rig *rig = *state;

    write_file(rig, "state.db", text);
    write_file(rig, "pool.sock", "");
    assert_false(rig_start(rig, "sqlite"));
    assert_int_equal(rig_stop(rig, 0), granary_error_exit_status(GRANARY_ECORRUPT));
    assert_memory_equal(rig->said, "ERROR 8 ", 8);
    assert_non_null(strstr(rig->said, "move the file away"));
    assert_false(exists(rig, "pool.sock"));
}

/* ---- bad states ---- */

/* Nothing can be written: what is new is refused with the reason, the rest goes on, and all of it is kept once there is
 * room. */
static void
a_full_disk_refuses_and_recovers(void **state)
{
    struct rig *rig = *state;
    const struct rlimit full = {.rlim_cur = 1, .rlim_max = RLIM_INFINITY};
    const struct rlimit room = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    static const char *const lines[] = {"a"};
    granary_err refused, err;

    assert_true(rig_start(rig, "sqlite"));
    assert_int_equal(rig_submit(rig, "before", lines, 1), GRANARY_OK);
    assert_int_equal(prlimit(rig->sched, RLIMIT_FSIZE, &full, NULL), 0);
    rig_executor_start(rig, 0); /* what was accepted runs */
    assert_int_equal(rig_wait(rig, "before", NULL), GRANARY_OK);
    refused = rig_submit(rig, "full", lines, 1);
    assert_true(refused == GRANARY_EFULL || refused == GRANARY_EIO);
    err = rig_wait(rig, "full", NULL);
    assert_true(err == GRANARY_ENOENT || err == refused); /* it may just be being deleted */
    assert_int_equal(rig_executor_count(rig), 1);
    assert_int_equal(prlimit(rig->sched, RLIMIT_FSIZE, &room, NULL), 0);
    assert_int_equal(rig_submit(rig, "after", lines, 1), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "after", NULL), GRANARY_OK);
    assert_int_equal(rig_ref(rig, GRANARY__REQUEST__BODY_DELETE, "after"), GRANARY_OK);
    rig_executor_kill(rig, 0);
    assert_int_equal(rig_stop(rig, SIGKILL), 128 + SIGKILL);

    assert_true(rig_start(rig, "sqlite"));
    assert_int_equal(rig_wait(rig, "before", NULL), GRANARY_OK); /* its end, too, was kept in the end */
    assert_int_equal(rig_wait(rig, "full", NULL), GRANARY_ENOENT);
    assert_int_equal(rig_wait(rig, "after", NULL), GRANARY_ENOENT);
}

/* Stopped is not dead: nobody is answered, and everybody once it goes on. */
static void
a_stopped_scheduler_goes_on(void **state)
{
    struct rig *rig = *state;
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__ClusterInfo cluster = GRANARY__CLUSTER_INFO__INIT;

    assert_true(rig_start(rig, "sqlite"));
    rig_executor_start(rig, 0);
    assert_int_equal(kill(rig->sched, SIGSTOP), 0);
    request.body_case = GRANARY__REQUEST__BODY_CLUSTER;
    request.cluster = &cluster;
    rig_send(rig, &request);
    assert_false(rig_hears(rig, 100));
    assert_int_equal(kill(rig->sched, SIGCONT), 0);
    assert_true(rig_hears(rig, 10000));
    assert_int_equal(rig_submit(rig, "k", LINES("a")), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "k", NULL), GRANARY_OK);
}

/* ---- bad peers ---- */

static void
send_raw(struct rig *rig, const char *path, const void *bytes, size_t size)
{
    granary_err err;
    struct gr_zmq_socket *socket = gr_zmq_dealer(rig->context, path, &err);

    if (socket == NULL) {
        fail_msg("%s", granary_error_message());
    }
    assert_int_equal(gr_zmq_send(socket, NULL, bytes, size), GRANARY_OK);
    /* Its messages are on their way when the scheduler has answered somebody who came later. */
    (void)gr_zmq_wait(&socket, 1, NULL, NULL, 0, 50);
    gr_zmq_close(socket);
}

static void
garbage_does_no_harm(void **state)
{
    struct rig *rig = *state;
    unsigned char bytes[300];

    assert_true(rig_start(rig, "memory"));
    rig_executor_start(rig, 0);
    srandom(1);
    for (int round = 0; round < 40; round++) {
        size_t size = (size_t)random() % sizeof bytes;

        for (size_t i = 0; i < size; i++) {
            bytes[i] = (unsigned char)random();
        }
        send_raw(rig, round % 2 == 0 ? rig->instance.sched_socket : rig->instance.pool_socket, bytes, size);
    }
    assert_int_equal(rig_submit(rig, "k", LINES("a")), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "k", NULL), GRANARY_OK);
    assert_int_equal(rig_executor_count(rig), 1);
}

static void
unreadable_and_other_versions_are_answered(void **state)
{
    struct rig *rig = *state;
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Submit submit = GRANARY__SUBMIT__INIT;
    Granary__Reply *reply;
    uint8_t bytes[64];
    size_t size;

    assert_true(rig_start(rig, "memory"));
    assert_int_equal(gr_zmq_send(rig->client, NULL, "\xff\xff\xff", 3), GRANARY_OK);
    reply = rig_receive(rig);
    assert_int_equal(reply->err, GRANARY_EPROTO);
    granary__reply__free_unpacked(reply, NULL);

    request.version = 99;
    request.seq = 7;
    assert_int_equal(gr_zmq_send(rig->client, NULL, bytes, granary__request__pack(&request, bytes)), GRANARY_OK);
    reply = rig_receive(rig);
    assert_int_equal(reply->err, GRANARY_EVERSION);
    assert_int_equal(reply->seq, 7);
    assert_non_null(strstr(reply->message, "version 99"));
    granary__reply__free_unpacked(reply, NULL);

    /* A key that begins with NUL would be none, and the graph another one than its sender means. */
    request.version = GRANARY__VERSION__PROTOCOL;
    request.seq = 8;
    request.body_case = GRANARY__REQUEST__BODY_SUBMIT;
    request.submit = &submit;
    submit.key = (char *)(uintptr_t) "!key";
    size = granary__request__pack(&request, bytes);
    *(uint8_t *)memchr(bytes, '!', size) = '\0';
    assert_int_equal(gr_zmq_send(rig->client, NULL, bytes, size), GRANARY_OK);
    reply = rig_receive(rig);
    assert_int_equal(reply->err, GRANARY_EINVAL);
    assert_int_equal(reply->seq, 8);
    granary__reply__free_unpacked(reply, NULL);
    request.body_case = GRANARY__REQUEST__BODY__NOT_SET;

    reply = rig_call(rig, &request); /* no body */
    assert_int_equal(reply->err, GRANARY_EPROTO);
    granary__reply__free_unpacked(reply, NULL);
}

/* An executor of another version is told which ours is: it ends, and does not wait for ever. */
static void
executors_of_other_versions_are_told(void **state)
{
    struct rig *rig = *state;
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    Granary__Register hello = GRANARY__REGISTER__INIT;
    struct gr_zmq_message answer;
    struct gr_zmq_socket *socket;
    Granary__ToExecutor *told;
    uint8_t bytes[128];
    granary_err err;

    assert_true(rig_start(rig, "memory"));
    socket = gr_zmq_dealer(rig->context, rig->instance.pool_socket, &err);
    assert_non_null(socket);
    message.version = GRANARY__VERSION__PROTOCOL + 1;
    message.register_ = &hello;
    assert_int_equal(gr_zmq_send(socket, NULL, bytes, granary__from_executor__pack(&message, bytes)), GRANARY_OK);
    assert_true(gr_zmq_wait(&socket, 1, NULL, NULL, 0, 60000));
    assert_true(gr_zmq_receive(socket, &answer));
    told = granary__to_executor__unpack(NULL, answer.size, answer.bytes);
    assert_int_equal(told->version, GRANARY__VERSION__PROTOCOL);
    assert_int_equal(told->registered, 0);
    granary__to_executor__free_unpacked(told, NULL);
    gr_zmq_message_free(&answer);
    gr_zmq_close(socket);
    assert_int_equal(rig_executor_count(rig), 0);
}

/* Not registered, registered as a process that does not exist, or as one that is another by now: not believed. */
static void
impostors_are_not_executors(void **state)
{
    struct rig *rig = *state;
    Granary__FromExecutor message = GRANARY__FROM_EXECUTOR__INIT;
    Granary__Register hello = GRANARY__REGISTER__INIT;
    Granary__Done done = GRANARY__DONE__INIT;
    Granary__Done *dones[] = {&done};
    uint8_t bytes[128];
    const int64_t pids[] = {0, -1, INT64_MAX, 4194304, getpid()};

    assert_true(rig_start(rig, "memory"));
    message.version = GRANARY__VERSION__PROTOCOL;
    for (size_t i = 0; i < sizeof pids / sizeof pids[0]; i++) {
        hello.pid = pids[i];
        hello.start_time = 12345; /* of no process */
        message.register_ = &hello;
        send_raw(rig, rig->instance.pool_socket, bytes, granary__from_executor__pack(&message, bytes));
    }
    message.register_ = NULL;
    done.number = UINT64_MAX;
    message.n_done = 1;
    message.done = dones;
    send_raw(rig, rig->instance.pool_socket, bytes, granary__from_executor__pack(&message, bytes));
    assert_int_equal(rig_executor_count(rig), 0);
    rig_executor_start(rig, 0);
    /* Nobody is taken for another process, however much is known of that. */
    hello.pid = rig->executors[0];
    hello.start_time = gr_process_start_time(rig->executors[0]);
    message.register_ = &hello;
    send_raw(rig, rig->instance.pool_socket, bytes, granary__from_executor__pack(&message, bytes));
    assert_int_equal(rig_submit(rig, "k", LINES("a")), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "k", NULL), GRANARY_OK);
    assert_int_equal(rig_executor_count(rig), 1);
}

/* A client that asks and goes away is nobody's problem. */
static void
vanished_clients_are_ignored(void **state)
{
    struct rig *rig = *state;
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphWait wait = GRANARY__GRAPH_WAIT__INIT;
    uint8_t bytes[128];

    assert_true(rig_start(rig, "memory"));
    assert_int_equal(rig_submit(rig, "k", LINES("a")), GRANARY_OK);
    wait.key = (char *)(uintptr_t) "k";
    wait.timeout_ms = -1;
    request.version = GRANARY__VERSION__PROTOCOL;
    request.body_case = GRANARY__REQUEST__BODY_WAIT;
    request.wait = &wait;
    for (int i = 0; i < 20; i++) {
        send_raw(rig, rig->instance.sched_socket, bytes, granary__request__pack(&request, bytes));
    }
    rig_executor_start(rig, 0);
    assert_int_equal(rig_wait(rig, "k", NULL), GRANARY_OK);
}

/* ---- deaths ---- */

static void
wait_running(struct rig *rig, uint64_t count)
{
    int64_t deadline_ns = gr_deadline_ns(60000);

    while (rig_running(rig) != count) {
        assert_true(gr_now_ns() < deadline_ns);
    }
}

/* An executor killed mid-subtask: another runs it, and everything behind it. */
static void
a_killed_executors_work_is_done_elsewhere(void **state)
{
    struct rig *rig = *state;
    int64_t start;

    assert_true(rig_start(rig, "memory"));
    rig_executor_start(rig, 0);
    assert_int_equal(kill(rig->executors[0], SIGSTOP), 0); /* it will not answer */
    assert_int_equal(rig_submit(rig, "k", LINES("a", "b a", "c b")), GRANARY_OK);
    wait_running(rig, 1);
    rig_executor_start(rig, 1);
    start = gr_now_ns();
    rig_executor_kill(rig, 0);
    assert_int_equal(rig_wait(rig, "k", NULL), GRANARY_OK);
    assert_true(gr_now_ns() - start < 10000000000); /* dead means released: silence is noticed after 15 s */
    assert_int_equal(rig_executor_count(rig), 1);
}

/* One that lost its connection is not killed for what cannot be sent: it connects anew and does it then. */
static void
a_broken_connection_is_no_death(void **state)
{
    struct rig *rig = *state;

    assert_true(rig_start(rig, "memory"));
    rig_executor_start(rig, 0);
    assert_int_equal(rig_submit(rig, "k", LINES("part")), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "k", NULL), GRANARY_OK);
    assert_int_equal(rig_submit(rig, "l", LINES("a")), GRANARY_OK);
    wait_running(rig, 1);
    assert_int_equal(kill(rig->executors[0], SIGUSR1), 0);
    assert_int_equal(rig_wait(rig, "l", NULL), GRANARY_OK);
    assert_int_equal(waitpid(rig->executors[0], NULL, WNOHANG), 0);
}

static void
poison_is_named(void **state)
{
    struct rig *rig = *state;
    char message[256];

    assert_true(rig_start(rig, "memory"));
    for (int slot = 0; slot < RIG_EXECUTORS; slot++) {
        rig_executor_start(rig, slot);
    }
    assert_int_equal(rig_submit(rig, "k", LINES("a", "crash-here a", "b crash-here")), GRANARY_OK);
    assert_int_equal(rig_submit(rig, "good", LINES("a", "b a")), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "k", message), GRANARY_ELOST);
    assert_string_equal(message, "node 'crash-here': 3 executors died running it");
    assert_int_equal(rig_wait(rig, "good", NULL), GRANARY_OK);
    assert_int_equal(rig_executor_count(rig), 1);
}

static void
failures_name_the_node(void **state)
{
    struct rig *rig = *state;
    char message[256];

    assert_true(rig_start(rig, "memory"));
    rig_executor_start(rig, 0);
    assert_int_equal(rig_submit(rig, "k", LINES("a", "fail-here a")), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "k", message), GRANARY_EFAILED);
    assert_string_equal(message, "node 'fail-here': made to fail");
    assert_int_equal(rig_submit(rig, "l", LINES("full-here", "b full-here")), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "l", NULL), GRANARY_OK);
}

static void
stop_ends_a_wait(void **state)
{
    struct rig *rig = *state;
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphWait wait = GRANARY__GRAPH_WAIT__INIT;
    Granary__GraphRef ref = GRANARY__GRAPH_REF__INIT;
    Granary__Reply *first;
    Granary__Reply *second;

    assert_true(rig_start(rig, "memory"));
    rig_executor_start(rig, 0);
    assert_int_equal(rig_submit(rig, "k", LINES("hang-here")), GRANARY_OK);
    wait.key = (char *)(uintptr_t) "k";
    wait.timeout_ms = -1;
    request.body_case = GRANARY__REQUEST__BODY_WAIT;
    request.wait = &wait;
    rig_send(rig, &request);
    assert_false(rig_hears(rig, 20));
    ref.key = wait.key;
    request.body_case = GRANARY__REQUEST__BODY_STOP;
    request.stop = &ref;
    rig_send(rig, &request);
    first = rig_receive(rig);
    second = rig_receive(rig);
    assert_int_equal(first->err, GRANARY_ECANCELLED); /* of the wait, which does not wait for the disk */
    assert_int_equal(second->err, GRANARY_OK);
    granary__reply__free_unpacked(first, NULL);
    granary__reply__free_unpacked(second, NULL);
    /* Its executor still hangs: a delete waits for it, and gets it when it dies. */
    request.body_case = GRANARY__REQUEST__BODY_DELETE;
    request.delete_ = &ref;
    rig_send(rig, &request);
    assert_false(rig_hears(rig, 50));
    rig_executor_kill(rig, 0);
    first = rig_receive(rig);
    assert_int_equal(first->err, GRANARY_OK);
    granary__reply__free_unpacked(first, NULL);
}

/* Accepted means kept: kill -9 at any moment, and every accepted graph still ends; ended ones are still known. */
static void
accepted_means_kept(void **state)
{
    struct rig *rig = *state;
    char key[16];
    char message[256];

    assert_true(rig_start(rig, "sqlite"));
    rig_executor_start(rig, 0);
    assert_int_equal(rig_submit(rig, "ended", LINES("a")), GRANARY_OK);
    assert_int_equal(rig_submit(rig, "failed", LINES("fail-here")), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "ended", NULL), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "failed", NULL), GRANARY_EFAILED);
    assert_int_equal(rig_submit(rig, "gone", LINES("a")), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "gone", NULL), GRANARY_OK);
    assert_int_equal(rig_ref(rig, GRANARY__REQUEST__BODY_DELETE, "gone"), GRANARY_OK);
    rig_executor_kill(rig, 0);
    while (rig_executor_count(rig) > 0) {
    }
    for (int i = 0; i < 10; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(rig_submit(rig, key, LINES("a", "b a")), GRANARY_OK);
    }
    assert_int_equal(rig_stop(rig, SIGKILL), 128 + SIGKILL);

    assert_true(rig_start(rig, "sqlite"));
    rig_executor_start(rig, 0);
    for (int i = 0; i < 10; i++) {
        (void)snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(rig_wait(rig, key, NULL), GRANARY_OK);
    }
    assert_int_equal(rig_wait(rig, "ended", NULL), GRANARY_OK);
    assert_int_equal(rig_wait(rig, "failed", message), GRANARY_EFAILED);
    assert_string_equal(message, "node 'fail-here': made to fail");
    assert_int_equal(rig_wait(rig, "gone", NULL), GRANARY_ENOENT);
    assert_int_equal(rig_stop(rig, SIGTERM), 0);
}

/* 60 random kills of executors while graphs run: every graph ends well. */
static void
executors_may_die_at_any_moment(void **state)
{
    struct rig *rig = *state;
    static char text[400][24];
    const char *lines[400];
    char key[16];

    assert_true(rig_start(rig, "memory"));
    for (int slot = 0; slot < RIG_EXECUTORS; slot++) {
        rig_executor_start(rig, slot);
    }
    for (int i = 0; i < 400; i++) {
        (void)snprintf(text[i], sizeof text[i], i >= 4 ? "n%d n%d n%d" : "n%d", i, i / 2, i - 1);
        lines[i] = text[i];
    }
    srandom(7);
    for (int round = 0; round < 20; round++) {
        (void)snprintf(key, sizeof key, "k%d", round);
        assert_int_equal(rig_submit(rig, key, lines, 400), GRANARY_OK);
        for (int kills = 0; kills < 3; kills++) {
            int slot = (int)(random() % RIG_EXECUTORS);

            rig_executor_kill(rig, slot);
            while (rig_executor_count(rig) == RIG_EXECUTORS) {
            }
            rig_executor_start(rig, slot);
        }
        assert_int_equal(rig_wait(rig, key, NULL), GRANARY_OK);
    }
    assert_int_equal(rig_executor_count(rig), RIG_EXECUTORS);
    assert_int_equal(rig_running(rig), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(graphs_run_and_are_forgotten),
        TEST(stops_orderly),
        TEST(one_scheduler_an_instance),
        TEST(a_state_it_cannot_read_is_refused),
        TEST(a_full_disk_refuses_and_recovers),
        TEST(a_stopped_scheduler_goes_on),
        TEST(garbage_does_no_harm),
        TEST(unreadable_and_other_versions_are_answered),
        TEST(executors_of_other_versions_are_told),
        TEST(impostors_are_not_executors),
        TEST(vanished_clients_are_ignored),
        TEST(a_killed_executors_work_is_done_elsewhere),
        TEST(a_broken_connection_is_no_death),
        TEST(poison_is_named),
        TEST(failures_name_the_node),
        TEST(stop_ends_a_wait),
        TEST(accepted_means_kept),
        TEST(executors_may_die_at_any_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
