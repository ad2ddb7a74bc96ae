/* Functions over reals: cumulative, rolling, expanding. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/window/compute.h"

/* ---- cumsum, cummean ---- */

#define BLOCK 512 /* rows */

/*
 * The sums of rows [from, from + count), which are all there and finite, and so are their sums. False: they are not,
 * and nothing is changed but results that will be written again.
 */
static bool
running_block(const struct window_job *job, int64_t from, int64_t count, struct window_pair *sum)
{
    const double *x = job->value.reals + from;
    double *out = job->out.reals + (from - job->out.first);
    struct window_pair at = *sum;

    if (job->value.missing != NULL && memchr(job->value.missing + from, 1, (size_t)count) != NULL) {
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        at = window_running_add(at, x[i]);
        out[i] = at.high + at.low;
    }
    if (!isfinite(at.high)) { /* it would not have come back */
        return false;
    }
    memset(job->out.valid + from, 1, (size_t)count);
    *sum = at;
    return true;
}

static void
running_row(const struct window_job *job, int64_t row, struct window_state *state)
{
    bool mean = job->window->function == GR_WINDOW_CUMMEAN;
    struct window_pair *sum = &state->part.sum;
    double result;

    if (window_is_skipped(job, row, state->count > 0)) {
        return;
    }
    if (!window_is_missing(&job->value, row)) {
        double x = job->value.reals[row];

        state->count++;
        if (isfinite(x)) {
            *sum = window_running_add(*sum, x);
            sum->low = isfinite(sum->high) ? sum->low : 0;
        } else {
            state->infinite[x < 0]++;
        }
    }
    result = window_sum(state, sum->high + sum->low);
    window_put(&job->out, row, mean ? result / (double)state->count : result);
}

granary_err
window_cumsum_real(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    bool plain = job->window->function != GR_WINDOW_CUMMEAN && job->rows->order == NULL;

    for (int64_t i = span->from; i < span->end;) {
        int64_t end = span->end - i < BLOCK ? span->end : i + BLOCK;

        if (plain && state->infinite[0] + state->infinite[1] == 0 && running_block(job, i, end - i, &state->part.sum)) {
            state->count += end - i;
            i = end;
        }
        for (; i < end; i++) {
            running_row(job, window_row(job->rows, i), state);
        }
    }
    return GRANARY_OK;
}

granary_err
window_cumprod_real(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    double product = state->count > 0 ? state->product : 1.0;

    for (int64_t i = span->from; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);

        if (window_is_skipped(job, row, state->count > 0)) {
            continue;
        }
        if (!window_is_missing(&job->value, row)) {
            product *= job->value.reals[row];
        }
        state->count++;
        window_put(&job->out, row, product);
    }
    state->product = product;
    return GRANARY_OK;
}

/* What has changed since the row `offset` places before: by how much, or (relative) by which part of what it was. */
static granary_err
change(const struct window_job *job, const struct window_span *span, bool relative)
{
    const double *x = job->value.reals;

    for (int64_t i = span->from; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        int64_t other = window_valued_other(job, span, i);

        if (other >= 0) {
            window_put(&job->out, row, relative ? x[row] / x[other] - 1 : x[row] - x[other]);
        }
    }
    return GRANARY_OK;
}

granary_err
window_pct_change(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    (void)state;
    return change(job, span, true);
}

granary_err
window_diff_real(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    (void)state;
    return change(job, span, false);
}

/* ---- rolling and expanding: the least, the most, the middle ---- */

/* Values of the window that can still become the least (the most): positions, best first; a ring. */
struct ring {
    int64_t *positions;
    int64_t room;
    int64_t first;
    int64_t count;
};

static void
ring_push(struct ring *ring, const struct window_job *job, int64_t i, bool most)
{
    double x = job->value.reals[window_row(job->rows, i)];

    while (ring->count > 0) {
        double last =
            job->value.reals[window_row(job->rows, ring->positions[(ring->first + ring->count - 1) % ring->room])];

        if (most ? last > x : last < x) {
            break;
        }
        ring->count--;
    }
    ring->positions[(ring->first + ring->count++) % ring->room] = i;
}

/* Numbers in order, for quantiles. */
static size_t
place_of(const double *sorted, size_t n, double x)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (sorted[middle] < x) {
            low = middle + 1;
        } else {
            n = middle;
        }
    }
    return low;
}

static void
sorted_change(double *sorted, size_t *n, double x, bool in)
{
    size_t at = place_of(sorted, *n, x);

    if (in) {
        memmove(sorted + at + 1, sorted + at, (*n - at) * sizeof *sorted);
        sorted[at] = x;
        ++*n;
    } else {
        --*n;
        memmove(sorted + at, sorted + at + 1, (*n - at) * sizeof *sorted);
    }
}

/* Between two numbers on the line between them. */
static double
sorted_quantile(const double *sorted, size_t n, double quantile)
{
    double position = (double)(n - 1) * quantile;
    size_t below = (size_t)position;
    double part = position - (double)below;

    return part == 0.0 || sorted[below] == sorted[below + 1] ? sorted[below]
                                                             : select_between(sorted[below], sorted[below + 1], part);
}

static void
expanding(const struct window_job *job, const struct window_span *span, struct window_state *state, bool most)
{
    for (int64_t i = span->from; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        double x = job->value.reals[row];

        if (!window_is_missing(&job->value, row)) {
            state->count++;
            if (!state->has_best || (most ? x > state->best : x < state->best)) {
                state->best = x;
                state->has_best = true;
            }
        }
        if (state->has_best && state->count >= job->window->min_periods) {
            window_put(&job->out, row, state->best);
        }
    }
}

/* Made anew from the rows of before. */
granary_err
window_rolling(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    enum gr_window_function function = job->window->function;
    bool ordered = function == GR_WINDOW_ROLLING_MEDIAN || function == GR_WINDOW_ROLLING_QUANTILE;
    bool most = function == GR_WINDOW_ROLLING_MAX || function == GR_WINDOW_EXPANDING_MAX;
    struct window_reach reach = window_reach(job->window, span);
    int64_t width = reach.behind + reach.ahead + 1;
    struct ring ring = {.room = width + 1};
    size_t sorted = 0;
    int64_t count = 0; /* of values */
    void *room;

    if (job->window->window == 0) {
        expanding(job, span, state, most);
        return GRANARY_OK;
    }
    room = scratch_alloc((size_t)(width + 1) * 8); /* numbers in order, or a ring's positions */
    if (room == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)width);
    }
    ring.positions = room;
    for (int64_t i = span->begin; i < span->end + reach.ahead; i++) {
        int64_t row = i < span->end ? window_row(job->rows, i) : -1;
        int64_t old = i - width >= span->begin && i - width < span->end ? window_row(job->rows, i - width) : -1;
        double result;

        if (old >= 0 && !window_is_missing(&job->value, old)) {
            count--;
            if (ordered) {
                sorted_change(room, &sorted, job->value.reals[old], false);
            } else if (ring.count > 0 && ring.positions[ring.first] == i - width) {
                ring.first = (ring.first + 1) % ring.room;
                ring.count--;
            }
        }
        if (row >= 0 && !window_is_missing(&job->value, row)) {
            count++;
            if (ordered) {
                sorted_change(room, &sorted, job->value.reals[row], true);
            } else {
                ring_push(&ring, job, i, most);
            }
        }
        if (i - reach.ahead < span->from || count == 0 || count < job->window->min_periods) {
            continue;
        }
        if (ordered) {
            result = sorted_quantile(room, sorted, job->window->quantile);
        } else {
            result = job->value.reals[window_row(job->rows, ring.positions[ring.first])];
        }
        window_put(&job->out, window_row(job->rows, i - reach.ahead), result);
    }
    scratch_free(room);
    return GRANARY_OK;
}
