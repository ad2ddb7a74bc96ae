/*
 * Durable tables: writers, who restores, and the store are killed at every step of what they do. The program calls itself as a
 * process that is killed where GRANARY_FAULT says.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "durable_tools.h"
#include "integration/store/fixture.h"

static const char *const arguments[] = {"--memory", "64M", NULL};

static int64_t
count_rows(granary_mutable *table)
{
    int64_t sum;

    return count_numbers(table, GRANARY_NOW, &sum);
}

/* As "append": numbers from 0 on, a byte to stdout when one is on disk; up to 40. As "open": the table is opened, and again
 * and again created and deleted another one. */
static int
be_other(const char *what, const char *directory)
{
    granary_client *client = NULL;
    granary_mutable *table = NULL;
    granary_err err = self_open(directory, "t", &client, &table);

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

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writers_are_killed_at_every_step, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_killed_writers_interval_ends_with_the_next, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(who_restores_is_killed_at_every_step, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(who_makes_or_deletes_is_killed_at_every_step, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(the_store_is_killed_at_every_step, fixture_start, fixture_stop),
    };

    return argc == 3 ? be_other(argv[1], argv[2]) : cmocka_run_group_tests(tests, NULL, NULL);
}
