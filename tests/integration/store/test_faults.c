/* Deaths: of clients at any moment, of the store, and the false life of a forked child. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"

#define MIB ((uint64_t)1 << 20)

/* Run work in a child that says when it is ready and then waits to be killed; kill -9 it. */
static void
kill_in(void **state, void (*work)(void **state, granary_client *client))
{
    int ready[2];
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        work(state, fixture_connect(state));
        if (write(ready[1], "r", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            (void)pause();
        }
    }
    (void)close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(fixture_wait(child), 128 + SIGKILL);
}

static void
work_create(void **state, granary_client *client)
{
    granary_buffer buffers[2];

    (void)state;
    assert_ok(granary_object_create(client, fixture_id(1), 1000, 0, 0, &buffers[0]));
    assert_ok(granary_object_create(client, fixture_id(2), 16 * MIB, 0, 0, &buffers[1]));
    fixture_fill(buffers[1].data, 2, 16 * MIB);
}

static void
a_client_killed_in_a_create_leaves_no_room(void **state)
{
    granary_client *client = fixture_connect(state);

    kill_in(state, work_create);
    fixture_settle(client, 1);
    assert_false(granary_object_contains(client, fixture_id(1)));
    assert_false(granary_object_contains(client, fixture_id(2)));
    assert_ok(fixture_put(client, 2, 40 * MIB, 0)); /* all of it is there for others */
    fixture_check(client, 2, 40 * MIB);
    granary_disconnect(client);
}

static void
work_get(void **state, granary_client *client)
{
    granary_view views[3];

    (void)state;
    assert_ok(granary_object_get(client, fixture_id(1), 0, &views[0]));
    assert_ok(granary_object_get(client, fixture_id(1), 0, &views[1]));
    assert_ok(granary_object_get(client, fixture_id(2), 0, &views[2]));
    assert_ok(granary_object_pin(client, fixture_id(2), GRANARY_PIN_CLIENT));
}

static void
a_client_killed_in_a_get_leaves_no_lease_and_no_pin(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_object_info info;

    assert_ok(fixture_put(client, 1, 10 * MIB, 0));
    assert_ok(fixture_put(client, 2, 10 * MIB, 0));
    kill_in(state, work_get);
    fixture_settle(client, 1);
    assert_ok(granary_object_info_get(client, fixture_id(2), &info));
    assert_int_equal(info.pins, 0);
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    fixture_settle(client, 1);
    assert_int_equal(fixture_stat(client).sealed_bytes, 10 * MIB);
    granary_disconnect(client);
}

static void
work_put(void **state, granary_client *client)
{
    (void)state;
    for (uint64_t i = 0; i < 3000; i++) {
        assert_ok(fixture_put(client, i, 1000, GRANARY_NOWAIT));
    }
}

static void
a_client_killed_in_a_put_leaves_whole_objects(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_object_info *infos;
    size_t count;

    kill_in(state, work_put);
    fixture_settle(client, 1);
    assert_ok(granary_object_list(client, &infos, &count));
    assert_int_equal(count, 3000); /* what was in the ring counts */
    for (size_t i = 0; i < count; i++) {
        uint64_t n;

        memcpy(&n, infos[i].id.bytes + 8, sizeof n);
        fixture_check(client, n, 1000);
    }
    free(infos);
    granary_disconnect(client);
}

static void
work_nothing(void **state, granary_client *client)
{
    (void)state;
    (void)client;
}

static void
who_says_goodbye_is_not_counted_as_lost(void **state)
{
    granary_client *client = fixture_connect(state);

    for (int i = 0; i < 5; i++) {
        granary_disconnect(fixture_connect(state));
    }
    fixture_settle(client, 1);
    assert_int_equal(fixture_stat(client).clients_lost, 0);
    kill_in(state, work_nothing);
    fixture_settle(client, 1);
    assert_int_equal(fixture_stat(client).clients_lost, 1);
    granary_disconnect(client);
}

static void
a_dead_store_is_an_error_not_a_hang(void **state)
{
    struct daemon *daemon = *state;
    granary_connect_options impatient = {.instance = daemon->directory, .reconnect_ms = -1};
    granary_client *client;
    granary_client *second;
    granary_client *nobody;
    granary_object_info info;
    granary_buffer buffer;
    granary_view view;
    granary_view later;

    assert_ok(granary_connect(&impatient, &client));
    assert_ok(granary_connect(&impatient, &second));
    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_ok(fixture_put(client, 2, 1000, 0));
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    assert_ok(granary_object_create(client, fixture_id(3), 10, 0, 0, &buffer));
    daemon_kill(daemon);
    assert_true(fixture_content_is(view.data, 1, 1000));
    assert_ok(granary_object_get(client, fixture_id(2), 0, &later)); /* what is mapped can still be read */
    assert_true(fixture_content_is(later.data, 2, 1000));
    assert_err(granary_object_get(client, fixture_id(9), 60000, &later), GRANARY_EUNREACHABLE);
    assert_non_null(strstr(granary_error_message(), "granary up"));
    assert_err(granary_object_seal(client, &buffer), GRANARY_EUNREACHABLE);
    assert_err(granary_object_delete(client, fixture_id(2), 0), GRANARY_EUNREACHABLE);
    assert_err(granary_object_put(client, fixture_id(4), "x", 1, NULL, 0, 0), GRANARY_EUNREACHABLE);
    assert_err(granary_object_pin(client, fixture_id(1), GRANARY_PIN_CLIENT), GRANARY_EUNREACHABLE);
    granary_object_release(client, &view);
    /* One that did not notice yet. */
    assert_err(granary_object_put(second, fixture_id(5), "x", 1, NULL, 0, 0), GRANARY_EUNREACHABLE);
    assert_ok(granary_object_info_get(second, fixture_id(2), &info));
    granary_disconnect(second);
    granary_disconnect(client);
    assert_err(granary_connect(&(granary_connect_options){.instance = daemon->directory}, &nobody),
               GRANARY_EUNREACHABLE);
    assert_non_null(strstr(granary_error_message(), "granary up"));
    assert_true(daemon_restart(daemon, NULL));
    client = fixture_connect(state);
    fixture_check(client, 1, 1000);
    fixture_check(client, 2, 1000);
    granary_disconnect(client);
}

static void
a_sleeper_notices_that_the_store_died(void **state)
{
    struct daemon *daemon = *state;
    int ready[2];
    char byte;
    pid_t child;

    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        granary_connect_options impatient = {.instance = daemon->directory, .reconnect_ms = -1};
        granary_client *client;
        granary_view view;

        assert_ok(granary_connect(&impatient, &client));
        (void)!write(ready[1], "r", 1);
        _exit(granary_object_get(client, fixture_id(1), GRANARY_FOREVER, &view) == GRANARY_EUNREACHABLE ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    daemon_kill(daemon);
    assert_int_equal(fixture_wait(child), 0);
    assert_true(daemon_restart(daemon, NULL));
}

static void
a_forked_child_is_told_so(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_view view;
    pid_t child;

    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    child = fork();
    if (child == 0) {
        granary_view other;
        granary_buffer buffer;
        granary_object_info info;
        granary_object_info *infos;
        granary_store_stat stat;
        size_t count;

        assert_err(granary_object_get(client, fixture_id(1), 0, &other), GRANARY_EFORKED);
        assert_err(granary_object_get_many(client, &view.id, 1, 0, &other, NULL), GRANARY_EFORKED);
        assert_err(granary_object_create(client, fixture_id(2), 1, 0, 0, &buffer), GRANARY_EFORKED);
        assert_err(granary_object_put(client, fixture_id(2), "x", 1, NULL, 0, 0), GRANARY_EFORKED);
        assert_err(granary_object_delete(client, fixture_id(1), 0), GRANARY_EFORKED);
        assert_err(granary_object_pin(client, fixture_id(1), GRANARY_PIN_CLIENT), GRANARY_EFORKED);
        assert_err(granary_object_info_get(client, fixture_id(1), &info), GRANARY_EFORKED);
        assert_err(granary_object_list(client, &infos, &count), GRANARY_EFORKED);
        assert_err(granary_store_stat_get(client, &stat), GRANARY_EFORKED);
        assert_err(granary_flush(client), GRANARY_EFORKED);
        assert_false(granary_object_contains(client, fixture_id(1)));
        granary_object_release(client, &view);
        granary_disconnect(client); /* gives only its own memory back */
        client = fixture_connect(state);
        fixture_check(client, 1, 1000);
        granary_disconnect(client);
        _exit(0);
    }
    assert_int_equal(fixture_wait(child), 0);
    assert_true(fixture_content_is(view.data, 1, 1000));
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    assert_true(fixture_stat(client).retiring_bytes > 0); /* the parent's lease is whole */
    granary_object_release(client, &view);
    granary_disconnect(client);
}

static void
connecting_wrongly_is_explained(void **state)
{
    const struct daemon *daemon = *state;
    char long_session[100];
    granary_client *client;

    memset(long_session, 's', sizeof long_session - 1);
    long_session[sizeof long_session - 1] = '\0';
    assert_err(granary_connect(&(granary_connect_options){.instance = "no good"}, &client), GRANARY_EINVAL);
    assert_err(granary_connect(&(granary_connect_options){.instance = "/tmp/granary-nobody-there"}, &client),
               GRANARY_EUNREACHABLE);
    assert_err(
        granary_connect(&(granary_connect_options){.instance = daemon->directory, .session = long_session}, &client),
        GRANARY_EINVAL);
}

static void
a_killed_reader_of_a_large_object_gives_it_back(void **state)
{
    granary_client *client = fixture_connect(state);

    assert_ok(fixture_put(client, 1, 30 * MIB, 0));
    assert_ok(fixture_put(client, 2, 20 * MIB, 0));
    kill_in(state, work_get);
    fixture_settle(client, 1);
    for (uint64_t i = 10; i < 14; i++) { /* needs both to be spilled */
        assert_ok(fixture_put(client, i, 30 * MIB, 0));
    }
    fixture_check(client, 1, 30 * MIB);
    fixture_check(client, 2, 20 * MIB);
    granary_disconnect(client);
}

#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_client_killed_in_a_create_leaves_no_room),
        STORE_TEST(a_client_killed_in_a_get_leaves_no_lease_and_no_pin),
        STORE_TEST(a_client_killed_in_a_put_leaves_whole_objects),
        STORE_TEST(a_killed_reader_of_a_large_object_gives_it_back),
        STORE_TEST(a_dead_store_is_an_error_not_a_hang),
        STORE_TEST(who_says_goodbye_is_not_counted_as_lost),
        STORE_TEST(a_sleeper_notices_that_the_store_died),
        STORE_TEST(a_forked_child_is_told_so),
        STORE_TEST(connecting_wrongly_is_explained),
    };

    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
