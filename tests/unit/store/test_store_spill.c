/* What happens to objects below memory: slices, moves, persistence, compaction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "contract/shm.h"
#include "live.h"
#include "object/client.h"
#include "wire/frame.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static granary_store_stat
stat_of(granary_client *client)
{
    granary_store_stat stat;

    assert_int_equal(granary_store_stat_get(client, &stat), GRANARY_OK);
    return stat;
}

/* 0: there is none. */
static granary_object_state
state_of(granary_client *client, granary_id id)
{
    granary_object_info *infos;
    granary_object_state state = 0;
    size_t count;

    assert_int_equal(granary_object_list(client, &infos, &count), GRANARY_OK);
    for (size_t i = 0; i < count; i++) {
        state = memcmp(&infos[i].id, &id, sizeof id) == 0 ? infos[i].state : state;
    }
    free(infos);
    return state;
}

/* Put others until this object has left memory. */
static void
push_out(granary_client *client, uint64_t n)
{
    for (uint64_t other = 1000000; state_of(client, live_id(n)) == GRANARY_OBJECT_SEALED; other++) {
        assert_true(other < 1000200);
        assert_int_equal(live_put(client, other, 256 * KIB), GRANARY_OK);
    }
    for (uint64_t other = 1000000; granary_object_delete(client, live_id(other), 0) == GRANARY_OK; other++) {
    }
}

static granary_err
ask_slice(granary_client *client, uint64_t n, uint64_t offset, uint64_t length, struct gr_slice_reply *ret_reply)
{
    struct gr_slice slice = {.offset = offset, .length = length};
    struct gr_frame_in frame = {.fd_count = 0};
    granary_id id = live_id(n);
    granary_err err;

    memcpy(slice.id, id.bytes, sizeof slice.id);
    socket_take(client);
    err = socket_ask(client, GR_STORE_SLICE, &slice, sizeof slice, 10000, &frame);
    if (err == GRANARY_OK) {
        memcpy(ret_reply, frame.body, sizeof *ret_reply);
    }
    gr_frame_in_reset(&frame);
    socket_give(client);
    return err;
}

/* The slice's bytes are the object's. One that went before it was leased is asked for again: slices are the first to go. */
static void
check_slice(granary_client *client, uint64_t n, size_t size, struct gr_slice_reply *reply, granary_view *ret_view)
{
    char *whole = malloc(size);
    uint64_t bytes = reply->offset + reply->length > size ? size - reply->offset : reply->length;
    granary_view view;
    granary_err err;
    granary_id id;

    memcpy(id.bytes, reply->id, sizeof id.bytes);
    while ((err = granary_object_get(client, id, 0, &view)) == GRANARY_ENOENT) {
        assert_int_equal(ask_slice(client, n, reply->offset, reply->length, reply), GRANARY_OK);
        memcpy(id.bytes, reply->id, sizeof id.bytes);
    }
    assert_int_equal(err, GRANARY_OK);
    live_fill(whole, size, n);
    assert_int_equal(view.data_size, reply->length);
    assert_memory_equal(view.data, whole + reply->offset, bytes);
    free(whole);
    if (ret_view != NULL) {
        *ret_view = view;
    } else {
        granary_object_release(client, &view);
    }
}

static void
a_slice_costs_its_frames(void **state)
{
    const size_t size = 3 * MIB + 100;
    struct live live;
    struct gr_slice_reply reply;
    granary_client *client;
    granary_store_stat before, after;

    (void)state;
    live_start(&live, 8 * MIB, 0);
    client = live_connect(&live, NULL);
    assert_int_equal(live_put(client, 1, size), GRANARY_OK);
    assert_int_equal(ask_slice(client, 1, 0, 1, &reply), GRANARY_ESTATE);
    push_out(client, 1);
    before = stat_of(client);
    for (uint64_t at = 0; at < size; at += 700000) {
        uint64_t length = size - at < 1000 ? size - at : 1000;

        assert_int_equal(ask_slice(client, 1, at, length, &reply), GRANARY_OK);
        assert_true(reply.offset <= at && reply.offset + reply.length >= at + length);
        assert_true(reply.length <= 2 * 256 * KIB);
        check_slice(client, 1, size, &reply, NULL);
        /* It is there: the second one is the same, and costs nothing. */
        assert_int_equal(ask_slice(client, 1, at, length, &reply), GRANARY_OK);
    }
    after = stat_of(client);
    assert_int_equal(after.slices - before.slices, 5);
    assert_true(after.frames_read - before.frames_read <= 6);
    assert_true(after.frame_bytes - before.frame_bytes < 6 * 264 * KIB);
    assert_int_equal(after.restores, before.restores);
    assert_int_equal(after.objects, 1);
    assert_int_equal(state_of(client, live_id(1)), GRANARY_OBJECT_SPILLED);

    assert_int_equal(ask_slice(client, 1, size + 100, 100, &reply), GRANARY_EINVAL);
    assert_int_equal(ask_slice(client, 1, 0, UINT64_MAX, &reply), GRANARY_EINVAL);
    assert_int_equal(ask_slice(client, 1, 5, 0, &reply), GRANARY_EINVAL);
    assert_int_equal(ask_slice(client, 77, 0, 1, &reply), GRANARY_ENOENT);
    assert_int_equal(live_verify(client, 1, size), GRANARY_OK);
    granary_disconnect(client);
    live_stop(&live);
}

/* Slices leave memory before anything else, and without a byte written; they go with their object. */
static void
slices_go_first_and_with_their_object(void **state)
{
    struct live live;
    struct gr_slice_reply reply, other;
    granary_client *client;
    granary_view view;
    granary_id id;

    (void)state;
    live_start(&live, 8 * MIB, 0);
    client = live_connect(&live, NULL);
    assert_int_equal(live_put(client, 1, 4 * MIB), GRANARY_OK);
    push_out(client, 1);
    assert_int_equal(ask_slice(client, 1, MIB, MIB, &reply), GRANARY_OK);
    assert_int_equal(reply.length, MIB);
    memcpy(id.bytes, reply.id, sizeof id.bytes);
    /* It has a moment to be leased, which a fast machine fills with many puts. */
    for (unsigned i = 2; i < 2000 && granary_object_contains(client, id); i++) {
        assert_int_equal(live_put(client, i, MIB), GRANARY_OK);
    }
    assert_false(granary_object_contains(client, id));

    assert_int_equal(ask_slice(client, 1, MIB, MIB, &reply), GRANARY_OK);
    check_slice(client, 1, 4 * MIB, &reply, &view);
    assert_int_equal(ask_slice(client, 1, 0, 10, &other), GRANARY_OK);
    assert_int_equal(granary_object_delete(client, live_id(1), 0), GRANARY_OK);
    assert_false(granary_object_contains(client, id));
    assert_int_equal(ask_slice(client, 1, MIB, MIB, &other), GRANARY_ENOENT);
    assert_int_equal(*(const char *)view.data, *(const char *)view.data); /* still mapped */
    granary_object_release(client, &view);
    granary_disconnect(client);
    live_stop(&live);
}

#define ALL (GRANARY_LEVEL_MEMORY | GRANARY_LEVEL_DISK | GRANARY_LEVEL_REMOTE)

static granary_object_info
info_of(granary_client *client, uint64_t n)
{
    granary_object_info info;

    assert_int_equal(granary_object_info_get(client, live_id(n), &info), GRANARY_OK);
    return info;
}

static void
check_levels(granary_client *client, uint64_t n, granary_levels levels, bool persistent)
{
    granary_object_info info = info_of(client, n);

    assert_int_equal(info.levels, levels);
    assert_int_equal(info.persistent, persistent);
}

static granary_err
move(granary_client *client, uint64_t n, granary_levels to, granary_levels from)
{
    return granary_object_move(client, live_id(n), to, from, 10000);
}

/* Every set of levels an object can be at, reached from every other, with every byte in place. */
static void
objects_move_between_all_levels(void **state)
{
    static const granary_levels sets[] = {2, 4, 8, 6, 10, 12, 14};
    const size_t size = 600 * KIB;
    struct live live;
    granary_client *client;
    uint64_t n = 0;

    (void)state;
    live_start_levels(&live, 32 * MIB, 0, ALL);
    client = live_connect(&live, NULL);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        for (size_t j = 0; j < sizeof sets / sizeof sets[0]; j++) {
            n++;
            assert_int_equal(live_put(client, n, size), GRANARY_OK);
            if (sets[i] != GRANARY_LEVEL_MEMORY) {
                assert_int_equal(move(client, n, sets[i] & ~2u, ~sets[i] & 2u), GRANARY_OK);
            }
            check_levels(client, n, sets[i], (sets[i] & 4) != 0);
            assert_int_equal(move(client, n, sets[j], ~sets[j] & 14u), GRANARY_OK);
            check_levels(client, n, sets[j], (sets[j] & 4) != 0);
            assert_int_equal(live_verify(client, n, size), GRANARY_OK);
            assert_int_equal(granary_object_delete(client, live_id(n), 0), GRANARY_OK);
        }
    }
    assert_int_equal(stat_of(client).disk_bytes, 0);
    assert_int_equal(stat_of(client).remote_bytes, 0);
    granary_disconnect(client);
    live_stop(&live);
}

static void
moves_are_refused_for_a_reason(void **state)
{
    struct live live;
    granary_client *client;
    granary_view view;

    (void)state;
    live_start(&live, 8 * MIB, 0);
    client = live_connect(&live, NULL);
    assert_int_equal(live_put(client, 1, MIB), GRANARY_OK);
    assert_int_equal(move(client, 2, 4, 0), GRANARY_ENOENT);
    assert_int_equal(move(client, 1, GRANARY_LEVEL_REMOTE, 0), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "remote"));
    assert_int_equal(move(client, 1, GRANARY_LEVEL_GPU, 0), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "GPU"));
    assert_int_equal(move(client, 1, 2, 2), GRANARY_EINVAL);
    assert_int_equal(move(client, 1, 0, 2 | 4), GRANARY_EINVAL);
    assert_non_null(strstr(granary_error_message(), "nowhere"));

    assert_int_equal(granary_object_get(client, live_id(1), 0, &view), GRANARY_OK);
    assert_int_equal(move(client, 1, 0, GRANARY_LEVEL_MEMORY), GRANARY_EBUSY);
    assert_int_equal(move(client, 1, GRANARY_LEVEL_DISK, 0), GRANARY_OK); /* a copy is no reason to wait */
    check_levels(client, 1, 6, true);
    granary_object_release(client, &view);
    assert_int_equal(move(client, 1, 0, GRANARY_LEVEL_MEMORY), GRANARY_OK);
    check_levels(client, 1, 4, true);
    assert_int_equal(move(client, 1, 0, GRANARY_LEVEL_DISK), GRANARY_EINVAL);
    assert_int_equal(move(client, 1, GRANARY_LEVEL_MEMORY, GRANARY_LEVEL_DISK), GRANARY_OK);
    check_levels(client, 1, 2, false);
    assert_int_equal(move(client, 1, 0, GRANARY_LEVEL_MEMORY), GRANARY_OK); /* spilled now, and not persistent */
    check_levels(client, 1, 4, false);
    assert_int_equal(live_verify(client, 1, MIB), GRANARY_OK);
    granary_disconnect(client);
    live_stop(&live);
}

/* A move without a timeout is done by the store alone. */
static void
moves_go_on_in_the_background(void **state)
{
    struct live live;
    granary_client *client;
    granary_id id = live_id(1);

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    assert_int_equal(live_put(client, 1, 4 * MIB), GRANARY_OK);
    assert_int_equal(granary_object_move(client, id, GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY, 0), GRANARY_OK);
    for (int64_t end = gr_deadline_ns(60000); info_of(client, 1).levels != GRANARY_LEVEL_DISK;) {
        assert_true(gr_now_ns() < end);
    }
    assert_int_equal(granary_object_prefetch(client, &id, 1), GRANARY_OK);
    for (int64_t end = gr_deadline_ns(60000); info_of(client, 1).levels != 6;) {
        assert_true(gr_now_ns() < end);
    }
    assert_int_equal(stat_of(client).prefetches, 1);
    assert_int_equal(live_verify(client, 1, 4 * MIB), GRANARY_OK);
    assert_int_equal(granary_object_delete(client, id, 0), GRANARY_OK); /* or it would outlive the store */
    granary_disconnect(client);
    live_stop(&live);
}

/* Nearly as large as memory, it leaves less than is kept in hand. It stays all the same, for who waits for it to find it. */
static void
what_has_come_back_is_there(void **state)
{
    const size_t size = 16 * MIB - 64 * KIB;
    struct live live;
    granary_client *client;
    granary_id id = live_id(1);

    (void)state;
    live_start(&live, 16 * MIB, 0);
    client = live_connect(&live, NULL);
    assert_int_equal(live_put(client, 1, size), GRANARY_OK);
    assert_int_equal(move(client, 1, 0, GRANARY_LEVEL_MEMORY), GRANARY_OK);
    assert_int_equal(granary_object_prefetch(client, &id, 1), GRANARY_OK);
    for (int64_t end = gr_deadline_ns(60000); stat_of(client).restores == 0;) {
        assert_true(gr_now_ns() < end);
    }
    for (int i = 0; i < 1000; i++) { /* turns of the store */
        assert_int_equal(info_of(client, 1).levels, GRANARY_LEVEL_MEMORY | GRANARY_LEVEL_DISK);
    }
    assert_int_equal(live_verify(client, 1, size), GRANARY_OK);
    granary_disconnect(client);
    live_stop(&live);
}

/* When the disk is used up, the remote level takes what is left. */
static void
a_full_disk_spills_to_the_remote_level(void **state)
{
    struct live live;
    granary_client *client;

    (void)state;
    live_start_levels(&live, 8 * MIB, 3 * MIB, ALL);
    client = live_connect(&live, NULL);
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(live_put(client, i, MIB), GRANARY_OK);
    }
    assert_true(stat_of(client).remote_bytes > 0);
    assert_true(stat_of(client).disk_bytes <= 3 * MIB);
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(live_verify(client, i, MIB), GRANARY_OK);
    }
    granary_disconnect(client);
    live_stop(&live);
}

/* What is persistent comes back with its session when nothing of it is in memory any more; the rest does not. */
static void
persistent_objects_survive_a_restart(void **state)
{
    const size_t size = 700 * KIB;
    struct live live;
    granary_client *client, *other;
    granary_object_info info;
    int64_t sealed_at_ms;

    (void)state;
    live_start(&live, 8 * MIB, 0);
    client = live_connect(&live, NULL);
    other = live_connect(&live, "another");
    for (uint64_t n = 1; n <= 4; n++) {
        assert_int_equal(live_put(client, n, size), GRANARY_OK);
    }
    assert_int_equal(live_put(other, 9, 100), GRANARY_OK);
    assert_int_equal(move(client, 1, GRANARY_LEVEL_DISK, 0), GRANARY_OK);
    assert_int_equal(move(client, 2, GRANARY_LEVEL_DISK, GRANARY_LEVEL_MEMORY), GRANARY_OK);
    assert_int_equal(move(client, 3, 0, GRANARY_LEVEL_MEMORY), GRANARY_OK); /* spilled, not persistent */
    assert_int_equal(move(other, 9, GRANARY_LEVEL_DISK, 0), GRANARY_OK);
    sealed_at_ms = info_of(client, 1).sealed_at_ms;
    granary_disconnect(client);
    granary_disconnect(other);

    live_restart(&live);
    client = live_connect(&live, NULL);
    other = live_connect(&live, "another");
    assert_int_equal(stat_of(client).objects, 3);
    for (uint64_t n = 1; n <= 2; n++) {
        check_levels(client, n, GRANARY_LEVEL_DISK, true);
        assert_int_equal(live_verify(client, n, size), GRANARY_OK);
    }
    assert_int_equal(info_of(client, 1).sealed_at_ms, sealed_at_ms);
    assert_int_equal(live_verify(client, 3, size), GRANARY_ENOENT);
    assert_int_equal(live_verify(client, 4, size), GRANARY_ENOENT);
    assert_int_equal(live_verify(other, 9, 100), GRANARY_OK);
    assert_int_equal(live_verify(client, 9, 100), GRANARY_ENOENT);
    /* New objects never take the old ones' files. */
    assert_int_equal(live_put(client, 5, size), GRANARY_OK);
    assert_int_equal(move(client, 5, GRANARY_LEVEL_DISK, 0), GRANARY_OK);
    for (uint64_t n = 1; n <= 5; n += 4) {
        assert_int_equal(granary_object_delete(client, live_id(n), 0), GRANARY_OK);
    }
    granary_disconnect(client);
    granary_disconnect(other);

    live_restart(&live);
    client = live_connect(&live, NULL);
    other = live_connect(&live, "another");
    assert_int_equal(granary_object_info_get(client, live_id(1), &info), GRANARY_ENOENT);
    assert_int_equal(granary_object_info_get(client, live_id(5), &info), GRANARY_ENOENT);
    assert_int_equal(live_verify(client, 2, size), GRANARY_OK);
    assert_int_equal(granary_object_delete(client, live_id(2), 0), GRANARY_OK);
    assert_int_equal(granary_object_delete(other, live_id(9), 0), GRANARY_OK);
    granary_disconnect(client);
    granary_disconnect(other);
    live_stop(&live);
}

/* However objects are deleted, the disk holds no more than one and a half times what lives, soon after. */
static void
half_dead_files_are_rewritten(void **state)
{
    enum { OBJECTS = 400, KEEP = 7 };
    const size_t size = 50 * KIB;
    struct live live;
    granary_client *client;
    granary_store_stat stat;
    uint64_t before;

    (void)state;
    live_start(&live, 4 * MIB, 0);
    client = live_connect(&live, NULL);
    for (unsigned i = 0; i < OBJECTS; i++) {
        assert_int_equal(live_put(client, i, size), GRANARY_OK);
    }
    before = stat_of(client).disk_bytes;
    for (unsigned i = 0; i < OBJECTS; i++) {
        if (i % KEEP != 0) {
            assert_int_equal(granary_object_delete(client, live_id(i), 0), GRANARY_OK);
        }
    }
    for (int64_t end = gr_deadline_ns(60000);;) {
        stat = stat_of(client);
        if (stat.disk_bytes <= before / KEEP * 3 / 2 && stat.compactions > 0) {
            break;
        }
        assert_true(gr_now_ns() < end);
    }
    for (unsigned i = 0; i < OBJECTS; i += KEEP) {
        assert_int_equal(live_verify(client, i, size), GRANARY_OK);
    }
    for (unsigned i = 0; i < OBJECTS; i += KEEP) {
        assert_int_equal(granary_object_delete(client, live_id(i), 0), GRANARY_OK);
    }
    granary_disconnect(client);
    live_stop(&live);
}

/* Objects are brought back, deleted and put while their files are rewritten: nothing is lost or mixed up. */
static void
compaction_disturbs_nobody(void **state)
{
    enum { OBJECTS = 150 };
    const size_t size = 40 * KIB;
    struct live live;
    granary_client *client;
    bool there[OBJECTS] = {false};

    (void)state;
    srand(11);
    live_start(&live, 2 * MIB, 0);
    client = live_connect(&live, NULL);
    for (unsigned round = 0; round < 1500; round++) {
        unsigned i = (unsigned)rand() % OBJECTS;

        if (!there[i]) {
            assert_int_equal(live_put(client, i, size), GRANARY_OK);
            there[i] = true;
        } else if (rand() % 2 == 0) {
            assert_int_equal(granary_object_delete(client, live_id(i), 0), GRANARY_OK);
            there[i] = false;
        } else {
            assert_int_equal(live_verify(client, i, size), GRANARY_OK);
        }
    }
    assert_int_equal(stat_of(client).restore_failed, 0);
    assert_true(stat_of(client).compactions > 0);
    for (unsigned i = 0; i < OBJECTS; i++) {
        assert_int_equal(live_verify(client, i, size), there[i] ? GRANARY_OK : GRANARY_ENOENT);
    }
    granary_disconnect(client);
    live_stop(&live);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slice_costs_its_frames),
        cmocka_unit_test(slices_go_first_and_with_their_object),
        cmocka_unit_test(objects_move_between_all_levels),
        cmocka_unit_test(moves_are_refused_for_a_reason),
        cmocka_unit_test(moves_go_on_in_the_background),
        cmocka_unit_test(what_has_come_back_is_there),
        cmocka_unit_test(a_full_disk_spills_to_the_remote_level),
        cmocka_unit_test(persistent_objects_survive_a_restart),
        cmocka_unit_test(half_dead_files_are_rewritten),
        cmocka_unit_test(compaction_disturbs_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
