/*
 * What the values of a frame tell in their order: quantiles, modes, how many are different. The values of a partition
 * are sorted once and known by their places. What comes into a frame and goes is counted in a tree of sums (Fenwick, A
 * New Data Structure for Cumulative Frequency Tables, 1994), or of maxima for modes. So a row costs a few steps for each
 * row by which its frame differs from the one before.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/window/frames.h"

#define DAY_MICROSECONDS 86400000000

struct ranked {
    int64_t *sorted;   /* rows in the order of their values; modes, nunique: the first of equal ones */
    int64_t *place_of; /* by place in the partition; -1: missing */
    int64_t places;
    int64_t *tree; /* quantile: Fenwick's, from 1 on; mode: node n has 2n and 2n + 1, leaves from `leaves` on */
    int64_t leaves;
    int64_t different;
    int64_t inside; /* values that are in */
    struct frame_pieces now;
};

static granary_err
out_of_memory(const struct framed *f)
{
    return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)(f->span.end - f->span.begin));
}

static bool
is_quantile(const struct framed *f)
{
    return framed_function(f) == GR_AGGREGATE_QUANTILE || framed_function(f) == GR_AGGREGATE_MEDIAN;
}

/* ---- the values in order ---- */

static granary_err
sort_values(struct framed *f, struct ranked *ranked)
{
    int64_t rows = f->span.end - f->span.begin;
    struct sort_key key = {.column = f->job.value.column};
    bool each = is_quantile(f); /* equal values have places of their own */
    int64_t *position_of = scratch_alloc((size_t)(f->job.rows->count + 1) * sizeof *position_of);
    int64_t count = 0;
    granary_err err = position_of == NULL ? out_of_memory(f) : GRANARY_OK;

    for (int64_t k = 0; k < rows && err == GRANARY_OK; k++) {
        int64_t row = window_row(f->job.rows, f->span.begin + k);

        position_of[row] = k;
        ranked->place_of[k] = -1;
        if (!window_is_missing(&f->job.value, row)) {
            ranked->sorted[count++] = row;
        }
    }
    if (err == GRANARY_OK) {
        err = sort_rows_of(&key, 1, ranked->sorted, count);
    }
    for (int64_t i = 0; i < count && err == GRANARY_OK; i++) {
        int64_t row = ranked->sorted[i];

        if (each || i == 0 || sort_compare(&key, ranked->sorted[ranked->places - 1], &key, row, 1) != 0) {
            ranked->sorted[ranked->places++] = row;
        }
        ranked->place_of[position_of[row]] = ranked->places - 1;
    }
    scratch_free(position_of);
    return err;
}

static granary_err
ranked_begin(struct framed *f)
{
    int64_t rows = f->span.end - f->span.begin;
    size_t size = (size_t)(rows + 1) * sizeof(int64_t);
    struct ranked *ranked = f->state = scratch_alloc(sizeof *ranked);
    granary_err err;

    if (ranked == NULL) {
        return out_of_memory(f);
    }
    *ranked = (struct ranked){.sorted = scratch_alloc(size), .place_of = scratch_alloc(size)};
    if (ranked->sorted == NULL || ranked->place_of == NULL) {
        return out_of_memory(f);
    }
    err = sort_values(f, ranked);
    if (err != GRANARY_OK) {
        return err;
    }
    ranked->leaves = 1;
    while (ranked->leaves < ranked->places + 1) {
        ranked->leaves *= 2;
    }
    size = (size_t)ranked->leaves * 2 * sizeof(int64_t);
    ranked->tree = scratch_alloc(size);
    if (ranked->tree == NULL) {
        return out_of_memory(f);
    }
    memset(ranked->tree, 0, size);
    return GRANARY_OK;
}

static void
ranked_end(struct framed *f)
{
    struct ranked *ranked = f->state;

    if (ranked != NULL) {
        scratch_free(ranked->sorted);
        scratch_free(ranked->place_of);
        scratch_free(ranked->tree);
    }
    scratch_free(ranked);
}

/* ---- what is in ---- */

static void
change(struct framed *f, struct ranked *ranked, int64_t place, int64_t by)
{
    int64_t *tree = ranked->tree;
    int64_t node = ranked->leaves + place;

    ranked->inside += by;
    if (is_quantile(f)) {
        for (int64_t at = place + 1; at <= ranked->places; at += at & -at) {
            tree[at] += by;
        }
        return;
    }
    ranked->different += by > 0 ? tree[node] == 0 : -(tree[node] == 1);
    tree[node] += by;
    for (node /= 2; node > 0 && framed_function(f) == GR_AGGREGATE_MODE; node /= 2) {
        tree[node] = tree[2 * node] > tree[2 * node + 1] ? tree[2 * node] : tree[2 * node + 1];
    }
}

static void
pass(struct framed *f, struct ranked *ranked, int64_t from, int64_t to, int64_t by)
{
    for (int64_t i = from; i < to; i++) {
        int64_t place = ranked->place_of[i - f->span.begin];

        if (place >= 0) {
            change(f, ranked, place, by);
        }
    }
}

/* Stretches of one frame that another has not, come (by 1) or go. */
static void
pass_difference(struct framed *f, struct ranked *ranked, const struct frame_pieces *of, const struct frame_pieces * not,
                int64_t by)
{
    for (int p = 0; p < of->count; p++) {
        int64_t from = of->from[p];

        for (int q = 0; q < not ->count; q++) {
            int64_t common = from > not ->from[q] ? from : not ->from[q];
            int64_t common_end = of->to[p] < not ->to[q] ? of->to[p] : not ->to[q];

            if (common < common_end) {
                pass(f, ranked, from, common, by);
                from = common_end;
            }
        }
        pass(f, ranked, from, of->to[p], by);
    }
}

/* ---- results ---- */

/* The row with so many values before it. */
static int64_t
row_at(const struct ranked *ranked, int64_t before)
{
    int64_t at = 0;

    for (int64_t step = ranked->leaves; step > 0; step /= 2) {
        if (at + step <= ranked->places && ranked->tree[at + step] <= before) {
            at += step;
            before -= ranked->tree[at];
        }
    }
    return ranked->sorted[at];
}

static void
give_quantile(struct framed *f, const struct ranked *ranked, int64_t row)
{
    double position = (double)(ranked->inside - 1) * f->job.window->aggregate.number;
    int64_t below = (int64_t)floor(position);
    double part = position - (double)below;
    int64_t low = row_at(ranked, below);
    int64_t high = below + 1 < ranked->inside ? row_at(ranked, below + 1) : low;
    struct window_out *out = &f->job.out;

    if (out->reals != NULL) {
        window_put(out, row,
                   part == 0.0 || low == high
                       ? f->job.value.reals[low]
                       : select_between(f->job.value.reals[low], f->job.value.reals[high], part));
        return;
    }
    out->integers[row] =
        select_quantile_int((int64_t[]){(int64_t)f->job.value.integers[low], (int64_t)f->job.value.integers[high]}, 2,
                            part, f->job.value.column->dtype == GRANARY_DATE ? DAY_MICROSECONDS : 1);
    out->valid[row] = 1;
}

/* Of the most frequent values the least. */
static int64_t
most_frequent(const struct ranked *ranked)
{
    int64_t node = 1;

    while (node < ranked->leaves) {
        node = ranked->tree[2 * node] >= ranked->tree[2 * node + 1] ? 2 * node : 2 * node + 1;
    }
    return ranked->sorted[node - ranked->leaves];
}

static granary_err
ranked_give(struct framed *f, const struct frame_pieces *pieces, int64_t row)
{
    struct ranked *ranked = f->state;

    pass_difference(f, ranked, pieces, &ranked->now, 1);
    pass_difference(f, ranked, &ranked->now, pieces, -1);
    ranked->now = *pieces;
    if (framed_function(f) == GR_AGGREGATE_NUNIQUE) {
        f->job.out.integers[row] = ranked->different;
        f->job.out.valid[row] = 1;
    } else if (ranked->inside == 0) {
        return GRANARY_OK;
    } else if (framed_function(f) == GR_AGGREGATE_MODE) {
        f->job.out.picks[row] = most_frequent(ranked);
    } else {
        give_quantile(f, ranked, row);
    }
    return GRANARY_OK;
}

const struct framed_way framed_ranked = {ranked_begin, ranked_give, ranked_end};
