/* Memory that is given back at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/memory/region.h"

static void
what_is_allocated_does_not_overlap(void **state)
{
    struct gr_region *region = gr_region_create();
    unsigned char *pieces[2000];

    (void)state;
    assert_non_null(region);
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < 2000; i++) {
            pieces[i] = gr_region_alloc(region, i);
            assert_non_null(pieces[i]);
            assert_int_equal((uintptr_t)pieces[i] % 16, 0);
            memset(pieces[i], (int)(i & 0xff), i);
        }
        for (size_t i = 0; i < 2000; i++) {
            assert_true(i == 0 || (pieces[i][0] == (i & 0xff) && pieces[i][i - 1] == (i & 0xff)));
        }
        gr_region_reset(region);
    }
    gr_region_destroy(region);
}

static void
large_and_impossible_sizes(void **state)
{
    struct gr_region *region = gr_region_create();
    unsigned char *large = gr_region_zalloc(region, 1000, 10000);

    (void)state;
    assert_non_null(large);
    assert_int_equal(large[0] + large[9999999], 0);
    assert_null(gr_region_alloc(region, SIZE_MAX));
    assert_null(gr_region_zalloc(region, SIZE_MAX / 4, 8));
    assert_non_null(gr_region_alloc(region, 1));
    gr_region_destroy(region);
}

static void
one_takes_over_what_another_has(void **state)
{
    struct gr_region *region = gr_region_create();
    struct gr_region *empty = gr_region_create();
    struct gr_region *other = gr_region_create();
    char *text;

    (void)state;
    text = gr_region_alloc(other, 6);
    memcpy(text, "wheat", 6);
    gr_region_absorb(region, other); /* into an empty one */
    assert_non_null(gr_region_alloc(region, 100));
    gr_region_absorb(region, empty);
    assert_string_equal(text, "wheat");
    gr_region_destroy(region);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_allocated_does_not_overlap),
        cmocka_unit_test(large_and_impossible_sizes),
        cmocka_unit_test(one_takes_over_what_another_has),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
