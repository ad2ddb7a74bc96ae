/* Types of the halves of products and factorisations of tall matrices, and of what is dealt along an axis. */
#include "graph/tensor/tall.h"
#include "base/error.h"
#include "graph/infer/private.h"
#include "graph/operator.h"
#include "graph/tensor/types.h"

/* A matrix with elements. */
static granary_err
check_matrix(const struct gr_node_type *a)
{
    struct infer_shown shown;

    return a->dims != 2 || a->shape[0] < 1 || a->shape[1] < 1
               ? gr_fail(GRANARY_EINVAL, "it needs a matrix that is not empty, not a tensor of shape %s",
                         infer_show_type(a, &shown))
               : GRANARY_OK;
}

/* So many rows of each of `count` things. Errors: EINVAL */
static granary_err
set_matrix(struct gr_node_type *type, granary_dtype dtype, int64_t count, int64_t rows, int64_t more, int64_t columns)
{
    int64_t all;

    if (__builtin_mul_overflow(count, rows, &all) || __builtin_add_overflow(all, more, &all)) {
        return gr_fail(GRANARY_EINVAL, "%lld blocks are too many", (long long)count);
    }
    *type = (struct gr_node_type){.dtype = dtype, .dims = 2, .shape = {all, columns}};
    return infer_count(2, type->shape, &all);
}

static granary_err
infer_product_partial(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    int64_t block = GR_NODE_PARAMS(product_partial, node->node)->block;
    granary_err err = infer_matmul(node, inputs, type);

    for (size_t k = 0; k < 2 && err == GRANARY_OK; k++) {
        err = check_matrix(inputs[k]);
    }
    return err == GRANARY_OK
               ? set_matrix(type, gr_product_sum_dtype(type->dtype), (inputs[1]->shape[0] - 1) / block + 1,
                            inputs[0]->shape[0], 0, inputs[1]->shape[1])
               : err;
}

const struct gr_operator gr_op_product_partial = {.infer = infer_product_partial};

static granary_err
infer_product_combine(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_params_product_combine *params = GR_NODE_PARAMS(product_combine, node->node);
    granary_dtype dtype = gr_tensor_dtype_parse(params->dtype);
    granary_err err = check_matrix(inputs[0]);

    if (err != GRANARY_OK) {
        return err;
    }
    if (!gr_tensor_dtype_valid(dtype) || gr_product_sum_dtype(dtype) != inputs[0]->dtype) {
        return gr_fail(GRANARY_ETYPE, "parameter 'dtype': no product of '%.60s' is a sum of %s", params->dtype,
                       granary_dtype_name(inputs[0]->dtype));
    }
    if (inputs[0]->shape[0] % params->rows != 0) {
        return gr_fail(GRANARY_EINVAL, "parameter 'rows' is %lld: the input of %lld rows has no whole products",
                       (long long)params->rows, (long long)inputs[0]->shape[0]);
    }
    return set_matrix(type, dtype, 1, params->rows, 0, inputs[0]->shape[1]);
}

const struct gr_operator gr_op_product_combine = {.infer = infer_product_combine};

static granary_err
infer_product_rows(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    int64_t rows = GR_NODE_PARAMS(product_rows, node->node)->rows;
    granary_err err = infer_matmul(node, inputs, type);

    if (err == GRANARY_OK && type->dims != 2) {
        err = gr_fail(GRANARY_EINVAL, "it needs two matrices, not tensors of %d dimensions", type->dims);
    }
    return err == GRANARY_OK && type->shape[0] > rows
               ? gr_fail(GRANARY_EINVAL, "parameter 'rows' is %lld, and the part has %lld rows", (long long)rows,
                         (long long)type->shape[0])
               : err;
}

const struct gr_operator gr_op_product_rows = {.infer = infer_product_rows};

static granary_err
infer_shuffle_axis(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    int64_t axis = GR_NODE_PARAMS(shuffle_axis, node->node)->axis;
    int dims = inputs[0]->dims;

    (void)type; /* objects have none */
    return gr_type_is_unsized(inputs[0])
               ? gr_fail(GRANARY_EINVAL, "how large its input '%.100s' is turns out only when it has run",
                         node->node->inputs[0])
           : axis < -dims || axis >= dims
               ? gr_fail(GRANARY_EINVAL, "parameter 'axis' is %lld, and there are %d dimensions", (long long)axis, dims)
               : GRANARY_OK;
}

const struct gr_operator gr_op_shuffle_axis = {.infer = infer_shuffle_axis};

/* Rows of all r: those of the last block may be fewer. Errors: EINVAL */
static granary_err
count_factors(const struct gr_node_type *a, int64_t block, int64_t *ret_whole, int64_t *ret_last)
{
    granary_err err = check_matrix(a);

    if (err == GRANARY_OK && block < a->shape[1]) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'block' is %lld, and there are %lld columns", (long long)block,
                      (long long)a->shape[1]);
    }
    if (err == GRANARY_OK) {
        *ret_whole = a->shape[0] / block;
        *ret_last = a->shape[0] % block < a->shape[1] ? a->shape[0] % block : a->shape[1];
    }
    return err;
}

static granary_err
infer_qr_partial(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    int64_t n = inputs[0]->shape[1], whole, last;
    granary_err err = count_factors(inputs[0], GR_NODE_PARAMS(qr_partial, node->node)->block, &whole, &last);

    return err == GRANARY_OK ? set_matrix(type, GRANARY_FLOAT64, whole, n, last, n) : err;
}

const struct gr_operator gr_op_qr_partial = {.infer = infer_qr_partial};

static granary_err
infer_qr_combine(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_node_type *a = inputs[0];
    bool q = GR_NODE_PARAMS(qr_combine, node->node)->part[0] == 'q';
    int64_t least = a->shape[0] < a->shape[1] ? a->shape[0] : a->shape[1];
    granary_err err = check_matrix(a);

    return err == GRANARY_OK ? set_matrix(type, GRANARY_FLOAT64, 1, q ? a->shape[0] : least, 0, q ? least : a->shape[1])
                             : err;
}

const struct gr_operator gr_op_qr_combine = {.infer = infer_qr_combine};

static granary_err
infer_qr_apply(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_params_qr_apply *params = GR_NODE_PARAMS(qr_apply, node->node);
    const struct gr_node_type *a = inputs[0], *q = inputs[1];
    int64_t whole, last, from, to, needs;
    granary_err err = count_factors(a, params->block, &whole, &last);

    if (err == GRANARY_OK) {
        err = check_matrix(q);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (params->part >= params->parts) {
        return gr_fail(GRANARY_EINVAL, "parameter 'part' is %lld of %lld parts", (long long)params->part,
                       (long long)params->parts);
    }
    from = gr_tensor_part(params->rows, params->part, params->parts, params->align);
    to = gr_tensor_part(params->rows, params->part + 1, params->parts, params->align);
    if (to - from != a->shape[0] || from % params->block != 0) {
        return gr_fail(
            GRANARY_EINVAL, "parameter 'rows': the input of %lld rows is not part %lld of %lld, in blocks of %lld rows",
            (long long)a->shape[0], (long long)params->part, (long long)params->parts, (long long)params->block);
    }
    if (__builtin_mul_overflow(from / params->block + whole, a->shape[1], &needs) || q->shape[1] != a->shape[1] ||
        q->dtype != GRANARY_FLOAT64 || q->shape[0] - last < needs) {
        return gr_fail(GRANARY_EINVAL, "the second input is no q of so many blocks");
    }
    *type = (struct gr_node_type){.dtype = GRANARY_FLOAT64, .dims = 2, .shape = {a->shape[0], a->shape[1]}};
    return GRANARY_OK;
}

const struct gr_operator gr_op_qr_apply = {.infer = infer_qr_apply};
