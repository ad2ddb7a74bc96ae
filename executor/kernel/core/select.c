/*
 * The k-th value of many: Hoare's selection (FIND, 1961), for many values first narrowed to those between two of a
 * sample, so that most are looked at once (Floyd and Rivest, Expected Time Bounds for Selection, 1975).
 */
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

static void
doubles_swap(double *a, double *b)
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
            doubles_swap(&values[middle], &values[low]);
        }
        if (values[high] < values[low]) {
            doubles_swap(&values[high], &values[low]);
        }
        if (values[high] < values[middle]) {
            doubles_swap(&values[high], &values[middle]);
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
            doubles_swap(&values[i++], &values[j--]);
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
sample_narrow(const double *values, size_t count, size_t k, double *between, size_t *ret_found, size_t *ret_below)
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

        if (sample_narrow(values, count, below, values + count, &found, &less)) { /* with the one behind it */
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

int
select_texts(const granary_column *a, int64_t row_a, const granary_column *b, int64_t row_b)
{
    size_t size_a;
    size_t size_b;
    const char *text_a = gr_text_at(a, row_a, &size_a);
    const char *text_b = gr_text_at(b, row_b, &size_b);
    size_t size = size_a < size_b ? size_a : size_b;
    int order = size == 0 ? 0 : memcmp(text_a, text_b, size);

    return order != 0 ? order : (size_a > size_b) - (size_a < size_b);
}

/* An integer that compares as the double does: -0.0 is less than 0.0. */
static int64_t
double_ordered(double x)
{
    int64_t word;

    memcpy(&word, &x, sizeof word);
    return word ^ (int64_t)((uint64_t)(word >> 63) >> 1);
}

int
select_compare(const granary_column *column, int64_t a, int64_t b)
{
    bool real = column->dtype == GRANARY_FLOAT64 || column->dtype == GRANARY_FLOAT32;
    gr_int128 x;
    gr_int128 y;

    if (gr_dtype_is_text(column->dtype)) {
        return select_texts(column, a, column, b);
    }
    x = real ? double_ordered(select_real(column, a, 1.0)) : select_int(column, a);
    y = real ? double_ordered(select_real(column, b, 1.0)) : select_int(column, b);
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
