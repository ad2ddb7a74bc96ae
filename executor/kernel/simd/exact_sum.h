/*
 * Doubles cut into pieces that add up without rounding (Rump, Ogita, Oishi, Accurate Floating-Point Summation, 2008:
 * ExtractVector). Adding 1.5 * 2^k rounds a smaller number to a multiple of 2^(k - 52), and the rest is exact.
 */
#ifndef KERNEL_SIMD_EXACT_SUM_H
#define KERNEL_SIMD_EXACT_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/simd/simd.h"

enum {
    EXACT_BLOCK = 4096, /* numbers at most that are added up at once */
    EXACT_LEVELS = 3,
    EXACT_LEVEL_BITS = 42,  /* a level's unit is 2^-42 of the unit of the one before it, about */
    EXACT_TOP_BITS = 83,    /* from the top of numbers that are split to the unit of the lower integer */
    EXACT_TOP_LEAST = -900, /* below it, pieces would be subnormal */
    EXACT_TOP_MOST = 1000,  /* above it, and for infinities and NaN, 1.5 * 2^k overflows */
};

/*
 * Add up count numbers exactly: ret_levels[0] + ret_levels[1] + ... is their sum.
 *
 * count    at most EXACT_BLOCK
 * Returns  how many levels; 0 when they differ too much in size, or one is too large or not finite
 */
SIMD_DECLARE(int, exact_sum_block, (const double *values, size_t count, double ret_levels[EXACT_LEVELS]));

/* The least top with |x| < 2^top for all of them; 1025 with an infinity or NaN. */
SIMD_DECLARE(int, exact_sum_top, (const double *values, size_t count));

/*
 * The same numbers as integers: values[i] = (high[i] * 2^42 + low[i]) * 2^(top - 83); each of the two is at most 2^41
 * in size, so that 2^21 of them can be added up.
 *
 * top      EXACT_TOP_LEAST to EXACT_TOP_MOST; all are smaller than 2^top
 * Returns  whether that is so for each of them; false: some have bits below 2^(top - 83), which are missing in low
 */
SIMD_DECLARE(bool, exact_sum_split, (const double *values, size_t count, int top, int64_t *high, int64_t *low));

#endif
