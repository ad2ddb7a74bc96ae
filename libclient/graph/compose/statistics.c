/* Statistics and counts as sums and look-ups. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/compose/private.h"
#include "graph/tensor/types.h"

/* The axis that a parameter "axis" names, or -1: all of them. */
static int
axis_or_all(struct composition *x, size_t a)
{
    return compose_param(x, "axis") == NULL ? -1 : compose_axis(x, "axis", -1, compose_type(x, a)->dims);
}

/* Elements along the axis, or all. */
static int64_t
count_along(const struct composition *x, size_t a, int axis)
{
    const struct gr_node_type *type = compose_type(x, a);
    int64_t count = 1;

    for (int d = 0; d < type->dims; d++) {
        count *= axis < 0 || axis == d ? type->shape[d] : 1;
    }
    return count;
}

static size_t
compose_ptp(struct composition *x)
{
    size_t a = compose_input(x, 0);
    int axis = axis_or_all(x, a);

    return compose_binary(x, GR_TILE_subtract, compose_reduce(x, GR_TILE_max, a, axis, false),
                          compose_reduce(x, GR_TILE_min, a, axis, false));
}

const struct gr_operator gr_op_ptp = {.traits = GR_OP_TAKES_UNSIZED, .compose = compose_ptp, .compose_room = 3};

static size_t
compose_average(struct composition *x)
{
    size_t a = compose_input(x, 0);
    int axis = axis_or_all(x, a);
    const struct gr_node_type *type = compose_type(x, a), *weights;
    int64_t shape[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    granary_dtype dtype;
    size_t w, total;

    if (compose_inputs(x) == 1) {
        return compose_reduce(x, GR_TILE_mean, a, axis, false);
    }
    /* Both in the result's dtype, as NumPy does: products of small integers would wrap. */
    w = compose_input(x, 1);
    dtype = gr_dtype_is_float(type->dtype) ? gr_dtype_promote(type->dtype, compose_type(x, w)->dtype) : GRANARY_FLOAT64;
    a = compose_astype(x, a, dtype);
    w = compose_astype(x, w, dtype);
    weights = compose_type(x, w);
    if (weights->dims == type->dims && memcmp(weights->shape, type->shape, (size_t)type->dims * sizeof(int64_t)) == 0) {
        total = compose_reduce(x, GR_TILE_sum, w, axis, false);
    } else if (axis >= 0 && weights->dims == 1 && weights->shape[0] == type->shape[axis]) {
        total = compose_reduce(x, GR_TILE_sum, w, -1, false);
        shape[axis] = weights->shape[0];
        w = compose_reshape(x, w, shape, (size_t)type->dims);
    } else {
        return compose_fail(x, "weights have the shape of what is averaged, or one dimension: that of 'axis'");
    }
    a = compose_reduce(x, GR_TILE_sum, compose_binary(x, GR_TILE_multiply, a, w), axis, false);
    return compose_binary(x, GR_TILE_divide, a, total);
}

const struct gr_operator gr_op_average = {.compose = compose_average, .compose_room = 8};

/* ---- moments ---- */

/* The mean of the power of what is left when the mean is taken off. */
static size_t
central(struct composition *x, size_t off, int axis, int power)
{
    size_t powers = power == 2 ? compose_unary(x, GR_TILE_square, off) : compose_value(x, GR_TILE_power, off, power);

    return compose_reduce(x, GR_TILE_mean, powers, axis, false);
}

static size_t
without_mean(struct composition *x, size_t a, int axis)
{
    return compose_binary(x, GR_TILE_subtract, a, compose_reduce(x, GR_TILE_mean, a, axis, true));
}

static size_t
compose_moment(struct composition *x)
{
    size_t a = compose_input(x, 0);
    int64_t order = compose_param_int(x, "order", 1);

    if (order < 1 || order > 100) {
        return compose_fail(x, "parameter 'order' is %lld; it can be 1 to 100", (long long)order);
    }
    return central(x, without_mean(x, a, axis_or_all(x, a)), axis_or_all(x, a), (int)order);
}

const struct gr_operator gr_op_moment = {.compose = compose_moment, .compose_room = 5};

static size_t
compose_skew(struct composition *x)
{
    size_t a = compose_input(x, 0);
    int axis = axis_or_all(x, a);
    size_t off = without_mean(x, a, axis);
    size_t spread = compose_value(x, GR_TILE_power, central(x, off, axis, 2), 1.5);

    return compose_binary(x, GR_TILE_divide, central(x, off, axis, 3), spread);
}

const struct gr_operator gr_op_skew = {.compose = compose_skew, .compose_room = 10};

static size_t
compose_kurtosis(struct composition *x)
{
    size_t a = compose_input(x, 0);
    int axis = axis_or_all(x, a);
    size_t off = without_mean(x, a, axis);
    size_t spread = compose_unary(x, GR_TILE_square, central(x, off, axis, 2));
    const Granary__Attr *fisher = compose_param(x, "fisher");
    size_t ratio = compose_binary(x, GR_TILE_divide, central(x, off, axis, 4), spread);

    return fisher != NULL && fisher->ints[0] == 0 ? ratio : compose_value(x, GR_TILE_subtract, ratio, 3);
}

const struct gr_operator gr_op_kurtosis = {.compose = compose_kurtosis, .compose_room = 10};

static size_t
compose_sem(struct composition *x)
{
    size_t a = compose_input(x, 0);
    int axis = axis_or_all(x, a);
    int64_t of = axis;
    size_t spread = compose_add(x, GR_TILE_std, a, NO_NODE, axis < 0 ? NULL : compose_ints(x, "axes", &of, 1),
                                compose_int(x, "ddof", compose_param_int(x, "ddof", 1)));

    return compose_value(x, GR_TILE_divide, spread, sqrt((double)count_along(x, a, axis)));
}

const struct gr_operator gr_op_sem = {.compose = compose_sem, .compose_room = 3};

/* ---- covariance ---- */

/* Variables as rows, both inputs' below each other. */
static size_t
variables(struct composition *x)
{
    const Granary__Attr *rowvar = compose_param(x, "rowvar");
    bool columns = rowvar != NULL && rowvar->ints[0] == 0;
    size_t rows[2];

    for (size_t k = 0; k < compose_inputs(x); k++) {
        rows[k] = compose_input(x, k);
        if (compose_type(x, rows[k])->dims < 1 || compose_type(x, rows[k])->dims > 2) {
            return compose_fail(x, "input %zu has %d dimensions; 1 or 2 are possible", k,
                                compose_type(x, rows[k])->dims);
        }
        if (compose_type(x, rows[k])->dims == 1) {
            rows[k] = compose_reshape(x, rows[k], (int64_t[]){1, -1}, 2);
        } else if (columns) {
            rows[k] = compose_unary(x, GR_TILE_transpose, rows[k]);
        }
    }
    return compose_inputs(x) == 1
               ? rows[0]
               : compose_add(x, GR_TILE_concatenate, rows[0], rows[1], compose_int(x, "axis", 0), NULL);
}

static size_t
covariance(struct composition *x, int64_t ddof)
{
    size_t off = compose_astype(x, variables(x), GRANARY_FLOAT64);
    int64_t n;

    if (x->err != GRANARY_OK) {
        return x->node;
    }
    n = compose_type(x, off)->shape[1];
    off = without_mean(x, off, 1);
    off = compose_binary(x, GR_TILE_matmul, off, compose_unary(x, GR_TILE_transpose, off));
    off = n > ddof ? compose_value(x, GR_TILE_divide, off, (double)(n - ddof))
                   : compose_value(x, GR_TILE_multiply, off, NAN);
    return x->err == GRANARY_OK && compose_type(x, off)->shape[0] == 1 ? compose_unary(x, GR_TILE_squeeze, off) : off;
}

static size_t
compose_tensor_cov(struct composition *x)
{
    return covariance(x, compose_param_int(x, "ddof", 1));
}

const struct gr_operator gr_op_tensor_cov = {.compose = compose_tensor_cov, .compose_room = 12};

static size_t
compose_corrcoef(struct composition *x)
{
    size_t c = covariance(x, 0);
    size_t spread, rows, columns;
    Granary__Attr *limits[3];

    if (x->err != GRANARY_OK) {
        return x->node;
    }
    if (compose_type(x, c)->dims == 0) {
        return compose_binary(x, GR_TILE_divide, c, c);
    }
    spread = compose_unary(x, GR_TILE_sqrt, compose_unary(x, GR_TILE_diagonal, c));
    rows = compose_reshape(x, spread, (int64_t[]){-1, 1}, 2);
    columns = compose_reshape(x, spread, (int64_t[]){1, -1}, 2);
    c = compose_binary(x, GR_TILE_divide, compose_binary(x, GR_TILE_divide, c, rows), columns);
    limits[0] = compose_int(x, "min", -1);
    limits[1] = compose_int(x, "max", 1);
    limits[2] = NULL;
    return compose_add_many(x, GR_TILE_clip, &c, 1, limits);
}

const struct gr_operator gr_op_corrcoef = {.compose = compose_corrcoef, .compose_room = 20};

/* ---- without NaN ---- */

static size_t
instead_of_nan(struct composition *x, size_t a, double value)
{
    if (!gr_dtype_is_float(compose_type(x, a)->dtype)) {
        return a;
    }
    return compose_add(x, GR_TILE_where, compose_unary(x, GR_TILE_isnan, a), a, compose_number(x, "then", value), NULL);
}

static size_t
along_without_nan(struct composition *x, enum gr_tile_op op, double value)
{
    size_t a = instead_of_nan(x, compose_input(x, 0), value);

    return compose_add(x, op, a, NO_NODE, compose_int(x, "axis", compose_param_int(x, "axis", -1)), NULL);
}

static size_t
compose_nancumsum(struct composition *x)
{
    return along_without_nan(x, GR_TILE_cumsum, 0);
}

const struct gr_operator gr_op_nancumsum = {.compose = compose_nancumsum, .compose_room = 3};

static size_t
compose_nancumprod(struct composition *x)
{
    return along_without_nan(x, GR_TILE_cumprod, 1);
}

const struct gr_operator gr_op_nancumprod = {.compose = compose_nancumprod, .compose_room = 3};

static size_t
compose_nanargmax(struct composition *x)
{
    size_t a = compose_input(x, 0);

    return compose_reduce(x, GR_TILE_argmax, instead_of_nan(x, a, -INFINITY), axis_or_all(x, a), false);
}

const struct gr_operator gr_op_nanargmax = {.compose = compose_nanargmax, .compose_room = 3};

static size_t
compose_nanargmin(struct composition *x)
{
    size_t a = compose_input(x, 0);

    return compose_reduce(x, GR_TILE_argmin, instead_of_nan(x, a, INFINITY), axis_or_all(x, a), false);
}

const struct gr_operator gr_op_nanargmin = {.compose = compose_nanargmin, .compose_room = 3};

/* ---- both alike ---- */

static size_t
compose_allclose(struct composition *x)
{
    static const char *const names[] = {"rtol", "atol", "equal_nan"};
    size_t inputs[2] = {compose_input(x, 0), compose_input(x, 1)};
    Granary__Attr *attrs[3] = {NULL};

    for (int k = 0; k < 3; k++) {
        attrs[k] = compose_param(x, names[k]) == NULL ? NULL : gr_attr_copy(compose_param(x, names[k]));
    }
    return compose_reduce(x, GR_TILE_all, compose_add_many(x, GR_TILE_isclose, inputs, 2, attrs), -1, false);
}

const struct gr_operator gr_op_allclose = {.compose = compose_allclose, .compose_room = 2};

static size_t
compose_array_equal(struct composition *x)
{
    const struct gr_node_type *a = compose_type(x, compose_input(x, 0)), *b = compose_type(x, compose_input(x, 1));

    if (a->dims != b->dims || memcmp(a->shape, b->shape, (size_t)a->dims * sizeof a->shape[0]) != 0) {
        return compose_full(x, NULL, 0, NULL, GRANARY_BOOL);
    }
    return compose_reduce(x, GR_TILE_all, compose_binary(x, GR_TILE_equal, compose_input(x, 0), compose_input(x, 1)),
                          -1, false);
}

const struct gr_operator gr_op_array_equal = {.compose = compose_array_equal, .compose_room = 2};

/* ---- counts ---- */

/* `bins` equal bins between the elements of a, counted as float64. Edges are NumPy's: so many steps from the first, and
 * the last as it is: computed, it may round below the largest element. */
static size_t
edges_between(struct composition *x, size_t a, int64_t bins)
{
    size_t begin = compose_astype(x, compose_reduce(x, GR_TILE_min, a, -1, false), GRANARY_FLOAT64);
    size_t end = compose_astype(x, compose_reduce(x, GR_TILE_max, a, -1, false), GRANARY_FLOAT64);
    /* Of equal elements the bins reach half to each side. */
    size_t half = compose_value(x, GR_TILE_multiply, compose_binary(x, GR_TILE_equal, begin, end), .5);
    size_t from = compose_binary(x, GR_TILE_subtract, begin, half), to = compose_binary(x, GR_TILE_add, end, half);
    size_t number = compose_range(x, bins + 1);
    size_t step = compose_value(x, GR_TILE_divide, compose_binary(x, GR_TILE_subtract, to, from), (double)bins);
    size_t edges[3];

    edges[2] = compose_binary(x, GR_TILE_add, compose_binary(x, GR_TILE_multiply, number, step), from);
    edges[1] = to;
    edges[0] = compose_value(x, GR_TILE_equal, number, (double)bins);
    return compose_add_many(x, GR_TILE_where, edges, 3, (Granary__Attr *const[3]){NULL});
}

/* The same between numbers that are given. */
static size_t
edges_given(struct composition *x, const Granary__Attr *low, const Granary__Attr *high, int64_t bins)
{
    double from = low->kind == GRANARY__ATTR__KIND__INT ? (double)low->ints[0] : low->doubles[0];
    double to = high->kind == GRANARY__ATTR__KIND__INT ? (double)high->ints[0] : high->doubles[0];
    Granary__Attr *attrs[3];

    if (!(from <= to && isfinite(from) && isfinite(to))) {
        return compose_fail(x, "parameters 'low' and 'high' are %g and %g", from, to);
    }
    attrs[0] = compose_number(x, "start", from == to ? from - .5 : from);
    attrs[1] = compose_number(x, "stop", from == to ? to + .5 : to);
    attrs[2] = compose_int(x, "count", bins + 1);
    return compose_add_many(x, GR_TILE_linspace, NULL, 0, attrs);
}

/* Where bins begin and end: a second input, or equal ones. */
static size_t
bin_edges(struct composition *x, size_t a)
{
    int64_t bins = compose_param_int(x, "bins", 10);
    const Granary__Attr *low = compose_param(x, "low"), *high = compose_param(x, "high");
    size_t edges;

    if (compose_inputs(x) == 2) {
        return compose_input(x, 1);
    }
    if (bins < 1 || bins > 1 << 24 || (low == NULL) != (high == NULL)) {
        return compose_fail(x, "parameter 'bins' is at least 1, and 'low' and 'high' are given both or none");
    }
    edges = low != NULL ? edges_given(x, low, high, bins) : edges_between(x, a, bins);
    return compose_astype(x, edges,
                          gr_dtype_is_float(compose_type(x, a)->dtype) ? compose_type(x, a)->dtype : GRANARY_FLOAT64);
}

static size_t
compose_histogram(struct composition *x)
{
    size_t a = compose_input(x, 0);
    size_t edges = bin_edges(x, a);
    const Granary__Attr *part = compose_param(x, "part"), *density = compose_param(x, "density");
    int64_t bins;
    size_t last, at, counts, inside;

    if (x->err == GRANARY_OK && (compose_type(x, edges)->dims != 1 || compose_type(x, edges)->shape[0] < 2)) {
        return compose_fail(x, "bins have one dimension, and two edges at least");
    }
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    if (part != NULL && strcmp(part->strings[0], "edges") == 0) {
        return edges;
    }
    if (part != NULL && strcmp(part->strings[0], "counts") != 0) {
        return compose_fail(x, "parameter 'part' is '%.20s'; it can be 'counts' or 'edges'", part->strings[0]);
    }
    bins = compose_type(x, edges)->shape[0] - 1;
    /* Large integers are rounded as edges are: else the largest could lie beyond the last edge. */
    if (compose_inputs(x) == 1) {
        a = compose_astype(x, a, compose_type(x, edges)->dtype);
    }
    /* The last bin has its right edge; what is in none, NaN too, is counted behind them. */
    last = compose_add(x, GR_TILE_getitem, edges, NO_NODE, compose_text(x, "index", "-1"), NULL);
    at = compose_add(x, GR_TILE_searchsorted, edges, compose_unary(x, GR_TILE_ravel, a),
                     compose_text(x, "side", "right"), NULL);
    inside = compose_binary(x, GR_TILE_subtract, at,
                            compose_binary(x, GR_TILE_equal, compose_unary(x, GR_TILE_ravel, a), last));
    inside = compose_add(x, GR_TILE_clip, inside, NO_NODE, compose_int(x, "min", 0), compose_int(x, "max", bins + 1));
    counts = compose_add(x, GR_TILE_bincount, inside, NO_NODE, compose_int(x, "length", bins + 2), NULL);
    {
        char index[48];

        (void)snprintf(index, sizeof index, "1:%lld", (long long)bins + 1);
        counts = compose_add(x, GR_TILE_getitem, counts, NO_NODE, compose_text(x, "index", index), NULL);
    }
    if (density == NULL || density->ints[0] == 0) {
        return counts;
    }
    counts = compose_binary(x, GR_TILE_divide, counts, compose_reduce(x, GR_TILE_sum, counts, -1, false));
    return compose_binary(x, GR_TILE_divide, counts, compose_unary(x, GR_TILE_diff, edges));
}

const struct gr_operator gr_op_histogram = {.compose = compose_histogram, .compose_room = 34};
