/*
 * Variances, covariances and correlations of frames that only move on, which most do: neither end goes back from one row
 * to the next.
 *
 * Such a frame is a queue, kept as two stacks: of the rows in front what is known of all behind each of them, and one sum
 * of those that came since. When the front is used up, the rows become the front. Nothing is ever taken away, so what has
 * left a frame leaves no trace. Both parts are sums of distances from a value within, in two doubles, and are joined as
 * Chan, Golub and LeVeque (1979) do. Everything else is left to exact sums (framed_sums.c).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/expr.h"
#include "kernel/core/scratch.h"
#include "kernel/window/frames.h"

/* Rows of a front; a larger one is not worth its memory. */
#define FRONT_MOST (INT64_C(1) << 22)

static const double value_most = 0x1p53; /* integers beyond have digits that no double holds */
static const double real_most = 0x1p500; /* nor are squares of reals beyond that any */

/* Rows added up: sums of distances from the first, and of their products. */
struct part {
    int64_t count;
    double origin_x;
    double origin_y;
    struct window_pair x;
    struct window_pair y;
    struct window_pair xx;
    struct window_pair xy;
    struct window_pair yy;
};

/* What is known of rows: means as distances from the origins, and products around the means. */
struct moments {
    int64_t count;
    double origin_x;
    double origin_y;
    double x;
    double y;
    double xx;
    double xy;
    double yy;
};

struct slide {
    bool exactly; /* left to framed_sums, whose state this is */
    void *sums;
    bool pair;
    struct moments *front; /* by place from `base` on: of the rows from there to `middle` */
    int64_t base;
    int64_t middle;
    int64_t end;
    struct part back; /* rows [middle, end) */
};

/* ---- values ---- */

static bool
is_there(const struct framed *f, int64_t row)
{
    return !window_is_missing(&f->job.value, row) &&
           (f->columns->second == NULL || !window_is_missing(&f->job.second, row));
}

static double
value_at(const struct window_value *value, int64_t row)
{
    return value->class == WINDOW_INTEGER ? (double)value->integers[row] : value->reals[row];
}

static bool
is_plain(const struct window_value *value, int64_t row)
{
    return fabs(value_at(value, row)) <= (value->class == WINDOW_INTEGER ? value_most : real_most);
}

static void
add_product(struct window_pair *sum, double a, double b)
{
    double product = a * b;

    window_pair_add(sum, product);
    window_pair_add(sum, fma(a, b, -product));
}

static void
part_add(const struct framed *f, struct part *part, int64_t i)
{
    int64_t row = window_row(f->job.rows, i);
    double x;
    double y;

    if (!is_there(f, row)) {
        return;
    }
    x = value_at(&f->job.value, row);
    y = f->columns->second == NULL ? x : value_at(&f->job.second, row);
    if (part->count++ == 0) {
        part->origin_x = x;
        part->origin_y = y;
    }
    x -= part->origin_x;
    y -= part->origin_y;
    window_pair_add(&part->x, x);
    add_product(&part->xx, x, x);
    if (f->columns->second != NULL) {
        window_pair_add(&part->y, y);
        add_product(&part->xy, x, y);
        add_product(&part->yy, y, y);
    }
}

/* ---- moments ---- */

/* sum ab - sum a sum b / n, in two doubles. */
static double
around_means(struct window_pair ab, struct window_pair a, struct window_pair b, double n)
{
    double product = a.high * b.high;
    double rest = fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high);
    double mean = product / n;

    window_pair_add(&ab, -mean);
    window_pair_add(&ab, -(fma(-mean, n, product) + rest) / n);
    return ab.high;
}

static double
at_least_0(double x)
{
    return x > 0 ? x : 0;
}

static struct moments
part_moments(const struct part *part, bool pair)
{
    struct moments m = {.count = part->count, .origin_x = part->origin_x, .origin_y = part->origin_y};
    double n = (double)part->count;

    if (part->count == 0) {
        return m;
    }
    m.x = part->x.high / n;
    m.xx = at_least_0(around_means(part->xx, part->x, part->x, n));
    if (pair) {
        m.y = part->y.high / n;
        m.xy = around_means(part->xy, part->x, part->y, n);
        m.yy = at_least_0(around_means(part->yy, part->y, part->y, n));
    }
    return m;
}

static struct moments
moments_joined(const struct moments *a, const struct moments *b)
{
    double n = (double)a->count;
    double k = (double)b->count;
    double x = (a->origin_x - b->origin_x) + (a->x - b->x);
    double y = (a->origin_y - b->origin_y) + (a->y - b->y);
    struct moments m = *a;

    if (a->count == 0 || b->count == 0) {
        return a->count == 0 ? *b : *a;
    }
    m.count += b->count;
    m.xx += b->xx + x * x * (n * k / (n + k));
    m.xy += b->xy + x * y * (n * k / (n + k));
    m.yy += b->yy + y * y * (n * k / (n + k));
    return m; /* of the means nobody asks */
}

/* ---- frames ---- */

/* The rows that are there become the front. */
static void
turn(const struct framed *f, struct slide *slide, int64_t from)
{
    struct part part = {0};

    for (int64_t i = slide->end - 1; i >= from; i--) {
        part_add(f, &part, i);
        slide->front[i - from] = part_moments(&part, slide->pair);
    }
    slide->base = from;
    slide->middle = slide->end;
    slide->back = (struct part){0};
}

static struct moments
move_to(const struct framed *f, struct slide *slide, int64_t from, int64_t to)
{
    struct moments back;

    if (from >= slide->end) { /* nothing of the frame before is in this one */
        slide->base = slide->middle = slide->end = from;
        slide->back = (struct part){0};
    }
    while (slide->end < to) {
        part_add(f, &slide->back, slide->end++);
    }
    if (from > slide->middle) {
        turn(f, slide, from);
    }
    back = part_moments(&slide->back, slide->pair);
    return from < slide->middle ? moments_joined(&slide->front[from - slide->base], &back) : back;
}

/* ---- results ---- */

static double
divisor_of(const granary_column *column)
{
    return gr_dtype_kind(column->dtype) == GRANARY_DECIMAL ? (double)gr_power_of_ten(gr_dtype_scale(column->dtype)) : 1;
}

static void
give_spread(struct framed *f, const struct moments *m, int64_t row)
{
    const struct gr_aggregate *aggregate = &f->job.window->aggregate;
    double freedom = (double)m->count - aggregate->number;
    double divisor = divisor_of(f->job.value.column);
    double value = m->xx / divisor / divisor / freedom;

    if (m->count == 0 || !(freedom > 0)) {
        return;
    }
    value = aggregate->function == GR_AGGREGATE_SEM ? value / (double)m->count : value;
    window_put(&f->job.out, row, aggregate->function == GR_AGGREGATE_VAR ? value : sqrt(value));
}

static void
give_pair(struct framed *f, const struct moments *m, int64_t row)
{
    int64_t ddof = framed_function(f) != GR_AGGREGATE_COV_POP;
    double value = m->xy;

    if (m->count <= ddof) {
        return;
    }
    if (framed_function(f) != GR_AGGREGATE_CORR) {
        window_put(&f->job.out, row,
                   value / divisor_of(f->job.value.column) / divisor_of(f->job.second.column) /
                       (double)(m->count - ddof));
    } else if (m->xx > 0 && m->yy > 0) {
        value /= sqrt(m->xx) * sqrt(m->yy);
        window_put(&f->job.out, row, value > 1 ? 1 : value < -1 ? -1 : value);
    }
}

static granary_err
spread_give(struct framed *f, const struct frame_pieces *pieces, int64_t row)
{
    struct slide *slide = f->state;
    struct moments m;
    granary_err err;

    if (slide->exactly) {
        f->state = slide->sums;
        err = framed_sums.give(f, pieces, row);
        f->state = slide;
        return err;
    }
    if (pieces->count == 0) {
        return GRANARY_OK;
    }
    m = move_to(f, slide, pieces->from[0], pieces->to[0]);
    if (slide->pair) {
        give_pair(f, &m, row);
    } else {
        give_spread(f, &m, row);
    }
    return GRANARY_OK;
}

/* ---- which frames ---- */

/* The rows of the largest frame; 0: some end goes back, all frames are one, or not every value is plain. */
static int64_t
widest(const struct framed *f)
{
    int64_t rows = f->span.end - f->span.begin;
    int64_t most = 1;
    bool moves = false;

    if (f->job.window->frame.exclude != GR_EXCLUDE_NONE) {
        return 0;
    }
    for (int64_t k = 0; k < rows; k++) {
        int64_t row = window_row(f->job.rows, f->span.begin + k);
        int64_t width = f->bounds.end[k] - f->bounds.begin[k];

        if (k > 0 && (f->bounds.begin[k] < f->bounds.begin[k - 1] || f->bounds.end[k] < f->bounds.end[k - 1])) {
            return 0;
        }
        moves = moves ||
                (k > 0 && (f->bounds.begin[k] > f->bounds.begin[k - 1] || f->bounds.end[k] > f->bounds.end[k - 1]));
        most = width > most ? width : most;
        if (is_there(f, row) &&
            (!is_plain(&f->job.value, row) || (f->columns->second != NULL && !is_plain(&f->job.second, row)))) {
            return 0;
        }
    }
    return moves && most <= FRONT_MOST ? most : 0;
}

static granary_err
spread_begin(struct framed *f)
{
    int64_t most = widest(f);
    struct slide *slide = f->state = scratch_alloc(sizeof *slide);
    granary_err err = GRANARY_OK;

    if (slide == NULL) {
        return gr_fail(GRANARY_ENOMEM, "window: out of memory");
    }
    *slide = (struct slide){.pair = f->columns->second != NULL,
                            .exactly = most == 0,
                            .base = f->span.begin,
                            .middle = f->span.begin,
                            .end = f->span.begin};
    if (slide->exactly) {
        f->state = NULL;
        err = framed_sums.begin(f);
        slide->sums = f->state;
        f->state = slide;
        return err;
    }
    slide->front = scratch_alloc((size_t)most * sizeof *slide->front);
    return slide->front != NULL
               ? GRANARY_OK
               : gr_fail(GRANARY_ENOMEM, "window: out of memory for frames of %lld rows", (long long)most);
}

static void
spread_end(struct framed *f)
{
    struct slide *slide = f->state;

    if (slide == NULL) {
        return;
    }
    if (slide->exactly) {
        f->state = slide->sums;
        framed_sums.end(f);
        f->state = slide;
    }
    scratch_free(slide->front);
    scratch_free(slide);
}

const struct framed_way framed_spread = {spread_begin, spread_give, spread_end};
