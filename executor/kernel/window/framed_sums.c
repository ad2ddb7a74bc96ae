/*
 * Exact sums of a frame's floats, and variances and covariances, which are made of such sums.
 *
 * An exact sum loses nothing, so a row can be taken away again: from one row to the next only those are added and taken
 * away that come and go. What a product's rounding leaves off has sums of its own, so that all sums stay short. Where a frame jumps, its sums are put together of a tree's, whose nodes have those of up to 32
 * below them (Leis, Kundhikanjana, Kemper and Neumann, 2015). Infinities are counted apart, as are values whose squares
 * no double holds.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "graph/expr.h"
#include "kernel/core/moments.h"
#include "kernel/core/scratch.h"
#include "kernel/window/frames.h"

enum {
    FAN = 32,
    LEVELS = 13,
    TERMS = 8,  /* at most */
    NEAR = 128, /* rows that are rather passed one by one than taken from the tree */
};

/* Terms; behind each product what rounding has left off. XY is the square of X where there is no Y. */
enum { X, XY, XY_REST, Y, XX, XX_REST, YY, YY_REST };

static const double square_most = 0x1p500;

struct sums {
    int terms;
    bool pair;                   /* of two values */
    bool moments;                /* squares, too */
    struct exact_sum now[TERMS]; /* of rows [from, to) */
    int64_t from;
    int64_t to;
    int64_t *counts;                 /* of values before each place of the partition */
    int64_t *odd[2];                 /* +inf, -inf; moments: those that are no part of the sums */
    struct exact_sum *nodes[LEVELS]; /* level 0 has none: rows are added */
    int64_t node_counts[LEVELS];
    bool built;
};

static granary_err
out_of_memory(const struct framed *f)
{
    return gr_fail(GRANARY_ENOMEM, "window: out of memory for the sums of %lld rows",
                   (long long)(f->span.end - f->span.begin));
}

/* ---- values ---- */

static bool
is_there(const struct framed *f, int64_t row)
{
    return !window_is_missing(&f->job.value, row) &&
           (f->columns->second == NULL || !window_is_missing(&f->job.second, row));
}

/* A value in two doubles: integers and decimals in their units, whose digits one does not always hold. */
static struct window_pair
value_at(const struct window_value *value, int64_t row)
{
    struct window_pair pair = {0, 0};

    if (value->class != WINDOW_INTEGER) {
        pair.high = value->reals[row];
    } else {
        pair.high = (double)value->integers[row];
        pair.low = (double)(value->integers[row] - (gr_int128)pair.high);
    }
    return pair;
}

static bool
is_odd(double x)
{
    return !(fabs(x) <= square_most);
}

/* To a sum, and the rest to the one behind it. */
static void
add_product(struct exact_sum *sum, double a, double b, double sign)
{
    double product = a * b;

    exact_sum_add(&sum[0], sign * product);
    exact_sum_add(&sum[1], sign * fma(a, b, -product));
}

static void
add_products(struct exact_sum *sum, struct window_pair a, struct window_pair b, double sign)
{
    add_product(sum, a.high, b.high, sign);
    if (a.low != 0 || b.low != 0) {
        add_product(sum, a.high, b.low, sign);
        add_product(sum, a.low, b.high, sign);
        add_product(sum, a.low, b.low, sign);
    }
}

static void
add_pair(struct exact_sum *sum, struct window_pair a, double sign)
{
    exact_sum_add(sum, sign * a.high);
    if (a.low != 0) {
        exact_sum_add(sum, sign * a.low);
    }
}

/* The terms of a row; sign -1: it leaves. all: those that are counted apart, too. */
static void
add_row(const struct framed *f, struct exact_sum *at, int64_t row, double sign, bool all)
{
    const struct sums *sums = f->state;
    struct window_pair x;
    struct window_pair y;

    if (!is_there(f, row)) {
        return;
    }
    x = value_at(&f->job.value, row);
    if (!sums->moments) {
        if (isfinite(x.high)) {
            exact_sum_add(&at[X], sign * x.high);
        }
        return;
    }
    y = sums->pair ? value_at(&f->job.second, row) : x;
    if (!all && (is_odd(x.high) || is_odd(y.high))) {
        return;
    }
    add_pair(&at[X], x, sign);
    add_products(&at[XY], x, y, sign);
    if (sums->pair) {
        add_pair(&at[Y], y, sign);
    }
    if (sums->terms > XX) {
        add_products(&at[XX], x, x, sign);
        add_products(&at[YY], y, y, sign);
    }
}

static void
sums_clear(struct exact_sum *at)
{
    for (int t = 0; t < TERMS; t++) {
        exact_sum_fini(&at[t]);
    }
    memset(at, 0, TERMS * sizeof *at);
}

/* ---- the tree ---- */

static granary_err
tree_build(struct framed *f)
{
    struct sums *sums = f->state;
    int64_t count = f->span.end - f->span.begin;
    size_t terms = (size_t)sums->terms;

    sums->built = true;
    for (int level = 1; level < LEVELS && count > 1; level++) {
        int64_t below = count;
        struct exact_sum *nodes;

        count = (count + FAN - 1) / FAN;
        nodes = sums->nodes[level] = scratch_alloc((size_t)count * terms * sizeof *nodes + 1);
        if (nodes == NULL) {
            return out_of_memory(f);
        }
        sums->node_counts[level] = count;
        memset(nodes, 0, (size_t)count * terms * sizeof *nodes);
        for (int64_t c = 0; c < below; c++) {
            struct exact_sum *at = nodes + (size_t)(c / FAN) * terms;

            if (level == 1) {
                add_row(f, at, window_row(f->job.rows, f->span.begin + c), 1, false);
                continue;
            }
            for (size_t t = 0; t < terms; t++) {
                exact_sum_merge(&at[t], &sums->nodes[level - 1][(size_t)c * terms + t]);
            }
        }
    }
    return GRANARY_OK;
}

static void
add_node(const struct framed *f, struct exact_sum *at, int level, int64_t node)
{
    const struct sums *sums = f->state;

    if (level == 0) {
        add_row(f, at, window_row(f->job.rows, f->span.begin + node), 1, false);
        return;
    }
    for (int t = 0; t < sums->terms; t++) {
        exact_sum_merge(&at[t], &sums->nodes[level][(size_t)node * (size_t)sums->terms + (size_t)t]);
    }
}

/* Nodes [from, to) of a level; places of the partition at level 0. */
static void
add_between(const struct framed *f, struct exact_sum *at, int level, int64_t from, int64_t to)
{
    int64_t right;

    while (from < to && (from % FAN != 0 || to - from < FAN)) {
        add_node(f, at, level, from++);
    }
    right = from < to ? to - to % FAN : to;
    if (from < right) {
        add_between(f, at, level + 1, from / FAN, right / FAN);
    }
    while (right < to) {
        add_node(f, at, level, right++);
    }
}

/* Rows [from, to) into sums. */
static granary_err
add_stretch(struct framed *f, struct exact_sum *at, int64_t from, int64_t to)
{
    struct sums *sums = f->state;
    granary_err err = GRANARY_OK;

    if (to - from <= NEAR) {
        for (int64_t i = from; i < to; i++) {
            add_row(f, at, window_row(f->job.rows, i), 1, false);
        }
        return GRANARY_OK;
    }
    if (!sums->built) {
        err = tree_build(f);
    }
    if (err == GRANARY_OK) {
        add_between(f, at, 0, from - f->span.begin, to - f->span.begin);
    }
    return err;
}

/* ---- frames ---- */

static int64_t
distance(int64_t a, int64_t b)
{
    return a < b ? b - a : a - b;
}

static void
pass(struct framed *f, int64_t from, int64_t to, double sign)
{
    struct sums *sums = f->state;

    for (int64_t i = from; i < to; i++) {
        add_row(f, sums->now, window_row(f->job.rows, i), sign, false);
    }
}

/* The running sums become those of rows [from, to). */
static granary_err
move_to(struct framed *f, int64_t from, int64_t to)
{
    struct sums *sums = f->state;
    int64_t steps = distance(from, sums->from) + distance(to, sums->to);
    granary_err err = GRANARY_OK;

    if (steps > NEAR || steps > to - from) {
        sums_clear(sums->now);
        err = add_stretch(f, sums->now, from, to);
    } else {
        pass(f, sums->to, to, 1);
        pass(f, from, sums->from, 1);
        pass(f, to, sums->to, -1);
        pass(f, sums->from, from, -1);
    }
    sums->from = from;
    sums->to = to;
    return err;
}

/* The rows between a frame's pieces leave the running sums, or come back. */
static void
pass_holes(struct framed *f, const struct frame_pieces *pieces, double sign)
{
    for (int p = 1; p < pieces->count; p++) {
        pass(f, pieces->to[p - 1], pieces->from[p], sign);
    }
}

/* The sums of a frame with large holes, put together anew. */
static granary_err
collect(struct framed *f, const struct frame_pieces *pieces, struct exact_sum *at)
{
    granary_err err = GRANARY_OK;

    for (int p = 0; p < pieces->count && err == GRANARY_OK; p++) {
        err = add_stretch(f, at, pieces->from[p], pieces->to[p]);
    }
    return err;
}

/* ---- results ---- */

/* A sum and its rest, in two doubles. */
static struct window_pair
pair_of(const struct exact_sum *sum, bool with_rest)
{
    struct window_pair pair;

    exact_sum_pair(&sum[0], &pair.high, &pair.low);
    if (with_rest) {
        window_pair_add(&pair, exact_sum_value(&sum[1]));
    }
    return pair;
}

/*
 * sum xy - sum x sum y / n, in two doubles. false: so much of it is cancelled out that more digits are needed, or it is
 * beyond a double's range.
 */
static bool
central_in_pairs(const struct exact_sum *x, const struct exact_sum *y, const struct exact_sum *xy, int64_t count,
                 double *ret_value)
{
    static const double least_left = 0x1p-40;
    struct window_pair a = pair_of(x, false);
    struct window_pair b = x == y ? a : pair_of(y, false);
    struct window_pair ab = pair_of(xy, true);
    double n = (double)count;
    double product = a.high * b.high;
    double rest = fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high);
    double mean = product / n;
    struct window_pair result = ab;

    window_pair_add(&result, -mean);
    window_pair_add(&result, -(fma(-mean, n, product) + rest) / n);
    *ret_value = result.high;
    return isfinite(mean) && isfinite(result.high) && fabs(result.high) > least_left * fabs(ab.high) &&
           fabs(result.high) > least_left * fabs(mean);
}

/* The sum over the products of distances from the means, of the terms a, b and their products. */
static double
central(const struct exact_sum *a, const struct exact_sum *b, const struct exact_sum *ab, int64_t count)
{
    const struct exact_sum *const from[3] = {a, b, ab};
    struct exact_sum copies[3];
    bool finite;
    double value;

    if (central_in_pairs(a, b, ab, count, &value)) {
        return value;
    }
    finite = isfinite(exact_sum_value(a));
    memset(copies, 0, sizeof copies);
    for (int i = 0; i < 3; i++) {
        exact_sum_merge(&copies[i], from[i]);
    }
    exact_sum_merge(&copies[2], ab + 1);
    value = moment_central(&copies[0], &copies[1], &copies[2], count);
    for (int i = 0; i < 3; i++) {
        exact_sum_fini(&copies[i]);
    }
    return isnan(value) && a == b && finite ? INFINITY : value; /* squares beyond a double's range */
}

static double
divisor_of(const granary_column *column)
{
    return gr_dtype_kind(column->dtype) == GRANARY_DECIMAL ? (double)gr_power_of_ten(gr_dtype_scale(column->dtype)) : 1;
}

static void
give_spread(struct framed *f, const struct exact_sum *at, int64_t count, int64_t row)
{
    const struct gr_aggregate *aggregate = &f->job.window->aggregate;
    double freedom = (double)count - aggregate->number;
    double divisor = divisor_of(f->job.value.column);
    double value;

    if (!(freedom > 0)) {
        return;
    }
    value = central(&at[X], &at[X], &at[XY], count);
    value = value < 0 ? 0 : value / divisor / divisor / freedom;
    value = aggregate->function == GR_AGGREGATE_SEM ? value / (double)count : value;
    window_put(&f->job.out, row, aggregate->function == GR_AGGREGATE_VAR ? value : sqrt(value));
}

static void
give_pair(struct framed *f, const struct exact_sum *at, int64_t count, int64_t row)
{
    int64_t ddof = framed_function(f) != GR_AGGREGATE_COV_POP;
    double value;
    double x;
    double y;

    if (count <= ddof) {
        return;
    }
    value = central(&at[X], &at[Y], &at[XY], count);
    if (framed_function(f) != GR_AGGREGATE_CORR) {
        window_put(&f->job.out, row,
                   value / divisor_of(f->job.value.column) / divisor_of(f->job.second.column) / (double)(count - ddof));
        return;
    }
    x = central(&at[X], &at[X], &at[XX], count);
    y = central(&at[Y], &at[Y], &at[YY], count);
    if (x > 0 && y > 0 && isfinite(x) && isfinite(y)) {
        value /= sqrt(x) * sqrt(y);
        window_put(&f->job.out, row, value > 1 ? 1 : value < -1 ? -1 : value);
    }
}

static void
give_sum(struct framed *f, const struct exact_sum *at, int64_t count, const int64_t odd[2], int64_t row)
{
    double value = exact_sum_value(&at[X]);

    if (count == 0) {
        return;
    }
    if (odd[0] + odd[1] > 0) {
        value = (odd[0] > 0 ? INFINITY : 0.0) - (odd[1] > 0 ? INFINITY : 0.0);
    }
    window_put(&f->job.out, row, framed_function(f) == GR_AGGREGATE_MEAN ? value / (double)count : value);
}

static granary_err
give_of(struct framed *f, const struct exact_sum *at, int64_t count, const int64_t odd[2], int64_t row)
{
    const struct sums *sums = f->state;

    for (int t = 0; t < sums->terms; t++) {
        if (!exact_sum_ok(&at[t])) {
            return out_of_memory(f);
        }
    }
    if (!sums->moments) {
        give_sum(f, at, count, odd, row);
    } else if (sums->pair) {
        give_pair(f, at, count, row);
    } else {
        give_spread(f, at, count, row);
    }
    return GRANARY_OK;
}

/* Of a frame with values that are counted apart: all its rows by themselves. */
static granary_err
give_odd(struct framed *f, const struct frame_pieces *pieces, int64_t count, const int64_t odd[2], int64_t row)
{
    struct exact_sum at[TERMS];
    granary_err err;

    memset(at, 0, sizeof at);
    for (int p = 0; p < pieces->count; p++) {
        for (int64_t i = pieces->from[p]; i < pieces->to[p]; i++) {
            add_row(f, at, window_row(f->job.rows, i), 1, true);
        }
    }
    err = give_of(f, at, count, odd, row);
    sums_clear(at);
    return err;
}

static granary_err
sums_give(struct framed *f, const struct frame_pieces *pieces, int64_t row)
{
    struct sums *sums = f->state;
    struct exact_sum at[TERMS];
    int64_t odd[2] = {0, 0};
    int64_t count = 0;
    granary_err err;

    for (int p = 0; p < pieces->count; p++) {
        int64_t from = pieces->from[p] - f->span.begin;
        int64_t to = pieces->to[p] - f->span.begin;

        count += sums->counts[to] - sums->counts[from];
        for (int i = 0; i < 2; i++) {
            odd[i] += sums->odd[i][to] - sums->odd[i][from];
        }
    }
    if (count == 0) {
        return GRANARY_OK;
    }
    if (sums->moments && odd[0] > 0) {
        return give_odd(f, pieces, count, odd, row);
    }
    if (pieces->to[pieces->count - 1] - pieces->from[0] - pieces_rows(pieces) <= NEAR) {
        err = move_to(f, pieces->from[0], pieces->to[pieces->count - 1]);
        if (err == GRANARY_OK) {
            pass_holes(f, pieces, -1);
            err = give_of(f, sums->now, count, odd, row);
            pass_holes(f, pieces, 1);
        }
        return err;
    }
    memset(at, 0, sizeof at);
    err = collect(f, pieces, at);
    if (err == GRANARY_OK) {
        err = give_of(f, at, count, odd, row);
    }
    sums_clear(at);
    return err;
}

static granary_err
sums_begin(struct framed *f)
{
    enum gr_aggregate_function function = framed_function(f);
    int64_t rows = f->span.end - f->span.begin;
    size_t size = (size_t)(rows + 1) * sizeof(int64_t);
    struct sums *sums = f->state = scratch_alloc(sizeof *sums);

    if (sums == NULL) {
        return out_of_memory(f);
    }
    memset(sums, 0, sizeof *sums);
    sums->pair = f->columns->second != NULL;
    sums->moments = function != GR_AGGREGATE_SUM && function != GR_AGGREGATE_MEAN;
    sums->terms = function == GR_AGGREGATE_CORR ? TERMS : sums->pair ? Y + 1 : sums->moments ? XY_REST + 1 : 1;
    sums->from = sums->to = f->span.begin;
    sums->counts = scratch_alloc(size);
    sums->odd[0] = scratch_alloc(size);
    sums->odd[1] = scratch_alloc(size);
    if (sums->counts == NULL || sums->odd[0] == NULL || sums->odd[1] == NULL) {
        return out_of_memory(f);
    }
    sums->counts[0] = sums->odd[0][0] = sums->odd[1][0] = 0;
    for (int64_t k = 0; k < rows; k++) {
        int64_t row = window_row(f->job.rows, f->span.begin + k);
        bool there = is_there(f, row);
        double x = there ? value_at(&f->job.value, row).high : 0;
        double y = there && sums->pair ? value_at(&f->job.second, row).high : 0;
        bool odd = sums->moments ? is_odd(x) || is_odd(y) : isinf(x);

        sums->counts[k + 1] = sums->counts[k] + there;
        sums->odd[0][k + 1] = sums->odd[0][k] + (odd && (sums->moments || x > 0));
        sums->odd[1][k + 1] = sums->odd[1][k] + (odd && !sums->moments && x < 0);
    }
    return GRANARY_OK;
}

static void
sums_end(struct framed *f)
{
    struct sums *sums = f->state;

    if (sums == NULL) {
        return;
    }
    sums_clear(sums->now);
    for (int level = 1; level < LEVELS; level++) {
        for (int64_t n = 0; n < sums->node_counts[level] * sums->terms; n++) {
            exact_sum_fini(&sums->nodes[level][n]);
        }
        scratch_free(sums->nodes[level]);
    }
    scratch_free(sums->counts);
    scratch_free(sums->odd[0]);
    scratch_free(sums->odd[1]);
    scratch_free(sums);
}

const struct framed_way framed_sums = {sums_begin, sums_give, sums_end};
