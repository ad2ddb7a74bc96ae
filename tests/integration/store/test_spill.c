/* Memory is full: objects go to disk and come back byte for byte, or the error says what to do. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fixture.h"

#define MIB ((uint64_t)1 << 20)

static void
four_times_the_budget_comes_back_byte_for_byte(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_store_stat stat;

    for (uint64_t i = 0; i < 256; i++) {
        assert_ok(fixture_put(client, i, MIB - i, 0));
    }
    stat = fixture_stat(client);
    assert_int_equal(stat.objects, 256);
    assert_true(stat.objects_spilled >= 256 - 64);
    assert_true(stat.spills > 0);
    assert_true(stat.disk_bytes > 0);
    for (uint64_t i = 0; i < 256; i++) {
        fixture_check(other, i, MIB - i);
    }
    for (uint64_t i = 256; i-- > 0;) {
        fixture_check(client, i, MIB - i);
    }
    assert_true(fixture_stat(client).restores > 0);
    for (uint64_t i = 0; i < 256; i++) {
        assert_ok(granary_object_delete(client, fixture_id(i), 0));
    }
    do { /* a file that was being written goes when it is */
        stat = fixture_stat(client);
    } while (stat.objects > 0 || stat.disk_bytes > 0);
    granary_disconnect(other);
    granary_disconnect(client);
}

static void
small_objects_spill_too(void **state)
{
    granary_client *client = fixture_connect(state);

    for (uint64_t i = 0; i < 50000; i++) {
        assert_ok(fixture_put(client, i, 3000, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    for (uint64_t i = 0; i < 50000; i += 17) {
        fixture_check(client, i, 3000);
    }
    granary_disconnect(client);
}

static void
a_large_object_spills_and_returns(void **state)
{
    granary_client *client = fixture_connect(state);

    for (uint64_t i = 0; i < 6; i++) {
        assert_ok(fixture_put(client, i, 24 * MIB, 0));
    }
    for (uint64_t i = 0; i < 6; i++) {
        fixture_check(client, i, 24 * MIB);
    }
    granary_disconnect(client);
}

static void
what_is_held_makes_a_put_fail_and_lets_go(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_buffer buffer;
    granary_view view;

    assert_ok(fixture_put(client, 1, 30 * MIB, 0));
    assert_ok(fixture_put(client, 2, 30 * MIB, 0));
    assert_ok(granary_object_get(other, fixture_id(1), 0, &view));
    assert_ok(granary_object_pin(client, fixture_id(2), GRANARY_PIN_CLIENT));
    assert_err(granary_object_create(client, fixture_id(3), 30 * MIB, 0, 0, &buffer), GRANARY_EFULL);
    assert_true(strlen(granary_error_message()) > 20);
    assert_err(granary_object_create(client, fixture_id(3), 30 * MIB, 0, 300, &buffer), GRANARY_EFULL);
    assert_non_null(strstr(granary_error_message(), "who releases them"));
    granary_object_release(other, &view);
    assert_ok(granary_object_create(client, fixture_id(3), 30 * MIB, 0, 10000, &buffer));
    fixture_fill(buffer.data, 3, 30 * MIB);
    assert_ok(granary_object_seal(client, &buffer));
    assert_ok(granary_object_unpin(client, fixture_id(2), GRANARY_PIN_CLIENT));
    for (uint64_t i = 1; i <= 3; i++) {
        fixture_check(other, i, 30 * MIB);
    }
    granary_disconnect(other);
    granary_disconnect(client);
}

/* Three of which memory holds two: what is not in time is left out, and only what does not exist is an error. */
static void
get_some_leases_what_there_is_room_for(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_id ids[] = {fixture_id(1), fixture_id(2), fixture_id(3), fixture_id(9)};
    granary_view views[4];
    size_t missing = 99;
    size_t failed = 99;

    for (uint64_t i = 1; i <= 3; i++) {
        assert_ok(fixture_put(client, i, 24 * MIB, 0));
    }
    assert_err(granary_object_get_some(client, ids, 4, GRANARY_FOREVER, views, &missing, &failed), GRANARY_ENOENT);
    assert_int_equal(failed, 3);
    assert_ok(granary_object_get_some(client, ids, 3, 10, views, &missing, &failed));
    assert_true(missing > 0 && missing < 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(views[i].lease == 0 ? views[i].data == NULL : fixture_content_is(views[i].data, i + 1, 24 * MIB));
    }
    granary_object_release_many(client, views, 3);
    fixture_check(client, 1, 24 * MIB);
    assert_ok(granary_object_get_some(client, ids, 1, 10000, views, &missing, &failed));
    assert_int_equal(missing, 0);
    granary_object_release_many(client, views, 1);
    granary_disconnect(client);
}

/* Processor time that the daemon has used, in ns. */
static int64_t
daemon_cpu_ns(void **state)
{
    const struct daemon *daemon = *state;
    struct timespec used;
    clockid_t clock;

    assert_int_equal(clock_getcpuclockid(daemon->pid, &clock), 0);
    assert_int_equal(clock_gettime(clock, &used), 0);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* While memory is held by others, the store looks again now and then; it does not run all the time. */
static void
who_waits_for_memory_lets_the_store_sleep(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_id ids[] = {fixture_id(1), fixture_id(2), fixture_id(3)};
    granary_view held[2], view;
    size_t missing = 0, failed;
    int64_t used, begun;

    for (uint64_t i = 1; i <= 3; i++) {
        assert_ok(fixture_put(client, i, 24 * MIB, 0));
    }
    for (size_t i = 0; i < 2; i++) {
        assert_ok(granary_object_get(client, ids[i], 10000, &held[i]));
    }
    assert_ok(granary_object_get_some(client, &ids[2], 1, 500, &view, &missing, &failed)); /* it is written out */
    assert_int_equal(missing, 1);
    begun = gr_now_ns();
    used = daemon_cpu_ns(state);
    assert_ok(granary_object_get_some(client, &ids[2], 1, 1000, &view, &missing, &failed));
    assert_int_equal(missing, 1);
    used = daemon_cpu_ns(state) - used;
    assert_true(used < (gr_now_ns() - begun) / 3);
    granary_object_release_many(client, held, 2);
    granary_disconnect(client);
}

/* What comes back too late is told in time, and work on it goes on. Without a timeout of one's own it has longer. */
static void
a_timeout_holds_for_what_is_spilled(void **state)
{
    granary_client *client = fixture_connect(state);
    const granary_id ids[] = {fixture_id(1), fixture_id(2), fixture_id(3)};
    granary_view held[2], views[2];
    size_t failed = 99;
    int64_t begun;

    for (uint64_t i = 1; i <= 3; i++) {
        assert_ok(fixture_put(client, i, 24 * MIB, 0));
    }
    for (size_t i = 0; i < 2; i++) {
        assert_ok(granary_object_get(client, ids[i], 60000, &held[i]));
    }
    begun = gr_now_ns();
    assert_err(granary_object_get(client, ids[2], 300, &views[0]), GRANARY_ETIMEDOUT);
    assert_true(gr_now_ns() - begun >= 300000000);
    assert_non_null(
        strstr(granary_error_message(), "being brought back from disk. If there is no room for it, release"));
    assert_err(granary_object_get_many(client, &ids[1], 2, 300, views, &failed), GRANARY_ETIMEDOUT);
    assert_int_equal(failed, 1);
    granary_object_release(client, &held[0]);
    assert_ok(granary_object_get(client, ids[2], 60000, &views[0]));
    assert_true(fixture_content_is(views[0].data, 3, 24 * MIB));
    granary_object_release(client, &views[0]);
    granary_object_release(client, &held[1]);
    granary_disconnect(client);
}

static void
a_pinned_object_stays_in_memory(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_object_info info;

    for (uint64_t i = 0; i < 200; i++) {
        assert_ok(fixture_put(client, i, MIB, 0));
    }
    assert_ok(granary_object_info_get(client, fixture_id(0), &info));
    assert_int_equal(info.state, GRANARY_OBJECT_SPILLED);
    assert_true(info.on_disk);
    assert_ok(granary_object_pin(client, fixture_id(0), GRANARY_PIN_CLIENT));
    for (uint64_t i = 200; i < 400; i++) {
        assert_ok(fixture_put(client, i, MIB, 0));
    }
    assert_ok(granary_object_info_get(client, fixture_id(0), &info));
    assert_int_equal(info.state, GRANARY_OBJECT_SEALED);
    fixture_check(client, 0, MIB);
    granary_disconnect(client);
}

static void
several_spilled_ones_are_got_together(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_view views[40];
    granary_id ids[40];

    for (uint64_t i = 0; i < 160; i++) {
        assert_ok(fixture_put(client, i, MIB, 0));
    }
    for (uint64_t round = 0; round < 4; round++) {
        for (uint64_t i = 0; i < 40; i++) {
            ids[i] = fixture_id(round * 40 + i);
        }
        assert_ok(granary_object_get_many(client, ids, 40, 0, views, NULL));
        for (uint64_t i = 0; i < 40; i++) {
            assert_true(fixture_content_is(views[i].data, round * 40 + i, MIB));
        }
        granary_object_release_many(client, views, 40);
    }
    granary_disconnect(client);
}

#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(four_times_the_budget_comes_back_byte_for_byte),
        STORE_TEST(small_objects_spill_too),
        STORE_TEST(a_large_object_spills_and_returns),
        STORE_TEST(what_is_held_makes_a_put_fail_and_lets_go),
        STORE_TEST(get_some_leases_what_there_is_room_for),
        STORE_TEST(who_waits_for_memory_lets_the_store_sleep),
        STORE_TEST(a_timeout_holds_for_what_is_spilled),
        STORE_TEST(a_pinned_object_stays_in_memory),
        STORE_TEST(several_spilled_ones_are_got_together),
    };

    return cmocka_run_group_tests_name("spill", tests, NULL, NULL);
}
