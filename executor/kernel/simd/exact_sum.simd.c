/* ExtractVector for the widths of each machine; see exact_sum.h for the source. */
#include "kernel/simd/exact_sum.h"

#include <string.h>

#include "kernel/simd/doubles.h"

enum { STEP = 2 * LANES, AHEAD_BYTES = 2048 };

typedef int32_t ints __attribute__((vector_size(VECTOR)));

static const int64_t exponent_bits = INT64_C(0x7ff0000000000000);
static const int64_t magnitude_bits = INT64_MAX;

/* The numbers at values as two vectors; behind the last one come zeros. */
#define LOAD(x, y, values, i, count)                                                                                   \
    do {                                                                                                               \
        if ((count) - (i) >= STEP) {                                                                                   \
            memcpy(&(x), (values) + (i), sizeof(x));                                                                   \
            memcpy(&(y), (values) + (i) + LANES, sizeof(y));                                                           \
        } else {                                                                                                       \
            double padded_[STEP] = {0};                                                                                \
                                                                                                                       \
            memcpy(padded_, (values) + (i), ((count) - (i)) * sizeof padded_[0]);                                      \
            memcpy(&(x), padded_, sizeof(x));                                                                          \
            memcpy(&(y), padded_ + LANES, sizeof(y));                                                                  \
        }                                                                                                              \
    } while (0)

int
SIMD(exact_sum_top)(const double *values, size_t count)
{
    ints top = {0};
    int32_t lanes[2 * LANES];
    int32_t most = 0;

    /* Exponents are compared as the upper halves of the words; the lower halves are zero. */
    for (size_t i = 0; i < count; i += STEP) {
        doubles x;
        doubles y;
        ints a;
        ints b;
        ints greater;

        __builtin_prefetch((const char *)(values + i) +
                           AHEAD_BYTES); /* prefetching by the processor ends with a page */
        __builtin_prefetch((const char *)(values + i) + AHEAD_BYTES + (STEP - 1) * sizeof *values);
        LOAD(x, y, values, i, count);
        a = (ints)((longs)x & exponent_bits);
        b = (ints)((longs)y & exponent_bits);
        greater = a > b;
        a = (a & greater) | (b & ~greater);
        greater = a > top;
        top = (a & greater) | (top & ~greater);
    }
    memcpy(lanes, &top, sizeof lanes);
    for (int l = 0; l < 2 * LANES; l++) {
        most = lanes[l] > most ? lanes[l] : most;
    }
    return (most >> 20) - 1022;
}

/* x becomes its rest below the unit of sigma; the piece taken off it goes to piece. */
#define EXTRACT(x, sigma, piece)                                                                                       \
    do {                                                                                                               \
        piece = ((x) + (sigma)) - (sigma);                                                                             \
        x -= piece;                                                                                                    \
    } while (0)

static inline double
across(const doubles *a, const doubles *b)
{
    doubles both = *a + *b;
    double lanes[LANES];
    double sum = 0.0;

    memcpy(lanes, &both, sizeof lanes);
    for (int l = 0; l < LANES; l++) {
        sum += lanes[l];
    }
    return sum;
}

static inline bool
any_bit(const longs *bits)
{
    int64_t lanes[LANES];
    int64_t all = 0;

    memcpy(lanes, bits, sizeof lanes);
    for (int l = 0; l < LANES; l++) {
        all |= lanes[l];
    }
    return (all & magnitude_bits) != 0;
}

int
SIMD(exact_sum_block)(const double *values, size_t count, double ret_levels[EXACT_LEVELS])
{
    int top = SIMD(exact_sum_top)(values, count);
    doubles sums[EXACT_LEVELS][2] = {{{0}}};
    longs left = {0};
    double first;
    double second;
    double third;

    if (top > EXACT_TOP_MOST) {
        return 0;
    }
    top = top < EXACT_TOP_LEAST ? EXACT_TOP_LEAST : top;
    /* Pieces of a level are at most 2^53 / EXACT_BLOCK units: all of a block add up exactly. */
    first = 1.5 * power_of_two(top + 11);
    second = 1.5 * power_of_two(top + 11 - EXACT_LEVEL_BITS);
    third = 1.5 * power_of_two(top + 11 - 2 * EXACT_LEVEL_BITS);
    for (size_t i = 0; i < count; i += STEP) {
        doubles x;
        doubles y;
        doubles a;
        doubles b;

        LOAD(x, y, values, i, count);
        EXTRACT(x, first, a);
        EXTRACT(y, first, b);
        sums[0][0] += a;
        sums[0][1] += b;
        EXTRACT(x, second, a);
        EXTRACT(y, second, b);
        sums[1][0] += a;
        sums[1][1] += b;
        left |= (longs)x | (longs)y;
    }
    ret_levels[0] = across(&sums[0][0], &sums[0][1]);
    ret_levels[1] = across(&sums[1][0], &sums[1][1]);
    if (!any_bit(&left)) {
        return 2;
    }
    left = (longs){0};
    for (size_t i = 0; i < count; i += STEP) {
        doubles x;
        doubles y;
        doubles a;
        doubles b;

        LOAD(x, y, values, i, count);
        EXTRACT(x, first, a);
        EXTRACT(y, first, b);
        EXTRACT(x, second, a);
        EXTRACT(y, second, b);
        EXTRACT(x, third, a);
        EXTRACT(y, third, b);
        sums[2][0] += a;
        sums[2][1] += b;
        left |= (longs)x | (longs)y;
    }
    ret_levels[2] = across(&sums[2][0], &sums[2][1]);
    return any_bit(&left) ? 0 : 3;
}

bool
SIMD(exact_sum_split)(const double *values, size_t count, int top, int64_t *high, int64_t *low)
{
    double first = 1.5 * power_of_two(top + 11);
    double second = 1.5 * power_of_two(top + 11 - EXACT_LEVEL_BITS);
    int64_t first_bits;
    int64_t second_bits;
    uint64_t left = 0;

    memcpy(&first_bits, &first, sizeof first_bits);
    memcpy(&second_bits, &second, sizeof second_bits);
    /* Within its binade, the bits of a double count units. */
    for (size_t i = 0; i < count; i++) {
        double x = values[i];
        double a = x + first;
        double rest = x - (a - first);
        double b = rest + second;
        double below = rest - (b - second);
        int64_t bits;

        memcpy(&bits, &a, sizeof bits);
        high[i] = bits - first_bits;
        memcpy(&bits, &b, sizeof bits);
        low[i] = bits - second_bits;
        memcpy(&bits, &below, sizeof bits);
        left |= (uint64_t)bits;
    }
    return (left & (uint64_t)magnitude_bits) == 0;
}
