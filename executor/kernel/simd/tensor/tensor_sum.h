/* Sums side by side: one for each element of a run. */
#ifndef KERNEL_SIMD_TENSOR_SUM_H
#define KERNEL_SIMD_TENSOR_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/simd/simd.h"

#define TENSOR_ROWS        4096 /* pieces of so many numbers add up without rounding */
#define TENSOR_ROW_COLUMNS 1024

/* Numbers that lanes take: 2^60 of them stay finite. */
#define TENSOR_SUM_MOST 0x1p960

/*
 * high[i] + low[i] += x[i], without rounding: what does not fit the two is left in rest[i] (0 as a rule). Numbers that
 * are not below TENSOR_SUM_MOST are left out altogether.
 *
 * Returns whether there is a rest or something was left out
 */
SIMD_DECLARE(bool, tensor_sum_lanes, (double *high, double *low, double *rest, const double *x, int64_t n));

/*
 * Sums of x * x, in pairs of doubles: high + low is the sum but for about 2^-100 of it.
 */
SIMD_DECLARE(void, tensor_square_lanes, (double *high, double *low, const double *x, int64_t n));
/* high[i] + low[i] += x_high[i] + x_low[i], as closely. */
SIMD_DECLARE(void, tensor_pair_lanes,
             (double *high, double *low, const double *x_high, const double *x_low, int64_t n));

/* Sums down the columns of a few rows: of the numbers, high + low exactly; of their squares but for about 2^-100. */
struct tensor_row_sums {
    double high[TENSOR_ROW_COLUMNS];
    double low[TENSOR_ROW_COLUMNS];
    double square_high[TENSOR_ROW_COLUMNS];
    double square_low[TENSOR_ROW_COLUMNS];
};
/*
 * rows     at most TENSOR_ROWS, stride apart; n numbers each, at most TENSOR_ROW_COLUMNS
 * squares  whether sums of squares are wanted, too
 * Returns  false: they differ too much in size, or are too large or small, or not finite; the sums are worthless
 */
SIMD_DECLARE(bool, tensor_sum_rows,
             (struct tensor_row_sums * sums, bool squares, const double *x, int64_t rows, int64_t stride, int64_t n));

/*
 * Sums down the columns of rows of integers and, unless they are NULL, of their squares.
 *
 * rows       at most 1024, stride apart; n numbers each
 * is_signed  whether they are int64, or uint64
 * Returns    false: some are too large; the sums are worthless
 */
SIMD_DECLARE(bool, tensor_sum_integer_rows,
             (const int64_t *x, bool is_signed, int64_t rows, int64_t stride, int64_t n, int64_t *sums,
              uint64_t *squares));

/* The sums of n integers in two parts: *high 2^32 + *low. n at most 2^31. */
SIMD_DECLARE(void, tensor_sum_int64, (const int64_t *x, int64_t n, int64_t *high, uint64_t *low));
SIMD_DECLARE(void, tensor_sum_uint64, (const uint64_t *x, int64_t n, uint64_t *high, uint64_t *low));

#endif
