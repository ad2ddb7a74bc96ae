/* How rows of tall matrices are cut: by shapes alone, and so that parts of tensors are whole blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/tensor/tall.h"
#include "graph/tensor/types.h"

static void
test_product_ways(void **state)
{
    (void)state;
    /* The right side is small: however many rows the left side has, so that a part of it goes the same way. */
    assert_int_equal(gr_product_way(1, 7, 5), GR_PRODUCT_BY_ROWS);
    assert_int_equal(gr_product_way(INT64_C(1) << 40, 1024, 1024), GR_PRODUCT_BY_ROWS);
    assert_int_equal(gr_product_way(100, 4096, 256), GR_PRODUCT_BY_ROWS);
    /* The result is small, and what is added up is long. */
    assert_int_equal(gr_product_way(7, 1000000, 5), GR_PRODUCT_BY_SUMS);
    assert_int_equal(gr_product_way(1024, 4097, 1024), GR_PRODUCT_BY_SUMS);
    /* Neither. */
    assert_int_equal(gr_product_way(7, 5000, 5), GR_PRODUCT_BY_BLOCKS);
    assert_int_equal(gr_product_way(5000, 5000, 5000), GR_PRODUCT_BY_BLOCKS);
    assert_int_equal(gr_product_way(INT64_MAX, INT64_MAX, INT64_MAX), GR_PRODUCT_BY_BLOCKS);
}

static void
check_block(int64_t block, int64_t least)
{
    assert_true(block >= least && block > 0);
    assert_int_equal(block & (block - 1), 0); /* so the largest of several is a multiple of all */
}

static void
test_blocks(void **state)
{
    (void)state;
    assert_int_equal(gr_product_block(7, 5), 131072);
    assert_int_equal(gr_product_block(0, 0), 1 << 20);
    assert_int_equal(gr_factor_block(1000000, 64), 16384);
    assert_int_equal(gr_factor_block(40000, 64), 8192); /* four of them */
    assert_int_equal(gr_factor_block(5000, 64), 1024);  /* fewer rows than 16 times the columns are too few */
    for (int64_t n = 1; n <= 4096; n = n * 3 + 1) {
        check_block(gr_product_block(n, 3), 2 * n);
        check_block(gr_factor_block(1, n), 16 * n);
        check_block(gr_factor_block(INT64_MAX, n), 16 * n);
        assert_true(gr_factor_block(1, n) * n >= 1 << 16);
    }
    check_block(gr_factor_block(INT64_MAX, INT64_MAX), 1);
    assert_true(gr_factor_is_tall(2048, 64));
    assert_false(gr_factor_is_tall(2047, 64));
    assert_false(gr_factor_is_tall(-1, 64)); /* not known */
}

/* Four machines have a strip each of all but the smallest matrices; a strip of a part is one of the whole. */
static void
test_strips(void **state)
{
    (void)state;
    assert_int_equal(gr_product_strip(-1), 128);
    assert_int_equal(gr_product_strip(0), 128);
    assert_int_equal(gr_product_strip(INT64_MAX), GR_PRODUCT_STRIP);
    for (int64_t m = 385; m < 5000; m++) {
        int64_t strip = gr_product_strip(m);

        check_block(strip, 128);
        assert_true((m - 1) / strip + 1 >= 4);
        assert_true(strip == GR_PRODUCT_STRIP || (m - 1) / (2 * strip) + 1 < 4);
    }
}

static void
test_parts(void **state)
{
    static const int64_t rows[] = {0, 1, 511, 512, 513, 5000, INT64_MAX};
    static const int64_t aligns[] = {1, 3, 512, INT64_C(1) << 45, INT64_MAX};

    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        for (size_t a = 0; a < sizeof aligns / sizeof aligns[0]; a++) {
            for (int64_t parts = 1; parts < 8; parts++) {
                int64_t before = 0;

                for (int64_t p = 0; p <= parts; p++) {
                    int64_t begin = gr_tensor_part(rows[r], p, parts, aligns[a]);

                    assert_true(begin >= before && begin <= rows[r]);
                    assert_true(begin == rows[r] || begin % aligns[a] == 0);
                    before = begin;
                }
                assert_int_equal(gr_tensor_part(rows[r], 0, parts, aligns[a]), 0);
                assert_int_equal(before, rows[r]);
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_product_ways),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_strips),
        cmocka_unit_test(test_parts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
