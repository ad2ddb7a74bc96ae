/*
 * Operators on tensors that only move elements. Rows stay where they are, or another axis becomes the first one: then a partition
 * deals what it has along that axis, and the next stage puts the pieces together.
 */
#include "graph/view/view.h"

#include <string.h>

#include "cut/flow.h"

/* Which axis of the input becomes the first one, where dimensions come in another order; -1: they do not. */
static int
first_axis(const struct gr_node *node)
{
    const struct gr_node_type *from = node->input_count == 1 ? &node->inputs[0]->type : NULL;
    struct gr_view view = {.joined = -1};
    int axis = -1;

    if ((node->op != GR_TILE_transpose && node->op != GR_TILE_swapaxes && node->op != GR_TILE_moveaxis) ||
        gr_type_is_unsized(from)) {
        return -1;
    }
    if (gr_view_make((enum gr_tile_op)node->op, node->node->attrs, node->node->n_attrs, &from, 1, &view) ==
        GRANARY_OK) {
        for (int d = 0; d < from->dims; d++) {
            axis = view.boxes[0].dim[d] == 0 ? d : axis;
        }
    }
    gr_view_fini(&view);
    return axis;
}

/* Each partition has a part of the other axis, and all rows. */
static struct value
place_turned(struct cut *cut, const struct gr_node *node, struct value value, int axis)
{
    int64_t rows = node->type.shape[0], align = tensor_align(cut, rows);
    struct flow *dealt, *flow;

    if (rows < (int64_t)cut->parts) {
        return place_gathered(cut, node, "its result has fewer rows than there are partitions");
    }
    dealt = flow_over(cut, cut_text(cut, "%s: dealt", node->node->name), "shuffle_axis", value.flow);
    flow_set(cut, dealt, gr_attr_new_int("axis", axis));
    flow_set(cut, dealt, gr_attr_new_int("parts", (int64_t)cut->parts));
    flow_set(cut, dealt, gr_attr_new_int("align", align));
    dealt->chunks = cut->parts;
    dealt->about = cut_text(cut, "parts of axis %d dealt, for '%s'", axis, node->node->name);
    flow = flow_of_node(cut, node, SPREAD_PARTS);
    flow_reads(cut, flow, flow_receive(cut, dealt, TAKE_PART, SPREAD_PARTS));
    flow->bytes = value.flow->bytes;
    value = value_of(cut, flow, node);
    value.align = align;
    return value;
}

/* Whether each row becomes one row, whatever the others are. */
static bool
keeps_rows(const struct gr_node *node)
{
    const struct gr_node_type *from = &node->inputs[0]->type;
    int64_t axis = gr_attr_int(node->node->attrs, node->node->n_attrs, "axis", 0);

    if (gr_type_is_unsized(from) || from->dims == 0 || node->type.dims == 0 || from->shape[0] != node->type.shape[0]) {
        return false;
    }
    switch (node->op) {
    case GR_TILE_reshape:
    case GR_TILE_ravel:
        return true;
    case GR_TILE_transpose:
    case GR_TILE_swapaxes:
    case GR_TILE_moveaxis:
        return first_axis(node) == 0;
    case GR_TILE_concatenate:
        return axis > 0 || (axis < 0 && axis > -from->dims);
    case GR_TILE_stack:
        return axis > 0 || (axis < 0 && axis > -from->dims - 1);
    default:
        return false;
    }
}

bool
place_view(struct cut *cut, const struct gr_node *node, struct value *ret_value)
{
    struct value first = cut->values[node->inputs[0]->position];
    struct flow *flow;
    int axis;

    if (product_turns(cut, node)) { /* whoever reads it turns each partition; this is for those who do not */
        flow = flow_of_node(cut, node, SPREAD_ONE);
        flow_reads(cut, flow, value_gather(cut, node, first, SPREAD_ONE).flow);
        flow->bytes = first.flow->bytes;
        *ret_value = value_of(cut, flow, node);
        return true;
    }
    axis = first.flow->spread == SPREAD_PARTS ? first_axis(node) : -1;
    if (axis > 0) {
        *ret_value = place_turned(cut, node, first, axis);
        return true;
    }
    if (!keeps_rows(node)) {
        return false;
    }
    for (size_t k = 0; k < node->input_count; k++) {
        struct value value = cut->values[node->inputs[k]->position];

        if (value.flow->spread != SPREAD_PARTS || value.align != first.align ||
            node->inputs[k]->type.shape[0] != node->type.shape[0]) {
            return false;
        }
    }
    flow = flow_of_node(cut, node, SPREAD_PARTS);
    for (size_t k = 0; k < node->input_count; k++) {
        flow_reads(cut, flow, cut->values[node->inputs[k]->position].flow);
    }
    if (node->op == GR_TILE_reshape) {
        int64_t shape[8];

        memcpy(shape, node->type.shape, sizeof shape);
        shape[0] = -1;
        flow_set(cut, flow, gr_attr_new_ints("shape", shape, (size_t)node->type.dims));
    }
    flow->bytes = first.flow->bytes;
    *ret_value = value_of(cut, flow, node);
    ret_value->align = first.align;
    return true;
}
