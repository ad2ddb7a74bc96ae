/* The index: found, not found, split, rebuilt, full; aliases, places; against a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/index/index_parts.h"

static char prefix[64];
static _Atomic uint32_t depth;

static int
setup(void **state)
{
    (void)state;
    (void)snprintf(prefix, sizeof prefix, "/granary.test.index.%d.", (int)getpid());
    return 0;
}

static granary_id
id_of(uint64_t n)
{
    granary_id id = {{0}};

    memcpy(id.bytes, &n, sizeof n);
    id.bytes[12] = 9;
    return id;
}

static granary_err
add_id(struct index *index, granary_id id, uint64_t n, uint64_t serial)
{
    struct index_object object = {.id = id, .serial = serial, .data_size = n, .where = 5, .offset = n * 64};
    struct gr_slot *slot;

    return index_insert(index, &object, &slot);
}

static granary_err
add(struct index *index, uint64_t n, uint64_t serial)
{
    return add_id(index, id_of(n), n, serial);
}

static void
what_is_inserted_is_found(void **state)
{
    struct index index;
    struct index_object object;
    struct gr_slot *slot;

    (void)state;
    assert_int_equal(index_create(&index, prefix, 1, &depth), GRANARY_OK);
    assert_int_equal(depth, 0);
    assert_null(index_find(&index, id_of(1)));
    assert_int_equal(add(&index, 1, 77), GRANARY_OK);
    assert_int_equal(add(&index, 1, 78), GRANARY_EEXIST);
    slot = index_find(&index, id_of(1));
    assert_non_null(slot);
    object = slot_object(slot);
    assert_int_equal(object.serial, 77);
    assert_int_equal(object.data_size, 1);
    assert_int_equal(object.where, 5);
    assert_int_equal(object.offset, 64);
    index_remove(&index, slot);
    assert_null(index_find(&index, id_of(1)));
    assert_int_equal(index.objects, 0);
    assert_int_equal(index.pages[0].counts.filled, 0);
    index_fini(&index);
}

/* A deleted object that is still leased does not stand in the way of a new one with its id. */
static void
deleting_makes_way_for_the_same_id(void **state)
{
    struct index index;
    struct gr_slot *old;

    (void)state;
    assert_int_equal(index_create(&index, prefix, 2, &depth), GRANARY_OK);
    assert_int_equal(add(&index, 1, 10), GRANARY_OK);
    old = index_find(&index, id_of(1));
    slot_enter(old, GR_SLOT_DELETING);
    assert_null(index_find(&index, id_of(1)));
    assert_int_equal(add(&index, 1, 11), GRANARY_OK);
    assert_ptr_not_equal(index_find(&index, id_of(1)), old);
    assert_ptr_equal(index_find_serial(&index, id_of(1), 10), old);
    index_remove(&index, old);
    assert_int_equal(slot_object(index_find(&index, id_of(1))).serial, 11);
    index_fini(&index);
}

/* Inserting and removing at random, the index and a plain array say the same, over many splits. */
static void
index_agrees_with_a_model(void **state)
{
    enum { KEYS = 60000, STEPS = 600000 };
    uint64_t *model = calloc(KEYS, sizeof *model);
    struct index index;
    uint64_t live = 0;
    uint64_t position = 0;
    uint64_t met = 0;

    (void)state;
    srand(3);
    assert_int_equal(index_create(&index, prefix, 3, &depth), GRANARY_OK);
    for (uint64_t step = 1; step <= STEPS; step++) {
        uint64_t n = (uint64_t)rand() % KEYS;
        struct gr_slot *slot = index_find(&index, id_of(n));

        assert_int_equal(slot != NULL, model[n] != 0);
        if (slot == NULL) {
            assert_int_equal(add(&index, n, step), GRANARY_OK);
            model[n] = step;
            live++;
        } else {
            assert_int_equal(slot_object(slot).serial, model[n]);
            if (step < STEPS / 2 ? rand() % 4 == 0 : rand() % 4 != 0) {
                index_remove(&index, slot);
                model[n] = 0;
                live--;
            }
        }
        assert_int_equal(index.objects, live);
    }
    assert_true(index.splits >= 16);
    for (uint64_t n = 0; n < KEYS; n++) {
        struct index_place place = index_place_of(id_of(n), model[n]);

        assert_int_equal(index_find(&index, id_of(n)) != NULL, model[n] != 0);
        if (model[n] != 0) {
            assert_ptr_equal(index_at(&index, &place), index_find(&index, id_of(n)));
        }
    }
    while (index_next(&index, &position) != NULL) {
        met++;
    }
    assert_int_equal(met, live);
    index_fini(&index);
    free(model);
}

/* Churn with few objects alive leaves tombstones, but never more pages than they need. */
static void
churn_does_not_grow_the_index(void **state)
{
    struct index index;

    (void)state;
    assert_int_equal(index_create(&index, prefix, 4, &depth), GRANARY_OK);
    for (uint64_t n = 0; n < 200000; n++) {
        assert_int_equal(add(&index, n, n + 1), GRANARY_OK);
        if (n >= 1250) {
            index_remove(&index, index_find(&index, id_of(n - 1250)));
        }
    }
    assert_int_equal(depth, 0);
    assert_int_equal(index.page_count, 2);
    assert_true(index.splits > 0);
    index_fini(&index);
}

/* What a page that was split said is MOVED, and the object is found where it is now. */
static void
split_moves_every_slot(void **state)
{
    struct index index;
    struct gr_slot *slot;
    uint64_t word;
    uint64_t n;

    (void)state;
    assert_int_equal(index_create(&index, prefix, 5, &depth), GRANARY_OK);
    assert_int_equal(add(&index, 0, 1), GRANARY_OK);
    slot = index_find(&index, id_of(0));
    for (n = 1; index.splits == 0; n++) {
        assert_int_equal(add(&index, n, n + 1), GRANARY_OK);
    }
    assert_int_equal(depth, 1);
    assert_int_equal(slot_word(slot), GR_WORD(1, GR_SLOT_MOVED));
    assert_ptr_not_equal(index_find(&index, id_of(0)), slot);
    assert_int_equal(slot_object(index_find(&index, id_of(0))).serial, 1);
    word = index_page_word(&index, 0);
    assert_int_equal(GR_PAGE_STATE(word), GR_PAGE_FREE);
    /* The next split uses it again, in its next generation. */
    for (; index.splits == 1; n++) {
        assert_int_equal(add(&index, n, n + 1), GRANARY_OK);
    }
    assert_int_equal(GR_PAGE_GENERATION(index_page_word(&index, 0)), GR_PAGE_GENERATION(word) + 1);
    assert_int_equal(index.page_count, 4);
    index_fini(&index);
}

/* However many objects: the index is never emptier than this. */
static void
index_is_equally_full_at_any_size(void **state)
{
    struct index index;

    (void)state;
    assert_int_equal(index_create(&index, prefix, 6, &depth), GRANARY_OK);
    for (uint64_t n = 1; n <= 400000; n++) {
        assert_int_equal(add(&index, n, n), GRANARY_OK);
        if (n >= 50000 && n % 10000 == 0) {
            assert_true(index_bytes(&index) / n < 120);
        }
    }
    index_fini(&index);
}

/* The n-th id of a prefix, from `from` on. */
static granary_id
next_alike(uint64_t *from)
{
    for (;;) {
        granary_id id = id_of((*from)++);

        if (gr_index_prefix(slot_key_of(id).hash) == 4711) {
            return id;
        }
    }
}

/* Ids that are all alike fill one page, at the deepest level; that is an error then, and harms nobody else. */
static void
full_page_is_an_error(void **state)
{
    struct index index;
    granary_id id = {{0}};
    granary_err err = GRANARY_OK;
    uint64_t from = 0;
    uint64_t serial = 0;

    (void)state;
    assert_int_equal(index_create(&index, prefix, 7, &depth), GRANARY_OK);
    while (err == GRANARY_OK) {
        id = next_alike(&from);
        err = add_id(&index, id, 1, ++serial);
    }
    assert_int_equal(err, GRANARY_EFULL);
    assert_int_equal(serial, GR_PAGE_SLOTS + 1);
    assert_int_equal(depth, GR_INDEX_MAX_DEPTH);
    assert_int_equal(index.objects, GR_PAGE_SLOTS);
    assert_null(index_find(&index, id));
    assert_int_equal(add_id(&index, (granary_id){{1}}, 1, ++serial), GRANARY_OK);
    index_remove(&index, index_find_serial(&index, next_alike(&(uint64_t){0}), 1));
    assert_int_equal(add_id(&index, id, 1, ++serial), GRANARY_OK);
    assert_non_null(index_find(&index, id));
    index_fini(&index);
}

static void
alias_leads_to_its_target(void **state)
{
    struct index index;
    struct gr_slot *slot;

    (void)state;
    assert_int_equal(index_create(&index, prefix, 8, &depth), GRANARY_OK);
    assert_int_equal(add(&index, 1, 1), GRANARY_OK);
    assert_int_equal(index_insert_alias(&index, id_of(1), id_of(5), 2, 1, &slot), GRANARY_EEXIST);
    assert_int_equal(index_insert_alias(&index, id_of(2), id_of(1), 2, 1, &slot), GRANARY_OK);
    assert_int_equal(index_insert_alias(&index, id_of(3), id_of(2), 3, 1, &slot), GRANARY_OK);
    assert_int_equal(add(&index, 2, 4), GRANARY_EEXIST);
    assert_null(index_find(&index, id_of(2)));
    assert_memory_equal(&(granary_id[]){index_resolve(&index, id_of(3))}, &(granary_id[]){id_of(1)}, 16);
    assert_memory_equal(&(granary_id[]){index_resolve(&index, id_of(9))}, &(granary_id[]){id_of(9)}, 16);
    assert_int_equal(index.objects, 1);

    assert_int_equal(index_repoint_alias(&index, id_of(9), id_of(1), 5), GRANARY_ENOENT);
    assert_int_equal(index_repoint_alias(&index, id_of(3), id_of(7), 5), GRANARY_OK);
    assert_memory_equal(&(granary_id[]){index_alias_target(index_find_alias(&index, id_of(3)))},
                        &(granary_id[]){id_of(7)}, 16);
    index_remove(&index, index_find_alias(&index, id_of(3)));
    assert_null(index_find_alias(&index, id_of(3)));
    /* A chain that bites its tail ends. */
    assert_int_equal(index_insert_alias(&index, id_of(1000), id_of(2), 6, 1, &slot), GRANARY_OK);
    assert_int_equal(index_repoint_alias(&index, id_of(2), id_of(1000), 7), GRANARY_OK);
    (void)index_resolve(&index, id_of(2));
    assert_int_equal(index.objects, 1);
    index_fini(&index);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_inserted_is_found), cmocka_unit_test(deleting_makes_way_for_the_same_id),
        cmocka_unit_test(index_agrees_with_a_model), cmocka_unit_test(churn_does_not_grow_the_index),
        cmocka_unit_test(split_moves_every_slot),    cmocka_unit_test(index_is_equally_full_at_any_size),
        cmocka_unit_test(full_page_is_an_error),     cmocka_unit_test(alias_leads_to_its_target),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
