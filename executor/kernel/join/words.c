/* Keys brought to the dtype both sides have in common, a block at a time. */
#include "kernel/join/words.h"
#include "contract/dtypes.h"

#include <math.h>
#include <string.h>

#include "graph/expr.h"
#include "kernel/core/words.h"

#define DAY_US (INT64_C(86400) * 1000000)

/* 2^63 is the first double beyond int64. */
static bool
integer_of_double(double x, int64_t *ret_integer)
{
    if (!(x >= -0x1p63 && x < 0x1p63) || x != trunc(x)) {
        return false;
    }
    *ret_integer = (int64_t)x;
    return true;
}

/* Put 0 into present where the column is null. */
static void
key_nulls(const granary_column *column, int64_t from, int64_t n, uint8_t *present)
{
    if (column->dtype == GRANARY_NULLTYPE) {
        memset(present, 0, (size_t)n);
    } else if (column->validity != NULL) {
        for (int64_t i = 0; i < n; i++) {
            present[i] = (uint8_t)(present[i] & gr_bit(column->validity, from + i));
        }
    }
}

/* A loop over the values of a C type. */
#define EACH(type, statement)                                                                                          \
    do {                                                                                                               \
        const type *values = (const type *)column->values + from;                                                      \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            statement;                                                                                                 \
        }                                                                                                              \
    } while (0)

static void
words_as_float(const granary_column *column, int64_t from, int64_t n, int64_t *words)
{
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_FLOAT64:
        EACH(double, words[i] = (int64_t)word_of_double(values[i]));
        break;
    case GRANARY_FLOAT32:
        EACH(float, words[i] = (int64_t)word_of_double((double)values[i]));
        break;
    case GRANARY_DECIMAL:
        for (int64_t i = 0; i < n; i++) {
            gr_int128 value;

            memcpy(&value, (const char *)column->values + (from + i) * 16, sizeof value);
            words[i] = (int64_t)word_of_double(gr_decimal_real(value, gr_dtype_scale(column->dtype)));
        }
        break;
    default:
        break; /* no other dtype has floats in common with another */
    }
}

/* Whether bits of a dtype are that value in int64, or uint64. */
static inline bool
is_within(granary_dtype dtype, int64_t word, bool is_unsigned)
{
    return dtype != GRANARY_UINT64 || is_unsigned || word >= 0;
}

static void
words_as_integer(const granary_column *column, bool is_unsigned, int64_t from, int64_t n, int64_t *words,
                 uint8_t *present)
{
    switch (column->dtype) {
#define CASE(name, type, ...)                                                                                          \
    case GRANARY_##name:                                                                                               \
        EACH(type, words[i] = (int64_t)values[i];                                                                      \
             present[i] = (uint8_t)(present[i] & is_within(GRANARY_##name, words[i], is_unsigned)));                   \
        break;
        GR_WORD_DTYPES(CASE)
#undef CASE
    case GRANARY_FLOAT64:
        EACH(double, words[i] = 0; present[i] = (uint8_t)(present[i] & integer_of_double(values[i], &words[i])));
        break;
    case GRANARY_FLOAT32:
        EACH(float, words[i] = 0; present[i] = (uint8_t)(present[i] & integer_of_double((double)values[i], &words[i])));
        break;
    case GRANARY_BOOL:
        for (int64_t i = 0; i < n; i++) {
            words[i] = gr_bit(column->values, from + i);
        }
        break;
    default: /* no words */
        break;
    }
}

void
key_words(const granary_column *column, granary_dtype dtype, int64_t from, int64_t n, int64_t *words, uint8_t *present)
{
    key_nulls(column, from, n, present);
    if (column->dtype == GRANARY_NULLTYPE) {
        memset(words, 0, (size_t)n * sizeof *words);
    } else if (dtype == GRANARY_FLOAT64 || dtype == GRANARY_FLOAT32) {
        words_as_float(column, from, n, words);
    } else if (dtype == GRANARY_TIMESTAMP && column->dtype == GRANARY_DATE) {
        EACH(int32_t, present[i] = (uint8_t)(present[i] & !__builtin_mul_overflow(values[i], DAY_US, &words[i])));
    } else {
        words_as_integer(column, dtype == GRANARY_UINT64, from, n, words, present);
    }
}

/* A decimal or an integer as a decimal of a scale that is not smaller. */
static bool
decimal_at(const granary_column *column, int scale, int64_t row, gr_int128 *ret_value)
{
    gr_int128 value;
    bool fits = true;

    if (gr_dtype_kind(column->dtype) == GRANARY_DECIMAL) {
        memcpy(&value, (const char *)column->values + row * 16, sizeof value);
    } else {
        uint8_t present = 1;
        int64_t word;

        words_as_integer(column, true, row, 1, &word, &present);
        value = column->dtype == GRANARY_UINT64 ? (gr_int128)(uint64_t)word : (gr_int128)word;
    }
    for (int i = gr_dtype_scale(column->dtype); i < scale && fits; i++) {
        fits = !__builtin_mul_overflow(value, (gr_int128)10, &value);
    }
    *ret_value = value;
    return fits;
}

const char *
key_bytes(const granary_column *column, granary_dtype dtype, int64_t row, gr_int128 *scratch, size_t *ret_size)
{
    if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
        return NULL;
    }
    if (gr_dtype_is_text(dtype)) {
        const char *text = gr_text_at(column, row, ret_size);

        return text != NULL ? text : ""; /* a column of nothing but empty strings */
    }
    *ret_size = sizeof *scratch;
    return decimal_at(column, gr_dtype_scale(dtype), row, scratch) ? (const char *)scratch : NULL;
}
