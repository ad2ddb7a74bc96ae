/* Structs of callers that are smaller or larger than the library's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sized.h"

struct ours {
    uint64_t a, b;
};
struct theirs_larger {
    uint64_t a, b, c;
};

/* What the caller lacks is 0; what the library lacks must be 0. No options at all are zeros. */
static void
options_are_taken(void **state)
{
    struct theirs_larger larger = {1, 2, 0};
    struct ours ours = {9, 9};
    uint64_t smaller = 5;

    (void)state;
    assert_int_equal(gr_sized_take(&ours, sizeof ours, &smaller, sizeof smaller), GRANARY_OK);
    assert_true(ours.a == 5 && ours.b == 0);
    assert_int_equal(gr_sized_take(&ours, sizeof ours, &larger, sizeof larger), GRANARY_OK);
    assert_true(ours.a == 1 && ours.b == 2);
    assert_int_equal(gr_sized_take(&ours, sizeof ours, NULL, sizeof ours), GRANARY_OK);
    assert_true(ours.a == 0 && ours.b == 0);
    larger.c = (uint64_t)1 << 63;
    assert_int_equal(gr_sized_take(&ours, sizeof ours, &larger, sizeof larger), GRANARY_EUNSUPPORTED);
    assert_non_null(strstr(granary_error_message(), "byte 23"));
}

static void
lists_are_given(void **state)
{
    static const size_t sizes[] = {sizeof(uint64_t), sizeof(struct ours), sizeof(struct theirs_larger)};

    (void)state;
    for (size_t s = 0; s < 3; s++) {
        struct ours *ours = calloc(2, sizeof *ours);
        uint64_t *list = NULL;
        size_t words = sizes[s] / sizeof *list;
        size_t count = 7;

        ours[0] = (struct ours){1, 2};
        ours[1] = (struct ours){3, 4};
        assert_int_equal(gr_sized_give_list(GRANARY_OK, ours, sizeof *ours, 2, &list, sizes[s], &count), GRANARY_OK);
        assert_int_equal(count, 2);
        assert_int_equal(list[0], 1);
        assert_int_equal(list[words], 3);
        assert_true(words < 3 || (list[1] == 2 && list[2] == 0 && list[words + 2] == 0));
        free(list);
    }
}

/* An empty list is NULL; after an error nothing is given, and nothing is lost. */
static void
lists_that_are_none(void **state)
{
    int something;
    void *list = &something;
    size_t count = 7;

    (void)state;
    assert_int_equal(gr_sized_give_list(GRANARY_EIO, calloc(1, 16), 16, 1, &list, 8, &count), GRANARY_EIO);
    assert_true(list == &something && count == 7);
    assert_int_equal(gr_sized_give_list(GRANARY_OK, calloc(1, 16), 16, 0, &list, 8, &count), GRANARY_OK);
    assert_true(list == NULL && count == 0);
}

/* A caller's array is used as it is, or filled from another; what is behind count stays. */
static void
arrays_are_filled(void **state)
{
    uint64_t smaller[3] = {9, 9, 9};
    struct ours same[2] = {{9, 9}, {9, 9}};
    void *borrowed;

    (void)state;
    assert_int_equal(gr_sized_borrow(same, sizeof *same, sizeof(struct ours), 2, &borrowed), GRANARY_OK);
    assert_ptr_equal(borrowed, same);
    gr_sized_return(same, sizeof *same, borrowed, sizeof(struct ours), 2);
    assert_int_equal(gr_sized_borrow(smaller, sizeof *smaller, sizeof(struct ours), 3, &borrowed), GRANARY_OK);
    ((struct ours *)borrowed)[1] = (struct ours){4, 5};
    gr_sized_return(smaller, sizeof *smaller, borrowed, sizeof(struct ours), 2);
    assert_true(smaller[0] == 0 && smaller[1] == 4 && smaller[2] == 9);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_are_taken),
        cmocka_unit_test(lists_are_given),
        cmocka_unit_test(lists_that_are_none),
        cmocka_unit_test(arrays_are_filled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
