/* See rows_loops.h. Loops are plain, so that the compiler makes vectors of them. */
#include "kernel/simd/rows_loops.h"

#include <string.h>

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

bool
SIMD(rows_arithmetic_int)(enum gr_expr_op op, const int64_t *a, const int64_t *b, int64_t *out, int64_t n)
{
    int64_t signs = 0;

    if (op == GR_OP_ADD) {
        for (int64_t i = 0; i < n; i++) {
            int64_t sum = (int64_t)((uint64_t)a[i] + (uint64_t)b[i]);

            signs |= (a[i] ^ sum) & (b[i] ^ sum);
            out[i] = sum;
        }
        return signs < 0;
    }
    if (op == GR_OP_SUBTRACT) {
        for (int64_t i = 0; i < n; i++) {
            int64_t rest = (int64_t)((uint64_t)a[i] - (uint64_t)b[i]);

            signs |= (a[i] ^ b[i]) & (a[i] ^ rest);
            out[i] = rest;
        }
        return signs < 0;
    }
    return multiply(a, b, out, n);
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

#define MASK(name, type, more)                                                                                         \
    static void name(enum gr_expr_op op, const type *restrict a, type b, uint8_t *restrict mask, int64_t n)            \
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

MASK(mask_i8, int8_t, )
MASK(mask_i16, int16_t, )
MASK(mask_i32, int32_t, )
MASK(mask_i64, int64_t, )
MASK(mask_u8, uint8_t, )
MASK(mask_u16, uint16_t, )
MASK(mask_u32, uint32_t, )
MASK(mask_u64, uint64_t, )
MASK(mask_f32, float, TOTAL_MASKS)
MASK(mask_f64, double, TOTAL_MASKS)

/* In steps that stay in registers: narrowed, then compared; the few that do not fit are compared as they are. */
static void
mask_i128(enum gr_expr_op op, const rows_int128 *a, int64_t b, uint8_t *mask, int64_t n)
{
    enum { STEP = 256 };
    int64_t narrow[STEP];

    for (int64_t at = 0; at < n; at += STEP) {
        int64_t some = n - at < STEP ? n - at : STEP;

        if (SIMD(rows_narrow)(a + at, NULL, some, narrow)) {
            mask_i64(op, narrow, b, mask + at, some);
            continue;
        }
        for (int64_t i = 0; i < some; i++) {
            int64_t order = (a[at + i] > b) - (a[at + i] < b);

            mask_i64(op, &order, 0, mask + at + i, 1);
        }
    }
}

void
SIMD(rows_mask)(enum gr_expr_op op, enum rows_stored stored, const void *values, union rows_bound bound, uint8_t *mask,
                int64_t n)
{
    switch (stored) {
    case ROWS_I8:
        mask_i8(op, values, (int8_t)bound.integer, mask, n);
        break;
    case ROWS_I16:
        mask_i16(op, values, (int16_t)bound.integer, mask, n);
        break;
    case ROWS_I32:
        mask_i32(op, values, (int32_t)bound.integer, mask, n);
        break;
    case ROWS_I64:
        mask_i64(op, values, bound.integer, mask, n);
        break;
    case ROWS_U8:
        mask_u8(op, values, (uint8_t)bound.integer, mask, n);
        break;
    case ROWS_U16:
        mask_u16(op, values, (uint16_t)bound.integer, mask, n);
        break;
    case ROWS_U32:
        mask_u32(op, values, (uint32_t)bound.integer, mask, n);
        break;
    case ROWS_U64:
        mask_u64(op, values, bound.natural, mask, n);
        break;
    case ROWS_F32:
        mask_f32(op, values, (float)bound.real, mask, n);
        break;
    case ROWS_F64:
        mask_f64(op, values, bound.real, mask, n);
        break;
    case ROWS_I128:
        mask_i128(op, values, bound.integer, mask, n);
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

#define SIFT(name, type, bound, more)                                                                                  \
    static int64_t name(enum gr_expr_op op, const type *a, bound b, uint16_t *selected, int64_t n)                     \
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

SIFT(sift_i8, int8_t, int8_t, )
SIFT(sift_i16, int16_t, int16_t, )
SIFT(sift_i32, int32_t, int32_t, )
SIFT(sift_i64, int64_t, int64_t, )
SIFT(sift_u8, uint8_t, uint8_t, )
SIFT(sift_u16, uint16_t, uint16_t, )
SIFT(sift_u32, uint32_t, uint32_t, )
SIFT(sift_u64, uint64_t, uint64_t, )
SIFT(sift_f32, float, float, TOTAL_SIFTS)
SIFT(sift_f64, double, double, TOTAL_SIFTS)
SIFT(sift_i128, rows_int128, int64_t, )

int64_t
SIMD(rows_sift)(enum gr_expr_op op, enum rows_stored stored, const void *values, union rows_bound bound,
                uint16_t *selected, int64_t n)
{
    switch (stored) {
    case ROWS_I8:
        return sift_i8(op, values, (int8_t)bound.integer, selected, n);
    case ROWS_I16:
        return sift_i16(op, values, (int16_t)bound.integer, selected, n);
    case ROWS_I32:
        return sift_i32(op, values, (int32_t)bound.integer, selected, n);
    case ROWS_I64:
        return sift_i64(op, values, bound.integer, selected, n);
    case ROWS_U8:
        return sift_u8(op, values, (uint8_t)bound.integer, selected, n);
    case ROWS_U16:
        return sift_u16(op, values, (uint16_t)bound.integer, selected, n);
    case ROWS_U32:
        return sift_u32(op, values, (uint32_t)bound.integer, selected, n);
    case ROWS_U64:
        return sift_u64(op, values, bound.natural, selected, n);
    case ROWS_F32:
        return sift_f32(op, values, (float)bound.real, selected, n);
    case ROWS_F64:
        return sift_f64(op, values, bound.real, selected, n);
    case ROWS_I128:
        break;
    }
    return sift_i128(op, values, bound.integer, selected, n);
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
