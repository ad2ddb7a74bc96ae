/* Objects: put, get, release, delete, list, info, find, pin, as one and several processes see them. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"

static void
what_was_put_is_got(void **state)
{
    static const uint64_t sizes[] = {0, 1, 63, 64, 65, 4095, 4096, 100000, 1 << 20, (8 << 20) - 64, 8 << 20, 20 << 20};
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);

    for (uint64_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        granary_view view;

        assert_ok(fixture_put(client, i, sizes[i], 0));
        assert_ok(granary_object_get(other, fixture_id(i), 0, &view));
        assert_non_null(view.data);
        assert_int_equal((uintptr_t)view.data % 64, 0);
        assert_null(view.meta);
        granary_object_release(other, &view);
        assert_int_equal(view.lease, 0);
        granary_object_release(other, &view); /* a second time does nothing */
        fixture_check(other, i, sizes[i]);
        fixture_check(client, i, sizes[i]);
        assert_ok(granary_object_delete(client, fixture_id(i), 0));
        assert_err(granary_object_get(other, fixture_id(i), 0, &view), GRANARY_ENOENT);
        assert_false(granary_object_contains(other, fixture_id(i)));
    }
    granary_disconnect(other);
    (void)fixture_stat(client);
    granary_disconnect(client);
}

static void
metadata_lies_behind_the_data(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_view view;

    assert_ok(granary_object_put(client, fixture_id(1), "data", 4, "metadata", 8, 0));
    assert_ok(granary_object_get(client, fixture_id(1), 0, &view));
    assert_int_equal(view.data_size, 4);
    assert_int_equal(view.meta_size, 8);
    assert_memory_equal(view.data, "data", 4);
    assert_memory_equal(view.meta, "metadata", 8);
    assert_int_equal((uintptr_t)view.meta % 64, 0);
    granary_object_release(client, &view);

    assert_ok(granary_object_put(client, fixture_id(2), NULL, 0, "m", 1, 0));
    assert_ok(granary_object_get(client, fixture_id(2), 0, &view));
    assert_non_null(view.data);
    assert_memory_equal(view.meta, "m", 1);
    granary_object_release(client, &view);
    granary_disconnect(client);
}

static void
nonsense_is_refused(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_buffer buffer;
    granary_buffer copy;

    assert_err(granary_object_create(client, (granary_id){{0}}, 1, 0, 0, &buffer), GRANARY_EINVAL);
    assert_err(granary_object_create(client, fixture_id(1), UINT64_MAX, 0, 0, &buffer), GRANARY_EINVAL);
    assert_err(granary_object_create(client, fixture_id(1), 0, (uint64_t)2 << 30, 0, &buffer), GRANARY_EINVAL);
    assert_err(granary_object_create(client, fixture_id(1), (uint64_t)1 << 30, 0, -1, &buffer), GRANARY_EFULL);
    assert_err(granary_object_delete(client, fixture_id(1), 0), GRANARY_ENOENT);
    assert_err(granary_object_pin(client, fixture_id(1), GRANARY_PIN_CLIENT), GRANARY_ENOENT);
    assert_err(granary_object_unpin(client, fixture_id(1), GRANARY_PIN_CLIENT), GRANARY_ENOENT);
    assert_err(granary_object_pin(client, fixture_id(1), (granary_pin_scope)7), GRANARY_EINVAL);

    assert_ok(granary_object_create(client, fixture_id(1), 10, 0, 0, &buffer));
    copy = buffer;
    assert_ok(granary_object_seal(client, &buffer));
    assert_err(granary_object_seal(client, &buffer), GRANARY_ESTATE);
    granary_object_abort(client, &buffer);
    (void)copy;
    granary_disconnect(client);
    granary_disconnect(NULL);
}

static void
the_first_seal_wins(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_buffer mine;
    granary_buffer theirs;

    assert_ok(granary_object_create(client, fixture_id(1), 100, 0, 0, &mine));
    assert_ok(granary_object_create(other, fixture_id(1), 200, 0, 0, &theirs));
    fixture_fill(theirs.data, 1, 200);
    assert_ok(granary_object_seal(other, &theirs));
    assert_err(granary_object_seal(client, &mine), GRANARY_EEXIST);
    assert_err(granary_object_create(client, fixture_id(1), 100, 0, 0, &mine), GRANARY_EEXIST);
    fixture_check(client, 1, 200);

    assert_ok(fixture_put(client, 2, 10, GRANARY_NOWAIT));
    assert_ok(granary_flush(client));
    assert_ok(granary_object_create(client, fixture_id(3), 10, 0, 0, &mine));
    assert_ok(fixture_put(other, 3, 10, 0));
    assert_err(granary_object_seal(client, &mine), GRANARY_EEXIST);
    granary_disconnect(other);
    granary_disconnect(client);
}

static void
a_flush_reports_the_first_error(void **state)
{
    granary_client *client = fixture_connect(state);
    char text[GRANARY_ID_TEXT + 1];

    assert_ok(granary_object_delete(client, fixture_id(77), GRANARY_NOWAIT));
    for (uint64_t i = 0; i < 5000; i++) { /* several times around the ring */
        assert_ok(fixture_put(client, i, 100, GRANARY_NOWAIT));
    }
    granary_id_format(fixture_id(77), text);
    assert_err(granary_flush(client), GRANARY_ENOENT);
    assert_non_null(strstr(granary_error_message(), text));
    assert_ok(granary_flush(client));
    for (uint64_t i = 0; i < 5000; i++) {
        fixture_check(client, i, 100);
    }
    granary_disconnect(client);
}

static void
an_aborted_object_never_was(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_buffer small;
    granary_buffer large;

    assert_ok(granary_object_create(client, fixture_id(1), 1000, 0, 0, &small));
    assert_ok(granary_object_create(client, fixture_id(2), 16 << 20, 0, 0, &large));
    assert_false(granary_object_contains(other, fixture_id(1)));
    assert_true(fixture_stat(other).writing_bytes >= 16 << 20);
    granary_object_abort(client, &small);
    granary_object_abort(client, &large);
    assert_false(granary_object_contains(client, fixture_id(1)));
    granary_disconnect(client);
    fixture_settle(other, 1);
    assert_int_equal(fixture_stat(other).sealed_bytes, 0);
    granary_disconnect(other);
}

/*
 * A buffer is a struct, and may be copied: what was sealed through one copy is not given back, and so written again,
 * through another; nor does an old copy give back what was created in its place.
 */
static void
copies_of_a_buffer_are_one_buffer(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_buffer copy;
    granary_buffer first;
    granary_buffer next;

    assert_ok(granary_object_create(client, fixture_id(1), 1000, 0, 0, &first));
    fixture_fill(first.data, 1, 1000);
    copy = first;
    assert_ok(granary_object_seal(client, &copy));
    assert_err(granary_object_seal(client, &first), GRANARY_ESTATE);
    assert_err(granary_buffer_resize(client, &first, 10, 0), GRANARY_ESTATE);
    granary_object_abort(client, &first);
    assert_ok(granary_object_create(client, fixture_id(2), 1000, 0, 0, &next));
    memset(next.data, 0xff, 1000);
    fixture_check(client, 1, 1000);

    copy = next;
    granary_object_abort(client, &next);
    assert_ok(granary_object_create(client, fixture_id(3), 1000, 0, 0, &next)); /* where that one was */
    granary_object_abort(client, &copy);
    assert_err(granary_object_seal(client, &copy), GRANARY_ESTATE);

    copy = next;
    assert_ok(granary_buffer_resize(client, &next, 500, 0));
    assert_err(granary_object_seal(client, &copy), GRANARY_ESTATE);
    assert_ok(granary_buffer_resize(client, &next, 5000000, 0));
    fixture_fill(next.data, 3, 5000000);
    assert_ok(granary_object_seal(client, &next));
    fixture_check(client, 3, 5000000);
    granary_disconnect(client);
}

/* More unsealed at once than are written down at first, sealed and aborted in another order than created. */
static void
many_objects_are_open_at_once(void **state)
{
    enum { COUNT = 5000 };
    granary_client *client = fixture_connect(state);
    granary_buffer *buffers = calloc(COUNT, sizeof *buffers);

    for (uint64_t i = 0; i < COUNT; i++) {
        assert_ok(granary_object_create(client, fixture_id(i), 100, 0, 0, &buffers[i]));
        fixture_fill(buffers[i].data, i, 100);
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t n = i * 7 % COUNT;

        if (n % 3 == 0) {
            granary_object_abort(client, &buffers[n]);
        } else {
            assert_ok(granary_object_seal(client, &buffers[n]));
        }
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        if (i % 3 == 0) {
            assert_false(granary_object_contains(client, fixture_id(i)));
        } else {
            fixture_check(client, i, 100);
        }
    }
    free(buffers);
    granary_disconnect(client);
}

static void
a_get_waits_for_a_put_of_another_process(void **state)
{
    pid_t child = fork();

    if (child == 0) {
        granary_client *client = fixture_connect(state);
        granary_view view;
        bool good;

        /* The parent puts 1 when it sees 0. */
        good = fixture_put(client, 0, 8, 0) == GRANARY_OK &&
               granary_object_get(client, fixture_id(1), GRANARY_FOREVER, &view) == GRANARY_OK &&
               fixture_content_is(view.data, 1, 1000);
        granary_disconnect(client);
        _exit(good ? 0 : 1);
    }
    granary_client *client = fixture_connect(state);

    fixture_check(client, 0, 8);
    assert_ok(fixture_put(client, 1, 1000, 0));
    assert_int_equal(fixture_wait(child), 0);
    granary_disconnect(client);
}

static void
a_get_gives_up_in_time(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_view view;

    assert_err(granary_object_get(client, fixture_id(1), 0, &view), GRANARY_ENOENT);
    assert_err(granary_object_get(client, fixture_id(1), 20, &view), GRANARY_ETIMEDOUT);
    assert_non_null(strstr(granary_error_message(), "not there in time, which was 0."));
    granary_disconnect(client);
}

static void
several_are_got_all_or_none(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_view views[100];
    granary_id ids[100];
    size_t failed = 0;

    for (uint64_t i = 0; i < 100; i++) {
        ids[i] = fixture_id(i % 99); /* the last is the first again */
        if (i < 99) {
            assert_ok(fixture_put(client, i, i * 10, 0));
        }
    }
    assert_ok(granary_object_get_many(other, ids, 100, 0, views, &failed));
    for (uint64_t i = 0; i < 100; i++) {
        assert_memory_equal(&views[i].id, &ids[i], sizeof ids[i]);
        assert_true(fixture_content_is(views[i].data, i % 99, views[i].data_size));
    }
    granary_object_release_many(other, views, 100);

    ids[42] = fixture_id(1000);
    assert_err(granary_object_get_many(other, ids, 100, 0, views, &failed), GRANARY_ENOENT);
    assert_int_equal(failed, 42);
    assert_err(granary_object_get_many(other, ids, 100, 10, views, NULL), GRANARY_ETIMEDOUT);
    for (uint64_t i = 0; i < 99; i++) { /* nothing is leased: every byte is given back */
        assert_ok(granary_object_delete(client, fixture_id(i), 0));
    }
    assert_int_equal(fixture_stat(client).retiring_bytes, 0);
    assert_ok(granary_object_get_many(other, ids, 0, 0, views, NULL));
    granary_disconnect(other);
    granary_disconnect(client);
}

static void
listings_show_what_is_there(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_object_info *infos = NULL;
    granary_object_info info;
    size_t count = 7;
    uint64_t seen = 0;

    assert_ok(granary_object_list(client, &infos, &count));
    assert_int_equal(count, 0);
    assert_null(infos);
    for (uint64_t i = 0; i < 20000; i++) { /* enough for the index to grow */
        assert_ok(fixture_put(client, i, i % 50, GRANARY_NOWAIT));
    }
    assert_ok(granary_flush(client));
    assert_ok(granary_object_list(client, &infos, &count));
    assert_int_equal(count, 20000);
    for (size_t i = 0; i < count; i++) {
        seen += infos[i].data_size;
        assert_int_equal(infos[i].state, GRANARY_OBJECT_SEALED);
    }
    assert_int_equal(seen, 20000 / 50 * (49 * 50 / 2));
    free(infos);

    assert_ok(granary_object_info_get(client, fixture_id(30), &info));
    assert_int_equal(info.data_size, 30);
    assert_int_equal(info.meta_size, 0);
    assert_int_equal(info.pins, 0);
    assert_false(info.on_disk);
    assert_true(info.sealed_at_ms > 1600000000000);
    assert_err(granary_object_info_get(client, fixture_id(20000), &info), GRANARY_ENOENT);
    assert_int_equal(fixture_stat(client).objects, 20000);
    granary_disconnect(client);
}

static void
a_prefix_finds_one_object(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_id ids[2];
    granary_id id;

    assert_ok(granary_id_parse("ab010000000000000000000000000000", 32, &ids[0]));
    assert_ok(granary_id_parse("ab020000000000000000000000000000", 32, &ids[1]));
    assert_err(granary_object_find(client, "ab01", &id), GRANARY_ENOENT);
    assert_ok(granary_object_put(client, ids[0], "x", 1, NULL, 0, 0));
    assert_ok(granary_object_put(client, ids[1], "x", 1, NULL, 0, 0));
    assert_ok(granary_object_find(client, "AB01", &id));
    assert_memory_equal(&id, &ids[0], sizeof id);
    assert_ok(granary_object_find(client, "ab020000000000000000000000000000", &id));
    assert_memory_equal(&id, &ids[1], sizeof id);
    assert_err(granary_object_find(client, "ab", &id), GRANARY_EINVAL);
    assert_err(granary_object_find(client, "", &id), GRANARY_EINVAL);
    assert_err(granary_object_find(client, "xy", &id), GRANARY_EINVAL);
    assert_err(granary_object_find(client, "ab0200000000000000000000000000000", &id), GRANARY_EINVAL);
    assert_err(granary_object_find(client, "ff", &id), GRANARY_ENOENT);
    assert_err(granary_object_find(client, "AB030000000000000000000000000000", &id), GRANARY_ENOENT);
    assert_ok(granary_object_delete(client, ids[1], 0));
    assert_err(granary_object_find(client, "ab020000000000000000000000000000", &id), GRANARY_ENOENT);
    granary_disconnect(client);
}

static void
pins_count_and_end_with_their_client(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_object_info info;

    assert_ok(fixture_put(client, 1, 100, 0));
    assert_ok(granary_object_pin(client, fixture_id(1), GRANARY_PIN_CLIENT));
    assert_ok(granary_object_pin(client, fixture_id(1), GRANARY_PIN_CLIENT));
    assert_ok(granary_object_pin(other, fixture_id(1), GRANARY_PIN_SESSION));
    assert_ok(granary_object_info_get(other, fixture_id(1), &info));
    assert_int_equal(info.pins, 3);
    assert_err(granary_object_unpin(other, fixture_id(1), GRANARY_PIN_CLIENT), GRANARY_ENOENT);
    assert_ok(granary_object_unpin(client, fixture_id(1), GRANARY_PIN_CLIENT));
    granary_disconnect(client);
    fixture_settle(other, 1);
    assert_ok(granary_object_info_get(other, fixture_id(1), &info));
    assert_int_equal(info.pins, 1);
    assert_ok(granary_object_unpin(other, fixture_id(1), GRANARY_PIN_SESSION));
    assert_err(granary_object_unpin(other, fixture_id(1), GRANARY_PIN_SESSION), GRANARY_ENOENT);
    granary_disconnect(other);
}

static void
sessions_do_not_see_each_other(void **state)
{
    const struct daemon *daemon = *state;
    granary_client *client = fixture_connect(state);
    granary_client *other;

    assert_ok(granary_connect(&(granary_connect_options){.instance = daemon->directory, .session = "other"}, &other));
    assert_ok(fixture_put(client, 1, 100, 0));
    assert_false(granary_object_contains(other, fixture_id(1)));
    assert_ok(fixture_put(other, 1, 200, 0));
    fixture_check(client, 1, 100);
    fixture_check(other, 1, 200);
    granary_disconnect(other);
    granary_disconnect(client);
}

static int
fixture_start_on_one_cpu(void **state)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    return sched_setaffinity(0, sizeof one, &one) == 0 ? fixture_start(state) : -1;
}

static int
fixture_stop_on_one_cpu(void **state)
{
    cpu_set_t all;

    memset(&all, 0xff, sizeof all);
    (void)sched_setaffinity(0, sizeof all, &all);
    return fixture_stop(state);
}

/* Where client and store take turns on one cpu, each is stopped at every point of the doorbell's protocol. */
static void
no_wake_is_lost_on_one_cpu(void **state)
{
    granary_client *client = fixture_connect(state);

    for (uint64_t round = 0; round < 20; round++) {
        for (uint64_t i = 0; i < 20000; i++) {
            assert_ok(fixture_put(client, i, 64, GRANARY_NOWAIT));
        }
        for (uint64_t i = 0; i < 20000; i++) {
            assert_ok(granary_object_delete(client, fixture_id(i), GRANARY_NOWAIT));
        }
        assert_ok(granary_flush(client));
    }
    assert_int_equal(fixture_stat(client).objects, 0);
    granary_disconnect(client);
}

/* How many mappings of shared memory this process has. */
static size_t
count_mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    char line[512];
    size_t count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        count += strstr(line, "/dev/shm/granary.") != NULL;
    }
    (void)fclose(file);
    return count;
}

static void
mappings_of_dead_segments_do_not_pile_up(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);

    for (uint64_t i = 0; i < 600; i++) { /* each larger than the one before: none fits what is warm */
        uint64_t size = ((uint64_t)8 << 20) + i * 4096;
        granary_buffer buffer;
        granary_view view;

        assert_ok(granary_object_create(client, fixture_id(i), size, 0, 10000, &buffer));
        memcpy(buffer.data, &i, sizeof i);
        assert_ok(granary_object_seal(client, &buffer));
        assert_ok(granary_object_get(other, fixture_id(i), 0, &view));
        assert_memory_equal(view.data, &i, sizeof i);
        granary_object_release(other, &view);
        assert_ok(granary_object_delete(client, fixture_id(i), 0));
    }
    assert_in_range(count_mappings(), 1, 2 * 512 + 20);
    granary_disconnect(other);
    granary_disconnect(client);
    assert_int_equal(count_mappings(), 0);
}

#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_was_put_is_got),
        STORE_TEST(metadata_lies_behind_the_data),
        STORE_TEST(nonsense_is_refused),
        STORE_TEST(the_first_seal_wins),
        STORE_TEST(a_flush_reports_the_first_error),
        STORE_TEST(an_aborted_object_never_was),
        STORE_TEST(copies_of_a_buffer_are_one_buffer),
        STORE_TEST(many_objects_are_open_at_once),
        STORE_TEST(a_get_waits_for_a_put_of_another_process),
        STORE_TEST(a_get_gives_up_in_time),
        STORE_TEST(several_are_got_all_or_none),
        STORE_TEST(listings_show_what_is_there),
        STORE_TEST(a_prefix_finds_one_object),
        STORE_TEST(pins_count_and_end_with_their_client),
        STORE_TEST(sessions_do_not_see_each_other),
        cmocka_unit_test_setup_teardown(no_wake_is_lost_on_one_cpu, fixture_start_on_one_cpu, fixture_stop_on_one_cpu),
        STORE_TEST(mappings_of_dead_segments_do_not_pile_up),
    };

    return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
