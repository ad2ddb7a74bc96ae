/* The loops of rows over numbers. No row is looked at twice, none is left out: nulls are seen to by the caller. */
#ifndef KERNEL_SIMD_ROWS_LOOPS_H
#define KERNEL_SIMD_ROWS_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/int128.h"
#include "graph/expr.h"
#include "kernel/simd/simd.h"

/* a OP b into out, or OP a for NEGATE, ABS and SIGN; a divisor of 0 stands for 1. Whether any of them overflowed: then
 * out is not to be used. */
SIMD_DECLARE(bool, rows_arithmetic_int,
             (enum gr_expr_op op, const int64_t *a, const int64_t *b, int64_t *out, int64_t n));
/* Also DIVIDE. */
SIMD_DECLARE(void, rows_arithmetic_double,
             (enum gr_expr_op op, const double *a, const double *b, double *out, int64_t n));

/* a OP b for the six comparisons: 0 or 1 a row. */
SIMD_DECLARE(void, rows_compare_int, (enum gr_expr_op op, const int64_t *a, const int64_t *b, uint8_t *out, int64_t n));
SIMD_DECLARE(void, rows_compare_double,
             (enum gr_expr_op op, const double *a, const double *b, uint8_t *out, int64_t n));

/* As columns have them: files of others promise 8 bytes only. */
typedef gr_int128 rows_int128 __attribute__((aligned(8)));

/* Values of 16 bytes, those selected or the first n, as int64. Whether all fit. */
SIMD_DECLARE(bool, rows_narrow, (const rows_int128 *from, const uint16_t *selected, int64_t n, int64_t *out));

/* What values of a column are compared with: the integer or the real. */
union rows_bound {
    int64_t integer;
    double real;
};

/* mask[i] &= values[i] OP bound, of values as a column of that kind has them. Kinds: of numbers. */
SIMD_DECLARE(void, rows_mask,
             (enum gr_expr_op op, granary_dtype kind, const void *values, union rows_bound bound, uint8_t *mask,
              int64_t n));

/* Of n selected positions those for which values[position] OP bound, in order and in place. Returns how many. */
SIMD_DECLARE(int64_t, rows_sift,
             (enum gr_expr_op op, granary_dtype kind, const void *values, union rows_bound bound, uint16_t *selected,
              int64_t n));

/* Whether each key is among so many sorted ones, a power of two: 0 or 1 a row. */
SIMD_DECLARE(void, rows_among, (const int64_t *keys, int64_t n, const int64_t *sorted, int64_t count, uint8_t *out));

/* How many of n bytes of 0 or 1 are 1. */
SIMD_DECLARE(int64_t, rows_count, (const uint8_t *mask, int64_t n));

/* condition ? a : b, of 8 bytes each. */
SIMD_DECLARE(void, rows_choose,
             (const uint8_t *condition, const uint64_t *a, const uint64_t *b, uint64_t *out, int64_t n));

/* pick[i] = picked, where the condition is not 0. */
SIMD_DECLARE(void, rows_pick, (const uint8_t *condition, uint16_t picked, uint16_t *pick, int64_t n));

/* Positions whose mask is not 0, in order. Returns how many; ret_selected has room for n + 32. */
SIMD_DECLARE(int64_t, rows_positions, (const uint8_t *mask, int64_t n, uint16_t *ret_selected));

#endif
