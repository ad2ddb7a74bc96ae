/* Mutable frames: appended to, read at any time, cut, watched, listed. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "integration/store/fixture.h"
#include "mutable/table.h"
#include "mutable_tools.h"
#include "unit/data/frames.h"

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
    check_named("table 't': time ", "'t'");
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

    while (atomic_load(&table->page.page->bell.waited) == 0) {
        (void)sched_yield();
    }
    assert_ok(append_number(table, 1, 100, NULL));
    while (atomic_load(&table->page.page->bell.waited) == 0) {
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
    atomic_store(&table->page.page->bell.waited, 0);
    assert_int_equal(pthread_create(&later.thread, NULL, append_later, &later), 0);
    assert_ok(granary_mutable_watch(table, GRANARY_NOW, GRANARY_FOREVER, &newest));
    assert_int_equal(newest, 100);
    assert_ok(granary_mutable_watch(table, 99, 0, &newest));
    assert_err(granary_mutable_watch(table, newest, GRANARY_FOREVER, &newest), GRANARY_ESEALED);
    assert_int_equal(pthread_join(later.thread, NULL), 0);
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
        cmocka_unit_test_setup_teardown(tables_are_listed_and_described, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(who_watches_is_woken, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
