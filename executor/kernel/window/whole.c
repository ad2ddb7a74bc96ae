/* Integers that add up, and one result for all rows of a partition. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "graph/expr.h"
#include "kernel/core/exact_sum.h"
#include "kernel/core/rounding.h"
#include "kernel/window/compute.h"

static gr_int128
total_get(const struct window_state *state)
{
    return (gr_int128)((gr_uint128)state->total[1] << 64 | state->total[0]);
}

static void
total_set(struct window_state *state, gr_int128 x)
{
    state->total[0] = (uint64_t)x;
    state->total[1] = (uint64_t)((gr_uint128)x >> 64);
}

/* A sum of so many values, or their mean. */
static void
put_total(const struct window_job *job, int64_t row, gr_int128 total, int64_t count)
{
    enum gr_window_function function = job->window->function;

    if (job->out.reals != NULL) {
        window_put(&job->out, row, gr_decimal_real(total, gr_dtype_scale(job->value.column->dtype)) / (double)count);
        return;
    }
    job->out.integers[row] =
        function == GR_WINDOW_CUMMEAN || function == GR_WINDOW_MOVING_MEAN ? divide_to_even(total, count) : total;
    job->out.valid[row] = 1;
}

/* cumsum, cummean, cumprod; a product that left 64 bits is found when it is stored. */
granary_err
window_cumulate_integer(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    bool product = job->window->function == GR_WINDOW_CUMPROD;
    gr_int128 total = product && state->count == 0 ? 1 : total_get(state);

    for (int64_t i = span->from; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        bool failed;

        if (window_is_skipped(job, row, state->count > 0)) {
            continue;
        }
        failed = !window_is_missing(&job->value, row) &&
                 (product ? __builtin_mul_overflow(total, job->value.integers[row], &total)
                          : __builtin_add_overflow(total, job->value.integers[row], &total));
        if (failed) {
            return window_overflowed(job, job->value.column->dtype);
        }
        state->count += !window_is_missing(&job->value, row);
        put_total(job, row, total, state->count);
    }
    total_set(state, total);
    return GRANARY_OK;
}

/* Of this row and so many before; made anew from the rows of before. */
granary_err
window_moving_sum(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    int64_t width = job->window->window;
    gr_int128 total = 0;
    int64_t count = 0;

    (void)state;
    for (int64_t i = span->begin; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        int64_t old = i - width >= span->begin ? window_row(job->rows, i - width) : -1;

        if (old >= 0 && !window_is_missing(&job->value, old)) {
            total -= job->value.integers[old];
            count--;
        }
        if (!window_is_missing(&job->value, row)) {
            if (__builtin_add_overflow(total, job->value.integers[row], &total)) {
                return window_overflowed(job, job->value.column->dtype);
            }
            count++;
        }
        if (i >= span->from && count > 0) {
            put_total(job, row, total, count);
        }
    }
    return GRANARY_OK;
}

granary_err
window_diff_integer(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    gr_int128 unit = job->value.column->dtype == GRANARY_DATE ? (gr_int128)86400 * 1000000 : 1;

    (void)state;
    for (int64_t i = span->from; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        int64_t other = window_valued_other(job, span, i);
        gr_int128 difference;

        if (other < 0) {
            continue;
        }
        if (__builtin_sub_overflow(job->value.integers[row], job->value.integers[other], &difference)) {
            return window_overflowed(job, job->value.column->dtype);
        }
        job->out.integers[row] = difference * unit;
        job->out.valid[row] = 1;
    }
    return GRANARY_OK;
}

/* ---- one result for all ---- */

struct measured {
    int64_t count;
    gr_int128 total;
    double real; /* the result, of reals */
    bool there;
};

/* Squared distances from the mean, added exactly; what the mean's rounding adds to them is taken away. */
static double
spread(const struct window_job *job, const struct window_span *span, double mean)
{
    struct exact_sum squares = {0};
    struct exact_sum distances = {0};
    int64_t count = 0;
    double result;

    for (int64_t i = span->begin; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);
        double distance = job->value.reals[row] - mean;

        if (!window_is_missing(&job->value, row)) {
            exact_sum_add(&squares, distance * distance);
            exact_sum_add(&distances, distance);
            count++;
        }
    }
    result = exact_sum_value(&distances);
    result = exact_sum_value(&squares) - result * result / (double)count;
    result = !exact_sum_ok(&squares) || !exact_sum_ok(&distances) ? NAN
             : isnan(result)                                      ? INFINITY /* beyond a double's range */
             : result < 0                                         ? 0
                                                                  : result;
    exact_sum_fini(&squares);
    exact_sum_fini(&distances);
    return result;
}

static granary_err
span_measure(const struct window_job *job, const struct window_span *span, struct measured *result)
{
    enum gr_window_function function = job->window->function;
    bool adds = function == GR_WINDOW_SUM || function == GR_WINDOW_MEAN;
    struct exact_sum sum = {0};
    double value;
    bool ok;

    for (int64_t i = span->begin; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);

        if (window_is_missing(&job->value, row)) {
            continue;
        }
        result->count++;
        if (function == GR_WINDOW_COUNT) {
            continue;
        }
        if (job->value.integers == NULL || !adds) {
            exact_sum_add(&sum, job->value.reals[row]);
        } else if (__builtin_add_overflow(result->total, job->value.integers[row], &result->total)) {
            return window_overflowed(job, job->value.column->dtype);
        }
    }
    if (function == GR_WINDOW_COUNT) {
        return GRANARY_OK;
    }
    value = job->value.integers == NULL || !adds
                ? exact_sum_value(&sum)
                : gr_decimal_real(result->total, gr_dtype_scale(job->value.column->dtype));
    ok = exact_sum_ok(&sum);
    exact_sum_fini(&sum);
    if (!ok) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for a sum");
    }
    result->there = true;
    result->real = value;
    if (job->out.integers != NULL && function == GR_WINDOW_MEAN) { /* of durations */
        result->there = result->count > 0;
        result->total = result->there ? divide_to_even(result->total, result->count) : 0;
    } else if (function != GR_WINDOW_SUM) {
        double mean = value / (double)result->count;

        result->there = result->count > (function == GR_WINDOW_MEAN ? 0 : 1);
        result->real = mean;
        if (function != GR_WINDOW_MEAN && result->there) {
            result->real = spread(job, span, mean) / (double)(result->count - 1);
            result->real = function == GR_WINDOW_STD ? sqrt(result->real) : result->real;
            result->there = isfinite(mean);
        }
    }
    return GRANARY_OK;
}

granary_err
window_whole(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    enum gr_window_function function = job->window->function;
    struct measured result = {0};
    granary_err err = GRANARY_OK;

    (void)state;
    if (function == GR_WINDOW_SIZE) {
        result.count = span->end - span->begin;
    } else {
        err = span_measure(job, span, &result);
    }
    for (int64_t i = span->begin; i < span->end && err == GRANARY_OK; i++) {
        int64_t row = window_row(job->rows, i);

        if (function == GR_WINDOW_SIZE || function == GR_WINDOW_COUNT) {
            job->out.integers[row] = result.count;
            job->out.valid[row] = 1;
        } else if (job->out.reals != NULL) {
            window_put(&job->out, row, result.real);
            job->out.valid[row] = result.there;
        } else {
            job->out.integers[row] = result.total;
            job->out.valid[row] = result.there;
        }
    }
    return err;
}
