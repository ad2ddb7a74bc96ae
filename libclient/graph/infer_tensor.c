/* Shapes and dtypes of what the tensor operators yield. */
#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "data/frame.h"
#include "graph/infer_private.h"
#include "graph/tensor_map.h"
#include "graph/user.h"
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
infer_map(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
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

/* Which dimensions the parameter "axes" of sum and mean reduces in a tensor of `dims` dimensions; without it all. */
static granary_err
read_axes(Granary__Attr *const *attrs, size_t count, int dims, bool ret_reduced[8])
{
    const Granary__Attr *axes = gr_attr_find(attrs, count, "axes");

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

static granary_err
infer_reduce(const struct gr_graph_node *node, const struct gr_node_type *input, struct gr_node_type *type)
{
    enum gr_reduction reduction = gr_op_reduction((enum gr_tile_op)node->op);
    const Granary__Attr *axes = infer_find(node, "axes");
    bool keep = gr_attr_bool(node->node->attrs, node->node->n_attrs, "keepdims", false);
    int64_t per_result = 1;
    int64_t results = 1;
    bool reduced[DIMS_MAX];
    granary_err err = read_axes(node->node->attrs, node->node->n_attrs, input->dims, reduced);

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
        return gr_fail(GRANARY_EINVAL, "there is no %s of no elements", gr_op_info((enum gr_tile_op)node->op)->name);
    }
    if (gr_reduction_how(reduction) == GR_REDUCE_BY_ARG && axes != NULL && axes->n_ints != 1) {
        return gr_fail(GRANARY_EINVAL, "parameter 'axes' names %zu axes; one is possible, or all by leaving it out",
                       axes->n_ints);
    }
    type->dtype = gr_reduction_dtype(reduction, input->dtype);
    return GRANARY_OK;
}

static granary_err
infer_bincount(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    int64_t length = infer_int(node, "length", 0);
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

/* Several dtypes are promoted in two turns, floats first, as NumPy does: int8, uint16 and float32 make float32 in any
 * order, though int8 and uint16 alone make int32. */
static bool
is_turn_of(granary_dtype dtype, bool first)
{
    return gr_dtype_is_float(dtype) == first;
}

static granary_err
infer_view(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
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

        if (!gr_tensor_dtype_good(inputs[i]->dtype)) {
            err = gr_fail(GRANARY_ETYPE, "input %zu is a tensor of %s", i, granary_dtype_name(inputs[i]->dtype));
        } else if (op != GR_TILE_setitem && is_turn_of(inputs[i]->dtype, turn < node->input_count)) {
            type->dtype = gr_dtype_promote(type->dtype, inputs[i]->dtype);
        }
    }
    return err == GRANARY_OK && op == GR_TILE_rechunk ? infer_check_chunk(node, type) : err;
}

static granary_err
infer_along(const struct gr_graph_node *node, const struct gr_node_type *input, struct gr_node_type *type)
{
    enum gr_tile_op op = (enum gr_tile_op)node->op;
    bool quantile = false;
    double most = op == GR_TILE_percentile || op == GR_TILE_nanpercentile ? 100 : 1;
    double q = gr_attr_double(node->node->attrs, node->node->n_attrs, "q", 0.5);
    const char *method = gr_attr_string(node->node->attrs, node->node->n_attrs, "method", "linear");
    int64_t axis = infer_int(node, "axis", -1);
    int64_t k = infer_int(node, "k", 0);
    int64_t n = infer_int(node, "n", 1);

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
    if (!(q >= 0 && q <= most)) {
        return gr_fail(GRANARY_EINVAL, "parameter 'q' is %g; it can be 0 to %g", q, most);
    }
    if (strcmp(method, "linear") != 0 && strcmp(method, "lower") != 0 && strcmp(method, "higher") != 0 &&
        strcmp(method, "nearest") != 0 && strcmp(method, "midpoint") != 0) {
        return gr_fail(GRANARY_EINVAL,
                       "parameter 'method' is '%.20s'; it can be 'linear', 'lower', 'higher', 'nearest', 'midpoint'",
                       method);
    }
    if (k < 0 || n < 0) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s' cannot be negative", k < 0 ? "k" : "n");
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

static granary_err
infer_reshape(const struct gr_graph_node *node, const struct gr_node_type *input, struct gr_node_type *type)
{
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

static granary_err
infer_lookup(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    bool second = node->op == GR_TILE_searchsorted || node->op == GR_TILE_take_at;
    const struct gr_node_type *sought = inputs[second];
    const struct gr_node_type *table = inputs[!second];
    const char *side = gr_attr_string(node->node->attrs, node->node->n_attrs, "side", "left");
    struct infer_shown shown;
    int64_t count;

    if (strcmp(side, "left") != 0 && strcmp(side, "right") != 0) {
        return gr_fail(GRANARY_EINVAL, "parameter 'side' is '%.20s'; it can be 'left' or 'right'", side);
    }
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

static granary_err
infer_to_tensor(const struct gr_graph_node *node, const struct gr_schema *schema, struct gr_node_type *type)
{
    const Granary__Attr *columns = infer_find(node, "columns");
    size_t count = columns != NULL ? columns->n_strings : schema->count;
    int64_t rows = infer_int(node, "rows", GR_SIZE_UNKNOWN);
    bool flat = gr_attr_bool(node->node->attrs, node->node->n_attrs, "flat", false);
    int64_t elements;

    if (flat && count > 1) {
        return gr_fail(GRANARY_EINVAL, "parameter 'flat' is for one column, not for %zu", count);
    }
    if ((rows < 0 && infer_find(node, "rows") != NULL) || count == 0) {
        return rows < 0 ? gr_fail(GRANARY_EINVAL, "parameter 'rows' cannot be negative")
                        : gr_fail(GRANARY_EINVAL, "there is no column");
    }
    for (size_t turn = 0; turn < 2 * count; turn++) {
        size_t c = turn % count;
        int at = columns != NULL ? gr_schema_find(schema, columns->strings[c]) : (int)c;
        const struct gr_field *field = at < 0 ? NULL : &schema->fields[at];

        if (field == NULL) {
            return gr_fail_in(gr_schema_no_column(schema, columns->strings[c]), "parameter 'columns'");
        }
        if (!gr_tensor_dtype_good(field->dtype)) {
            return gr_fail(GRANARY_ETYPE, "column '%.100s' is %s; tensors are of bool, integers and floats",
                           field->name, granary_dtype_name(field->dtype));
        }
        if (turn == 0) {
            type->dtype = field->dtype;
        } else if (is_turn_of(field->dtype, turn < count)) {
            type->dtype = gr_dtype_promote(type->dtype, field->dtype);
        }
    }
    type->dims = flat ? 1 : 2;
    type->shape[0] = rows;
    type->shape[1] = (int64_t)count;
    return infer_count(type->dims, type->shape, &elements);
}

/* Whether an operator makes do with an input whose size is not known before it has run. */
static bool
takes_unsized(enum gr_tile_op op)
{
    switch (op) {
    case GR_TILE_searchsorted:
    case GR_TILE_digitize:
    case GR_TILE_isin:
    case GR_TILE_take_at:
    case GR_TILE_map_chunk:
    case GR_TILE_unique:
    case GR_TILE_ptp:
        return true;
    default:
        return gr_op_is_map(op) ||
               (gr_op_reduction(op) != GR_REDUCE_COUNT && gr_reduction_how(gr_op_reduction(op)) != GR_REDUCE_BY_ARG);
    }
}

granary_err
infer_check_sizes(const struct gr_graph_node *node, const struct gr_node_type *const *inputs)
{
    for (size_t k = 0; k < node->input_count; k++) {
        if (inputs[k]->is_tensor && gr_type_is_unsized(inputs[k]) && !takes_unsized((enum gr_tile_op)node->op)) {
            return gr_fail(GRANARY_EINVAL,
                           "how large its input '%.100s' is turns out only when it has run: element-wise operators, "
                           "reductions and `from_tensor` take such a tensor, and so do other graphs when it is kept",
                           node->node->inputs[k]);
        }
    }
    return GRANARY_OK;
}

granary_err
infer_tensor(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    granary_err err = infer_check_sizes(node, inputs);

    if (err != GRANARY_OK) {
        return err;
    }
    if (gr_op_is_map((enum gr_tile_op)node->op)) {
        return infer_map(node, inputs, type);
    }
    if (gr_op_reduction((enum gr_tile_op)node->op) != GR_REDUCE_COUNT) {
        return infer_reduce(node, inputs[0], type);
    }
    if (gr_op_is_view((enum gr_tile_op)node->op)) {
        return infer_view(node, inputs, type);
    }
    switch (node->op) {
    case GR_TILE_searchsorted:
    case GR_TILE_digitize:
    case GR_TILE_isin:
    case GR_TILE_take_at:
        return infer_lookup(node, inputs, type);
    case GR_TILE_to_tensor:
        return infer_to_tensor(node, &inputs[0]->schema, type);
    case GR_TILE_zeros:
    case GR_TILE_ones:
    case GR_TILE_empty:
    case GR_TILE_full:
    case GR_TILE_eye:
    case GR_TILE_tri:
        return infer_full(node, NULL, type);
    case GR_TILE_zeros_like:
    case GR_TILE_ones_like:
    case GR_TILE_empty_like:
    case GR_TILE_full_like:
    case GR_TILE_triu:
    case GR_TILE_tril:
        return infer_full(node, inputs[0], type);
    case GR_TILE_tensor_sort:
    case GR_TILE_argsort:
    case GR_TILE_topk:
    case GR_TILE_argtopk:
    case GR_TILE_cumsum:
    case GR_TILE_cumprod:
    case GR_TILE_cummax:
    case GR_TILE_cummin:
    case GR_TILE_diff:
    case GR_TILE_median:
    case GR_TILE_nanmedian:
    case GR_TILE_tensor_quantile:
    case GR_TILE_nanquantile:
    case GR_TILE_percentile:
    case GR_TILE_nanpercentile:
        return infer_along(node, inputs[0], type);
    case GR_TILE_reshape:
    case GR_TILE_ravel:
        return infer_reshape(node, inputs[0], type);
    case GR_TILE_linspace:
        return infer_linspace(node, type);
    case GR_TILE_qr:
    case GR_TILE_svd:
    case GR_TILE_cholesky:
    case GR_TILE_det:
    case GR_TILE_inv:
    case GR_TILE_solve:
    case GR_TILE_solve_triangular:
    case GR_TILE_lstsq:
    case GR_TILE_lu:
    case GR_TILE_eigh:
        return infer_linalg(node, inputs, type);
    case GR_TILE_array:
        return infer_array(node, type);
    case GR_TILE_random:
        return infer_random(node, type);
    case GR_TILE_arange:
        return infer_arange(node, type);
    case GR_TILE_matmul:
        return infer_matmul(inputs, type);
    case GR_TILE_bincount:
        return infer_bincount(node, inputs, type);
    case GR_TILE_map_chunk:
        return user_infer_tensor(node, inputs[0], type);
    default:
        assert(!"an operator that yields a tensor has no rule");
        return gr_fail(GRANARY_EUNSUPPORTED, "its shape cannot be told");
    }
}
