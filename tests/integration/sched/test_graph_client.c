/* Graphs through libgranary on a whole instance: store, scheduler, executors. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fd.h"
#include "granary/frame.h"
#include "granary/graph.h"
#include "granary/read.h"
#include "granary/session.h"

struct fixture {
    char directory[64];
    granary_client *client;
};

static void
run_granary(const struct fixture *f, const char *command)
{
    const char *bin = getenv("GRANARY_BIN");
    char line[400];

    (void)snprintf(line, sizeof line, "GRANARY_LOG=error %s/granary %s --instance %s%s >/dev/null 2>&1",
                   bin != NULL ? bin : "bin", command, f->directory,
                   strcmp(command, "up") == 0 ? " --executors 2 --memory 256M" : "");
    assert_int_equal(system(line), 0);
}

/* Pid of the daemon from `granary up`'s description of the instance: "sched_pid" and the like. */
static pid_t
daemon_pid(const struct fixture *f, const char *name)
{
    char path[128];
    char *text = NULL;
    size_t size;
    const char *at;
    pid_t pid;

    (void)snprintf(path, sizeof path, "%s/instance.json", f->directory);
    assert_int_equal(gr_file_read(path, 65536, &text, &size), GRANARY_OK);
    at = strstr(text, name);
    assert_non_null(at);
    pid = (pid_t)strtol(strchr(at, ':') + 1, NULL, 10);
    free(text);
    assert_true(pid > 1);
    return pid;
}

static int
setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    (void)snprintf(f->directory, sizeof f->directory, "/tmp/granary-graph-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    run_granary(f, "up");
    assert_int_equal(granary_connect(&(granary_connect_options){.instance = f->directory, .tag = "test"}, &f->client),
                     GRANARY_OK);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    granary_disconnect(f->client);
    run_granary(f, "down");
    gr_remove_tree(f->directory);
    free(f);
    return 0;
}

/* 0 + 1 + ... + (count - 1) over chunks of 1000, and the numbers themselves as another target. */
static granary_graph *
sum_graph(int64_t count)
{
    granary_graph *graph = granary_graph_create();
    granary_node numbers = granary_graph_add(graph, "numbers", "arange", NULL, 0);
    granary_node sum = granary_graph_add(graph, "sum", "sum", &numbers, 1);
    const int64_t chunk = 1000;

    granary_node_set_int(graph, numbers, "stop", count);
    granary_node_set_ints(graph, numbers, "chunk", &chunk, 1);
    granary_graph_target(graph, numbers);
    granary_graph_target(graph, sum);
    return graph;
}

static void
submit_sum(struct fixture *f, int64_t count, const char *wish, char key[GRANARY_KEY_MAX])
{
    granary_graph *graph = sum_graph(count);

    assert_int_equal(granary_graph_submit(f->client, graph, &(granary_graph_options){.key = wish}, key), GRANARY_OK);
    granary_graph_destroy(graph);
}

/* The one int64 of a result. */
static int64_t
read_sum(struct fixture *f, const char *key)
{
    granary_result result;
    granary_view view;
    int64_t value;

    assert_int_equal(granary_graph_result(f->client, key, "sum", &result), GRANARY_OK);
    assert_true(result.is_tensor);
    assert_int_equal(result.chunk_count, 1);
    assert_int_equal(granary_object_get(f->client, result.chunks[0], 5000, &view), GRANARY_OK);
    /* An NPY file: the data are its last bytes. */
    assert_true(view.data_size >= sizeof value);
    memcpy(&value, (const char *)view.data + view.data_size - sizeof value, sizeof value);
    granary_object_release(f->client, &view);
    granary_result_free(&result);
    return value;
}

static void
a_result_is_mapped_and_deleted(void **state)
{
    struct fixture *f = *state;
    granary_graph_status status;
    granary_result result;
    char key[GRANARY_KEY_MAX];
    char *text = NULL;
    int64_t deadline_ns;

    submit_sum(f, 10000, "my sum", key);
    assert_string_equal(key, "my sum");
    assert_int_equal(granary_graph_wait(f->client, key, 20000, &status), GRANARY_OK);
    assert_int_equal(status.state, GRANARY_GRAPH_SUCCEEDED);
    assert_int_equal(status.subtasks_done, status.subtasks_total);
    assert_int_equal(read_sum(f, key), 49995000);

    assert_int_equal(granary_graph_result(f->client, key, "numbers", &result), GRANARY_OK);
    assert_int_equal(result.dims, 1);
    assert_int_equal(result.shape[0], 10000);
    assert_int_equal(result.splits[0], 10);
    assert_int_equal(result.chunk_count, 10);
    for (size_t i = 0; i < result.chunk_count; i++) {
        assert_true(granary_object_contains(f->client, result.chunks[i]));
    }
    assert_int_equal(granary_graph_result(f->client, key, "nothing", &(granary_result){0}), GRANARY_ENOENT);
    assert_int_equal(granary_graph_explain(f->client, key, &text), GRANARY_OK);
    assert_non_null(strstr(text, "arange"));
    free(text);

    assert_int_equal(granary_graph_delete(f->client, key), GRANARY_OK);
    assert_int_equal(granary_graph_delete(f->client, key), GRANARY_ENOENT);
    deadline_ns = gr_deadline_ns(60000);
    for (size_t i = 0; i < result.chunk_count; i++) {
        while (granary_object_contains(f->client, result.chunks[i])) {
            assert_true(gr_now_ns() < deadline_ns);
        }
    }
    granary_result_free(&result);
}

/* Within a minute the store has so many objects. */
static void
wait_objects(struct fixture *f, size_t want)
{
    int64_t deadline_ns = gr_deadline_ns(60000);
    granary_object_info *infos = NULL;
    size_t count = SIZE_MAX;

    while (count != want && gr_now_ns() < deadline_ns) {
        assert_int_equal(granary_object_list(f->client, &infos, &count), GRANARY_OK);
        free(infos);
    }
    assert_int_equal(count, want);
}

/* Of a graph that has ended nothing is left but its targets. */
static void
intermediates_are_freed(void **state)
{
    struct fixture *f = *state;
    char key[GRANARY_KEY_MAX];

    submit_sum(f, 20000, NULL, key);
    assert_int_equal(granary_graph_wait(f->client, key, 20000, NULL), GRANARY_OK);
    wait_objects(f, 21);
}

static void
mistakes_are_told(void **state)
{
    struct fixture *f = *state;
    granary_graph *graph = granary_graph_create();
    char key[GRANARY_KEY_MAX] = "untouched";
    char large[100];

    (void)granary_graph_add(graph, "x", "no_such_operator", NULL, 0);
    assert_int_equal(granary_graph_submit(f->client, graph, NULL, key), GRANARY_ENOENT);
    assert_non_null(strstr(granary_error_message(), "node 'x'"));
    granary_graph_destroy(graph);
    assert_int_equal(granary_graph_submit_json(f->client, "{\"nodes\": [", 11, NULL, key), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "line 1"));
    assert_int_equal(granary_graph_submit_json(f->client, "{}\0", 3, NULL, key), GRANARY_EINVAL);
    assert_int_equal(granary_graph_submit_json(f->client, NULL, 0, NULL, key), GRANARY_EINVAL);
    memset(large, 'k', sizeof large);
    large[99] = '\0';
    assert_int_equal(granary_graph_submit_json(f->client, "{}", 2, &(granary_graph_options){.timeout_ms = -2}, key),
                     GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "timeout of -2 ms"));
    assert_int_equal(granary_graph_submit_json(f->client, "{}", 2, &(granary_graph_options){.key = large}, key),
                     GRANARY_EINVAL);
    assert_string_equal(key, "untouched");
    assert_int_equal(granary_graph_wait(f->client, "unknown", 0, NULL), GRANARY_ENOENT);
    assert_int_equal(granary_graph_wait(f->client, NULL, 0, NULL), GRANARY_EINVAL);
    assert_int_equal(granary_graph_stop(f->client, "unknown"), GRANARY_ENOENT);
}

static void
signal_executors(struct fixture *f, int signal)
{
    granary_executor_info *infos = NULL;
    size_t count = 0;

    assert_int_equal(granary_executor_list(f->client, &infos, &count), GRANARY_OK);
    for (size_t i = 0; i < count; i++) {
        (void)kill((pid_t)infos[i].pid, signal);
    }
    free(infos);
}

struct waiting {
    granary_client *client;
    const char *key;
    granary_err err;
};

static void *
wait_for_ever(void *argument)
{
    struct waiting *waiting = argument;

    waiting->err = granary_graph_wait(waiting->client, waiting->key, GRANARY_FOREVER, NULL);
    return NULL;
}

/* Eight threads wait on one client; a ninth asks, times out and stops the graph meanwhile. */
static void
threads_share_a_client(void **state)
{
    struct fixture *f = *state;
    struct waiting waiting[8];
    pthread_t threads[8];
    granary_graph_status status = {0};
    granary_executor_info *infos = NULL;
    size_t count;
    char key[GRANARY_KEY_MAX];

    signal_executors(f, SIGSTOP); /* so that it does not end by itself */
    submit_sum(f, 10000, NULL, key);
    for (int i = 0; i < 8; i++) {
        waiting[i] = (struct waiting){f->client, key, GRANARY_OK};
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_ever, &waiting[i]), 0);
    }
    for (int i = 0; i < 50; i++) {
        assert_int_equal(granary_executor_list(f->client, &infos, &count), GRANARY_OK);
        free(infos);
        assert_int_equal(granary_graph_wait(f->client, key, i % 3, &status), GRANARY_ETIMEDOUT);
        assert_int_equal(status.state, GRANARY_GRAPH_RUNNING);
    }
    assert_int_equal(granary_graph_stop(f->client, key), GRANARY_OK);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(waiting[i].err, GRANARY_ECANCELLED);
    }
    signal_executors(f, SIGCONT);
    assert_int_equal(granary_graph_delete(f->client, key), GRANARY_OK);
}

/* kill -9 of executors while graphs run: every sum is right, and in the end no intermediate is left. */
static void
killed_executors_change_nothing(void **state)
{
    struct fixture *f = *state;

    srandom(3);
    for (int round = 0; round < 15; round++) {
        char key[GRANARY_KEY_MAX];
        granary_executor_info *infos = NULL;
        size_t count = 0;
        granary_err err;

        submit_sum(f, 200000, NULL, key);
        (void)poll(NULL, 0, (int)(random() % 20));
        assert_int_equal(granary_executor_list(f->client, &infos, &count), GRANARY_OK);
        if (count > 0) {
            (void)kill((pid_t)infos[(size_t)random() % count].pid, SIGKILL);
        }
        free(infos);
        err = granary_graph_wait(f->client, key, 30000, NULL);
        if (err != GRANARY_OK) {
            print_error("%s\n", granary_error_message());
        }
        assert_int_equal(err, GRANARY_OK);
        assert_int_equal(read_sum(f, key), 19999900000);
        assert_int_equal(granary_graph_delete(f->client, key), GRANARY_OK);
    }
    wait_objects(f, 0);
}

/* kill -9 of the scheduler: its successor goes on with what was accepted, and those who wait do not notice. */
static void
a_killed_scheduler_is_replaced(void **state)
{
    struct fixture *f = *state;
    struct waiting waiting;
    char key[GRANARY_KEY_MAX];
    char ended[GRANARY_KEY_MAX];
    granary_executor_info *infos = NULL;
    size_t count = 0;
    pthread_t thread;

    submit_sum(f, 5000, NULL, ended);
    assert_int_equal(granary_graph_wait(f->client, ended, 20000, NULL), GRANARY_OK);
    assert_int_equal(granary_executor_list(f->client, &infos, &count), GRANARY_OK);
    signal_executors(f, SIGSTOP);
    submit_sum(f, 10000, NULL, key);
    waiting = (struct waiting){f->client, key, GRANARY_EFAILED};
    assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, &waiting), 0);
    assert_int_equal(kill(daemon_pid(f, "sched_pid"), SIGKILL), 0);
    for (size_t i = 0; i < count; i++) { /* they have outlived it */
        (void)kill((pid_t)infos[i].pid, SIGCONT);
    }
    free(infos);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(waiting.err, GRANARY_OK);
    assert_int_equal(read_sum(f, key), 49995000);
    assert_int_equal(read_sum(f, ended), 12497500);
}

/* Without anybody who starts a new one, a wait ends at once, and so does every later call. */
static void
a_scheduler_that_is_gone_is_unreachable(void **state)
{
    struct fixture *f = *state;
    struct waiting waiting;
    char key[GRANARY_KEY_MAX];
    pthread_t thread;
    pid_t supervisor = daemon_pid(f, "supervisor_pid");
    int64_t start;

    signal_executors(f, SIGSTOP);
    submit_sum(f, 10000, NULL, key);
    waiting = (struct waiting){f->client, key, GRANARY_EFAILED};
    assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, &waiting), 0);
    assert_int_equal(kill(supervisor, SIGKILL), 0); /* the daemons die with it */
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(waiting.err, GRANARY_EUNREACHABLE);
    start = gr_now_ns();
    assert_int_equal(granary_graph_wait(f->client, key, GRANARY_FOREVER, NULL), GRANARY_EUNREACHABLE);
    assert_true(gr_now_ns() - start < 5000000000); /* the patience of a connection: it is not waited for again */
    assert_non_null(strstr(granary_error_message(), "granary up"));
    granary_disconnect(f->client);
    f->client = NULL;
    run_granary(f, "up"); /* what the dead left is cleaned up; then everything is stopped as usual */
}

static void
a_fork_is_told(void **state)
{
    struct fixture *f = *state;
    char key[GRANARY_KEY_MAX];
    int status;
    pid_t child;

    submit_sum(f, 1000, NULL, key);
    child = fork();
    if (child == 0) {
        granary_graph *graph = sum_graph(1000);
        bool good = granary_graph_wait(f->client, key, 0, NULL) == GRANARY_EFORKED &&
                    granary_graph_submit(f->client, graph, NULL, key) == GRANARY_EFORKED &&
                    granary_graph_submit_json(f->client, "{}", 2, NULL, key) == GRANARY_EFORKED;

        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(granary_graph_wait(f->client, key, 20000, NULL), GRANARY_OK);
}

/* Chunks of a target by number: not ready, ready, none of that number, deleted, and of a graph that was stopped. */
static void
chunks_of_a_graph_are_read(void **state)
{
    struct fixture *f = *state;
    const granary_selection last = {.kind = GRANARY_SELECT_ELEMENTS, .dims = {{-1, 0, 0}}, .dim_count = 1};
    granary_chunk_request requests[4] = {{.graph = "a", .target = "numbers", .chunk = 3, .select = last},
                                         {.graph = "a", .target = "numbers", .chunk = 10, .select = last},
                                         {.graph = "b", .target = "numbers", .select = last},
                                         {.graph = "a", .target = "numbers", .chunk = 9, .select = last}};
    granary_chunk chunks[4];
    char key[GRANARY_KEY_MAX];
    granary_id gone;

    signal_executors(f, SIGSTOP);
    submit_sum(f, 10000, "a", key);
    assert_int_equal(granary_chunk_read_many(f->client, requests, 1, NULL, chunks), GRANARY_ESTATE);
    assert_int_equal(chunks[0].state, GRANARY_CHUNK_NOT_READY);
    granary_chunk_release(f->client, chunks, 1);
    assert_int_equal(granary_chunk_read_many(f->client, requests, 1, &(granary_read_options){.timeout_ms = 30}, chunks),
                     GRANARY_ETIMEDOUT);
    assert_int_equal(chunks[0].state, GRANARY_CHUNK_NOT_READY);
    granary_chunk_release(f->client, chunks, 1);
    signal_executors(f, SIGCONT);

    assert_int_equal(
        granary_chunk_read_many(f->client, requests, 4, &(granary_read_options){.timeout_ms = 60000}, chunks),
        GRANARY_EINVAL);
    assert_int_equal(*(const int64_t *)chunks[0].tensor.values, 3999);
    assert_int_equal(chunks[1].err, GRANARY_EINVAL);
    assert_int_equal(chunks[2].state, GRANARY_CHUNK_MISSING);
    assert_int_equal(*(const int64_t *)chunks[3].tensor.values, 9999);
    gone = chunks[3].id;
    granary_chunk_release(f->client, chunks, 4);

    assert_int_equal(granary_object_delete(f->client, gone, 0), GRANARY_OK);
    assert_int_equal(granary_chunk_read_many(f->client, &requests[3], 1, NULL, chunks), GRANARY_ENOENT);
    assert_int_equal(chunks[0].state, GRANARY_CHUNK_DELETED);
    granary_chunk_release(f->client, chunks, 1);

    signal_executors(f, SIGSTOP);
    submit_sum(f, 10000, "b", key);
    assert_int_equal(granary_graph_stop(f->client, "b"), GRANARY_OK);
    assert_int_equal(granary_chunk_read_many(f->client, &requests[2], 1, NULL, chunks), GRANARY_ECANCELLED);
    assert_int_equal(chunks[0].state, GRANARY_CHUNK_FAILED);
    granary_chunk_release(f->client, chunks, 1);
    signal_executors(f, SIGCONT);
}

/* A sum in a session of its own, while no executor runs. Returns the session's client. */
static granary_client *
submit_in_doomed(struct fixture *f, char key[GRANARY_KEY_MAX])
{
    granary_client *client = NULL;
    granary_graph *graph = sum_graph(10000);

    assert_int_equal(
        granary_connect(&(granary_connect_options){.instance = f->directory, .session = "doomed"}, &client),
        GRANARY_OK);
    assert_int_equal(granary_graph_submit(client, graph, NULL, key), GRANARY_OK);
    granary_graph_destroy(graph);
    return client;
}

/* Graphs of a session that is deleted fail and say why; no executor dies of it, and nobody makes it anew. */
static void
a_deleted_session_fails_its_graphs(void **state)
{
    struct fixture *f = *state;
    granary_executor_info *before, *after;
    size_t count, count_after;
    char key[GRANARY_KEY_MAX], last[GRANARY_KEY_MAX];
    granary_client *client;
    granary_graph *graph = sum_graph(10000);
    uint64_t deleted = 0;
    bool there = true;

    assert_int_equal(granary_executor_list(f->client, &before, &count), GRANARY_OK);
    client = submit_in_doomed(f, key); /* executors have connections to it now */
    assert_int_equal(granary_graph_wait(client, key, 20000, NULL), GRANARY_OK);
    signal_executors(f, SIGSTOP);
    assert_int_equal(granary_graph_submit(client, graph, NULL, last), GRANARY_OK);
    assert_int_equal(granary_session_delete(f->client, "doomed", false), GRANARY_OK);
    signal_executors(f, SIGCONT);
    assert_int_equal(granary_graph_wait(f->client, last, 20000, NULL), GRANARY_ENOENT);
    assert_non_null(strstr(granary_error_message(), "doomed"));
    assert_int_equal(granary_graph_submit(client, graph, NULL, last), GRANARY_EUNREACHABLE);
    granary_disconnect(client);
    assert_int_equal(granary_graph_delete(f->client, key), GRANARY_OK); /* its objects are gone already */
    submit_sum(f, 10000, NULL, last);
    assert_int_equal(granary_graph_wait(f->client, last, 20000, NULL), GRANARY_OK);
    assert_int_equal(granary_session_has(f->client, "doomed", &there), GRANARY_OK);
    assert_false(there);
    assert_int_equal(granary_executor_list(f->client, &after, &count_after), GRANARY_OK);
    assert_int_equal(count_after, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(after[i].pid, before[i].pid);
    }
    free(before);
    free(after);

    /* Its graphs first: they are forgotten, and those of others stay. */
    signal_executors(f, SIGSTOP);
    client = submit_in_doomed(f, key);
    signal_executors(f, SIGCONT);
    assert_int_equal(granary_graph_delete_all(f->client, "doomed", &deleted), GRANARY_OK);
    assert_true(deleted >= 1);
    assert_int_equal(granary_session_delete(f->client, "doomed", false), GRANARY_OK);
    assert_int_equal(granary_graph_wait(f->client, key, 0, NULL), GRANARY_ENOENT);
    assert_int_equal(granary_graph_wait(f->client, last, 0, NULL), GRANARY_OK);
    granary_disconnect(client);
    granary_graph_destroy(graph);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_result_is_mapped_and_deleted),
        TEST(intermediates_are_freed),
        TEST(mistakes_are_told),
        TEST(threads_share_a_client),
        TEST(killed_executors_change_nothing),
        TEST(a_killed_scheduler_is_replaced),
        TEST(a_scheduler_that_is_gone_is_unreachable),
        TEST(a_fork_is_told),
        TEST(chunks_of_a_graph_are_read),
        TEST(a_deleted_session_fails_its_graphs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
