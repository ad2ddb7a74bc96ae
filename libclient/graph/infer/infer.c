/* Types of all nodes, as far as they are known. */
#include <stdlib.h>

#include "base/error.h"
#include "graph/compose/compose.h"
#include "graph/expand/expand.h"
#include "graph/lower/lower.h"
#include "graph/node.h"
#include "graph/operator.h"

/* What the user's node asks of its inputs, before what it is written as asks for more. */
static granary_err
check_origin(const struct gr_graph *graph, const struct gr_origin *origin)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < origin->node->n_inputs && err == GRANARY_OK; i++) {
        const struct gr_node_type *type = &graph->nodes[origin->inputs[i]].type;

        err = type->known ? node_check_columns(origin->node, origin->op, i, &type->schema) : GRANARY_OK;
    }
    return err;
}

/* Whether the operator makes do with inputs whose size is not known. */
static granary_err
check_sizes(const struct gr_graph_node *node, const struct gr_node_type *const *inputs)
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
check_inputs(const struct gr_graph_node *node, const struct gr_node_type *const *inputs)
{
    granary_err err = check_sizes(node, inputs);

    for (size_t k = 0; k < node->input_count && err == GRANARY_OK; k++) {
        if (!inputs[k]->is_tensor) {
            err = node_check_columns(node->node, (enum gr_tile_op)node->op, k, &inputs[k]->schema);
        }
    }
    return err;
}

static granary_err
infer_lowered(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type);

static granary_err
infer_type(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    const struct gr_operator *op = gr_operator((enum gr_tile_op)node->op);
    granary_err err = check_inputs(node, inputs);

    if (err != GRANARY_OK) {
        return err;
    }
    return op->lower != NULL ? infer_lowered(node, inputs, type) : op->infer(node, inputs, type);
}

/* By what it is written as. Its parameters are looked at as if somebody had written them. */
static granary_err
infer_lowered(const struct gr_graph_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type)
{
    Granary__Node written = *node->node;
    struct gr_graph_node other = *node;
    struct gr_lowered lowered;
    granary_err err =
        gr_lower((enum gr_tile_op)node->op, node->node->attrs, node->node->n_attrs, &inputs[0]->schema, &lowered);

    if (err != GRANARY_OK) {
        return err;
    }
    written.attrs = lowered.attrs;
    written.n_attrs = lowered.count;
    other.node = &written;
    other.op = (int)lowered.op;
    err = node_check(&written, lowered.op);
    if (err == GRANARY_OK) {
        err = infer_type(&other, inputs, type);
    }
    gr_lowered_free(&lowered);
    return err;
}

/* The types of its inputs, in an array to be freed. NULL: no memory */
static const struct gr_node_type **
list_inputs(const struct gr_graph *graph, const struct gr_graph_node *node)
{
    const struct gr_node_type **inputs = calloc(node->input_count + 1, sizeof *inputs);

    for (size_t i = 0; inputs != NULL && i < node->input_count; i++) {
        inputs[i] = &graph->nodes[node->inputs[i]].type;
    }
    return inputs;
}

granary_err
node_infer(const struct gr_graph *graph, const struct gr_graph_node *node, struct gr_node_type *type)
{
    const struct gr_node_type **inputs = list_inputs(graph, node);
    granary_err err = inputs == NULL ? gr_fail(GRANARY_ENOMEM, "%zu inputs: out of memory", node->input_count)
                                     : infer_type(node, inputs, type);

    free(inputs);
    type->known = true;
    type->is_tensor = node->yields == GR_YIELDS_TENSOR;
    return err;
}

/* *ret_done: others have taken its place. */
static granary_err
compose(struct gr_graph *graph, const struct gr_graph_node *node, bool *ret_done)
{
    const struct gr_node_type **inputs = list_inputs(graph, node);
    bool stays = false;
    granary_err err = inputs == NULL ? gr_fail(GRANARY_ENOMEM, "%zu inputs: out of memory", node->input_count)
                                     : check_inputs(node, inputs);

    free(inputs);
    if (err == GRANARY_OK) {
        err = gr_compose(graph, (size_t)(node - graph->nodes), &stays);
    }
    *ret_done = err == GRANARY_OK && !stays;
    return err;
}

/* Whether its type follows from those of its inputs, which are known. */
static bool
can_be_inferred(const struct gr_graph *graph, const struct gr_graph_node *node)
{
    const struct gr_operator *op = gr_operator((enum gr_tile_op)node->op);
    bool can = !node->type.known && (op->infer != NULL || op->lower != NULL || op->compose != NULL) &&
               (node->yields == GR_YIELDS_FRAME || node->yields == GR_YIELDS_TENSOR);

    for (size_t i = 0; i < node->input_count && can; i++) {
        can = graph->nodes[node->inputs[i]].type.known;
    }
    return can;
}

static granary_err
infer_node(struct gr_graph *graph, struct gr_graph_node *node)
{
    const Granary__Node *user = node->origin != NULL ? node->origin->node : node->node;
    struct gr_node_type type = {0};
    bool done = false;
    granary_err err = node->origin == NULL ? GRANARY_OK : check_origin(graph, node->origin);

    if (err == GRANARY_OK && gr_operator((enum gr_tile_op)node->op)->compose != NULL) {
        err = compose(graph, node, &done);
    }
    if (err == GRANARY_OK && done) {
        return GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = node_infer(graph, node, &type);
    }
    if (err != GRANARY_OK) {
        gr_schema_free(&type.schema);
        return node_fail(user, err);
    }
    node->type = type;
    return GRANARY_OK;
}

granary_err
gr_graph_infer(struct gr_graph *graph)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < graph->count && err == GRANARY_OK; i++) {
        if (can_be_inferred(graph, &graph->nodes[i])) {
            err = infer_node(graph, &graph->nodes[i]);
        }
    }
    return err;
}
