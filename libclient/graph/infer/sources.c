/* Types of tensors that are made of nothing, and of stored ones. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "data/frame.h"
#include "graph/infer/private.h"
#include "graph/operator.h"
#include "graph/tensor/map.h"
#include "graph/tensor/random.h"
#include "graph/tensor/types.h"

granary_err
infer_array(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_params_array *params = GR_NODE_PARAMS(array, node->node);
    const Granary__Attr *shape = params->shape;
    const Granary__Attr *chunk = params->chunk;
    const Granary__Attr *ids = params->ids;
    int64_t blocks = 1;
    int64_t count;
    granary_err err;

    (void)inputs;
    if (ids == NULL || shape == NULL) {
        return gr_fail(GRANARY_EINVAL, "parameter 'name': what a scheduler keeps is known to it alone");
    }
    err = shape->n_ints == 0 ? GRANARY_OK : infer_read_shape(shape, type);

    type->dtype = params->dtype == NULL ? GRANARY_NULLTYPE : gr_tensor_dtype_parse(params->dtype);
    if (err == GRANARY_OK && !gr_tensor_dtype_valid(type->dtype)) {
        return gr_fail(GRANARY_EINVAL,
                       "parameter 'dtype' is none of bool, integers, float32, float64, complex64 and complex128");
    }
    if (err == GRANARY_OK && (err = infer_count(type->dims, type->shape, &count)) == GRANARY_OK) {
        err = infer_check_chunk(node, type);
    }
    for (int d = 0; d < type->dims && chunk != NULL && err == GRANARY_OK; d++) {
        blocks *= type->shape[d] == 0 ? 1 : (type->shape[d] - 1) / chunk->ints[d] + 1;
        err = blocks > INT32_MAX ? gr_fail(GRANARY_EINVAL, "parameter 'chunk' makes too many blocks") : GRANARY_OK;
    }
    if (err == GRANARY_OK && (size_t)blocks != ids->n_strings) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'ids' has %zu objects for %lld blocks", ids->n_strings,
                      (long long)blocks);
    }
    return err;
}

/* The dtype of that name; NULL: the fallback. */
static granary_err
read_dtype(const char *name, granary_dtype fallback, granary_dtype *ret_dtype)
{
    *ret_dtype = name == NULL ? fallback : gr_tensor_dtype_parse(name);
    return gr_tensor_dtype_valid(*ret_dtype)
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL,
                         "dtype '%.40s' is none of bool, integers, float32, float64, complex64 and complex128",
                         name == NULL ? granary_dtype_name(fallback) : name);
}

/* Tensors of one value, and the diagonals and triangles of it. */
static granary_err
infer_full(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_node_type *input = node->input_count > 0 ? inputs[0] : NULL;
    const struct gr_params_full *params = GR_NODE_PARAMS(full, node->node); /* as far as it has them */
    const Granary__Attr *shape = params->shape;
    const Granary__Attr *value = params->value;
    granary_dtype fallback = input != NULL                                                 ? input->dtype
                             : value != NULL && gr_attr_is_complex(value)                  ? GRANARY_COMPLEX128
                             : value != NULL && value->kind == GRANARY__ATTR__KIND__STRING ? GRANARY_UINT64
                             : value != NULL && value->kind == GRANARY__ATTR__KIND__INT    ? GRANARY_INT64
                                                                                           : GRANARY_FLOAT64;
    int64_t count;
    granary_err err = GRANARY_OK;

    if (input != NULL) {
        type->dims = input->dims;
        memcpy(type->shape, input->shape, sizeof type->shape);
    } else if (shape != NULL) {
        err = shape->n_ints == 0 ? GRANARY_OK : infer_read_shape(shape, type);
    } else {
        const struct gr_params_eye *eye = GR_NODE_PARAMS(eye, node->node); /* or tri */

        type->dims = 2;
        type->shape[0] = eye->rows;
        type->shape[1] = eye->columns == NULL ? eye->rows : *eye->columns;
    }
    if (err == GRANARY_OK) {
        err = read_dtype(params->dtype, fallback, &type->dtype);
    }
    if (err == GRANARY_OK && value != NULL && !gr_number_fits(value, type->dtype)) {
        err = gr_number_misfit(value, type->dtype);
    }
    if (err == GRANARY_OK && (node->op == GR_TILE_triu || node->op == GR_TILE_tril) && type->dims < 2) {
        err = gr_fail(GRANARY_EINVAL, "it needs a tensor of 2 dimensions or more, not of %d", type->dims);
    }
    if (err == GRANARY_OK && (err = infer_count(type->dims, type->shape, &count)) == GRANARY_OK) {
        err = infer_check_chunk(node, type);
    }
    return err;
}

#define FULL(name) const struct gr_operator gr_op_##name = {.infer = infer_full};
FULL(zeros)
FULL(ones)
FULL(empty)
FULL(full)
FULL(eye)
FULL(tri)
FULL(zeros_like)
FULL(ones_like)
FULL(empty_like)
FULL(full_like)
FULL(triu)
FULL(tril)
#undef FULL

static granary_err
infer_linspace(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    int64_t count = GR_NODE_PARAMS(linspace, node->node)->count;

    (void)inputs;
    if (count > INT64_MAX / 16) {
        return gr_fail(GRANARY_EINVAL, "parameter 'count' cannot be %lld", (long long)count);
    }
    *type = (struct gr_node_type){.dtype = GRANARY_FLOAT64, .dims = 1, .shape = {count}};
    return infer_check_chunk(node, type);
}

const struct gr_operator gr_op_linspace = {.infer = infer_linspace};

static granary_err
check_random(const Granary__Node *node, enum gr_tile_op op)
{
    struct gr_random random;

    (void)op;
    return gr_random_read(&(struct gr_params){GR_TILE_random, node->attrs, node->n_attrs}, &random);
}

/* Rows are as long as they have numbers. */
static granary_err
check_row(const struct gr_random *random, const struct gr_node_type *type)
{
    bool fits = random->width == 0 || (type->dims > 0 && type->shape[type->dims - 1] == (int64_t)random->width);
    struct infer_shown shown;

    return fits ? GRANARY_OK
                : gr_fail(GRANARY_EINVAL, "parameter 'shape' is %s; its last dimension is a row of %zu numbers",
                          infer_show_type(type, &shown), random->width);
}

static granary_err
infer_random(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_params params = gr_node_params(node);
    struct gr_random random;
    int64_t count;
    granary_err err = infer_read_shape(infer_find(node, "shape"), type);

    (void)inputs;
    if (err == GRANARY_OK) {
        err = gr_random_read(&params, &random);
    }
    if (err == GRANARY_OK) {
        type->dtype = random.dtype;
        err = check_row(&random, type);
    }
    if (err == GRANARY_OK && (err = infer_count(type->dims, type->shape, &count)) == GRANARY_OK) {
        err = infer_check_chunk(node, type);
    }
    return err;
}

const struct gr_operator gr_op_random = {.check = check_random, .infer = infer_random};

static granary_err
check_arange(const Granary__Node *node, enum gr_tile_op op)
{
    const struct gr_params_arange *params = GR_NODE_PARAMS(arange, node);

    (void)op;
    if (!isfinite(params->start) || !isfinite(params->stop) || !isfinite(params->step)) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' is not finite",
                       !isfinite(params->start)  ? "start"
                       : !isfinite(params->stop) ? "stop"
                                                 : "step");
    }
    return params->step == 0 ? gr_fail(GRANARY_EINVAL, "parameter 'step' cannot be 0") : GRANARY_OK;
}

static bool
is_int(const struct gr_node *node, const char *name)
{
    const Granary__Attr *attr = infer_find(node, name);

    return attr == NULL || attr->kind == GRANARY__ATTR__KIND__INT;
}

/* Elements from start before stop. Errors: EINVAL too many */
static granary_err
count_range(const struct gr_node *node, granary_dtype dtype, int64_t *ret_count)
{
    Granary__Attr *const *attrs = node->node->attrs;
    size_t n = node->node->n_attrs;
    double count;

    if (dtype == GRANARY_INT64) {
        gr_int128 start = gr_attr_int(attrs, n, "start", 0);
        gr_int128 stop = gr_attr_int(attrs, n, "stop", 0);
        gr_int128 step = gr_attr_int(attrs, n, "step", 1);
        gr_int128 whole = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;

        count = whole > 0 ? (double)whole : 0;
        *ret_count = whole > 0 && whole < INT64_MAX / 16 ? (int64_t)whole : 0;
    } else {
        const struct gr_params_arange *params = GR_NODE_PARAMS(arange, node->node);

        count = ceil((params->stop - params->start) / params->step);
        *ret_count = count > 0 && count < (double)(INT64_MAX / 16) ? (int64_t)count : 0;
    }
    if (!(count < (double)(INT64_MAX / 16))) {
        return gr_fail(GRANARY_EINVAL, "%g elements are more than any memory holds", count);
    }
    return GRANARY_OK;
}

static granary_err
infer_arange(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const Granary__Attr *shape = infer_find(node, "shape");
    int64_t elements = 0;
    int64_t count = 0;
    granary_err err;

    (void)inputs;
    type->dtype =
        is_int(node, "start") && is_int(node, "stop") && is_int(node, "step") ? GRANARY_INT64 : GRANARY_FLOAT64;
    if ((err = count_range(node, type->dtype, &count)) != GRANARY_OK) {
        return err;
    }
    type->dims = 1;
    type->shape[0] = count;
    if (shape != NULL) {
        if ((err = infer_read_shape(shape, type)) != GRANARY_OK ||
            (err = infer_count(type->dims, type->shape, &elements)) != GRANARY_OK) {
            return err;
        }
        if (elements != count) {
            struct infer_shown shown;

            return gr_fail(GRANARY_EINVAL, "the range has %lld elements, which do not fill shape %s", (long long)count,
                           infer_show_type(type, &shown));
        }
    }
    return infer_check_chunk(node, type);
}

const struct gr_operator gr_op_arange = {.check = check_arange, .infer = infer_arange};
