#include "unit/executor/pool_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"

#define PATIENCE_MS 60000

pid_t
pool_spawn(const char *instance, int executors, bool die_with_parent, int *ret_ready_fd)
{
    char program[512], count[16], fd[16];
    const char *bin = getenv("GRANARY_BIN");
    int ends[2];
    pid_t pid;

    (void)snprintf(program, sizeof program, "%s/granary-executor", bin == NULL ? "../bin" : bin);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        (void)snprintf(count, sizeof count, "%d", executors);
        (void)snprintf(fd, sizeof fd, "%d", ends[1]);
        (void)fcntl(ends[1], F_SETFD, 0);
        (void)setenv("GRANARY_LOG", getenv("GRANARY_LOG") == NULL ? "error" : getenv("GRANARY_LOG"), 1);
        (void)execl(program, program, "--pool", "--instance", instance, "--executors", count, "--ready-fd", fd,
                    die_with_parent ? "--die-with-parent" : NULL, NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    (void)close(ends[1]);
    *ret_ready_fd = ends[0];
    return pid;
}

void
pool_said(int ready_fd, char line[1200])
{
    size_t size = 0;
    ssize_t n;

    line[0] = '\0';
    while (strchr(line, '\n') == NULL && (n = read(ready_fd, line + size, 1199 - size)) > 0) {
        size += (size_t)n;
        line[size] = '\0';
    }
}

static void
send_to(struct pool_test *test, const struct gr_zmq_peer *peer, Granary__ToExecutor *message)
{
    size_t size;
    uint8_t *bytes;

    message->version = test->refuse ? 99 : GRANARY__VERSION__PROTOCOL;
    size = granary__to_executor__get_packed_size(message);
    bytes = malloc(size + 1);
    assert_non_null(bytes);
    (void)granary__to_executor__pack(message, bytes);
    assert_int_equal(gr_zmq_send(test->router, peer, bytes, size), GRANARY_OK);
    free(bytes);
}

void
pool_send(struct pool_test *test, size_t executor, Granary__ToExecutor *message)
{
    send_to(test, &test->executors[executor].peer, message);
}

void
pool_order(struct pool_test *test, Granary__PoolOrder *order, uint64_t epoch)
{
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;

    message.pool = order;
    message.epoch = epoch;
    send_to(test, &test->supervisor, &message);
}

static void
take_registration(struct pool_test *test, const struct gr_zmq_peer *peer, const Granary__Register *registration)
{
    struct test_executor *executor = &test->executors[test->count];
    Granary__ToExecutor answer = GRANARY__TO_EXECUTOR__INIT;

    assert_true(test->count < EXECUTORS_MAX);
    assert_int_equal(registration->start_time, gr_process_start_time((pid_t)registration->pid));
    *executor = (struct test_executor){.peer = *peer, .pid = (pid_t)registration->pid, .slot = registration->slot};
    if (test->stop_registering) {
        assert_int_equal(kill(executor->pid, SIGSTOP), 0);
    }
    answer.registered = (uint32_t)++test->count;
    pool_send(test, test->count - 1, &answer);
}

static void
take_pool(struct pool_test *test, const struct gr_zmq_peer *peer, const Granary__Pool *pool)
{
    test->supervisor = *peer;
    test->slots = pool->slots;
    memset(test->slots_of_node, 0, sizeof test->slots_of_node);
    for (size_t i = 0; i < pool->n_slots_of_node && i < 16; i++) {
        test->slots_of_node[i] = pool->slots_of_node[i];
    }
    for (size_t i = 0; i < pool->n_deaths; i++) {
        assert_true(test->death_count < sizeof test->deaths / sizeof test->deaths[0]);
        test->deaths[test->death_count++] =
            (struct test_death){(pid_t)pool->deaths[i]->pid, pool->deaths[i]->signal, pool->deaths[i]->status};
    }
}

/* An executor that asks to leave may, for another one in its place. */
static void
let_go(struct pool_test *test, const struct gr_zmq_peer *peer)
{
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;

    message.die = true;
    message.replace = true;
    for (size_t i = 0; i < test->count; i++) {
        if (test->executors[i].peer.size == peer->size &&
            memcmp(test->executors[i].peer.bytes, peer->bytes, peer->size) == 0) {
            pool_send(test, i, &message);
        }
    }
}

static void
take_message(struct pool_test *test, const struct gr_zmq_message *message)
{
    Granary__FromExecutor *unpacked = granary__from_executor__unpack(NULL, message->size, message->bytes);

    assert_non_null(unpacked);
    assert_int_equal(unpacked->version, GRANARY__VERSION__PROTOCOL);
    if (unpacked->register_ != NULL) {
        take_registration(test, &message->peer, unpacked->register_);
    }
    if (unpacked->pool != NULL) {
        take_pool(test, &message->peer, unpacked->pool);
    }
    test->messages += unpacked->n_done > 0;
    for (size_t i = 0; i < unpacked->n_done; i++) {
        assert_true(test->done_count < sizeof test->done / sizeof test->done[0]);
        test->done[test->done_count++] = unpacked->done[i];
        unpacked->done[i] = NULL;
    }
    if (unpacked->draining) {
        let_go(test, &message->peer);
    }
    granary__from_executor__free_unpacked(unpacked, NULL);
}

static void
receive(struct pool_test *test, int64_t deadline)
{
    struct gr_zmq_message message;

    if (gr_now_ns() > deadline) {
        fail_msg("nothing came in %d ms", PATIENCE_MS);
    }
    (void)gr_zmq_wait(&test->router, 1, NULL, NULL, 0, gr_left_ms(deadline));
    while (gr_zmq_receive(test->router, &message)) {
        take_message(test, &message);
        gr_zmq_message_free(&message);
    }
}

void
pool_await_deaths(struct pool_test *test, size_t count)
{
    int64_t deadline = gr_deadline_ns(PATIENCE_MS);

    while (test->death_count < count) {
        receive(test, deadline);
    }
}

void
pool_await_slots(struct pool_test *test, uint32_t slots)
{
    int64_t deadline = gr_deadline_ns(PATIENCE_MS);

    while (test->slots != slots) {
        receive(test, deadline);
    }
}

void
pool_rebind(struct pool_test *test)
{
    granary_err err;

    gr_zmq_close(test->router);
    /* With its context: a socket that closes later would take the file of the next one along. */
    gr_zmq_context_destroy(test->zmq);
    test->zmq = gr_zmq_context_create(1);
    assert_non_null(test->zmq);
    test->router = gr_zmq_router(test->zmq, test->instance.pool_socket, &err);
    assert_non_null(test->router);
}

size_t
pool_next_registration(struct pool_test *test)
{
    int64_t deadline = gr_deadline_ns(PATIENCE_MS);

    while (test->count == test->seen) {
        receive(test, deadline);
    }
    return test->seen++;
}

Granary__Done *
pool_next_done(struct pool_test *test)
{
    int64_t deadline = gr_deadline_ns(PATIENCE_MS);
    Granary__Done *done;

    while (test->done_count == 0) {
        receive(test, deadline);
    }
    done = test->done[0];
    memmove(test->done, test->done + 1, --test->done_count * sizeof(Granary__Done *));
    return done;
}

void
pool_run(struct pool_test *test, size_t executor, uint64_t number, Granary__ChunkOp **ops, size_t count)
{
    Granary__Subtask subtask = GRANARY__SUBTASK__INIT;
    Granary__Subtask *run = &subtask;
    Granary__ToExecutor message = GRANARY__TO_EXECUTOR__INIT;

    subtask.number = number;
    subtask.attempt = 3;
    subtask.ops = ops;
    subtask.n_ops = count;
    message.run = &run;
    message.n_run = 1;
    pool_send(test, executor, &message);
    for (size_t i = 0; i < count; i++) {
        granary__chunk_op__free_unpacked(ops[i], NULL);
    }
}

void
pool_wait_gone(pid_t pid)
{
    struct pollfd poll_fd = {.fd = gr_pidfd_open(pid), .events = POLLIN};

    if (poll_fd.fd >= 0) {
        assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
        (void)close(poll_fd.fd);
    }
    /* Orphans become ours: see pool_test_start(). Others are reaped by the pool, of which no event tells. */
    for (int64_t deadline = gr_deadline_ns(PATIENCE_MS); kill(pid, 0) == 0; (void)usleep(1000)) {
        (void)waitpid(pid, NULL, WNOHANG);
        assert_true(gr_now_ns() < deadline);
    }
    assert_int_equal(errno, ESRCH);
}

/* As a scheduler does: executors look by its lock file who it is. */
static void
tell_who_is_scheduler(const struct pool_test *test)
{
    char path[160];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/sched.lock", test->instance.runtime);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "%d %llu\n", (int)getpid(), (unsigned long long)gr_process_start_time(getpid()));
    assert_int_equal(fclose(file), 0);
}

void
pool_test_start(struct pool_test *test, int executors)
{
    char line[1200];
    granary_err err;

    memset(test, 0, sizeof *test);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (!daemon_start(&test->store, NULL)) {
        fail_msg("no store");
    }
    assert_int_equal(gr_instance_resolve(test->store.directory, &test->instance), GRANARY_OK);
    test->zmq = gr_zmq_context_create(1);
    assert_non_null(test->zmq);
    test->router = gr_zmq_router(test->zmq, test->instance.pool_socket, &err);
    assert_non_null(test->router);
    tell_who_is_scheduler(test);
    test->pool = pool_spawn(test->store.directory, executors, true, &test->ready_fd);
    for (int i = 0; i < executors; i++) {
        (void)pool_next_registration(test);
    }
    pool_said(test->ready_fd, line);
    (void)close(test->ready_fd);
    assert_string_equal(line, "READY\n");
}

void
pool_test_stop(struct pool_test *test)
{
    int status;

    if (test->pool > 0) {
        assert_int_equal(kill(test->pool, SIGTERM), 0);
        assert_int_equal(waitpid(test->pool, &status, 0), test->pool);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    for (size_t i = 0; i < test->count; i++) {
        pool_wait_gone(test->executors[i].pid);
    }
    while (test->done_count > 0) {
        granary__done__free_unpacked(test->done[--test->done_count], NULL);
    }
    gr_zmq_close(test->router);
    gr_zmq_context_destroy(test->zmq);
    assert_true(daemon_stop(&test->store));
}
