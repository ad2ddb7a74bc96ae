/*
 * Sums of doubles without any rounding until the end: the value depends on the numbers alone, not on their order or on
 * how they were cut into chunks. It is the exact sum rounded once, half to even (as Python's math.fsum).
 *
 * A sum keeps up to three partials that do not overlap. Numbers that do not fit them (of very different size, or near
 * the end of the range) move into a fixed-point accumulator on the heap, which covers every double.
 *
 * Infinities and NaN follow IEEE 754: NaN, or +inf and -inf together, give NaN. A finite sum beyond the range gives
 * inf.
 */
#ifndef KERNEL_CORE_EXACT_SUM_H
#define KERNEL_CORE_EXACT_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

#define EXACT_SUM_PARTIALS 3

/* All zero is the empty sum (value 0.0). Owned by the caller; exact_sum_fini() frees what it holds. */
struct exact_sum {
    double partials[EXACT_SUM_PARTIALS]; /* increasing magnitude, none zero, bits do not overlap */
    uint8_t count;                       /* of partials */
    uint8_t special;                     /* bits: 1 +inf, 2 -inf, 4 NaN was added */
    bool failed;                         /* out of memory: the sum is worthless; it sticks */
    struct exact_wide *wide;             /* everything, when not NULL (count is 0 then) */
};

void exact_sum_fini(struct exact_sum *sum);

void exact_sum_add(struct exact_sum *sum, double x);
/* The same as adding each; fast for long runs. */
void exact_sum_add_many(struct exact_sum *sum, const double *values, size_t count);
/* Add what other holds; other stays as it is. */
void exact_sum_merge(struct exact_sum *sum, const struct exact_sum *other);

/* The rounded sum. */
double exact_sum_value(const struct exact_sum *sum);
/* The rounded sum, and what it lacks (0 beside an infinity; both NaN without memory). */
void exact_sum_pair(const struct exact_sum *sum, double *ret_high, double *ret_low);

/* Whether memory ran out in one of the calls above. */
static inline bool
exact_sum_ok(const struct exact_sum *sum)
{
    return !sum->failed;
}

/* Bytes exact_sum_write() will write: a multiple of 8, at most EXACT_SUM_BYTES_MAX. */
size_t exact_sum_size(const struct exact_sum *sum);
#define EXACT_SUM_BYTES_MAX ((size_t)(8 + 8 * 70))
/* Write it; returns the bytes written. at needs no alignment. */
size_t exact_sum_write(const struct exact_sum *sum, void *at);
/*
 * Read a written sum from at most size bytes.
 * ret_sum   to be given to exact_sum_fini(); ret_size: the bytes it took
 * Errors    ECORRUPT · ENOMEM
 */
granary_err exact_sum_read(const void *at, size_t size, struct exact_sum *ret_sum, size_t *ret_size);

#endif
