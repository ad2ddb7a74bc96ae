/* Mutable frames keep what was acknowledged, whoever dies or stops: writers, or the store. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "integration/store/fixture.h"
#include "mutable_tools.h"

/* As another process: append 1 until it is killed, and tell with a byte of each that is acknowledged. */
static int
be_writer(const char *name, const char *directory)
{
    granary_client *client = NULL;
    granary_mutable *table = NULL;
    granary_err err = self_open(directory, name, &client, &table);

    while (err == GRANARY_OK) {
        err = append_number(table, 1, 0, NULL);
        if (err == GRANARY_OK && write(STDOUT_FILENO, "1", 1) != 1) {
            return 1;
        }
    }
    (void)fprintf(stderr, "%s\n", granary_error_message());
    return 1;
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
            writers[i] = start_self(state, "killed", NULL, &told[i]);
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
    pid_t writer = start_self(state, "stopped", NULL, &told);

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

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(killed_writers_lose_nothing_they_were_told, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(a_stopped_writer_stops_nobody, fixture_start, fixture_stop),
        cmocka_unit_test_setup_teardown(tables_outlive_the_store, fixture_start, fixture_stop),
    };

    return argc == 3 ? be_writer(argv[1], argv[2]) : cmocka_run_group_tests(tests, NULL, NULL);
}
