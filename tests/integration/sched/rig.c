#include "rig.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"

void
rig_init(struct rig *rig)
{
    *rig = (struct rig){.directory = "/tmp/granary-sched-XXXXXX"};
    assert_non_null(mkdtemp(rig->directory));
    assert_int_equal(gr_instance_resolve(rig->directory, &rig->instance), GRANARY_OK);
    rig->context = gr_zmq_context_create(1);
}

void
rig_fini(struct rig *rig)
{
    for (int slot = 0; slot < RIG_EXECUTORS; slot++) {
        rig_executor_kill(rig, slot);
    }
    if (rig->sched > 0) {
        (void)rig_stop(rig, SIGKILL);
    }
    gr_zmq_close(rig->client);
    gr_zmq_context_destroy(rig->context);
    gr_remove_tree(rig->directory);
}

static void
exec_sched(const struct rig *rig, const char *state, int ready_fd)
{
    const char *bin = getenv("GRANARY_BIN");
    char program[512];
    char ready[16];

    (void)snprintf(program, sizeof program, "%s/granary-sched", bin != NULL ? bin : "bin");
    (void)snprintf(ready, sizeof ready, "%d", ready_fd);
    (void)setenv("GRANARY_LOG", "error", 0);
    (void)execl(program, "granary-sched", "--instance", rig->directory, "--state", state, "--ready-fd", ready,
                "--die-with-parent", (char *)NULL);
    perror(program);
    _exit(127);
}

bool
rig_start(struct rig *rig, const char *state)
{
    granary_err err = GRANARY_OK;
    size_t size = 0;
    ssize_t n;
    int ends[2];

    assert_int_equal(rig->sched, 0);
    assert_int_equal(pipe(ends), 0);
    rig->sched = fork();
    assert_true(rig->sched >= 0);
    if (rig->sched == 0) {
        (void)close(ends[0]);
        exec_sched(rig, state, ends[1]);
    }
    (void)close(ends[1]);
    memset(rig->said, 0, sizeof rig->said);
    while (strchr(rig->said, '\n') == NULL && (n = read(ends[0], rig->said + size, sizeof rig->said - 1 - size)) > 0) {
        size += (size_t)n;
    }
    (void)close(ends[0]);
    if (strcmp(rig->said, "READY\n") != 0) {
        return false;
    }
    gr_zmq_close(rig->client);
    rig->client = gr_zmq_dealer(rig->context, rig->instance.sched_socket, &err);
    assert_int_equal(err, GRANARY_OK);
    return true;
}

int
rig_stop(struct rig *rig, int signal)
{
    int status = 0;

    (void)kill(rig->sched, signal);
    assert_int_equal(waitpid(rig->sched, &status, 0), rig->sched);
    rig->sched = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static Granary__Reply *
cluster(struct rig *rig)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__ClusterInfo info = GRANARY__CLUSTER_INFO__INIT;
    Granary__Reply *reply;

    request.body_case = GRANARY__REQUEST__BODY_CLUSTER;
    request.cluster = &info;
    reply = rig_call(rig, &request);
    assert_non_null(reply->cluster);
    return reply;
}

/* Counting would not do: one that was killed may still be there, and go meanwhile. */
static bool
knows_executor(struct rig *rig, pid_t pid)
{
    Granary__Reply *reply = cluster(rig);
    bool there = false;

    for (size_t i = 0; i < reply->cluster->n_executors; i++) {
        there = there || reply->cluster->executors[i]->pid == pid;
    }
    granary__reply__free_unpacked(reply, NULL);
    return there;
}

void
rig_executor_start(struct rig *rig, int slot)
{
    char number[16];

    (void)snprintf(number, sizeof number, "%d", slot);
    rig->executors[slot] =
        fork(); /* a program of its own: ZeroMQ's threads are here, and any of them may hold a lock */
    assert_true(rig->executors[slot] >= 0);
    if (rig->executors[slot] == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)execl(FAKE_EXECUTOR, FAKE_EXECUTOR, rig->instance.pool_socket, number, (char *)NULL);
        _exit(127);
    }
    while (!knows_executor(rig, rig->executors[slot])) {
    }
}

void
rig_executor_kill(struct rig *rig, int slot)
{
    if (rig->executors[slot] > 0) {
        (void)kill(rig->executors[slot], SIGKILL);
        (void)waitpid(rig->executors[slot], NULL, 0);
        rig->executors[slot] = 0;
    }
}

void
rig_send(struct rig *rig, Granary__Request *request)
{
    size_t size;
    uint8_t *bytes;

    request->version = GRANARY__VERSION__PROTOCOL;
    request->seq = ++rig->seq;
    size = granary__request__get_packed_size(request);
    bytes = malloc(size + 1);
    (void)granary__request__pack(request, bytes);
    assert_int_equal(gr_zmq_send(rig->client, NULL, bytes, size), GRANARY_OK);
    free(bytes);
}

Granary__Reply *
rig_receive(struct rig *rig)
{
    int64_t deadline_ns = gr_deadline_ns(60000);
    struct gr_zmq_message message;
    Granary__Reply *reply;

    while (!gr_zmq_receive(rig->client, &message)) {
        assert_true(gr_zmq_wait(&rig->client, 1, NULL, NULL, 0, gr_left_ms(deadline_ns)));
    }
    reply = granary__reply__unpack(NULL, message.size, message.bytes);
    gr_zmq_message_free(&message);
    assert_non_null(reply);
    return reply;
}

bool
rig_hears(struct rig *rig, int timeout_ms)
{
    struct gr_zmq_message message;

    (void)gr_zmq_wait(&rig->client, 1, NULL, NULL, 0, timeout_ms);
    if (!gr_zmq_receive(rig->client, &message)) {
        return false;
    }
    gr_zmq_message_free(&message);
    return true;
}

Granary__Reply *
rig_call(struct rig *rig, Granary__Request *request)
{
    Granary__Reply *reply;

    rig_send(rig, request);
    reply = rig_receive(rig);
    assert_int_equal(reply->seq, rig->seq);
    assert_int_equal(reply->version, GRANARY__VERSION__PROTOCOL);
    return reply;
}

static granary_err
finish(Granary__Reply *reply, char *ret_message)
{
    granary_err err = (granary_err)reply->err;

    if (ret_message != NULL) {
        (void)snprintf(ret_message, 256, "%s", reply->message);
    }
    granary__reply__free_unpacked(reply, NULL);
    return err;
}

granary_err
rig_submit(struct rig *rig, const char *key, const char *const *lines, size_t count)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Submit submit = GRANARY__SUBMIT__INIT;
    Granary__Graph *graph = malloc(sizeof *graph);
    granary_err err;

    granary__graph__init(graph);
    graph->nodes = calloc(count + 1, sizeof *graph->nodes);
    for (size_t i = 0; i < count; i++) {
        Granary__Node *node = malloc(sizeof *node);
        char *line = strdup(lines[i]);
        char *rest = NULL;

        granary__node__init(node);
        node->name = strdup(strtok_r(line, " ", &rest));
        node->op = strdup("null");
        for (char *word = strtok_r(NULL, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
            node->inputs = reallocarray(node->inputs, node->n_inputs + 1, sizeof *node->inputs);
            node->inputs[node->n_inputs++] = strdup(word);
        }
        graph->nodes[graph->n_nodes++] = node;
        free(line);
    }
    submit.key = (char *)(uintptr_t)key;
    submit.directory = (char *)(uintptr_t) "/";
    submit.graph = graph;
    request.body_case = GRANARY__REQUEST__BODY_SUBMIT;
    request.submit = &submit;
    err = finish(rig_call(rig, &request), NULL);
    granary__graph__free_unpacked(graph, NULL);
    return err;
}

granary_err
rig_wait(struct rig *rig, const char *key, char *ret_message)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphWait wait = GRANARY__GRAPH_WAIT__INIT;

    wait.key = (char *)(uintptr_t)key;
    wait.timeout_ms = 60000;
    request.body_case = GRANARY__REQUEST__BODY_WAIT;
    request.wait = &wait;
    return finish(rig_call(rig, &request), ret_message);
}

granary_err
rig_ref(struct rig *rig, Granary__Request__BodyCase which, const char *key)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphRef ref = GRANARY__GRAPH_REF__INIT;

    ref.key = (char *)(uintptr_t)key;
    request.body_case = which;
    request.stop = &ref;
    return finish(rig_call(rig, &request), NULL);
}

size_t
rig_executor_count(struct rig *rig)
{
    Granary__Reply *reply = cluster(rig);
    size_t count = reply->cluster->n_executors;

    granary__reply__free_unpacked(reply, NULL);
    return count;
}

uint64_t
rig_running(struct rig *rig)
{
    Granary__Reply *reply = cluster(rig);
    uint64_t count = reply->cluster->subtasks_running;

    granary__reply__free_unpacked(reply, NULL);
    return count;
}
