/*
 * Partials: Shewchuk's expansions (Adaptive Precision Floating-Point Arithmetic, 1997), kept short.
 * Long runs: blocks are cut into levels whose pieces add up exactly (simd/exact_sum.h), and the levels' sums are added.
 * Wide: the exact value as an integer multiple of 2^-1074, the smallest double. It has limbs of 32 bits kept in
 * 64-bit words, whose spare bits take carries for a while (Neal, Fast Exact Summation Using Small and Large
 * Superaccumulators, 2015).
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/core/exact_sum.h"
#include "kernel/simd/exact_sum.h"

enum {
    WIDE_LIMBS = 70,         /* 2098 bits of range, 64 and more for the number of terms */
    WIDE_PENDING_MAX = 1024, /* an addition puts at most 2^52 into a limb: 2^10 of them stay below 2^63 */
    SPECIAL_PLUS = 1,
    SPECIAL_MINUS = 2,
    SPECIAL_NAN = 4,
    FORM_PARTIALS = 1,
    FORM_WIDE = 2,
    SHORT_RUN = 16, /* shorter ones are added one by one */
};

struct exact_wide {
    int64_t limbs[WIDE_LIMBS]; /* limb i counts 2^(32 i - 1074) */
    int pending;               /* additions since the last carry */
};

/* Partials beyond this could overflow when they are added to each other. */
static const double partial_max = 0x1p1000;

/* Carry, so that every limb but the last is in [0, 2^32). */
static void
wide_carry(struct exact_wide *wide)
{
    for (int i = 0; i < WIDE_LIMBS - 1; i++) {
        int64_t low = (int64_t)((uint64_t)wide->limbs[i] & 0xffffffffu);

        wide->limbs[i + 1] += (wide->limbs[i] - low) / ((int64_t)1 << 32);
        wide->limbs[i] = low;
    }
    wide->pending = 0;
}

/* x is finite. */
static inline void
wide_add(struct exact_wide *wide, double x)
{
    uint64_t bits;
    uint64_t mantissa;
    unsigned exponent;

    memcpy(&bits, &x, sizeof bits);
    exponent = (unsigned)(bits >> 52) & 0x7ff;
    mantissa = bits & (((uint64_t)1 << 52) - 1);
    if (exponent == 0) {
        exponent = 1; /* a subnormal has the exponent of the smallest normal, without its leading one */
    } else {
        mantissa |= (uint64_t)1 << 52;
    }

    unsigned position = exponent - 1;
    unsigned limb = position / 32;
    unsigned shift = position % 32;
    int64_t low = (int64_t)((mantissa << shift) & 0xffffffffu);
    int64_t high = (int64_t)(mantissa >> (32 - shift));
    int64_t sign = -(int64_t)(bits >> 63); /* 0 or -1 */

    wide->limbs[limb] += (low ^ sign) - sign;
    wide->limbs[limb + 1] += (high ^ sign) - sign;
    if (++wide->pending >= WIDE_PENDING_MAX) {
        wide_carry(wide);
    }
}

/* Bits [from, from + 64) of carried, non-negative limbs. */
static uint64_t
wide_bits(const int64_t *limbs, int from)
{
    gr_uint128 window = 0;
    int limb = from / 32;

    for (int i = 0; i < 3 && limb + i < WIDE_LIMBS; i++) {
        window |= (gr_uint128)(uint64_t)limbs[limb + i] << (32 * i);
    }
    return (uint64_t)(window >> (from % 32));
}

static bool
wide_any_below(const int64_t *limbs, int bit)
{
    for (int i = 0; i < bit / 32; i++) {
        if (limbs[i] != 0) {
            return true;
        }
    }
    return ((uint64_t)limbs[bit / 32] & (((uint64_t)1 << (bit % 32)) - 1)) != 0;
}

static double
wide_value(const struct exact_wide *wide)
{
    struct exact_wide copy = *wide;
    bool negative;
    int top = WIDE_LIMBS - 1;

    wide_carry(&copy);
    negative = copy.limbs[WIDE_LIMBS - 1] < 0;
    if (negative) {
        for (int i = 0; i < WIDE_LIMBS; i++) {
            copy.limbs[i] = -copy.limbs[i];
        }
        wide_carry(&copy);
    }
    while (top > 0 && copy.limbs[top] == 0) {
        top--;
    }
    if (copy.limbs[top] == 0) {
        return 0.0;
    }

    /* The leading bit; 53 bits from there are kept. The last limb holds no more than 32 bits: a sum that would need
     * them has more terms than memory has room for. */
    int lead = 32 * top + 63 - __builtin_clzll((uint64_t)copy.limbs[top]);
    int cut = lead - 52;
    double magnitude;

    if (cut <= 0) {
        magnitude = ldexp((double)wide_bits(copy.limbs, 0), -1074);
    } else {
        uint64_t kept = wide_bits(copy.limbs, cut) & (((uint64_t)1 << 53) - 1);
        bool half = (wide_bits(copy.limbs, cut - 1) & 1) != 0;

        if (half && ((kept & 1) != 0 || wide_any_below(copy.limbs, cut - 1))) {
            kept++;
        }
        magnitude = ldexp((double)kept, cut - 1074);
    }
    return negative ? -magnitude : magnitude;
}

/* Move the partials over. False: out of memory. */
static bool
sum_widen(struct exact_sum *sum)
{
    if (sum->wide != NULL) {
        return true;
    }
    sum->wide = calloc(1, sizeof *sum->wide);
    if (sum->wide == NULL) {
        sum->failed = true;
        return false;
    }
    for (int i = 0; i < sum->count; i++) {
        wide_add(sum->wide, sum->partials[i]);
    }
    sum->count = 0;
    return true;
}

void
exact_sum_fini(struct exact_sum *sum)
{
    free(sum->wide);
    *sum = (struct exact_sum){0};
}

static void
sum_add_wide(struct exact_sum *sum, double x)
{
    if (sum_widen(sum)) {
        wide_add(sum->wide, x);
    }
}

/* a + b = *ret_high + *ret_low exactly. */
static inline void
two_sum(double a, double b, double *ret_high, double *ret_low)
{
    double high = a + b;
    double part = high - a;

    *ret_low = (a - (high - part)) + (b - part);
    *ret_high = high;
}

void
exact_sum_add(struct exact_sum *sum, double x)
{
    double grown[EXACT_SUM_PARTIALS + 1];
    int count = 0;
    double carried = x;

    if (!isfinite(x)) {
        sum->special |= (uint8_t)(isnan(x) ? SPECIAL_NAN : x > 0 ? SPECIAL_PLUS : SPECIAL_MINUS);
        return;
    }
    if (sum->wide != NULL || fabs(x) >= partial_max) {
        sum_add_wide(sum, x);
        return;
    }
    for (int i = 0; i < sum->count; i++) {
        double low;

        two_sum(carried, sum->partials[i], &carried, &low);
        if (low != 0.0) {
            grown[count++] = low;
        }
    }
    if (carried != 0.0) {
        grown[count++] = carried;
    }
    if (count > EXACT_SUM_PARTIALS || fabs(carried) >= partial_max) {
        sum_add_wide(sum, x);
        return;
    }
    memcpy(sum->partials, grown, (size_t)count * sizeof grown[0]);
    sum->count = (uint8_t)count;
}

void
exact_sum_add_many(struct exact_sum *sum, const double *values, size_t count)
{
    for (size_t from = 0; from < count && !sum->failed; from += EXACT_BLOCK) {
        size_t n = count - from < EXACT_BLOCK ? count - from : EXACT_BLOCK;
        double levels[EXACT_LEVELS];
        int known = n < SHORT_RUN ? 0 : SIMD_CALL(exact_sum_block)(values + from, n, levels);

        for (int i = 0; i < known; i++) {
            exact_sum_add(sum, levels[i]);
        }
        for (size_t i = from; known == 0 && i < from + n && !sum->failed; i++) {
            exact_sum_add(sum, values[i]);
        }
    }
}

void
exact_sum_merge(struct exact_sum *sum, const struct exact_sum *other)
{
    sum->special |= other->special;
    sum->failed |= other->failed;
    for (int i = 0; i < other->count; i++) {
        exact_sum_add(sum, other->partials[i]);
    }
    if (other->wide != NULL && sum_widen(sum)) {
        struct exact_wide copy = *other->wide;

        wide_carry(&copy);
        wide_carry(sum->wide);
        for (int i = 0; i < WIDE_LIMBS; i++) {
            sum->wide->limbs[i] += copy.limbs[i];
        }
        wide_carry(sum->wide);
    }
}

/* Partials rounded once: the largest decides, the next ones only break a tie. */
static double
partials_value(const struct exact_sum *sum)
{
    int i = sum->count;
    double high;
    double low = 0.0;

    if (i == 0) {
        return 0.0;
    }
    high = sum->partials[--i];
    while (i > 0 && low == 0.0) {
        two_sum(high, sum->partials[--i], &high, &low);
    }
    if (i > 0 && (low < 0.0) == (sum->partials[i - 1] < 0.0)) {
        /* low may be exactly half a unit and was rounded to even, though more lies beyond it. */
        double twice = low * 2.0;
        double moved = high + twice;

        if (twice == moved - high) {
            high = moved;
        }
    }
    return high;
}

double
exact_sum_value(const struct exact_sum *sum)
{
    int infinities = sum->special & (SPECIAL_PLUS | SPECIAL_MINUS);

    if ((sum->special & SPECIAL_NAN) != 0 || infinities == (SPECIAL_PLUS | SPECIAL_MINUS)) {
        return NAN;
    }
    if (infinities != 0) {
        return infinities == SPECIAL_PLUS ? INFINITY : -INFINITY;
    }
    return sum->wide != NULL ? wide_value(sum->wide) : partials_value(sum);
}

void
exact_sum_pair(const struct exact_sum *sum, double *ret_high, double *ret_low)
{
    struct exact_sum rest = {0};

    exact_sum_merge(&rest, sum);
    *ret_high = exact_sum_value(&rest);
    *ret_low = 0.0;
    if (isfinite(*ret_high)) {
        exact_sum_add(&rest, -*ret_high);
        *ret_low = exact_sum_value(&rest);
    }
    if (!exact_sum_ok(&rest)) {
        *ret_high = *ret_low = NAN;
    }
    exact_sum_fini(&rest);
}

size_t
exact_sum_size(const struct exact_sum *sum)
{
    return 8 + 8 * (size_t)(sum->wide != NULL ? WIDE_LIMBS : sum->count);
}

/* form, number of words, special, five zero bytes; then the words */
size_t
exact_sum_write(const struct exact_sum *sum, void *at)
{
    uint8_t head[8] = {FORM_PARTIALS, sum->count, sum->special};
    size_t size = exact_sum_size(sum);

    if (sum->wide != NULL) {
        struct exact_wide copy = *sum->wide;

        wide_carry(&copy);
        head[0] = FORM_WIDE;
        head[1] = WIDE_LIMBS;
        memcpy((char *)at + 8, copy.limbs, sizeof copy.limbs);
    } else {
        memcpy((char *)at + 8, sum->partials, 8 * (size_t)sum->count);
    }
    memcpy(at, head, sizeof head);
    return size;
}

static granary_err
wide_read(const void *at, struct exact_sum *ret_sum)
{
    struct exact_wide *wide = calloc(1, sizeof *wide);

    if (wide == NULL) {
        return gr_no_memory("exact sum");
    }
    memcpy(wide->limbs, at, sizeof wide->limbs);
    for (int i = 0; i < WIDE_LIMBS; i++) {
        int64_t limit = (int64_t)1 << 32;
        int64_t least = i == WIDE_LIMBS - 1 ? -limit : 0;

        if (wide->limbs[i] < least || wide->limbs[i] >= limit) {
            free(wide);
            return gr_fail(GRANARY_ECORRUPT, "exact sum: limb %d is out of range", i);
        }
    }
    ret_sum->wide = wide;
    return GRANARY_OK;
}

granary_err
exact_sum_read(const void *at, size_t size, struct exact_sum *ret_sum, size_t *ret_size)
{
    static const uint8_t zeros[5];
    struct exact_sum sum = {0};
    uint8_t head[8];

    if (size < sizeof head) {
        return gr_fail(GRANARY_ECORRUPT, "exact sum: cut off");
    }
    memcpy(head, at, sizeof head);
    bool known =
        (head[0] == FORM_PARTIALS && head[1] <= EXACT_SUM_PARTIALS) || (head[0] == FORM_WIDE && head[1] == WIDE_LIMBS);
    size_t taken = 8 + 8 * (size_t)head[1];

    if (!known || head[2] > 7 || memcmp(head + 3, zeros, sizeof zeros) != 0 || size < taken) {
        return gr_fail(GRANARY_ECORRUPT, "exact sum: cut off or of an unknown form");
    }
    sum.special = head[2];
    if (head[0] == FORM_WIDE) {
        granary_err err = wide_read((const char *)at + 8, &sum);

        if (err != GRANARY_OK) {
            return err;
        }
    } else {
        /* Added one by one, partials that were tampered with cannot break what the others rely on. */
        for (int i = 0; i < head[1]; i++) {
            double partial;

            memcpy(&partial, (const char *)at + 8 + 8 * i, sizeof partial);
            if (!isfinite(partial)) {
                exact_sum_fini(&sum);
                return gr_fail(GRANARY_ECORRUPT, "exact sum: partial %d is not finite", i);
            }
            exact_sum_add(&sum, partial);
        }
    }
    if (sum.failed) {
        exact_sum_fini(&sum);
        return gr_no_memory("exact sum");
    }
    *ret_sum = sum;
    *ret_size = taken;
    return GRANARY_OK;
}
