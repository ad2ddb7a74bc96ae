#include "kernel/simd/tensor_sum.h"

#include <math.h>

/* Knuth's sum and its error (The Art of Computer Programming 2, 4.2.2): a + b exactly. */
#define TWO_SUM(a, b, sum, error)                                                                                      \
    do {                                                                                                               \
        double total_ = (a) + (b);                                                                                     \
        double part_ = total_ - (a);                                                                                   \
                                                                                                                       \
        (error) = ((a) - (total_ - part_)) + ((b)-part_);                                                              \
        (sum) = total_;                                                                                                \
    } while (0)

bool
SIMD(tensor_sum_lanes)(double *restrict high, double *restrict low, double *restrict rest, const double *restrict x,
                       int64_t n)
{
    int64_t left = 0;

    for (int64_t i = 0; i < n; i++) {
        bool out = !(fabs(x[i]) < TENSOR_SUM_MOST);
        double value = out ? 0.0 : x[i];
        double error, remaining;

        TWO_SUM(high[i], value, high[i], error);
        TWO_SUM(low[i], error, low[i], remaining);
        rest[i] = remaining;
        left |= (int64_t)out | (remaining != 0.0);
    }
    return left != 0;
}

/* The square's error by Dekker's product: the same with and without fused instructions. */
void
SIMD(tensor_moment_lanes)(double *restrict sum_high, double *restrict sum_low, double *restrict square_high,
                          double *restrict square_low, const double *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double square = x[i] * x[i];
        double wide = x[i] * 0x1.0000002p27;
        double upper = wide - (wide - x[i]);
        double lower = x[i] - upper;
        double missing = ((upper * upper - square) + 2.0 * upper * lower) + lower * lower;
        double error;

        TWO_SUM(sum_high[i], x[i], sum_high[i], error);
        sum_low[i] += error;
        TWO_SUM(square_high[i], square, square_high[i], error);
        square_low[i] += error + missing;
    }
}

void
SIMD(tensor_sum_int64)(const int64_t *x, int64_t n, int64_t *high, uint64_t *low)
{
    int64_t upper = 0;
    uint64_t lower = 0;

    for (int64_t i = 0; i < n; i++) {
        upper += x[i] >> 32;
        lower += (uint64_t)x[i] & UINT32_MAX;
    }
    *high = upper;
    *low = lower;
}

void
SIMD(tensor_sum_uint64)(const uint64_t *x, int64_t n, uint64_t *high, uint64_t *low)
{
    uint64_t upper = 0;
    uint64_t lower = 0;

    for (int64_t i = 0; i < n; i++) {
        upper += x[i] >> 32;
        lower += x[i] & UINT32_MAX;
    }
    *high = upper;
    *low = lower;
}
