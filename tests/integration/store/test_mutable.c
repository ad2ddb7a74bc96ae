/* Mutable frames: appended to by several processes, read at any time, kept over deaths of writers and of the store. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../unit/data/frames.h"
#include "data/directory.h"
#include "fixture.h"
#include "granary/mutable.h"
#include "granary/session.h"
#include "mutable/table.h"

/* A table of one column, n, of int64. */
static const granary_column number_column = {.name = "n", .dtype = GRANARY_INT64};

static granary_mutable *
make_numbers(granary_client *client, const char *name)
{
    granary_mutable *table = NULL;

    assert_ok(granary_mutable_create_frame(client, name, &number_column, 1, NULL, &table));
    return table;
}

static granary_mutable *
open_table(granary_client *client, const char *name)
{
    granary_mutable *table = NULL;

    assert_ok(granary_mutable_open(client, name, &table));
    return table;
}

static granary_err
append_number(granary_mutable *table, int64_t value, int64_t time, int64_t *ret_time)
{
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = 1, .values = &value};
    const granary_write_options options = {.time = time};

    return granary_mutable_append(table, &column, 1, 1, &options, ret_time);
}

/* The numbers at a time are these. */
static void
check_numbers(granary_mutable *table, int64_t time, const int64_t *numbers, int64_t count)
{
    granary_frame *frame = NULL;

    assert_ok(granary_mutable_read_frame(table, time, &frame));
    assert_int_equal(granary_frame_rows(frame), count);
    for (int64_t i = 0; i < count; i++) {
        assert_int_equal(int_at(frame, "n", i), numbers[i]);
    }
    granary_frame_close(frame);
}

static int64_t
count_numbers(granary_mutable *table, int64_t time, int64_t *ret_sum)
{
    granary_frame *frame = NULL;
    int64_t rows;

    assert_ok(granary_mutable_read_frame(table, time, &frame));
    rows = granary_frame_rows(frame);
    *ret_sum = 0;
    for (int64_t i = 0; i < rows; i++) {
        *ret_sum += int_at(frame, "n", i);
    }
    granary_frame_close(frame);
    return rows;
}

/* ---- tests ---- */

static void
rows_of_every_dtype_come_back(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_frame *everything = frame_of_everything();
    granary_column *columns = calloc(everything->count, sizeof *columns);
    const granary_frame *twice[2] = {everything, everything};
    granary_frame *want = NULL, *got = NULL;
    granary_mutable *table = NULL;

    for (size_t i = 0; i < everything->count; i++) {
        columns[i] = everything->columns[i].view;
    }
    assert_ok(granary_mutable_create_frame(client, "everything", columns, everything->count, NULL, &table));
    assert_ok(granary_mutable_read_frame(table, GRANARY_NOW, &got));
    assert_int_equal(granary_frame_rows(got), 0);
    granary_frame_close(got);
    for (int i = 0; i < 2; i++) {
        assert_ok(granary_mutable_append(table, columns, everything->count, everything->rows, NULL, NULL));
    }
    assert_ok(granary_mutable_append(table, columns, everything->count, 0, NULL, NULL));
    assert_ok(gr_frame_concat(twice, 2, &want));
    assert_ok(granary_mutable_read_frame(table, GRANARY_NOW, &got));
    assert_frames_equal(want, got);
    granary_frame_close(got);
    gr_frame_destroy(want);
    gr_frame_destroy(everything);
    free(columns);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "everything"));
    granary_disconnect(client);
}

static void
a_read_sees_its_time_for_ever(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "t");
    granary_mutable *other = open_table(client, "t");
    const int64_t until_10[] = {1, 3}, all[] = {1, 2, 3};
    int64_t time = 0;

    assert_ok(append_number(table, 1, 10, NULL));
    assert_ok(append_number(table, 2, 20, NULL));
    assert_ok(append_number(table, 3, 5, NULL)); /* nobody has read there */
    check_numbers(other, 10, until_10, 2);
    assert_err(append_number(table, 4, 7, NULL), GRANARY_ESTATE);
    assert_non_null(strstr(granary_error_message(), "time 7 is final, because a read was answered for 10"));
    assert_err(append_number(other, 4, 10, NULL), GRANARY_ESTATE);
    check_numbers(table, 10, until_10, 2);
    check_numbers(table, 20, all, 3);
    check_numbers(table, GRANARY_NOW, all, 3);
    /* Moved forward on request, and taken from the clock. */
    {
        const int64_t value = 4;
        const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .values = &value};
        const granary_write_options options = {.time = 15, .forward = true};

        assert_ok(granary_mutable_append(table, &column, 1, 1, &options, &time));
        assert_true(time > 1000000000000000000);
    }
    assert_err(granary_mutable_read_frame(table, time + 3600 * (int64_t)1000000000, NULL), GRANARY_EINVAL);
    granary_mutable_close(table);
    granary_mutable_close(other);
    granary_disconnect(client);
}

static void
a_cut_is_of_several_tables(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *tables[2] = {make_numbers(client, "a"), make_numbers(client, "b")};
    const int64_t one[] = {1}, two[] = {1, 2};
    int64_t time = GRANARY_NOW;

    assert_ok(append_number(tables[0], 1, 100, NULL));
    assert_ok(append_number(tables[1], 1, 50, NULL));
    assert_ok(granary_cut(tables, 2, &time));
    assert_int_equal(time, 100);
    assert_err(append_number(tables[1], 2, 100, NULL), GRANARY_ESTATE);
    assert_ok(append_number(tables[1], 2, 101, NULL));
    check_numbers(tables[0], time, one, 1);
    check_numbers(tables[1], time, one, 1);
    /* One table is ahead of the clock: the other one is read at that time, too. */
    assert_ok(append_number(tables[0], 2, INT64_MAX - 1, NULL));
    time = GRANARY_NOW;
    assert_ok(granary_cut(tables, 2, &time));
    assert_true(time == INT64_MAX - 1);
    check_numbers(tables[0], time, two, 2);
    check_numbers(tables[1], time, two, 2);
    granary_mutable_close(tables[0]);
    granary_mutable_close(tables[1]);
    granary_disconnect(client);
}

/* Runs of rows with values and of nulls begin and end at every bit of a byte. */
static void
runs_of_any_length_keep_their_nulls(void **state)
{
    enum { LONGEST = 20 };
    static const int64_t values[LONGEST] = {0};
    static const uint8_t nulls[(LONGEST + 7) / 8] = {0};
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "nulls");
    granary_frame *frame = NULL;
    int64_t at = 0;

    for (int64_t run = 1; run <= 2 * LONGEST; run++) {
        const granary_column column = {
            .name = "n", .dtype = GRANARY_INT64, .values = values, .validity = run % 2 == 0 ? nulls : NULL};

        assert_ok(granary_mutable_append(table, &column, 1, (run + 1) / 2, NULL, NULL));
    }
    assert_ok(granary_mutable_read_frame(table, GRANARY_NOW, &frame));
    for (int64_t run = 1; run <= 2 * LONGEST; run++) {
        for (int64_t i = 0; i < (run + 1) / 2; i++, at++) {
            assert_int_equal(gr_is_null(granary_frame_column(frame, 0), at), run % 2 == 0);
        }
    }
    assert_int_equal(granary_frame_rows(frame), at);
    granary_frame_close(frame);
    granary_mutable_close(table);
    granary_disconnect(client);
}

static void
many_rows_take_many_chunks(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "many");
    const int64_t rows = 700000;
    int64_t *values = malloc((size_t)rows * sizeof *values);
    granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = rows, .values = values};
    int64_t sum = 0;

    for (int64_t i = 0; i < rows; i++) {
        values[i] = i;
    }
    assert_ok(granary_mutable_append(table, &column, 1, rows, NULL, NULL));
    for (int64_t i = 0; i < 5000; i++) { /* beyond a block of the log, and beyond small chunks */
        assert_ok(append_number(table, 1, 0, NULL));
    }
    assert_int_equal(count_numbers(table, GRANARY_NOW, &sum), rows + 5000);
    assert_true(sum == rows * (rows - 1) / 2 + 5000);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "many"));
    free(values);
    granary_disconnect(client);
}

/* The rows of a sealed table: how many there are, and their sum. */
static int64_t
count_sealed(granary_client *client, granary_id id, int64_t *ret_sum, size_t *ret_parts)
{
    granary_id *ids = NULL;
    int64_t rows = 0;

    *ret_sum = 0;
    assert_ok(granary_sealed_parts(client, id, &ids, ret_parts));
    for (size_t i = 0; i < *ret_parts; i++) {
        granary_frame *frame = NULL;
        granary_view view;

        assert_ok(granary_object_get(client, ids[i], 0, &view));
        assert_ok(granary_frame_open(&view, &frame));
        assert_ok(gr_frame_check(frame));
        for (int64_t row = 0; row < granary_frame_rows(frame); row++) {
            *ret_sum += int_at(frame, "n", row);
        }
        rows += granary_frame_rows(frame);
        granary_frame_close(frame);
        granary_object_release(client, &view);
    }
    free(ids);
    return rows;
}

static void
complete_chunks_are_sealed_as_they_are(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "sealed");
    const int64_t rows = 2000000;
    int64_t *values = malloc((size_t)rows * sizeof *values);
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = rows, .values = values};
    granary_id snapshot, sealed;
    uint64_t before;
    int64_t sum = 0;
    size_t parts;

    for (int64_t i = 0; i < rows; i++) {
        values[i] = i;
    }
    assert_ok(granary_mutable_append(table, &column, 1, rows, NULL, NULL));
    before = fixture_stat(client).sealed_bytes;
    assert_ok(granary_mutable_snapshot(table, GRANARY_NOW, "then", &snapshot));
    assert_true(fixture_stat(client).sealed_bytes - before < (uint64_t)6 << 20); /* the chunk that is not complete */
    assert_err(granary_mutable_snapshot(table, GRANARY_NOW, "then", &snapshot), GRANARY_EEXIST);
    assert_ok(append_number(table, 1, 0, NULL));
    assert_ok(granary_mutable_seal(table, GRANARY_NOW, &sealed));
    granary_mutable_close(table);
    assert_int_equal(count_sealed(client, snapshot, &sum, &parts), rows);
    assert_true(sum == rows * (rows - 1) / 2 && parts > 3);
    assert_int_equal(count_sealed(client, sealed, &sum, &parts), rows + 1);
    assert_true(sum == rows * (rows - 1) / 2 + 1);
    assert_ok(granary_mutable_delete(client, "sealed"));
    assert_int_equal(count_sealed(client, snapshot, &sum, &parts), rows);
    assert_ok(granary_mutable_delete(client, "then"));
    assert_err(granary_mutable_delete(client, "then"), GRANARY_ENOENT);
    free(values);
    granary_disconnect(client);
}

/* What only earlier times needed is freed; later reads are what they were. */
static void
history_is_given_up(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "history"), *reader = open_table(client, "history");
    const int64_t rows = 1500000;
    int64_t *values = calloc((size_t)rows, sizeof *values);
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = rows, .values = values};
    const granary_rows all = {.from = 0, .to = INT64_MAX};
    const granary_retain wrong[] = {{.time = 0}, {.time = 5, .writes = 1}};
    const int64_t left[] = {7, 8};
    int64_t sum = 0, time = 0, deleted = 0;
    granary_frame *frame = NULL;
    uint64_t before;

    assert_ok(granary_mutable_append(table, &column, 1, rows, &(granary_write_options){.time = 10}, NULL));
    assert_ok(granary_mutable_delete_rows(table, &all, &(granary_write_options){.time = 20}, &deleted, NULL));
    assert_int_equal(deleted, rows);
    assert_ok(append_number(table, 7, 30, NULL));
    assert_ok(append_number(table, 8, 40, NULL));
    assert_int_equal(count_numbers(reader, 10, &sum), rows);
    for (size_t i = 0; i < 2; i++) {
        assert_err(granary_mutable_retain(table, &wrong[i], &time), GRANARY_EINVAL);
    }
    before = fixture_stat(client).sealed_bytes;
    assert_ok(granary_mutable_retain(table, &(granary_retain){.writes = 9}, &time));
    assert_true(time == INT64_MIN);
    assert_ok(granary_mutable_retain(table, &(granary_retain){.writes = 2}, &time));
    assert_true(time == 30);
    assert_true(before - fixture_stat(client).sealed_bytes > (uint64_t)7 << 20);
    assert_err(granary_mutable_read_frame(reader, 10, &frame), GRANARY_ESTATE);
    assert_non_null(strstr(granary_error_message(), "history before time 30 was given up"));
    check_numbers(reader, 30, left, 1);
    check_numbers(reader, 40, left, 2);
    assert_err(append_number(table, 9, 25, NULL), GRANARY_ESTATE);
    assert_ok(granary_mutable_retain(reader, &(granary_retain){.age_ns = 1}, &time));
    assert_true(time > 40);
    check_numbers(table, GRANARY_NOW, left, 2);
    granary_mutable_close(table);
    granary_mutable_close(reader);
    table = open_table(client, "history");
    check_numbers(table, GRANARY_NOW, left, 2);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "history"));
    free(values);
    granary_disconnect(client);
}

/* Who sealed it died before it was done: the next one who comes ends it. */
static void
a_seal_that_was_begun_is_ended(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "begun");
    granary_mutable *again = NULL;
    granary_id id = {{0}};
    int64_t sum = 0, time;
    size_t parts;

    assert_ok(append_number(table, 3, 100, NULL));
    assert_ok(append_number(table, 4, 200, NULL));
    atomic_store(&table->page.page->sealed, 150);
    assert_err(granary_mutable_open(client, "begun", &again), GRANARY_ESEALED);
    assert_ok(granary_name_get(client, "begun", &id));
    assert_int_equal(count_sealed(client, id, &sum, &parts), 1);
    assert_int_equal(sum, 3);
    assert_err(append_number(table, 5, 300, &time), GRANARY_ESEALED);
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "begun"));
    granary_disconnect(client);
}

/* A child that appends 1 until it is killed, and tells how many of them are acknowledged. */
static pid_t
start_writer(void **state, const char *name, int *ret_told)
{
    int told[2];
    pid_t pid;

    assert_int_equal(pipe(told), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        granary_client *client = fixture_connect(state);
        granary_mutable *table = open_table(client, name);

        for (;;) {
            if (append_number(table, 1, 0, NULL) != GRANARY_OK || write(told[1], "1", 1) != 1) {
                (void)fprintf(stderr, "%s\n", granary_error_message());
                _exit(1);
            }
        }
    }
    (void)close(told[1]);
    *ret_told = told[0];
    return pid;
}

/* How many bytes there are to read until the end. */
static int64_t
drain(int fd)
{
    char bytes[4096];
    int64_t all = 0;
    ssize_t n;

    while ((n = read(fd, bytes, sizeof bytes)) > 0) {
        all += n;
    }
    (void)close(fd);
    return all;
}

/* Wait for so many bytes at least. */
static int64_t
await(int fd, int64_t least)
{
    char bytes[64];
    int64_t all = 0;

    while (all < least) {
        ssize_t n = read(fd, bytes, sizeof bytes);

        assert_true(n > 0);
        all += n;
    }
    return all;
}

static void
killed_writers_lose_nothing_they_were_told(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "killed");
    int64_t acknowledged = 0, seen = 0, sum = 0;

    for (int round = 0; round < 6; round++) {
        int told[2];
        pid_t writers[2];

        for (int i = 0; i < 2; i++) {
            writers[i] = start_writer(state, "killed", &told[i]);
        }
        for (int i = 0; i < 2; i++) {
            acknowledged += await(told[i], 500);
        }
        seen = count_numbers(table, GRANARY_NOW, &sum);
        assert_true(seen == sum && seen >= acknowledged);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(kill(writers[i], SIGKILL), 0);
            acknowledged += drain(told[i]);
            assert_int_equal(fixture_wait(writers[i]), 128 + SIGKILL);
        }
        seen = count_numbers(table, GRANARY_NOW, &sum);
        /* Each of the killed may have had one more, of which it told nobody. */
        assert_true(seen == sum && seen >= acknowledged && seen <= acknowledged + 2 * (round + 1));
    }
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "killed"));
    granary_disconnect(client);
}

static void
a_stopped_writer_stops_nobody(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "stopped");
    int64_t sum, before;
    int status, told;
    pid_t writer = start_writer(state, "stopped", &told);

    (void)await(told, 100);
    assert_int_equal(kill(writer, SIGSTOP), 0);
    assert_int_equal(waitpid(writer, &status, WUNTRACED), writer);
    before = count_numbers(table, GRANARY_NOW, &sum);
    assert_ok(append_number(table, 1, 0, NULL));
    assert_int_equal(count_numbers(table, GRANARY_NOW, &sum), before + 1);
    assert_int_equal(kill(writer, SIGCONT), 0);
    (void)await(told, 100);
    assert_int_equal(kill(writer, SIGKILL), 0);
    (void)drain(told);
    assert_int_equal(fixture_wait(writer), 128 + SIGKILL);
    granary_mutable_close(table);
    granary_disconnect(client);
}

static void
tables_outlive_the_store(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "lasting");
    granary_mutable *again;
    int64_t sum = 0;

    for (int64_t i = 0; i < 3000; i++) {
        assert_ok(append_number(table, 2, 0, NULL));
    }
    fixture_restart(state);
    assert_int_equal(count_numbers(table, GRANARY_NOW, &sum), 3000);
    for (int64_t i = 0; i < 3000; i++) {
        assert_ok(append_number(table, 2, 0, NULL));
    }
    again = open_table(client, "lasting");
    assert_int_equal(count_numbers(again, GRANARY_NOW, &sum), 6000);
    assert_int_equal(sum, 12000);
    granary_mutable_close(again);
    granary_mutable_close(table);
    granary_disconnect(client);
}

static void
deleted_tables_give_all_back(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_store_stat before = fixture_stat(client), after;
    granary_mutable *table = make_numbers(client, "gone"), *none = NULL;
    int64_t value = 1;

    for (int64_t i = 0; i < 3000; i++) {
        assert_ok(append_number(table, 1, 0, NULL));
    }
    assert_ok(granary_mutable_delete(client, "gone"));
    assert_err(append_number(table, 1, 0, NULL), GRANARY_ESTATE);
    assert_err(granary_mutable_read_frame(table, GRANARY_NOW, NULL), GRANARY_ESTATE);
    granary_mutable_close(table);
    assert_err(granary_mutable_open(client, "gone", &none), GRANARY_ENOENT);
    assert_err(granary_mutable_delete(client, "gone"), GRANARY_ENOENT);
    after = fixture_stat(client);
    assert_int_equal(after.objects, before.objects);
    /* The name is free again, and the page. */
    table = make_numbers(client, "gone");
    assert_ok(append_number(table, 7, 0, NULL));
    value = 7;
    check_numbers(table, GRANARY_NOW, &value, 1);
    granary_mutable_close(table);
    granary_disconnect(client);
}

static void
mistakes_are_named(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "t"), *none = NULL;
    const granary_column text = {.name = "n", .dtype = GRANARY_STRING}, other = {.name = "m", .dtype = GRANARY_INT64};
    const granary_mutable_options options = {.flags = GRANARY_MUTABLE_OPEN};
    int64_t value = 1;

    assert_err(granary_mutable_create_frame(client, "t", &number_column, 1, NULL, &none), GRANARY_EEXIST);
    assert_err(granary_mutable_create_frame(client, "t", &text, 1, &options, &none), GRANARY_ETYPE);
    assert_non_null(strstr(granary_error_message(), "column 0 is 'n' of int64, not 'n' of string"));
    assert_ok(granary_mutable_create_frame(client, "t", &number_column, 1, &options, &none));
    granary_mutable_close(none);
    assert_err(granary_mutable_create_frame(client, "u", &number_column, 0, NULL, &none), GRANARY_EINVAL);
    assert_err(granary_mutable_create_frame(client, "", &number_column, 1, NULL, &none), GRANARY_EINVAL);
    assert_err(granary_mutable_open(client, "u", &none), GRANARY_ENOENT);
    assert_err(granary_mutable_append(table, &other, 1, 1, NULL, NULL), GRANARY_ETYPE);
    assert_err(granary_mutable_append(table, &number_column, 1, 1, NULL, NULL), GRANARY_EINVAL); /* no values */
    assert_err(append_number(table, 1, INT64_MAX, NULL), GRANARY_EINVAL);
    assert_ok(granary_object_put(client, fixture_id(1), "x", 1, NULL, 0, 0));
    assert_ok(granary_name_set(client, "object", fixture_id(1), GRANARY_NAME_NEW, (granary_id){{0}}, NULL));
    assert_err(granary_mutable_open(client, "object", &none), GRANARY_ETYPE);
    assert_ok(append_number(table, value, 0, NULL));
    check_numbers(table, GRANARY_NOW, &value, 1);
    granary_mutable_close(table);
    granary_disconnect(client);
}

static void
a_strict_session_has_no_tables(void **state)
{
    const struct daemon *daemon = *state;
    const granary_session_options strict = {.strict = true};
    granary_client *maker = fixture_connect(state);
    granary_client *client = NULL;
    granary_mutable *table = NULL;

    assert_ok(granary_session_create(maker, "strict", &strict));
    assert_ok(granary_connect(&(granary_connect_options){.instance = daemon->directory, .session = "strict"}, &client));
    assert_ok(granary_mutable_create_frame(client, "t", &number_column, 1, NULL, &table));
    assert_err(append_number(table, 1, 0, NULL), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "session 'strict' is strict"));
    granary_mutable_close(table);
    granary_disconnect(client);
    granary_disconnect(maker);
}

/* Memory is full of what others hold: the append says so, and the next one works. */
static void
an_append_without_room_is_nothing(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "full");
    const int64_t rows = 2000000; /* 16 MB */
    int64_t *values = calloc((size_t)rows, sizeof *values);
    const granary_column column = {.name = "n", .dtype = GRANARY_INT64, .rows = rows, .values = values};
    const granary_write_options options = {.timeout_ms = 50};
    granary_view held[2];
    int64_t sum = 0;

    assert_ok(append_number(table, 7, 0, NULL));
    for (uint64_t i = 0; i < 2; i++) {
        assert_ok(fixture_put(other, i, (uint64_t)30 << 20, 0));
        assert_ok(granary_object_get(other, fixture_id(i), 10000, &held[i]));
    }
    assert_err(granary_mutable_append(table, &column, 1, rows, &options, NULL), GRANARY_EFULL);
    assert_int_equal(count_numbers(table, GRANARY_NOW, &sum), 1);
    granary_object_release_many(other, held, 2);
    assert_ok(granary_mutable_append(table, &column, 1, rows, NULL, NULL));
    assert_ok(append_number(table, 7, 0, NULL));
    assert_int_equal(count_numbers(table, GRANARY_NOW, &sum), rows + 2);
    assert_int_equal(sum, 14);
    free(values);
    granary_mutable_close(table);
    granary_disconnect(client);
    granary_disconnect(other);
}

static void
tables_are_listed_and_described(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *tables[2] = {make_numbers(client, "b"), make_numbers(client, "a")};
    const granary_rows first = {.from = 0, .to = 1};
    granary_mutable_info *infos = NULL, info;
    granary_id id;
    size_t count = 0;

    assert_ok(fixture_put(client, 1, 100, 0));
    assert_ok(granary_name_set(client, "other", fixture_id(1), GRANARY_NAME_NEW, (granary_id){{0}}, NULL));
    for (int i = 0; i < 3; i++) {
        assert_ok(append_number(tables[0], i, 10 + i, NULL));
    }
    assert_ok(granary_mutable_delete_rows(tables[0], &first, &(granary_write_options){.time = 20}, NULL, NULL));
    assert_ok(granary_mutable_snapshot(tables[0], 11, "c", &id));
    assert_ok(granary_mutable_list(client, &infos, &count));
    assert_int_equal(count, 3);
    assert_string_equal(infos[0].name, "a");
    assert_int_equal(infos[0].rows, 0);
    assert_int_equal(infos[0].writers, 0);
    assert_true(infos[0].newest == INT64_MIN && infos[0].final == INT64_MIN);
    assert_string_equal(infos[1].name, "b");
    assert_int_equal(infos[1].kind, GRANARY_MUTABLE_FRAME);
    assert_int_equal(infos[1].rows, 2);
    assert_int_equal(infos[1].writers, 1);
    assert_int_equal(infos[1].changes, 1);
    assert_true(infos[1].newest == 20 && infos[1].final == 11);
    assert_string_equal(infos[2].name, "c");
    assert_int_equal(infos[2].kind, GRANARY_SEALED_FRAME);
    assert_int_equal(infos[2].rows, 2);
    assert_memory_equal(&infos[2].id, &id, sizeof id);
    free(infos);
    assert_err(granary_mutable_describe(client, "other", &info), GRANARY_ETYPE);
    assert_err(granary_mutable_describe(client, "none", &info), GRANARY_ENOENT);
    for (int i = 0; i < 2; i++) {
        granary_mutable_close(tables[i]);
    }
    granary_disconnect(client);
}

/* What another thread does to a table while somebody waits for it. */
struct later {
    void **state;
    const char *name;
    pthread_t thread;
};

static void *
append_later(void *context)
{
    const struct later *later = context;
    granary_client *client = fixture_connect(later->state);
    granary_mutable *table = open_table(client, later->name);

    while (atomic_load(&table->page.page->waited) == 0) {
        (void)sched_yield();
    }
    assert_ok(append_number(table, 1, 100, NULL));
    while (atomic_load(&table->page.page->waited) == 0) {
        (void)sched_yield();
    }
    assert_ok(granary_mutable_seal(table, GRANARY_NOW, NULL));
    granary_mutable_close(table);
    granary_disconnect(client);
    return NULL;
}

static void
who_watches_is_woken(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_mutable *table = make_numbers(client, "watched");
    struct later later = {.state = state, .name = "watched"};
    int64_t newest = 0;

    assert_err(granary_mutable_watch(table, GRANARY_NOW, 0, &newest), GRANARY_ETIMEDOUT);
    assert_err(granary_mutable_watch(table, GRANARY_NOW, 10, &newest), GRANARY_ETIMEDOUT);
    atomic_store(&table->page.page->waited, 0);
    assert_int_equal(pthread_create(&later.thread, NULL, append_later, &later), 0);
    assert_ok(granary_mutable_watch(table, GRANARY_NOW, GRANARY_FOREVER, &newest));
    assert_int_equal(newest, 100);
    assert_ok(granary_mutable_watch(table, 99, 0, &newest));
    assert_err(granary_mutable_watch(table, newest, GRANARY_FOREVER, &newest), GRANARY_ESEALED);
    assert_int_equal(pthread_join(later.thread, NULL), 0);
    granary_mutable_close(table);
    granary_disconnect(client);
}

/* ---- a writer that lies ---- */

static uint32_t
random_of(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Change up to four bytes of a few; the old ones, to be put back. */
static void
garble(unsigned char *bytes, uint64_t size, uint32_t *seed, uint64_t *at, unsigned char *old, int count)
{
    for (int i = 0; i < count; i++) {
        static const unsigned char odd[] = {0, 1, 0x7f, 0x80, 0xff};

        at[i] = ((uint64_t)random_of(seed) << 8 | random_of(seed) % 256) % size;
        old[i] = bytes[at[i]];
        bytes[at[i]] = random_of(seed) % 2 == 0 ? (unsigned char)random_of(seed) : odd[random_of(seed) % 5];
    }
}

static void
restore(unsigned char *bytes, const uint64_t *at, const unsigned char *old, int count)
{
    for (int i = count; i-- > 0;) {
        bytes[at[i]] = old[i];
    }
}

static void
a_writer_that_lies_harms_no_reader(void **state)
{
    static const char *const texts[] = {"one", "", "three"};
    const int32_t offsets[] = {0, 3, 3, 8};
    const int64_t numbers[] = {1, 2, 3};
    const granary_column columns[] = {
        {.name = "n", .dtype = GRANARY_INT64, .rows = 3, .values = numbers},
        {.name = "s", .dtype = GRANARY_STRING, .rows = 3, .values = "onethree", .offsets = offsets},
    };
    granary_client *client = fixture_connect(state);
    const granary_rows some = {.from = 4, .to = 7};
    granary_mutable *table = NULL, *reader;
    uint32_t seed = 15, refused = 0;

    assert_ok(granary_mutable_create_frame(client, "lies", columns, 2, NULL, &table));
    for (int i = 0; i < 20; i++) {
        assert_ok(granary_mutable_append(table, columns, 2, 3, NULL, NULL));
    }
    for (int64_t i = 0; i < 5; i++) {
        const granary_rows few = {.from = i, .to = i + 3};

        assert_ok(granary_mutable_write_rows(table, &few, columns, 2, NULL, NULL));
    }
    assert_ok(granary_mutable_delete_rows(table, &some, NULL, NULL, NULL));
    for (int round = 0; round < 6000; round++) {
        const struct table_writer *writer = table->writer;
        const struct {
            void *bytes;
            uint64_t size;
        } places[] = {
            {writer->log.block.data, 48 * sizeof(struct gr_mutable_slot)},
            {writer->rows.object.data, writer->rows.object.size},
            {writer->rows.object.meta, sizeof(struct gr_directory) + 2 * sizeof(struct gr_directory_column)},
            {&table->page.page->lane[0], sizeof table->page.page->lane[0]},
            {writer->slab.object.data, writer->slab.used},
        };
        size_t place = (size_t)round % 5;
        granary_frame *frame = NULL;
        unsigned char old[4];
        uint64_t at[4];
        int count = 1 + (int)(random_of(&seed) % 4);

        garble(places[place].bytes, places[place].size, &seed, at, old, count);
        reader = open_table(client, "lies"); /* one that has learnt nothing yet */
        if (granary_mutable_read_frame(reader, GRANARY_NOW, &frame) == GRANARY_OK) {
            for (int64_t row = 0; row < granary_frame_rows(frame); row++) {
                size_t length;

                (void)granary_column_text(granary_frame_column(frame, 1), row, &length);
            }
            granary_frame_close(frame);
        } else {
            refused++;
        }
        granary_mutable_close(reader);
        restore(places[place].bytes, at, old, count);
    }
    assert_true(refused > 100);
    {
        granary_frame *frame = NULL;

        assert_ok(granary_mutable_read_frame(table, GRANARY_NOW, &frame));
        assert_int_equal(granary_frame_rows(frame), 57);
        for (int64_t row = 7; row < 60; row++) {
            assert_string_equal(text_at(frame, "s", row - 3), texts[row % 3]);
        }
        granary_frame_close(frame);
    }
    granary_mutable_close(table);
    granary_disconnect(client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_every_dtype_come_back, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_read_sees_its_time_for_ever, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_cut_is_of_several_tables, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(runs_of_any_length_keep_their_nulls, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(many_rows_take_many_chunks, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(complete_chunks_are_sealed_as_they_are, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(history_is_given_up, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_seal_that_was_begun_is_ended, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(killed_writers_lose_nothing_they_were_told, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_stopped_writer_stops_nobody, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(tables_outlive_the_store, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(deleted_tables_give_all_back, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(mistakes_are_named, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_strict_session_has_no_tables, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(an_append_without_room_is_nothing, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(tables_are_listed_and_described, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(who_watches_is_woken, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_writer_that_lies_harms_no_reader, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
