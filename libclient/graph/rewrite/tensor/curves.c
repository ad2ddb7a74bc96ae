/*
 * Curves through points: interp, polyfit, polyval, and what lies below them.
 *
 * A fit is done by qr, which works by blocks of rows; what is left to lstsq has as many rows as coefficients.
 */
#include <math.h>
#include <string.h>

#include "graph/infer/private.h"
#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

#define COEFFICIENTS 1000

static struct gr_node *
choose(struct rewrite *x, struct gr_node *condition, struct gr_node *then, struct gr_node *otherwise)
{
    struct gr_node *inputs[3] = {condition, then, otherwise};

    return rewrite_add_many(x, GR_TILE_where, inputs, 3);
}

static struct gr_node *
item(struct rewrite *x, struct gr_node *a, const char *index)
{
    return rewrite_add(x, GR_TILE_getitem, a, NULL, rewrite_string(x, "index", index), NULL);
}

/* ---- interp ---- */

/* The points, in order and over one period more to both sides. */
static void
wrap_points(struct rewrite *x, double period, struct gr_node *points[2])
{
    struct gr_node *order, *parts[3];

    points[0] = rewrite_value(x, GR_TILE_mod, points[0], period);
    order = rewrite_unary(x, GR_TILE_argsort, points[0]);
    for (int k = 0; k < 2; k++) {
        parts[1] = rewrite_binary(x, GR_TILE_take_at, points[k], order);
        parts[0] = item(x, parts[1], "-1:");
        parts[2] = item(x, parts[1], ":1");
        if (k == 0) {
            parts[0] = rewrite_value(x, GR_TILE_subtract, parts[0], period);
            parts[2] = rewrite_value(x, GR_TILE_add, parts[2], period);
        }
        points[k] = rewrite_add_many(x, GR_TILE_concatenate, parts, 3);
    }
}

/* Between points: on the line through both, from its left end; where that is NaN, from its right one (as NumPy). */
static struct gr_node *
between(struct rewrite *x, struct gr_node *at, struct gr_node *const points[2], int64_t count)
{
    struct gr_node *place, *ends[2][2], *slope, *line[2];

    place = rewrite_add(x, GR_TILE_searchsorted, points[0], at, rewrite_string(x, "side", "right"), NULL);
    place = rewrite_value(x, GR_TILE_subtract, place, 1);
    place = rewrite_add(x, GR_TILE_clip, place, NULL, rewrite_int(x, "min", 0), rewrite_int(x, "max", count - 2));
    for (int k = 0; k < 2; k++) {
        ends[k][0] = rewrite_binary(x, GR_TILE_take_at, points[k], place);
        ends[k][1] = rewrite_binary(x, GR_TILE_take_at, item(x, points[k], "1:"), place);
    }
    slope = rewrite_binary(x, GR_TILE_divide, rewrite_binary(x, GR_TILE_subtract, ends[1][1], ends[1][0]),
                           rewrite_binary(x, GR_TILE_subtract, ends[0][1], ends[0][0]));
    for (int k = 0; k < 2; k++) {
        line[k] = rewrite_binary(x, GR_TILE_multiply, slope, rewrite_binary(x, GR_TILE_subtract, at, ends[0][k]));
        line[k] = rewrite_binary(x, GR_TILE_add, line[k], ends[1][k]);
    }
    line[0] = choose(x, rewrite_unary(x, GR_TILE_isnan, line[0]), line[1], line[0]);
    slope = rewrite_binary(x, GR_TILE_equal, ends[1][0], ends[1][1]);
    slope = rewrite_binary(x, GR_TILE_logical_and, rewrite_unary(x, GR_TILE_isnan, line[0]), slope);
    line[0] = choose(x, slope, ends[1][0], line[0]);
    return choose(x, rewrite_binary(x, GR_TILE_equal, at, ends[0][0]), ends[1][0], line[0]);
}

/* The value beyond an end: a parameter, or that of the last point. */
static struct gr_node *
beyond(struct rewrite *x, const char *parameter, struct gr_node *point)
{
    const Granary__Attr *given = rewrite_param(x, parameter);

    if (given == NULL) {
        return point;
    }
    rewrite_set(x, rewrite_ints(x, "shape", NULL, 0));
    return rewrite_add(x, GR_TILE_full, NULL, NULL, rewrite_number(x, "value", gr_attr_number(given)),
                       rewrite_string(x, "dtype", "float64"));
}

static struct gr_node *
rewrite_interp(struct rewrite *x)
{
    struct gr_node *at = rewrite_astype(x, rewrite_input(x, 0), GRANARY_FLOAT64), *made;
    struct gr_node *points[2], *first, *last;
    const Granary__Attr *period = rewrite_param(x, "period");
    double length = period == NULL ? 0 : fabs(gr_attr_number(period));
    int64_t count;

    for (int k = 0; k < 2; k++) {
        const struct gr_node_type *type = &rewrite_input(x, (size_t)k + 1)->type;

        if (type->dims != 1 || type->shape[0] == 0 || type->shape[0] != rewrite_input(x, 1)->type.shape[0]) {
            return rewrite_fail(x, "points have one dimension each, as many of x as of y, and one at least");
        }
        points[k] = rewrite_astype(x, rewrite_input(x, (size_t)k + 1), GRANARY_FLOAT64);
    }
    if (period != NULL && !(length > 0 && isfinite(length))) {
        return rewrite_fail(x, "parameter 'period' is %g; it cannot be 0", gr_attr_number(period));
    }
    if (period != NULL) {
        at = rewrite_value(x, GR_TILE_mod, at, length);
        wrap_points(x, length, points);
    }
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    count = points[0]->type.shape[0];
    first = item(x, points[0], "0");
    last = item(x, points[0], "-1");
    made = count == 1 ? item(x, points[1], "0") : between(x, at, points, count);
    made = choose(x, rewrite_binary(x, GR_TILE_equal, at, last), item(x, points[1], "-1"), made);
    made = choose(x, rewrite_binary(x, GR_TILE_greater, at, last),
                  period == NULL ? beyond(x, "right", item(x, points[1], "-1")) : item(x, points[1], "-1"), made);
    made = choose(x, rewrite_binary(x, GR_TILE_less, at, first),
                  period == NULL ? beyond(x, "left", item(x, points[1], "0")) : item(x, points[1], "0"), made);
    return count == 1 ? made : choose(x, rewrite_unary(x, GR_TILE_isnan, at), at, made);
}

const struct gr_operator gr_op_interp = {.rewrite = rewrite_interp};

/* ---- polynomials ---- */

/* The powers of x that coefficients stand for, a column each, the highest first. */
static struct gr_node *
powers_of(struct rewrite *x, struct gr_node *a, int64_t degree)
{
    struct gr_node *powers;

    rewrite_set(x, rewrite_int(x, "step", -1));
    powers = rewrite_add(x, GR_TILE_arange, NULL, NULL, rewrite_int(x, "start", degree), rewrite_int(x, "stop", -1));
    powers = rewrite_reshape(x, rewrite_astype(x, powers, GRANARY_FLOAT64), (int64_t[]){1, -1}, 2);
    return rewrite_binary(x, GR_TILE_power, rewrite_reshape(x, a, (int64_t[]){-1, 1}, 2), powers);
}

static bool
fit_is_good(struct rewrite *x)
{
    const struct gr_node_type *a = &rewrite_input(x, 0)->type, *b = &rewrite_input(x, 1)->type;
    bool good = a->dims == 1 && a->shape[0] > 0 && (b->dims == 1 || b->dims == 2) && b->shape[0] == a->shape[0];

    if (good && rewrite_inputs(x) == 3) {
        const struct gr_node_type *weights = &rewrite_input(x, 2)->type;

        good = weights->dims == 1 && weights->shape[0] == a->shape[0];
    }
    if (!good) {
        (void)rewrite_fail(x,
                           "x and weights have one dimension, y one or two, and all as many elements along the first, "
                           "one at least");
    }
    return good;
}

static struct gr_node *
rewrite_polyfit(struct rewrite *x)
{
    int64_t degree = rewrite_param_int(x, "deg");
    struct gr_node *left, *right, *scale, *q, *r;
    double rcond;
    bool flat;

    if (!fit_is_good(x)) {
        return x->node;
    }
    if (degree >= COEFFICIENTS) {
        return rewrite_fail(x, "parameter 'deg' is %lld; it can be up to %d", (long long)degree, COEFFICIENTS - 1);
    }
    rcond = rewrite_param(x, "rcond") != NULL ? gr_attr_number(rewrite_param(x, "rcond"))
                                              : (double)rewrite_input(x, 0)->type.shape[0] * 0x1p-52;
    flat = rewrite_input(x, 1)->type.dims == 1;
    left = powers_of(x, rewrite_astype(x, rewrite_input(x, 0), GRANARY_FLOAT64), degree);
    right = rewrite_astype(x, rewrite_input(x, 1), GRANARY_FLOAT64);
    right = flat ? rewrite_reshape(x, right, (int64_t[]){-1, 1}, 2) : right;
    if (rewrite_inputs(x) == 3) {
        struct gr_node *weights = rewrite_astype(x, rewrite_input(x, 2), GRANARY_FLOAT64);

        weights = rewrite_reshape(x, weights, (int64_t[]){-1, 1}, 2);
        left = rewrite_binary(x, GR_TILE_multiply, left, weights);
        right = rewrite_binary(x, GR_TILE_multiply, right, weights);
    }
    /* Columns of one length, so that small singular values are those of the shape of the curve. */
    scale = rewrite_unary(x, GR_TILE_sqrt,
                          rewrite_reduce(x, GR_TILE_sum, rewrite_unary(x, GR_TILE_square, left), 0, false));
    left = rewrite_binary(x, GR_TILE_divide, left, scale);
    q = rewrite_add(x, GR_TILE_qr, left, NULL, rewrite_string(x, "part", "q"), NULL);
    r = rewrite_add(x, GR_TILE_qr, left, NULL, rewrite_string(x, "part", "r"), NULL);
    right = rewrite_binary(x, GR_TILE_matmul, rewrite_unary(x, GR_TILE_transpose, q), right);
    right = rewrite_add(x, GR_TILE_lstsq, r, right, rewrite_number(x, "rcond", rcond), NULL);
    right = rewrite_binary(x, GR_TILE_divide, right, rewrite_reshape(x, scale, (int64_t[]){-1, 1}, 2));
    return flat ? rewrite_unary(x, GR_TILE_ravel, right) : right;
}

const struct gr_operator gr_op_polyfit = {.rewrite = rewrite_polyfit};

/* Horner's scheme, which begins as NumPy's does: 0 times x. */
static struct gr_node *
rewrite_polyval(struct rewrite *x)
{
    const struct gr_node_type *type = &rewrite_input(x, 0)->type;
    granary_dtype dtype = gr_dtype_promote(type->dtype, rewrite_input(x, 1)->type.dtype);
    struct gr_node *coefficients = rewrite_astype(x, rewrite_input(x, 0), dtype);
    struct gr_node *at = rewrite_astype(x, rewrite_input(x, 1), dtype), *made;

    if (type->dims != 1 || type->shape[0] < 0 || type->shape[0] > COEFFICIENTS) {
        return rewrite_fail(x, "coefficients have one dimension of %d elements at most", COEFFICIENTS);
    }
    if (type->shape[0] == 0) {
        return rewrite_unary(x, GR_TILE_zeros_like, rewrite_input(x, 1));
    }
    made = rewrite_unary(x, GR_TILE_zeros_like, at);
    for (int64_t k = 0; k < type->shape[0] && x->err == GRANARY_OK; k++) {
        made = rewrite_binary(x, GR_TILE_multiply, made, at);
        made = rewrite_binary(x, GR_TILE_add, made, item(x, coefficients, rewrite_text(x, "%lld", (long long)k)));
    }
    return made;
}

const struct gr_operator gr_op_polyval = {.rewrite = rewrite_polyval};

/* ---- what lies below a curve ---- */

/* ":, :, 1:" for an axis. */
static const char *
along(struct rewrite *x, int axis, const char *slice)
{
    const char *text = slice;

    for (int d = 0; d < axis; d++) {
        text = rewrite_text(x, ":, %s", text);
    }
    return text;
}

/* The distances of neighbours; NULL: they are all alike. */
static struct gr_node *
distances(struct rewrite *x, const struct gr_node_type *type, int axis)
{
    struct gr_node *places = rewrite_inputs(x) == 2 ? rewrite_input(x, 1) : NULL;
    int64_t shape[8] = {1, 1, 1, 1, 1, 1, 1, 1};

    if (places == NULL) {
        return NULL;
    }
    if (places->type.dims == 1 && places->type.shape[0] == type->shape[axis]) {
        places = rewrite_unary(x, GR_TILE_diff, places);
        shape[axis] = type->shape[axis] - 1;
        return rewrite_reshape(x, places, shape, (size_t)type->dims);
    }
    if (places->type.dims == type->dims && places->type.shape[axis] == type->shape[axis]) {
        return rewrite_add(x, GR_TILE_diff, places, NULL, rewrite_int(x, "axis", axis), NULL);
    }
    return rewrite_fail(x, "the second input has one dimension of %lld elements, or as many as the first",
                        (long long)type->shape[axis]);
}

/* The area below each step, along the axis. */
static struct gr_node *
areas(struct rewrite *x, int *ret_axis)
{
    struct gr_node *a = rewrite_input(x, 0), *step;
    int axis = rewrite_axis(x, "axis", a->type.dims);

    *ret_axis = axis;
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    if (a->type.dims == 0 || a->type.shape[axis] == 0) {
        return rewrite_fail(x, "it needs an element or more along the axis");
    }
    step = distances(x, &a->type, axis);
    a = rewrite_binary(x, GR_TILE_add, item(x, a, along(x, axis, "1:")), item(x, a, along(x, axis, ":-1")));
    a = gr_dtype_is_float(a->type.dtype) ? a : rewrite_astype(x, a, GRANARY_FLOAT64);
    a = step == NULL ? rewrite_value(x, GR_TILE_multiply, a, rewrite_param_number(x, "dx"))
                     : rewrite_binary(x, GR_TILE_multiply, step, a);
    return rewrite_value(x, GR_TILE_divide, a, 2);
}

static struct gr_node *
rewrite_trapezoid(struct rewrite *x)
{
    int axis = 0;
    struct gr_node *a = areas(x, &axis);

    return rewrite_reduce(x, GR_TILE_sum, a, axis, false);
}

const struct gr_operator gr_op_trapezoid = {.rewrite = rewrite_trapezoid};

static struct gr_node *
rewrite_cumulative_trapezoid(struct rewrite *x)
{
    int axis = 0;
    struct gr_node *a = areas(x, &axis);

    return rewrite_add(x, GR_TILE_cumsum, a, NULL, rewrite_int(x, "axis", axis), NULL);
}

const struct gr_operator gr_op_cumulative_trapezoid = {.rewrite = rewrite_cumulative_trapezoid};
