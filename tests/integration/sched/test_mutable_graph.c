/* Graphs that read tables that change, and append to them, on a whole instance. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "granary/graph.h"
#include "granary/mutable.h"
#include "instance.h"

struct fixture {
    char directory[64];
    granary_client *client;
};

static int
start(struct fixture *f, const char *options)
{
    (void)snprintf(f->directory, sizeof f->directory, "/tmp/granary-source-XXXXXX");
    instance_start(f->directory, options, &f->client);
    return 0;
}

static int
setup(void **state)
{
    static struct fixture fixture;

    *state = &fixture;
    return start(&fixture, "--executors 2 --memory 256M");
}

static int
teardown(void **state)
{
    struct fixture *f = *state;

    instance_stop(f->directory, f->client);
    return 0;
}

/* ---- tables ---- */

static granary_mutable *
create(struct fixture *f, const char *name)
{
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64};
    granary_mutable *table;

    assert_int_equal(granary_mutable_create_frame(f->client, name, &column, 1, NULL, &table), GRANARY_OK);
    return table;
}

/* Rows from, from + 1, ... */
static int64_t
append(granary_mutable *table, int64_t from, int64_t count)
{
    int64_t *values = calloc((size_t)count, sizeof *values);
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .values = values};
    int64_t time;

    assert_non_null(values);
    for (int64_t i = 0; i < count; i++) {
        values[i] = from + i;
    }
    assert_int_equal(granary_mutable_append(table, &column, 1, count, NULL, &time), GRANARY_OK);
    free(values);
    return time;
}

static int64_t
rows_of(granary_mutable *table)
{
    granary_frame *frame;
    int64_t rows;

    assert_int_equal(granary_mutable_read_frame(table, GRANARY_NOW, &frame), GRANARY_OK);
    rows = granary_frame_rows(frame);
    granary_frame_close(frame);
    return rows;
}

/* ---- graphs ---- */

/* sum and count of a table's column as target `name`. time: GRANARY_NOW: none is given */
static void
add_sum(granary_graph *graph, const char *table, int64_t time, const char *name)
{
    char node[80];
    granary_node rows, all;

    (void)snprintf(node, sizeof node, "%s-rows", name);
    rows = granary_graph_add(graph, node, "table", NULL, 0);
    granary_node_set_string(graph, rows, "name", table);
    if (time != GRANARY_NOW) {
        granary_node_set_int(graph, rows, "time", time);
    }
    all = granary_graph_add(graph, name, "aggregate", &rows, 1);
    granary_node_set_entry(graph, all, "aggregate", "sum", "sum(n)");
    granary_node_set_entry(graph, all, "aggregate", "rows", "count(n)");
    granary_graph_target(graph, all);
}

/* The only frame of a target. */
static granary_frame *
result_open(struct fixture *f, const char *key, const char *target, granary_view *ret_view)
{
    granary_frame *frame;
    granary_result result;

    assert_int_equal(granary_graph_result(f->client, key, target, &result), GRANARY_OK);
    assert_int_equal(result.chunk_count, 1);
    assert_int_equal(granary_object_get(f->client, result.chunks[0], 10000, ret_view), GRANARY_OK);
    assert_int_equal(granary_frame_open(ret_view, &frame), GRANARY_OK);
    granary_result_free(&result);
    return frame;
}

/* One value of an integer column of a target. */
static int64_t
result_of(struct fixture *f, const char *key, const char *target, const char *column)
{
    granary_view view;
    granary_frame *frame = result_open(f, key, target, &view);
    const granary_column *at = granary_frame_column_named(frame, column);
    int64_t value;

    assert_non_null(at);
    value = ((const int64_t *)at->values)[0];
    granary_frame_close(frame);
    granary_object_release(f->client, &view);
    return value;
}

static granary_err
run(struct fixture *f, granary_graph *graph, char key[GRANARY_KEY_MAX], granary_graph_status *ret_status)
{
    granary_err err = granary_graph_run(f->client, graph, NULL, 60000, key, ret_status);

    granary_graph_destroy(graph);
    return err;
}

/* ---- read ---- */

static void
a_graph_reads_what_there_is_at_its_submission(void **state)
{
    struct fixture *f = *state;
    granary_mutable *table = create(f, "t");
    granary_graph *graph = granary_graph_create();
    char key[GRANARY_KEY_MAX];
    int64_t first;

    first = append(table, 0, 100);
    (void)append(table, 100, 100000);
    add_sum(graph, "t", GRANARY_NOW, "now");
    add_sum(graph, "t", first, "then");
    assert_int_equal(granary_graph_submit(f->client, graph, NULL, key), GRANARY_OK);
    granary_graph_destroy(graph);
    (void)append(table, 1000000, 7); /* it may not have begun */
    assert_int_equal(granary_graph_wait(f->client, key, 60000, NULL), GRANARY_OK);
    assert_int_equal(result_of(f, key, "now", "rows"), 100100);
    assert_int_equal(result_of(f, key, "now", "sum"), 100100ll * 100099 / 2);
    assert_int_equal(result_of(f, key, "then", "rows"), 100);
    assert_int_equal(rows_of(table), 100107);
    granary_mutable_close(table);
}

static void
an_empty_table_is_read_and_stays_empty(void **state)
{
    struct fixture *f = *state;
    granary_mutable *table = create(f, "t");
    granary_graph *graph = granary_graph_create();
    char key[GRANARY_KEY_MAX];

    add_sum(graph, "t", GRANARY_NOW, "now");
    assert_int_equal(granary_graph_submit(f->client, graph, NULL, key), GRANARY_OK);
    granary_graph_destroy(graph);
    (void)append(table, 0, 5);
    assert_int_equal(granary_graph_wait(f->client, key, 60000, NULL), GRANARY_OK);
    assert_int_equal(result_of(f, key, "now", "rows"), 0);
    granary_mutable_close(table);
}

struct pair {
    granary_mutable *first;
    granary_mutable *second;
    atomic_bool stop;
};

/* A row to the first table, then one to the second, again and again. */
static void *
write_pair(void *context)
{
    struct pair *pair = context;

    for (int64_t i = 0; !atomic_load(&pair->stop); i++) {
        (void)append(pair->first, i, 1);
        (void)append(pair->second, i, 1);
    }
    return NULL;
}

static void
tables_of_a_graph_are_read_at_one_moment(void **state)
{
    struct fixture *f = *state;
    struct pair pair = {.first = create(f, "a"), .second = create(f, "b")};
    pthread_t writer;

    assert_int_equal(pthread_create(&writer, NULL, write_pair, &pair), 0);
    for (int i = 0; i < 20; i++) {
        granary_graph *graph = granary_graph_create();
        char key[GRANARY_KEY_MAX];
        int64_t first, second;

        add_sum(graph, "b", GRANARY_NOW, "second");
        add_sum(graph, "a", GRANARY_NOW, "first");
        assert_int_equal(run(f, graph, key, NULL), GRANARY_OK);
        first = result_of(f, key, "first", "rows");
        second = result_of(f, key, "second", "rows");
        assert_true(first == second || first == second + 1);
    }
    atomic_store(&pair.stop, true);
    assert_int_equal(pthread_join(writer, NULL), 0);
    granary_mutable_close(pair.first);
    granary_mutable_close(pair.second);
}

/* The rows of a table as a result. */
static void
a_result_outlives_its_table(void **state)
{
    struct fixture *f = *state;
    granary_mutable *table = create(f, "t");
    granary_graph *graph = granary_graph_create();
    granary_node rows = granary_graph_add(graph, "rows", "table", NULL, 0);
    char key[GRANARY_KEY_MAX];

    (void)append(table, 3, 1);
    granary_node_set_string(graph, rows, "name", "t");
    granary_graph_target(graph, rows);
    assert_int_equal(run(f, graph, key, NULL), GRANARY_OK);
    granary_mutable_close(table);
    assert_int_equal(granary_mutable_delete(f->client, "t"), GRANARY_OK);
    assert_int_equal(result_of(f, key, "rows", "n"), 3);
}

static void
a_sealed_table_is_read_by_its_name(void **state)
{
    struct fixture *f = *state;
    granary_mutable *table = create(f, "t");
    granary_graph *graph = granary_graph_create();
    char key[GRANARY_KEY_MAX];

    (void)append(table, 0, 10);
    assert_int_equal(granary_mutable_seal(table, GRANARY_NOW, NULL), GRANARY_OK);
    granary_mutable_close(table);
    add_sum(graph, "t", GRANARY_NOW, "now");
    assert_int_equal(run(f, graph, key, NULL), GRANARY_OK);
    assert_int_equal(result_of(f, key, "now", "sum"), 45);
}

static size_t
object_count(struct fixture *f)
{
    granary_object_info *infos;
    size_t count;

    assert_int_equal(granary_object_list(f->client, &infos, &count), GRANARY_OK);
    free(infos);
    return count;
}

static void
await_objects(struct fixture *f, size_t count)
{
    while (object_count(f) != count) { /* an executor is told to free them */
        (void)usleep(1000);
    }
}

static void
what_a_graph_read_is_freed(void **state)
{
    struct fixture *f = *state;
    granary_mutable *table = create(f, "t");
    size_t before;

    (void)append(table, 0, 10);
    before = object_count(f);
    for (int i = 0; i < 3; i++) {
        granary_graph *graph = granary_graph_create();
        char key[GRANARY_KEY_MAX];

        add_sum(graph, "t", GRANARY_NOW, "now");
        assert_int_equal(run(f, graph, key, NULL), GRANARY_OK);
        assert_int_equal(granary_graph_delete(f->client, key), GRANARY_OK);
    }
    await_objects(f, before);
    granary_mutable_close(table);
}

/* All executors stand still, or go on. */
static void
signal_executors(struct fixture *f, int signal)
{
    granary_executor_info *infos;
    size_t count;

    assert_int_equal(granary_executor_list(f->client, &infos, &count), GRANARY_OK);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(kill((pid_t)infos[i].pid, signal), 0);
    }
    free(infos);
}

/* ---- what happens before a graph begins ---- */

static void
table_delete(struct fixture *f, granary_mutable *table, int64_t time)
{
    (void)table;
    (void)time;
    assert_int_equal(granary_mutable_delete(f->client, "t"), GRANARY_OK);
}

static void
table_seal(struct fixture *f, granary_mutable *table, int64_t time)
{
    (void)f;
    (void)time;
    assert_int_equal(granary_mutable_seal(table, GRANARY_NOW, NULL), GRANARY_OK);
}

/* What was later than the graph's time becomes the oldest that there is. */
static void
table_retain(struct fixture *f, granary_mutable *table, int64_t time)
{
    (void)f;
    assert_int_equal(granary_mutable_retain(table, &(granary_retain){.time = time}, NULL), GRANARY_OK);
}

static void
table_stays(struct fixture *f, granary_mutable *table, int64_t time)
{
    (void)f;
    (void)table;
    (void)time;
}

typedef void change(struct fixture *f, granary_mutable *table, int64_t time);

static granary_graph *
sum_graph(void)
{
    granary_graph *graph = granary_graph_create();

    add_sum(graph, "t", GRANARY_NOW, "now");
    return graph;
}

static void
submit_here(struct fixture *f, const granary_graph_options *options)
{
    granary_graph *graph = sum_graph();
    char key[GRANARY_KEY_MAX];

    assert_int_equal(granary_graph_submit(f->client, graph, options, key), GRANARY_OK);
    /* Again, as if it had heard no answer. The second snapshot is nobody's. */
    assert_int_equal(granary_graph_submit(f->client, graph, options, key), GRANARY_OK);
    granary_graph_destroy(graph);
}

/* In a process of its own. timeout_ms: how long it waits for the end; 0: it only submits. */
static pid_t
submit_there(struct fixture *f, const granary_graph_options *options, int timeout_ms)
{
    const granary_connect_options there = {.instance = f->directory};
    const pid_t child = fork();
    char key[GRANARY_KEY_MAX];
    granary_client *client;
    granary_err err;

    assert_true(child >= 0);
    if (child > 0) {
        return child;
    }
    err = granary_connect(&there, &client);
    if (err == GRANARY_OK) {
        err = timeout_ms == 0 ? granary_graph_submit(client, sum_graph(), options, key)
                              : granary_graph_run(client, sum_graph(), options, timeout_ms, key, NULL);
    }
    _exit(err == GRANARY_OK ? 0 : 1);
}

static void
submit_and_exit(struct fixture *f, const granary_graph_options *options)
{
    int status;

    assert_int_equal(waitpid(submit_there(f, options, 0), &status, 0) > 0 ? status : -1, 0);
}

static void
submit_and_be_killed(struct fixture *f, const granary_graph_options *options)
{
    const pid_t child = submit_there(f, options, 60000);
    int status;

    while (granary_graph_wait(f->client, options->key, 0, NULL) != GRANARY_ETIMEDOUT) {
        (void)usleep(1000);
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
}

static void
submit_and_lose_patience(struct fixture *f, const granary_graph_options *options)
{
    char key[GRANARY_KEY_MAX];
    granary_graph *graph = sum_graph();

    assert_int_equal(granary_graph_run(f->client, graph, options, 1, key, NULL), GRANARY_ETIMEDOUT);
    granary_graph_destroy(graph);
}

/* A sum of three rows that waits for an executor, while they are deleted, a fourth comes, and the table changes. */
static void
change_before_it_begins(struct fixture *f, change *act,
                        void (*submit)(struct fixture *f, const granary_graph_options *options))
{
    const granary_graph_options options = {.key = "sums"};
    const size_t before = object_count(f);
    granary_mutable *table = create(f, "t");
    const granary_rows all = {.from = 0, .to = INT64_MAX};
    int64_t count, time;

    (void)append(table, 0, 3);
    signal_executors(f, SIGSTOP);
    submit(f, &options);
    assert_int_equal(granary_mutable_delete_rows(table, &all, NULL, &count, &time), GRANARY_OK);
    (void)append(table, 3, 1);
    act(f, table, time);
    signal_executors(f, SIGCONT);
    assert_int_equal(granary_graph_wait(f->client, options.key, 60000, NULL), GRANARY_OK);
    assert_int_equal(result_of(f, options.key, "now", "rows"), 3);
    assert_int_equal(granary_graph_delete(f->client, options.key), GRANARY_OK);
    granary_mutable_close(table);
    (void)granary_mutable_delete(f->client, "t");
    await_objects(f, before);
}

static void
a_graph_that_waits_keeps_what_it_reads(void **state)
{
    struct fixture *f = *state;

    change_before_it_begins(f, table_delete, submit_here);
    change_before_it_begins(f, table_seal, submit_here);
    change_before_it_begins(f, table_retain, submit_here);
    change_before_it_begins(f, table_delete, submit_and_exit);
    change_before_it_begins(f, table_retain, submit_and_exit);
    change_before_it_begins(f, table_delete, submit_and_lose_patience);
}

/* The snapshot has gone with its maker: an executor makes another one. */
static void
a_graph_outlives_who_waits_for_it(void **state)
{
    change_before_it_begins(*state, table_stays, submit_and_be_killed);
}

/* Who submitted it is dead, and the table is another one's by now. */
static void
a_table_that_was_sealed_since_is_told(void **state)
{
    struct fixture *f = *state;
    const granary_graph_options options = {.key = "sums"};
    granary_mutable *table = create(f, "t");

    (void)append(table, 0, 3);
    signal_executors(f, SIGSTOP);
    submit_and_be_killed(f, &options);
    (void)append(table, 3, 1);
    assert_int_equal(granary_mutable_seal(table, GRANARY_NOW, NULL), GRANARY_OK);
    signal_executors(f, SIGCONT);
    assert_int_equal(granary_graph_wait(f->client, options.key, 60000, NULL), GRANARY_ESTATE);
    assert_non_null(strstr(granary_error_message(), "sealed after the graph was submitted"));
    granary_mutable_close(table);
}

/* Nobody gets to run it. */
static void
a_cancelled_graph_gives_its_snapshot_back(void **state)
{
    struct fixture *f = *state;
    const granary_graph_options options = {.key = "sums"};
    granary_mutable *table = create(f, "t");
    size_t before;

    (void)append(table, 0, 3);
    before = object_count(f);
    signal_executors(f, SIGSTOP);
    submit_here(f, &options);
    assert_true(object_count(f) > before);
    assert_int_equal(granary_graph_stop(f->client, options.key), GRANARY_OK);
    signal_executors(f, SIGCONT);
    assert_int_equal(granary_graph_wait(f->client, options.key, 60000, NULL), GRANARY_ECANCELLED);
    await_objects(f, before);
    granary_mutable_close(table);
}

static void
what_cannot_be_read_is_told(void **state)
{
    struct fixture *f = *state;
    granary_mutable *table = create(f, "t");
    granary_graph *graph = granary_graph_create();
    const granary_mutable_tensor shape = {.dtype = GRANARY_INT64, .dims = 1, .shape = {3}};
    granary_mutable *tensor;
    char key[GRANARY_KEY_MAX];
    int64_t time = append(table, 0, 3);

    add_sum(graph, "t", time + 1000000000000000, "later");
    assert_int_equal(run(f, graph, key, NULL), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "later than the clock"));
    assert_non_null(strstr(granary_error_message(), "later-rows"));

    graph = granary_graph_create();
    add_sum(graph, "nobody", GRANARY_NOW, "x");
    assert_int_equal(run(f, graph, key, NULL), GRANARY_ENOENT);
    assert_non_null(strstr(granary_error_message(), "nobody"));

    assert_int_equal(granary_mutable_create_tensor(f->client, "cube", &shape, NULL, &tensor), GRANARY_OK);
    graph = granary_graph_create();
    add_sum(graph, "cube", GRANARY_NOW, "x");
    assert_int_equal(run(f, graph, key, NULL), GRANARY_ETYPE);
    assert_non_null(strstr(granary_error_message(), "tensor"));

    assert_int_equal(granary_mutable_retain(table, &(granary_retain){.time = time}, NULL), GRANARY_OK);
    graph = granary_graph_create();
    add_sum(graph, "t", time - 1, "x");
    assert_int_equal(run(f, graph, key, NULL), GRANARY_ESTATE);
    assert_non_null(strstr(granary_error_message(), "given up"));
    granary_mutable_close(tensor);
    granary_mutable_close(table);
}

/* ---- append ---- */

/* Numbers [0, count) appended to a table. token: 0: none is given */
static granary_graph *
append_graph(const char *table, int64_t count, int64_t token)
{
    static const char *const columns[] = {"n"};
    granary_graph *graph = granary_graph_create();
    granary_node numbers = granary_graph_add(graph, "numbers", "arange", NULL, 0);
    granary_node rows = granary_graph_add(graph, "rows", "from_tensor", &numbers, 1);
    granary_node node = granary_graph_add(graph, "appended", "append_to", &rows, 1);
    const int64_t chunk = 1000;

    granary_node_set_int(graph, numbers, "stop", count);
    granary_node_set_ints(graph, numbers, "chunk", &chunk, 1);
    granary_node_set_strings(graph, rows, "columns", columns, 1);
    granary_node_set_string(graph, node, "name", table);
    if (token != 0) {
        granary_node_set_int(graph, node, "token", token);
    }
    granary_graph_target(graph, node);
    return graph;
}

static void
a_graph_appends_its_rows_as_one_write(void **state)
{
    struct fixture *f = *state;
    granary_mutable *table = create(f, "t");
    granary_graph *graph;
    char key[GRANARY_KEY_MAX];
    int64_t time;

    assert_int_equal(run(f, append_graph("t", 5000, 0), key, NULL), GRANARY_OK);
    assert_int_equal(result_of(f, key, "appended", "rows"), 5000);
    time = result_of(f, key, "appended", "time");
    graph = granary_graph_create();
    add_sum(graph, "t", time, "at");
    add_sum(graph, "t", time - 1, "before");
    assert_int_equal(run(f, graph, key, NULL), GRANARY_OK);
    assert_int_equal(result_of(f, key, "at", "sum"), 5000 * 4999 / 2);
    assert_int_equal(result_of(f, key, "before", "rows"), 0);
    granary_mutable_close(table);
}

static void
writes_of_one_token_are_one_write(void **state)
{
    struct fixture *f = *state;
    granary_mutable *table = create(f, "t");
    const granary_write_options options = {.token = 77};
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .values = &(int64_t){1}};
    const granary_rows rows = {.from = 0, .to = 1};
    char key[GRANARY_KEY_MAX];
    int64_t time, again, count = -1;

    assert_int_equal(run(f, append_graph("t", 10, 77), key, NULL), GRANARY_OK);
    time = result_of(f, key, "appended", "time");
    assert_int_equal(run(f, append_graph("t", 10, 77), key, NULL), GRANARY_OK);
    assert_int_equal(result_of(f, key, "appended", "time"), time);
    assert_int_equal(granary_mutable_append(table, &column, 1, 1, &options, &again), GRANARY_OK);
    assert_int_equal(again, time);
    assert_int_equal(granary_mutable_delete_rows(table, &rows, &options, &count, &again), GRANARY_OK);
    assert_int_equal(again, time);
    assert_int_equal(granary_mutable_retain(table, &(granary_retain){.time = GRANARY_NOW}, NULL), GRANARY_OK);
    assert_int_equal(granary_mutable_append(table, &column, 1, 1, &options, &again), GRANARY_OK);
    assert_int_equal(again, time);
    assert_int_equal(rows_of(table), 10);
    assert_int_equal(run(f, append_graph("t", 10, 78), key, NULL), GRANARY_OK);
    assert_int_equal(rows_of(table), 20);
    granary_mutable_close(table);
}

/* Nobody but the scheduler reads a program's text. */
static void
text_of_a_program_appends_once_each_time(void **state)
{
    struct fixture *f = *state;
    static const char text[] =
        "{\"nodes\": {\"n\": {\"op\": \"arange\", \"stop\": 5},"
        " \"rows\": {\"op\": \"from_tensor\", \"input\": \"n\", \"columns\": [\"n\"]},"
        " \"a\": {\"op\": \"append_to\", \"input\": \"rows\", \"name\": \"t\"}}, \"targets\": [\"a\"]}";
    granary_mutable *table = create(f, "t");
    char key[GRANARY_KEY_MAX];

    for (int64_t times = 1; times <= 2; times++) {
        assert_int_equal(granary_graph_submit_json(f->client, text, sizeof text - 1, NULL, key), GRANARY_OK);
        assert_int_equal(granary_graph_wait(f->client, key, 60000, NULL), GRANARY_OK);
        assert_int_equal(rows_of(table), 5 * times);
    }
    granary_mutable_close(table);
}

/* The client asks again, as if it had heard no answer. */
static void
a_submission_sent_twice_is_one(void **state)
{
    struct fixture *f = *state;
    granary_mutable *table = create(f, "t");
    const granary_graph_options options = {.key = "twice"};
    granary_graph *graph = append_graph("t", 10, 0);
    char key[GRANARY_KEY_MAX];

    add_sum(graph, "t", GRANARY_NOW, "now");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(granary_graph_submit(f->client, graph, &options, key), GRANARY_OK);
        assert_int_equal(granary_graph_wait(f->client, key, 60000, NULL), GRANARY_OK);
        (void)append(table, 0, 1);
    }
    granary_graph_destroy(graph);
    assert_int_equal(rows_of(table), 12);
    assert_int_equal(result_of(f, key, "now", "rows"), 0);
    granary_mutable_close(table);
}

static void
what_cannot_be_appended_is_told(void **state)
{
    struct fixture *f = *state;
    const granary_column other = {.name = "n", .dtype = GRANARY_STRING};
    granary_mutable *table;
    char key[GRANARY_KEY_MAX];

    assert_int_equal(run(f, append_graph("nobody", 10, 0), key, NULL), GRANARY_ENOENT);
    assert_int_equal(granary_mutable_create_frame(f->client, "t", &other, 1, NULL, &table), GRANARY_OK);
    assert_int_equal(run(f, append_graph("t", 10, 0), key, NULL), GRANARY_ETYPE);
    assert_non_null(strstr(granary_error_message(), "'n' of string, not 'n' of int64"));
    assert_int_equal(rows_of(table), 0);
    assert_int_equal(granary_mutable_seal(table, GRANARY_NOW, NULL), GRANARY_OK);
    granary_mutable_close(table);
    assert_int_equal(run(f, append_graph("t", 10, 0), key, NULL), GRANARY_ESEALED);
}

/* Its executor dies when the rows are there, and before anybody knows. */
static void
rows_are_appended_once_when_an_executor_dies(void **state)
{
    struct fixture f;
    granary_mutable *table;
    granary_graph_status status;
    char key[GRANARY_KEY_MAX];
    char note[] = "/tmp/granary-note-XXXXXX";
    const int fd = mkstemp(note);

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(unlink(note), 0);
    assert_int_equal(setenv("GRANARY_FAULT", "executor/subtask_end:kill@1", 1), 0);
    assert_int_equal(setenv("GRANARY_FAULT_NOTE", note, 1), 0);
    (void)start(&f, "--executors 1 --memory 64M");
    assert_int_equal(unsetenv("GRANARY_FAULT"), 0);
    assert_int_equal(unsetenv("GRANARY_FAULT_NOTE"), 0);
    table = create(&f, "t");
    assert_int_equal(run(&f, append_graph("t", 100, 0), key, &status), GRANARY_OK);
    assert_true(status.retries > 0);
    assert_int_equal(access(note, F_OK), 0);
    assert_int_equal(rows_of(table), 100);
    granary_mutable_close(table);
    instance_stop(f.directory, f.client);
    assert_int_equal(unlink(note), 0);
    (void)snprintf(key, sizeof key, "%s.hits", note);
    (void)unlink(key);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_graph_reads_what_there_is_at_its_submission, setup, teardown),
        cmocka_unit_test_setup_teardown(an_empty_table_is_read_and_stays_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(tables_of_a_graph_are_read_at_one_moment, setup, teardown),
        cmocka_unit_test_setup_teardown(a_result_outlives_its_table, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sealed_table_is_read_by_its_name, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_graph_read_is_freed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_graph_that_waits_keeps_what_it_reads, setup, teardown),
        cmocka_unit_test_setup_teardown(a_graph_outlives_who_waits_for_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_that_was_sealed_since_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_graph_gives_its_snapshot_back, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_read_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_graph_appends_its_rows_as_one_write, setup, teardown),
        cmocka_unit_test_setup_teardown(writes_of_one_token_are_one_write, setup, teardown),
        cmocka_unit_test_setup_teardown(text_of_a_program_appends_once_each_time, setup, teardown),
        cmocka_unit_test_setup_teardown(a_submission_sent_twice_is_one, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_appended_is_told, setup, teardown),
        cmocka_unit_test(rows_are_appended_once_when_an_executor_dies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
