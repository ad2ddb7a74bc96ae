/* From a graph to the one that rules make of it: steps in between, which are written as nodes and inferred again. */
#include "optimize/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "optimize/write.h"

/* Whether nobody but who looks at it can tell what a node yields. */
static bool
is_unknown_source(const struct gr_node *node)
{
    return !node->type.known && (node->yields == GR_YIELDS_FRAME || node->yields == GR_YIELDS_TENSOR);
}

static granary_err
check_known(const struct gr_graph *graph)
{
    bool *needed = gr_graph_needed(graph);
    granary_err err = needed == NULL ? optimize_no_memory() : GRANARY_OK;

    for (size_t i = 0; i < graph->count && err == GRANARY_OK; i++) {
        if (needed[i] && is_unknown_source(graph->nodes[i])) {
            err = gr_fail(GRANARY_ESTATE, "node '%.100s': what it yields is not known", graph->nodes[i]->node->name);
        }
    }
    free(needed);
    return err;
}

/* The sources of the written graph are those of the steps. */
static granary_err
copy_types(const struct writer *writer, struct gr_graph *graph)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < graph->count && err == GRANARY_OK; i++) {
        struct gr_node *node = graph->nodes[i];
        const struct gr_node_type *type;

        if (node->input_count > 0 || !is_unknown_source(node)) {
            continue;
        }
        type = writer->steps->steps[steps_written_from(writer, node->node->name)].type;
        node->type = *type;
        node->type.schema = (struct gr_schema){0};
        err = gr_schema_copy(&type->schema, &node->type.schema);
    }
    return err;
}

static bool
is_same_type(const struct gr_node_type *a, const struct gr_node_type *b)
{
    bool same = a->known == b->known && a->is_tensor == b->is_tensor && a->schema.count == b->schema.count;

    if (same && a->is_tensor) {
        same = a->dtype == b->dtype && a->dims == b->dims &&
               memcmp(a->shape, b->shape, (size_t)a->dims * sizeof a->shape[0]) == 0;
    }
    for (size_t c = 0; c < a->schema.count && same; c++) {
        same = a->schema.fields[c].dtype == b->schema.fields[c].dtype &&
               strcmp(a->schema.fields[c].name, b->schema.fields[c].name) == 0;
    }
    return same;
}

static granary_err
check_targets(const struct gr_graph *graph, const struct gr_graph *other)
{
    for (size_t t = 0; t < graph->target_count; t++) {
        const struct gr_node *node = graph->nodes[graph->targets[t]];

        if (t >= other->target_count || !is_same_type(&node->type, &other->nodes[other->targets[t]]->type)) {
            return gr_fail(GRANARY_EFAILED, "node '%.100s': optimised, it yields something else: report this",
                           node->shown->name);
        }
    }
    return GRANARY_OK;
}

granary_err
gr_graph_optimize(const struct gr_graph *graph, struct gr_graph **ret_graph)
{
    struct gr_steps *steps = NULL;
    struct writer writer = {.steps = NULL};
    struct gr_graph *other = NULL;
    granary_err err = check_known(graph);

    if (err == GRANARY_OK) {
        err = gr_steps_create(graph, NULL, &steps);
    }
    if (err == GRANARY_OK) {
        err = gr_optimize(steps, GR_RULES_INTO_STEPS);
    }
    if (err == GRANARY_OK) {
        writer.steps = steps;
        err = steps_write(&writer);
    }
    if (err == GRANARY_OK && (err = gr_graph_create(writer.graph, &other)) == GRANARY_OK) {
        writer.graph = NULL; /* it is the other's */
        err = copy_types(&writer, other);
    }
    if (err == GRANARY_OK) {
        err = gr_graph_infer(other);
    }
    if (err == GRANARY_OK) {
        err = check_targets(graph, other);
    }
    steps_write_end(&writer);
    gr_steps_destroy(steps);
    if (err != GRANARY_OK) {
        gr_graph_destroy(other);
        return err;
    }
    *ret_graph = other;
    return GRANARY_OK;
}
