/*
 * Variances, covariances, skewness and kurtosis. Second moments follow from exact sums, so no digits are lost
 * however large the mean is; higher ones take two passes over the values.
 */
#include "kernel/core/moments.h"
#include "contract/int128.h"

#include <math.h>
#include <string.h>

static void
add_product(struct exact_sum *sum, double a, double b)
{
    double product = a * b;

    exact_sum_add(sum, product);
    exact_sum_add(sum, fma(a, b, -product));
}

/* The leading part of what is left in a sum. */
static double
take_leading(struct exact_sum *sum)
{
    double value = exact_sum_value(sum);

    exact_sum_add(sum, -value);
    return value;
}

/* The sum less factor * other, where other is used up: three pieces of 53 bits are more than a result can show. */
static void
subtract_scaled(struct exact_sum *sum, double factor, struct exact_sum *other)
{
    for (int piece = 0; piece < 3; piece++) {
        add_product(sum, -factor, take_leading(other));
    }
}

double
moment_central(struct exact_sum *x, struct exact_sum *y, struct exact_sum *xy, int64_t count)
{
    double n = (double)count;
    double a = exact_sum_value(x) / n; /* the means, rounded: what that changes is d below */
    double b = exact_sum_value(y) / n;
    double square = a * b;
    struct exact_sum left[2];
    double d[2];

    memset(left, 0, sizeof left);
    if (!isfinite(a) || !isfinite(b) || !isfinite(exact_sum_value(xy)) || !isfinite(square * n)) {
        return NAN;
    }
    exact_sum_merge(&left[0], x);
    exact_sum_merge(&left[1], y);
    add_product(&left[0], -n, a);
    add_product(&left[1], -n, b);
    d[0] = exact_sum_value(&left[0]);
    d[1] = exact_sum_value(&left[1]);
    exact_sum_fini(&left[0]);
    exact_sum_fini(&left[1]);

    /* sum xy - a sum y - b sum x + n a b - d d / n */
    subtract_scaled(xy, b, x);
    subtract_scaled(xy, a, y);
    add_product(xy, n, square);
    add_product(xy, n, fma(a, b, -square));
    return exact_sum_value(xy) - d[0] * d[1] / n;
}

bool
moment_ints(gr_int128 x, gr_int128 y, gr_int128 xy, int64_t count, double *ret_moment)
{
    gr_int128 limit = (gr_int128)1 << 62;

    if (x >= limit || x <= -limit || y >= limit || y <= -limit || count >= (int64_t)1 << 32 ||
        xy >= (gr_int128)1 << 92 || xy <= -((gr_int128)1 << 92)) {
        return false;
    }
    *ret_moment = (double)(xy * count - x * y) / (double)count;
    return true;
}

/* Sums of powers of the distances from the mean, in the order of the values. */
static void
moment_powers(const double *values, size_t count, double ret_powers[5])
{
    struct exact_sum sum = {0};
    double n = (double)count;
    double rest = 0.0; /* of the mean, behind its last digit: values that are all the same have no distance from it */
    double mean;

    exact_sum_add_many(&sum, values, count);
    mean = exact_sum_value(&sum) / n;
    if (isfinite(mean)) {
        add_product(&sum, -n, mean);
        rest = exact_sum_value(&sum) / n;
    }
    exact_sum_fini(&sum);
    for (int p = 2; p < 5; p++) {
        ret_powers[p] = 0.0;
    }
    for (size_t i = 0; i < count; i++) {
        double d = values[i] - mean - rest;

        ret_powers[2] += d * d;
        ret_powers[3] += d * d * d;
        ret_powers[4] += d * d * d * d;
    }
}

bool
moment_skew(const double *values, size_t count, double *ret_value)
{
    double n = (double)count;
    double m[5];

    if (count < 3) {
        return false;
    }
    moment_powers(values, count, m);
    *ret_value = m[2] == 0.0 ? 0.0 : n * sqrt(n - 1.0) / (n - 2.0) * (m[3] / pow(m[2], 1.5));
    return true;
}

bool
moment_kurtosis(const double *values, size_t count, double *ret_value)
{
    double n = (double)count;
    double m[5];

    if (count < 4) {
        return false;
    }
    moment_powers(values, count, m);
    *ret_value = m[2] == 0.0 ? 0.0
                             : n * (n + 1.0) * (n - 1.0) * m[4] / ((n - 2.0) * (n - 3.0) * m[2] * m[2]) -
                                   3.0 * (n - 1.0) * (n - 1.0) / ((n - 2.0) * (n - 3.0));
    return true;
}
