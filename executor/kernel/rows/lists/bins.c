/*
 * equi_width_bins(): upper ends of so many intervals of one width, as DuckDB has them. Nice ones are multiples of 1, 2 or 5
 * times a power of ten, and there may be twice as many. Integers are counted in thousandths, so that a width that is no
 * integer does not drift.
 */
#include "kernel/rows/lists/bins.h"

#include <math.h>
#include <stdlib.h>

#include "kernel/core/scratch.h"
#include "kernel/rows/lists/lists.h"

/* A hundred thousand years around 1970: ends do not leave what a timestamp holds. */
#define MOMENT_MOST (INT64_MAX / 2)

enum { BINS_MOST = 1 << 20, THOUSAND = 1000 };

granary_err
bins_add(struct bins_ends *ends, int64_t whole, double real)
{
    if (ends->count == ends->room) {
        int64_t room = 2 * ends->room + 1024;
        int64_t *ints = realloc(ends->ints, (size_t)room * sizeof *ints);
        double *reals;

        if (ints == NULL) {
            return node_no_memory();
        }
        ends->ints = ints;
        reals = realloc(ends->reals, (size_t)room * sizeof *reals);
        if (reals == NULL) {
            return node_no_memory();
        }
        ends->reals = reals;
        ends->room = room;
    }
    ends->ints[ends->count] = whole;
    ends->reals[ends->count++] = real;
    return GRANARY_OK;
}

/* ---- integers ---- */

static gr_int128
multiple_near(gr_int128 value, gr_int128 unit)
{
    return (value + unit / 2) / unit * unit;
}

static gr_int128
distance(gr_int128 a, gr_int128 b)
{
    return a > b ? a - b : b - a;
}

/* The multiple next to a width of 2 or 5 times the power of ten below it, or 10 times where those are too fine. */
static gr_int128
nice_width(gr_int128 width)
{
    gr_int128 power = 1;
    gr_int128 two, five;

    while (power < width) {
        power *= 10;
    }
    power = power > 1 ? power / 10 : power;
    two = multiple_near(width, power * 3 <= width ? power * 10 : power * 2);
    five = multiple_near(width, power * 2 <= width ? power * 5 : power);
    return distance(width, two) < distance(width, five) ? two : five;
}

static granary_err
int_ends(struct bins_ends *ends, int64_t from, int64_t to, int64_t bins, bool nice)
{
    gr_int128 least = (gr_int128)from * THOUSAND;
    gr_int128 most = (gr_int128)to * THOUSAND;
    gr_int128 width = (most - least) / bins;
    int64_t first = ends->count;
    granary_err err = GRANARY_OK;

    if (nice) {
        gr_int128 rounded = width > 0 ? nice_width(width) : 0;
        gr_int128 above = rounded > 0 ? (most + rounded - 1) / rounded * rounded : least;

        width = above != least ? rounded : width;
        most = above != least ? above : most;
        bins *= 2;
    }
    width = width < 1 ? 1 : width;
    for (gr_int128 at = most; at > least && err == GRANARY_OK; at -= width) {
        gr_int128 end = at / THOUSAND;
        bool again = ends->count > first && end == ends->ints[ends->count - 1];

        if (end > INT64_MAX) {
            end = INT64_MAX;
        }
        if (ends->count > first && (end < from || ends->count - first >= bins)) {
            break;
        }
        err = again ? GRANARY_OK : bins_add(ends, (int64_t)end, 0.0);
    }
    return err;
}

/* ---- floats ---- */

static double
power_below(double width)
{
    double power = 1.0;

    if (width < 1.0) {
        while (power > width) {
            power /= 10.0;
        }
        return power;
    }
    while (power < width) {
        power *= 10.0;
    }
    return power / 10.0;
}

static double
nice_real(double width)
{
    double power = power_below(width);
    double two = power * 3.0 <= width ? power * 10.0 : power * 2.0;
    double five = power * 2.0 <= width ? power * 5.0 : power;

    two = isfinite(round(width / two) * two) ? round(width / two) * two : width;
    five = isfinite(round(width / five) * five) ? round(width / five) * five : width;
    return fabs(width - two) < fabs(width - five) ? two : five;
}

static granary_err
real_ends(struct bins_ends *ends, double least, double most, int64_t bins, bool nice)
{
    double span = most - least;
    double width = isfinite(span) ? span / (double)bins : most / (double)bins - least / (double)bins;
    double digits = width > 0.0 ? 10.0 / power_below(width) : 1.0;
    int64_t first = ends->count;
    granary_err err = GRANARY_OK;

    if (nice && width > 0.0) {
        double above;

        width = nice_real(width);
        above = ceil(most / width) * width;
        most = isfinite(above) ? above : most;
        bins *= 2;
    }
    for (double at = most; at > least && width > 0.0 && err == GRANARY_OK; at -= width) {
        double end = nice ? round(at * digits) / digits : at;

        if (ends->count > first && end == ends->reals[ends->count - 1]) {
            if (at - width == at) { /* it is too narrow for floats of this size */
                break;
            }
            continue;
        }
        if (end <= least || ends->count - first >= bins) {
            break;
        }
        err = bins_add(ends, 0, end);
    }
    return err;
}

/* ---- lists ---- */

/* false: there are no such bins */
static bool
are_bins(const struct node *node, int64_t i)
{
    const struct node *least = node->operands[0];
    const struct node *most = node->operands[1];
    int64_t bins = node_int_at(node->operands[2], i);

    if (bins < 1 || bins > BINS_MOST) {
        return false;
    }
    if (node->dtype == GRANARY_LIST(GRANARY_FLOAT64)) {
        double a = ((const double *)least->values)[i];
        double b = ((const double *)most->values)[i];

        return isfinite(a) && isfinite(b) && a <= b;
    }
    return node_int_at(least, i) <= node_int_at(most, i) &&
           (node->dtype == GRANARY_LIST(GRANARY_INT64) ||
            (node_int_at(least, i) >= -MOMENT_MOST && node_int_at(most, i) <= MOMENT_MOST));
}

static granary_err
add_bins(struct node *node, struct bins_ends *ends, int64_t i)
{
    int64_t bins = node_int_at(node->operands[2], i);
    bool nice = ((const uint8_t *)node->operands[3]->values)[i] != 0;

    if (nice && node->dtype != GRANARY_LIST(GRANARY_FLOAT64) && node->dtype != GRANARY_LIST(GRANARY_INT64)) {
        return bins_of_moments(ends, node_int_at(node->operands[0], i), node_int_at(node->operands[1], i), bins);
    }
    return node->dtype == GRANARY_LIST(GRANARY_FLOAT64)
               ? real_ends(ends, ((const double *)node->operands[0]->values)[i],
                           ((const double *)node->operands[1]->values)[i], bins, nice)
               : int_ends(ends, node_int_at(node->operands[0], i), node_int_at(node->operands[1], i), bins, nice);
}

/* Of a moment in us since 1970. */
static int64_t
day_of(int64_t moment)
{
    const int64_t day = INT64_C(86400000000);

    return moment / day - (moment % day < 0);
}

/* The ends of each row in ascending order. */
static granary_err
give_ends(struct node *node, const struct bins_ends *ends, const int32_t *stops, int64_t n)
{
    granary_dtype item = GRANARY_LIST_ITEM(node->dtype);
    bool real = item == GRANARY_FLOAT64;
    struct gr_column items;
    granary_err err = gr_column_alloc_unset(item, ends->count, 0, false, &items);
    void *to = err == GRANARY_OK ? (void *)(uintptr_t)items.view.values : NULL;

    for (int64_t i = 0; i < n && to != NULL; i++) {
        int32_t from = i == 0 ? 0 : stops[i - 1];

        for (int32_t k = from; k < stops[i]; k++) {
            int32_t other = stops[i] - 1 - (k - from);

            if (real) {
                ((double *)to)[k] = ends->reals[other];
            } else if (item == GRANARY_DATE) {
                ((int32_t *)to)[k] = (int32_t)day_of(ends->ints[other]);
            } else {
                ((int64_t *)to)[k] = ends->ints[other];
            }
        }
    }
    if (err == GRANARY_OK) {
        lists_give(node, &items, stops, n);
    }
    return err;
}

granary_err
op_equi_width_bins(struct node *node, int64_t n)
{
    int32_t *stops = scratch_alloc((size_t)(n + 1) * sizeof *stops);
    struct bins_ends ends = {.count = 0};
    granary_err err = stops == NULL ? node_no_memory() : GRANARY_OK;

    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        if (node_counts(node, i) && are_bins(node, i)) {
            err = add_bins(node, &ends, i);
        } else if (node_counts(node, i)) {
            node_mark_bad(node, i, n);
        }
        if (err == GRANARY_OK && ends.count > INT32_MAX) {
            err = gr_fail(GRANARY_EFULL, "equi_width_bins: over 2147483647 bins in %lld rows", (long long)n);
        }
        stops[i] = (int32_t)ends.count;
    }
    err = err == GRANARY_OK ? give_ends(node, &ends, stops, n) : err;
    free(ends.ints);
    free(ends.reals);
    scratch_free(stops);
    return err;
}
