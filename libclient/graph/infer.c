/* Types of all nodes, as far as they are known. */
#include <stdlib.h>

#include "base/error.h"
#include "graph/compose/compose.h"
#include "graph/expand/expand.h"
#include "graph/node.h"

/* What the user's node asks of its inputs, before what it is written as asks for more. */
static granary_err
check_origin(const struct gr_graph *graph, const struct gr_origin *origin)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < origin->node->n_inputs && err == GRANARY_OK; i++) {
        const struct gr_node_type *type = &graph->nodes[origin->inputs[i]].type;

        err = type->known ? gr_origin_check_columns(origin, i, &type->schema) : GRANARY_OK;
    }
    return err;
}

static granary_err
infer_node(struct gr_graph *graph, struct gr_graph_node *node)
{
    const struct gr_node_type **inputs;
    struct gr_node_type type = {0};
    granary_err err = GRANARY_OK;

    /* A file's schema comes from the caller; only frames and tensors have a type. */
    if (node->type.known || node->op == GR_TILE_read_csv || node->op == GR_TILE_table ||
        node->op == GR_TILE_read_arrow || node->op == GR_TILE_read_npy || node->op == GR_TILE_read_raw ||
        (node->yields != GR_YIELDS_FRAME && node->yields != GR_YIELDS_TENSOR)) {
        return GRANARY_OK;
    }
    for (size_t i = 0; i < node->input_count; i++) {
        if (!graph->nodes[node->inputs[i]].type.known) {
            return GRANARY_OK;
        }
    }
    inputs = calloc(node->input_count + 1, sizeof *inputs);
    if (inputs == NULL) {
        return node_fail(node->node, gr_fail(GRANARY_ENOMEM, "%zu inputs: out of memory", node->input_count));
    }
    for (size_t i = 0; i < node->input_count; i++) {
        inputs[i] = &graph->nodes[node->inputs[i]].type;
    }
    err = node->origin == NULL ? GRANARY_OK : check_origin(graph, node->origin);
    if (err == GRANARY_OK && gr_op_is_composed((enum gr_tile_op)node->op)) {
        bool stays = false;

        err = infer_check_sizes(node, inputs);
        if (err == GRANARY_OK) {
            err = gr_compose(graph, (size_t)(node - graph->nodes), &stays);
        }
        if (err == GRANARY_OK && !stays) {
            free(inputs);
            return GRANARY_OK;
        }
    }
    if (err == GRANARY_OK) {
        err = node->yields == GR_YIELDS_FRAME ? infer_frame(node, inputs, &type) : infer_tensor(node, inputs, &type);
    }
    free(inputs);
    if (err != GRANARY_OK) {
        gr_schema_free(&type.schema);
        return node_fail(node->origin != NULL ? node->origin->node : node->node, err);
    }
    type.known = true;
    type.is_tensor = node->yields == GR_YIELDS_TENSOR;
    node->type = type;
    return GRANARY_OK;
}

granary_err
gr_graph_infer(struct gr_graph *graph)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < graph->count && err == GRANARY_OK; i++) {
        err = infer_node(graph, &graph->nodes[i]);
    }
    return err;
}
