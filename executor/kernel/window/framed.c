/* Functions over frames: which way computes one, and nth, which needs none. Rows with the same frame share its result. */
#include <string.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/window/frames.h"

/* ---- nth, first, last ---- */

/* A value that is passed over: of nth a null, of first and last what is missing. */
static bool
is_passed(const struct framed *f, int64_t row)
{
    const granary_column *column = f->job.value.column;

    return f->job.window->aggregate_text != NULL ? window_is_missing(&f->job.value, row)
                                                 : column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row);
}

/* How many rows before each position are not passed over; NULL: all count. */
static granary_err
nth_begin(struct framed *f)
{
    int64_t rows = f->span.end - f->span.begin;
    int64_t *counts;

    f->state = NULL;
    if (f->job.window->aggregate_text == NULL && !f->job.window->ignores_nulls) {
        return GRANARY_OK;
    }
    counts = f->state = scratch_alloc((size_t)(rows + 1) * sizeof *counts);
    if (counts == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)rows);
    }
    counts[0] = 0;
    for (int64_t k = 0; k < rows; k++) {
        counts[k + 1] = counts[k] + !is_passed(f, window_row(f->job.rows, f->span.begin + k));
    }
    return GRANARY_OK;
}

static int64_t
rows_before(const struct framed *f, int64_t i)
{
    const int64_t *counts = f->state;

    return counts == NULL ? i - f->span.begin : counts[i - f->span.begin];
}

/* The last position of [from, to) that has no more than `before` rows before it: there the next one stands. */
static int64_t
place_of(const struct framed *f, int64_t from, int64_t to, int64_t before)
{
    while (to - from > 1) {
        int64_t middle = from + (to - from) / 2;

        if (rows_before(f, middle) <= before) {
            from = middle;
        } else {
            to = middle;
        }
    }
    return from;
}

static granary_err
nth_give(struct framed *f, const struct frame_pieces *pieces, int64_t row)
{
    const struct gr_window *window = f->job.window;
    int64_t n = window->aggregate_text == NULL                    ? window->offset
                : window->aggregate.function == GR_AGGREGATE_LAST ? -1
                                                                  : 1;
    int64_t count = 0;

    for (int p = 0; p < pieces->count; p++) {
        count += rows_before(f, pieces->to[p]) - rows_before(f, pieces->from[p]);
    }
    n = n > 0 ? n - 1 : count + n; /* so many come before it */
    if (n < 0 || n >= count) {
        return GRANARY_OK;
    }
    for (int p = 0; p < pieces->count; p++) {
        int64_t before = rows_before(f, pieces->from[p]);
        int64_t here = rows_before(f, pieces->to[p]) - before;

        if (n < here) {
            f->job.out.picks[row] = window_row(f->job.rows, place_of(f, pieces->from[p], pieces->to[p], before + n));
            break;
        }
        n -= here;
    }
    return GRANARY_OK;
}

static void
nth_end(struct framed *f)
{
    scratch_free(f->state);
}

static const struct framed_way framed_nth = {nth_begin, nth_give, nth_end};

/* ---- which way ---- */

/* NULL: the frames are grouped. *ret_uses: what is needed of the values (struct window_kernel). */
static const struct framed_way *
choose_way(const struct gr_window *window, const granary_column *value, int *ret_uses)
{
    bool integers = value != NULL && window_class_of(value->dtype) == WINDOW_INTEGER;

    *ret_uses = WINDOW_READS;
    if (window->aggregate_text == NULL) {
        *ret_uses = WINDOW_MOVES;
        return &framed_nth;
    }
    switch (window->aggregate.function) {
    case GR_AGGREGATE_FIRST:
    case GR_AGGREGATE_LAST:
        *ret_uses = WINDOW_MOVES;
        return &framed_nth;
    case GR_AGGREGATE_SIZE:
    case GR_AGGREGATE_COUNT:
    case GR_AGGREGATE_ANY:
    case GR_AGGREGATE_ALL:
        return &framed_whole;
    case GR_AGGREGATE_SUM:
    case GR_AGGREGATE_MEAN:
        return integers ? &framed_whole : &framed_fixed;
    case GR_AGGREGATE_VAR:
    case GR_AGGREGATE_STD:
    case GR_AGGREGATE_SEM:
    case GR_AGGREGATE_COV:
    case GR_AGGREGATE_COV_POP:
    case GR_AGGREGATE_CORR:
        return &framed_spread;
    case GR_AGGREGATE_MIN:
    case GR_AGGREGATE_MAX:
        *ret_uses = WINDOW_PICKS;
        return &framed_best;
    case GR_AGGREGATE_MODE:
        *ret_uses = WINDOW_PICKS;
        return &framed_ranked;
    case GR_AGGREGATE_NUNIQUE:
    case GR_AGGREGATE_MEDIAN:
    case GR_AGGREGATE_QUANTILE:
        return &framed_ranked;
    default:
        *ret_uses = WINDOW_MOVES;
        return NULL;
    }
}

/* ---- the rows ---- */

static void
copy_result(const struct window_out *out, int64_t from, int64_t to)
{
    if (out->picks != NULL) {
        out->picks[to] = out->picks[from];
        return;
    }
    if (out->reals != NULL) {
        out->reals[to] = out->reals[from];
    } else {
        out->integers[to] = out->integers[from];
    }
    out->valid[to] = out->valid[from];
}

static granary_err
give_partition(struct framed *f, const struct framed_way *way)
{
    struct frame_pieces before = {.count = -1};
    int64_t row_before = -1;
    granary_err err = bounds_find(f);

    if (err == GRANARY_OK) {
        f->state = NULL;
        err = way->begin(f);
        for (int64_t i = f->span.begin; i < f->span.end && err == GRANARY_OK && !f->gives_up; i++) {
            int64_t row = window_row(f->job.rows, i);
            struct frame_pieces pieces = frame_at(f, i);

            if (pieces_equal(&pieces, &before)) {
                copy_result(&f->job.out, row_before, row);
            } else {
                err = way->give(f, &pieces, row);
                before = pieces;
                row_before = row;
            }
        }
        way->end(f);
        f->state = NULL;
    }
    return err;
}

static int64_t
largest_partition(const struct window_rows *rows)
{
    int64_t most = 0;

    for (size_t p = 0; p < rows->partitions; p++) {
        int64_t size = rows->ends[p] - (p == 0 ? 0 : rows->ends[p - 1]);

        most = size > most ? size : most;
    }
    return most;
}

static granary_err
give_all(struct framed *f, const struct framed_way *way)
{
    const struct window_rows *rows = f->job.rows;
    granary_err err = GRANARY_OK;

    for (size_t p = 0; p < rows->partitions && err == GRANARY_OK && !f->gives_up; p++) {
        int64_t begin = p == 0 ? 0 : rows->ends[p - 1];

        f->span = (struct window_span){begin, rows->ends[p], begin};
        if (rows->left_out == NULL || !rows->left_out[p]) {
            err = give_partition(f, way);
        }
    }
    return err;
}

granary_err
window_framed(const struct gr_window *window, const struct window_columns *columns, const struct window_rows *rows,
              granary_dtype dtype, struct gr_column *ret_column)
{
    struct framed f = {.columns = columns, .job = {.window = window, .rows = rows}};
    int uses = WINDOW_READS;
    const struct framed_way *way = choose_way(window, columns->value, &uses);
    granary_err err = bounds_init(&window->frame, largest_partition(rows), &f.bounds);

    if (err == GRANARY_OK) {
        err = window_job_init(&f.job, columns, dtype, uses);
    }
    if (err == GRANARY_OK && way != NULL) {
        err = give_all(&f, way);
        if (err == GRANARY_OK && !f.gives_up) {
            err = window_job_column(&f.job, dtype, ret_column);
        }
    }
    if (err == GRANARY_OK && (way == NULL || f.gives_up)) {
        err = framed_groups(&f, dtype, ret_column);
    }
    window_job_fini(&f.job);
    bounds_fini(&f.bounds);
    return err;
}
