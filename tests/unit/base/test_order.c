#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/order.h"

enum { COUNT = 3000 };

static void
fill(struct gr_ordered *items, size_t count, uint64_t mask)
{
    static char things[COUNT];
    uint64_t seed = 5;

    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        items[i] =
            (struct gr_ordered){.keys = {seed >> 62, seed >> 60 & 3, (seed ^ seed >> 29) & mask}, .item = &things[i]};
    }
}

static int
compare(const struct gr_ordered *a, const struct gr_ordered *b)
{
    for (size_t k = 0; k < GR_ORDER_KEYS; k++) {
        if (a->keys[k] != b->keys[k]) {
            return a->keys[k] < b->keys[k] ? -1 : 1;
        }
    }
    return (const char *)a->item < (const char *)b->item ? -1 : 1;
}

static void
it_sorts_and_keeps_the_order_of_equals(void **state)
{
    /* All digits, one, few with gaps between them, none; an odd and an even number of them. */
    static const uint64_t masks[] = {UINT64_MAX, 0xf, 0x7000000000000f00, 0xff00ff0000000001, 0};
    struct gr_ordered items[COUNT];

    (void)state;
    for (size_t m = 0; m < sizeof masks / sizeof masks[0]; m++) {
        fill(items, COUNT, masks[m]);
        assert_true(gr_order(items, COUNT));
        for (size_t i = 1; i < COUNT; i++) {
            assert_true(compare(&items[i - 1], &items[i]) < 0);
        }
    }
}

static void
nothing_and_one_are_in_order(void **state)
{
    struct gr_ordered one = {.keys = {7}, .item = &one};

    (void)state;
    assert_true(gr_order(&one, 0));
    assert_true(gr_order(&one, 1));
    assert_int_equal(one.keys[0], 7);
    assert_ptr_equal(one.item, &one);
}

static void
words_are_ordered_as_their_bytes(void **state)
{
    const uint64_t words[] = {0, 1, 0x100, 0xff00000000000000, 0x0102030405060708, UINT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        for (size_t j = 0; j < sizeof words / sizeof words[0]; j++) {
            assert_true((memcmp(&words[i], &words[j], sizeof words[i]) < 0) ==
                        (gr_order_of_bytes(words[i]) < gr_order_of_bytes(words[j])));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_sorts_and_keeps_the_order_of_equals),
        cmocka_unit_test(nothing_and_one_are_in_order),
        cmocka_unit_test(words_are_ordered_as_their_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
