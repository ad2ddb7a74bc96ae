/* Types of all nodes, as far as they are known. */
#include <stdlib.h>

#include "base/error.h"
#include "graph/node.h"
#include "graph/operator.h"
#include "graph/rewrite/rewrite.h"

/* Whether the operator makes do with inputs whose size is not known. */
static granary_err
check_sizes(const struct gr_node *node, const struct gr_node_type *const *inputs)
{
    for (size_t k = 0; k < node->input_count; k++) {
        if (inputs[k]->is_tensor && gr_type_is_unsized(inputs[k]) && node->yields == GR_YIELDS_TENSOR &&
            !gr_op_has((enum gr_tile_op)node->op, GR_OP_TAKES_UNSIZED)) {
            return gr_fail(GRANARY_EINVAL,
                           "how large its input '%.100s' is turns out only when it has run: element-wise operators, "
                           "reductions and `from_tensor` take such a tensor, and so do other graphs when it is kept",
                           node->node->inputs[k]);
        }
    }
    return GRANARY_OK;
}

/* What it asks of its inputs, whatever it is written as. */
static granary_err
check_inputs(const struct gr_node *node, const struct gr_node_type *const *inputs)
{
    granary_err err = check_sizes(node, inputs);

    if (err == GRANARY_OK) {
        err = gr_complex_check(node);
    }
    for (size_t k = 0; k < node->input_count && err == GRANARY_OK; k++) {
        if (!inputs[k]->is_tensor) {
            err = node_check_columns(node->node, (enum gr_tile_op)node->op, k, &inputs[k]->schema);
        }
    }
    return err;
}

/* The types of its inputs, in an array to be freed. NULL: no memory */
static const struct gr_node_type **
list_inputs(const struct gr_node *node)
{
    const struct gr_node_type **inputs = calloc(node->input_count + 1, sizeof *inputs);

    for (size_t i = 0; inputs != NULL && i < node->input_count; i++) {
        inputs[i] = &node->inputs[i]->type;
    }
    return inputs;
}

static granary_err
infer_type(struct gr_node *node, const struct gr_node_type *const *inputs)
{
    struct gr_node_type type = {.known = false};
    granary_err err = gr_operator((enum gr_tile_op)node->op)->infer(node, inputs, &type);

    if (err != GRANARY_OK) {
        gr_schema_free(&type.schema);
        return err;
    }
    node->type = type;
    node->type.known = true;
    node->type.is_tensor = node->yields == GR_YIELDS_TENSOR;
    return GRANARY_OK;
}

granary_err
node_settle(struct gr_graph *graph, struct gr_node *node)
{
    const struct gr_node_type **inputs = list_inputs(node);
    granary_err err = inputs == NULL ? gr_fail(GRANARY_ENOMEM, "%zu inputs: out of memory", node->input_count)
                                     : check_inputs(node, inputs);
    bool stays = true;

    if (err == GRANARY_OK && (gr_operator((enum gr_tile_op)node->op)->rewrite != NULL || gr_complex_is_written(node) ||
                              gr_part_is_written(node))) {
        err = gr_rewrite(graph, node, &stays);
    }
    if (err == GRANARY_OK && stays) {
        err = infer_type(node, inputs);
    }
    free(inputs);
    return err;
}

/* Whether its type follows from those of its inputs, which are known. Objects have none. */
static bool
can_be_inferred(const struct gr_node *node)
{
    const struct gr_operator *op = gr_operator((enum gr_tile_op)node->op);
    bool can = !node->type.known && (op->infer != NULL || op->rewrite != NULL) &&
               (node->yields == GR_YIELDS_FRAME || node->yields == GR_YIELDS_TENSOR ||
                gr_op_info((enum gr_tile_op)node->op)->yields == GR_YIELDS_OBJECTS);

    for (size_t i = 0; i < node->input_count && can; i++) {
        can = node->inputs[i]->type.known || node->inputs[i]->yields == GR_YIELDS_OBJECTS;
    }
    return can;
}

/* All nodes find new places: behind those that they are written as. With an error, too, all have one. */
granary_err
gr_graph_infer(struct gr_graph *graph)
{
    struct gr_node **nodes = graph->nodes;
    struct gr_node **places = malloc(graph->count * sizeof(struct gr_node *));
    size_t count = graph->count;
    granary_err err = GRANARY_OK;

    if (places == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    graph->nodes = places;
    graph->room = count;
    graph->count = 0;
    for (graph->awaited = count; graph->awaited > 0; graph->awaited--) {
        struct gr_node *node = nodes[count - graph->awaited];
        const Granary__Node *user = node->node;

        if (err == GRANARY_OK && can_be_inferred(node)) {
            err = node_settle(graph, node);
            err = err == GRANARY_OK ? err : node_fail(user, err);
        }
        (void)graph_append(graph, node);
    }
    for (size_t t = 0; t < graph->target_count; t++) {
        graph->targets[t] = nodes[graph->targets[t]]->position;
    }
    free(nodes);
    return err;
}
