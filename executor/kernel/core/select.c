#include "kernel/core/select.h"
#include "contract/int128.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/core/rounding.h"

enum {
    NARROWED_LEAST = 256, /* values; of fewer the k-th is found by parting them alone */
    SAMPLE = 64,
    SAMPLE_MARGIN = 12, /* the k-th is hardly ever that far from its place in a sample */
};

gr_int128
select_int(const granary_column *column, int64_t i)
{
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_BOOL:
        return gr_bit(column->values, i);
    case GRANARY_INT8:
        return ((const int8_t *)column->values)[i];
    case GRANARY_INT16:
        return ((const int16_t *)column->values)[i];
    case GRANARY_INT32:
    case GRANARY_DATE:
        return ((const int32_t *)column->values)[i];
    case GRANARY_UINT8:
        return ((const uint8_t *)column->values)[i];
    case GRANARY_UINT16:
        return ((const uint16_t *)column->values)[i];
    case GRANARY_UINT32:
        return ((const uint32_t *)column->values)[i];
    case GRANARY_UINT64:
        return ((const uint64_t *)column->values)[i];
    case GRANARY_DECIMAL:
        return ((const gr_int128 *)column->values)[i];
    case GRANARY_NULLTYPE:
        return 0;
    default:
        return ((const int64_t *)column->values)[i];
    }
}

double
select_real(const granary_column *column, int64_t i, double divisor)
{
    if (column->dtype == GRANARY_FLOAT64) {
        return ((const double *)column->values)[i];
    }
    if (column->dtype == GRANARY_FLOAT32) {
        return (double)((const float *)column->values)[i];
    }
    return (double)select_int(column, i) / divisor;
}

static void
swap(double *a, double *b)
{
    double x = *a;

    *a = *b;
    *b = x;
}

/* Hoare's selection: values[k] is what it would be in order, those before it are no greater, those behind no less. The
 * pivot is the median of three, so that sorted values are no bad case; equal ones are parted evenly. */
static void
select_at(double *values, size_t count, size_t k)
{
    size_t low = 0;
    size_t high = count - 1;

    while (low < high) {
        size_t i = low;
        size_t j = high;
        size_t middle = low + (high - low) / 2;
        double pivot;

        if (values[middle] < values[low]) {
            swap(&values[middle], &values[low]);
        }
        if (values[high] < values[low]) {
            swap(&values[high], &values[low]);
        }
        if (values[high] < values[middle]) {
            swap(&values[high], &values[middle]);
        }
        pivot = values[middle];
        for (;;) {
            while (values[i] < pivot) {
                i++;
            }
            while (pivot < values[j]) {
                j--;
            }
            if (i >= j) {
                break;
            }
            swap(&values[i++], &values[j--]);
        }
        /* i >= j: [low, j'] is no greater than the pivot, [i', high] no less */
        if (i == j) {
            if (k == i) {
                return;
            }
            if (k < i) {
                high = i - 1;
            } else {
                low = i + 1;
            }
        } else if (k <= j) {
            high = j;
        } else {
            low = i;
        }
    }
}

/* Whether the k-th lies between two values of a sample: *ret_found values between them, *ret_below are less. */
static bool
narrow(const double *values, size_t count, size_t k, double *between, size_t *ret_found, size_t *ret_below)
{
    double sample[SAMPLE];
    size_t step = count / SAMPLE;
    size_t place = k * SAMPLE / count;
    size_t from = place > SAMPLE_MARGIN ? place - SAMPLE_MARGIN : 0;
    size_t to = place + SAMPLE_MARGIN < SAMPLE ? place + SAMPLE_MARGIN : SAMPLE - 1;
    size_t found = 0;
    size_t below = 0;
    double low;
    double high;

    for (size_t i = 0; i < SAMPLE; i++) {
        sample[i] = values[i * step];
    }
    select_at(sample, SAMPLE, from);
    low = from > 0 ? sample[from] : -INFINITY;
    select_at(sample, SAMPLE, to);
    high = to < SAMPLE - 1 ? sample[to] : INFINITY;
    for (size_t i = 0; i < count; i++) { /* without branches: half of them would be guessed wrongly */
        between[found] = values[i];
        found += (values[i] >= low) & (values[i] <= high);
        below += values[i] < low;
    }
    *ret_found = found;
    *ret_below = below;
    return below <= k && k + 1 < below + found;
}

double
select_between(double low, double high, double part)
{
    if (part == 0 || low == high) { /* of infinities there is no difference */
        return low;
    }
    return part >= 0.5 ? high - (high - low) * (1 - part) : low + (high - low) * part;
}

double
select_quantile(double *values, size_t count, double fraction)
{
    double position = (double)(count - 1) * fraction;
    size_t below = (size_t)floor(position);
    double part = position - (double)below;
    double next;

    if (count >= NARROWED_LEAST) {
        size_t found;
        size_t less;

        if (narrow(values, count, below, values + count, &found, &less)) { /* with the one behind it */
            values += count;
            count = found;
            below -= less;
        }
    }
    select_at(values, count, below);
    if (part == 0.0 || below + 1 >= count) {
        return values[below];
    }
    next = values[below + 1];
    for (size_t i = below + 2; i < count; i++) {
        next = values[i] < next ? values[i] : next;
    }
    return select_between(values[below], next, part);
}

static int
int_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

gr_int128
select_quantile_int(int64_t *values, size_t count, double fraction, gr_int128 unit)
{
    double position = (double)(count - 1) * fraction;
    size_t below = (size_t)floor(position);
    size_t above = below + 1 < count ? below + 1 : below;
    int64_t part =
        (int64_t)ldexp(position - (double)below, DBL_MANT_DIG); /* exactly, but for what is far below a unit */
    gr_int128 least;

    qsort(values, count, sizeof *values, int_compare);
    least = values[below] * unit;
    return least +
           divide_to_even(((gr_int128)values[above] - values[below]) * unit * part, (gr_int128)1 << DBL_MANT_DIG);
}

static double
real_at(const granary_column *column, int64_t i)
{
    return column->dtype == GRANARY_FLOAT32 ? (double)((const float *)column->values)[i]
                                            : ((const double *)column->values)[i];
}

static int
text_compare(const granary_column *column, int64_t a, int64_t b)
{
    const int32_t *offsets = column->offsets;
    size_t size_a = (size_t)(offsets[a + 1] - offsets[a]);
    size_t size_b = (size_t)(offsets[b + 1] - offsets[b]);
    size_t size = size_a < size_b ? size_a : size_b;
    const char *bytes = column->values;
    int order = size > 0 ? memcmp(bytes + offsets[a], bytes + offsets[b], size) : 0;

    return order != 0 ? order : (size_a > size_b) - (size_a < size_b);
}

static bool
is_unsigned(granary_dtype dtype)
{
    return dtype == GRANARY_UINT64 || dtype == GRANARY_UINT32 || dtype == GRANARY_UINT16 || dtype == GRANARY_UINT8;
}

int
select_compare(const granary_column *column, int64_t a, int64_t b)
{
    size_t size = gr_dtype_size(column->dtype);
    int64_t x = 0;
    int64_t y = 0;

    if (column->dtype == GRANARY_STRING) {
        return text_compare(column, a, b);
    }
    if (column->dtype == GRANARY_BOOL) {
        return (int)gr_bit(column->values, a) - (int)gr_bit(column->values, b);
    }
    if (size == 16) {
        const gr_int128 *wide = column->values;

        return (wide[a] > wide[b]) - (wide[a] < wide[b]);
    }
    if (column->dtype == GRANARY_FLOAT64 || column->dtype == GRANARY_FLOAT32) {
        double v = real_at(column, a);
        double w = real_at(column, b);

        memcpy(&x, &v, sizeof x);
        memcpy(&y, &w, sizeof y);
        x ^= (int64_t)((uint64_t)(x >> 63) >> 1); /* integers that compare as the doubles do */
        y ^= (int64_t)((uint64_t)(y >> 63) >> 1);
        return (x > y) - (x < y);
    }
    memcpy(&x, (const char *)column->values + (size_t)a * size, size);
    memcpy(&y, (const char *)column->values + (size_t)b * size, size);
    if (is_unsigned(column->dtype)) {
        return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    }
    x = (int64_t)((uint64_t)x << (64 - 8 * size)) >> (64 - 8 * size);
    y = (int64_t)((uint64_t)y << (64 - 8 * size)) >> (64 - 8 * size);
    return (x > y) - (x < y);
}

static int
mode_compare(const void *a, const void *b, void *column)
{
    return select_compare(column, *(const uint32_t *)a, *(const uint32_t *)b);
}

/* -0.0 is 0.0, though it sorts before it. */
static bool
is_same_value(const granary_column *column, int64_t a, int64_t b)
{
    return select_compare(column, a, b) == 0 ||
           ((column->dtype == GRANARY_FLOAT64 || column->dtype == GRANARY_FLOAT32) &&
            select_real(column, a, 1.0) == 0.0 && select_real(column, b, 1.0) == 0.0);
}

int64_t
select_mode(const granary_column *column, uint32_t *rows, size_t count)
{
    int64_t best = -1;
    size_t most = 0;

    qsort_r(rows, count, sizeof *rows, mode_compare, (void *)(uintptr_t)column);
    for (size_t i = 0, run = 0; i < count; i++) {
        run = i > 0 && is_same_value(column, rows[i - 1], rows[i]) ? run + 1 : 1;
        if (run > most) {
            most = run;
            best = rows[i];
        }
    }
    return best;
}
