/* Garbage does not hurt who looks at it: files are mutated, truncated and swapped, and everything is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/id.h"
#include "inspect/latency.h"
#include "made.h"

#define ROUNDS 100

static uint64_t seed = 0x5eed;

static uint64_t
random_below(uint64_t end)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 20) % end;
}

static void
ask_for_everything(const char *dir)
{
    granary_inspector *inspector;
    granary_instance_info info;
    struct gr_latency latencies[GR_LATENCY_COUNT];
    granary_inspect_session_info *sessions;
    granary_segment_info *segments;
    granary_client_info *clients;
    granary_lease_info *leases;
    granary_hold *holds;
    granary_table_info *tables;
    granary_table_part part;
    granary_store_stat stat;
    granary_object_info infos[100];
    granary_flight_event events[100];
    granary_id id;
    uint64_t cursor = 0;
    uint64_t next = 0;
    size_t count;
    int pages = 0;

    if (granary_inspect_open_copy(dir, &inspector) != GRANARY_OK) {
        return;
    }
    (void)granary_inspect_instance(inspector, &info);
    if (granary_inspect_sessions(inspector, &sessions, &count) == GRANARY_OK) {
        free(sessions);
    }
    (void)granary_inspect_stat(inspector, 1, &stat);
    (void)gr_inspect_latencies(inspector, latencies);
    while (granary_inspect_objects(inspector, 1, NULL, &cursor, 100, infos, &count) == GRANARY_OK && cursor != 0) {
        assert_true(pages++ < 100000);
    }
    (void)granary_inspect_object(inspector, 1, made_id(3), &infos[0]);
    (void)granary_inspect_object_find(inspector, 1, "0", &id);
    if (granary_inspect_segments(inspector, &segments, &count) == GRANARY_OK) {
        free(segments);
    }
    if (granary_inspect_clients(inspector, &clients, &count) == GRANARY_OK) {
        free(clients);
    }
    if (granary_inspect_leases(inspector, NULL, &leases, &count) == GRANARY_OK) {
        free(leases);
    }
    if (granary_inspect_holds(inspector, 1, NULL, &holds, &count) == GRANARY_OK) {
        free(holds);
    }
    if (granary_inspect_tables(inspector, &tables, &count) == GRANARY_OK) {
        free(tables);
    }
    (void)granary_inspect_table_part(inspector, 1, made_id(3), &part);
    while (granary_inspect_events(inspector, &next, 100, events, &count) == GRANARY_OK && count > 0) {
    }
    assert_int_equal(granary_inspect_check(inspector, GRANARY_CHECK_VERIFY, NULL, NULL, NULL), GRANARY_OK);
    granary_inspect_close(inspector);
}

/* Bytes a mutation may hit: those that say something. */
static char *
victim(struct made *made)
{
    switch (random_below(11)) {
    case 0:
        return (char *)made->root + random_below(offsetof(struct gr_root, clients[8]));
    case 1:
        return (char *)&made->root->segments[MADE_SEGMENT] + random_below(sizeof made->root->segments[0]);
    case 2:
        return (char *)made->control + random_below(offsetof(struct gr_control, any));
    case 3:
        return made->index + random_below(64);
    case 4:
        return made->index + GR_INDEX_RECORDS_AT + random_below(64);
    case 5:
        return (char *)made->ledger + random_below(1024);
    case 6:
        return (char *)made->lease + random_below(sizeof *made->lease);
    case 7:
        return (char *)made->events + random_below(512);
    case 8:
        return (char *)made->tables + random_below(sizeof(struct gr_mutables) + offsetof(struct gr_mutable, lane));
    case 9:
        return (char *)made->tables + sizeof(struct gr_mutables) + offsetof(struct gr_mutable, lane) +
               random_below(2 * sizeof(struct gr_lane));
    default:
        return made->index + GR_INDEX_PAGES_AT + random_below(2 * GR_PAGE_BYTES);
    }
}

static void
mutate(struct made *made)
{
    static const uint64_t values[] = {0, 1, 0xff, 0x7fffffffffffffff, UINT64_MAX, 0x8000000000000000, 0x100000000};
    char *at = victim(made);

    switch (random_below(3)) {
    case 0:
        *at = (char)(*at ^ 1 << random_below(8));
        break;
    case 1:
        *at = (char)random_below(256);
        break;
    default:
        at = (char *)((uintptr_t)at / 8 * 8);
        memcpy(at, &values[random_below(sizeof values / sizeof values[0])], 8);
        break;
    }
}

static void
make(struct made *made)
{
    made_init(made);
    for (uint64_t n = 0; n < 100; n++) {
        (void)made_object(made, n, 100 + n, 7);
        made_event(made, GR_EVENT_SEAL, made_id(n), 0, 0);
    }
    made_lease(made, 1, 2);
    made->lease->ring_head = 10;
    (void)made_record(made, GR_LEDGER_PIN, made_id(3), "reason");
    (void)made_record(made, GR_LEDGER_LEASE, made_id(3), "");
    made_table(made, made_id(4));
}

static void
mutated_files_are_only_wrong(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct made made;

        make(&made);
        for (uint64_t hits = 1 + random_below(30); hits > 0; hits--) {
            mutate(&made);
        }
        ask_for_everything(made.dir);
        made_fini(&made);
    }
}

static void
random_files_are_only_wrong(void **state)
{
    static const char *const names[] = {"root",      "events",    "s1.control", "s1.index",
                                        "s1.ledger", "s1.lease7", "s1.data5"};

    (void)state;
    for (size_t i = 0; i < 4 * sizeof names / sizeof names[0]; i++) {
        struct made made;
        char path[128];
        char other[128];

        make(&made);
        (void)snprintf(path, sizeof path, "%s/%s", made.dir, names[i / 4]);
        (void)snprintf(other, sizeof other, "%s/%s", made.dir, names[(i / 4 + 1 + random_below(6)) % 7]);
        switch (i % 4) {
        case 0:
            assert_int_equal(truncate(path, 0), 0);
            break;
        case 1:
            assert_int_equal(truncate(path, (off_t)random_below(5000)), 0);
            break;
        case 2:
            assert_int_equal(unlink(path), 0);
            break;
        default:
            assert_int_equal(rename(other, path), 0);
            break;
        }
        ask_for_everything(made.dir);
        made_fini(&made);
    }
}

/* Neither a pipe nor a link to one makes us wait. */
static void
what_is_no_file_is_not_waited_for(void **state)
{
    struct made made;
    char path[128];

    (void)state;
    make(&made);
    (void)snprintf(path, sizeof path, "%s/s1.control", made.dir);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof path, "mkfifo %s/s1.control", made.dir);
    assert_int_equal(system(path), 0);
    ask_for_everything(made.dir);
    made_fini(&made);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutated_files_are_only_wrong),
        cmocka_unit_test(random_files_are_only_wrong),
        cmocka_unit_test(what_is_no_file_is_not_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
