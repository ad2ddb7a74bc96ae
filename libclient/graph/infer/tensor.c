/* Shapes and dtypes of what the tensor operators yield. */
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/infer/private.h"
#include "graph/operator.h"
#include "graph/tensor/map.h"
#include "graph/view/view.h"

/* NumPy's broadcasting: aligned at the last dimension, 1 stretches. */
static granary_err
broadcast(const struct gr_node_type *left, const struct gr_node_type *right, struct gr_node_type *type)
{
    int dims = left->dims > right->dims ? left->dims : right->dims;
    int64_t count;

    for (int i = 1; i <= dims; i++) {
        int64_t l = i <= left->dims ? left->shape[left->dims - i] : 1;
        int64_t r = i <= right->dims ? right->shape[right->dims - i] : 1;

        if (l != r && l != 1 && r != 1) { /* a size that is unknown fits another such, as far as can be told */
            struct infer_shown left_shown;
            struct infer_shown right_shown;

            return gr_fail(GRANARY_EINVAL, "shapes %s and %s do not fit together", infer_show_type(left, &left_shown),
                           infer_show_type(right, &right_shown));
        }
        type->shape[dims - i] = l == 1 ? r : l;
    }
    type->dims = dims;
    return infer_count(dims, type->shape, &count);
}

static granary_err
infer_map(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    granary_dtype dtypes[GR_PROGRAM_INPUTS];
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < node->input_count && err == GRANARY_OK; i++) {
        const struct gr_node_type so_far = *type;

        dtypes[i] = inputs[i]->dtype;
        err = broadcast(&so_far, inputs[i], type);
    }
    return err == GRANARY_OK ? gr_map_dtype((enum gr_tile_op)node->op, node->node->attrs, node->node->n_attrs, dtypes,
                                            node->input_count, &type->dtype)
                             : err;
}

granary_err
infer_read_axes(const Granary__Attr *axes, int dims, bool ret_reduced[8])
{
    for (int i = 0; i < dims; i++) {
        ret_reduced[i] = axes == NULL;
    }
    for (size_t i = 0; axes != NULL && i < axes->n_ints; i++) {
        int64_t axis = axes->ints[i];

        if (axis < -dims || axis >= dims) {
            return gr_fail(GRANARY_EINVAL, "parameter 'axes': there is no axis %lld in a tensor of %d dimension%s",
                           (long long)axis, dims, dims == 1 ? "" : "s");
        }
        axis = axis < 0 ? axis + dims : axis;
        if (ret_reduced[axis]) {
            return gr_fail(GRANARY_EINVAL, "parameter 'axes' names axis %lld twice", (long long)axis);
        }
        ret_reduced[axis] = true;
    }
    return GRANARY_OK;
}

#define TENSOR_UNARY(name, rule, summary)                                                                              \
    const struct gr_operator gr_op_##name = {.traits = GR_OP_TAKES_UNSIZED, .check = gr_map_check, .infer = infer_map};
#define TENSOR_BINARY(name, rule, summary) TENSOR_UNARY(name, rule, summary)
#include "contract/ops/tensor_functions.def"
TENSOR_UNARY(astype, , )
TENSOR_UNARY(where, , )
TENSOR_UNARY(clip, , )
TENSOR_UNARY(nan_to_num, , )
TENSOR_UNARY(round, , )
TENSOR_UNARY(isclose, , )
#undef TENSOR_UNARY
#undef TENSOR_BINARY

/* What a reduction makes of a tensor of that type. */
static granary_err
reduced_type(enum gr_reduction reduction, const Granary__Attr *axes, bool keep, const struct gr_node_type *input,
             struct gr_node_type *type)
{
    int64_t per_result = 1;
    int64_t results = 1;
    bool reduced[DIMS_MAX];
    granary_err err = infer_read_axes(axes, input->dims, reduced);

    if (err != GRANARY_OK) {
        return err;
    }
    for (int i = 0; i < input->dims; i++) {
        per_result = reduced[i] && input->shape[i] == 0 ? 0 : per_result;
        if (!reduced[i]) {
            results *= input->shape[i] == 0 ? 0 : 1;
            type->shape[type->dims++] = input->shape[i];
        } else if (keep) {
            type->shape[type->dims++] = 1;
        }
    }
    if (per_result == 0 && results > 0 && gr_reduction_needs_elements(reduction)) {
        return gr_fail(GRANARY_EINVAL, "there is no %s of no elements", gr_reduction_name(reduction));
    }
    if (gr_reduction_how(reduction) == GR_REDUCE_BY_ARG && axes != NULL && axes->n_ints != 1) {
        return gr_fail(GRANARY_EINVAL, "parameter 'axes' names %zu axes; one is possible, or all by leaving it out",
                       axes->n_ints);
    }
    type->dtype = gr_reduction_dtype(reduction, input->dtype);
    return GRANARY_OK;
}

static granary_err
infer_reduce(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_params_sum *params = GR_NODE_PARAMS(sum, node->node); /* all reductions have these */

    return reduced_type(gr_op_reduction((enum gr_tile_op)node->op), params->axes, params->keepdims, inputs[0], type);
}

#define TENSOR_REDUCTION(name, how, gives, summary)                                                                    \
    const struct gr_operator gr_op_##name = {                                                                          \
        .traits = GR_REDUCE_BY_##how == GR_REDUCE_BY_ARG ? 0 : GR_OP_TAKES_UNSIZED, .infer = infer_reduce};
#include "contract/ops/tensor_reductions.def"
#undef TENSOR_REDUCTION

/* ---- a reduction in two halves ---- */

/* The function, and the type of the whole. Errors: EINVAL */
static granary_err
check_halves(const Granary__Node *node, enum gr_tile_op op)
{
    const char *function = GR_NODE_PARAMS(reduce_partial, node)->function; /* as both have it */

    (void)op;
    return gr_reduction_find(function) == GR_REDUCE_COUNT
               ? gr_fail(GRANARY_EINVAL, "parameter 'function': there is no reduction '%.60s'", function)
               : GRANARY_OK;
}

/* The other axes' results would be in several places, and need no second half. */
static granary_err
check_first_axis(const Granary__Attr *axes, int dims)
{
    bool reduced[DIMS_MAX];
    granary_err err = infer_read_axes(axes, dims, reduced);

    return err == GRANARY_OK && (dims == 0 || !reduced[0])
               ? gr_fail(GRANARY_EINVAL, "parameter 'axes': the first axis must be among them")
               : err;
}

/* Whether an input is that part of the whole. */
static granary_err
check_part(const struct gr_params_reduce_partial *params, const struct gr_node_type *input)
{
    struct gr_node_type whole = {.dims = 0};
    granary_err err = GRANARY_OK;
    bool fits;

    if (params->part >= params->parts) {
        return gr_fail(GRANARY_EINVAL, "parameter 'part' is %lld of %lld parts", (long long)params->part,
                       (long long)params->parts);
    }
    if (params->shape == NULL) {
        return gr_reduction_how(gr_reduction_find(params->function)) == GR_REDUCE_BY_ARG && params->parts > 1
                   ? gr_fail(GRANARY_EINVAL, "parameter 'shape' is missing: %s gives a position in the whole",
                             params->function)
                   : GRANARY_OK;
    }
    err = infer_read_shape(params->shape, &whole);
    fits = err == GRANARY_OK && whole.dims == input->dims &&
           memcmp(whole.shape + 1, input->shape + 1, (size_t)(whole.dims - 1) * sizeof *whole.shape) == 0 &&
           gr_tensor_part(whole.shape[0], params->part + 1, params->parts, params->align) -
                   gr_tensor_part(whole.shape[0], params->part, params->parts, params->align) ==
               input->shape[0];
    return err == GRANARY_OK && !fits
               ? gr_fail(GRANARY_EINVAL, "parameter 'shape': the input is not part %lld of %lld of such a tensor",
                         (long long)params->part, (long long)params->parts)
               : err;
}

static granary_err
infer_reduce_partial(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_params_reduce_partial *params = GR_NODE_PARAMS(reduce_partial, node->node);
    const struct gr_node_type *input = inputs[0];
    granary_err err = check_first_axis(params->axes, input->dims);

    (void)type; /* objects have none */
    if (err == GRANARY_OK && gr_dtype_is_complex(input->dtype)) {
        err = gr_complex_refuse("a reduction", input->dtype);
    }
    if (err == GRANARY_OK && gr_type_is_unsized(input)) {
        err = gr_fail(GRANARY_EINVAL, "how large its input '%.100s' is turns out only when it has run",
                      node->node->inputs[0]);
    }
    return err == GRANARY_OK ? check_part(params, input) : err;
}

const struct gr_operator gr_op_reduce_partial = {.check = check_halves, .infer = infer_reduce_partial};

static granary_err
infer_reduce_combine(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_params_reduce_combine *params = GR_NODE_PARAMS(reduce_combine, node->node);
    struct gr_node_type whole = {.dtype = gr_tensor_dtype_parse(params->dtype)};
    int64_t count;
    granary_err err = infer_read_shape(params->shape, &whole);

    (void)inputs;
    err = err == GRANARY_OK ? infer_count(whole.dims, whole.shape, &count) : err;
    if (err == GRANARY_OK && !gr_tensor_dtype_good(whole.dtype)) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'dtype': there is no reduction of '%.60s'", params->dtype);
    }
    if (err == GRANARY_OK) {
        err = check_first_axis(params->axes, whole.dims);
    }
    return err == GRANARY_OK
               ? reduced_type(gr_reduction_find(params->function), params->axes, params->keepdims, &whole, type)
               : err;
}

const struct gr_operator gr_op_reduce_combine = {.check = check_halves, .infer = infer_reduce_combine};

static granary_err
infer_bincount(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    int64_t length = GR_NODE_PARAMS(bincount, node->node)->length;
    struct infer_shown shown, other;

    if (inputs[0]->dtype != GRANARY_BOOL && !gr_dtype_is_integer(inputs[0]->dtype)) {
        return gr_fail(GRANARY_ETYPE, "it counts integers, not %s", granary_dtype_name(inputs[0]->dtype));
    }
    if (length < 0 || length > (1 << 24)) {
        return gr_fail(GRANARY_EINVAL, "parameter 'length' is %lld; it can be 0 to %d", (long long)length, 1 << 24);
    }
    if (node->input_count == 2 && (inputs[0]->dims != inputs[1]->dims ||
                                   memcmp(inputs[0]->shape, inputs[1]->shape, (size_t)inputs[0]->dims * 8) != 0)) {
        return gr_fail(GRANARY_EINVAL, "weights of shape %s do not fit shape %s", infer_show_type(inputs[1], &shown),
                       infer_show_type(inputs[0], &other));
    }
    *type = (struct gr_node_type){
        .dtype = node->input_count == 2 ? GRANARY_FLOAT64 : GRANARY_INT64, .dims = 1, .shape = {length}};
    return GRANARY_OK;
}

const struct gr_operator gr_op_bincount = {.infer = infer_bincount};

/* Several dtypes are promoted in two turns, floats first, as NumPy does: int8, uint16 and float32 make float32 in any
 * order, though int8 and uint16 alone make int32. */
bool
infer_is_turn_of(granary_dtype dtype, bool first)
{
    return (gr_dtype_is_float(dtype) || gr_dtype_is_complex(dtype)) == first;
}

granary_err
infer_view(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    enum gr_tile_op op = (enum gr_tile_op)node->op;
    struct gr_view view;
    int64_t count;
    granary_err err = gr_view_make(op, node->node->attrs, node->node->n_attrs, inputs, node->input_count, &view);

    if (err == GRANARY_OK) {
        gr_view_shape(&view, &type->dims, type->shape);
        err = infer_count(type->dims, type->shape, &count);
    }
    gr_view_fini(&view);
    type->dtype = inputs[0]->dtype;
    for (size_t turn = 0; turn < 2 * node->input_count && err == GRANARY_OK; turn++) {
        size_t i = turn % node->input_count;

        if (!gr_tensor_dtype_valid(inputs[i]->dtype)) {
            err = gr_fail(GRANARY_ETYPE, "input %zu is a tensor of %s", i, granary_dtype_name(inputs[i]->dtype));
        } else if (op == GR_TILE_setitem && gr_dtype_is_complex(inputs[i]->dtype) &&
                   !gr_dtype_is_complex(inputs[0]->dtype)) {
            err = gr_fail(GRANARY_ETYPE, "%s does not become %s: `real`, `imag` and `absolute` give floats",
                          granary_dtype_name(inputs[i]->dtype), granary_dtype_name(inputs[0]->dtype));
        } else if (op != GR_TILE_setitem && infer_is_turn_of(inputs[i]->dtype, turn < node->input_count)) {
            type->dtype = gr_dtype_promote(type->dtype, inputs[i]->dtype);
        }
    }
    return err == GRANARY_OK && op == GR_TILE_rechunk ? infer_check_chunk(node, type) : err;
}

#define TENSOR_VIEW(name, min, max, summary)    const struct gr_operator gr_op_##name = {.infer = infer_view};
#define TENSOR_INDEXED(name, min, max, summary) /* rewrite/positions.c */
#include "contract/ops/tensor_views.def"
#undef TENSOR_VIEW

granary_err
infer_along(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_node_type *input = inputs[0];
    enum gr_tile_op op = (enum gr_tile_op)node->op;
    bool quantile = false;
    int64_t axis = GR_NODE_PARAMS(topk, node->node)->axis; /* all of them have it */
    int64_t k = GR_NODE_PARAMS(topk, node->node)->k;
    int64_t n = GR_NODE_PARAMS(diff, node->node)->n;

    *type = *input;
    switch (op) {
    case GR_TILE_argsort:
    case GR_TILE_argtopk:
        type->dtype = GRANARY_INT64;
        break;
    case GR_TILE_cumsum:
    case GR_TILE_cumprod:
        type->dtype = gr_dtype_of_sum(input->dtype);
        break;
    case GR_TILE_tensor_sort:
    case GR_TILE_topk:
    case GR_TILE_cummax:
    case GR_TILE_cummin:
    case GR_TILE_diff:
        break;
    default:
        quantile = true;
        type->dtype = gr_dtype_is_float(input->dtype) ? input->dtype : GRANARY_FLOAT64;
    }
    if (quantile && infer_find(node, "axis") == NULL) {
        type->dims = 0;
        return GRANARY_OK;
    }
    if (axis < -input->dims || axis >= input->dims) {
        return gr_fail(GRANARY_EINVAL, "parameter 'axis': there is no axis %lld in a tensor of %d dimension%s",
                       (long long)axis, input->dims, input->dims == 1 ? "" : "s");
    }
    axis = axis < 0 ? axis + input->dims : axis;
    if (op == GR_TILE_diff) {
        type->shape[axis] = input->shape[axis] > n ? input->shape[axis] - n : 0;
    } else if (op == GR_TILE_topk || op == GR_TILE_argtopk) {
        type->shape[axis] = k < input->shape[axis] ? k : input->shape[axis];
    } else if (quantile) {
        type->dims--;
        for (int64_t d = axis; d < type->dims; d++) {
            type->shape[d] = type->shape[d + 1];
        }
    }
    return GRANARY_OK;
}

#define ALONG(name) const struct gr_operator gr_op_##name = {.infer = infer_along};
ALONG(tensor_sort)
ALONG(argsort)
ALONG(topk)
ALONG(argtopk)
ALONG(cumsum)
ALONG(cumprod)
ALONG(cummax)
ALONG(cummin)
ALONG(diff)
ALONG(median)
ALONG(nanmedian)
#undef ALONG

static granary_err
infer_reshape(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_node_type *input = inputs[0];
    const Granary__Attr *shape = infer_find(node, "shape");
    int64_t elements, count, known = 1;
    int left = -1;
    struct infer_shown from;
    granary_err err = infer_count(input->dims, input->shape, &elements);

    type->dtype = input->dtype;
    if (err != GRANARY_OK || shape == NULL) {
        type->dims = 1;
        type->shape[0] = elements;
        return err;
    }
    if (shape->n_ints > DIMS_MAX) {
        return gr_fail(GRANARY_EINVAL, "parameter 'shape' has %zu dimensions; at most %d are possible", shape->n_ints,
                       DIMS_MAX);
    }
    type->dims = (int)shape->n_ints;
    for (int d = 0; d < type->dims; d++) {
        type->shape[d] = shape->ints[d];
        if (shape->ints[d] == -1 && left < 0) {
            left = d;
        } else if (shape->ints[d] < 0 || __builtin_mul_overflow(known, shape->ints[d], &known)) {
            return gr_fail(GRANARY_EINVAL, "parameter 'shape' has %lld elements along dimension %d",
                           (long long)shape->ints[d], d);
        }
    }
    if (left >= 0 && known > 0 && elements % known == 0) {
        type->shape[left] = elements / known;
    }
    if (type->dims > 0 && left >= 0 && type->shape[left] < 0) {
        return gr_fail(GRANARY_EINVAL, "a tensor of shape %s has no whole number of elements left for -1",
                       infer_show_type(input, &from));
    }
    err = infer_count(type->dims, type->shape, &count);
    if (err == GRANARY_OK && count != elements) {
        struct infer_shown to;

        err = gr_fail(GRANARY_EINVAL, "a tensor of shape %s does not fill shape %s", infer_show_type(input, &from),
                      infer_show_type(type, &to));
    }
    return err;
}

const struct gr_operator gr_op_reshape = {.infer = infer_reshape};
const struct gr_operator gr_op_ravel = {.infer = infer_reshape};

static granary_err
infer_lookup(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    bool second = node->op == GR_TILE_searchsorted || node->op == GR_TILE_take_at;
    const struct gr_node_type *sought = inputs[second];
    const struct gr_node_type *table = inputs[!second];
    struct infer_shown shown;
    int64_t count;

    if (node->op != GR_TILE_take_at) {
        if (node->op != GR_TILE_isin && table->dims != 1) {
            return gr_fail(GRANARY_EINVAL, "it needs %s of one dimension, not of shape %s",
                           node->op == GR_TILE_digitize ? "bins" : "a sorted tensor", infer_show_type(table, &shown));
        }
        *type = *sought;
        type->dtype = node->op == GR_TILE_isin ? GRANARY_BOOL : GRANARY_INT64;
        return GRANARY_OK;
    }
    if (!gr_dtype_is_integer(sought->dtype)) {
        return gr_fail(GRANARY_ETYPE, "positions are integers, not %s", granary_dtype_name(sought->dtype));
    }
    if (table->dims < 1 || sought->dims + table->dims - 1 > DIMS_MAX) {
        return gr_fail(GRANARY_EINVAL, "positions of %d dimensions do not fit a tensor of shape %s", sought->dims,
                       infer_show_type(table, &shown));
    }
    *type = *sought;
    type->dtype = table->dtype;
    for (int d = 1; d < table->dims; d++) {
        type->shape[type->dims++] = table->shape[d];
    }
    return infer_count(type->dims, type->shape, &count);
}

#define LOOKUP(name) const struct gr_operator gr_op_##name = {.traits = GR_OP_TAKES_UNSIZED, .infer = infer_lookup};
LOOKUP(searchsorted)
LOOKUP(digitize)
LOOKUP(isin)
LOOKUP(take_at)
#undef LOOKUP
