/* histogram and histogram2d: the bin of each element is looked up among edges, and bins are counted. */
#include <math.h>
#include <string.h>

#include "graph/infer/private.h"
#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

#define BINS (1 << 24)

/* ---- edges ---- */

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

/* Equal bins of a tensor: from `low` to `high`, or (NULL) of all of its elements. */
static struct gr_node *
equal_edges(struct rewrite *x, struct gr_node *a, int64_t bins, const double *low, const double *high)
{
    struct gr_node *edges;

    if (bins < 1 || bins > BINS) {
        return rewrite_fail(x, "parameter 'bins' is %lld; it can be 1 to %d", (long long)bins, BINS);
    }
    edges = low != NULL ? edges_given(x, *low, *high, bins) : edges_between(x, a, bins);
    return rewrite_astype(x, edges, gr_dtype_is_float(a->type.dtype) ? a->type.dtype : GRANARY_FLOAT64);
}

static bool
edges_are_good(struct rewrite *x, const struct gr_node *edges)
{
    bool good = x->err == GRANARY_OK && edges->type.dims == 1 && edges->type.shape[0] >= 2;

    if (x->err == GRANARY_OK && !good) {
        (void)rewrite_fail(x, "bins have one dimension, and two edges at least");
    }
    return good;
}

/* The bin of each element, from 1 on; 0 and behind the last: in none. The last bin has its right edge. */
static struct gr_node *
bin_of(struct rewrite *x, struct gr_node *a, struct gr_node *edges, bool given)
{
    struct gr_node *last, *at;
    int64_t bins = edges->type.shape[0] - 1;

    /* Large integers are rounded as edges are: else the largest could lie beyond the last edge. */
    a = rewrite_flat(x, given ? a : rewrite_astype(x, a, edges->type.dtype));
    last = rewrite_add(x, GR_TILE_getitem, edges, NULL, rewrite_string(x, "index", "-1"), NULL);
    at = rewrite_add(x, GR_TILE_searchsorted, edges, a, rewrite_string(x, "side", "right"), NULL);
    at = rewrite_binary(x, GR_TILE_subtract, at, rewrite_binary(x, GR_TILE_equal, a, last));
    return rewrite_add(x, GR_TILE_clip, at, NULL, rewrite_int(x, "min", 0), rewrite_int(x, "max", bins + 1));
}

/* The weights, flat, or NULL without them. */
static struct gr_node *
weights_of(struct rewrite *x, bool weighted)
{
    struct gr_node *weights = weighted ? rewrite_input(x, rewrite_inputs(x) - 1) : NULL;

    return weights == NULL ? NULL : rewrite_flat(x, weights);
}

/* ---- of one tensor ---- */

static struct gr_node *
rewrite_histogram(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0), *edges, *counts;
    bool weighted = rewrite_param_bool(x, "weighted");
    bool given = rewrite_inputs(x) - weighted == 2;
    const Granary__Attr *low = rewrite_param(x, "low"), *high = rewrite_param(x, "high");
    double from = low == NULL ? 0 : gr_attr_number(low), to = high == NULL ? 0 : gr_attr_number(high);
    int64_t bins;

    if ((low == NULL) != (high == NULL)) {
        return rewrite_fail(x, "parameters 'low' and 'high' are given both or none");
    }
    if (rewrite_inputs(x) - weighted == 0 || rewrite_inputs(x) - weighted == 3) {
        return rewrite_fail(x, "it has %zu inputs: a tensor, edges of bins, and with 'weighted' weights",
                            rewrite_inputs(x));
    }
    edges =
        given ? rewrite_input(x, 1) : equal_edges(x, a, rewrite_param_int(x, "bins"), low == NULL ? NULL : &from, &to);
    if (!edges_are_good(x, edges)) {
        return x->node;
    }
    if (rewrite_param_is(x, "part", "edges")) {
        return edges;
    }
    bins = edges->type.shape[0] - 1;
    counts = rewrite_add(x, GR_TILE_bincount, bin_of(x, a, edges, given), weights_of(x, weighted),
                         rewrite_int(x, "length", bins + 2), NULL);
    counts = rewrite_add(x, GR_TILE_getitem, counts, NULL,
                         rewrite_string(x, "index", rewrite_text(x, "1:%lld", (long long)bins + 1)), NULL);
    if (!rewrite_param_bool(x, "density")) {
        return counts;
    }
    counts = rewrite_binary(x, GR_TILE_divide, counts, rewrite_reduce(x, GR_TILE_sum, counts, -1, false));
    return rewrite_binary(x, GR_TILE_divide, counts, rewrite_unary(x, GR_TILE_diff, edges));
}

const struct gr_operator gr_op_histogram = {.rewrite = rewrite_histogram};

/* ---- of two ---- */

/* The edges along one of both: an input, or equal bins. */
static struct gr_node *
edges_along(struct rewrite *x, size_t k, bool given)
{
    const Granary__Attr *bins = rewrite_param(x, "bins"), *range = rewrite_param(x, "range");
    const double *limits = range == NULL ? NULL : &range->doubles[2 * k];

    if (given) {
        return rewrite_input(x, 2 + k);
    }
    if ((bins != NULL && bins->n_ints != 1 && bins->n_ints != 2) || (range != NULL && range->n_doubles != 4)) {
        return rewrite_fail(x, "parameter 'bins' has one number or two, and 'range' four: from and to of x, then of y");
    }
    return equal_edges(x, rewrite_input(x, k), bins == NULL ? 10 : bins->ints[bins->n_ints == 2 ? k : 0], limits,
                       limits == NULL ? NULL : limits + 1);
}

static struct gr_node *
divided_by_areas(struct rewrite *x, struct gr_node *counts, struct gr_node *const edges[2])
{
    struct gr_node *wide = rewrite_reshape(x, rewrite_unary(x, GR_TILE_diff, edges[0]), (int64_t[]){-1, 1}, 2);
    struct gr_node *areas = rewrite_binary(x, GR_TILE_multiply, wide, rewrite_unary(x, GR_TILE_diff, edges[1]));

    counts = rewrite_binary(x, GR_TILE_divide, counts, rewrite_reduce(x, GR_TILE_sum, counts, -1, false));
    return rewrite_binary(x, GR_TILE_divide, counts, areas);
}

static struct gr_node *
rewrite_histogram2d(struct rewrite *x)
{
    size_t inputs = rewrite_inputs(x);
    bool given = inputs >= 4;
    struct gr_node *edges[2], *at[2], *counts;
    int64_t sides[2];

    for (size_t k = 0; k < 2; k++) {
        edges[k] = edges_along(x, k, given);
        if (!edges_are_good(x, edges[k])) {
            return x->node;
        }
        sides[k] = edges[k]->type.shape[0] + 1;
        if (rewrite_param_is(x, "part", k == 0 ? "x_edges" : "y_edges")) {
            return edges[k];
        }
        at[k] = bin_of(x, rewrite_input(x, k), edges[k], given);
    }
    if (x->err == GRANARY_OK && at[0]->type.shape[0] != at[1]->type.shape[0]) {
        return rewrite_fail(x, "%lld elements of x do not meet %lld of y", (long long)at[0]->type.shape[0],
                            (long long)at[1]->type.shape[0]);
    }
    if (sides[0] > BINS / sides[1]) {
        return rewrite_fail(x, "%lld x %lld bins are more than %d", (long long)sides[0] - 2, (long long)sides[1] - 2,
                            BINS);
    }
    at[0] = rewrite_binary(x, GR_TILE_add, rewrite_value(x, GR_TILE_multiply, at[0], (double)sides[1]), at[1]);
    counts = rewrite_add(x, GR_TILE_bincount, at[0], weights_of(x, inputs % 2 == 1),
                         rewrite_int(x, "length", sides[0] * sides[1]), NULL);
    counts = rewrite_reshape(x, rewrite_astype(x, counts, GRANARY_FLOAT64), sides, 2);
    counts = rewrite_add(
        x, GR_TILE_getitem, counts, NULL,
        rewrite_string(x, "index", rewrite_text(x, "1:%lld, 1:%lld", (long long)sides[0] - 1, (long long)sides[1] - 1)),
        NULL);
    return rewrite_param_bool(x, "density") ? divided_by_areas(x, counts, edges) : counts;
}

const struct gr_operator gr_op_histogram2d = {.rewrite = rewrite_histogram2d};
