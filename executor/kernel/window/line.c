/*
 * fill: points on straight lines between values, over the column that orders the rows.
 *
 * The rows that draw a line are listed: those with a value and a place on the column, both finite. A row without a value
 * lies between two of them, or beside the first or the last two. Places and distances are taken as long doubles, in which
 * integers of 64 bits and their distances are exact, and distances of doubles do not overflow.
 */
#include <math.h>

#include "base/error.h"
#include "graph/dtype_class.h"
#include "kernel/core/scratch.h"
#include "kernel/window/compute.h"

/* A value as a number. Decimals count in their smallest digit. */
static long double
number(const struct window_value *value, int64_t row)
{
    return value->class == WINDOW_REAL ? (long double)value->reals[row] : (long double)value->integers[row];
}

static bool
is_usable(const struct window_value *value, int64_t row)
{
    return value->class != WINDOW_OTHER && !window_is_missing(value, row) && isfinite(number(value, row));
}

/* Null, and not a nan of floats, which is kept. */
static bool
is_empty(const struct window_job *job, int64_t row)
{
    return job->value.column->dtype == GRANARY_NULLTYPE || gr_is_null(job->value.column, row);
}

static void
put_number(const struct window_job *job, int64_t row, int64_t from)
{
    if (job->value.class == WINDOW_REAL) {
        window_put(&job->out, row, job->value.reals[from]);
    } else {
        job->out.integers[row] = job->value.integers[from];
        job->out.valid[row] = 1;
    }
}

/* On the line through two rows, of which the first has the smaller place in the order. */
static void
put_point(const struct window_job *job, int64_t row, int64_t first, int64_t second)
{
    long double start = number(&job->second, first);
    long double across = number(&job->second, second) - start;
    long double along = across == 0 ? 0 : number(&job->second, row) - start;
    long double whole = across == 0 ? 1 : across;
    long double y = number(&job->value, first);
    long double rise = number(&job->value, second) - y;
    gr_int128 moved;

    if (job->value.class == WINDOW_REAL) {
        window_put(&job->out, row, (double)(y + rise * along / whole));
        return;
    }
    rise = rise * along / whole;
    rise = along / whole < 0 || along / whole > 1 ? rintl(rise) : truncl(rise);
    if (fabsl(rise) > 1e37L) { /* no dtype holds it */
        return;
    }
    moved = job->value.integers[first] + (gr_int128)rise;
    job->out.integers[row] = moved;
    job->out.valid[row] = gr_dtype_fits(job->value.column->dtype, moved);
}

granary_err
window_interpolate(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    int64_t *listed = scratch_alloc((size_t)(span->end - span->begin + 1) * sizeof *listed);
    int64_t count = 0;
    int64_t before = 0;

    (void)state;
    if (listed == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)(span->end - span->begin));
    }
    for (int64_t i = span->begin; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);

        if (is_usable(&job->value, row) && is_usable(&job->second, row)) {
            listed[count++] = row;
        }
    }
    for (int64_t i = span->begin; i < span->end; i++) {
        int64_t row = window_row(job->rows, i);

        before += before < count && listed[before] == row;
        if (!is_empty(job, row)) {
            put_number(job, row, row);
        } else if (is_usable(&job->second, row) && count == 1) {
            put_number(job, row, listed[0]);
        } else if (is_usable(&job->second, row) && count > 1) {
            int64_t at = before == 0 ? 0 : before == count ? count - 2 : before - 1;

            put_point(job, row, listed[at], listed[at + 1]);
        }
    }
    scratch_free(listed);
    return GRANARY_OK;
}
