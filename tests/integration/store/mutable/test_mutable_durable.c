/* Durable tables: what was promised is there after all processes and all memory of an instance are gone. */
#include <stdlib.h>
#include <string.h>

#include "durable_tools.h"
#include "granary/session.h"
#include "integration/store/fixture.h"
#include "unit/data/frames.h"

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
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_committed_survives, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(tokens_and_sessions_survive, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(tensors_survive, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(an_orderly_stop_keeps_them, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_sealed_one_is_sealed_and_a_deleted_one_gone, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(history_that_was_given_up_stays_so, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(mistakes_are_named, fixture_start, fixture_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
