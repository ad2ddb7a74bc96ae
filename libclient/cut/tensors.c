/*
 * Tensors: a partition has rows of the first dimension. Element-wise operators, and reductions of other axes, stay where their
 * operands are; a reduction of the first axis has two phases.
 */
#include <string.h>

#include "cut/flow.h"
#include "data/frame.h"
#include "graph/tensor/map.h"
#include "graph/tensor/types.h"

static double
bytes_of(const struct gr_node_type *type)
{
    double bytes = 8;

    for (int d = 0; d < type->dims; d++) {
        bytes *= type->shape[d] < 0 ? 1 << 20 : (double)type->shape[d];
    }
    return bytes;
}

/* Whether a source can be read in parts, as its operator tells. */
static bool
is_source(const struct gr_node *node)
{
    return node->input_count == 0 && gr_param_find((enum gr_tile_op)node->op, "part") != NULL && node->type.dims > 0;
}

/* Where partitions must begin at certain rows, the whole is cut; blocks that a part does not need are not made. */
static struct value
source_in_parts(struct cut *cut, const struct gr_node *node)
{
    const granary_cut_source *given = source_given(cut, node);
    int64_t align = tensor_align(cut, node->type.shape[0]);
    bool is_stored = node->op == GR_TILE_array && given == NULL;
    struct flow *flow = flow_of_node(cut, node, align > 1 ? SPREAD_ANY : SPREAD_PARTS);
    struct value value;

    flow->given = given == NULL ? NULL : given->name;
    flow->reads = align > 1 || !is_stored;
    flow->at_home = is_stored;
    flow->bytes = bytes_of(&node->type);
    if (align > 1) {
        source_set_paths(cut, flow);
        flow = flow_over(cut, cut_text(cut, "%s: part", node->node->name), "split", flow);
        flow->spread = SPREAD_PARTS;
        flow->reads = !is_stored;
        flow_set(cut, flow, gr_attr_new_int("align", align));
    }
    source_set_parts(cut, flow);
    value = value_of(cut, flow, node);
    value.align = align;
    return value;
}

static struct value
place_tensor_source(struct cut *cut, const struct gr_node *node)
{
    const granary_cut_source *given = source_given(cut, node);
    bool is_stored = node->op == GR_TILE_array && given == NULL;
    bool is_named = gr_attr_find(node->node->attrs, node->node->n_attrs, "name") != NULL;
    bool is_large = given != NULL ? given->partitions > 1 : bytes_of(&node->type) >= cut->smallest;
    struct flow *flow;

    if (is_source(node) && cut->parts > 1 && is_large && node->type.shape[0] >= (int64_t)cut->parts &&
        (!is_stored || is_named)) {
        return source_in_parts(cut, node);
    }
    flow = flow_of_node(cut, node, is_stored ? SPREAD_ONE : SPREAD_ANY);
    flow->reads = given != NULL || strncmp(flow->op, "read_", 5) == 0;
    flow->given = given == NULL ? NULL : given->name;
    flow->at_home = is_stored;
    flow->bytes = bytes_of(&node->type);
    source_set_paths(cut, flow);
    return value_of(cut, flow, node);
}

/* ---- element-wise ---- */

static bool
is_in_parts(struct cut *cut, const struct gr_node *node)
{
    return cut->values[node->position].flow->spread == SPREAD_PARTS;
}

/* The operand as each partition needs it: its rows of it, or all where it is stretched. No flow: its rows are in one place */
static struct value
operand(struct cut *cut, const struct gr_node *node, const struct gr_node *input)
{
    bool stretched = input->type.dims < node->type.dims || input->type.shape[0] != node->type.shape[0];
    struct value value = cut->values[input->position];

    if (stretched) {
        return value_gather(cut, node, value, SPREAD_ANY);
    }
    if (value.flow->spread != SPREAD_PARTS) {
        return is_source(input) ? source_in_parts(cut, input) : (struct value){.flow = NULL};
    }
    return value;
}

static struct value
place_map(struct cut *cut, const struct gr_node *node)
{
    struct value *operands = cut_room(cut, node->input_count, sizeof *operands);
    const struct value *rows = NULL; /* an operand that is in parts */
    struct flow *flow;
    struct value placed;
    bool in_parts = false;

    if (gr_type_is_unsized(&node->type) && node->input_count > 1) {
        return place_gathered(cut, node, "how many rows operands have in a partition is not known");
    }
    for (size_t k = 0; k < node->input_count; k++) {
        const struct gr_node *input = node->inputs[k];

        in_parts = in_parts || (is_in_parts(cut, input) && input->type.dims == node->type.dims &&
                                input->type.shape[0] == node->type.shape[0]);
    }
    if (!in_parts || cut->err != GRANARY_OK) {
        return place_gathered(cut, node, "operands are stretched along the first dimension");
    }
    for (size_t k = 0; k < node->input_count; k++) {
        operands[k] = operand(cut, node, node->inputs[k]);
        if (operands[k].flow == NULL) {
            return place_gathered(cut, node, "an operand is in one place");
        }
        if (operands[k].flow->spread == SPREAD_PARTS) {
            if (rows != NULL && rows->align != operands[k].align) {
                return place_gathered(cut, node, "operands are cut at other rows");
            }
            rows = &operands[k];
        }
    }
    flow = flow_of_node(cut, node, SPREAD_PARTS);
    for (size_t k = 0; k < node->input_count; k++) {
        flow_reads(cut, flow, operands[k].flow);
    }
    flow->bytes = bytes_of(&node->type);
    placed = value_of(cut, flow, node);
    placed.align = rows == NULL ? 0 : rows->align;
    return placed;
}

/* ---- reductions ---- */

static bool
reduces_rows(const struct gr_node *node)
{
    const Granary__Attr *axes = gr_attr_find(node->node->attrs, node->node->n_attrs, "axes");
    int dims = node->inputs[0]->type.dims;

    for (size_t i = 0; axes != NULL && i < axes->n_ints; i++) {
        if (axes->ints[i] == 0 || axes->ints[i] == -dims) {
            return true;
        }
    }
    return axes == NULL || axes->n_ints == 0;
}

/* What is reduced, in both phases; the shape of the whole. */
static void
set_reduced(struct cut *cut, const struct gr_node *node, struct flow *flow, bool whole)
{
    const Granary__Attr *axes = gr_attr_find(node->node->attrs, node->node->n_attrs, "axes");
    const struct gr_node_type *type = &node->inputs[0]->type;

    flow_set(cut, flow, gr_attr_new_string("function", gr_op_info((enum gr_tile_op)node->op)->name));
    if (whole) {
        flow_set(cut, flow, gr_attr_new_ints("shape", type->shape, (size_t)type->dims));
    }
    if (axes != NULL && axes->n_ints > 0) {
        flow_set(cut, flow, gr_attr_copy(axes));
    }
}

static struct value
in_two_phases(struct cut *cut, const struct gr_node *node, struct flow *rows, int64_t align)
{
    const char *name = node->node->name;
    struct flow *partial = flow_over(cut, cut_text(cut, "%s: each", name), "reduce_partial", rows);
    struct flow *combine = flow_add(cut, name, "reduce_combine", SPREAD_ONE, GR_YIELDS_TENSOR);
    static const char *const passed[] = {"keepdims", "ddof"};
    bool by_place =
        gr_reduction_how(gr_op_reduction((enum gr_tile_op)node->op)) == GR_REDUCE_BY_ARG; /* it tells where */

    set_reduced(cut, node, partial, by_place);
    if (by_place) {
        source_set_parts(cut, partial);
        flow_set(cut, partial, gr_attr_new_int("align", align > 0 ? align : 1));
    }
    partial->yields = GR_YIELDS_OBJECTS;
    partial->chunks = 1;
    partial->bytes = bytes_of(&node->type);
    partial->about = cut_text(cut, "rows reduced, for '%s'", name);
    set_reduced(cut, node, combine, true);
    flow_set(cut, combine, gr_attr_new_string("dtype", granary_dtype_name(node->inputs[0]->type.dtype)));
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        const Granary__Attr *attr = gr_attr_find(node->node->attrs, node->node->n_attrs, passed[i]);

        if (attr != NULL) {
            flow_set(cut, combine, gr_attr_copy(attr));
        }
    }
    combine->bytes = partial->bytes;
    flow_reads(cut, combine, flow_receive(cut, partial, TAKE_ALL, SPREAD_ONE));
    return value_of(cut, combine, node);
}

static struct value
place_reduction(struct cut *cut, const struct gr_node *node)
{
    struct value value = cut->values[node->inputs[0]->position];
    struct flow *flow;

    if (value.flow->spread != SPREAD_PARTS) {
        return place_gathered(cut, node, NULL);
    }
    if (reduces_rows(node)) {
        return gr_type_is_unsized(&node->inputs[0]->type)
                   ? place_gathered(cut, node, "how many rows there are is not known")
                   : in_two_phases(cut, node, value.flow, value.align);
    }
    flow = flow_of_node(cut, node, SPREAD_PARTS);
    flow_reads(cut, flow, value.flow);
    flow->bytes = bytes_of(&node->type);
    value = value_of(cut, flow, node);
    value.align = cut->values[node->inputs[0]->position].align;
    return value;
}

/* ---- others ---- */

/* A tensor's rows as those of a frame, or the other way round. */
static struct value
place_between(struct cut *cut, const struct gr_node *node)
{
    struct value value = cut->values[node->inputs[0]->position];
    struct flow *flow;

    if (value.flow->spread == SPREAD_ONE) {
        return place_gathered(cut, node, NULL);
    }
    if (value.flow->spread == SPREAD_PARTS && node->op == GR_TILE_to_tensor) {
        if (gr_attr_find(node->node->attrs, node->node->n_attrs, "rows") != NULL) {
            return place_gathered(cut, node, "how many rows there are in all is to be checked");
        }
        value = value_plain(cut, node, value_in_order(cut, node, value));
    }
    flow = flow_of_node(cut, node, value.flow->spread);
    flow_reads(cut, flow, value.flow);
    flow->bytes = value.flow->bytes;
    return value_of(cut, flow, node);
}

bool
place_tensor(struct cut *cut, const struct gr_node *node, struct value *ret_value)
{
    enum gr_tile_op op = (enum gr_tile_op)node->op;

    if (op == GR_TILE_from_tensor || op == GR_TILE_to_tensor) {
        *ret_value = place_between(cut, node);
    } else if (node->yields != GR_YIELDS_TENSOR) {
        return false;
    } else if (node->input_count == 0) {
        *ret_value = place_tensor_source(cut, node);
    } else if (gr_op_is_map(op)) {
        *ret_value = place_map(cut, node);
    } else if (gr_op_reduction(op) != GR_REDUCE_COUNT) {
        *ret_value = place_reduction(cut, node);
    } else if (op == GR_TILE_matmul) {
        *ret_value = place_product(cut, node);
    } else if (op == GR_TILE_qr || op == GR_TILE_svd) {
        *ret_value = place_factors(cut, node);
    } else {
        return place_view(cut, node, ret_value);
    }
    return true;
}
