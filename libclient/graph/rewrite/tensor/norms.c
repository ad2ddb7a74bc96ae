/* Norms, condition numbers, determinants as logarithms, and powers of matrices. */
#include <math.h>
#include <string.h>

#include "graph/infer/private.h"
#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

/* ---- of vectors ---- */

static struct gr_node *
vector_norm(struct rewrite *x, struct gr_node *a, double p, int axis, bool keep)
{
    struct gr_node *powers;

    if (p == 2) {
        return rewrite_unary(x, GR_TILE_sqrt,
                             rewrite_reduce(x, GR_TILE_sum, rewrite_unary(x, GR_TILE_square, a), axis, keep));
    }
    if (p == 0) {
        return rewrite_astype(x, rewrite_reduce(x, GR_TILE_count_nonzero, a, axis, keep), a->type.dtype);
    }
    a = rewrite_unary(x, GR_TILE_absolute, a);
    if (isinf(p)) {
        return rewrite_reduce(x, p > 0 ? GR_TILE_max : GR_TILE_min, a, axis, keep);
    }
    powers = p == 1 ? a : rewrite_value(x, GR_TILE_power, a, p);
    powers = rewrite_reduce(x, GR_TILE_sum, powers, axis, keep);
    return p == 1 ? powers : rewrite_value(x, GR_TILE_power, powers, 1 / p);
}

/* ---- of matrices ---- */

static struct gr_node *
reduce_many(struct rewrite *x, enum gr_tile_op op, struct gr_node *a, const int *axes, size_t count, bool keep)
{
    int64_t reduced[2] = {axes[0], count > 1 ? axes[1] : 0};

    return rewrite_add(x, op, a, NULL, rewrite_ints(x, "axes", reduced, count), rewrite_bool(x, "keepdims", keep));
}

/* What is done with singular values. */
static struct gr_node *
singular_norm(struct rewrite *x, struct gr_node *a, enum gr_tile_op op, bool keep)
{
    struct gr_node *made;
    granary_dtype dtype = a->type.dtype;

    if (a->type.dims != 2) {
        return rewrite_fail(x, "parameter 'kind': singular values are those of one matrix; take one with getitem");
    }
    made = rewrite_add(x, GR_TILE_svd, a, NULL, rewrite_string(x, "part", "s"), NULL);
    made = rewrite_astype(x, rewrite_reduce(x, op, made, -1, false), dtype);
    return keep ? rewrite_reshape(x, made, (int64_t[]){1, 1}, 2) : made;
}

static struct gr_node *
matrix_norm(struct rewrite *x, struct gr_node *a, const char *kind, const int axes[2], bool keep)
{
    bool least = kind[0] == '-';
    const char *size = kind + least;
    bool by_rows = strcmp(size, "inf") == 0;
    int summed = axes[by_rows];

    if (strcmp(size, "nuc") == 0 || strcmp(size, "2") == 0) {
        return singular_norm(x, a, size[0] == 'n' ? GR_TILE_sum : least ? GR_TILE_min : GR_TILE_max, keep);
    }
    if (strcmp(size, "fro") == 0) {
        a = reduce_many(x, GR_TILE_sum, rewrite_unary(x, GR_TILE_square, a), axes, 2, keep);
        return rewrite_unary(x, GR_TILE_sqrt, a);
    }
    a = reduce_many(x, GR_TILE_sum, rewrite_unary(x, GR_TILE_absolute, a), &summed, 1, true);
    return reduce_many(x, least ? GR_TILE_min : GR_TILE_max, a, axes, 2, keep);
}

/* The two axes of matrices: parameter "axes", or all there are. */
static bool
matrix_axes(struct rewrite *x, const struct gr_node_type *type, int ret_axes[2])
{
    const Granary__Attr *given = rewrite_param(x, "axes");
    size_t count = given == NULL ? 2 : given->n_ints;

    for (size_t k = 0; k < 2 && k < count; k++) {
        int64_t axis = given == NULL ? (int64_t)k : given->ints[k];

        axis = axis < 0 ? axis + type->dims : axis;
        if (axis < 0 || axis >= type->dims) {
            (void)rewrite_fail(x, "parameter 'axes': there is no axis %lld in a tensor of %d dimensions",
                               (long long)(given == NULL ? (int64_t)k : given->ints[k]), type->dims);
            return false;
        }
        ret_axes[k] = (int)axis;
    }
    if (count != 2 || ret_axes[0] == ret_axes[1] || (given == NULL && type->dims != 2)) {
        (void)rewrite_fail(x, "parameter 'kind' is of matrices: 'axes' names their two dimensions");
        return false;
    }
    return true;
}

static struct gr_node *
rewrite_norm(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    int axis = rewrite_axis_or_all(x, a), axes[2];
    bool keep = rewrite_param_bool(x, "keepdims");
    const char *kind = rewrite_param(x, "kind") == NULL ? NULL : rewrite_param_text(x, "kind");
    bool matrices =
        rewrite_param(x, "axes") != NULL || (kind != NULL && rewrite_param(x, "axis") == NULL && a->type.dims != 1);

    if (kind != NULL && rewrite_param(x, "ord") != NULL) {
        return rewrite_fail(x, "parameters 'ord' and 'kind' say the same; give one");
    }
    if (!matrices && axis < 0 && a->type.dims != 1 && rewrite_param(x, "ord") != NULL) {
        return rewrite_fail(x, "parameter 'ord' needs 'axis' for a tensor of %d dimensions", a->type.dims);
    }
    if (matrices && (rewrite_param(x, "ord") != NULL || rewrite_param(x, "axis") != NULL)) {
        return rewrite_fail(x, "norms of matrices have parameter 'kind' and not 'ord', and 'axes' and not 'axis'");
    }
    if (gr_dtype_is_complex(a->type.dtype)) {
        if (kind != NULL && strpbrk(kind, "u2") != NULL) {
            return rewrite_fail(x, "parameter 'kind' is '%s': singular values are those of real numbers", kind);
        }
        a = rewrite_unary(x, GR_TILE_absolute, a);
    } else if (!gr_dtype_is_float(a->type.dtype)) {
        a = rewrite_astype(x, a, GRANARY_FLOAT64);
    }
    if (matrices) {
        return matrix_axes(x, &rewrite_input(x, 0)->type, axes)
                   ? matrix_norm(x, a, kind == NULL ? "fro" : kind, axes, keep)
                   : x->node;
    }
    if (kind != NULL && strcmp(kind, "inf") != 0 && strcmp(kind, "-inf") != 0) {
        return rewrite_fail(x, "parameter 'kind' is '%s': of vectors there are 'inf' and '-inf', and 'ord'", kind);
    }
    return vector_norm(x, a,
                       kind == NULL     ? rewrite_param_number(x, "ord")
                       : kind[0] == '-' ? -INFINITY
                                        : INFINITY,
                       axis, keep);
}

const struct gr_operator gr_op_norm = {.rewrite = rewrite_norm};

/* ---- of square matrices ---- */

static bool
is_square(struct rewrite *x, const struct gr_node_type *type)
{
    struct infer_shown shown;
    bool square = type->dims == 2 && type->shape[0] == type->shape[1];

    if (!square) {
        (void)rewrite_fail(x, "it needs a square matrix, not a tensor of shape %s", infer_show_type(type, &shown));
    }
    return square;
}

static struct gr_node *
rewrite_cond(struct rewrite *x)
{
    struct gr_node *a = rewrite_astype(x, rewrite_input(x, 0), GRANARY_FLOAT64), *made, *s[2];
    const char *kind = rewrite_param_text(x, "ord");
    const struct gr_node_type *type = &rewrite_input(x, 0)->type;
    const int axes[2] = {0, 1};

    if (type->dims != 2 || type->shape[0] == 0 || type->shape[1] == 0 || gr_dtype_is_complex(type->dtype)) {
        return rewrite_fail(x, "it needs a matrix of real numbers that is not empty");
    }
    if (strcmp(kind, "2") == 0 || strcmp(kind, "-2") == 0) {
        made = rewrite_add(x, GR_TILE_svd, a, NULL, rewrite_string(x, "part", "s"), NULL);
        s[0] = rewrite_reduce(x, kind[0] == '-' ? GR_TILE_min : GR_TILE_max, made, -1, false);
        s[1] = rewrite_reduce(x, kind[0] == '-' ? GR_TILE_max : GR_TILE_min, made, -1, false);
        made = rewrite_binary(x, GR_TILE_divide, s[0], s[1]);
        /* Of zeros alone it is infinite. */
        rewrite_set(x, rewrite_ints(x, "shape", NULL, 0));
        s[0] = rewrite_add(x, GR_TILE_full, NULL, NULL, rewrite_number(x, "value", INFINITY),
                           rewrite_string(x, "dtype", "float64"));
        return rewrite_add_many(x, GR_TILE_where,
                                (struct gr_node *[]){rewrite_unary(x, GR_TILE_isnan, made), s[0], made}, 3);
    }
    if (!is_square(x, type)) {
        return x->node;
    }
    made = matrix_norm(x, rewrite_unary(x, GR_TILE_inv, a), kind, axes, false);
    return rewrite_binary(x, GR_TILE_multiply, matrix_norm(x, a, kind, axes, false), made);
}

const struct gr_operator gr_op_cond = {.rewrite = rewrite_cond};

/* a = p l u: the sign is that of p and of u's diagonal, whose sizes are multiplied by adding logarithms. */
static struct gr_node *
rewrite_slogdet(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0), *own, *turned;
    bool sign = rewrite_param_is(x, "part", "sign");

    if (!is_square(x, &a->type)) {
        return x->node;
    }
    if (a->type.shape[0] == 0) {
        rewrite_set(x, rewrite_ints(x, "shape", NULL, 0));
        return rewrite_unary(x, sign ? GR_TILE_ones : GR_TILE_zeros, NULL);
    }
    own = rewrite_add(x, GR_TILE_lu, a, NULL, rewrite_string(x, "part", "u"), NULL);
    own = rewrite_unary(x, GR_TILE_diagonal, own);
    if (!sign) {
        own = rewrite_unary(x, GR_TILE_log, rewrite_unary(x, GR_TILE_absolute, own));
        return rewrite_reduce(x, GR_TILE_sum, own, -1, false);
    }
    turned = rewrite_add(x, GR_TILE_lu, a, NULL, rewrite_string(x, "part", "p"), NULL);
    own = rewrite_reduce(x, GR_TILE_prod, rewrite_unary(x, GR_TILE_sign, own), -1, false);
    return rewrite_binary(x, GR_TILE_multiply, rewrite_unary(x, GR_TILE_det, turned), own);
}

const struct gr_operator gr_op_slogdet = {.rewrite = rewrite_slogdet};

REWRITE_AS(eigvalsh, rewrite_add(x, GR_TILE_eigh, rewrite_input(x, 0), NULL, rewrite_string(x, "part", "w"), NULL))

/* Squares of the matrix, of which those in n are multiplied. */
static struct gr_node *
rewrite_matrix_power(struct rewrite *x)
{
    struct gr_node *power = rewrite_input(x, 0), *made = NULL;
    const struct gr_node_type type = power->type;
    int64_t n = rewrite_param_int(x, "n");
    uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

    if (type.dims < 2 || type.shape[type.dims - 1] != type.shape[type.dims - 2] || (n < 0 && type.dims != 2)) {
        return rewrite_fail(x, "it needs %s", n < 0 ? "a square matrix for a negative power" : "square matrices");
    }
    if (n == 0) {
        made = rewrite_add(x, GR_TILE_eye, NULL, NULL, rewrite_int(x, "rows", type.shape[type.dims - 1]),
                           rewrite_string(x, "dtype", granary_dtype_name(type.dtype)));
        return type.dims == 2 ? made
                              : rewrite_add(x, GR_TILE_broadcast_to, made, NULL,
                                            rewrite_ints(x, "shape", type.shape, (size_t)type.dims), NULL);
    }
    power = n < 0 ? rewrite_unary(x, GR_TILE_inv, power) : power;
    while (left > 0 && x->err == GRANARY_OK) {
        if ((left & 1) != 0) {
            made = made == NULL ? power : rewrite_binary(x, GR_TILE_matmul, made, power);
        }
        left >>= 1;
        power = left > 0 ? rewrite_binary(x, GR_TILE_matmul, power, power) : power;
    }
    return x->err == GRANARY_OK ? made : x->node;
}

const struct gr_operator gr_op_matrix_power = {.rewrite = rewrite_matrix_power};
