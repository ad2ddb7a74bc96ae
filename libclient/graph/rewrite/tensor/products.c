/* Products of vectors, matrices and tensors as element-wise products, sums and matmul. */
#include <string.h>

#include "graph/infer/private.h"
#include "graph/rewrite/private.h"
#include "graph/tensor/tall.h"
#include "graph/tensor/types.h"

/* The sum of all products, exactly: it does not depend on chunks as matmul's does. */
static struct gr_node *
sum_of_products(struct rewrite *x, struct gr_node *a, struct gr_node *b)
{
    granary_dtype dtype = gr_dtype_promote(a->type.dtype, b->type.dtype);
    struct gr_node *product = rewrite_binary(x, GR_TILE_multiply, rewrite_flat(x, a), rewrite_flat(x, b));

    return rewrite_astype(x, rewrite_reduce(x, dtype == GRANARY_BOOL ? GR_TILE_any : GR_TILE_sum, product, -1, false),
                          dtype);
}

static struct gr_node *
rewrite_outer(struct rewrite *x)
{
    struct gr_node *rows = rewrite_reshape(x, rewrite_input(x, 0), (int64_t[]){-1, 1}, 2);
    struct gr_node *columns = rewrite_reshape(x, rewrite_input(x, 1), (int64_t[]){1, -1}, 2);

    return rewrite_binary(x, GR_TILE_multiply, rows, columns);
}

const struct gr_operator gr_op_outer = {.rewrite = rewrite_outer};

static struct gr_node *
rewrite_vdot(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0), *b = rewrite_input(x, 1);
    int64_t counts[2] = {1, 1};

    for (int k = 0; k < 2; k++) {
        const struct gr_node_type *type = &(k == 0 ? a : b)->type;

        for (int d = 0; d < type->dims; d++) {
            counts[k] *= type->shape[d];
        }
    }
    if (counts[0] != counts[1]) {
        return rewrite_fail(x, "%lld elements do not meet %lld", (long long)counts[0], (long long)counts[1]);
    }
    a = gr_dtype_is_complex(a->type.dtype) ? rewrite_unary(x, GR_TILE_conj, a) : a;
    return sum_of_products(x, a, b);
}

const struct gr_operator gr_op_vdot = {.rewrite = rewrite_vdot};

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
static struct gr_node *
matrix_of(struct rewrite *x, struct gr_node *a, const int *axes, int pairs, bool free_first, int64_t *ret_shape,
          int *dims)
{
    const struct gr_node_type *type = &a->type;
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
    a = rewrite_transpose(x, a, order, placed);
    return type->dims == 2 && pairs == 1 ? a : rewrite_reshape(x, a, extent, 2);
}

/* Sums of products over pairs of axes, the others of a before those of b. */
static struct gr_node *
contract(struct rewrite *x, struct gr_node *a, struct gr_node *b, const int *a_axes, const int *b_axes, int pairs)
{
    const struct gr_node_type *left = &a->type;
    const struct gr_node_type *right = &b->type;
    int64_t shape[16];
    int dims = 0;
    struct gr_node *product;

    for (int k = 0; k < pairs; k++) {
        if (left->shape[a_axes[k]] != right->shape[b_axes[k]]) {
            return rewrite_fail(x, "axis %d of the first input has %lld elements, axis %d of the second %lld",
                                a_axes[k], (long long)left->shape[a_axes[k]], b_axes[k],
                                (long long)right->shape[b_axes[k]]);
        }
    }
    if (left->dims + right->dims - 2 * pairs > 8) {
        return rewrite_fail(x, "the result has %d dimensions; at most 8 are possible",
                            left->dims + right->dims - 2 * pairs);
    }
    if (left->dims == 1 && right->dims == 1 && pairs == 1) {
        return sum_of_products(x, a, b);
    }
    a = matrix_of(x, a, a_axes, pairs, true, shape, &dims);
    b = matrix_of(x, b, b_axes, pairs, false, shape, &dims);
    product = rewrite_binary(x, GR_TILE_matmul, a, b);
    return left->dims == 2 && right->dims == 2 && pairs == 1 ? product
                                                             : rewrite_reshape(x, product, shape, (size_t)dims);
}

/* The last axis of the first input against `axis` of the second (counted from its end). */
static struct gr_node *
contract_last(struct rewrite *x, int from_end)
{
    struct gr_node *a = rewrite_input(x, 0), *b = rewrite_input(x, 1);
    int left = a->type.dims - 1;
    int right = b->type.dims;

    if (left < 0 || right == 0) {
        return rewrite_binary(x, GR_TILE_multiply, a, b);
    }
    right -= right < from_end ? 1 : from_end;
    return contract(x, a, b, &left, &right, 1);
}

REWRITE_AS(inner, contract_last(x, 1))
REWRITE_AS(dot, contract_last(x, 2))

static struct gr_node *
rewrite_tensordot(struct rewrite *x)
{
    struct gr_node *inputs[2] = {rewrite_input(x, 0), rewrite_input(x, 1)};
    const Granary__Attr *given[2] = {rewrite_param(x, "axes_a"), rewrite_param(x, "axes_b")};
    int64_t pairs = given[0] != NULL ? (int64_t)given[0]->n_ints : rewrite_param_int(x, "axes");
    int dims[2] = {inputs[0]->type.dims, inputs[1]->type.dims};
    int axes[2][8];

    if ((given[0] == NULL) != (given[1] == NULL) || (given[0] != NULL && given[0]->n_ints != given[1]->n_ints)) {
        return rewrite_fail(x, "parameters 'axes_a' and 'axes_b' name one axis each for every pair");
    }
    if (pairs < 0 || pairs > dims[0] || pairs > dims[1]) {
        return rewrite_fail(x, "%lld pairs of axes do not fit tensors of %d and %d dimensions", (long long)pairs,
                            dims[0], dims[1]);
    }
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < pairs; k++) {
            int64_t axis = given[side] != NULL ? given[side]->ints[k] : side == 0 ? dims[0] - pairs + k : k;

            axis = axis < 0 ? axis + dims[side] : axis;
            if (axis < 0 || axis >= dims[side] || has(axes[side], k, (int)axis)) {
                return rewrite_fail(x, "parameter '%s': axis %lld is none, or is named twice",
                                    side == 0 ? "axes_a" : "axes_b", (long long)given[side]->ints[k]);
            }
            axes[side][k] = (int)axis;
        }
    }
    return contract(x, inputs[0], inputs[1], axes[0], axes[1], (int)pairs);
}

const struct gr_operator gr_op_tensordot = {.rewrite = rewrite_tensordot};

/* a[i, j] b as blocks: a's axes stand before b's, one for one. */
static struct gr_node *
rewrite_kron(struct rewrite *x)
{
    struct gr_node *inputs[2] = {rewrite_input(x, 0), rewrite_input(x, 1)};
    int dims[2] = {inputs[0]->type.dims, inputs[1]->type.dims};
    int most = dims[0] > dims[1] ? dims[0] : dims[1];
    int64_t shape[2][8], whole[8];

    if (most > 4) {
        return rewrite_fail(x, "tensors of %d and %d dimensions: at most 4 are possible", dims[0], dims[1]);
    }
    for (int d = 0; d < most; d++) {
        whole[d] = 1;
        for (int side = 0; side < 2; side++) {
            int own = d - (most - dims[side]);
            int64_t n = own < 0 ? 1 : inputs[side]->type.shape[own];

            shape[side][2 * d + side] = n;
            shape[side][2 * d + 1 - side] = 1;
            whole[d] *= n;
        }
    }
    for (int side = 0; side < 2; side++) {
        inputs[side] = rewrite_reshape(x, inputs[side], shape[side], 2 * (size_t)most);
    }
    return rewrite_reshape(x, rewrite_binary(x, GR_TILE_multiply, inputs[0], inputs[1]), whole, (size_t)most);
}

const struct gr_operator gr_op_kron = {.rewrite = rewrite_kron};

static struct gr_node *
rewrite_cross(struct rewrite *x)
{
    static const int64_t next[3] = {1, 2, 0}, after[3] = {2, 0, 1};
    struct gr_node *a = rewrite_input(x, 0), *b = rewrite_input(x, 1);
    struct gr_node *rotated[4];

    for (int k = 0; k < 2; k++) {
        const struct gr_node_type *type = &(k == 0 ? a : b)->type;

        if (type->dims < 1 || type->shape[type->dims - 1] != 3) {
            return rewrite_fail(x, "input %d has no vectors of 3 elements along its last dimension", k);
        }
    }
    for (int k = 0; k < 4; k++) {
        rotated[k] =
            rewrite_add(x, GR_TILE_take, k % 2 == 0 ? a : b, NULL,
                        rewrite_ints(x, "indices", k == 0 || k == 3 ? next : after, 3), rewrite_int(x, "axis", -1));
    }
    return rewrite_binary(x, GR_TILE_subtract, rewrite_binary(x, GR_TILE_multiply, rotated[0], rotated[1]),
                          rewrite_binary(x, GR_TILE_multiply, rotated[2], rotated[3]));
}

const struct gr_operator gr_op_cross = {.rewrite = rewrite_cross};

/* ---- matmul ---- */

/* The dimensions before the last two, stretched. */
static struct gr_node *
with_batch(struct rewrite *x, struct gr_node *a, const int64_t *batch, int dims)
{
    const struct gr_node_type *type = &a->type;
    int64_t shape[8];
    bool same = type->dims == dims + 2;

    for (int d = 0; d < dims; d++) {
        shape[d] = batch[d];
        same = same && type->shape[d] == batch[d];
    }
    shape[dims] = type->shape[type->dims - 2];
    shape[dims + 1] = type->shape[type->dims - 1];
    return same
               ? a
               : rewrite_add(x, GR_TILE_broadcast_to, a, NULL, rewrite_ints(x, "shape", shape, (size_t)dims + 2), NULL);
}

/* What both stretch to before their last two dimensions. */
static int
common_batch(struct rewrite *x, const struct gr_node_type *a, const struct gr_node_type *b, int64_t *ret_batch)
{
    int dims = (a->dims > b->dims ? a->dims : b->dims) - 2;

    for (int d = 0; d < dims; d++) {
        int left = d - (dims + 2 - a->dims), right = d - (dims + 2 - b->dims);
        int64_t l = left < 0 ? 1 : a->shape[left], r = right < 0 ? 1 : b->shape[right];

        if (l != r && l != 1 && r != 1) {
            (void)rewrite_fail(x, "%lld and %lld matrices along dimension %d do not fit together", (long long)l,
                               (long long)r, d);
        }
        ret_batch[d] = l == 1 ? r : l;
    }
    return dims;
}

/* As kernels take them: as many matrices on either side. */
static bool
are_aligned(const struct gr_node_type *a, const struct gr_node_type *b)
{
    return a->dims >= 2 && a->dims == b->dims &&
           memcmp(a->shape, b->shape, (size_t)(a->dims - 2) * sizeof a->shape[0]) == 0;
}

static struct gr_node *
rewrite_matmul(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0), *b = rewrite_input(x, 1);
    struct gr_node_type left = a->type, right = b->type;
    int64_t batch[8], shape[8];
    int dims, used;

    if (left.dims == 0 || right.dims == 0 || are_aligned(&left, &right)) {
        return x->node;
    }
    if (left.dims == 1 && right.dims == 1) {
        return contract(x, a, b, (int[]){0}, (int[]){0}, 1);
    }
    a = left.dims == 1 ? rewrite_reshape(x, a, (int64_t[]){1, left.shape[0]}, 2) : a;
    b = right.dims == 1 ? rewrite_reshape(x, b, (int64_t[]){right.shape[0], 1}, 2) : b;
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    used = dims = common_batch(x, &a->type, &b->type, batch);
    a = with_batch(x, a, batch, dims);
    b = with_batch(x, b, batch, dims);
    a = rewrite_binary(x, GR_TILE_matmul, a, b);
    memcpy(shape, batch, sizeof shape);
    if (left.dims > 1) {
        shape[used++] = left.shape[left.dims - 2];
    }
    if (right.dims > 1) {
        shape[used++] = right.shape[right.dims - 1];
    }
    return left.dims > 1 && right.dims > 1 ? a : rewrite_reshape(x, a, shape, (size_t)used);
}

const struct gr_operator gr_op_matmul = {.infer = infer_matmul, .rewrite = rewrite_matmul};

/* ---- matrices ---- */

static struct gr_node *
rewrite_trace(struct rewrite *x)
{
    struct gr_node *diagonal;

    rewrite_set(x, rewrite_int(x, "offset", rewrite_param_int(x, "offset")));
    diagonal = rewrite_add(x, GR_TILE_diagonal, rewrite_input(x, 0), NULL,
                           rewrite_int(x, "axis1", rewrite_param_int(x, "axis1")),
                           rewrite_int(x, "axis2", rewrite_param_int(x, "axis2")));
    return rewrite_reduce(x, GR_TILE_sum, diagonal, x->err == GRANARY_OK ? diagonal->type.dims - 1 : -1, false);
}

const struct gr_operator gr_op_trace = {.rewrite = rewrite_trace};

/*
 * Of a tall matrix: q and r of it by blocks of rows, then the x for which r x is nearest to q' b. Singular values of r are those
 * of the matrix.
 */
static struct gr_node *
rewrite_lstsq(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0), *b = rewrite_input(x, 1), *q, *r;
    bool flat = b->type.dims == 1;
    double rcond;

    if (a->type.dims != 2 || b->type.dims < 1 || b->type.dims > 2 || a->type.shape[1] < 1 ||
        a->type.shape[0] != b->type.shape[0] || !gr_factor_is_tall(a->type.shape[0], a->type.shape[1]) ||
        gr_product_way(a->type.shape[1], a->type.shape[0], flat ? 1 : b->type.shape[1]) != GR_PRODUCT_BY_SUMS ||
        gr_dtype_is_complex(a->type.dtype) || gr_dtype_is_complex(b->type.dtype)) {
        return x->node;
    }
    rcond = rewrite_param(x, "rcond") != NULL ? gr_attr_number(rewrite_param(x, "rcond"))
                                              : (double)a->type.shape[0] * 0x1p-52;
    q = rewrite_add(x, GR_TILE_qr, a, NULL, rewrite_string(x, "part", "q"), NULL);
    r = rewrite_add(x, GR_TILE_qr, a, NULL, rewrite_string(x, "part", "r"), NULL);
    b = rewrite_astype(x, b, GRANARY_FLOAT64);
    b = flat ? rewrite_reshape(x, b, (int64_t[]){-1, 1}, 2) : b;
    b = rewrite_binary(x, GR_TILE_matmul, rewrite_unary(x, GR_TILE_transpose, q), b);
    b = rewrite_add(x, GR_TILE_lstsq, r, b, rewrite_number(x, "rcond", rcond), NULL);
    return flat ? rewrite_unary(x, GR_TILE_ravel, b) : b;
}

const struct gr_operator gr_op_lstsq = {.infer = infer_linalg, .rewrite = rewrite_lstsq};

/* The x for which a x is nearest to 1. */
static struct gr_node *
rewrite_pinv(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    const struct gr_node_type *type = &a->type;
    struct gr_node *one;

    if (type->dims != 2) {
        return rewrite_fail(x, "it needs a matrix, not a tensor of %d dimensions", type->dims);
    }
    one = rewrite_add(x, GR_TILE_eye, NULL, NULL, rewrite_int(x, "rows", type->shape[0]), NULL);
    return rewrite_add(x, GR_TILE_lstsq, a, one, rewrite_number(x, "rcond", 1e-15), NULL);
}

const struct gr_operator gr_op_pinv = {.rewrite = rewrite_pinv};

static struct gr_node *
rewrite_matrix_rank(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    const struct gr_node_type *type = &a->type;
    struct gr_node *s, *least;

    if (type->dims != 2 || type->shape[0] == 0 || type->shape[1] == 0) {
        return rewrite_fail(x, "it needs a matrix that is not empty");
    }
    s = rewrite_add(x, GR_TILE_svd, a, NULL, rewrite_string(x, "part", "s"), NULL);
    least = rewrite_value(x, GR_TILE_multiply, rewrite_reduce(x, GR_TILE_max, s, -1, false),
                          (double)(type->shape[0] > type->shape[1] ? type->shape[0] : type->shape[1]) * 0x1p-52);
    return rewrite_reduce(x, GR_TILE_count_nonzero, rewrite_binary(x, GR_TILE_greater, s, least), -1, false);
}

const struct gr_operator gr_op_matrix_rank = {.rewrite = rewrite_matrix_rank};
