/* Statistics and counts as sums and look-ups. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

/* Elements along the axis, or all. */
static int64_t
count_along(const struct gr_node *a, int axis)
{
    const struct gr_node_type *type = &a->type;
    int64_t count = 1;

    for (int d = 0; d < type->dims; d++) {
        count *= axis < 0 || axis == d ? type->shape[d] : 1;
    }
    return count;
}

static struct gr_node *
rewrite_ptp(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    int axis = rewrite_axis_or_all(x, a);

    return rewrite_binary(x, GR_TILE_subtract, rewrite_reduce(x, GR_TILE_max, a, axis, false),
                          rewrite_reduce(x, GR_TILE_min, a, axis, false));
}

const struct gr_operator gr_op_ptp = {.traits = GR_OP_TAKES_UNSIZED, .rewrite = rewrite_ptp};

static struct gr_node *
rewrite_average(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    int axis = rewrite_axis_or_all(x, a);
    const struct gr_node_type *type = &a->type, *weights;
    int64_t shape[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    granary_dtype dtype;
    struct gr_node *w, *total;

    if (rewrite_inputs(x) == 1) {
        return rewrite_reduce(x, GR_TILE_mean, a, axis, false);
    }
    /* Both in the result's dtype, as NumPy does: products of small integers would wrap. */
    w = rewrite_input(x, 1);
    dtype = gr_dtype_is_float(type->dtype) || rewrite_is_complex(x->node) ? gr_dtype_promote(type->dtype, w->type.dtype)
                                                                          : GRANARY_FLOAT64;
    a = rewrite_astype(x, a, dtype);
    w = rewrite_astype(x, w, dtype);
    weights = &w->type;
    if (weights->dims == type->dims && memcmp(weights->shape, type->shape, (size_t)type->dims * sizeof(int64_t)) == 0) {
        total = rewrite_reduce(x, GR_TILE_sum, w, axis, false);
    } else if (axis >= 0 && weights->dims == 1 && weights->shape[0] == type->shape[axis]) {
        total = rewrite_reduce(x, GR_TILE_sum, w, -1, false);
        shape[axis] = weights->shape[0];
        w = rewrite_reshape(x, w, shape, (size_t)type->dims);
    } else {
        return rewrite_fail(x, "weights have the shape of what is averaged, or one dimension: that of 'axis'");
    }
    a = rewrite_reduce(x, GR_TILE_sum, rewrite_binary(x, GR_TILE_multiply, a, w), axis, false);
    return rewrite_binary(x, GR_TILE_divide, a, total);
}

const struct gr_operator gr_op_average = {.rewrite = rewrite_average};

/* ---- moments ---- */

/* The mean of the power of what is left when the mean is taken off. */
static struct gr_node *
central(struct rewrite *x, struct gr_node *off, int axis, int power)
{
    struct gr_node *powers =
        power == 2 ? rewrite_unary(x, GR_TILE_square, off) : rewrite_value(x, GR_TILE_power, off, power);

    return rewrite_reduce(x, GR_TILE_mean, powers, axis, false);
}

static struct gr_node *
without_mean(struct rewrite *x, struct gr_node *a, int axis)
{
    return rewrite_binary(x, GR_TILE_subtract, a, rewrite_reduce(x, GR_TILE_mean, a, axis, true));
}

static struct gr_node *
rewrite_moment(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    int axis = rewrite_axis_or_all(x, a);

    return central(x, without_mean(x, a, axis), axis, (int)rewrite_param_int(x, "order"));
}

const struct gr_operator gr_op_moment = {.rewrite = rewrite_moment};

static struct gr_node *
rewrite_skew(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    int axis = rewrite_axis_or_all(x, a);
    struct gr_node *off = without_mean(x, a, axis);
    struct gr_node *spread = rewrite_value(x, GR_TILE_power, central(x, off, axis, 2), 1.5);

    return rewrite_binary(x, GR_TILE_divide, central(x, off, axis, 3), spread);
}

const struct gr_operator gr_op_skew = {.rewrite = rewrite_skew};

static struct gr_node *
rewrite_kurtosis(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    int axis = rewrite_axis_or_all(x, a);
    struct gr_node *off = without_mean(x, a, axis);
    struct gr_node *spread = rewrite_unary(x, GR_TILE_square, central(x, off, axis, 2));
    struct gr_node *ratio = rewrite_binary(x, GR_TILE_divide, central(x, off, axis, 4), spread);

    return !rewrite_param_bool(x, "fisher") ? ratio : rewrite_value(x, GR_TILE_subtract, ratio, 3);
}

const struct gr_operator gr_op_kurtosis = {.rewrite = rewrite_kurtosis};

static struct gr_node *
rewrite_sem(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    int axis = rewrite_axis_or_all(x, a);
    int64_t of = axis;
    struct gr_node *spread = rewrite_add(x, GR_TILE_std, a, NULL, axis < 0 ? NULL : rewrite_ints(x, "axes", &of, 1),
                                         rewrite_int(x, "ddof", rewrite_param_int(x, "ddof")));

    return rewrite_value(x, GR_TILE_divide, spread, sqrt((double)count_along(a, axis)));
}

const struct gr_operator gr_op_sem = {.rewrite = rewrite_sem};

/* ---- covariance ---- */

/* Variables as rows, both inputs' below each other. */
static struct gr_node *
variables(struct rewrite *x)
{
    bool columns = !rewrite_param_bool(x, "rowvar");
    struct gr_node *rows[2];

    for (size_t k = 0; k < rewrite_inputs(x); k++) {
        rows[k] = rewrite_input(x, k);
        if (rows[k]->type.dims < 1 || rows[k]->type.dims > 2) {
            return rewrite_fail(x, "input %zu has %d dimensions; 1 or 2 are possible", k, rows[k]->type.dims);
        }
        if (rows[k]->type.dims == 1) {
            rows[k] = rewrite_reshape(x, rows[k], (int64_t[]){1, -1}, 2);
        } else if (columns) {
            rows[k] = rewrite_unary(x, GR_TILE_transpose, rows[k]);
        }
    }
    return rewrite_inputs(x) == 1
               ? rows[0]
               : rewrite_add(x, GR_TILE_concatenate, rows[0], rows[1], rewrite_int(x, "axis", 0), NULL);
}

static struct gr_node *
covariance(struct rewrite *x, int64_t ddof)
{
    struct gr_node *off = rewrite_astype(x, variables(x), GRANARY_FLOAT64);
    int64_t n;

    if (x->err != GRANARY_OK) {
        return x->node;
    }
    n = off->type.shape[1];
    off = without_mean(x, off, 1);
    off = rewrite_binary(x, GR_TILE_matmul, off, rewrite_unary(x, GR_TILE_transpose, off));
    off = n > ddof ? rewrite_value(x, GR_TILE_divide, off, (double)(n - ddof))
                   : rewrite_value(x, GR_TILE_multiply, off, NAN);
    return x->err == GRANARY_OK && off->type.shape[0] == 1 ? rewrite_unary(x, GR_TILE_squeeze, off) : off;
}

REWRITE_AS(tensor_cov, covariance(x, rewrite_param_int(x, "ddof")))

static struct gr_node *
rewrite_corrcoef(struct rewrite *x)
{
    struct gr_node *c = covariance(x, 0);
    struct gr_node *spread, *rows, *columns;

    if (x->err != GRANARY_OK) {
        return x->node;
    }
    if (c->type.dims == 0) {
        return rewrite_binary(x, GR_TILE_divide, c, c);
    }
    spread = rewrite_unary(x, GR_TILE_sqrt, rewrite_unary(x, GR_TILE_diagonal, c));
    rows = rewrite_reshape(x, spread, (int64_t[]){-1, 1}, 2);
    columns = rewrite_reshape(x, spread, (int64_t[]){1, -1}, 2);
    c = rewrite_binary(x, GR_TILE_divide, rewrite_binary(x, GR_TILE_divide, c, rows), columns);
    return rewrite_add(x, GR_TILE_clip, c, NULL, rewrite_int(x, "min", -1), rewrite_int(x, "max", 1));
}

const struct gr_operator gr_op_corrcoef = {.rewrite = rewrite_corrcoef};

/* ---- without NaN ---- */

static struct gr_node *
instead_of_nan(struct rewrite *x, struct gr_node *a, double value)
{
    if (!gr_dtype_is_float(a->type.dtype)) {
        return a;
    }
    return rewrite_add(x, GR_TILE_where, rewrite_unary(x, GR_TILE_isnan, a), a, rewrite_number(x, "then", value), NULL);
}

static struct gr_node *
along_without_nan(struct rewrite *x, enum gr_tile_op op, double value)
{
    struct gr_node *a = instead_of_nan(x, rewrite_input(x, 0), value);

    return rewrite_add(x, op, a, NULL, rewrite_int(x, "axis", rewrite_param_int(x, "axis")), NULL);
}

REWRITE_AS(nancumsum, along_without_nan(x, GR_TILE_cumsum, 0))
REWRITE_AS(nancumprod, along_without_nan(x, GR_TILE_cumprod, 1))

static struct gr_node *
place_without_nan(struct rewrite *x, enum gr_tile_op op, double value)
{
    struct gr_node *a = rewrite_input(x, 0);

    return rewrite_reduce(x, op, instead_of_nan(x, a, value), rewrite_axis_or_all(x, a), false);
}

REWRITE_AS(nanargmax, place_without_nan(x, GR_TILE_argmax, -INFINITY))
REWRITE_AS(nanargmin, place_without_nan(x, GR_TILE_argmin, INFINITY))

/* ---- both alike ---- */

static struct gr_node *
rewrite_allclose(struct rewrite *x)
{
    struct gr_node *close;

    rewrite_hand_on(x, "rtol", "rtol");
    rewrite_hand_on(x, "atol", "atol");
    rewrite_hand_on(x, "equal_nan", "equal_nan");
    close = rewrite_binary(x, GR_TILE_isclose, rewrite_input(x, 0), rewrite_input(x, 1));
    return rewrite_reduce(x, GR_TILE_all, close, -1, false);
}

const struct gr_operator gr_op_allclose = {.rewrite = rewrite_allclose};

static struct gr_node *
rewrite_array_equal(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0), *b = rewrite_input(x, 1);

    if (a->type.dims != b->type.dims ||
        memcmp(a->type.shape, b->type.shape, (size_t)a->type.dims * sizeof a->type.shape[0]) != 0) {
        return rewrite_full(x, NULL, 0, NULL, GRANARY_BOOL);
    }
    return rewrite_reduce(x, GR_TILE_all, rewrite_binary(x, GR_TILE_equal, a, b), -1, false);
}

const struct gr_operator gr_op_array_equal = {.rewrite = rewrite_array_equal};
