/* The account, the map, segments, sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process/limits.h"
#include "store/base/account.h"
#include "store/base/map.h"
#include "store/segment/segment.h"
#include "store/store.h"

static char prefix[64];

static int
setup(void **state)
{
    (void)state;
    (void)snprintf(prefix, sizeof prefix, "/granary.test.parts.%d.", (int)getpid());
    return 0;
}

/* Whatever is moved, the seven parts add up to the capacity. */
static void
account_always_balances(void **state)
{
    struct account account;

    (void)state;
    srand(1);
    account_init(&account, 1000000);
    for (int i = 0; i < 100000; i++) {
        enum gr_account from = (enum gr_account)(GR_ACCOUNT_FREE + rand() % 6);
        enum gr_account to = (enum gr_account)(GR_ACCOUNT_FREE + rand() % 6);

        account_move(&account, from, to, (uint64_t)rand() % (account.bytes[from] + 1));
        assert_true(account_balances(&account));
    }
    account.bytes[GR_ACCOUNT_FREE]++;
    assert_false(account_balances(&account));
}

/* What is published is one consistent set under an even version. */
static void
account_is_published_as_a_set(void **state)
{
    struct gr_control *control = calloc(1, sizeof *control);
    struct account account;

    (void)state;
    account_init(&account, 4096);
    account_move(&account, GR_ACCOUNT_FREE, GR_ACCOUNT_WRITING, 96);
    account_add(&account, GR_ACCOUNT_OBJECTS, 3);
    account_publish(&account, control);
    assert_int_equal(control->account_version, 2);
    assert_int_equal(control->account[GR_ACCOUNT_FREE], 4000);
    assert_int_equal(control->account[GR_ACCOUNT_WRITING], 96);
    assert_int_equal(control->account[GR_ACCOUNT_OBJECTS], 3);
    free(control);
}

/* A map agrees with a plain array, through growth and removal in any order. */
static void
map_agrees_with_a_model(void **state)
{
    enum { KEYS = 500 };
    uint64_t model[KEYS + 1] = {0};
    struct map map = {0};
    size_t live = 0;

    (void)state;
    srand(2);
    for (int i = 0; i < 200000; i++) {
        uint64_t key = 1 + (uint64_t)rand() % KEYS;
        struct map_entry *entry = map_find(&map, map_key_number(key));

        assert_int_equal(entry != NULL, model[key] != 0);
        if (entry != NULL) {
            assert_int_equal(entry->value.numbers[0], model[key]);
        }
        if (rand() % 2 == 0) {
            entry = map_add(&map, map_key_number(key));
            live += model[key] == 0;
            model[key] = entry->value.numbers[0] = 1 + (uint64_t)i;
        } else if (entry != NULL) {
            map_remove(&map, entry);
            model[key] = 0;
            live--;
        }
        assert_int_equal(map.count, live);
    }
    for (size_t position = 0; map_next(&map, &position) != NULL; live--) {
    }
    assert_int_equal(live, 0);
    map_free(&map);
}

/* Who knows gr_slot_hash() can choose ids that all have the same: the map does not become a list (which would take
 * minutes). */
static void
map_stays_a_map_whatever_ids_are_chosen(void **state)
{
    enum { KEYS = 300000 };
    struct map map = {0};

    (void)state;
    for (uint64_t i = 1; i <= KEYS; i++) {
        struct map_key key = {{0xa0761d6478bd642full, i}};

        assert_non_null(map_add(&map, key));
        assert_true(gr_slot_hash(key.words[0], key.words[1]) == gr_slot_hash(key.words[0], 0));
    }
    assert_int_equal(map.count, KEYS);
    map_free(&map);
}

/* From grant to seal, delete, close and reuse, each byte of a segment is in exactly one part of the account. */
static void
segment_bytes_move_through_the_account(void **state)
{
    struct gr_segment_record record = {0};
    struct account account;
    struct segment *segment;

    (void)state;
    account_init(&account, 1 << 20);
    assert_int_equal(segment_create(&account, prefix, 1, 1, 65536, GR_ACCOUNT_WRITING, &record, &segment), GRANARY_OK);
    assert_int_equal(account.bytes[GR_ACCOUNT_WRITING], 65536);
    assert_true(segment_expect(segment));
    segment_seal(segment, &account, 4096, (struct index_place){7, 1});
    assert_true(segment_expect(segment));
    segment_seal(segment, &account, 8192, (struct index_place){8, 2});
    assert_int_equal(account.bytes[GR_ACCOUNT_SEALED], 12288);
    assert_int_equal(record.word, 1 << 8 | GR_SEGMENT_OPEN);
    assert_int_equal(record.sealed_total, 12288);
    segment_died(segment, &account, 4096);
    assert_int_equal(segment_dead(segment), 4096);
    segment_deleting(segment, &account, 8192);
    assert_int_equal(account.bytes[GR_ACCOUNT_RETIRING], 8192);
    segment_close(segment, &account);
    segment_close(segment, &account);
    assert_int_equal(record.word, 1 << 8 | GR_SEGMENT_CLOSED);
    assert_int_equal(account.bytes[GR_ACCOUNT_WRITING], 0);
    assert_int_equal(account.bytes[GR_ACCOUNT_POOLED], 65536 - 8192);
    segment_deleted(segment, &account, 8192);
    assert_int_equal(account.bytes[GR_ACCOUNT_POOLED], 65536);
    segment_reopen(segment, &account, GR_ACCOUNT_WRITING);
    assert_int_equal(account.bytes[GR_ACCOUNT_WRITING], 65536);
    assert_int_equal(record.word, 1 << 8 | GR_SEGMENT_OPEN);
    assert_int_equal(record.sealed_total, 0);
    segment_destroy(segment, &account, prefix, 1);
    assert_int_equal(record.word, 0);
    assert_int_equal(account.bytes[GR_ACCOUNT_FREE], 1 << 20);
    assert_true(account_balances(&account));
}

/* Warm is what has pages; a punched page has none, and only whole dead pages are punched. */
static void
segment_punches_whole_pages(void **state)
{
    char bytes[16384];
    struct gr_segment_record record = {0};
    struct account account;
    struct segment *segment;

    (void)state;
    memset(bytes, 1, sizeof bytes);
    account_init(&account, 1 << 20);
    assert_int_equal(segment_create(&account, prefix, 1, 2, 16384, GR_ACCOUNT_WRITING, &record, &segment), GRANARY_OK);
    assert_int_equal(segment_warm_bytes(segment), 0);
    assert_int_equal(pwrite(segment->fd, bytes, 8192, 0), 8192);
    assert_int_equal(segment_warm_bytes(segment), 8192);
    assert_int_equal(pwrite(segment->fd, bytes, sizeof bytes, 0), sizeof bytes);
    assert_int_equal(segment_warm_bytes(segment), 16384);
    segment_close(segment, &account);
    assert_int_equal(segment_punch(segment, 64, 4095), 0);
    assert_int_equal(segment_punch(segment, 64, 8192), 4096);
    segment_add_punched(segment, &account, 4096);
    assert_int_equal(account.bytes[GR_ACCOUNT_FREE], (1 << 20) - 16384 + 4096);
    /* A liar's overlapping objects may show more holes than there are dead bytes: never more than those. */
    segment_add_punched(segment, &account, 1 << 20);
    assert_int_equal(account.bytes[GR_ACCOUNT_POOLED], 0);
    segment_destroy(segment, &account, prefix, 1);
    assert_int_equal(account.bytes[GR_ACCOUNT_FREE], 1 << 20);
}

static void
default_budget_fits_the_machine(void **state)
{
    (void)state;
    assert_true(gr_memory_default() > 0);
    assert_int_equal(gr_memory_default() % 4096, 0);
}

/* The least limit counts, and is named. */
static void
default_budget_says_where_it_comes_from(void **state)
{
    static const struct {
        struct gr_memory_limits limits;
        uint64_t budget;
        const char *why;
    } cases[] = {
        {{.cgroup = 8 << 20, .ram = 16 << 20, .shm = 32 << 20, .shm_free = 32 << 20},
         4 << 20,
         "half of the cgroup's limit"},
        {{.cgroup = UINT64_MAX, .ram = 16 << 20, .shm = 32 << 20, .shm_free = 32 << 20}, 8 << 20, "half of RAM"},
        {{.cgroup = UINT64_MAX, .ram = 64 << 20, .shm = 32 << 20, .shm_free = 32 << 20}, 16 << 20, "half of /dev/shm"},
        {{.cgroup = UINT64_MAX, .ram = 64 << 20, .shm = 32 << 20, .shm_free = 10 * 4096},
         9 * 4096,
         "nine tenths of what is free in /dev/shm"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *why;

        assert_int_equal(gr_memory_default_of(&cases[i].limits, &why), cases[i].budget);
        assert_string_equal(why, cases[i].why);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(account_always_balances),
        cmocka_unit_test(account_is_published_as_a_set),
        cmocka_unit_test(map_agrees_with_a_model),
        cmocka_unit_test(map_stays_a_map_whatever_ids_are_chosen),
        cmocka_unit_test(segment_bytes_move_through_the_account),
        cmocka_unit_test(segment_punches_whole_pages),
        cmocka_unit_test(default_budget_fits_the_machine),
        cmocka_unit_test(default_budget_says_where_it_comes_from),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
