/* The index: found, not found, grown, full of tombstones; against a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "store/index.h"

#define PREFIX "/granary.test.index."

static _Atomic uint64_t published;

static granary_id
id_of(uint64_t n)
{
    granary_id id = {{0}};

    memcpy(id.bytes, &n, sizeof n);
    id.bytes[12] = 9;
    return id;
}

static granary_err
add(struct index *index, uint64_t n, uint64_t serial)
{
    struct index_object object = {.id = id_of(n), .serial = serial, .data_size = n, .where = 5, .offset = n * 64};
    struct gr_slot *slot;

    return index_insert(index, &object, &slot);
}

static void
what_is_inserted_is_found(void **state)
{
    struct index index;
    struct index_object object;
    struct gr_slot *slot;

    (void)state;
    assert_int_equal(index_init(&index, PREFIX, 1, &published), GRANARY_OK);
    assert_int_equal(published, 1 << 8 | INDEX_FIRST_LOG2);
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
    assert_int_equal(index.filled, 0);
    index_fini(&index);
}

/* A deleted object that is still leased does not stand in the way of a new one with its id. */
static void
deleting_makes_way_for_the_same_id(void **state)
{
    struct index index;
    struct gr_slot *old;

    (void)state;
    assert_int_equal(index_init(&index, PREFIX, 2, &published), GRANARY_OK);
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

/* Inserting and removing at random, the index and a plain array say the same, over several growths. */
static void
index_agrees_with_a_model(void **state)
{
    enum { KEYS = 60000, STEPS = 600000 };
    uint64_t *model = calloc(KEYS, sizeof *model);
    struct index index;
    uint64_t live = 0;

    (void)state;
    srand(3);
    assert_int_equal(index_init(&index, PREFIX, 3, &published), GRANARY_OK);
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
        assert_true(index.filled >= live && index.filled < index.size);
    }
    assert_true(index.growths >= 2);
    for (uint64_t n = 0; n < KEYS; n++) {
        assert_int_equal(index_find(&index, id_of(n)) != NULL, model[n] != 0);
    }
    index_fini(&index);
    free(model);
}

/* Churn with few objects alive leaves tombstones, but never a larger table. */
static void
churn_does_not_grow_the_table(void **state)
{
    struct index index;

    (void)state;
    assert_int_equal(index_init(&index, PREFIX, 4, &published), GRANARY_OK);
    for (uint64_t n = 0; n < 200000; n++) {
        assert_int_equal(add(&index, n, n + 1), GRANARY_OK);
        if (n >= 4000) {
            index_remove(&index, index_find(&index, id_of(n - 4000)));
        }
    }
    assert_int_equal(index.size, (uint64_t)1 << INDEX_FIRST_LOG2);
    index_fini(&index);
}

static const uint32_t *seen_places;
static uint32_t place_of_first;

static void
on_moved(void *context, const uint32_t *new_place)
{
    struct index *index = context;

    seen_places = new_place;
    for (uint64_t i = 0; i < index->size; i++) {
        assert_int_equal(GR_WORD_STATE(slot_word(&index->slots[i])), GR_SLOT_MOVED);
    }
    place_of_first = new_place[place_of_first];
}

/* When the table is replaced, every old slot says MOVED, and whoever remembered places is told the new ones. */
static void
growth_moves_every_slot(void **state)
{
    struct index index;

    (void)state;
    assert_int_equal(index_init(&index, PREFIX, 5, &published), GRANARY_OK);
    index.moved = on_moved;
    index.context = &index;
    seen_places = NULL;
    assert_int_equal(add(&index, 0, 1), GRANARY_OK);
    place_of_first = (uint32_t)(index_find(&index, id_of(0)) - index.slots);
    for (uint64_t n = 1; seen_places == NULL; n++) {
        assert_int_equal(add(&index, n, n + 1), GRANARY_OK);
    }
    assert_int_equal(index.size, (uint64_t)2 << INDEX_FIRST_LOG2);
    assert_int_equal(published, 2 << 8 | (INDEX_FIRST_LOG2 + 1));
    assert_ptr_equal(index_find(&index, id_of(0)), &index.slots[place_of_first]);
    index_fini(&index);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_inserted_is_found), cmocka_unit_test(deleting_makes_way_for_the_same_id),
        cmocka_unit_test(index_agrees_with_a_model), cmocka_unit_test(churn_does_not_grow_the_table),
        cmocka_unit_test(growth_moves_every_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
