/* See rows_loops.h. Loops are plain, so that the compiler makes vectors of them. */
#include "kernel/simd/rows_loops.h"

#include <string.h>

#include "contract/dtypes.h"

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

/* Bits that the magnitudes of n values need, at most. */
static int
bits_needed(const int64_t *values, int64_t n)
{
    uint64_t all = 0;

    for (int64_t i = 0; i < n; i++) {
        all |= (uint64_t)(values[i] ^ values[i] >> 63);
    }
    return all == 0 ? 0 : 64 - __builtin_clzll(all);
}

static bool
multiply(const int64_t *restrict a, const int64_t *restrict b, int64_t *restrict out, int64_t n)
{
    bool over = false;

    if (bits_needed(a, n) + bits_needed(b, n) <= 62) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = a[i] * b[i];
        }
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        over |= __builtin_mul_overflow(a[i], b[i], &out[i]);
    }
    return over;
}

/* Quotients, rounded down or towards 0, or what they leave. A divisor of 0 stands for 1. */
#define DIVIDE_LOOP(quotient_of)                                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        int64_t divisor = b[i] + (b[i] == 0);                                                                          \
        int64_t quotient = quotient_of;                                                                                \
        int64_t rest = a[i] - quotient * divisor;                                                                      \
        int64_t lower = down & -(int64_t)(rest != 0) & (rest ^ divisor) >> 63;                                         \
                                                                                                                       \
        out[i] = is_rest ? rest + (divisor & lower) : quotient + lower;                                                \
    }

static bool
divide(enum gr_expr_op op, const int64_t *restrict a, const int64_t *restrict b, int64_t *restrict out, int64_t n)
{
    const int64_t down = -(int64_t)(op == GR_OP_FLOOR_DIVIDE || op == GR_OP_MODULO);
    const bool is_rest = op == GR_OP_MODULO || op == GR_OP_REMAINDER;

    if (bits_needed(a, n) <= 30 && bits_needed(b, n) <= 30) { /* as doubles, which have vectors: cut, they are exact */
        DIVIDE_LOOP((int32_t)((double)(int32_t)a[i] / (double)(int32_t)divisor))
        return false;
    }
    for (int64_t i = 0; i < n; i++) { /* the least number has no opposite */
        if (a[i] == INT64_MIN && b[i] == -1) {
            return true;
        }
    }
    DIVIDE_LOOP(a[i] / divisor)
    return false;
}

#define EXACT_LOOP(value, changed)                                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        int64_t made = (int64_t)(value);                                                                               \
                                                                                                                       \
        signs |= (changed);                                                                                            \
        out[i] = made;                                                                                                 \
    }                                                                                                                  \
    return signs < 0

bool
SIMD(rows_arithmetic_int)(enum gr_expr_op op, const int64_t *a, const int64_t *b, int64_t *out, int64_t n)
{
    int64_t signs = 0; /* below 0: a value has a sign that it cannot have */

    switch (op) {
    case GR_OP_ADD:
        EXACT_LOOP((uint64_t)a[i] + (uint64_t)b[i], (a[i] ^ made) & (b[i] ^ made));
    case GR_OP_SUBTRACT:
        EXACT_LOOP((uint64_t)a[i] - (uint64_t)b[i], (a[i] ^ b[i]) & (a[i] ^ made));
    case GR_OP_NEGATE:
        EXACT_LOOP(0 - (uint64_t)a[i], a[i] & made);
    case GR_OP_ABS:
        EXACT_LOOP(((uint64_t)a[i] ^ (uint64_t)(a[i] >> 63)) - (uint64_t)(a[i] >> 63), made);
    case GR_OP_SIGN:
        EXACT_LOOP((a[i] > 0) - (a[i] < 0), 0);
    case GR_OP_MULTIPLY:
        return multiply(a, b, out, n);
    default:
        return divide(op, a, b, out, n);
    }
}

#define LOOP(expression)                                                                                               \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        out[i] = (expression);                                                                                         \
    }                                                                                                                  \
    break

void
SIMD(rows_arithmetic_double)(enum gr_expr_op op, const double *a, const double *b, double *out, int64_t n)
{
    switch (op) {
    case GR_OP_ADD:
        LOOP(a[i] + b[i]);
    case GR_OP_SUBTRACT:
        LOOP(a[i] - b[i]);
    case GR_OP_MULTIPLY:
        LOOP(a[i] * b[i]);
    default: /* DIVIDE */
        LOOP(a[i] / b[i]);
    }
}

/* What a nan changes: it is the largest value, and equal to itself. */
#define TOTAL_LOOPS                                                                                                    \
    case GR_OP_TOTAL_EQUAL:                                                                                            \
        LOOP((a[i] == b[i]) | ((a[i] != a[i]) & (b[i] != b[i])));                                                      \
    case GR_OP_TOTAL_NOT_EQUAL:                                                                                        \
        LOOP((a[i] != b[i]) & ((a[i] == a[i]) | (b[i] == b[i])));                                                      \
    case GR_OP_TOTAL_LESS:                                                                                             \
        LOOP(!(a[i] >= b[i]) & (a[i] == a[i]));                                                                        \
    case GR_OP_TOTAL_LESS_EQUAL:                                                                                       \
        LOOP((a[i] <= b[i]) | (b[i] != b[i]));                                                                         \
    case GR_OP_TOTAL_GREATER:                                                                                          \
        LOOP(!(a[i] <= b[i]) & (b[i] == b[i]));                                                                        \
    case GR_OP_TOTAL_GREATER_EQUAL:                                                                                    \
        LOOP((a[i] >= b[i]) | (a[i] != a[i]))

#define COMPARE(name, type, more)                                                                                      \
    void SIMD(name)(enum gr_expr_op op, const type *a, const type *b, uint8_t *out, int64_t n)                         \
    {                                                                                                                  \
        switch (op) {                                                                                                  \
        case GR_OP_EQUAL:                                                                                              \
            LOOP(a[i] == b[i]);                                                                                        \
        case GR_OP_NOT_EQUAL:                                                                                          \
            LOOP(a[i] != b[i]);                                                                                        \
        case GR_OP_LESS:                                                                                               \
            LOOP(a[i] < b[i]);                                                                                         \
        case GR_OP_LESS_EQUAL:                                                                                         \
            LOOP(a[i] <= b[i]);                                                                                        \
        case GR_OP_GREATER:                                                                                            \
            LOOP(a[i] > b[i]);                                                                                         \
            more;                                                                                                      \
        default:                                                                                                       \
            LOOP(a[i] >= b[i]);                                                                                        \
        }                                                                                                              \
    }

COMPARE(rows_compare_int, int64_t, )
COMPARE(rows_compare_double, double, TOTAL_LOOPS)

bool
SIMD(rows_narrow)(const rows_int128 *from, const uint16_t *selected, int64_t n, int64_t *out)
{
    const int64_t *halves = (const int64_t *)from;
    int64_t beyond = 0;

    if (selected == NULL) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = halves[2 * i];
            beyond |= halves[2 * i + 1] ^ halves[2 * i] >> 63;
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            int64_t at = 2 * (int64_t)selected[i];

            out[i] = halves[at];
            beyond |= halves[at + 1] ^ halves[at] >> 63;
        }
    }
    return beyond == 0;
}

#define MASK_LOOP(expression)                                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        mask[i] &= (uint8_t)(expression);                                                                              \
    }                                                                                                                  \
    break

/* Beside a number, nans are above it. */
#define TOTAL_MASKS                                                                                                    \
    case GR_OP_TOTAL_GREATER:                                                                                          \
        MASK_LOOP(!(a[i] <= b));                                                                                       \
    case GR_OP_TOTAL_GREATER_EQUAL:                                                                                    \
        MASK_LOOP(!(a[i] < b))

#define MASK_OF(type, more)                                                                                            \
    static void mask_##type(enum gr_expr_op op, const type *restrict a, type b, uint8_t *restrict mask, int64_t n)     \
    {                                                                                                                  \
        switch (op) {                                                                                                  \
        case GR_OP_EQUAL:                                                                                              \
            MASK_LOOP(a[i] == b);                                                                                      \
        case GR_OP_NOT_EQUAL:                                                                                          \
            MASK_LOOP(a[i] != b);                                                                                      \
        case GR_OP_LESS:                                                                                               \
            MASK_LOOP(a[i] < b);                                                                                       \
        case GR_OP_LESS_EQUAL:                                                                                         \
            MASK_LOOP(a[i] <= b);                                                                                      \
        case GR_OP_GREATER:                                                                                            \
            MASK_LOOP(a[i] > b);                                                                                       \
            more;                                                                                                      \
        default:                                                                                                       \
            MASK_LOOP(a[i] >= b);                                                                                      \
        }                                                                                                              \
    }

#define MASK(type) MASK_OF(type, )
GR_INTEGER_TYPES(MASK)
MASK_OF(float, TOTAL_MASKS)
MASK_OF(double, TOTAL_MASKS)

/* In steps that stay in registers: narrowed, then compared; the few that do not fit are compared as they are. */
static void
mask_decimals(enum gr_expr_op op, const rows_int128 *a, int64_t b, uint8_t *mask, int64_t n)
{
    enum { STEP = 256 };
    int64_t narrow[STEP];

    for (int64_t at = 0; at < n; at += STEP) {
        int64_t some = n - at < STEP ? n - at : STEP;

        if (SIMD(rows_narrow)(a + at, NULL, some, narrow)) {
            mask_int64_t(op, narrow, b, mask + at, some);
            continue;
        }
        for (int64_t i = 0; i < some; i++) {
            int64_t order = (a[at + i] > b) - (a[at + i] < b);

            mask_int64_t(op, &order, 0, mask + at + i, 1);
        }
    }
}

void
SIMD(rows_mask)(enum gr_expr_op op, granary_dtype kind, const void *values, union rows_bound bound, uint8_t *mask,
                int64_t n)
{
    switch (kind) {
#define WORDS(name, type, ...)                                                                                         \
    case GRANARY_##name:                                                                                               \
        mask_##type(op, values, (type)bound.integer, mask, n);                                                         \
        break;
#define REALS(name, type, ...)                                                                                         \
    case GRANARY_##name:                                                                                               \
        mask_##type(op, values, (type)bound.real, mask, n);                                                            \
        break;
        GR_WORD_DTYPES(WORDS)
        GR_REAL_DTYPES(REALS)
#undef WORDS
#undef REALS
    default: /* decimals */
        mask_decimals(op, values, bound.integer, mask, n);
        break;
    }
}

#define SIFT_LOOP(expression)                                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        selected[count] = selected[i]; /* overwritten by the next one unless it counts */                              \
        count += (expression);                                                                                         \
    }                                                                                                                  \
    break

#define TOTAL_SIFTS                                                                                                    \
    case GR_OP_TOTAL_GREATER:                                                                                          \
        SIFT_LOOP(!(a[selected[i]] <= b));                                                                             \
    case GR_OP_TOTAL_GREATER_EQUAL:                                                                                    \
        SIFT_LOOP(!(a[selected[i]] < b))

#define SIFT_OF(type, bound, more)                                                                                     \
    static int64_t sift_##type(enum gr_expr_op op, const type *a, bound b, uint16_t *selected, int64_t n)              \
    {                                                                                                                  \
        int64_t count = 0;                                                                                             \
                                                                                                                       \
        switch (op) {                                                                                                  \
        case GR_OP_EQUAL:                                                                                              \
            SIFT_LOOP(a[selected[i]] == b);                                                                            \
        case GR_OP_NOT_EQUAL:                                                                                          \
            SIFT_LOOP(a[selected[i]] != b);                                                                            \
        case GR_OP_LESS:                                                                                               \
            SIFT_LOOP(a[selected[i]] < b);                                                                             \
        case GR_OP_LESS_EQUAL:                                                                                         \
            SIFT_LOOP(a[selected[i]] <= b);                                                                            \
        case GR_OP_GREATER:                                                                                            \
            SIFT_LOOP(a[selected[i]] > b);                                                                             \
            more;                                                                                                      \
        default:                                                                                                       \
            SIFT_LOOP(a[selected[i]] >= b);                                                                            \
        }                                                                                                              \
        return count;                                                                                                  \
    }

#define SIFT(type) SIFT_OF(type, type, )
GR_INTEGER_TYPES(SIFT)
SIFT_OF(float, float, TOTAL_SIFTS)
SIFT_OF(double, double, TOTAL_SIFTS)
SIFT_OF(rows_int128, int64_t, )

int64_t
SIMD(rows_sift)(enum gr_expr_op op, granary_dtype kind, const void *values, union rows_bound bound, uint16_t *selected,
                int64_t n)
{
    switch (kind) {
#define WORDS(name, type, ...)                                                                                         \
    case GRANARY_##name:                                                                                               \
        return sift_##type(op, values, (type)bound.integer, selected, n);
#define REALS(name, type, ...)                                                                                         \
    case GRANARY_##name:                                                                                               \
        return sift_##type(op, values, (type)bound.real, selected, n);
        GR_WORD_DTYPES(WORDS)
        GR_REAL_DTYPES(REALS)
#undef WORDS
#undef REALS
    default: /* decimals */
        return sift_rows_int128(op, values, bound.integer, selected, n);
    }
}

/* Halving together, for so many keys that where they are stays in the cache. */
void
SIMD(rows_among)(const int64_t *keys, int64_t n, const int64_t *sorted, int64_t count, uint8_t *out)
{
    enum { STEP = 256 };
    int64_t at[STEP];

    for (int64_t from = 0; from < n; from += STEP) {
        int64_t some = n - from < STEP ? n - from : STEP;
        const int64_t *key = keys + from;

        memset(at, 0, sizeof at);
        for (int64_t half = count / 2; half > 0; half /= 2) {
            for (int64_t i = 0; i < some; i++) {
                at[i] += half & -(int64_t)(sorted[at[i] + half - 1] < key[i]);
            }
        }
        for (int64_t i = 0; i < some; i++) {
            out[from + i] = sorted[at[i]] == key[i];
        }
    }
}

int64_t
SIMD(rows_count)(const uint8_t *mask, int64_t n)
{
    int64_t count = 0;
    int64_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t eight;

        memcpy(&eight, mask + i, sizeof eight);
        count += __builtin_popcountll(eight);
    }
    for (; i < n; i++) {
        count += mask[i];
    }
    return count;
}

void
SIMD(rows_choose)(const uint8_t *condition, const uint64_t *a, const uint64_t *b, uint64_t *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        out[i] = condition[i] != 0 ? a[i] : b[i];
    }
}

void
SIMD(rows_pick)(const uint8_t *restrict condition, uint16_t picked, uint16_t *restrict pick, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        pick[i] = condition[i] != 0 ? picked : pick[i];
    }
}

int64_t
SIMD(rows_positions)(const uint8_t *mask, int64_t n, uint16_t *ret_selected)
{
    int64_t count = 0;
    int64_t i = 0;

#if defined(__AVX512BW__)
    __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

    for (; i + 16 <= n; i += 16) {
        __mmask16 some = _mm_test_epi8_mask(_mm_loadu_si128((const void *)(mask + i)), _mm_set1_epi8(-1));

        _mm256_storeu_si256((void *)(ret_selected + count),
                            _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(some, at)));
        count += __builtin_popcount(some);
        at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
    }
#endif
    for (; i < n; i++) {
        ret_selected[count] = (uint16_t)i; /* overwritten by the next one unless it counts */
        count += mask[i] != 0;
    }
    return count;
}
