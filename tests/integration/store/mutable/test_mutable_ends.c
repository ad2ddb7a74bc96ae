/* How mutable frames end: sealed, their history given up, deleted. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "integration/store/fixture.h"
#include "mutable/table.h"
#include "mutable_tools.h"
#include "unit/data/frames.h"

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

struct opener {
    granary_client *client;
    atomic_bool begun, stop;
};

/* NULL: its table was there each time. */
static void *
open_again_and_again(void *argument)
{
    struct opener *opener = argument;

    do {
        granary_mutable *table = NULL;
        granary_err err = granary_table_open(opener->client, "lasting", &table);

        atomic_store(&opener->begun, true);
        if (err != GRANARY_OK) {
            print_error("%s\n", granary_error_message());
            return opener;
        }
        granary_mutable_close(table);
    } while (!atomic_load(&opener->stop));
    return NULL;
}

/* Who opens it meanwhile gets the one that grows or the sealed one. */
static void
a_table_is_there_while_it_is_sealed(void **state)
{
    granary_client *client = fixture_connect(state);

    for (int round = 0; round < 100; round++) {
        granary_mutable *table = make_numbers(client, "lasting");
        struct opener opener = {.client = fixture_connect(state)};
        granary_id sealed;
        pthread_t thread;
        void *failed;

        assert_int_equal(pthread_create(&thread, NULL, open_again_and_again, &opener), 0);
        while (!atomic_load(&opener.begun)) {
            (void)sched_yield();
        }
        assert_ok(granary_mutable_seal(table, GRANARY_NOW, &sealed));
        atomic_store(&opener.stop, true);
        assert_int_equal(pthread_join(thread, &failed), 0);
        assert_null(failed);
        granary_mutable_close(table);
        granary_disconnect(opener.client);
        assert_ok(granary_mutable_delete(client, "lasting"));
    }
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
    time = GRANARY_NOW; /* the newest write is before what is kept */
    assert_ok(granary_cut(&table, 1, &time));
    check_numbers(table, time, left, 2);
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
    int64_t sum = 0, time = 1;
    size_t parts;

    assert_ok(append_number(table, 3, 100, NULL));
    assert_ok(append_number(table, 4, 200, NULL));
    atomic_store(&table->page.page->sealed, 150);
    assert_err(granary_mutable_open(client, "begun", &again), GRANARY_ESEALED);
    assert_ok(granary_name_get(client, "begun", &id));
    assert_int_equal(count_sealed(client, id, &sum, &parts), 1);
    assert_int_equal(sum, 3);
    assert_err(append_number(table, 5, 300, &time), GRANARY_ESEALED);
    check_named("table 'begun': it was sealed", "begun");
    assert_err(granary_cut(&table, 1, &time), GRANARY_ESEALED);
    check_named("table 'begun': it was sealed", "begun");
    granary_mutable_close(table);
    assert_ok(granary_mutable_delete(client, "begun"));
    granary_disconnect(client);
}

static void
deleted_tables_give_all_back(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_store_stat before = fixture_stat(client), after;
    granary_mutable *table = make_numbers(client, "gone"), *none = NULL;
    int64_t value = 1, time = 1;

    for (int64_t i = 0; i < 3000; i++) {
        assert_ok(append_number(table, 1, 0, NULL));
    }
    assert_ok(granary_mutable_delete(client, "gone"));
    assert_err(append_number(table, 1, 0, NULL), GRANARY_ESTATE);
    check_named("table 'gone': it was deleted", "gone");
    assert_err(granary_mutable_read_frame(table, GRANARY_NOW, NULL), GRANARY_ESTATE);
    check_named("table 'gone': it was deleted", "gone");
    assert_err(granary_cut(&table, 1, &time), GRANARY_ESTATE);
    check_named("table 'gone': it was deleted", "gone");
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(complete_chunks_are_sealed_as_they_are, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_table_is_there_while_it_is_sealed, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(history_is_given_up, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_seal_that_was_begun_is_ended, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(deleted_tables_give_all_back, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
