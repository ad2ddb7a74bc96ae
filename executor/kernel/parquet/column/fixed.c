/* Physical values become ours: see fixed.h. */
#include "kernel/parquet/column/fixed.h"

#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "data/frame.h"
#include "data/value/half.h"
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

static void
convert_half(const uint8_t *from, size_t count, float *to)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = gr_half(from + i * sizeof(uint16_t));
    }
}

/* ---- decimals ---- */

/* Eight bytes, the first of which weighs most. */
static inline uint64_t
load_eight(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return __builtin_bswap64(word);
}

/* A number of 1 to 16 bytes, the first of which weighs most. Eight bytes can be read whatever its size. */
static inline gr_int128
load_big(const uint8_t *bytes, size_t size)
{
    int64_t high = (int64_t)load_eight(bytes);

    return size <= 8
               ? (gr_int128)(high >> (64 - 8 * size))
               : (gr_int128)((gr_uint128)(gr_int128)(high >> (128 - 8 * size)) << 64 | load_eight(bytes + size - 8));
}

/* Of any size, in bytes that may end right behind it. false: it does not fit. */
static bool
load_any(const uint8_t *bytes, size_t size, gr_int128 *ret_value)
{
    uint8_t few[8] = {0};
    bool fits = true;

    if (size < sizeof few) {
        if (size > 0) {
            memcpy(few, bytes, size);
        }
        *ret_value = size > 0 ? load_big(few, size) : 0;
        return true;
    }
    for (; size > 16; bytes++, size--) { /* what is too much repeats the sign */
        fits = fits && bytes[0] == ((bytes[1] & 0x80) != 0 ? 0xff : 0);
    }
    *ret_value = load_big(bytes, size);
    return fits;
}

/* Are there more digits than the type has? */
static inline bool
is_beyond(gr_int128 value, gr_int128 most)
{
    return (gr_uint128)value + (gr_uint128)most - 1 > 2 * (gr_uint128)most - 2;
}

static inline __attribute__((always_inline)) bool
convert_big(const uint8_t *from, size_t width, size_t count, gr_int128 most, gr_int128 *to)
{
    bool bad = false;

    for (size_t i = 0; i < count; i++, from += width) {
        to[i] = load_big(from, width);
        bad |= is_beyond(to[i], most);
    }
    return bad;
}

static granary_err
convert_decimal(const struct gr_parquet_leaf *leaf, const uint8_t *from, size_t count, gr_int128 *to)
{
    gr_int128 most = gr_power_of_ten(leaf->precision);
    size_t width = values_width(leaf);
    bool bad = false;

    if (leaf->physical == GR_PARQUET_FIXED && width >= 1 && width <= 16) {
        bad = width == 16 ? convert_big(from, 16, count, most, to) : convert_big(from, width, count, most, to);
        count = 0;
    }
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
            bad |= !load_any(from, width, &to[i]);
        }
        bad |= is_beyond(to[i], most);
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
        bad |= !load_any(from[i].at, from[i].size, &values[i]) || is_beyond(values[i], most);
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
