/* Functions whose result is the value of another row. */
#include <string.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/window/compute.h"

static bool
is_null(const struct window_job *job, int64_t row)
{
    return job->value.column->dtype == GRANARY_NULLTYPE || gr_is_null(job->value.column, row);
}

/* The same without the nulls between: the rows that have a value are listed, with how many come before each row. */
static granary_err
shift_over_nulls(const struct window_job *job, const struct window_span *span)
{
    int64_t rows = span->end - span->begin;
    int64_t offset = job->window->offset;
    int64_t *listed = scratch_alloc((size_t)(rows + 1) * sizeof *listed);
    int64_t count = 0;
    int64_t before = 0;

    if (listed == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)rows);
    }
    for (int64_t i = span->begin; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);

        if (!is_null(job, row)) {
            listed[count++] = row;
        }
    }
    for (int64_t i = span->begin; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        bool there = !is_null(job, row);
        int64_t at = offset > 0 ? before - offset : before + there - offset - 1;

        at = offset == 0 ? (there ? before : -1) : at;
        job->out.picks[row] = at >= 0 && at < count ? listed[at] : -1;
        before += there;
    }
    scratch_free(listed);
    return GRANARY_OK;
}

granary_err
window_shift(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    (void)state;
    if (job->window->ignores_nulls) {
        return shift_over_nulls(job, span);
    }
    for (int64_t i = span->from; i < span->end; i++) {
        job->out.picks[window_row(job->rows, i)] = window_other(job, span, i);
    }
    return GRANARY_OK;
}

/* ffill goes down, bfill up. A row that is not filled keeps what it has: null, or nan. */
granary_err
window_fill(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    bool up = job->window->function == GR_WINDOW_BFILL;
    int64_t limit = job->window->offset;
    int64_t last = !up && span->from > span->begin ? window_row(job->rows, span->begin) : -1; /* what was handed on */
    int64_t since = state->since;

    for (int64_t k = 0; k < span->end - span->from; k++) {
        int64_t row = window_row(job->rows, up ? span->end - 1 - k : span->from + k);

        if (!window_is_missing(&job->value, row)) {
            last = row;
            since = 0;
        } else {
            since++;
        }
        job->out.picks[row] = last >= 0 && (limit < 0 || since <= limit) ? last : row;
    }
    state->since = since;
    state->chosen = last + 1;
    return GRANARY_OK;
}

int
window_compare_rows(const struct window_value *value, int64_t a, int64_t b)
{
    const struct sort_key key = {.column = value->column};

    switch (value->class) {
    case WINDOW_REAL:
        return (value->reals[a] > value->reals[b]) - (value->reals[a] < value->reals[b]);
    case WINDOW_INTEGER:
        return (value->integers[a] > value->integers[b]) - (value->integers[a] < value->integers[b]);
    default:
        return sort_compare(&key, a, &key, b, 1);
    }
}

granary_err
window_cumulate_best(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    int wanted = job->window->function == GR_WINDOW_CUMMAX ? 1 : -1;
    int64_t best = span->from > span->begin ? window_row(job->rows, span->begin) : -1;

    for (int64_t i = span->from; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);

        if (window_is_skipped(job, row, best >= 0)) {
            continue;
        }
        if (!window_is_missing(&job->value, row) &&
            (best < 0 || window_compare_rows(&job->value, row, best) * wanted > 0)) {
            best = row;
        }
        job->out.picks[row] = best;
    }
    state->chosen = best + 1;
    return GRANARY_OK;
}

/* Of this row and so many before. Rows that can still become the best are in a ring, the best of them first. */
granary_err
window_moving_best(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    int wanted = job->window->function == GR_WINDOW_MOVING_MAX ? 1 : -1;
    int64_t width = job->window->window;
    int64_t room = width < span->end - span->begin ? width + 1 : span->end - span->begin + 1;
    int64_t *ring = scratch_alloc((size_t)room * sizeof *ring); /* positions */
    int64_t first = 0;
    int64_t count = 0;

    (void)state;
    if (ring == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)room);
    }
    for (int64_t i = span->begin; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);

        if (count > 0 && ring[first] <= i - width) {
            first = (first + 1) % room;
            count--;
        }
        if (!window_is_missing(&job->value, row)) {
            while (count > 0 &&
                   window_compare_rows(&job->value, row, window_row(job->rows, ring[(first + count - 1) % room])) *
                           wanted >
                       0) {
                count--;
            }
            ring[(first + count++) % room] = i;
        }
        if (i >= span->from && count > 0) {
            job->out.picks[row] = window_row(job->rows, ring[first]);
        }
    }
    scratch_free(ring);
    return GRANARY_OK;
}

granary_err
window_pick_whole(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    enum gr_window_function function = job->window->function;
    int64_t chosen = -1;

    (void)state;
    for (int64_t i = span->begin; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        bool better = chosen < 0 || function == GR_WINDOW_LAST;

        if (window_is_missing(&job->value, row)) {
            continue;
        }
        if (!better && function != GR_WINDOW_FIRST) {
            better = window_compare_rows(&job->value, row, chosen) * (function == GR_WINDOW_MAX ? 1 : -1) > 0;
        }
        chosen = better ? row : chosen;
    }
    for (int64_t i = span->begin; i < span->end; i++) {
        job->out.picks[window_row(job->rows, i)] = chosen;
    }
    return GRANARY_OK;
}

/* The value of one row of the partition, null and nan too. */
granary_err
window_nth(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    int64_t offset = job->window->offset;
    int64_t at = offset > 0 ? span->begin + offset - 1 : span->end + offset;
    int64_t chosen = at >= span->begin && at < span->end ? window_row(job->rows, at) : -1;

    (void)state;
    for (int64_t i = span->begin; i < span->end; i++) {
        job->out.picks[window_row(job->rows, i)] = chosen;
    }
    return GRANARY_OK;
}
