/*
 * Where the frame of each row begins and ends. Frames of `range` with a distance are looked for in the sorted rows: in
 * growing steps from where the frame of the row before ended, then by halves (Bentley and Yao, An Almost Optimal
 * Algorithm for Unbounded Searching, 1976).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/dtype_class.h"
#include "graph/expr.h"
#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/window/frames.h"

#define DAY_MICROSECONDS 86400000000

/* ---- memory ---- */

granary_err
bounds_init(const struct gr_window_frame *frame, int64_t rows, struct frame_bounds *bounds)
{
    size_t size = (size_t)(rows + 1) * sizeof(int64_t);
    bool peers = frame->mode != GR_FRAME_ROWS || frame->exclude >= GR_EXCLUDE_GROUP;

    *bounds = (struct frame_bounds){.begin = scratch_alloc(size), .end = scratch_alloc(size)};
    if (peers) {
        bounds->peers = scratch_alloc(size);
        bounds->peers_end = scratch_alloc(size);
    }
    if (frame->mode == GR_FRAME_GROUPS) {
        bounds->groups = scratch_alloc(size);
        bounds->group_of = scratch_alloc(size);
    }
    return bounds->begin == NULL || bounds->end == NULL ||
                   (peers && (bounds->peers == NULL || bounds->peers_end == NULL)) ||
                   (frame->mode == GR_FRAME_GROUPS && (bounds->groups == NULL || bounds->group_of == NULL))
               ? gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)rows)
               : GRANARY_OK;
}

void
bounds_fini(struct frame_bounds *bounds)
{
    scratch_free(bounds->begin);
    scratch_free(bounds->end);
    scratch_free(bounds->peers);
    scratch_free(bounds->peers_end);
    scratch_free(bounds->groups);
    scratch_free(bounds->group_of);
}

/* ---- equal rows ---- */

static void
find_peers(struct framed *f)
{
    const struct window_rows *all = f->job.rows;
    const struct sort_key *keys = all->keys + all->partition_keys;
    size_t count = all->key_count - all->partition_keys;
    struct frame_bounds *bounds = &f->bounds;
    int64_t rows = f->span.end - f->span.begin;
    int64_t group = 0;

    for (int64_t from = 0, to; from < rows; from = to, group++) {
        int64_t row = window_row(all, f->span.begin + from);

        to = count == 0 ? rows : from + 1;
        while (to < rows && sort_compare(keys, row, keys, window_row(all, f->span.begin + to), count) == 0) {
            to++;
        }
        for (int64_t k = from; k < to; k++) {
            bounds->peers[k] = f->span.begin + from;
            bounds->peers_end[k] = f->span.begin + to;
            if (bounds->group_of != NULL) {
                bounds->group_of[k] = group;
            }
        }
        if (bounds->groups != NULL) {
            bounds->groups[group] = f->span.begin + from;
            bounds->groups[group + 1] = f->span.begin + to;
        }
    }
}

/* ---- distances in rows and groups ---- */

static granary_err
bad_distance(const struct framed *f, const char *what)
{
    return gr_fail(GRANARY_EINVAL, "column '%.100s': a distance of the frame is %s: it must be 0 or more",
                   f->job.window->name, what);
}

/* A distance in rows, at most so many. */
static granary_err
read_distance(const struct framed *f, const granary_column *column, int64_t row, int64_t most, int64_t *ret_distance)
{
    gr_int128 distance;

    if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
        return bad_distance(f, "null");
    }
    distance = select_int(column, row);
    if (distance < 0) {
        return bad_distance(f, "negative");
    }
    *ret_distance = distance > most ? most : (int64_t)distance;
    return GRANARY_OK;
}

static int64_t
clamp(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

/* A bound that is counted: of rows, or of groups. is_end: behind the last row of the frame. */
static granary_err
find_counted(struct framed *f, const struct gr_frame_bound *bound, const granary_column *column, bool is_end,
             int64_t *places)
{
    bool groups = f->job.window->frame.mode == GR_FRAME_GROUPS;
    int64_t begin = f->span.begin;
    int64_t rows = f->span.end - begin;
    int64_t most = groups && rows > 0 ? f->bounds.group_of[rows - 1] + 1 : rows; /* of what is counted */
    granary_err err = GRANARY_OK;

    for (int64_t k = 0; k < rows && err == GRANARY_OK; k++) {
        int64_t at = groups ? f->bounds.group_of[k] : k;
        int64_t distance = 0;

        err = read_distance(f, column, window_row(f->job.rows, begin + k), most, &distance);
        at = clamp(at + (bound->end == GR_END_BEFORE ? -distance : distance) + is_end, 0, most);
        places[k] = groups ? f->bounds.groups[at] : begin + at;
    }
    return err;
}

/* ---- distances in values ---- */

/* How values and limits of a bound are compared. */
struct axis {
    const granary_column *column;   /* that orders the rows */
    const granary_column *distance; /* or limits */
    bool limits;
    bool real;
    bool descending;
    bool less;          /* the limit is less than the value by the distance */
    bool is_end;        /* values that are equal to the limit are before the bound */
    gr_int128 units[2]; /* what integers of both are multiplied by to be of the same unit */
    double divisors[2]; /* what integers of both are divided by to be reals */
};

/* Of the row whose frame it is. */
struct limit {
    gr_int128 integer;
    double real;
};

static void
axis_init(const struct framed *f, const struct gr_frame_bound *bound, const granary_column *distance, bool is_end,
          struct axis *axis)
{
    const struct sort_key *key = &f->job.rows->keys[f->job.rows->partition_keys];
    int scales[2] = {gr_dtype_scale(key->column->dtype), gr_dtype_scale(distance->dtype)};
    int scale = scales[0] > scales[1] ? scales[0] : scales[1];
    const granary_column *both[2] = {key->column, distance};

    *axis = (struct axis){.column = key->column,
                          .distance = distance,
                          .limits = gr_frame_has_limits(key->column->dtype),
                          .descending = key->descending,
                          .less = (bound->end == GR_END_BEFORE) != key->descending,
                          .is_end = is_end,
                          .real = gr_dtype_is_float(key->column->dtype) || gr_dtype_is_float(distance->dtype)};
    for (int i = 0; i < 2; i++) {
        axis->units[i] = both[i]->dtype == GRANARY_DATE ? DAY_MICROSECONDS : gr_power_of_ten(scale - scales[i]);
        axis->divisors[i] = (double)gr_power_of_ten(scales[i]);
    }
}

/* In the unit of both. false: it has no room in 128 bits. */
static bool
axis_integer(const struct axis *axis, int which, int64_t row, gr_int128 *ret_value)
{
    const granary_column *column = which == 0 ? axis->column : axis->distance;

    return !__builtin_mul_overflow(select_int(column, row), axis->units[which], ret_value);
}

static granary_err
read_limit(const struct framed *f, const struct axis *axis, int64_t row, struct limit *limit)
{
    gr_int128 value = 0;
    gr_int128 distance = 0;

    if (axis->distance->dtype == GRANARY_NULLTYPE || gr_is_null(axis->distance, row)) {
        return bad_distance(f, "null");
    }
    if (axis->real) {
        double x = select_real(axis->column, row, axis->divisors[0]);
        double away = select_real(axis->distance, row, axis->divisors[1]);

        if (isnan(away) || away < 0) {
            return bad_distance(f, isnan(away) ? "nan" : "negative");
        }
        limit->real = axis->less ? x - away : x + away;
        if (isnan(limit->real)) { /* an infinite value and distance: all is near enough, at either end */
            limit->real = axis->is_end == axis->descending ? -INFINITY : INFINITY;
        }
        return GRANARY_OK;
    }
    if (!axis_integer(axis, 0, row, &value) || !axis_integer(axis, 1, row, &distance)) {
        return gr_fail(GRANARY_EFAILED,
                       "column '%.100s': a distance of the frame is beyond 128 bits: cast it to float64",
                       f->job.window->name);
    }
    if (axis->limits) {
        limit->integer = distance;
        return (axis->less ? distance > value : distance < value) ? bad_distance(f, "negative") : GRANARY_OK;
    }
    if (distance < 0) {
        return bad_distance(f, "negative");
    }
    if (axis->less ? __builtin_sub_overflow(value, distance, &limit->integer)
                   : __builtin_add_overflow(value, distance, &limit->integer)) {
        gr_int128 most = (gr_int128)(~(gr_uint128)0 >> 1);

        limit->integer = axis->less ? -most - 1 : most; /* beyond every value */
    }
    return GRANARY_OK;
}

/* Whether the row stands before the bound. */
static bool
is_before(const struct axis *axis, int64_t row, const struct limit *limit)
{
    int order;

    if (axis->real) {
        double x = select_real(axis->column, row, axis->divisors[0]);

        order = (x > limit->real) - (x < limit->real);
    } else {
        gr_int128 x = 0;

        if (!axis_integer(axis, 0, row, &x)) { /* beyond every limit, which read_limit() has seen to */
            x = select_int(axis->column, row) < 0 ? -(gr_int128)(~(gr_uint128)0 >> 1)
                                                  : (gr_int128)(~(gr_uint128)0 >> 1);
        }
        order = (x > limit->integer) - (x < limit->integer);
    }
    order = axis->descending ? -order : order;
    return order < 0 || (order == 0 && axis->is_end);
}

/* The first position in [from, to] that is not before the bound; a place near it is known. */
static int64_t
search(const struct framed *f, const struct axis *axis, int64_t from, int64_t to, int64_t near,
       const struct limit *limit)
{
    int64_t step = 1;

    near = clamp(near, from, to);
    if (near < to && is_before(axis, window_row(f->job.rows, near), limit)) {
        from = near + 1;
        while (near + step < to && is_before(axis, window_row(f->job.rows, near + step), limit)) {
            from = near + step + 1;
            step *= 2;
        }
        to = near + step < to ? near + step : to;
    } else {
        to = near;
        while (near - step >= from && !is_before(axis, window_row(f->job.rows, near - step), limit)) {
            to = near - step;
            step *= 2;
        }
        from = near - step >= from ? near - step + 1 : from;
    }
    while (from < to) {
        int64_t middle = from + (to - from) / 2;

        if (is_before(axis, window_row(f->job.rows, middle), limit)) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

/* Whether no distance leads away from it. */
static bool
is_odd(const granary_column *column, int64_t row)
{
    return column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row) ||
           (gr_dtype_is_float(column->dtype) && isnan(select_real(column, row, 1)));
}

/* Nulls and nans stand at the ends; the bounds of their frames are those of their equals. */
static granary_err
find_ranged(struct framed *f, const struct gr_frame_bound *bound, const granary_column *distance, bool is_end,
            int64_t *places)
{
    int64_t begin = f->span.begin;
    int64_t from = begin;
    int64_t to = f->span.end;
    int64_t near = from;
    struct axis axis;
    granary_err err = GRANARY_OK;

    axis_init(f, bound, distance, is_end, &axis);
    while (from < to && is_odd(axis.column, window_row(f->job.rows, from))) {
        from++;
    }
    while (from < to && is_odd(axis.column, window_row(f->job.rows, to - 1))) {
        to--;
    }
    for (int64_t i = begin; i < f->span.end && err == GRANARY_OK; i++) {
        struct limit limit = {0};

        if (i < from || i >= to) {
            places[i - begin] = is_end ? f->bounds.peers_end[i - begin] : f->bounds.peers[i - begin];
            continue;
        }
        err = read_limit(f, &axis, window_row(f->job.rows, i), &limit);
        if (err == GRANARY_OK) {
            places[i - begin] = near = search(f, &axis, from, to, near, &limit);
        }
    }
    return err;
}

/* ---- both bounds ---- */

static granary_err
find_bound(struct framed *f, const struct gr_frame_bound *bound, const granary_column *distance, bool is_end,
           int64_t *places)
{
    int64_t begin = f->span.begin;
    int64_t rows = f->span.end - begin;
    bool by_rows = f->job.window->frame.mode == GR_FRAME_ROWS;

    if (bound->distance != NULL) {
        return f->job.window->frame.mode == GR_FRAME_RANGE ? find_ranged(f, bound, distance, is_end, places)
                                                           : find_counted(f, bound, distance, is_end, places);
    }
    for (int64_t k = 0; k < rows; k++) {
        places[k] = bound->end == GR_END_FIRST  ? begin
                    : bound->end == GR_END_LAST ? f->span.end
                    : by_rows                   ? begin + k + is_end
                    : is_end                    ? f->bounds.peers_end[k]
                                                : f->bounds.peers[k];
    }
    return GRANARY_OK;
}

granary_err
bounds_find(struct framed *f)
{
    const struct gr_window_frame *frame = &f->job.window->frame;
    granary_err err;

    if (f->bounds.peers != NULL) {
        find_peers(f);
    }
    err = find_bound(f, &frame->from, f->columns->from, false, f->bounds.begin);
    if (err == GRANARY_OK) {
        err = find_bound(f, &frame->to, f->columns->to, true, f->bounds.end);
    }
    for (int64_t k = 0; k < f->span.end - f->span.begin && err == GRANARY_OK; k++) {
        f->bounds.end[k] = f->bounds.end[k] < f->bounds.begin[k] ? f->bounds.begin[k] : f->bounds.end[k];
    }
    return err;
}

static void
add_piece(struct frame_pieces *pieces, int64_t from, int64_t to)
{
    if (from >= to) {
        return;
    }
    if (pieces->count > 0 && pieces->to[pieces->count - 1] == from) {
        pieces->to[pieces->count - 1] = to;
        return;
    }
    pieces->from[pieces->count] = from;
    pieces->to[pieces->count++] = to;
}

struct frame_pieces
frame_at(const struct framed *f, int64_t i)
{
    enum gr_frame_exclude exclude = f->job.window->frame.exclude;
    int64_t k = i - f->span.begin;
    int64_t begin = f->bounds.begin[k];
    int64_t end = f->bounds.end[k];
    struct frame_pieces pieces = {0};
    int64_t out; /* [out, out_end) is left out, but for the row itself with TIES */
    int64_t out_end;

    if (exclude == GR_EXCLUDE_NONE) {
        add_piece(&pieces, begin, end);
        return pieces;
    }
    out = exclude == GR_EXCLUDE_ROW ? i : f->bounds.peers[k];
    out_end = exclude == GR_EXCLUDE_ROW ? i + 1 : f->bounds.peers_end[k];
    add_piece(&pieces, begin, end < out ? end : out);
    if (exclude == GR_EXCLUDE_TIES && i >= begin && i < end) {
        add_piece(&pieces, i, i + 1);
    }
    add_piece(&pieces, begin > out_end ? begin : out_end, end);
    return pieces;
}
