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
    dtype = gr_dtype_is_float(type->dtype) || rewrite_is_complex(x->node)
                ? gr_dtype_promote(type->dtype, w->type.dtype)
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

/* ---- counts ---- */

/* `bins` equal bins between the elements of a, counted as float64. Edges are NumPy's: so many steps from the first, and
 * the last as it is: computed, it may round below the largest element. */
static struct gr_node *
edges_between(struct rewrite *x, struct gr_node *a, int64_t bins)
{
    struct gr_node *begin = rewrite_astype(x, rewrite_reduce(x, GR_TILE_min, a, -1, false), GRANARY_FLOAT64);
    struct gr_node *end = rewrite_astype(x, rewrite_reduce(x, GR_TILE_max, a, -1, false), GRANARY_FLOAT64);
    /* Of equal elements the bins reach half to each side. */
    struct gr_node *half = rewrite_value(x, GR_TILE_multiply, rewrite_binary(x, GR_TILE_equal, begin, end), .5);
    struct gr_node *from = rewrite_binary(x, GR_TILE_subtract, begin, half),
                   *to = rewrite_binary(x, GR_TILE_add, end, half);
    struct gr_node *number = rewrite_range(x, bins + 1);
    struct gr_node *step =
        rewrite_value(x, GR_TILE_divide, rewrite_binary(x, GR_TILE_subtract, to, from), (double)bins);
    struct gr_node *edges[3];

    edges[2] = rewrite_binary(x, GR_TILE_add, rewrite_binary(x, GR_TILE_multiply, number, step), from);
    edges[1] = to;
    edges[0] = rewrite_value(x, GR_TILE_equal, number, (double)bins);
    return rewrite_add_many(x, GR_TILE_where, edges, 3);
}

/* The same between numbers that are given. */
static struct gr_node *
edges_given(struct rewrite *x, double from, double to, int64_t bins)
{

    if (!(from <= to && isfinite(from) && isfinite(to))) {
        return rewrite_fail(x, "parameters 'low' and 'high' are %g and %g", from, to);
    }
    rewrite_set(x, rewrite_number(x, "start", from == to ? from - .5 : from));
    rewrite_set(x, rewrite_number(x, "stop", from == to ? to + .5 : to));
    return rewrite_add(x, GR_TILE_linspace, NULL, NULL, rewrite_int(x, "count", bins + 1), NULL);
}

/* Where bins begin and end: a second input, or equal ones. */
static struct gr_node *
bin_edges(struct rewrite *x, struct gr_node *a)
{
    int64_t bins = rewrite_param_int(x, "bins");
    const Granary__Attr *low = rewrite_param(x, "low"), *high = rewrite_param(x, "high");
    struct gr_node *edges;

    if (rewrite_inputs(x) == 2) {
        return rewrite_input(x, 1);
    }
    if (bins < 1 || bins > 1 << 24 || (low == NULL) != (high == NULL)) {
        return rewrite_fail(x, "parameter 'bins' is at least 1, and 'low' and 'high' are given both or none");
    }
    edges = low != NULL ? edges_given(x, gr_attr_number(low), gr_attr_number(high), bins) : edges_between(x, a, bins);
    return rewrite_astype(x, edges, gr_dtype_is_float(a->type.dtype) ? a->type.dtype : GRANARY_FLOAT64);
}

static struct gr_node *
rewrite_histogram(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    struct gr_node *edges = bin_edges(x, a);
    int64_t bins;
    struct gr_node *last, *at, *counts, *inside;

    if (x->err == GRANARY_OK && (edges->type.dims != 1 || edges->type.shape[0] < 2)) {
        return rewrite_fail(x, "bins have one dimension, and two edges at least");
    }
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    if (rewrite_param_is(x, "part", "edges")) {
        return edges;
    }
    bins = edges->type.shape[0] - 1;
    /* Large integers are rounded as edges are: else the largest could lie beyond the last edge. */
    if (rewrite_inputs(x) == 1) {
        a = rewrite_astype(x, a, edges->type.dtype);
    }
    /* The last bin has its right edge; what is in none, NaN too, is counted behind them. */
    last = rewrite_add(x, GR_TILE_getitem, edges, NULL, rewrite_string(x, "index", "-1"), NULL);
    at = rewrite_add(x, GR_TILE_searchsorted, edges, rewrite_unary(x, GR_TILE_ravel, a),
                     rewrite_string(x, "side", "right"), NULL);
    inside = rewrite_binary(x, GR_TILE_subtract, at,
                            rewrite_binary(x, GR_TILE_equal, rewrite_unary(x, GR_TILE_ravel, a), last));
    inside = rewrite_add(x, GR_TILE_clip, inside, NULL, rewrite_int(x, "min", 0), rewrite_int(x, "max", bins + 1));
    counts = rewrite_add(x, GR_TILE_bincount, inside, NULL, rewrite_int(x, "length", bins + 2), NULL);
    counts = rewrite_add(x, GR_TILE_getitem, counts, NULL,
                         rewrite_string(x, "index", rewrite_text(x, "1:%lld", (long long)bins + 1)), NULL);
    if (!rewrite_param_bool(x, "density")) {
        return counts;
    }
    counts = rewrite_binary(x, GR_TILE_divide, counts, rewrite_reduce(x, GR_TILE_sum, counts, -1, false));
    return rewrite_binary(x, GR_TILE_divide, counts, rewrite_unary(x, GR_TILE_diff, edges));
}

const struct gr_operator gr_op_histogram = {.rewrite = rewrite_histogram};
