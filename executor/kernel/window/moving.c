/* Functions over reals: cumulative, rolling, expanding, exponentially weighted. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/scratch.h"
#include "kernel/window/compute.h"

static inline void
put(const struct window_out *out, int64_t row, double x)
{
    out->reals[row] = x;
    out->valid[row] = 1;
}

granary_err
window_cumsum_real(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    for (int64_t i = span->from; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        double x = window_is_missing(&job->value, row) ? 0 : job->value.reals[row];

        if (window_is_skipped(job, row, state->count > 0)) {
            continue;
        }
        state->count++;
        if (isfinite(x)) {
            window_pair_add(&state->sum, x);
        } else {
            state->infinite[x < 0]++;
        }
        if (state->infinite[0] + state->infinite[1] > 0) {
            put(&job->out, row, (state->infinite[0] > 0 ? INFINITY : 0.0) - (state->infinite[1] > 0 ? INFINITY : 0.0));
        } else {
            put(&job->out, row, state->sum.high);
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
        put(&job->out, row, product);
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
            put(&job->out, row, relative ? x[row] / x[other] - 1 : x[row] - x[other]);
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

/* The recurrence of pandas' ewma. */
granary_err
window_ewm(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    const struct gr_window *window = job->window;
    double decay = 1 - window->alpha;
    double new_weight = window->adjust ? 1 : window->alpha;

    for (int64_t i = span->from; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        bool there = !window_is_missing(&job->value, row);
        double x = job->value.reals[row];

        if (!state->has_weighted) {
            if (there) {
                state->weighted = x;
                state->old_weight = 1;
                state->has_weighted = true;
            }
        } else if (there || !window->ignore_na) {
            state->old_weight *= decay;
            if (there) {
                if (state->weighted != x) {
                    state->weighted =
                        (state->old_weight * state->weighted + new_weight * x) / (state->old_weight + new_weight);
                }
                state->old_weight = window->adjust ? state->old_weight + new_weight : 1;
            }
        }
        if (state->has_weighted) {
            put(&job->out, row, state->weighted);
        }
    }
    return GRANARY_OK;
}

/* ---- rolling and expanding ---- */

enum measure { SUM, MEAN, LEAST, MOST, STD, VAR, COUNT, MEDIAN };

static enum measure
measure_of(enum gr_window_function function)
{
    switch (function) {
    case GR_WINDOW_ROLLING_SUM:
    case GR_WINDOW_EXPANDING_SUM:
    case GR_WINDOW_MOVING_SUM:
        return SUM;
    case GR_WINDOW_ROLLING_MEAN:
    case GR_WINDOW_EXPANDING_MEAN:
        return MEAN;
    case GR_WINDOW_ROLLING_MIN:
    case GR_WINDOW_EXPANDING_MIN:
        return LEAST;
    case GR_WINDOW_ROLLING_MAX:
    case GR_WINDOW_EXPANDING_MAX:
        return MOST;
    case GR_WINDOW_ROLLING_STD:
    case GR_WINDOW_EXPANDING_STD:
        return STD;
    case GR_WINDOW_ROLLING_VAR:
    case GR_WINDOW_EXPANDING_VAR:
        return VAR;
    case GR_WINDOW_ROLLING_MEDIAN:
        return MEDIAN;
    default:
        return COUNT;
    }
}

/* Take a value into the sums, or (sign -1) out of them. */
static void
account(struct window_state *state, enum measure measure, double x, int sign)
{
    state->count += sign;
    if (!isfinite(x)) {
        state->infinite[x < 0] += sign;
        return;
    }
    if (measure == SUM || measure == MEAN) {
        window_pair_add(&state->sum, sign * x);
    } else if (measure == STD || measure == VAR) {
        double distance;
        double square;

        if (!state->has_shift) {
            state->shift = x;
            state->has_shift = true;
        }
        distance = x - state->shift;
        square = distance * distance;
        window_pair_add(&state->sum, sign * distance);
        window_pair_add(&state->square, sign * square);
        if (isfinite(square)) {
            window_pair_add(&state->square, sign * fma(distance, distance, -square));
        }
    }
    if (state->count == state->infinite[0] + state->infinite[1]) {
        state->sum = state->square = (struct window_pair){0, 0}; /* of nothing, whatever rounding has left */
    }
}

/* A sum that was beyond a double's range does not come back: of the rows left in the window it is made anew. */
static void
account_anew(const struct window_job *job, struct window_state *state, enum measure measure, int64_t from, int64_t end)
{
    state->sum = state->square = (struct window_pair){0, 0};
    state->infinite[0] = state->infinite[1] = state->count = 0;
    state->has_shift = false;
    for (int64_t i = from; i < end; i++) {
        int64_t row = window_row(job->rows, i);

        if (!window_is_missing(&job->value, row)) {
            account(state, measure, job->value.reals[row], 1);
        }
    }
}

/* Squares' sum minus the squared sum over n, in two doubles. */
static double
variance(const struct window_state *state)
{
    double n = (double)state->count;
    double product = state->sum.high * state->sum.high;
    double rest = fma(state->sum.high, state->sum.high, -product) + 2 * state->sum.high * state->sum.low;
    double mean = product / n;
    double mean_rest = (fma(-mean, n, product) + rest) / n;
    struct window_pair m2 = state->square;

    window_pair_add(&m2, -mean);
    window_pair_add(&m2, -mean_rest);
    return !isfinite(state->square.high) ? INFINITY : m2.high > 0 ? m2.high / (n - 1) : 0.0;
}

/* false: null */
static bool
result_of_sums(const struct window_state *state, enum measure measure, double *ret_x)
{
    bool up = state->infinite[0] > 0;
    bool down = state->infinite[1] > 0;

    switch (measure) {
    case COUNT:
        *ret_x = (double)state->count;
        return true;
    case SUM:
    case MEAN:
        if (measure == MEAN && state->count == 0) {
            return false;
        }
        *ret_x = up || down       ? (up ? INFINITY : 0.0) - (down ? INFINITY : 0.0)
                 : measure == SUM ? state->sum.high
                                  : state->sum.high / (double)state->count;
        return true;
    default:
        if (state->count < 2 || up || down) {
            return false;
        }
        *ret_x = variance(state);
        *ret_x = measure == STD ? sqrt(*ret_x) : *ret_x;
        return true;
    }
}

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

/* Numbers in order, for medians. */
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

/* Room for what a window of so many rows needs. */
static granary_err
window_room(enum measure measure, int64_t rows, void **ret_room)
{
    *ret_room = NULL;
    if (measure != LEAST && measure != MOST && measure != MEDIAN) {
        return GRANARY_OK;
    }
    *ret_room = scratch_alloc((size_t)(rows + 1) * 8);
    return *ret_room != NULL ? GRANARY_OK
                             : gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)rows);
}

static void
expand_best(struct window_state *state, double x, bool most)
{
    state->count++;
    if (!state->has_best || (most ? x > state->best : x < state->best)) {
        state->best = x;
        state->has_best = true;
    }
}

static granary_err
expanding(const struct window_job *job, const struct window_span *span, struct window_state *state,
          enum measure measure)
{
    for (int64_t i = span->from; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        double result = 0;

        if (!window_is_missing(&job->value, row)) {
            if (measure == LEAST || measure == MOST) {
                expand_best(state, job->value.reals[row], measure == MOST);
            } else {
                account(state, measure, job->value.reals[row], 1);
            }
        }
        if ((measure == COUNT ? state->rows + i - span->from + 1 : state->count) < job->window->min_periods) {
            continue;
        }
        if (measure == LEAST || measure == MOST) {
            if (state->has_best) {
                put(&job->out, row, state->best);
            }
        } else if (result_of_sums(state, measure, &result)) {
            put(&job->out, row, result);
        }
    }
    return GRANARY_OK;
}

/* What min_periods is held against: values, or (count) rows of the window that ends at position i. */
static int64_t
seen(enum measure measure, const struct window_span *span, int64_t i, int64_t width, int64_t values)
{
    int64_t from = i - width + 1 > span->begin ? i - width + 1 : span->begin;
    int64_t to = i + 1 < span->end ? i + 1 : span->end;

    return measure == COUNT ? to - from : values;
}

granary_err
window_rolling(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    const struct gr_window *window = job->window;
    enum measure measure = measure_of(window->function);
    bool sums = measure != LEAST && measure != MOST && measure != MEDIAN;
    int64_t width = window->window;
    int64_t ahead = window->center ? (width - 1) / 2 : 0;
    int64_t most = width < span->end - span->begin ? width : span->end - span->begin;
    struct ring ring = {.room = most + 1};
    size_t sorted = 0;
    int64_t count = 0; /* of values, where no sums are kept */
    void *room;
    granary_err err;

    if (width == 0) {
        return expanding(job, span, state, measure);
    }
    err = window_room(measure, most, &room);
    ring.positions = room;
    /* Sums go on from what they were; the others are made anew from the rows of before. */
    for (int64_t i = sums ? span->from : span->begin; i < span->end + ahead && err == GRANARY_OK; i++) {
        int64_t row = i < span->end ? window_row(job->rows, i) : -1;
        int64_t old = i - width >= span->begin && i - width < span->end ? window_row(job->rows, i - width) : -1;
        double result = 0;
        bool there;

        if (old >= 0 && !window_is_missing(&job->value, old)) {
            count--;
            if (sums) {
                account(state, measure, job->value.reals[old], -1);
                if (!isfinite(state->sum.high) || !isfinite(state->square.high)) {
                    account_anew(job, state, measure, i - width + 1, i < span->end ? i : span->end);
                }
            } else if (measure == MEDIAN) {
                sorted_change(room, &sorted, job->value.reals[old], false);
            } else if (ring.count > 0 && ring.positions[ring.first] == i - width) {
                ring.first = (ring.first + 1) % ring.room;
                ring.count--;
            }
        }
        if (row >= 0 && !window_is_missing(&job->value, row)) {
            count++;
            if (sums) {
                account(state, measure, job->value.reals[row], 1);
            } else if (measure == MEDIAN) {
                sorted_change(room, &sorted, job->value.reals[row], true);
            } else {
                ring_push(&ring, job, i, measure == MOST);
            }
        }
        if (i - ahead < span->from ||
            seen(measure, span, i, width, sums ? state->count : count) < window->min_periods) {
            continue;
        }
        if (sums) {
            there = result_of_sums(state, measure, &result);
        } else if (measure == MEDIAN) {
            const double *numbers = room;

            there = sorted > 0;
            result = !there            ? 0
                     : sorted % 2 == 1 ? numbers[sorted / 2]
                                       : (numbers[sorted / 2 - 1] + numbers[sorted / 2]) / 2;
        } else {
            there = ring.count > 0;
            result = there ? job->value.reals[window_row(job->rows, ring.positions[ring.first])] : 0;
        }
        if (there) {
            put(&job->out, window_row(job->rows, i - ahead), result);
        }
    }
    scratch_free(room);
    return err;
}
