/* Loops over tensors give the same bits on every instruction set. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/simd/tensor/tensor_move.h"
#include "kernel/simd/tensor/tensor_sum.h"

#define COUNT 1021 /* no multiple of any vector */
#define WORDS ((COUNT + 3) * 4)

static const enum gr_simd levels[] = {GR_SIMD_BASE, GR_SIMD_AVX2, GR_SIMD_AVX512};

/* Numbers of every size, and the strange ones. */
static void
fill(enum gr_lane lane, uint64_t *values)
{
    static const double strange[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, 5e-324, 0x1p63, -0x1p64, 0.5, 2.5};

    for (int i = 0; i < COUNT; i++) {
        int64_t integer = (int64_t)random() * (random() % 2 == 0 ? 1 : -1) * (random() % 3 == 0 ? random() : 1);
        double number =
            i % 7 == 0 ? strange[random() % 11] : ldexp((double)(random() - 0x40000000), (int)(random() % 60) - 40);

        number = i % 50 == 0 ? (double)NAN : number;
        if (lane == GR_LANE_D) {
            memcpy(&values[i], &number, sizeof number);
        } else if (lane == GR_LANE_F) {
            ((float *)(void *)values)[i] = (float)number;
        } else {
            values[i] = i % 9 == 0 ? (uint64_t)(random() % 3) - 1 : (uint64_t)integer;
        }
    }
}

/* Whether the function computes in that lane. */
static bool
computes_in(enum gr_map_function function, enum gr_lane lane)
{
    static const granary_dtype dtypes[] = {GRANARY_INT64, GRANARY_UINT64, GRANARY_FLOAT32, GRANARY_FLOAT64};
    struct gr_map_operand operand = {dtypes[lane], false};
    granary_dtype compute, dtype;

    return function != GR_MAP_astype && gr_lane_of(dtypes[lane]) == lane &&
           gr_map_types(function, (struct gr_map_operand[]){operand, operand, operand}, GRANARY_NULLTYPE, &compute,
                        &dtype) == GRANARY_OK &&
           compute == dtypes[lane];
}

static void
every_function_gives_the_same_bits(void **state)
{
    static uint64_t a[WORDS], b[WORDS], c[WORDS], first[WORDS], out[WORDS];

    (void)state;
    srandom(1);
    for (int function = 0; function < GR_MAP_COUNT; function++) {
        for (int lane = 0; lane < 4; lane++) {
            if (!computes_in((enum gr_map_function)function, (enum gr_lane)lane)) {
                continue;
            }
            fill(function == GR_MAP_where ? GR_LANE_I : (enum gr_lane)lane, a);
            fill((enum gr_lane)lane, b);
            fill((enum gr_lane)lane, c);
            for (size_t l = 0; l < 3; l++) {
                gr_simd_limit(levels[l]);
                memset(out, 0, sizeof out);
                SIMD_CALL(tensor_map_apply)((enum gr_map_function)function, (enum gr_lane)lane, out, a, b, c, COUNT);
                if (l == 0) {
                    memcpy(first, out, sizeof out);
                }
                assert_memory_equal(first, out, sizeof out);
            }
        }
    }
}

static void
lanes_are_brought_to_others_alike(void **state)
{
    static const granary_dtype dtypes[] = {GRANARY_BOOL,  GRANARY_INT8,   GRANARY_INT16,  GRANARY_INT32,
                                           GRANARY_UINT8, GRANARY_UINT16, GRANARY_UINT32, GRANARY_INT64};
    static uint64_t a[WORDS], first[WORDS], out[WORDS];

    (void)state;
    srandom(2);
    for (int from = 0; from < 4; from++) {
        fill((enum gr_lane)from, a);
        for (int to = 0; to < 4 + 8; to++) {
            for (size_t l = 0; l < 3; l++) {
                gr_simd_limit(levels[l]);
                memset(out, 0, sizeof out);
                if (to < 4) {
                    SIMD_CALL(tensor_lane_convert)((enum gr_lane)from, (enum gr_lane)to, out, a, COUNT);
                } else if (gr_lane_of(dtypes[to - 4]) == (enum gr_lane)from) {
                    memcpy(out, a, COUNT * sizeof *out);
                    SIMD_CALL(tensor_lane_wrap)(dtypes[to - 4], out, COUNT);
                    SIMD_CALL(tensor_lane_store)(dtypes[to - 4], out + 2 * COUNT, out, COUNT);
                    SIMD_CALL(tensor_lane_load)(dtypes[to - 4], out + 3 * COUNT, out + 2 * COUNT, COUNT);
                    assert_memory_equal(out, out + 3 * COUNT, COUNT * sizeof *out);
                }
                if (l == 0) {
                    memcpy(first, out, sizeof out);
                }
                assert_memory_equal(first, out, sizeof out);
            }
        }
    }
}

static void
sums_side_by_side_are_alike_and_exact(void **state)
{
    static double x[COUNT], first[7][COUNT], sums[7][COUNT];

    (void)state;
    for (size_t l = 0; l < 3; l++) {
        bool left = false;

        gr_simd_limit(levels[l]);
        srandom(3);
        memset(sums, 0, sizeof sums);
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < COUNT; i++) {
                x[i] = ldexp((double)(random() - 0x40000000), (int)(random() % 20));
            }
            left = SIMD_CALL(tensor_sum_lanes)(sums[0], sums[1], sums[6], x, COUNT) || left;
            SIMD_CALL(tensor_square_lanes)(sums[2], sums[3], x, COUNT);
        }
        assert_false(left); /* integers below 2^53: nothing is lost */
        memcpy(l == 0 ? first : sums, sums, sizeof sums);
        assert_memory_equal(first, sums, sizeof sums);
    }
    x[5] = INFINITY;
    assert_true(SIMD_CALL(tensor_sum_lanes)(sums[0], sums[1], sums[6], x, COUNT));
    assert_true(isfinite(sums[0][5]));
}

static void
blocks_are_turned_alike(void **state)
{
    enum { ROWS = 70, COLUMNS = 75, STRIDE = 80 };
    static uint64_t in[COLUMNS * STRIDE];
    static _Alignas(64) uint64_t out[ROWS * STRIDE];

    (void)state;
    for (size_t i = 0; i < sizeof in / sizeof in[0]; i++) {
        in[i] = i;
    }
    for (size_t l = 0; l < 3; l++) {
        gr_simd_limit(levels[l]);
        memset(out, 0xff, sizeof out);
        SIMD_CALL(tensor_transpose)(out, STRIDE, in, STRIDE, ROWS, COLUMNS);
        for (int r = 0; r < ROWS; r++) {
            for (int c = 0; c < STRIDE; c++) {
                assert_true(out[r * STRIDE + c] == (c < COLUMNS ? (uint64_t)(c * STRIDE + r) : UINT64_MAX));
            }
        }
    }
}

static void
long_copies_pass_the_cache(void **state)
{
    static unsigned char from[1000], to[1100];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        from[i] = (unsigned char)random();
    }
    for (size_t l = 0; l < 3; l++) {
        for (int offset = 0; offset < 70; offset++) {
            gr_simd_limit(levels[l]);
            memset(to, 0, sizeof to);
            SIMD_CALL(tensor_stream)(to + offset, from, 1000 - offset);
            assert_memory_equal(to + offset, from, (size_t)(1000 - offset));
            assert_int_equal(to[1000], 0);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_gives_the_same_bits),
        cmocka_unit_test(lanes_are_brought_to_others_alike),
        cmocka_unit_test(sums_side_by_side_are_alike_and_exact),
        cmocka_unit_test(blocks_are_turned_alike),
        cmocka_unit_test(long_copies_pass_the_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
