/* Deaths: of clients at any moment, of the store, and the false life of a forked child. */
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/instance.h"
#include "granary/session.h"
#include "granary/stream.h"
#include "integration/store/fixture.h"

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
    granary_writer *writer;
    granary_reader *reader;
    granary_view view;
    char byte[1];
    pid_t child;

    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    assert_ok(granary_writer_open(client, fixture_id(3), 0, NULL, &writer));
    assert_ok(granary_writer_append(writer, "parent", 6));
    assert_ok(granary_reader_open(client, fixture_id(1), 0, 0, &reader));
    child = fork();
    if (child == 0) {
        granary_view other;
        granary_buffer buffer;
        granary_object_info info;
        granary_object_info *infos;
        granary_store_stat stat;
        const void *in_place;
        uint64_t got;
        size_t count;
        void *at;

        assert_err(granary_writer_append(writer, "child", 5), GRANARY_EFORKED);
        assert_err(granary_writer_reserve(writer, 5, &at), GRANARY_EFORKED);
        assert_err(granary_writer_seal(writer, NULL, 0), GRANARY_EFORKED);
        assert_err(granary_reader_read(reader, byte, sizeof byte, &got), GRANARY_EFORKED);
        assert_err(granary_reader_next(reader, sizeof byte, &in_place, &got), GRANARY_EFORKED);
        assert_err(granary_reader_seek(reader, 0), GRANARY_EFORKED);
        granary_reader_close(reader);
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
    assert_ok(granary_writer_seal(writer, NULL, 0));
    granary_reader_close(reader);
    assert_ok(granary_object_delete(client, fixture_id(1), 0));
    assert_true(fixture_stat(client).retiring_bytes > 0); /* the parent's lease is whole */
    granary_object_release(client, &view);
    granary_disconnect(client);
}

/* A segment of the store as a file. */
static int
segment_open(const struct daemon *daemon, uint32_t number)
{
    struct gr_instance instance;
    char path[160];

    assert_ok(gr_instance_resolve(daemon->directory, &instance));
    (void)snprintf(path, sizeof path, "/dev/shm%ss1.data%u", instance.shm_prefix, number);
    return open(path, O_RDWR | O_CLOEXEC);
}

/* Whoever may write a segment may cut it: it is told what is wrong, and not that memory is full. */
static void
a_segment_that_was_cut_is_called_damaged(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_object_info info;
    granary_buffer buffer;
    granary_view view;
    int fd;

    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_ok(granary_object_info_get(client, fixture_id(1), &info));
    fd = segment_open(*state, info.segment);
    assert_true(fd >= 0 && ftruncate(fd, 4096) == 0 && close(fd) == 0);
    assert_err(granary_object_get(other, fixture_id(1), 0, &view), GRANARY_ECORRUPT);
    assert_non_null(strstr(granary_error_message(), "has cut it"));
    assert_err(granary_object_create(client, fixture_id(2), 512 << 10, 0, 0, &buffer), GRANARY_ECORRUPT);
    assert_non_null(strstr(granary_error_message(), "has cut it"));
    granary_disconnect(other);
    granary_disconnect(client);
}

#ifndef __SANITIZE_ADDRESS__
/* The index alone takes 4 GiB of addresses. */
static void
too_little_address_space_is_called_that(void **state)
{
    const struct daemon *daemon = *state;
    pid_t child = fork();

    if (child == 0) {
        granary_connect_options options = {.instance = daemon->directory};
        granary_client *client;

        (void)setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)2 << 30, (rlim_t)2 << 30});
        assert_err(granary_connect(&options, &client), GRANARY_ENOMEM);
        assert_non_null(strstr(granary_error_message(), "index: "));
        assert_non_null(strstr(granary_error_message(), "ulimit -v"));
        _exit(0);
    }
    assert_int_equal(fixture_wait(child), 0);
}

#endif

/* -1 waits for ever, and other negative numbers are mistakes. */
static void
a_negative_timeout_is_refused(void **state)
{
    const struct daemon *daemon = *state;
    granary_connect_options options = {.instance = daemon->directory, .timeout_ms = -2};
    granary_object_options put = {.timeout_ms = -3};
    granary_client *client = fixture_connect(state);
    granary_id id = fixture_id(1);
    granary_subscription *subscription;
    granary_counter *counter;
    granary_buffer buffer;
    granary_writer *writer;
    granary_reader *reader;
    granary_event event;
    granary_client *other;
    granary_view view;
    size_t missing;
    char digest[33];

    assert_err(granary_connect(&options, &other), GRANARY_EINVAL);
    options = (granary_connect_options){.instance = daemon->directory, .reconnect_ms = -2};
    assert_err(granary_connect(&options, &other), GRANARY_EINVAL);
    assert_err(granary_object_create(client, id, 1, 0, -2, &buffer), GRANARY_EINVAL);
    assert_err(granary_object_put_with(client, id, "x", 1, NULL, 0, &put, 0), GRANARY_EINVAL);
    assert_err(granary_writer_open(client, id, 0, &put, &writer), GRANARY_EINVAL);
    assert_ok(granary_object_create(client, id, 1, 0, 0, &buffer));
    assert_err(granary_buffer_resize(client, &buffer, 2, -2), GRANARY_EINVAL);
    granary_object_abort(client, &buffer);
    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_ok(granary_subscribe(client, 0, &subscription));
    assert_ok(granary_counter_open(client, "n", &counter));
    assert_err(granary_object_get(client, id, INT_MIN, &view), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "GRANARY_FOREVER"));
    assert_err(granary_object_get_many(client, &id, 1, -2, &view, NULL), GRANARY_EINVAL);
    assert_err(granary_object_get_some(client, &id, 1, -2, &view, &missing, NULL), GRANARY_EINVAL);
    assert_err(granary_object_get_range(client, id, 0, 1, -2, &view), GRANARY_EINVAL);
    assert_err(granary_object_get_meta_range(client, id, 0, 0, -2, &view), GRANARY_EINVAL);
    assert_err(granary_object_wait(client, &id, 1, 1, -2, NULL), GRANARY_EINVAL);
    assert_err(granary_object_move(client, id, GRANARY_LEVEL_DISK, 0, -2), GRANARY_EINVAL);
    assert_err(granary_object_digest(client, id, -2, digest), GRANARY_EINVAL);
    assert_err(granary_object_export(client, id, -1, -2), GRANARY_EINVAL);
    assert_err(granary_reader_open(client, id, 0, -2, &reader), GRANARY_EINVAL);
    assert_err(granary_subscription_next(subscription, -2, &event), GRANARY_EINVAL);
    assert_err(granary_counter_wait(counter, 0, -2, NULL), GRANARY_EINVAL);
    granary_counter_close(counter);
    granary_unsubscribe(subscription);
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
        STORE_TEST(a_segment_that_was_cut_is_called_damaged),
#ifndef __SANITIZE_ADDRESS__ /* which takes terabytes of them itself */
        STORE_TEST(too_little_address_space_is_called_that),
#endif
        STORE_TEST(a_negative_timeout_is_refused),
        STORE_TEST(connecting_wrongly_is_explained),
    };

    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
