/* Products of vectors, matrices and tensors as element-wise products, sums and matmul. */
#include <math.h>
#include <string.h>

#include "graph/compose/private.h"
#include "graph/infer/private.h"
#include "graph/tensor/types.h"

static size_t
flat(struct composition *x, size_t a)
{
    return compose_type(x, a)->dims == 1 ? a : compose_unary(x, GR_TILE_ravel, a);
}

/* The sum of all products, exactly: it does not depend on chunks as matmul's does. */
static size_t
sum_of_products(struct composition *x, size_t a, size_t b)
{
    granary_dtype dtype = gr_dtype_promote(compose_type(x, a)->dtype, compose_type(x, b)->dtype);
    size_t product = compose_binary(x, GR_TILE_multiply, flat(x, a), flat(x, b));

    return compose_astype(x, compose_reduce(x, dtype == GRANARY_BOOL ? GR_TILE_any : GR_TILE_sum, product, -1, false),
                          dtype);
}

static size_t
compose_outer(struct composition *x)
{
    size_t rows = compose_reshape(x, compose_input(x, 0), (int64_t[]){-1, 1}, 2);
    size_t columns = compose_reshape(x, compose_input(x, 1), (int64_t[]){1, -1}, 2);

    return compose_binary(x, GR_TILE_multiply, rows, columns);
}

const struct gr_operator gr_op_outer = {.compose = compose_outer, .compose_room = 2};

static size_t
compose_vdot(struct composition *x)
{
    size_t a = compose_input(x, 0), b = compose_input(x, 1);
    int64_t counts[2] = {1, 1};

    for (int k = 0; k < 2; k++) {
        const struct gr_node_type *type = compose_type(x, k == 0 ? a : b);

        for (int d = 0; d < type->dims; d++) {
            counts[k] *= type->shape[d];
        }
    }
    if (counts[0] != counts[1]) {
        return compose_fail(x, "%lld elements do not meet %lld", (long long)counts[0], (long long)counts[1]);
    }
    return sum_of_products(x, a, b);
}

const struct gr_operator gr_op_vdot = {.compose = compose_vdot, .compose_room = 4};

/* ---- contraction ---- */

static bool
has(const int *axes, int pairs, int axis)
{
    int k = 0;

    while (k < pairs && axes[k] != axis) {
        k++;
    }
    return k < pairs;
}

/* As a matrix: free axes and contracted ones, whichever are first. */
static size_t
matrix_of(struct composition *x, size_t a, const int *axes, int pairs, bool free_first, int64_t *ret_shape, int *dims)
{
    const struct gr_node_type *type = compose_type(x, a);
    int64_t order[8], extent[2] = {1, 1};
    size_t placed = 0;

    for (int part = 0; part < 2; part++) {
        bool free_part = (part == 0) == free_first;

        for (int d = 0; free_part && d < type->dims; d++) {
            if (!has(axes, pairs, d)) {
                order[placed++] = d;
                ret_shape[(*dims)++] = type->shape[d];
                extent[part] *= type->shape[d];
            }
        }
        for (int k = 0; !free_part && k < pairs; k++) {
            order[placed++] = axes[k];
            extent[part] *= type->shape[axes[k]];
        }
    }
    a = compose_transpose(x, a, order, placed);
    return type->dims == 2 && pairs == 1 ? a : compose_reshape(x, a, extent, 2);
}

/* Sums of products over pairs of axes, the others of a before those of b. */
static size_t
compose_contract(struct composition *x, size_t a, size_t b, const int *a_axes, const int *b_axes, int pairs)
{
    const struct gr_node_type *left = compose_type(x, a);
    const struct gr_node_type *right = compose_type(x, b);
    int64_t shape[16];
    int dims = 0;
    size_t product;

    for (int k = 0; k < pairs; k++) {
        if (left->shape[a_axes[k]] != right->shape[b_axes[k]]) {
            return compose_fail(x, "axis %d of the first input has %lld elements, axis %d of the second %lld",
                                a_axes[k], (long long)left->shape[a_axes[k]], b_axes[k],
                                (long long)right->shape[b_axes[k]]);
        }
    }
    if (left->dims + right->dims - 2 * pairs > 8) {
        return compose_fail(x, "the result has %d dimensions; at most 8 are possible",
                            left->dims + right->dims - 2 * pairs);
    }
    if (left->dims == 1 && right->dims == 1 && pairs == 1) {
        return sum_of_products(x, a, b);
    }
    a = matrix_of(x, a, a_axes, pairs, true, shape, &dims);
    b = matrix_of(x, b, b_axes, pairs, false, shape, &dims);
    product = compose_binary(x, GR_TILE_matmul, a, b);
    return left->dims == 2 && right->dims == 2 && pairs == 1 ? product
                                                             : compose_reshape(x, product, shape, (size_t)dims);
}

/* The last axis of the first input against `axis` of the second (counted from its end). */
static size_t
contract_last(struct composition *x, int from_end)
{
    size_t a = compose_input(x, 0), b = compose_input(x, 1);
    int left = compose_type(x, a)->dims - 1;
    int right = compose_type(x, b)->dims;

    if (left < 0 || right == 0) {
        return compose_binary(x, GR_TILE_multiply, a, b);
    }
    right -= right < from_end ? 1 : from_end;
    return compose_contract(x, a, b, &left, &right, 1);
}

static size_t
compose_inner(struct composition *x)
{
    return contract_last(x, 1);
}

const struct gr_operator gr_op_inner = {.compose = compose_inner, .compose_room = 10};

static size_t
compose_dot(struct composition *x)
{
    return contract_last(x, 2);
}

const struct gr_operator gr_op_dot = {.compose = compose_dot, .compose_room = 10};

static size_t
compose_tensordot(struct composition *x)
{
    size_t inputs[2] = {compose_input(x, 0), compose_input(x, 1)};
    const Granary__Attr *given[2] = {compose_param(x, "axes_a"), compose_param(x, "axes_b")};
    int64_t pairs = given[0] != NULL ? (int64_t)given[0]->n_ints : compose_param_int(x, "axes", 2);
    int dims[2] = {compose_type(x, inputs[0])->dims, compose_type(x, inputs[1])->dims};
    int axes[2][8];

    if ((given[0] == NULL) != (given[1] == NULL) || (given[0] != NULL && given[0]->n_ints != given[1]->n_ints)) {
        return compose_fail(x, "parameters 'axes_a' and 'axes_b' name one axis each for every pair");
    }
    if (pairs < 0 || pairs > dims[0] || pairs > dims[1]) {
        return compose_fail(x, "%lld pairs of axes do not fit tensors of %d and %d dimensions", (long long)pairs,
                            dims[0], dims[1]);
    }
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < pairs; k++) {
            int64_t axis = given[side] != NULL ? given[side]->ints[k] : side == 0 ? dims[0] - pairs + k : k;

            axis = axis < 0 ? axis + dims[side] : axis;
            if (axis < 0 || axis >= dims[side] || has(axes[side], k, (int)axis)) {
                return compose_fail(x, "parameter '%s': axis %lld is none, or is named twice",
                                    side == 0 ? "axes_a" : "axes_b", (long long)given[side]->ints[k]);
            }
            axes[side][k] = (int)axis;
        }
    }
    return compose_contract(x, inputs[0], inputs[1], axes[0], axes[1], (int)pairs);
}

const struct gr_operator gr_op_tensordot = {.compose = compose_tensordot, .compose_room = 10};

/* a[i, j] b as blocks: a's axes stand before b's, one for one. */
static size_t
compose_kron(struct composition *x)
{
    size_t inputs[2] = {compose_input(x, 0), compose_input(x, 1)};
    int dims[2] = {compose_type(x, inputs[0])->dims, compose_type(x, inputs[1])->dims};
    int most = dims[0] > dims[1] ? dims[0] : dims[1];
    int64_t shape[2][8], whole[8];

    if (most > 4) {
        return compose_fail(x, "tensors of %d and %d dimensions: at most 4 are possible", dims[0], dims[1]);
    }
    for (int d = 0; d < most; d++) {
        whole[d] = 1;
        for (int side = 0; side < 2; side++) {
            int own = d - (most - dims[side]);
            int64_t n = own < 0 ? 1 : compose_type(x, inputs[side])->shape[own];

            shape[side][2 * d + side] = n;
            shape[side][2 * d + 1 - side] = 1;
            whole[d] *= n;
        }
    }
    for (int side = 0; side < 2; side++) {
        inputs[side] = compose_reshape(x, inputs[side], shape[side], 2 * (size_t)most);
    }
    return compose_reshape(x, compose_binary(x, GR_TILE_multiply, inputs[0], inputs[1]), whole, (size_t)most);
}

const struct gr_operator gr_op_kron = {.compose = compose_kron, .compose_room = 4};

static size_t
compose_cross(struct composition *x)
{
    static const int64_t next[3] = {1, 2, 0}, after[3] = {2, 0, 1};
    size_t a = compose_input(x, 0), b = compose_input(x, 1);
    size_t rotated[4];

    for (int k = 0; k < 2; k++) {
        const struct gr_node_type *type = compose_type(x, k == 0 ? a : b);

        if (type->dims < 1 || type->shape[type->dims - 1] != 3) {
            return compose_fail(x, "input %d has no vectors of 3 elements along its last dimension", k);
        }
    }
    for (int k = 0; k < 4; k++) {
        rotated[k] =
            compose_add(x, GR_TILE_take, k % 2 == 0 ? a : b, NO_NODE,
                        compose_ints(x, "indices", k == 0 || k == 3 ? next : after, 3), compose_int(x, "axis", -1));
    }
    return compose_binary(x, GR_TILE_subtract, compose_binary(x, GR_TILE_multiply, rotated[0], rotated[1]),
                          compose_binary(x, GR_TILE_multiply, rotated[2], rotated[3]));
}

const struct gr_operator gr_op_cross = {.compose = compose_cross, .compose_room = 8};

/* ---- matmul ---- */

/* The dimensions before the last two, stretched. */
static size_t
with_batch(struct composition *x, size_t a, const int64_t *batch, int dims)
{
    const struct gr_node_type *type = compose_type(x, a);
    int64_t shape[8];
    bool same = type->dims == dims + 2;

    for (int d = 0; d < dims; d++) {
        shape[d] = batch[d];
        same = same && type->shape[d] == batch[d];
    }
    shape[dims] = type->shape[type->dims - 2];
    shape[dims + 1] = type->shape[type->dims - 1];
    return same ? a
                : compose_add(x, GR_TILE_broadcast_to, a, NO_NODE, compose_ints(x, "shape", shape, (size_t)dims + 2),
                              NULL);
}

/* What both stretch to before their last two dimensions. */
static int
common_batch(struct composition *x, const struct gr_node_type *a, const struct gr_node_type *b, int64_t *ret_batch)
{
    int dims = (a->dims > b->dims ? a->dims : b->dims) - 2;

    for (int d = 0; d < dims; d++) {
        int left = d - (dims + 2 - a->dims), right = d - (dims + 2 - b->dims);
        int64_t l = left < 0 ? 1 : a->shape[left], r = right < 0 ? 1 : b->shape[right];

        if (l != r && l != 1 && r != 1) {
            (void)compose_fail(x, "%lld and %lld matrices along dimension %d do not fit together", (long long)l,
                               (long long)r, d);
        }
        ret_batch[d] = l == 1 ? r : l;
    }
    return dims;
}

static size_t
compose_matmul(struct composition *x)
{
    size_t a = compose_input(x, 0), b = compose_input(x, 1);
    struct gr_node_type left = *compose_type(x, a), right = *compose_type(x, b);
    int64_t batch[8], shape[8];
    int dims, used;

    if (left.dims == 0 || right.dims == 0 || (left.dims == 2 && right.dims == 2)) {
        return x->node;
    }
    if (left.dims == 1 && right.dims == 1) {
        return compose_contract(x, a, b, (int[]){0}, (int[]){0}, 1);
    }
    a = left.dims == 1 ? compose_reshape(x, a, (int64_t[]){1, left.shape[0]}, 2) : a;
    b = right.dims == 1 ? compose_reshape(x, b, (int64_t[]){right.shape[0], 1}, 2) : b;
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    used = dims = common_batch(x, compose_type(x, a), compose_type(x, b), batch);
    a = with_batch(x, a, batch, dims);
    b = with_batch(x, b, batch, dims);
    a = compose_binary(x, GR_TILE_matmul, a, b);
    memcpy(shape, batch, sizeof shape);
    if (left.dims > 1) {
        shape[used++] = left.shape[left.dims - 2];
    }
    if (right.dims > 1) {
        shape[used++] = right.shape[right.dims - 1];
    }
    return left.dims > 1 && right.dims > 1 ? a : compose_reshape(x, a, shape, (size_t)used);
}

const struct gr_operator gr_op_matmul = {.infer = infer_matmul, .compose = compose_matmul, .compose_room = 6};

/* ---- matrices ---- */

static size_t
compose_trace(struct composition *x)
{
    Granary__Attr *const attrs[3] = {compose_int(x, "offset", compose_param_int(x, "offset", 0)),
                                     compose_int(x, "axis1", compose_param_int(x, "axis1", 0)),
                                     compose_int(x, "axis2", compose_param_int(x, "axis2", 1))};
    size_t a = compose_input(x, 0);
    size_t diagonal = compose_add_many(x, GR_TILE_diagonal, &a, 1, attrs);

    return compose_reduce(x, GR_TILE_sum, diagonal, x->err == GRANARY_OK ? compose_type(x, diagonal)->dims - 1 : -1,
                          false);
}

const struct gr_operator gr_op_trace = {.compose = compose_trace, .compose_room = 2};

static size_t
compose_norm(struct composition *x)
{
    size_t a = compose_input(x, 0);
    const Granary__Attr *ord = compose_param(x, "ord");
    int dims = compose_type(x, a)->dims;
    int axis = compose_param(x, "axis") == NULL ? -1 : compose_axis(x, "axis", -1, dims);
    bool keep = compose_param(x, "keepdims") != NULL && compose_param(x, "keepdims")->ints[0] != 0;
    double p = ord == NULL ? 2 : ord->kind == GRANARY__ATTR__KIND__INT ? (double)ord->ints[0] : ord->doubles[0];
    size_t powers;

    if (axis < 0 && dims != 1 && ord != NULL) {
        return compose_fail(x, "parameter 'ord' needs 'axis' for a tensor of %d dimensions", dims);
    }
    if (!gr_dtype_is_float(compose_type(x, a)->dtype)) {
        a = compose_astype(x, a, GRANARY_FLOAT64);
    }
    if (p == 2) {
        return compose_unary(x, GR_TILE_sqrt,
                             compose_reduce(x, GR_TILE_sum, compose_unary(x, GR_TILE_square, a), axis, keep));
    }
    if (p == 0) {
        return compose_astype(x, compose_reduce(x, GR_TILE_count_nonzero, a, axis, keep), compose_type(x, a)->dtype);
    }
    a = compose_unary(x, GR_TILE_absolute, a);
    if (isinf(p)) {
        return compose_reduce(x, p > 0 ? GR_TILE_max : GR_TILE_min, a, axis, keep);
    }
    powers = p == 1 ? a : compose_value(x, GR_TILE_power, a, p);
    powers = compose_reduce(x, GR_TILE_sum, powers, axis, keep);
    return p == 1 ? powers : compose_value(x, GR_TILE_power, powers, 1 / p);
}

const struct gr_operator gr_op_norm = {.compose = compose_norm, .compose_room = 4};

/* The x for which a x is nearest to 1. */
static size_t
compose_pinv(struct composition *x)
{
    size_t a = compose_input(x, 0);
    const struct gr_node_type *type = compose_type(x, a);
    size_t one;

    if (type->dims != 2) {
        return compose_fail(x, "it needs a matrix, not a tensor of %d dimensions", type->dims);
    }
    one = compose_add(x, GR_TILE_eye, NO_NODE, NO_NODE, compose_int(x, "rows", type->shape[0]), NULL);
    return compose_add(x, GR_TILE_lstsq, a, one, compose_number(x, "rcond", 1e-15), NULL);
}

const struct gr_operator gr_op_pinv = {.compose = compose_pinv, .compose_room = 3};

static size_t
compose_matrix_rank(struct composition *x)
{
    size_t a = compose_input(x, 0);
    const struct gr_node_type *type = compose_type(x, a);
    size_t s, least;

    if (type->dims != 2 || type->shape[0] == 0 || type->shape[1] == 0) {
        return compose_fail(x, "it needs a matrix that is not empty");
    }
    s = compose_add(x, GR_TILE_svd, a, NO_NODE, compose_text(x, "part", "s"), NULL);
    least = compose_value(x, GR_TILE_multiply, compose_reduce(x, GR_TILE_max, s, -1, false),
                          (double)(type->shape[0] > type->shape[1] ? type->shape[0] : type->shape[1]) * 0x1p-52);
    return compose_reduce(x, GR_TILE_count_nonzero, compose_binary(x, GR_TILE_greater, s, least), -1, false);
}

const struct gr_operator gr_op_matrix_rank = {.compose = compose_matrix_rank, .compose_room = 8};
