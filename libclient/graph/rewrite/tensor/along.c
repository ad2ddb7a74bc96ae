/* Vectors along one another (convolve, correlate), and positions along an axis (take_along_axis, put_along_axis). */
#include <string.h>

#include "base/error.h"
#include "graph/infer/private.h"
#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

/* ---- convolve, correlate ---- */

static granary_err
infer_convolve(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const char *mode = GR_NODE_PARAMS(convolve, node->node)->mode;
    int64_t a = inputs[0]->shape[0], b = inputs[1]->shape[0], least = a < b ? a : b, most = a < b ? b : a;
    struct infer_shown shown, other;

    if (inputs[0]->dims != 1 || inputs[1]->dims != 1 || least < 1) {
        return gr_fail(GRANARY_EINVAL, "it needs two vectors that are not empty, not tensors of shapes %s and %s",
                       infer_show_type(inputs[0], &shown), infer_show_type(inputs[1], &other));
    }
    type->dtype = gr_dtype_promote(inputs[0]->dtype, inputs[1]->dtype);
    if (gr_dtype_is_complex(type->dtype)) {
        return gr_fail(GRANARY_ETYPE, "it takes real numbers; convolve real and imag by themselves");
    }
    type->dims = 1;
    type->shape[0] = mode[0] == 'f' ? most + least - 1 : mode[0] == 's' ? most : most - least + 1;
    return infer_count(1, type->shape, &a);
}

const struct gr_operator gr_op_convolve = {.infer = infer_convolve};

/* With the second vector backwards. NumPy's 'same' of a longer second one begins an element later. */
static struct gr_node *
rewrite_correlate(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0), *b = rewrite_input(x, 1);
    const char *mode = rewrite_param_text(x, "mode");
    int64_t n = a->type.shape[0], m = b->type.shape[0], axis = 0;
    bool later = mode[0] == 's' && a->type.dims == 1 && b->type.dims == 1 && n < m;

    b = b->type.dims == 1 ? rewrite_add(x, GR_TILE_flip, b, NULL, rewrite_ints(x, "axes", &axis, 1), NULL) : b;
    a = rewrite_add(x, GR_TILE_convolve, a, b, rewrite_string(x, "mode", later ? "full" : mode), NULL);
    return later ? rewrite_add(x, GR_TILE_getitem, a, NULL,
                               rewrite_string(x, "index",
                                              rewrite_text(x, "%lld:%lld", (long long)(n / 2), (long long)(n / 2 + m))),
                               NULL)
                 : a;
}

const struct gr_operator gr_op_correlate = {.rewrite = rewrite_correlate};

/* ---- positions along an axis ---- */

static granary_err
infer_along_at(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    int64_t axis = GR_NODE_PARAMS(take_along_axis, node->node)->axis; /* put_along_axis has it, too */
    struct infer_shown shown, other;

    if (axis < -inputs[0]->dims || axis >= inputs[0]->dims || inputs[1]->dims != inputs[0]->dims) {
        return gr_fail(
            GRANARY_EINVAL,
            "positions of shape %s do not fit axis %lld of a tensor of shape %s: both have as many dimensions",
            infer_show_type(inputs[1], &shown), (long long)axis, infer_show_type(inputs[0], &other));
    }
    if (!gr_dtype_is_integer(inputs[1]->dtype)) {
        return gr_fail(GRANARY_ETYPE, "positions are integers, not %s", granary_dtype_name(inputs[1]->dtype));
    }
    *type = node->input_count == 3 ? *inputs[0] : *inputs[1];
    type->dtype = inputs[0]->dtype;
    return GRANARY_OK;
}

/* The input with the same size as the others but for the axis; the node itself when it has it. */
static struct gr_node *
widened(struct rewrite *x, struct gr_node *a, const int64_t *sides, int axis, int64_t own)
{
    int64_t shape[8];

    memcpy(shape, sides, sizeof shape);
    shape[axis] = own;
    return memcmp(shape, a->type.shape, (size_t)a->type.dims * sizeof shape[0]) == 0
               ? a
               : rewrite_add(x, GR_TILE_broadcast_to, a, NULL, rewrite_ints(x, "shape", shape, (size_t)a->type.dims),
                             NULL);
}

/* Positions and values as wide as kernels take them. */
static struct gr_node *
rewrite_along_at(struct rewrite *x)
{
    struct gr_node *inputs[3] = {rewrite_input(x, 0), rewrite_input(x, 1)};
    const struct gr_node_type *whole = &inputs[0]->type, *at = &inputs[1]->type;
    bool put = rewrite_inputs(x) == 3, same = true;
    int64_t sides[8] = {0};
    int axis;

    if (at->dims != whole->dims || whole->dims == 0) {
        return x->node; /* fails there */
    }
    axis = rewrite_axis(x, "axis", whole->dims);
    for (int d = 0; d < whole->dims; d++) {
        sides[d] = whole->shape[d] == 1 && !put ? at->shape[d] : whole->shape[d];
        if (d != axis && at->shape[d] != sides[d] && at->shape[d] != 1) {
            return rewrite_fail(x, "%lld positions along dimension %d do not fit %lld elements",
                                (long long)at->shape[d], d, (long long)whole->shape[d]);
        }
    }
    inputs[0] = widened(x, inputs[0], sides, axis, whole->shape[axis]);
    inputs[1] = widened(x, inputs[1], sides, axis, at->shape[axis]);
    if (put) {
        inputs[2] = rewrite_astype(x, rewrite_input(x, 2), whole->dtype);
        if (inputs[2]->type.dims != whole->dims ||
            memcmp(inputs[2]->type.shape, inputs[1]->type.shape, (size_t)whole->dims * sizeof sides[0]) != 0) {
            inputs[2] = rewrite_add(x, GR_TILE_broadcast_to, inputs[2], NULL,
                                    rewrite_ints(x, "shape", inputs[1]->type.shape, (size_t)whole->dims), NULL);
        }
    }
    for (size_t k = 0; k < rewrite_inputs(x); k++) {
        same = same && inputs[k] == rewrite_input(x, k);
    }
    if (same) {
        return x->node;
    }
    rewrite_set(x, rewrite_int(x, "axis", axis));
    return rewrite_add_many(x, (enum gr_tile_op)x->node->op, inputs, rewrite_inputs(x));
}

const struct gr_operator gr_op_take_along_axis = {.infer = infer_along_at, .rewrite = rewrite_along_at};
const struct gr_operator gr_op_put_along_axis = {.infer = infer_along_at, .rewrite = rewrite_along_at};
