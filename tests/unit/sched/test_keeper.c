/* What a state says that no scheduler kept there: it is passed over, and taken for nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "build.h"
#include "sched/core/manager.h"
#include "sched/restore.h"
#include "sched/strings.h"

#define LINES(...) ((const char *const[]){__VA_ARGS__}), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)

static void
keys_with_a_nul_are_no_graphs(void **state)
{
    static const struct {
        const char *key;
        size_t size;
    } keys[] = {{"\0abc", 4}, {"\0", 1}, {"ab\0cd", 5}, {"good", 4}};
    struct manager *manager = manager_create(&(struct manager_options){.memory_bytes = 1 << 20});
    Granary__Submit submit = GRANARY__SUBMIT__INIT;
    struct keeper keeper = {0};
    uint8_t bytes[512];
    size_t size;

    (void)state;
    assert_int_equal(keeper_open(&keeper, &state_memory, ""), GRANARY_OK);
    submit.graph = build_graph(LINES("!a make"));
    submit.session = (char *)(uintptr_t) "s";
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        submit.serial = (uint32_t)i + 1;
        size = granary__submit__pack(&submit, bytes);
        assert_int_equal(keeper.state->put(keeper.self,
                                           &(struct state_put){.space = MANAGER_GRAPHS,
                                                               .key = keys[i].key,
                                                               .key_size = keys[i].size,
                                                               .value = bytes,
                                                               .value_size = size,
                                                               .expected = STATE_ANY},
                                           NULL),
                         GRANARY_OK);
    }
    assert_int_equal(restore_all(&keeper, manager, NULL), GRANARY_OK);
    assert_non_null(graph_find(manager, "good"));
    assert_null(graph_find(manager, ""));
    assert_null(graph_find(manager, "ab"));
    granary__graph__free_unpacked(submit.graph, NULL);
    keeper_close(&keeper);
    manager_destroy(manager);
}

/* Of a request, every string at every depth; bytes may have what they like. */
static void
a_nul_in_a_string_is_found(void **state)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Submit submit = GRANARY__SUBMIT__INIT;
    Granary__StoredTable table = GRANARY__STORED_TABLE__INIT;
    Granary__StoredTable *tables[] = {&table};
    uint8_t bytes[512];
    size_t size, found = 0;

    (void)state;
    request.version = 2;
    request.seq = UINT64_MAX;
    request.body_case = GRANARY__REQUEST__BODY_SUBMIT;
    request.submit = &submit;
    submit.key = (char *)(uintptr_t) "!key";
    submit.session = (char *)(uintptr_t) "!session";
    submit.graph = build_graph(LINES("a make", "b make a"));
    submit.deadline_ms = -1;
    submit.tables = tables;
    submit.n_tables = 1;
    table.node = (char *)(uintptr_t) "!node";
    table.infos = (ProtobufCBinaryData){.len = 4, .data = (uint8_t *)(uintptr_t) "\0\0\0\0"};
    size = granary__request__pack(&request, bytes);
    assert_true(strings_are_whole(&granary__request__descriptor, bytes, size));
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] == '!') {
            bytes[i] = '\0';
            assert_false(strings_are_whole(&granary__request__descriptor, bytes, size));
            bytes[i] = '!';
            found++;
        }
    }
    assert_int_equal(found, 3);
    for (size_t cut = 0; cut < size; cut++) { /* whatever it says, it reads no further */
        uint8_t *part = test_malloc(cut + 1);

        memcpy(part, bytes, cut);
        (void)strings_are_whole(&granary__request__descriptor, part, cut);
        test_free(part);
    }
    granary__graph__free_unpacked(submit.graph, NULL);
}

static atomic_int syncs;

static granary_err
count_sync(void *self)
{
    (void)self;
    atomic_fetch_add(&syncs, 1);
    return GRANARY_OK;
}

/* A turn that keeps a graph and answers who sent it. Returns what has to be synced before the answer may go. */
static uint64_t
keep_and_answer(struct keeper *keeper, bool unsynced)
{
    struct action actions[] = {
        {.kind = ACTION_KEEP, .space = MANAGER_GRAPHS},
        {.kind = ACTION_REPLY, .when_durable = true, .unsynced = unsynced},
    };
    uint64_t number = 77;

    gr_buf_add(&actions[0].entry_key, "k", 1);
    gr_buf_add(&actions[0].bytes, "v", 1);
    assert_int_equal(keeper_keep(keeper, actions, 2, &number), GRANARY_OK);
    assert_true(keeper_idle(keeper)); /* it is committed: it outlives this process */
    return number;
}

/* A graph that a power cut may take back is committed before its answer, and not synced for it. */
static void
what_passes_is_committed_and_not_synced(void **state)
{
    struct state_ops ops = state_memory;
    struct keeper keeper = {0};
    int before;

    (void)state;
    ops.sync = count_sync;
    assert_int_equal(keeper_open(&keeper, &ops, ""), GRANARY_OK);
    before = atomic_load(&syncs);
    assert_int_equal(keep_and_answer(&keeper, true), 0);
    assert_int_equal(atomic_load(&syncs), before);
    assert_true(keeper_deadline(&keeper) < INT64_MAX); /* soon it will be */
    assert_true(keep_and_answer(&keeper, false) > 0);
    keeper_close(&keeper);
    assert_true(atomic_load(&syncs) > before);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_with_a_nul_are_no_graphs),
        cmocka_unit_test(what_passes_is_committed_and_not_synced),
        cmocka_unit_test(a_nul_in_a_string_is_found),
    };

    return cmocka_run_group_tests_name("keeper", tests, NULL, NULL);
}
