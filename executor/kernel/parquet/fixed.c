/* Physical values become ours: see fixed.h. */
#include "kernel/parquet/fixed.h"

#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "data/frame.h"
#include "graph/expr.h"
#include "kernel/parquet/values.h"

#define DAY_US          INT64_C(86400000000)
#define JULIAN_OF_EPOCH INT64_C(2440588)

bool
fixed_is_same(const struct gr_parquet_leaf *leaf)
{
    switch (leaf->form) {
    case GR_PARQUET_BOOL:
    case GR_PARQUET_REAL:
        return true;
    case GR_PARQUET_INTEGER:
        return values_width(leaf) == gr_dtype_size(leaf->dtype);
    case GR_PARQUET_MOMENT:
        return leaf->per_second == 1000000 && leaf->dtype != GRANARY_TIME; /* whose range is looked at */
    default:
        return false;
    }
}

static granary_err
out_of_range(const struct gr_parquet_leaf *leaf)
{
    return gr_fail(GRANARY_EUNSUPPORTED, "a %s is out of range", granary_dtype_name(leaf->dtype));
}

/* ---- integers of fewer bits ---- */

static granary_err
convert_narrow(const struct gr_parquet_leaf *leaf, const uint8_t *from, size_t count, void *to)
{
    size_t size = gr_dtype_size(leaf->dtype);
    bool bad = false;

    for (size_t i = 0; i < count; i++) {
        int32_t value;

        memcpy(&value, from + i * sizeof value, sizeof value);
        if (size == 1) {
            ((uint8_t *)to)[i] = (uint8_t)value;
            bad |= leaf->is_unsigned ? (uint32_t)value > UINT8_MAX : value != (int8_t)value;
        } else {
            ((uint16_t *)to)[i] = (uint16_t)value;
            bad |= leaf->is_unsigned ? (uint32_t)value > UINT16_MAX : value != (int16_t)value;
        }
    }
    return bad ? out_of_range(leaf) : GRANARY_OK;
}

/* ---- times ---- */

static granary_err
convert_moment(const struct gr_parquet_leaf *leaf, const uint8_t *from, size_t count, int64_t *to)
{
    size_t width = values_width(leaf);
    bool bad = false;

    for (size_t i = 0; i < count; i++) {
        int64_t value = 0;
        int32_t narrow;

        if (width == sizeof narrow) { /* times of day */
            memcpy(&narrow, from + i * sizeof narrow, sizeof narrow);
            value = narrow;
        } else {
            memcpy(&value, from + i * sizeof value, sizeof value);
        }
        if (leaf->per_second > 1000000) {
            to[i] = value / 1000 - (value % 1000 < 0);
        } else {
            bad |= __builtin_mul_overflow(value, 1000000 / leaf->per_second, &to[i]);
        }
        bad |= leaf->dtype == GRANARY_TIME && (to[i] < 0 || to[i] >= DAY_US);
    }
    return bad ? out_of_range(leaf) : GRANARY_OK;
}

/* Nanoseconds of the day, then its Julian number. Spark lets far ones wrap, and so they come back as they were. */
static void
convert_moment96(const uint8_t *from, size_t count, int64_t *to)
{
    for (size_t i = 0; i < count; i++) {
        int64_t nanos;
        int32_t day;

        memcpy(&nanos, from + i * 12, sizeof nanos);
        memcpy(&day, from + i * 12 + sizeof nanos, sizeof day);
        to[i] = (int64_t)((uint64_t)(day - JULIAN_OF_EPOCH) * (uint64_t)DAY_US +
                          (uint64_t)(nanos / 1000 - (nanos % 1000 < 0)));
    }
}

/* ---- float16 ---- */

static float
from_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t fraction = half & 0x3ff;
    uint32_t word;
    float value;

    if (exponent == 0) { /* zeros and what is smaller than normal */
        value = (float)fraction * 0x1p-24f;
        memcpy(&word, &value, sizeof word);
        word |= sign;
    } else {
        word = sign | (exponent == 31 ? 0xffu : exponent + 112) << 23 | fraction << 13;
    }
    memcpy(&value, &word, sizeof value);
    return value;
}

static void
convert_half(const uint8_t *from, size_t count, float *to)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t half;

        memcpy(&half, from + i * sizeof half, sizeof half);
        to[i] = from_half(half);
    }
}

/* ---- decimals ---- */

/* Big-endian; false: it does not fit. */
static bool
load_big(const uint8_t *bytes, size_t size, gr_int128 *ret_value)
{
    gr_int128 value = size > 0 && (bytes[0] & 0x80) != 0 ? -1 : 0;
    uint8_t filler = value < 0 ? 0xff : 0;
    size_t skip = size > 16 ? size - 16 : 0;
    bool fits = true;

    for (size_t i = 0; i < skip; i++) {
        fits = fits && bytes[i] == filler;
    }
    if (skip > 0) {
        fits = fits && (bytes[skip] & 0x80) == (filler & 0x80);
    }
    for (size_t i = skip; i < size; i++) {
        value = (gr_int128)((gr_uint128)value << 8 | bytes[i]);
    }
    *ret_value = value;
    return fits;
}

static granary_err
convert_decimal(const struct gr_parquet_leaf *leaf, const uint8_t *from, size_t count, gr_int128 *to)
{
    gr_int128 most = gr_power_of_ten(leaf->precision);
    size_t width = values_width(leaf);
    bool bad = false;

    for (size_t i = 0; i < count; i++, from += width) {
        if (leaf->physical == GR_PARQUET_INT32) {
            int32_t value;

            memcpy(&value, from, sizeof value);
            to[i] = value;
        } else if (leaf->physical == GR_PARQUET_INT64) {
            int64_t value;

            memcpy(&value, from, sizeof value);
            to[i] = value;
        } else {
            bad |= !load_big(from, width, &to[i]);
        }
        bad |= to[i] >= most || to[i] <= -most;
    }
    return bad ? gr_fail(GRANARY_ECORRUPT, "a decimal has more than %d digits", (int)leaf->precision) : GRANARY_OK;
}

granary_err
fixed_convert_texts(const struct gr_parquet_leaf *leaf, const struct text_view *from, size_t count, void *to)
{
    gr_int128 most = gr_power_of_ten(leaf->precision);
    gr_int128 *values = to;
    bool bad = false;

    for (size_t i = 0; i < count; i++) {
        bad |= !load_big(from[i].at, from[i].size, &values[i]) || values[i] >= most || values[i] <= -most;
    }
    return bad ? gr_fail(GRANARY_ECORRUPT, "a decimal has more than %d digits", (int)leaf->precision) : GRANARY_OK;
}

granary_err
fixed_convert(const struct gr_parquet_leaf *leaf, const uint8_t *from, size_t count, void *to)
{
    switch (leaf->form) {
    case GR_PARQUET_MOMENT:
        return convert_moment(leaf, from, count, to);
    case GR_PARQUET_MOMENT96:
        convert_moment96(from, count, to);
        return GRANARY_OK;
    case GR_PARQUET_HALF:
        convert_half(from, count, to);
        return GRANARY_OK;
    case GR_PARQUET_DECIMAL:
        return convert_decimal(leaf, from, count, to);
    default:
        return convert_narrow(leaf, from, count, to);
    }
}
