/* What an inspector tells of an instance that was made by hand. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/futex.h"
#include "base/id.h"
#include "made.h"

struct world {
    struct made made;
    granary_inspector *inspector;
};

static int
setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);

    made_init(&world->made);
    *state = world;
    return granary_inspect_open_copy(world->made.dir, &world->inspector);
}

static int
teardown(void **state)
{
    struct world *world = *state;

    granary_inspect_close(world->inspector);
    made_fini(&world->made);
    free(world);
    return 0;
}

static void
the_root_tells_of_the_instance(void **state)
{
    struct world *world = *state;
    granary_instance_info info;

    assert_int_equal(granary_inspect_instance(world->inspector, &info), GRANARY_OK);
    assert_int_equal(info.life, GRANARY_STORE_UNKNOWN);
    assert_int_equal(info.epoch, 3);
    assert_int_equal(info.pid, 4242);
    assert_int_equal(info.group, -1);
    assert_int_equal(info.rung, 1);
    assert_string_equal(info.runtime, "/run/made");
    assert_int_equal(info.shm_files, 7);
    world->made.root->state = GR_CONTROL_CLOSED;
    assert_int_equal(granary_inspect_instance(world->inspector, &info), GRANARY_OK);
    assert_int_equal(info.life, GRANARY_STORE_CLOSED);
}

/* Text in shared memory may lack its NUL. */
static void
text_without_end_is_cut(void **state)
{
    struct world *world = *state;
    granary_instance_info info;
    granary_inspect_session_info *sessions;
    size_t count;

    memset(world->made.root->runtime, 'x', sizeof world->made.root->runtime);
    memset(world->made.control->session_name, 'y', sizeof world->made.control->session_name);
    assert_int_equal(granary_inspect_instance(world->inspector, &info), GRANARY_OK);
    assert_int_equal(strlen(info.runtime), sizeof info.runtime - 1);
    assert_int_equal(granary_inspect_sessions(world->inspector, &sessions, &count), GRANARY_OK);
    assert_int_equal(count, 1);
    assert_int_equal(strlen(sessions[0].name), sizeof sessions[0].name - 1);
    free(sessions);
}

static void
sessions_are_found_by_name(void **state)
{
    struct world *world = *state;
    granary_inspect_session_info *sessions;
    size_t count;
    uint32_t number;

    assert_int_equal(granary_inspect_sessions(world->inspector, &sessions, &count), GRANARY_OK);
    assert_int_equal(count, 1);
    assert_string_equal(sessions[0].name, "default");
    assert_int_equal(sessions[0].clients, 1);
    assert_int_equal(sessions[0].pages, 2);
    free(sessions);
    assert_int_equal(granary_inspect_session_find(world->inspector, "default", &number), GRANARY_OK);
    assert_int_equal(number, 1);
    assert_int_equal(granary_inspect_session_find(world->inspector, "other", &number), GRANARY_ENOENT);
}

static void
the_account_is_one_set(void **state)
{
    struct world *world = *state;
    granary_store_stat stat;

    made_object(&world->made, 1, 1000, 10);
    world->made.control->counters[GR_COUNTER_seals] = 17;
    world->made.control->counters[GR_COUNTER_reconnects] = 3;
    assert_int_equal(granary_inspect_stat(world->inspector, 1, &stat), GRANARY_OK);
    assert_int_equal(stat.sealed_bytes, 1024 + 64);
    assert_int_equal(stat.seals, 17);
    assert_int_equal(stat.reconnects, 3);
    /* A store that was killed while it published: what is there is told all the same. */
    world->made.control->account_version = 7;
    assert_int_equal(granary_inspect_stat(world->inspector, 1, &stat), GRANARY_OK);
    assert_int_equal(stat.sealed_bytes, 1024 + 64);
    assert_int_equal(granary_inspect_stat(world->inspector, 2, &stat), GRANARY_ENOENT);
}

/* Every object comes, exactly once when nothing changes, whatever the size of the pages that are asked for. */
static void
listing_is_complete_for_every_page_size(void **state)
{
    enum { OBJECTS = 500 };
    static const size_t sizes[] = {1, 7, 100, 499, 500, 501, 5000};
    struct world *world = *state;
    granary_object_info *infos = calloc(5000, sizeof *infos);

    for (uint64_t n = 0; n < OBJECTS; n++) {
        made_object(&world->made, n, 100 + n, 0);
    }
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        bool seen[OBJECTS] = {false};
        uint64_t cursor = 0;
        size_t total = 0;

        do {
            size_t count;

            assert_int_equal(granary_inspect_objects(world->inspector, 1, NULL, &cursor, sizes[s], infos, &count),
                             GRANARY_OK);
            for (size_t i = 0; i < count; i++) {
                uint64_t n = infos[i].data_size - 100;

                assert_true(n < OBJECTS && !seen[n] && gr_id_equal(infos[i].id, made_id(n)));
                seen[n] = true;
                total++;
            }
        } while (cursor != 0);
        assert_int_equal(total, OBJECTS);
    }
    free(infos);
}

/* A page that is split while a listing goes on: objects may come twice, but none is missed. */
static void
a_split_under_a_listing_hides_nothing(void **state)
{
    enum { OBJECTS = 300 };
    struct world *world = *state;
    granary_object_info *infos = calloc(OBJECTS, sizeof *infos);
    struct gr_slot *slots = (struct gr_slot *)(void *)(world->made.index + GR_INDEX_PAGES_AT);
    bool seen[OBJECTS] = {false};
    uint64_t cursor = 0;
    size_t count;

    for (uint64_t n = 0; n < OBJECTS; n++) {
        made_object(&world->made, n, 100 + n, 0);
    }
    assert_int_equal(granary_inspect_objects(world->inspector, 1, NULL, &cursor, 50, infos, &count), GRANARY_OK);
    for (size_t i = 0; i < count; i++) {
        seen[infos[i].data_size - 100] = true;
    }
    /* Page 0 becomes pages 2 (prefix 00) and 3 (prefix 10). */
    for (size_t i = 0; i < GR_PAGE_SLOTS; i++) {
        uint64_t hash = gr_slot_hash(slots[i].id[0], slots[i].id[1]);

        if (slots[i].word != 0) {
            memcpy(&slots[(2 + (gr_index_prefix(hash) >> 1 & 1)) * GR_PAGE_SLOTS + i], &slots[i], sizeof slots[i]);
            slots[i].word = GR_WORD(GR_WORD_SERIAL(slots[i].word), GR_SLOT_MOVED);
        }
    }
    made_page(&world->made, 0)->word = (uint64_t)1 << 32 | 1 << 8 | GR_PAGE_DEAD;
    for (uint32_t half = 0; half < 2; half++) {
        made_page(&world->made, 2 + half)->prefix = half << 1;
        made_page(&world->made, 2 + half)->word = (uint64_t)1 << 32 | 2 << 8 | GR_PAGE_LIVE;
        made_directory(&world->made)[half << 1] = (uint64_t)1 << 32 | (2 + half);
        made_directory(&world->made)[1 + (half << 1)] = (uint64_t)1 << 32 | 1;
    }
    world->made.control->depth = 2;
    while (cursor != 0) {
        assert_int_equal(granary_inspect_objects(world->inspector, 1, NULL, &cursor, 50, infos, &count), GRANARY_OK);
        for (size_t i = 0; i < count; i++) {
            seen[infos[i].data_size - 100] = true;
        }
    }
    for (size_t n = 0; n < OBJECTS; n++) {
        assert_true(seen[n]);
    }
    free(infos);
}

static void
filters_choose(void **state)
{
    struct world *world = *state;
    granary_object_info infos[8];
    granary_object_filter filter = {.least_size = 200};
    struct gr_slot *slot;
    char text[33];
    uint64_t cursor = 0;
    size_t count;

    made_object(&world->made, 1, 100, 0);
    slot = made_object(&world->made, 2, 200, 0);
    made_object(&world->made, 3, 300, 0);
    slot->flags = (uint64_t)2 << GR_FLAGS_PINS_SHIFT | GR_FLAG_ON_DISK;
    (void)made_record(&world->made, GR_LEDGER_REFERENCE, made_id(3), "owner");
    made_object(&world->made, 4, 400, 0)->flags = GR_FLAG_SLICE;

    assert_int_equal(granary_inspect_objects(world->inspector, 1, &filter, &cursor, 8, infos, &count), GRANARY_OK);
    assert_int_equal(count, 2);
    filter = (granary_object_filter){.pinned = true};
    assert_int_equal(granary_inspect_objects(world->inspector, 1, &filter, &cursor, 8, infos, &count), GRANARY_OK);
    assert_int_equal(count, 1);
    assert_int_equal(infos[0].pins, 2);
    assert_int_equal(infos[0].levels, GRANARY_LEVEL_MEMORY | GRANARY_LEVEL_DISK);
    filter = (granary_object_filter){.owner = "owner"};
    assert_int_equal(granary_inspect_objects(world->inspector, 1, &filter, &cursor, 8, infos, &count), GRANARY_OK);
    assert_int_equal(count, 1);
    assert_int_equal(infos[0].data_size, 300);
    granary_id_format(made_id(1), text);
    text[9] = '\0';
    filter = (granary_object_filter){.prefix = text};
    assert_int_equal(granary_inspect_objects(world->inspector, 1, &filter, &cursor, 8, infos, &count), GRANARY_OK);
    assert_int_equal(count, 1);
    assert_int_equal(infos[0].data_size, 100);
    filter = (granary_object_filter){.prefix = "xyz"};
    assert_int_equal(granary_inspect_objects(world->inspector, 1, &filter, &cursor, 8, infos, &count), GRANARY_EINVAL);
}

static void
one_object_is_found(void **state)
{
    struct world *world = *state;
    granary_object_info info;
    granary_id id;
    char text[33];

    made_object(&world->made, 1, 100, 0)->word = GR_WORD(1, GR_SLOT_DELETING);
    made_object(&world->made, 1, 50, 0);
    made_object(&world->made, 2, 100, 0);
    assert_int_equal(granary_inspect_object(world->inspector, 1, made_id(1), &info), GRANARY_OK);
    assert_int_equal(info.data_size, 50); /* the newer one, not the one that goes */
    assert_int_equal(granary_inspect_object(world->inspector, 1, made_id(9), &info), GRANARY_ENOENT);
    granary_id_format(made_id(2), text);
    text[8] = '\0';
    assert_int_equal(granary_inspect_object_find(world->inspector, 1, text, &id), GRANARY_OK);
    assert_true(gr_id_equal(id, made_id(2)));
    assert_int_equal(granary_inspect_object_find(world->inspector, 1, "", &id), GRANARY_EINVAL);
    assert_int_equal(granary_inspect_object_find(world->inspector, 1, "fedcba9876543210", &id), GRANARY_ENOENT);
}

static void
segments_know_their_objects(void **state)
{
    struct world *world = *state;
    granary_segment_info *segments;
    size_t count;

    made_object(&world->made, 1, 100, 0);
    made_object(&world->made, 2, 0, 0);
    assert_int_equal(granary_inspect_segments(world->inspector, &segments, &count), GRANARY_OK);
    assert_int_equal(count, 1);
    assert_int_equal(segments[0].number, MADE_SEGMENT);
    assert_int_equal(segments[0].state, GRANARY_SEGMENT_OPEN);
    assert_int_equal(segments[0].file_bytes, MADE_SEGMENT_BYTES);
    assert_int_equal(segments[0].objects, 2);
    assert_int_equal(segments[0].object_bytes, 128 + 64);
    free(segments);
}

static void
leases_are_attributed(void **state)
{
    struct world *world = *state;
    granary_client_info *clients;
    granary_lease_info *leases;
    granary_id id = made_id(2);
    size_t count;

    made_object(&world->made, 1, 100, 0);
    made_object(&world->made, 2, 200, 8);
    made_lease(&world->made, 1, 3);
    made_lease(&world->made, 2, 1);
    made_lease(&world->made, 1 + GR_HAZARD_SETS, 1); /* of no object */
    made_record(&world->made, GR_LEDGER_LEASE, made_id(2), "")->other[0] = 2;

    assert_int_equal(granary_inspect_leases(world->inspector, NULL, &leases, &count), GRANARY_OK);
    assert_int_equal(count, 4);
    assert_string_equal(leases[0].tag, "worker");
    assert_int_equal(leases[0].count, 3);
    assert_int_equal(leases[0].bytes, 100);
    assert_true(gr_id_is_zero(leases[3].id));
    free(leases);
    assert_int_equal(granary_inspect_leases(world->inspector, &id, &leases, &count), GRANARY_OK);
    assert_int_equal(count, 2);
    assert_true(leases[0].counted != leases[1].counted);
    assert_int_equal(leases[0].bytes, 208);
    free(leases);
    assert_int_equal(granary_inspect_clients(world->inspector, &clients, &count), GRANARY_OK);
    assert_int_equal(count, 1);
    assert_int_equal(clients[0].number, MADE_CLIENT);
    assert_int_equal(clients[0].leases, 6);
    assert_int_equal(clients[0].leased_objects, 4);
    assert_false(clients[0].alive);
    free(clients);
}

static void
holds_come_from_the_ledger(void **state)
{
    struct world *world = *state;
    granary_hold *holds;
    granary_id id = made_id(2);
    size_t count;

    made_object(&world->made, 1, 100, 0);
    made_object(&world->made, 2, 200, 0);
    made_record(&world->made, GR_LEDGER_PIN, made_id(1), "needed at noon")->scope = GRANARY_PIN_SESSION;
    (void)made_record(&world->made, GR_LEDGER_NAME, made_id(2), "latest");
    gr_id_words(made_id(1), made_record(&world->made, GR_LEDGER_CONTAINS, made_id(2), "")->other);
    made_record(&world->made, GR_LEDGER_PIN, made_id(2), "")->word = (uint64_t)50 << 8 | 99; /* a kind of the future */

    assert_int_equal(granary_inspect_holds(world->inspector, 1, NULL, &holds, &count), GRANARY_OK);
    assert_int_equal(count, 3);
    assert_int_equal(holds[0].kind, GRANARY_HOLD_PIN);
    assert_string_equal(holds[0].text, "needed at noon");
    assert_int_equal(holds[0].scope, GRANARY_PIN_SESSION);
    free(holds);
    assert_int_equal(granary_inspect_holds(world->inspector, 1, &id, &holds, &count), GRANARY_OK);
    assert_int_equal(count, 2);
    assert_int_equal(holds[0].kind, GRANARY_HOLD_NAME);
    assert_true(gr_id_equal(holds[1].container, made_id(1)));
    free(holds);
}

/* The ring keeps the last entries, in order; one that was being written when the store died is left out. */
static void
events_come_in_order(void **state)
{
    enum { EVENTS = MADE_EVENTS * 2 + 5 };
    struct world *world = *state;
    granary_flight_event events[MADE_EVENTS];
    uint64_t next = 0;
    uint64_t sequence = EVENTS - MADE_EVENTS;
    size_t count;

    for (uint64_t n = 0; n < EVENTS; n++) {
        made_event(&world->made, GR_EVENT_SEAL, made_id(n), n, 5);
    }
    while (granary_inspect_events(world->inspector, &next, 3, events, &count) == GRANARY_OK && count > 0) {
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(events[i].sequence, ++sequence);
            assert_int_equal(events[i].a, sequence - 1);
            assert_string_equal(granary_flight_event_name(events[i].kind), "SEAL");
        }
    }
    assert_int_equal(sequence, EVENTS);
    made_event(&world->made, GR_EVENT_DELETE, made_id(1), 0, 0);
    made_event(&world->made, GR_EVENT_STOP, (granary_id){{0}}, 0, 0);
    world->made.events->ring[EVENTS % MADE_EVENTS].sequence = 0;
    assert_int_equal(granary_inspect_events(world->inspector, &next, MADE_EVENTS, events, &count), GRANARY_OK);
    assert_int_equal(count, 1);
    assert_string_equal(granary_flight_event_name(events[0].kind), "STOP");
    assert_string_equal(granary_flight_event_name(12345), "?");
}

/* A copy of the copy tells the same; holes stay holes. */
static void
a_snapshot_is_a_copy(void **state)
{
    struct world *world = *state;
    granary_inspector *copy;
    granary_object_info info;
    char path[128];
    char data[160];
    struct stat st;

    made_object(&world->made, 1, 100, 0);
    (void)snprintf(path, sizeof path, "%s/snapshot", world->made.dir);
    assert_int_equal(granary_inspect_snapshot(world->inspector, path), GRANARY_OK);
    assert_int_equal(granary_inspect_snapshot(world->inspector, path), GRANARY_EEXIST);
    assert_int_equal(granary_inspect_open_copy(path, &copy), GRANARY_OK);
    assert_int_equal(granary_inspect_object(copy, 1, made_id(1), &info), GRANARY_OK);
    assert_int_equal(info.data_size, 100);
    granary_inspect_close(copy);
    (void)snprintf(data, sizeof data, "%s/s1.data5", path);
    assert_int_equal(stat(data, &st), 0);
    assert_int_equal(st.st_size, MADE_SEGMENT_BYTES);
    assert_true((uint64_t)st.st_blocks * 512 < MADE_SEGMENT_BYTES / 2);
}

/* ---- while somebody writes ---- */

struct writer {
    struct gr_slot *slot;
    _Atomic bool stop;
};

/* What a store does when it moves an object: the word says that fields change, then what they are. */
static void *
write_slot(void *context)
{
    struct writer *writer = context;
    struct gr_slot *slot = writer->slot;

    for (uint64_t serial = 100; !atomic_load(&writer->stop); serial++) {
        atomic_store(&slot->word, GR_WORD(serial, GR_SLOT_BETWEEN));
        atomic_store(&slot->offset, serial * 64);
        atomic_store(&slot->data_size, serial);
        atomic_store(&slot->where_meta, (uint64_t)MADE_SEGMENT << 32 | (serial & 0xffff));
        atomic_store(&slot->word, GR_WORD(serial, GR_SLOT_SEALED));
        for (unsigned pause = 0; pause < serial % 256; pause++) { /* else it is hardly ever seen sealed */
            gr_cpu_relax();
        }
    }
    return NULL;
}

/* An object that is told of as sealed is as it was sealed, whatever is written meanwhile. */
static void
what_is_told_is_of_one_moment(void **state)
{
    struct world *world = *state;
    struct writer writer = {.slot = made_object(&world->made, 1, 0, 0)};
    pthread_t thread;
    size_t sealed = 0;

    writer.slot->word = GR_WORD(1, GR_SLOT_BETWEEN);
    assert_int_equal(pthread_create(&thread, NULL, write_slot, &writer), 0);
    for (int round = 0; round < 1000 || (sealed == 0 && round < 100000); round++) {
        granary_object_info info;

        assert_int_equal(granary_inspect_object(world->inspector, 1, made_id(1), &info), GRANARY_OK);
        if (info.state == GRANARY_OBJECT_SEALED) {
            assert_int_equal(info.data_size, info.serial);
            assert_int_equal(info.offset, info.serial * 64);
            assert_int_equal(info.meta_size, info.serial & 0xffff);
            sealed++;
        }
    }
    atomic_store(&writer.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(sealed > 0);
}

static void
nothing_there_is_said(void **state)
{
    granary_inspector *inspector = NULL;
    char dir[] = "/tmp/granary-made-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(granary_inspect_open_copy(dir, &inspector), GRANARY_EUNREACHABLE);
    assert_int_equal(granary_inspect_open(dir, &inspector), GRANARY_EUNREACHABLE);
    assert_non_null(strstr(granary_error_message(), "granary up"));
    assert_null(inspector);
    assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_WORLD(the_root_tells_of_the_instance),
        WITH_WORLD(text_without_end_is_cut),
        WITH_WORLD(sessions_are_found_by_name),
        WITH_WORLD(the_account_is_one_set),
        WITH_WORLD(listing_is_complete_for_every_page_size),
        WITH_WORLD(a_split_under_a_listing_hides_nothing),
        WITH_WORLD(filters_choose),
        WITH_WORLD(one_object_is_found),
        WITH_WORLD(segments_know_their_objects),
        WITH_WORLD(leases_are_attributed),
        WITH_WORLD(holds_come_from_the_ledger),
        WITH_WORLD(events_come_in_order),
        WITH_WORLD(a_snapshot_is_a_copy),
        WITH_WORLD(what_is_told_is_of_one_moment),
        cmocka_unit_test(nothing_there_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
