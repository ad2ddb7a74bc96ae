/* Many objects at once, options, sizes that change, waiting for some of many, hints and digests. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fixture.h"

#include "base/clock.h"

#define MIB ((uint64_t)1 << 20)

static void
fixture_ids(granary_id *ids, uint64_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ids[i] = fixture_id(first + i);
    }
}

/* ---- many ---- */

static void
many_are_deleted_with_one_wait(void **state)
{
    enum { COUNT = 5000 }; /* several times around the ring */
    granary_client *client = fixture_connect(state);
    granary_err *errs = calloc(COUNT, sizeof *errs);
    granary_id *ids = calloc(COUNT, sizeof *ids);
    char text[GRANARY_ID_TEXT + 1];

    fixture_ids(ids, 0, COUNT);
    for (uint64_t i = 0; i < COUNT; i++) {
        assert_ok(fixture_put(client, i, 100, GRANARY_NOWAIT));
    }
    assert_ok(granary_object_delete_many(client, ids, COUNT, NULL));
    assert_int_equal(fixture_stat(client).objects, 0);

    for (uint64_t i = 0; i < COUNT; i += 2) {
        assert_ok(fixture_put(client, i, 100, GRANARY_NOWAIT));
    }
    assert_err(granary_object_delete_many(client, ids, COUNT, errs), GRANARY_ENOENT);
    granary_id_format(ids[1], text);
    assert_non_null(strstr(granary_error_message(), text));
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(errs[i], i % 2 == 0 ? GRANARY_OK : GRANARY_ENOENT);
    }
    assert_ok(granary_flush(client)); /* what was told to the caller is not told again */
    assert_ok(granary_object_delete_many(client, NULL, 0, NULL));
    ids[1] = ids[0];
    assert_ok(fixture_put(client, 0, 1, 0));
    assert_err(granary_object_delete_many(client, ids, 2, errs), GRANARY_ENOENT);
    assert_int_equal(errs[0], GRANARY_OK);
    free(ids);
    free(errs);
    granary_disconnect(client);
}

static void
a_delete_of_many_ends_when_the_store_is_gone(void **state)
{
    granary_client *client;
    granary_id ids[100];
    granary_err errs[100];
    granary_connect_options options = {.instance = ((const struct daemon *)*state)->directory, .reconnect_ms = -1};

    assert_ok(granary_connect(&options, &client));
    fixture_ids(ids, 0, 100);
    daemon_kill(*state);
    assert_err(granary_object_delete_many(client, ids, 100, errs), GRANARY_EUNREACHABLE);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(errs[i], GRANARY_EUNREACHABLE);
    }
    granary_disconnect(client);
}

static void
many_are_got_all_or_none(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_view views[64];
    granary_id ids[64];
    size_t failed = 99;

    fixture_ids(ids, 0, 64);
    for (uint64_t i = 0; i < 63; i++) {
        assert_ok(fixture_put(client, i, 1000 + i, 0));
    }
    memset(views, 0x5a, sizeof views);
    assert_err(granary_object_get_many(client, ids, 64, 0, views, &failed), GRANARY_ENOENT);
    assert_int_equal(failed, 63);
    for (size_t i = 0; i < sizeof views; i++) { /* on failure nothing is touched */
        assert_int_equal(((unsigned char *)views)[i], 0x5a);
    }
    for (uint64_t i = 0; i < 63; i++) { /* and nothing is leased */
        assert_ok(granary_object_delete(client, fixture_id(i), 0));
    }
    assert_int_equal(fixture_stat(client).retiring_bytes, 0);

    for (uint64_t i = 0; i < 63; i++) {
        assert_ok(fixture_put(client, i, 1000 + i, 0));
    }
    ids[63] = ids[0]; /* the same one twice */
    assert_ok(granary_object_get_many(client, ids, 64, 0, views, &failed));
    assert_int_equal(failed, 63);
    for (uint64_t i = 0; i < 64; i++) {
        assert_int_equal(views[i].data_size, 1000 + i % 63);
        assert_true(fixture_content_is(views[i].data, i % 63, 1000 + i % 63));
    }
    granary_object_release_many(client, views, 64);
    assert_ok(granary_object_get_many(client, ids, 0, 0, views, NULL));
    granary_disconnect(client);
}

/* ---- options and hints ---- */

static void
options_and_hints_are_kept(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_object_options options = {.importance = 7, .next_use = 9};
    granary_object_info info;
    granary_buffer buffer;

    assert_ok(granary_object_put_with(client, fixture_id(1), "abc", 3, NULL, 0, &options, 0));
    assert_ok(granary_object_info_get(client, fixture_id(1), &info));
    assert_int_equal(info.importance, 7);
    assert_int_equal(info.next_use, 9);
    assert_int_equal(info.levels, GRANARY_LEVEL_MEMORY);
    assert_true(info.serial > 0);
    assert_true(info.segment > 0);
    assert_false(info.persistent || info.counted || info.dropped || info.damaged);

    assert_ok(granary_object_hint(client, fixture_id(1), -1, 255));
    assert_ok(granary_object_info_get(client, fixture_id(1), &info));
    assert_int_equal(info.importance, 7);
    assert_int_equal(info.next_use, 255);
    assert_ok(granary_object_hint(client, fixture_id(1), 0, -1));
    assert_ok(granary_object_info_get(client, fixture_id(1), &info));
    assert_int_equal(info.importance, 0);
    assert_int_equal(info.next_use, 255);

    assert_err(granary_object_hint(client, fixture_id(2), 1, 1), GRANARY_ENOENT);
    assert_err(granary_object_hint(client, fixture_id(1), 256, 1), GRANARY_EINVAL);
    assert_err(granary_object_hint(client, fixture_id(1), 1, -2), GRANARY_EINVAL);
    options.importance = 256;
    assert_err(granary_object_create_with(client, fixture_id(2), 1, 0, &options, &buffer), GRANARY_EINVAL);
    options = (granary_object_options){.persist = 64};
    assert_err(granary_object_create_with(client, fixture_id(2), 1, 0, &options, &buffer), GRANARY_EINVAL);
    options = (granary_object_options){.contains_count = 1};
    assert_err(granary_object_create_with(client, fixture_id(2), 1, 0, &options, &buffer), GRANARY_EINVAL);
    assert_ok(granary_object_create_with(client, fixture_id(2), 1, 0, NULL, &buffer));
    assert_ok(granary_object_seal(client, &buffer));
    granary_disconnect(client);
}

static void
a_digest_is_that_of_the_bytes(void **state)
{
    granary_client *client = fixture_connect(state);
    char digest[33];

    assert_ok(granary_object_put(client, fixture_id(1), "granary", 7, "meta", 4, 0));
    assert_ok(granary_object_digest(client, fixture_id(1), 0, digest));
    assert_string_equal(digest, "c67b49b58d847ccf99fb21a9e5815fd0"); /* as `printf granary | xxh128sum` says */
    assert_ok(granary_object_put(client, fixture_id(2), NULL, 0, NULL, 0, 0));
    assert_ok(granary_object_digest(client, fixture_id(2), 0, digest));
    assert_string_equal(digest, "99aa06d3014798d86001c324468d497f");
    assert_err(granary_object_digest(client, fixture_id(3), 0, digest), GRANARY_ENOENT);
    granary_disconnect(client);
}

static void
impossible_moves_are_refused(void **state)
{
    granary_client *client = fixture_connect(state);

    assert_ok(fixture_put(client, 1, 100, 0));
    assert_err(granary_object_move(client, fixture_id(1), 0, 0, 0), GRANARY_EINVAL);
    assert_err(granary_object_move(client, fixture_id(1), 16, 0, 0), GRANARY_EINVAL);
    assert_err(granary_object_move(client, fixture_id(1), GRANARY_LEVEL_DISK, GRANARY_LEVEL_DISK, 0), GRANARY_EINVAL);
    granary_disconnect(client);
}

/* ---- sizes that change ---- */

static void
a_buffer_grows_and_shrinks(void **state)
{
    granary_client *client = fixture_connect(state);
    unsigned seed = 1;

    for (uint64_t n = 0; n < 30; n++) {
        uint64_t size = (uint64_t)rand_r(&seed) % 1000;
        granary_buffer buffer, between;
        granary_view view;

        assert_ok(granary_object_create(client, fixture_id(n), size, 10, 1000, &buffer));
        memcpy(buffer.meta, "0123456789", 10);
        fixture_fill(buffer.data, n, size);
        for (int step = 0; step < 12; step++) {
            uint64_t limit = (uint64_t)1 << (step + 12); /* up to 8 MiB: into a room of its own */
            uint64_t next = (uint64_t)rand_r(&seed) % limit;

            if (step % 3 == 1) { /* it is not the last one any more */
                assert_ok(granary_object_create(client, fixture_id(1000 + n), 100, 0, 1000, &between));
            }
            assert_ok(granary_buffer_resize(client, &buffer, next, 5000));
            assert_int_equal(buffer.data_size, next);
            assert_int_equal((uintptr_t)buffer.data % 64, 0);
            assert_memory_equal(buffer.meta, "0123456789", 10);
            assert_true(fixture_content_is(buffer.data, n, next < size ? next : size) || next < 8);
            fixture_fill(buffer.data, n, next);
            size = next;
            if (step % 3 == 1) {
                granary_object_abort(client, &between);
            }
        }
        assert_ok(granary_object_seal(client, &buffer));
        assert_err(granary_buffer_resize(client, &buffer, 1, 0), GRANARY_ESTATE);
        assert_ok(granary_object_get(client, fixture_id(n), 0, &view));
        assert_int_equal(view.data_size, size);
        assert_true(fixture_content_is(view.data, n, size));
        assert_memory_equal(view.meta, "0123456789", 10);
        granary_object_release(client, &view);
        assert_ok(granary_object_delete(client, fixture_id(n), 0));
    }
    granary_disconnect(client);
}

static void
growing_ahead_moves_a_few_times_only(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_store_stat stat;
    granary_buffer buffer;
    unsigned moves = 0;

    assert_ok(granary_object_create(client, fixture_id(1), 1, 0, 1000, &buffer));
    for (uint64_t size = 4096; size <= 24 * MIB; size += 4096) {
        const void *before = buffer.data;

        assert_ok(granary_buffer_resize(client, &buffer, size, 5000));
        memset((char *)buffer.data + size - 4096, (int)(size >> 12), 4096);
        moves += buffer.data != before;
    }
    assert_true(moves < 16);
    for (uint64_t size = 4096; size <= 24 * MIB; size += 4096) {
        assert_int_equal(((unsigned char *)buffer.data)[size - 1], (unsigned char)(size >> 12));
    }
    assert_ok(granary_buffer_resize(client, &buffer, 4096, 0));
    assert_ok(granary_object_seal(client, &buffer));
    assert_ok(granary_flush(client)); /* the store was told that the room is not needed any more */
    stat = fixture_stat(client);
    assert_int_equal(stat.sealed_bytes, 4096);
    assert_true(stat.writing_bytes <= 2 * MIB);
    granary_disconnect(client);
}

static void
a_failed_resize_leaves_the_buffer(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_buffer buffer, before;

    assert_ok(granary_object_create(client, fixture_id(1), 1000, 0, 1000, &buffer));
    fixture_fill(buffer.data, 1, 1000);
    before = buffer;
    assert_err(granary_buffer_resize(client, &buffer, (uint64_t)1 << 30, 0), GRANARY_EFULL);
    assert_err(granary_buffer_resize(client, &buffer, UINT64_MAX, 0), GRANARY_EINVAL);
    assert_memory_equal(&before, &buffer, sizeof buffer);
    assert_ok(granary_object_seal(client, &buffer));
    fixture_check(client, 1, 1000);
    granary_disconnect(client);
}

/* ---- waiting ---- */

struct putter {
    granary_client *client;
    uint64_t first, count;
};

static void *
put_slowly(void *context)
{
    const struct putter *putter = context;

    for (uint64_t i = 0; i < putter->count; i++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        if (fixture_put(putter->client, putter->first + i, 100, 0) != GRANARY_OK) {
            abort();
        }
    }
    return NULL;
}

static void
wait_for(granary_client *client, granary_client *other, uint64_t first, size_t count, size_t least)
{
    struct putter putter = {other, first, count};
    granary_id *ids = calloc(count, sizeof *ids);
    bool *there = calloc(count, sizeof *there);
    pthread_t thread;
    size_t found = 0;

    fixture_ids(ids, first, count);
    assert_int_equal(pthread_create(&thread, NULL, put_slowly, &putter), 0);
    assert_ok(granary_object_wait(client, ids, count, least, 20000, there));
    for (size_t i = 0; i < count; i++) {
        found += there[i];
        assert_true(!there[i] || granary_object_contains(client, ids[i]));
    }
    assert_true(found >= least);
    assert_int_equal(pthread_join(thread, NULL), 0);
    free(ids);
    free(there);
}

static void
any_and_all_are_waited_for(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);

    wait_for(client, other, 0, 1, 1);
    wait_for(client, other, 100, 10, 1);
    wait_for(client, other, 200, 10, 10);
    wait_for(client, other, 1000, 300, 300); /* more words than can be slept on */
    wait_for(client, other, 2000, 300, 1);
    granary_disconnect(other);
    granary_disconnect(client);
}

static void
waits_end(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_client *other = fixture_connect(state);
    granary_id ids[3];
    bool there[3] = {true, false, true};

    fixture_ids(ids, 0, 3);
    assert_ok(fixture_put(other, 1, 10, 0));
    assert_err(granary_object_wait(client, ids, 3, 2, 0, there), GRANARY_ETIMEDOUT);
    assert_false(there[0]);
    assert_true(there[1]);
    assert_false(there[2]);
    assert_err(granary_object_wait(client, ids, 3, 2, 30, NULL), GRANARY_ETIMEDOUT);
    assert_err(granary_object_wait(client, ids, 3, 4, 0, NULL), GRANARY_EINVAL);
    assert_ok(granary_object_wait(client, ids, 3, 1, 0, NULL));
    assert_ok(granary_object_wait(client, NULL, 0, 0, 0, NULL));
    ids[0] = ids[2] = ids[1]; /* the same one counts each time it is named */
    assert_ok(granary_object_wait(client, ids, 3, 3, 0, there));
    assert_ok(granary_object_delete(client, ids[1], 0));
    assert_err(granary_object_wait(client, ids, 3, 1, 0, NULL), GRANARY_ETIMEDOUT);
    granary_disconnect(other);
    granary_disconnect(client);
}

/* ---- each for itself ---- */

static void
what_is_not_there_keeps_nothing_back(void **state)
{
    enum { COUNT = 300 };
    granary_client *client = fixture_connect(state);
    granary_view views[COUNT];
    granary_err errs[COUNT];
    granary_id ids[COUNT];

    fixture_ids(ids, 0, COUNT);
    for (uint64_t n = 0; n < COUNT; n++) {
        if (n % 3 == 0) {
            assert_ok(fixture_put(client, n, 1000 + n, GRANARY_NOWAIT));
        } else if (n % 3 == 1) {
            assert_ok(granary_object_put_error(client, ids[n], GRANARY_EFAILED, "it broke"));
        }
    }
    assert_ok(granary_flush(client));
    for (int round = 0; round < 2; round++) {
        assert_ok(granary_object_get_each(client, ids, COUNT, round == 0 ? 0 : 20, views, errs));
        for (uint64_t n = 0; n < COUNT; n++) {
            granary_err missing = round == 0 ? GRANARY_ENOENT : GRANARY_ETIMEDOUT;

            assert_int_equal(errs[n], n % 3 == 0 ? GRANARY_OK : n % 3 == 1 ? GRANARY_EFAILED : missing);
            assert_true((views[n].data != NULL) == (n % 3 == 0));
            assert_true(n % 3 != 0 || views[n].data_size == 1000 + n);
        }
        granary_object_release_many(client, views, COUNT);
    }
    assert_err(granary_object_get_each(client, ids, COUNT, -7, views, errs), GRANARY_EINVAL);
    assert_ok(granary_object_get_each(client, NULL, 0, 0, views, errs));
    granary_disconnect(client);
}

/* Spilled ones are brought back while others are known to be missing. */
static void
each_of_many_comes_back(void **state)
{
    enum { COUNT = 40 };
    granary_client *client = fixture_connect(state);
    granary_view views[2];
    granary_err errs[2];
    granary_id ids[2];

    for (uint64_t n = 0; n < COUNT; n++) {
        assert_ok(fixture_put(client, n, 4 * MIB, 0)); /* of 64 MiB */
    }
    for (uint64_t n = 0; n < COUNT; n++) {
        ids[0] = fixture_id(n);
        ids[1] = fixture_id(COUNT + n);
        assert_ok(granary_object_get_each(client, ids, 2, 0, views, errs));
        assert_int_equal(errs[0], GRANARY_OK);
        assert_int_equal(views[0].data_size, 4 * MIB);
        assert_int_equal(errs[1], GRANARY_ENOENT);
        granary_object_release_many(client, views, 2);
    }
    granary_disconnect(client);
}

/* ---- memory given up, and trees deleted ---- */

static bool
in_memory(granary_client *client, uint64_t n)
{
    granary_object_info info;

    assert_ok(granary_object_info_get(client, fixture_id(n), &info));
    return info.state == GRANARY_OBJECT_SEALED;
}

static void
the_least_important_are_evicted(void **state)
{
    granary_client *client = fixture_connect(state);
    granary_view view;
    uint64_t freed = 0;

    for (uint64_t n = 0; n < 8; n++) {
        assert_ok(fixture_put(client, n, MIB, 0));
        assert_ok(granary_object_hint(client, fixture_id(n), n % 2 == 0 ? 1 : 5, -1));
    }
    assert_ok(granary_object_pin(client, fixture_id(0), GRANARY_PIN_CLIENT));
    assert_ok(granary_object_get(client, fixture_id(2), 0, &view));
    assert_ok(granary_evict(client, MIB + 1, 20000, &freed));
    assert_true(freed >= 2 * MIB && freed < 3 * MIB);
    for (uint64_t n = 0; n < 8; n++) { /* 0 is pinned, 2 is leased */
        assert_int_equal(in_memory(client, n), n != 4 && n != 6);
    }
    assert_ok(granary_evict(client, 100 * MIB, 20000, &freed));
    assert_true(freed >= 4 * MIB && freed < 5 * MIB);
    for (uint64_t n = 0; n < 8; n++) {
        assert_int_equal(in_memory(client, n), n == 0 || n == 2);
    }
    granary_object_release(client, &view);
    fixture_check(client, 7, MIB); /* and come back */
    assert_ok(granary_evict(client, 0, 0, &freed));
    assert_int_equal(freed, 0);
    granary_disconnect(client);
}

static void
await_gone(granary_client *client, uint64_t n)
{
    int64_t end = gr_deadline_ns(60000);

    while (granary_object_contains(client, fixture_id(n))) {
        assert_true(gr_now_ns() < end);
    }
}

static void
a_tree_is_deleted_whole(void **state)
{
    granary_client *client = fixture_connect(state);
    size_t count = 7;

    /* 20 contains 10 and 11; 10 contains 0, 1; 11 contains 1, 2; 21 contains 2 and 3. */
    static const uint64_t parents[][3] = {{10, 0, 1}, {11, 1, 2}, {20, 10, 11}, {21, 2, 3}};

    for (uint64_t n = 0; n < 4; n++) {
        assert_ok(fixture_put(client, n, 100, 0));
    }
    for (size_t i = 0; i < 4; i++) {
        granary_id contents[] = {fixture_id(parents[i][1]), fixture_id(parents[i][2])};
        granary_object_options options = {.contains = contents, .contains_count = 2};

        assert_ok(granary_object_put_with(client, fixture_id(parents[i][0]), "x", 1, NULL, 0, &options, 0));
    }
    assert_ok(granary_object_delete_tree(client, fixture_id(20), &count));
    assert_int_equal(count, 6);
    for (size_t i = 0; i < 5; i++) {
        await_gone(client, (const uint64_t[]){0, 1, 10, 11, 20}[i]);
    }
    assert_true(granary_object_contains(client, fixture_id(2)) && granary_object_contains(client, fixture_id(3)));
    assert_true(granary_object_contains(client, fixture_id(21)));
    assert_err(granary_object_delete_tree(client, fixture_id(20), &count), GRANARY_ENOENT);
    assert_int_equal(count, 0);
    assert_ok(granary_object_delete_tree(client, fixture_id(3), &count)); /* held by 21, as 2 is */
    assert_ok(granary_object_delete_tree(client, fixture_id(21), &count));
    await_gone(client, 2);
    await_gone(client, 3);
    granary_disconnect(client);
}

int
main(void)
{
#define STORE_TEST(f) cmocka_unit_test_setup_teardown(f, fixture_start, fixture_stop)
    const struct CMUnitTest tests[] = {
        STORE_TEST(many_are_deleted_with_one_wait),
        STORE_TEST(a_delete_of_many_ends_when_the_store_is_gone),
        STORE_TEST(many_are_got_all_or_none),
        STORE_TEST(options_and_hints_are_kept),
        STORE_TEST(a_digest_is_that_of_the_bytes),
        STORE_TEST(impossible_moves_are_refused),
        STORE_TEST(a_buffer_grows_and_shrinks),
        STORE_TEST(growing_ahead_moves_a_few_times_only),
        STORE_TEST(a_failed_resize_leaves_the_buffer),
        STORE_TEST(any_and_all_are_waited_for),
        STORE_TEST(waits_end),
        STORE_TEST(what_is_not_there_keeps_nothing_back),
        STORE_TEST(each_of_many_comes_back),
        STORE_TEST(the_least_important_are_evicted),
        STORE_TEST(a_tree_is_deleted_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
