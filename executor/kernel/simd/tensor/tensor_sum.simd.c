/*
 * Each sum is two doubles: the error of every addition is kept (Knuth's TWO_SUM), and what fits neither is handed
 * back.
 */
#include "kernel/simd/tensor/tensor_sum.h"

#include <math.h>
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernel/simd/doubles.h"
#include "kernel/simd/exact_sum.h"

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

/* A square's error by Dekker's product: the same with and without fused instructions. */
static inline double
square_error(double x, double square)
{
    double wide = x * 0x1.0000002p27;
    double upper = wide - (wide - x);
    double lower = x - upper;

    return ((upper * upper - square) + 2.0 * upper * lower) + lower * lower;
}

void
SIMD(tensor_square_lanes)(double *restrict high, double *restrict low, const double *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double square = x[i] * x[i];
        double error;

        TWO_SUM(high[i], square, high[i], error);
        low[i] += error + square_error(x[i], square);
    }
}

void
SIMD(tensor_pair_lanes)(double *restrict high, double *restrict low, const double *restrict x_high,
                        const double *restrict x_low, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double error;

        TWO_SUM(high[i], x_high[i], high[i], error);
        low[i] += error + x_low[i];
    }
}

/* ---- rows ---- */

/* Columns that are gone down together: what is added to stays in registers. */
enum { STRIP = 2 * LANES };

/* Within the bounds of tensor_sum_rows() a fused product gives what Dekker's does. */
static inline doubles
square_errors(doubles x, doubles square)
{
#if defined(__AVX512F__)
    return (doubles)_mm512_fmsub_pd((__m512d)x, (__m512d)x, (__m512d)square);
#elif defined(__AVX2__) && defined(__FMA__)
    return (doubles)_mm256_fmsub_pd((__m256d)x, (__m256d)x, (__m256d)square);
#else
    doubles wide = x * 0x1.0000002p27;
    doubles upper = wide - (wide - x);
    doubles lower = x - upper;

    return ((upper * upper - square) + 2.0 * upper * lower) + lower * lower;
#endif
}

/* What goes down one vector of columns. */
struct column_sums {
    doubles high;
    doubles low;
    doubles square_high;
    doubles square_low;
    longs left; /* bits of what lies below both units */
};

static inline __attribute__((always_inline)) void
add_row(struct column_sums *sums, bool squares, doubles x, const double units[2])
{
    doubles piece = (x + units[0]) - units[0];
    doubles rest = x - piece;
    doubles part = (rest + units[1]) - units[1];

    sums->high += piece;
    sums->low += part;
    sums->left |= (longs)(rest - part);
    if (squares) {
        doubles square = x * x;
        doubles total = sums->square_high + square;
        doubles added = total - sums->square_high;

        sums->square_low += ((sums->square_high - (total - added)) + (square - added)) + square_errors(x, square);
        sums->square_high = total;
    }
}

static inline __attribute__((always_inline)) bool
sum_strip(struct tensor_row_sums *sums, bool squares, const double *x, int64_t rows, int64_t stride, int64_t from,
          int64_t width, const double units[2])
{
    struct column_sums a = {.high = {0}}, b = {.high = {0}};
    size_t bytes = (size_t)width * sizeof *x;
    double out[4][STRIP], padded[STRIP] = {0};
    int64_t left[LANES], any = 0;

    for (int64_t r = 0; r < rows; r++) {
        const double *row = x + r * stride + from;
        doubles first, second;

        if (width < STRIP) {
            memcpy(padded, row, bytes);
            row = padded;
        }
        memcpy(&first, row, sizeof first);
        memcpy(&second, row + LANES, sizeof second);
        add_row(&a, squares, first, units);
        add_row(&b, squares, second, units);
    }
    memcpy(out[0], &a.high, VECTOR);
    memcpy(out[0] + LANES, &b.high, VECTOR);
    memcpy(out[1], &a.low, VECTOR);
    memcpy(out[1] + LANES, &b.low, VECTOR);
    memcpy(out[2], &a.square_high, VECTOR);
    memcpy(out[2] + LANES, &b.square_high, VECTOR);
    memcpy(out[3], &a.square_low, VECTOR);
    memcpy(out[3] + LANES, &b.square_low, VECTOR);
    memcpy(sums->high + from, out[0], bytes);
    memcpy(sums->low + from, out[1], bytes);
    memcpy(sums->square_high + from, out[2], bytes);
    memcpy(sums->square_low + from, out[3], bytes);
    a.left |= b.left;
    memcpy(left, &a.left, sizeof left);
    for (int l = 0; l < LANES; l++) {
        any |= left[l];
    }
    return (any & INT64_MAX) == 0;
}

bool
SIMD(tensor_sum_rows)(struct tensor_row_sums *restrict sums, bool squares, const double *restrict x, int64_t rows,
                      int64_t stride, int64_t n)
{
    bool whole = true;
    int top = -2000;
    double units[2];

    for (int64_t r = 0; r < rows; r++) {
        int own = SIMD(exact_sum_top)(x + r * stride, (size_t)n);

        top = own > top ? own : top;
    }
    if (top > EXACT_TOP_MOST / 2 || rows > TENSOR_ROWS) {
        return false;
    }
    top = top < EXACT_TOP_LEAST / 2 ? EXACT_TOP_LEAST / 2 : top;
    units[0] = 1.5 * power_of_two(top + 11);
    units[1] = 1.5 * power_of_two(top + 11 - EXACT_LEVEL_BITS);
    for (int64_t from = 0; from < n && whole; from += STRIP) {
        int64_t width = n - from < STRIP ? n - from : STRIP;

        if (width == STRIP && squares) {
            whole = sum_strip(sums, true, x, rows, stride, from, STRIP, units);
        } else if (width == STRIP) {
            whole = sum_strip(sums, false, x, rows, stride, from, STRIP, units);
        } else {
            whole = sum_strip(sums, squares, x, rows, stride, from, width, units);
        }
    }
    return whole;
}

/* 1024 numbers below it, and as many squares of numbers below the other, add up in 64 bits. */
#define SUM_SMALL    ((uint64_t)1 << 52)
#define SQUARE_SMALL ((uint64_t)1 << 26)

bool
SIMD(tensor_sum_integer_rows)(const int64_t *x, bool is_signed, int64_t rows, int64_t stride, int64_t n,
                              int64_t *restrict sums, uint64_t *restrict squares)
{
    int64_t signs = is_signed ? -1 : 0;
    uint64_t sizes = 0; /* their bits */

    memset(sums, 0, (size_t)n * sizeof *sums);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t *row = x + r * stride;

        for (int64_t i = 0; i < n; i++) {
            sizes |= (uint64_t)(row[i] ^ (row[i] >> 63 & signs));
            sums[i] = (int64_t)((uint64_t)sums[i] + (uint64_t)row[i]);
        }
    }
    if (squares == NULL || sizes >= SQUARE_SMALL) {
        return squares == NULL && sizes < SUM_SMALL;
    }
    memset(squares, 0, (size_t)n * sizeof *squares);
    for (int64_t r = 0; r < rows; r++) {
        const int64_t *row = x + r * stride;

        for (int64_t i = 0; i < n; i++) {
            squares[i] += (uint64_t)((int64_t)(int32_t)row[i] * (int32_t)row[i]);
        }
    }
    return true;
}

#define SUM_HALVES(type, high_type)                                                                                    \
    void SIMD(tensor_sum_##type)(const type##_t *x, int64_t n, high_type *high, uint64_t *low)                         \
    {                                                                                                                  \
        high_type upper = 0;                                                                                           \
        uint64_t lower = 0;                                                                                            \
                                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            upper += x[i] >> 32;                                                                                       \
            lower += (uint64_t)x[i] & UINT32_MAX;                                                                      \
        }                                                                                                              \
        *high = upper;                                                                                                 \
        *low = lower;                                                                                                  \
    }
SUM_HALVES(int64, int64_t)
SUM_HALVES(uint64, uint64_t)
