/* Sums side by side: one for each element of a run. */
#ifndef SIMD_TENSOR_SUM_H
#define SIMD_TENSOR_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/simd/simd.h"

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
 * Sums of x and x * x, in pairs of doubles: high + low is the sum but for about 2^-100 of it.
 */
SIMD_DECLARE(void, tensor_moment_lanes,
             (double *sum_high, double *sum_low, double *square_high, double *square_low, const double *x, int64_t n));

/* The sums of n integers in two parts: *high 2^32 + *low. n at most 2^31. */
SIMD_DECLARE(void, tensor_sum_int64, (const int64_t *x, int64_t n, int64_t *high, uint64_t *low));
SIMD_DECLARE(void, tensor_sum_uint64, (const uint64_t *x, int64_t n, uint64_t *high, uint64_t *low));

#endif
