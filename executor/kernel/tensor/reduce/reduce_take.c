/* What a reduction takes of blocks of a chunk. */
#include "contract/int128.h"
#include "kernel/tensor/reduce/reduce.h"

#include <math.h>
#include <string.h>

#include "kernel/simd/tensor/tensor_sum.h"

/* ---- sums ---- */

static void
take_doubles(struct reducing *r, int64_t at, int64_t step, const double *x, int64_t n)
{
    if (step == 0) {
        exact_sum_add_many(&r->exact[at], x, (size_t)n);
        return;
    }
    if (!SIMD_CALL(tensor_sum_lanes)(r->parts[0] + at, r->parts[1] + at, r->rest, x, n)) {
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!(fabs(x[i]) < TENSOR_SUM_MOST)) {
            exact_sum_add(&r->exact[at + i], x[i]);
        }
        if (r->rest[i] != 0) {
            exact_sum_add(&r->exact[at + i], r->rest[i]);
        }
    }
}

static void
take_integers(struct reducing *r, int64_t at, int64_t step, const void *values, int64_t n)
{
    if (step != 0) {
        for (int64_t i = 0; i < n; i++) {
            r->integers[at + i * step] +=
                r->lane == GR_LANE_U ? (gr_int128)((const uint64_t *)values)[i] : ((const int64_t *)values)[i];
        }
    } else if (r->lane == GR_LANE_U) {
        uint64_t high, low;

        SIMD_CALL(tensor_sum_uint64)(values, n, &high, &low);
        r->integers[at] += ((gr_int128)high << 32) + low;
    } else {
        int64_t high;
        uint64_t low;

        SIMD_CALL(tensor_sum_int64)(values, n, &high, &low);
        r->integers[at] += (gr_int128)high * ((int64_t)1 << 32) + low;
    }
}

/* ---- products ---- */

void
reducing_multiply(struct reducing *r, int64_t at, double x, double x_low, int64_t x_exponent)
{
    double a = r->parts[0][at];
    double product = a * x;
    double error;
    int shift;

    if (!isfinite(product) || product == 0) {
        r->parts[0][at] = product;
        r->parts[1][at] = 0;
        return;
    }
    error = fma(a, x, -product) + (r->parts[1][at] * x + a * x_low);
    a = product + error;
    error -= a - product;
    a = frexp(a, &shift);
    r->parts[0][at] = a;
    r->parts[1][at] = ldexp(error, -shift);
    r->exponents[at] += shift + x_exponent;
}

static void
take_factors(struct reducing *r, int64_t at, int64_t step, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        int exponent = 0;
        double fraction = isfinite(x[i]) ? frexp(x[i], &exponent) : x[i];

        reducing_multiply(r, at + i * step, fraction, 0, exponent);
    }
}

/* ---- moments ---- */

static void
take_squares(struct reducing *r, int64_t at, int64_t step, const double *x, int64_t n)
{
    double *const *p = r->parts + 2;

    if (step != 0) {
        SIMD_CALL(tensor_square_lanes)(p[0] + at, p[1] + at, x, n);
        return;
    }
    /* Sixteen sums side by side, which are then put together. */
    {
        double lanes[2][16] = {{0}};

        for (int64_t i = 0; i < n; i += 16) {
            SIMD_CALL(tensor_square_lanes)(lanes[0], lanes[1], x + i, n - i < 16 ? n - i : 16);
        }
        for (int i = 0; i < 16; i++) {
            SIMD_CALL(tensor_pair_lanes)(p[0] + at, p[1] + at, &lanes[0][i], &lanes[1][i], 1);
        }
    }
}

#define SQUARE_SMALL ((uint64_t)1 << 26) /* squares of a block of numbers below it add up in 64 bits */

/* Whether the sum of squares of a block fits 64 bits: then *ret_sum. */
static bool
add_small_squares(const uint64_t *sizes, int64_t n, uint64_t *ret_sum)
{
    uint64_t most = 0;
    uint64_t sum = 0;

    for (int64_t i = 0; i < n; i++) {
        most |= sizes[i];
    }
    for (int64_t i = 0; i < n && most < SQUARE_SMALL; i++) {
        sum += (uint64_t)(uint32_t)sizes[i] * (uint32_t)sizes[i];
    }
    *ret_sum = sum;
    return most < SQUARE_SMALL;
}

static void
add_square(struct square_sum *sum, gr_uint128 square)
{
    sum->high += __builtin_add_overflow(sum->low, square, &sum->low);
}

/* How far from 0 integers are. */
static void
sizes_measure(enum gr_lane lane, const uint64_t *x, int64_t n, uint64_t *ret_sizes)
{
    for (int64_t i = 0; i < n; i++) {
        ret_sizes[i] = lane == GR_LANE_I && x[i] >> 63 ? 0 - x[i] : x[i];
    }
}

static void
take_integer_squares(struct reducing *r, int64_t at, int64_t step, const uint64_t *x, int64_t n)
{
    uint64_t sizes[PROGRAM_BLOCK];
    uint64_t small;

    sizes_measure(r->lane, x, n, sizes);
    if (step == 0 && add_small_squares(sizes, n, &small)) {
        add_square(&r->squares[at], small);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        add_square(&r->squares[at + i * step], (gr_uint128)sizes[i] * sizes[i]);
    }
}

/* ---- rows ---- */

bool
reducing_takes_rows(const struct reducing *r)
{
    return (r->exact != NULL || r->integers != NULL) && !gr_reduction_skips_nan(r->reduction);
}

/* Rows that fit the second cache together; columns of a block at most PROGRAM_BLOCK. */
#define ROWS_BYTES (256 << 10)
#define ROWS_MOST  256

static void
take_double_rows(struct reducing *r, int64_t at, const struct program_rows *rows)
{
    bool squares = r->how == GR_REDUCE_BY_MOMENTS;
    int64_t n = rows->n;
    int64_t many = ROWS_BYTES / (int64_t)sizeof(double) / n;
    struct tensor_row_sums sums;

    many = many < 1 ? 1 : many > ROWS_MOST ? ROWS_MOST : many;
    for (int64_t row = 0; row < rows->rows; row += many) {
        const double *first = (const double *)rows->values + row * rows->stride;
        int64_t count = rows->rows - row < many ? rows->rows - row : many;

        if (SIMD_CALL(tensor_sum_rows)(&sums, squares, first, count, rows->stride, n)) {
            take_doubles(r, at, 1, sums.high, n);
            take_doubles(r, at, 1, sums.low, n);
            if (squares) {
                SIMD_CALL(tensor_pair_lanes)(r->parts[2] + at, r->parts[3] + at, sums.square_high, sums.square_low, n);
            }
            continue;
        }
        for (int64_t k = 0; k < count; k++) {
            take_doubles(r, at, 1, first + k * rows->stride, n);
            if (squares) {
                take_squares(r, at, 1, first + k * rows->stride, n);
            }
        }
    }
}

static void
take_integer_rows(struct reducing *r, int64_t at, const struct program_rows *rows)
{
    int64_t sums[PROGRAM_BLOCK];
    uint64_t squares[PROGRAM_BLOCK];

    for (int64_t row = 0; row < rows->rows; row += ROWS_MOST) {
        const int64_t *first = (const int64_t *)rows->values + row * rows->stride;
        int64_t count = rows->rows - row < ROWS_MOST ? rows->rows - row : ROWS_MOST;
        bool small = SIMD_CALL(tensor_sum_integer_rows)(first, r->lane == GR_LANE_I, count, rows->stride, rows->n, sums,
                                                        r->squares != NULL ? squares : NULL);

        for (int64_t i = 0; small && i < rows->n; i++) {
            r->integers[at + i] += sums[i];
            if (r->squares != NULL) {
                add_square(&r->squares[at + i], squares[i]);
            }
        }
        for (int64_t k = 0; !small && k < count; k++) {
            take_integers(r, at, 1, first + k * rows->stride, rows->n);
            if (r->squares != NULL) {
                take_integer_squares(r, at, 1, (const uint64_t *)first + k * rows->stride, rows->n);
            }
        }
    }
}

void
reducing_take_rows(struct reducing *r, int64_t at, const struct program_rows *rows)
{
    if (r->exact != NULL) {
        take_double_rows(r, at, rows);
    } else {
        take_integer_rows(r, at, rows);
    }
}

/* ---- one value ---- */

static enum gr_map_function
fold_of(enum gr_reduction reduction)
{
    switch (reduction) {
    case GR_REDUCE_max:
    case GR_REDUCE_any:
        return GR_MAP_maximum;
    case GR_REDUCE_nanmax:
        return GR_MAP_fmax;
    case GR_REDUCE_nanmin:
        return GR_MAP_fmin;
    default:
        return GR_MAP_minimum;
    }
}

void
reducing_take_fold(struct reducing *r, int64_t at, int64_t step, const void *values, int64_t n)
{
    enum gr_map_function function = r->how == GR_REDUCE_BY_PROD ? GR_MAP_multiply : fold_of(r->reduction);
    size_t width = reducing_width(r);
    _Alignas(64) char out[PROGRAM_BLOCK * 8];
    _Alignas(64) char other[PROGRAM_BLOCK * 8];
    char *from = other;
    char *to = out;

    if (step != 0) {
        SIMD_CALL(tensor_map_apply)(function, r->lane, out, r->values + (size_t)at * width, values, values, n);
        memcpy(r->values + (size_t)at * width, out, (size_t)n * width);
        return;
    }
    memcpy(from, values, (size_t)n * width);
    while (n > 1) { /* one half with the other */
        int64_t half = n / 2;
        char *last = from;

        SIMD_CALL(tensor_map_apply)(function, r->lane, to, from, from + (size_t)(n - half) * width, from, half);
        memcpy(to + (size_t)half * width, from + (size_t)half * width, (size_t)(n - 2 * half) * width);
        n -= half;
        from = to;
        to = last;
    }
    SIMD_CALL(tensor_map_apply)(function, r->lane, to, r->values + (size_t)at * width, from, from, 1);
    memcpy(r->values + (size_t)at * width, to, width);
}

#define TAKE_BEST(type, is_nan)                                                                                        \
    do {                                                                                                               \
        const type *x = values;                                                                                        \
        type *best = (type *)(void *)r->values;                                                                        \
                                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            int64_t e = at[0] + i * steps[0];                                                                          \
            int64_t position = at[1] + i * steps[1];                                                                   \
            int64_t old = r->positions[e];                                                                             \
            bool nan = is_nan(x[i]);                                                                                   \
            bool old_nan = old >= 0 && is_nan(best[e]);                                                                \
            bool better = old < 0 || (nan != old_nan ? nan : !nan && (largest ? x[i] > best[e] : x[i] < best[e]));     \
            bool same = nan ? old_nan : x[i] == best[e];                                                               \
                                                                                                                       \
            if (better || (same && position < old)) {                                                                  \
                best[e] = x[i];                                                                                        \
                r->positions[e] = position;                                                                            \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)
#define NEVER_NAN(x) false
#define IS_NAN(x)    ((x) != (x))

void
reducing_take_positions(struct reducing *r, const int64_t *at, const int64_t *steps, const void *values, int64_t n)
{
    bool largest = reducing_is_largest(r->reduction);

    switch (r->lane) {
    case GR_LANE_I:
        TAKE_BEST(int64_t, NEVER_NAN);
        break;
    case GR_LANE_U:
        TAKE_BEST(uint64_t, NEVER_NAN);
        break;
    case GR_LANE_F:
        TAKE_BEST(float, IS_NAN);
        break;
    default:
        TAKE_BEST(double, IS_NAN);
    }
}

/* ---- blocks ---- */

/* Replace NaN by what changes nothing, and count the others. */
static const double *
skip_nan(struct reducing *r, int64_t at, int64_t step, const double *x, int64_t n, double neutral, double *room)
{
    for (int64_t i = 0; i < n; i++) {
        bool nan = x[i] != x[i];

        room[i] = nan ? neutral : x[i];
        if (r->counts != NULL) {
            r->counts[at + i * step] += !nan;
        }
    }
    return room;
}

void
reducing_take(void *context, const int64_t *at, const int64_t *steps, const void *values, enum gr_lane lane, int64_t n)
{
    struct reducing *r = context;
    double converted[PROGRAM_BLOCK], cleaned[PROGRAM_BLOCK];
    bool doubles = r->exact != NULL || r->exponents != NULL;
    const double *x = values;

    if (doubles && lane != GR_LANE_D) {
        SIMD_CALL(tensor_lane_convert)(lane, GR_LANE_D, converted, values, n);
        x = converted;
    }
    if (gr_reduction_skips_nan(r->reduction) && doubles) {
        x = skip_nan(r, at[0], steps[0], x, n, r->exponents != NULL ? 1 : 0, cleaned);
    } else if (r->counts != NULL) {
        for (int64_t i = 0; i < n; i++) {
            r->counts[at[0] + i * steps[0]]++;
        }
    }
    switch (r->how) {
    case GR_REDUCE_BY_SUM:
        if (r->exact != NULL) {
            take_doubles(r, at[0], steps[0], x, n);
        } else {
            take_integers(r, at[0], steps[0], values, n);
        }
        break;
    case GR_REDUCE_BY_PROD:
        if (r->exponents != NULL) {
            take_factors(r, at[0], steps[0], x, n);
            break;
        }
        reducing_take_fold(r, at[0], steps[0], values, n);
        break;
    case GR_REDUCE_BY_FOLD:
        reducing_take_fold(r, at[0], steps[0], values, n);
        break;
    case GR_REDUCE_BY_MOMENTS:
        if (r->squares != NULL) {
            take_integers(r, at[0], steps[0], values, n);
            take_integer_squares(r, at[0], steps[0], values, n);
            break;
        }
        take_doubles(r, at[0], steps[0], x, n);
        take_squares(r, at[0], steps[0], x, n);
        break;
    default:
        reducing_take_positions(r, at, steps, values, n);
    }
}
