/* Central moments, from exact sums: rounded a few times only, whatever the mean is. */
#ifndef KERNEL_CORE_MOMENTS_H
#define KERNEL_CORE_MOMENTS_H

#include <stdbool.h>

#include "contract/int128.h"
#include "kernel/core/exact_sum.h"

/* The sum over (x - mean x)(y - mean y) from the sums of x, y and x * y; nan when one is not finite. The sums are used
 * up. */
double moment_central(struct exact_sum *x, struct exact_sum *y, struct exact_sum *xy, int64_t count);
/* The same of integers. False: they are too large for this way. */
bool moment_ints(gr_int128 x, gr_int128 y, gr_int128 xy, int64_t count, double *ret_moment);

/* As pandas: unbiased. False: too few values. */
bool moment_skew(const double *values, size_t count, double *ret_value);
bool moment_kurtosis(const double *values, size_t count, double *ret_value);

#endif
