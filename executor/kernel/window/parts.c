/*
 * Sums, means, spreads and counts of moving and of growing windows.
 *
 * A moving window has two parts. Blocks as long as it is, counted from the partition's first row, leave it the last
 * rows of one and the first rows of the next. The first rows are added as they come; of the block that is full the
 * last rows are added from behind, for each beginning once. Nothing is ever taken away, so that what has left the
 * window has left no trace, and how rows are cut into chunks does not matter.
 *
 * Spreads are made of distances from a value within the part (else one that is far away would outweigh the others), and
 * joined as Chan, Golub and LeVeque (1979) do.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/scratch.h"
#include "kernel/window/compute.h"

struct moving {
    const struct window_job *job;
    const struct window_span *span;
    struct window_state *state; /* count and infinite: of the window; part: of the block that fills */
    enum window_measure measure;
    int64_t width;
    int64_t phase; /* rows of the block that fills, and places in the one before that have left the window */
    struct window_pair *older; /* by place in the block before: what is there and behind; NULL: no block is full yet */
    struct window_pair *room;
    double origin; /* of the block before */
};

/* ---- parts ---- */

static void
part_add(struct window_part *part, enum window_measure measure, double x)
{
    if (measure == WINDOW_SUM || measure == WINDOW_MEAN) {
        part->sum = window_running_add(part->sum, x);
        part->sum.low = isfinite(part->sum.high) ? part->sum.low : 0;
    } else if (measure != WINDOW_COUNT) {
        double distance;
        double square;

        part->origin = part->count == 0 ? x : part->origin;
        distance = x - part->origin;
        square = distance * distance;
        window_pair_add(&part->sum, distance);
        window_pair_add(&part->square, square);
        if (isfinite(square)) {
            window_pair_add(&part->square, fma(distance, distance, -square));
        }
    }
    part->count++;
}

/* The sum; of spreads (high) the mean's distance from the origin and (low) the squares around it: their sum less the
 * squared sum over n, in two doubles. */
static struct window_pair
part_value(const struct window_part *part, enum window_measure measure)
{
    double n = (double)part->count;
    double product = part->sum.high * part->sum.high;
    double rest;
    double mean;
    struct window_pair m2 = part->square;

    if (measure == WINDOW_SUM || measure == WINDOW_MEAN || part->count == 0) {
        return part->sum;
    }
    rest = fma(part->sum.high, part->sum.high, -product) + 2 * part->sum.high * part->sum.low;
    mean = product / n;
    window_pair_add(&m2, -mean);
    window_pair_add(&m2, -(fma(-mean, n, product) + rest) / n);
    return (struct window_pair){part->sum.high / n, !isfinite(part->square.high) ? INFINITY
                                                    : m2.high > 0                ? m2.high
                                                                                 : 0.0};
}

/* The block is full: what it is from each of its places on. */
static void
block_turn(struct moving *moving, int64_t last)
{
    struct window_part part = {0};

    moving->older = moving->room;
    for (int64_t k = moving->width - 1; k >= 0; k--) {
        int64_t at = last - moving->width + 1 + k;
        int64_t row = at >= moving->span->begin && at < moving->span->end ? window_row(moving->job->rows, at) : -1;

        if (row >= 0 && !window_is_missing(&moving->job->value, row) && isfinite(moving->job->value.reals[row])) {
            part_add(&part, moving->measure, moving->job->value.reals[row]);
        }
        moving->older[k] = part_value(&part, moving->measure);
    }
    moving->origin = part.origin;
    moving->state->part = (struct window_part){0};
    moving->phase = 0;
}

/* ---- both parts ---- */

/* Rounded once; beyond a double's range infinite. */
static inline double
sum_of_both(struct window_pair part, struct window_pair older)
{
    struct window_pair sum = window_running_add((struct window_pair){part.high, part.low + older.low}, older.high);

    return isfinite(sum.high) ? sum.high + sum.low : sum.high;
}

/* Squares around the mean. */
static double
spread_of_both(const struct moving *moving, struct window_pair part, struct window_pair older, int64_t count)
{
    double n = (double)moving->state->part.count;
    double m = (double)count;
    double apart = (moving->state->part.origin - moving->origin) + (part.high - older.high);
    double spread = n == 0 ? older.low : m == 0 ? part.low : part.low + older.low + apart * apart * (n * m / (n + m));

    return isnan(spread) ? INFINITY : spread; /* of squares that are beyond a double's range */
}

/* false: null */
static bool
moving_result(const struct moving *moving, double *ret_x)
{
    static const struct window_pair none = {0, 0};
    const struct window_state *state = moving->state;
    const struct window_pair *older = moving->older != NULL ? &moving->older[moving->phase] : &none;
    struct window_pair part;

    if (moving->measure == WINDOW_COUNT) {
        *ret_x = (double)state->count;
        return true;
    }
    part = part_value(&state->part, moving->measure);
    if (moving->measure == WINDOW_SUM || moving->measure == WINDOW_MEAN) {
        /* An older sum beyond a double's range: what comes behind does not bring it back. */
        *ret_x = window_sum(state, isfinite(older->high) ? sum_of_both(part, *older) : older->high);
        *ret_x /= moving->measure == WINDOW_MEAN ? (double)state->count : 1;
        return moving->measure == WINDOW_SUM || state->count > 0;
    }
    if (state->count < 2 || state->infinite[0] + state->infinite[1] > 0) {
        return false;
    }
    *ret_x = spread_of_both(moving, part, *older, state->count - state->part.count) / (double)(state->count - 1);
    *ret_x = moving->measure == WINDOW_STD ? sqrt(*ret_x) : *ret_x;
    return true;
}

/* ---- the rows ---- */

/* The row at position i leaves the window (change -1), or comes into it. */
static void
row_pass(struct moving *moving, int64_t i, int change)
{
    struct window_state *state = moving->state;
    int64_t row = i >= moving->span->begin && i < moving->span->end ? window_row(moving->job->rows, i) : -1;
    double x;

    if (row < 0 || window_is_missing(&moving->job->value, row)) {
        return;
    }
    x = moving->job->value.reals[row];
    state->count += change;
    if (!isfinite(x)) {
        state->infinite[x < 0] += change;
    } else if (change > 0) {
        part_add(&state->part, moving->measure, x);
    }
}

/*
 * The sums or means of a whole block, whose first row is at position i, where it and the block before have all their
 * values, and finite ones. The arithmetic is that of row by row. False: they have not, or not all is wanted, and
 * nothing is changed but results that will be written again.
 */
static bool
block_pass(struct moving *moving, int64_t i, int64_t ahead)
{
    const struct window_job *job = moving->job;
    const struct window_state *state = moving->state;
    int64_t width = moving->width;
    double n = moving->measure == WINDOW_MEAN ? (double)width : 1;
    struct window_pair part = {0, 0};
    const double *x;
    double *out;

    if (job->rows->order != NULL || i - ahead < moving->span->from || i > moving->span->end - width ||
        width < job->window->min_periods || moving->older == NULL || state->count != width ||
        state->infinite[0] + state->infinite[1] > 0 ||
        (job->value.missing != NULL && memchr(job->value.missing + i, 1, (size_t)width) != NULL)) {
        return false;
    }
    x = job->value.reals + i;
    out = job->out.reals + (i - ahead - job->out.first);
    for (int64_t k = 0; k < width - 1; k++) {
        part = window_running_add(part, x[k]);
        out[k] = sum_of_both(part, moving->older[k + 1]) / n;
    }
    if (!isfinite(part.high + x[width - 1])) { /* nor comes it back from there */
        return false;
    }
    part = (struct window_pair){0, 0};
    for (int64_t k = width - 1; k >= 0; k--) {
        part = window_running_add(part, x[k]);
        moving->older[k] = part;
    }
    out[width - 1] = sum_of_both((struct window_pair){0, 0}, part) / n;
    memset(job->out.valid + i - ahead, 1, (size_t)width);
    return true;
}

/* What min_periods is held against: values, or (counts) rows. */
static int64_t
rows_seen(const struct moving *moving, int64_t i)
{
    const struct window_span *span = moving->span;
    int64_t from = i - moving->width + 1 > span->begin ? i - moving->width + 1 : span->begin;
    int64_t end = i + 1 < span->end ? i + 1 : span->end;

    return moving->measure == WINDOW_COUNT ? moving->state->rows + end - from : moving->state->count;
}

granary_err
window_moving_parts(const struct window_job *job, const struct window_span *span, struct window_state *state)
{
    struct window_reach reach = window_reach(job->window, span);
    struct window_state fresh = {0};
    bool grows =
        job->window->window == 0; /* it goes on from what it was; others are made anew from the rows of before */
    struct moving moving = {.job = job,
                            .span = span,
                            .state = grows ? state : &fresh,
                            .measure = job->kernel->measure,
                            .width = reach.behind + reach.ahead + 1};
    bool turns = !grows && moving.measure != WINDOW_COUNT;
    bool sums = turns && (moving.measure == WINDOW_SUM || moving.measure == WINDOW_MEAN);

    if (turns && (moving.room = scratch_alloc((size_t)moving.width * sizeof *moving.room)) == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory for %lld rows", (long long)moving.width);
    }
    moving.phase = (int64_t)((uint64_t)(state->rows - (span->from - span->begin)) % (uint64_t)moving.width);
    for (int64_t i = span->begin; i < span->end + reach.ahead; i++) {
        double x = 0;

        while (sums && moving.phase == 0 && block_pass(&moving, i, reach.ahead)) {
            i += moving.width;
        }
        if (i >= span->end + reach.ahead) {
            break;
        }
        row_pass(&moving, i - moving.width, -1);
        row_pass(&moving, i, 1);
        if (turns && ++moving.phase == moving.width) {
            block_turn(&moving, i);
        }
        if (i - reach.ahead >= span->from && rows_seen(&moving, i) >= job->window->min_periods &&
            moving_result(&moving, &x)) {
            window_put(&job->out, window_row(job->rows, i - reach.ahead), x);
        }
    }
    scratch_free(moving.room);
    return GRANARY_OK;
}
