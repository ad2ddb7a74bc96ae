/*
 * Statistics as bounds of our own values. Each doubt makes them unknown, for wrong ones would lose rows in silence:
 *
 * - older files order unsigned numbers and text as signed bytes;
 * - floats leave NaN out, or do not; zeros may have either sign, which no comparison here tells apart;
 * - a bound of text may be cut short: downwards for the least, upwards for the greatest;
 * - writers have been seen that swapped them, or counted more nulls than values.
 */
#include <math.h>
#include <string.h>

#include "parquet/parquet.h"

/* One bound; up: it is the greatest. */
typedef bool read_bound(const struct gr_parquet_leaf *leaf, const struct gr_parquet_bytes *bytes, bool up,
                        union gr_parquet_bound *ret_bound);

static bool
load_integer(const struct gr_parquet_leaf *leaf, const struct gr_parquet_bytes *bytes, int64_t *ret_value)
{
    int32_t narrow;

    if (leaf->physical == GR_PARQUET_INT32 && bytes->size == sizeof narrow) {
        memcpy(&narrow, bytes->bytes, sizeof narrow);
        *ret_value = leaf->is_unsigned ? (int64_t)(uint32_t)narrow : narrow;
        return true;
    }
    if (leaf->physical == GR_PARQUET_INT64 && bytes->size == sizeof *ret_value) {
        memcpy(ret_value, bytes->bytes, sizeof *ret_value);
        return !leaf->is_unsigned || *ret_value >= 0;
    }
    return false;
}

static bool
bound_integer(const struct gr_parquet_leaf *leaf, const struct gr_parquet_bytes *bytes, bool up,
              union gr_parquet_bound *ret_bound)
{
    (void)up;
    return load_integer(leaf, bytes, &ret_bound->integer);
}

static bool
bound_bool(const struct gr_parquet_leaf *leaf, const struct gr_parquet_bytes *bytes, bool up,
           union gr_parquet_bound *ret_bound)
{
    (void)leaf;
    (void)up;
    ret_bound->integer = bytes->size == 1 && bytes->bytes[0] != 0;
    return bytes->size == 1 && bytes->bytes[0] <= 1;
}

/* As values are converted, which keeps their order. */
static bool
bound_moment(const struct gr_parquet_leaf *leaf, const struct gr_parquet_bytes *bytes, bool up,
             union gr_parquet_bound *ret_bound)
{
    int64_t value;

    (void)up;
    if (!load_integer(leaf, bytes, &value)) {
        return false;
    }
    if (leaf->per_second > 1000000) {
        ret_bound->integer = value / 1000 - (value % 1000 < 0);
        return true;
    }
    return !__builtin_mul_overflow(value, 1000000 / leaf->per_second, &ret_bound->integer);
}

static bool
bound_real(const struct gr_parquet_leaf *leaf, const struct gr_parquet_bytes *bytes, bool up,
           union gr_parquet_bound *ret_bound)
{
    float narrow;

    (void)up;
    if (leaf->physical == GR_PARQUET_FLOAT && bytes->size == sizeof narrow) {
        memcpy(&narrow, bytes->bytes, sizeof narrow);
        ret_bound->real = (double)narrow;
    } else if (leaf->physical == GR_PARQUET_DOUBLE && bytes->size == sizeof(double)) {
        memcpy(&ret_bound->real, bytes->bytes, sizeof(double));
    } else {
        return false;
    }
    return !isnan(ret_bound->real);
}

/* Big-endian, at most 16 bytes. */
static double
load_big(const struct gr_parquet_bytes *bytes)
{
    double value = (double)(int8_t)bytes->bytes[0];

    for (uint32_t i = 1; i < bytes->size; i++) {
        value = value * 256 + bytes->bytes[i];
    }
    return value;
}

/* Rounded outwards by more than the sums above can be off. */
static bool
bound_decimal(const struct gr_parquet_leaf *leaf, const struct gr_parquet_bytes *bytes, bool up,
              union gr_parquet_bound *ret_bound)
{
    const double most = 9007199254740992.0;
    int64_t value = 0;
    double real;

    if (leaf->physical == GR_PARQUET_INT32 || leaf->physical == GR_PARQUET_INT64) {
        if (!load_integer(leaf, bytes, &value)) {
            return false;
        }
        real = (double)value;
    } else if (leaf->physical == GR_PARQUET_FIXED && bytes->size == (uint32_t)leaf->length && bytes->size <= 16) {
        real = load_big(bytes);
    } else {
        return false;
    }
    if (real >= most || real <= -most) {
        real += (up ? 1 : -1) * fabs(real) * 0x1p-48;
    }
    ret_bound->real = real;
    return true;
}

static bool
bound_text(const struct gr_parquet_leaf *leaf, const struct gr_parquet_bytes *bytes, bool up,
           union gr_parquet_bound *ret_bound)
{
    (void)leaf;
    (void)up;
    memset(ret_bound->text, 0, sizeof ret_bound->text);
    if (bytes->size > 0) {
        memcpy(ret_bound->text, bytes->bytes,
               bytes->size < sizeof ret_bound->text ? bytes->size : sizeof ret_bound->text);
    }
    return true;
}

static bool
is_ordered(const struct gr_parquet_leaf *leaf, const struct gr_parquet_bounds *bounds)
{
    switch (leaf->form) {
    case GR_PARQUET_TEXT:
        return memcmp(bounds->min.text, bounds->max.text, sizeof bounds->min.text) <= 0;
    case GR_PARQUET_REAL:
    case GR_PARQUET_DECIMAL:
        return bounds->min.real <= bounds->max.real;
    default:
        return bounds->min.integer <= bounds->max.integer;
    }
}

/* Whether their order is ours. */
static bool
is_believed(const struct gr_parquet_leaf *leaf, const struct gr_parquet_stats *stats)
{
    if (stats->min.bytes == NULL || stats->max.bytes == NULL) {
        return false;
    }
    return stats->deprecated
               ? !leaf->is_unsigned && leaf->physical != GR_PARQUET_BYTES && leaf->physical != GR_PARQUET_FIXED
               : leaf->typed_order;
}

/* Whether so many of the values are nulls. What has bounds has a value: Polars counts the nulls of a row group once for
 * each of its pages, and may come to just as many as there are values. Where there may be a nan it tells no bounds. */
static bool
can_be(const struct gr_parquet_stats *stats, int64_t values, bool has_nan)
{
    bool has_bounds = stats->min.bytes != NULL || stats->max.bytes != NULL;

    return stats->nulls >= 0 && (stats->nulls < values || (stats->nulls == values && !has_bounds && !has_nan));
}

struct gr_parquet_bounds
gr_parquet_bounds(const struct gr_parquet_leaf *leaf, const struct gr_parquet_stats *stats, int64_t values)
{
    static read_bound *const readers[] = {
        [GR_PARQUET_BOOL] = bound_bool,       [GR_PARQUET_INTEGER] = bound_integer,
        [GR_PARQUET_REAL] = bound_real,       [GR_PARQUET_MOMENT] = bound_moment,
        [GR_PARQUET_DECIMAL] = bound_decimal, [GR_PARQUET_TEXT] = bound_text,
        [GR_PARQUET_MOMENT96] = NULL,         [GR_PARQUET_HALF] = NULL,
    };
    bool has_nan = (leaf->form == GR_PARQUET_REAL || leaf->form == GR_PARQUET_HALF) && stats->nans != 0;
    struct gr_parquet_bounds bounds = {.nulls = can_be(stats, values, has_nan) ? stats->nulls : -1, .has_nan = has_nan};
    /* UUIDs are compared as texts here. */
    bool is_uuid = leaf->form == GR_PARQUET_TEXT && leaf->physical == GR_PARQUET_FIXED && leaf->dtype == GRANARY_STRING;
    read_bound *reader = is_uuid ? NULL : readers[leaf->form];

    if (leaf->repeats > 0) { /* they tell of items, not of lists */
        return (struct gr_parquet_bounds){.nulls = -1};
    }
    bounds.known = reader != NULL && is_believed(leaf, stats) && reader(leaf, &stats->min, false, &bounds.min) &&
                   reader(leaf, &stats->max, true, &bounds.max) && is_ordered(leaf, &bounds);
    if (stats->nulls >= 0 && bounds.nulls < 0) { /* then the rest is not to be believed either */
        bounds.known = false;
    }
    return bounds;
}
