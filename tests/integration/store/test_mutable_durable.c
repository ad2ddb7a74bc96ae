/*
 * Durable tables: what was promised is there after all processes and all memory of an instance are gone. The program calls
 * itself as a process that is killed where GRANARY_FAULT says.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../unit/data/frames.h"
#include "fixture.h"
#include "granary/mutable.h"
#include "granary/session.h"
#include "mutable/durable/flush.h"
#include "mutable/durable/piece.h"
#include "mutable/durable/root.h"
#include "mutable/table.h"
#include "mutable_tools.h"

static const granary_mutable_options on_commit = {.durability = GRANARY_DURABLE_COMMIT};
static const char *const arguments[] = {"--memory", "64M", NULL};
#define FULL_ROWS 1000
static const char *const little_disk[] = {"--memory", "64M", "--disk-quota", "300K", NULL};

/* ---- tables of numbers ---- */

static granary_mutable *
make_durable(granary_client *client, const char *name, const granary_mutable_options *options)
{
    granary_mutable *table = NULL;

    assert_ok(granary_mutable_create_frame(client, name, &number_column, 1, options, &table));
    return table;
}

static granary_err
append_numbers(granary_mutable *table, int64_t first, int64_t rows, int64_t time, int64_t *ret_time)
{
    int64_t *values = calloc((size_t)rows + 1, sizeof *values);
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = rows, .values = values};
    const granary_write_options options = {.time = time};
    granary_err err;

    for (int64_t i = 0; i < rows; i++) {
        values[i] = first + i;
    }
    err = granary_mutable_append(table, &column, 1, rows, &options, ret_time);
    free(values);
    return err;
}

/* The numbers at a time are from, from + 1, ... in any order. */
static void
check_run(granary_mutable *table, int64_t time, int64_t from, int64_t count)
{
    granary_frame *frame = NULL;
    bool *seen = calloc((size_t)count + 1, sizeof *seen);

    assert_ok(granary_mutable_read_frame(table, time, &frame));
    assert_int_equal(granary_frame_rows(frame), count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t n = int_at(frame, "n", i) - from;

        assert_true(n >= 0 && n < count && !seen[n]);
        seen[n] = true;
    }
    granary_frame_close(frame);
    free(seen);
}

static int64_t
count_rows(granary_mutable *table)
{
    int64_t sum;

    return count_numbers(table, GRANARY_NOW, &sum);
}

/* ---- power cuts ---- */

static granary_client *
power_on(void **state, granary_client *client, granary_mutable *table)
{
    granary_mutable_close(table);
    granary_disconnect(client);
    fixture_power_on(state);
    return fixture_connect_briefly(state);
}

static granary_client *
cut_power(void **state, granary_client *client, granary_mutable *table)
{
    fixture_power_off(state);
    return power_on(state, client, table);
}

/* The store ends in order, with all that it has to do. */
static void
stop_orderly(void **state)
{
    struct daemon *daemon = *state;

    assert_int_equal(kill(daemon->pid, SIGTERM), 0);
    assert_int_equal(fixture_wait(daemon->pid), 0);
    daemon->pid = 0;
}

static int
count_files(void **state)
{
    const struct daemon *daemon = *state;
    char command[200];
    FILE *found;
    int count = -1;

    (void)snprintf(command, sizeof command, "find %s -name 'spill.*' | wc -l", daemon->directory);
    found = popen(command, "r");
    assert_non_null(found);
    assert_int_equal(fscanf(found, "%d", &count), 1);
    (void)pclose(found);
    return count;
}

/* Delete a persistent object, and wait until its file is gone. */
static void
delete_from_disk(void **state, granary_client *client, granary_id id)
{
    const int before = count_files(state);

    assert_ok(granary_object_delete(client, id, 0));
    while (count_files(state) == before) {
    }
}

/* ---- what returns after a cut ---- */

static void
what_was_committed_survives(void **state)
{
    static const char *const texts[] = {"one", "", "three"};
    const int32_t offsets[] = {0, 3, 3, 8};
    const int64_t numbers[] = {1, 2, 3};
    const granary_column columns[] = {
        {.name = "n", .dtype = GRANARY_INT64, .rows = 3, .values = numbers},
        {.name = "s", .dtype = GRANARY_STRING, .rows = 3, .values = "onethree", .offsets = offsets},
    };
    const granary_rows second = {.from = 1, .to = 2}, third = {.from = 2, .to = 3};
    const int64_t seven = 7;
    const granary_column over = {.name = "n", .dtype = GRANARY_INT64, .rows = 1, .values = &seven};
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable_info before, after;
    granary_mutable *table = NULL;
    granary_frame *frame = NULL;
    int64_t ids[6];

    assert_ok(granary_mutable_create_frame(client, "t", columns, 2, &on_commit, &table));
    assert_ok(granary_mutable_append(table, columns, 2, 3, &(granary_write_options){.time = 10}, NULL));
    assert_ok(granary_mutable_delete_rows(table, &second, &(granary_write_options){.time = 20}, NULL, NULL));
    assert_ok(granary_mutable_write_rows(table, &third, &over, 1, &(granary_write_options){.time = 30}, NULL));
    assert_ok(granary_mutable_append(table, columns, 2, 3, &(granary_write_options){.time = 40}, NULL));
    assert_ok(granary_mutable_describe(client, "t", &before));
    for (int round = 0; round < 3; round++) {
        client = cut_power(state, client, table);
        assert_ok(granary_mutable_describe(client, "t", &after));
        assert_memory_equal(&before.id, &after.id, sizeof before.id);
        assert_true(after.rows == 5 && after.newest == 40 && after.final == 40);
        assert_int_equal(after.durability, GRANARY_DURABLE_COMMIT);
        table = open_table(client, "t");
        assert_ok(granary_mutable_read_frame(table, 10, &frame));
        assert_int_equal(granary_frame_rows(frame), 3);
        assert_int_equal(int_at(frame, "n", 2), 3);
        assert_string_equal(text_at(frame, "s", 2), texts[2]);
        granary_frame_close(frame);
        assert_ok(granary_mutable_read_frame(table, 29, &frame));
        assert_int_equal(granary_frame_rows(frame), 2);
        assert_int_equal(int_at(frame, "n", 1), 3);
        granary_frame_close(frame);
        assert_ok(granary_mutable_read_frame(table, GRANARY_NOW, &frame));
        assert_int_equal(int_at(frame, "n", 1), 7);
        granary_frame_close(frame);
        assert_ok(granary_mutable_numbers(table, GRANARY_NOW, 0, 2, ids));
        assert_true(ids[0] == 0 && ids[1] == 2);
        assert_err(granary_mutable_append(table, columns, 2, 3, &(granary_write_options){.time = 40}, NULL),
                   GRANARY_ESTATE);
    }
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* A write that is repeated after a power cut is the one that was done before; of a session of its own. */
static void
tokens_and_sessions_survive(void **state)
{
    const struct daemon *daemon = *state;
    const granary_connect_options options = {.instance = daemon->directory, .session = "own", .reconnect_ms = -1};
    const int64_t one = 1;
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = 1, .values = &one};
    const granary_write_options write = {.token = 77};
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table;
    int64_t first = 0, again = 0;

    assert_ok(granary_session_create(client, "own", NULL));
    granary_disconnect(client);
    assert_ok(granary_connect(&options, &client));
    table = make_durable(client, "t", &on_commit);
    assert_ok(granary_mutable_append(table, &column, 1, 1, &write, &first));
    fixture_power_off(state);
    granary_mutable_close(table);
    granary_disconnect(client);
    fixture_power_on(state);
    assert_ok(granary_connect(&options, &client));
    table = open_table(client, "t");
    assert_ok(granary_mutable_append(table, &column, 1, 1, &write, &again));
    assert_true(again == first);
    check_run(table, GRANARY_NOW, 1, 1);
    granary_mutable_close(table);
    granary_disconnect(client);
    client = fixture_connect_briefly(state); /* the other session has no such table */
    assert_err(granary_mutable_open(client, "t", &table), GRANARY_ENOENT);
    granary_disconnect(client);
}

/* How many pieces a table has. */
static int
count_pieces(granary_client *client, granary_id table)
{
    int count = 0;

    for (uint32_t level = 0; level < GR_PIECE_LEVELS; level++) {
        for (uint64_t i = 0; i < 2000; i++) {
            count += granary_object_contains(client, piece_id(table, level, i));
        }
    }
    return count;
}

static void
pieces_become_few(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    int64_t n = 0;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100 + round; i++, n++) {
            assert_ok(append_number(table, n, 100 + n, NULL));
        }
        assert_true(count_pieces(client, table->id) <= 15 * 3);
        client = cut_power(state, client, table);
        table = open_table(client, "t");
        check_run(table, GRANARY_NOW, 0, n);
        check_run(table, 100 + n / 2, 0, n / 2 + 1);
    }
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* More than a piece takes, and than memory has at once; half of it in rows of chunks that are full. */
static void
large_writes_take_several_pieces(void **state)
{
    const int64_t rows = 6000000; /* 48 MB */
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    granary_id id;

    assert_ok(append_numbers(table, 0, rows, 10, NULL));
    assert_ok(append_number(table, rows, 20, NULL));
    assert_true(count_pieces(client, table->id) > 2);
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, rows + 1);
    assert_ok(append_number(table, rows + 1, 30, NULL));
    /* The second of its pieces is not there: then nothing of the write is. */
    id = piece_id(table->id, 0, 1);
    delete_from_disk(state, client, id);
    client = cut_power(state, client, table);
    table = NULL;
    assert_err(granary_mutable_open(client, "t", &table), GRANARY_ECORRUPT);
    assert_ok(granary_mutable_recover(client, "t"));
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 0);
    granary_mutable_close(table);
    granary_disconnect(client);
}

static void
tensors_survive(void **state)
{
    const granary_mutable_tensor shape = {
        .dtype = GRANARY_FLOAT64, .dims = 2, .shape = {300, 400}, .chunk = {100, 400}, .fill = "nan"};
    const granary_index row = {.slice = {.start = 1, .step = 0}}, all = {.kind = GRANARY_INDEX_ELLIPSIS};
    granary_index chunk = {.slice = {.start = 100, .stop = 200, .step = 1}};
    const granary_tensor one = {.dtype = GRANARY_FLOAT64, .values = &(double){1}};
    double values[40000];
    const granary_tensor whole = {.dtype = GRANARY_FLOAT64, .dims = 2, .shape = {100, 400}, .values = values};
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *tensor = NULL;
    granary_mutable_part part;

    for (int i = 0; i < 40000; i++) {
        values[i] = i;
    }
    assert_ok(granary_mutable_create_tensor(client, "x", &shape, &on_commit, &tensor));
    assert_ok(granary_mutable_write(tensor, &row, 1, &one, NULL, NULL));
    assert_ok(granary_mutable_write(tensor, &chunk, 1, &whole, NULL, NULL)); /* an object of its own */
    for (int round = 0; round < 2; round++) {
        client = cut_power(state, client, tensor);
        tensor = open_table(client, "x");
        assert_ok(granary_mutable_view(tensor, GRANARY_NOW, &all, 1, &part));
        for (int i = 0; i < 120000; i++) {
            const double got = ((const double *)part.tensor.values)[i];

            if (i >= 400 && i < 800) {
                assert_true(got == 1);
            } else if (i >= 40000 && i < 80000) {
                assert_true(got == i - 40000);
            } else {
                assert_true(got != got);
            }
        }
        granary_mutable_release(client, &part);
        chunk.slice.start = 200;
        chunk.slice.stop = 300;
        if (round == 0) { /* its object gets an id that was not there before */
            assert_ok(granary_mutable_write(
                tensor, &chunk, 1,
                &(granary_tensor){.dtype = GRANARY_FLOAT64, .dims = 2, .shape = {100, 400}, .values = values},
                &(granary_write_options){.time = INT64_MAX - 1}, NULL));
            assert_ok(granary_mutable_view(tensor, INT64_MAX - 2, &all, 1, &part));
            granary_mutable_release(client, &part);
            break;
        }
    }
    client = cut_power(state, client, tensor);
    tensor = open_table(client, "x");
    assert_ok(granary_mutable_view(tensor, GRANARY_NOW, &all, 1, &part));
    assert_true(((const double *)part.tensor.values)[80001] == 1);
    assert_true(((const double *)part.tensor.values)[40001] == 1);
    granary_mutable_release(client, &part);
    granary_mutable_close(tensor);
    granary_disconnect(client);
}

/* What an interval promises: in the end what was written is on disk, though nobody asks for it. */
static void
intervals_end(void **state)
{
    const granary_mutable_options options = {.durability = GRANARY_DURABLE_INTERVAL, .interval_ns = 2000000};
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &options);
    int64_t n = 0;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 50; i++) {
            assert_ok(append_number(table, n++, 0, NULL));
        }
        while (flush_is_behind(table)) {
            (void)usleep(100);
        }
        client = cut_power(state, client, table);
        table = open_table(client, "t");
        check_run(table, GRANARY_NOW, 0, n);
    }
    assert_ok(append_number(table, n++, 0, NULL));
    assert_ok(granary_mutable_flush(table));
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, n);
    assert_ok(append_number(table, n++, 0, NULL));
    granary_mutable_close(table); /* which flushes */
    client = cut_power(state, client, NULL);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, n);
    granary_mutable_close(table);
    granary_disconnect(client);
}

static void
an_orderly_stop_keeps_them(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    granary_mutable *other = make_durable(client, "other", &on_commit);
    granary_mutable *passing = make_durable(client, "passing", NULL);
    granary_mutable_info *infos = NULL;
    size_t count = 0;

    assert_ok(append_number(table, 0, 0, NULL));
    assert_ok(append_number(passing, 0, 0, NULL));
    granary_mutable_close(table);
    granary_mutable_close(passing);
    granary_mutable_close(other);
    granary_disconnect(client);
    stop_orderly(state);
    client = power_on(state, NULL, NULL);
    assert_ok(granary_mutable_list(client, &infos, &count));
    assert_int_equal(count, 2);
    assert_string_equal(infos[0].name, "other");
    assert_string_equal(infos[1].name, "t");
    assert_int_equal(infos[1].rows, 1);
    free(infos);
    assert_err(granary_mutable_create_frame(client, "t", &number_column, 1, NULL, &table), GRANARY_EEXIST);
    granary_disconnect(client);
    /* A name that nobody has used is taken, too. */
    client = cut_power(state, NULL, NULL);
    assert_err(granary_mutable_create_frame(client, "t", &number_column, 1, NULL, &table), GRANARY_EEXIST);
    assert_ok(granary_mutable_create_frame(client, "t", &number_column, 1,
                                           &(granary_mutable_options){.flags = GRANARY_MUTABLE_OPEN}, &table));
    check_run(table, GRANARY_NOW, 0, 1);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* ---- ends ---- */

static void
a_sealed_one_is_sealed_and_a_deleted_one_gone(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "sealed", &on_commit);
    granary_mutable *deleted = make_durable(client, "deleted", &on_commit);
    granary_mutable_info info;
    granary_id id, again;

    for (int i = 0; i < 20; i++) {
        assert_ok(append_number(table, i, 10 + i, NULL));
        assert_ok(append_number(deleted, i, 10 + i, NULL));
    }
    assert_ok(granary_mutable_seal(table, 15, &id));
    granary_mutable_close(deleted);
    assert_ok(granary_mutable_delete(client, "deleted"));
    for (int round = 0; round < 2; round++) {
        client = cut_power(state, client, table);
        table = NULL;
        assert_err(granary_mutable_open(client, "deleted", &table), GRANARY_ENOENT);
        assert_err(granary_mutable_open(client, "sealed", &table), GRANARY_ESEALED);
        assert_ok(granary_name_get(client, "sealed", &again));
        assert_memory_equal(&id, &again, sizeof id);
        assert_ok(granary_sealed_open(client, id, &table));
        check_run(table, GRANARY_NOW, 0, 6);
    }
    granary_mutable_close(table);
    table = NULL;
    assert_ok(granary_mutable_delete(client, "sealed"));
    deleted = make_durable(client, "deleted", &on_commit);
    assert_ok(append_number(deleted, 0, 10, NULL));
    for (int round = 0; round < 2; round++) {
        client = cut_power(state, client, deleted);
        assert_err(granary_mutable_describe(client, "sealed", &info), GRANARY_ENOENT);
        deleted = open_table(client, "deleted");
        check_run(deleted, GRANARY_NOW, 0, 1);
    }
    granary_mutable_close(deleted);
    assert_ok(granary_mutable_delete(client, "deleted"));
    for (int round = 0; round < 3; round++) { /* what tells that tables have ended goes with the next memory */
        granary_mutable_info *infos = NULL;
        size_t count = 0;

        granary_disconnect(client);
        stop_orderly(state);
        client = power_on(state, NULL, NULL);
        assert_ok(granary_mutable_list(client, &infos, &count));
        assert_int_equal(count, 0);
        free(infos);
    }
    assert_int_equal(fixture_stat(client).objects, 0);
    granary_disconnect(client);
}

static void
history_that_was_given_up_stays_so(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    const granary_rows first = {.from = 0, .to = 1};
    granary_frame *frame = NULL;
    int64_t time;

    for (int i = 0; i < 40; i++) {
        assert_ok(append_number(table, i, 10 + i, NULL));
    }
    assert_ok(granary_mutable_delete_rows(table, &first, &(granary_write_options){.time = 60}, NULL, NULL));
    assert_ok(granary_mutable_retain(table, &(granary_retain){.time = 61}, &time));
    for (int round = 0; round < 3; round++) {
        client = cut_power(state, client, table);
        table = open_table(client, "t");
        assert_err(granary_mutable_read_frame(table, 50, &frame), GRANARY_ESTATE);
        check_run(table, GRANARY_NOW, 1, 39 + round);
        assert_ok(append_number(table, 40 + round, 70 + round, NULL));
        check_run(table, GRANARY_NOW, 1, 40 + round);
    }
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* ---- processes that are killed ---- */

/* This program as another process, to be killed at a fault point (NULL: not); what it says comes to *ret_said. */
static pid_t
start_self(void **state, const char *what, const char *point, int *ret_said)
{
    const struct daemon *daemon = *state;
    char fault[80];
    int pipes[2];
    pid_t pid;

    assert_int_equal(pipe(pipes), 0);
    pid = fork();
    if (pid == 0) {
        (void)dup2(pipes[1], STDOUT_FILENO);
        (void)close(pipes[0]);
        (void)close(pipes[1]);
        (void)snprintf(fault, sizeof fault, "%s:kill@1", point == NULL ? "" : point);
        if (point != NULL) {
            (void)setenv("GRANARY_FAULT", fault, 1);
        }
        (void)execl("/proc/self/exe", "test_mutable_durable", what, daemon->directory, NULL);
        _exit(127);
    }
    (void)close(pipes[1]);
    *ret_said = pipes[0];
    return pid;
}

/* Numbers that it said, one byte each, until it ended. */
static int64_t
drain(int said)
{
    char bytes[256];
    int64_t count = 0;
    ssize_t got;

    while ((got = read(said, bytes, sizeof bytes)) > 0) {
        count += got;
    }
    (void)close(said);
    return count;
}

/* The last interval of a writer that was killed comes to disk with whoever comes next. */
static void
a_killed_writers_interval_ends_with_the_next(void **state)
{
    const granary_mutable_options hour = {.durability = GRANARY_DURABLE_INTERVAL,
                                          .interval_ns = (int64_t)3600 * 1000000000};
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &hour);
    int64_t acknowledged;
    pid_t writer;
    int said;

    granary_mutable_close(table);
    writer = start_self(state, "append", "client/flush_begin", &said); /* that is where it closes the table */
    acknowledged = drain(said);
    assert_int_equal(fixture_wait(writer), 128 + SIGKILL);
    assert_int_equal(acknowledged, 40);
    table = open_table(client, "t");
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 40);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* As "append": numbers from 0 on, a byte to stdout when one is on disk; up to 40. As "open": the table is opened, and again
 * and again created and deleted another one. */
static int
be_other(const char *what, const char *directory)
{
    const granary_connect_options options = {.instance = directory};
    granary_client *client = NULL;
    granary_mutable *table = NULL;
    granary_err err = granary_connect(&options, &client);

    err = err == GRANARY_OK ? granary_mutable_open(client, "t", &table) : err;
    for (int i = 0; err == GRANARY_OK && strcmp(what, "append") == 0 && i < 40; i++) {
        err = append_number(table, i, 0, NULL);
        if (err != GRANARY_OK || write(STDOUT_FILENO, ".", 1) != 1) {
            return 1;
        }
    }
    granary_mutable_close(table);
    if (err == GRANARY_OK && strcmp(what, "make") == 0) {
        err = granary_mutable_create_frame(client, "u", &number_column, 1, &on_commit, &table);
        if (err == GRANARY_OK) {
            granary_mutable_close(table);
            err = granary_mutable_delete(client, "u");
        }
    }
    granary_disconnect(client);
    return err == GRANARY_OK ? 0 : 1;
}

static void
writers_are_killed_at_every_step(void **state)
{
    static const char *const points[] = {"client/flush_begin", "client/flush_put", "client/flush_counted",
                                         "client/merge_put"};

    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        for (int cut = 0; cut < 2; cut++) { /* before, and after another one has written */
            granary_client *client = fixture_connect_briefly(state);
            granary_mutable *table = make_durable(client, "t", &on_commit);
            int64_t acknowledged, rows;
            int said;
            pid_t writer = start_self(state, "append", points[i], &said);

            acknowledged = drain(said);
            assert_int_equal(fixture_wait(writer), 128 + SIGKILL);
            if (cut == 1) {
                assert_ok(append_number(table, 1000, 0, NULL));
            }
            client = cut_power(state, client, table);
            table = open_table(client, "t");
            rows = count_rows(table);
            assert_true(rows >= acknowledged + cut && rows <= acknowledged + cut + 1);
            for (int k = 0; k < 40; k++) {
                assert_ok(append_number(table, k, 0, NULL));
            }
            client = cut_power(state, client, table);
            table = open_table(client, "t");
            assert_int_equal(count_rows(table), rows + 40);
            granary_mutable_close(table);
            assert_ok(granary_mutable_delete(client, "t"));
            granary_disconnect(client);
        }
    }
}

static void
who_restores_is_killed_at_every_step(void **state)
{
    static const char *const points[] = {"client/restore_taken", "client/restore_filled", "client/restore_put"};
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);

    for (int i = 0; i < 40; i++) {
        assert_ok(append_number(table, i, 10 + i, NULL));
    }
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        int said;
        pid_t opener;

        client = cut_power(state, client, table);
        opener = start_self(state, "open", points[i], &said);
        (void)drain(said);
        assert_int_equal(fixture_wait(opener), 128 + SIGKILL);
        table = open_table(client, "t");
        check_run(table, GRANARY_NOW, 0, 40);
        check_run(table, 20, 0, 11);
    }
    granary_mutable_close(table);
    granary_disconnect(client);
}

static void
who_makes_or_deletes_is_killed_at_every_step(void **state)
{
    static const char *const points[] = {"client/root_put", "client/durable_ended"};
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit), *other = NULL;

    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        int said;
        pid_t maker = start_self(state, "make", points[i], &said);

        (void)drain(said);
        assert_int_equal(fixture_wait(maker), 128 + SIGKILL);
        if (granary_mutable_open(client, "u", &other) == GRANARY_OK) { /* whole, or not there */
            (void)append_number(other, 1, 0, NULL);
            granary_mutable_close(other);
            assert_ok(granary_mutable_delete(client, "u"));
        }
        client = cut_power(state, client, table);
        table = open_table(client, "t");
        assert_err(granary_mutable_open(client, "u", &other), GRANARY_ENOENT);
    }
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* The store dies where a spill file is written: the write returns when the next one has it. */
static void
the_store_is_killed_at_every_step(void **state)
{
    static const char *const points[] = {"store/spill_file_created", "store/spill_file_written",
                                         "store/spill_file_renamed", "store/spill_file_unlinked"};

    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        struct daemon *daemon = *state;
        char fault[80];
        int said;
        pid_t writer;
        granary_client *client;
        granary_mutable *table;

        (void)snprintf(fault, sizeof fault, "%s:kill@9", points[i]);
        stop_orderly(state);
        assert_int_equal(setenv("GRANARY_FAULT", fault, 1), 0);
        assert_true(daemon_restart(daemon, arguments));
        assert_int_equal(unsetenv("GRANARY_FAULT"), 0);
        client = fixture_connect_briefly(state);
        table = make_durable(client, "t", &on_commit);
        granary_mutable_close(table);
        granary_disconnect(client);
        writer = start_self(state, "append", NULL, &said);
        assert_int_equal(fixture_wait(daemon->pid), 128 + SIGKILL);
        daemon->pid = 0;
        assert_true(daemon_restart(daemon, arguments));
        assert_int_equal(drain(said), 40);
        assert_int_equal(fixture_wait(writer), 0);
        client = cut_power(state, NULL, NULL);
        table = open_table(client, "t");
        check_run(table, GRANARY_NOW, 0, 40);
        granary_mutable_close(table);
        assert_ok(granary_mutable_delete(client, "t"));
        granary_disconnect(client);
    }
}

/* ---- disks ---- */

static void
a_full_disk_promises_nothing(void **state)
{
    struct daemon *daemon = *state;
    granary_client *client;
    granary_mutable *table;
    int64_t rows = 0;
    granary_err err;

    fixture_power_off(state);
    assert_true(daemon_restart(daemon, little_disk));
    client = fixture_connect_briefly(state);
    table = make_durable(client, "t", &on_commit);
    while ((err = append_numbers(table, rows, FULL_ROWS, 10 + rows, NULL)) == GRANARY_OK) {
        rows += FULL_ROWS;
        assert_true(rows < 1000000);
    }
    assert_int_equal(err, GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), "visible to readers, but not on disk"));
    assert_int_equal(count_rows(table), rows + FULL_ROWS);
    assert_err(append_number(table, 1000000, 1000000, NULL), GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), "nothing was written"));
    assert_int_equal(count_rows(table), rows + FULL_ROWS);
    assert_err(granary_mutable_flush(table), GRANARY_EFULL);
    client = cut_power(state, client, table); /* with a disk that has room */
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, rows);
    assert_ok(append_number(table, rows, 2000000, NULL));
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, rows + 1);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* Flip a byte in the middle of the file of an object that lies on disk only. */
static void
damage(void **state, granary_client *client, granary_id id)
{
    const struct daemon *daemon = *state;
    granary_object_info info;
    char command[300];

    assert_ok(granary_object_info_get(client, id, &info));
    assert_int_equal(info.state, GRANARY_OBJECT_SPILLED);
    (void)snprintf(command, sizeof command,
                   "f=$(find %s -name 'spill.%u') && printf '\\377\\376' | dd of=\"$f\" bs=1 seek=200 conv=notrunc "
                   "2>/dev/null",
                   daemon->directory, info.segment);
    assert_int_equal(system(command), 0);
}

static void
a_damaged_piece_is_named(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    char text[GRANARY_ID_TEXT + 1];
    granary_id id;

    for (int i = 0; i < 10; i++) {
        assert_ok(append_number(table, i, 10 + i, NULL));
    }
    id = piece_id(table->id, 0, 6);
    granary_id_format(id, text);
    client = cut_power(state, client, table);
    damage(state, client, id);
    assert_err(granary_mutable_open(client, "t", &table), GRANARY_ECORRUPT);
    assert_non_null(strstr(granary_error_message(), text));
    assert_ok(granary_mutable_recover(client, "t"));
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 6);
    assert_err(granary_mutable_recover(client, "t"), GRANARY_ESTATE);
    assert_ok(append_number(table, 6, 50, NULL));
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 7);
    /* One that is missing is told of, too, while there are later ones. */
    delete_from_disk(state, client, piece_id(table->id, 0, 2));
    client = cut_power(state, client, table);
    assert_err(granary_mutable_open(client, "t", &table), GRANARY_ECORRUPT);
    assert_non_null(strstr(granary_error_message(), "missing"));
    assert_ok(granary_mutable_recover(client, "t"));
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 2);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* ---- several at once ---- */

struct committer {
    void **state;
    int64_t first, count;
    pthread_t thread;
};

static void *
commit_some(void *context)
{
    const struct committer *committer = context;
    granary_client *client = fixture_connect_briefly(committer->state);
    granary_mutable *table = open_table(client, "t");

    for (int64_t i = 0; i < committer->count; i++) {
        assert_ok(append_number(table, committer->first + i, 0, NULL));
    }
    granary_mutable_close(table);
    granary_disconnect(client);
    return NULL;
}

static void
several_commit_together(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    struct committer committers[4];

    for (int64_t i = 0; i < 4; i++) {
        committers[i] = (struct committer){.state = state, .first = i * 50, .count = 50};
        assert_int_equal(pthread_create(&committers[i].thread, NULL, commit_some, &committers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(committers[i].thread, NULL), 0);
    }
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 200);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* Three have committed while somebody else was flushing: one of them flushes for all. */
static void
one_flush_serves_all_who_wait(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = make_durable(client, "t", &on_commit);
    struct gr_mutable *page = table->page.page;
    struct committer committers[3];
    uint32_t behind;

    assert_ok(page_enter(&table->page, GR_MUTABLE_LOCK_DISK));
    for (int64_t i = 0; i < 3; i++) {
        committers[i] = (struct committer){.state = state, .first = i, .count = 1};
        assert_int_equal(pthread_create(&committers[i].thread, NULL, commit_some, &committers[i]), 0);
    }
    do {
        behind = 0;
        for (uint32_t i = 0; i < 3; i++) {
            behind += GR_LANE_COUNT(atomic_load(&page->lane[i].word)) > 0;
        }
        (void)sched_yield();
    } while (behind < 3);
    assert_int_equal(atomic_load(&page->pieces), 0);
    page_leave(&table->page, GR_MUTABLE_LOCK_DISK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(committers[i].thread, NULL), 0);
    }
    assert_int_equal(atomic_load(&page->pieces), 1);
    client = cut_power(state, client, table);
    table = open_table(client, "t");
    check_run(table, GRANARY_NOW, 0, 3);
    granary_mutable_close(table);
    granary_disconnect(client);
}

static void
mistakes_are_named(void **state)
{
    granary_client *client = fixture_connect_briefly(state);
    granary_mutable *table = NULL;

    assert_err(granary_mutable_create_frame(client, "t", &number_column, 1,
                                            &(granary_mutable_options){.durability = GRANARY_DURABLE_INTERVAL}, &table),
               GRANARY_EINVAL);
    assert_err(granary_mutable_create_frame(
                   client, "t", &number_column, 1,
                   &(granary_mutable_options){.durability = GRANARY_DURABLE_COMMIT, .interval_ns = 1}, &table),
               GRANARY_EINVAL);
    assert_err(granary_mutable_create_frame(client, "t", &number_column, 1,
                                            &(granary_mutable_options){.durability = (granary_durability)7}, &table),
               GRANARY_EINVAL);
    table = make_durable(client, "t", NULL);
    assert_err(granary_mutable_flush(table), GRANARY_EUNSUPPORTED);
    assert_err(granary_mutable_recover(client, "t"), GRANARY_ESTATE);
    assert_err(granary_mutable_recover(client, "u"), GRANARY_ENOENT);
    granary_mutable_close(table);
    granary_disconnect(client);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_committed_survives, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(tokens_and_sessions_survive, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(pieces_become_few, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(large_writes_take_several_pieces, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(tensors_survive, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(intervals_end, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(an_orderly_stop_keeps_them, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_sealed_one_is_sealed_and_a_deleted_one_gone, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(history_that_was_given_up_stays_so, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(writers_are_killed_at_every_step, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_killed_writers_interval_ends_with_the_next, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(who_restores_is_killed_at_every_step, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(who_makes_or_deletes_is_killed_at_every_step, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(the_store_is_killed_at_every_step, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_full_disk_promises_nothing, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_damaged_piece_is_named, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(several_commit_together, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(one_flush_serves_all_who_wait, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(mistakes_are_named, fixture_start, fixture_stop),
    };

    return argc == 3 ? be_other(argv[1], argv[2]) : cmocka_run_group_tests(tests, NULL, NULL);
}
