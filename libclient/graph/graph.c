/* Tileable graphs: operators, inputs, and what flows between them. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/compose/compose.h"
#include "graph/expand/expand.h"
#include "graph/nearest.h"
#include "graph/node.h"
#include "graph/order.h"

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

/* ---- nodes ---- */

static granary_err
find_op(const Granary__Node *node, int *ret_op)
{
    struct gr_nearest nearest = {.name = node->op};
    char hint[GR_HINT_MAX];
    int op = gr_op_find(node->op);

    if (op >= 0) {
        *ret_op = op;
        return GRANARY_OK;
    }
    if (node->op[0] == '\0') {
        return gr_fail(GRANARY_EINVAL, "node '%.100s': it has no operator ('op')", node->name);
    }
    for (int i = 0; i < GR_TILE_COUNT; i++) {
        gr_nearest_offer(&nearest, gr_op_info((enum gr_tile_op)i)->name);
    }
    return node_fail(
        node, gr_fail(GRANARY_ENOENT, "there is no operator '%.60s'%s", node->op, gr_nearest_hint(&nearest, hint)));
}

/* Messages name the node that the user wrote. */
static granary_err
fail_at(const struct work *work, size_t position, granary_err err)
{
    const struct gr_origin *origin = work->origins[position];

    return node_fail(origin != NULL ? origin->node : work->message->nodes[position], err);
}

/* Find the inputs of a node. */
static granary_err
resolve_inputs(struct work *work, size_t position)
{
    const Granary__Node *node = work->message->nodes[position];

    work->inputs[position] = calloc(node->n_inputs + 1, sizeof **work->inputs);
    if (work->inputs[position] == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < node->n_inputs; i++) {
        size_t input = work_find(work, node->inputs[i]);

        if (input == SIZE_MAX) {
            return work_no_node(work, node->inputs[i]);
        }
        work->inputs[position][i] = input;
    }
    return GRANARY_OK;
}

static granary_err
check_nodes(struct work *work)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < work->count && err == GRANARY_OK; i++) {
        err = find_op(work->message->nodes[i], &work->ops[i]);
    }
    for (size_t i = 0; i < work->count && err == GRANARY_OK; i++) {
        err = node_check(work->message->nodes[i], (enum gr_tile_op)work->ops[i]);
        if (err == GRANARY_OK) {
            err = resolve_inputs(work, i);
        }
        if (err != GRANARY_OK) {
            err = fail_at(work, i, err);
        }
    }
    return err;
}

/* ---- what flows ---- */

static const char *
yields_text(enum gr_yields yields)
{
    static const char *const texts[] = {
        [GR_YIELDS_NONE] = "nothing",
        [GR_YIELDS_FRAME] = "a frame",
        [GR_YIELDS_TENSOR] = "a tensor",
        [GR_YIELDS_OBJECTS] = "objects",
    };

    return texts[yields];
}

/* What an operator works on: what it yields, but for those that write files or turn one kind into the other. */
static enum gr_yields
works_on(enum gr_tile_op op)
{
    switch (op) {
#define FORMAT_WRITE(name, kind)                                                                                       \
    case GR_TILE_write_##name:                                                                                         \
        return GR_YIELDS_##kind;
#include "contract/formats.def"
    case GR_TILE_from_tensor:
        return GR_YIELDS_TENSOR;
    case GR_TILE_to_tensor:
        return GR_YIELDS_FRAME;
    default:
        return gr_op_info(op)->yields;
    }
}

/* The inputs of a node must yield what its operator works on. */
static granary_err
check_kind(struct work *work, size_t position)
{
    const Granary__Node *node = work->message->nodes[position];
    const struct gr_op_info *info = gr_op_info((enum gr_tile_op)work->ops[position]);
    const size_t *inputs = work->inputs[position];
    enum gr_yields wanted = works_on((enum gr_tile_op)work->ops[position]);

    for (size_t i = 0; i < node->n_inputs; i++) {
        const char *op = work->message->nodes[inputs[i]]->op;
        enum gr_yields from = work->yields[inputs[i]];

        if ((wanted == GR_YIELDS_FRAME || wanted == GR_YIELDS_TENSOR) && from != wanted) {
            return gr_fail(GRANARY_ETYPE, "it works on %s, but its input '%.100s' (%s) yields %s",
                           wanted == GR_YIELDS_FRAME ? "frames" : "tensors", node->inputs[i], op, yields_text(from));
        }
        if (info->yields != GR_YIELDS_NONE && from == GR_YIELDS_NONE) {
            return gr_fail(GRANARY_ETYPE, "it needs something to work on, but its input '%.100s' (%s) yields nothing",
                           node->inputs[i], op);
        }
    }
    work->yields[position] = info->yields == GR_YIELDS_SAME ? work->yields[inputs[0]] : info->yields;
    return GRANARY_OK;
}

static granary_err
check_kinds(struct work *work)
{
    granary_err err = GRANARY_OK;

    for (size_t place = 0; place < work->count && err == GRANARY_OK; place++) {
        err = check_kind(work, work->order[place]);
        if (err != GRANARY_OK) {
            err = fail_at(work, work->order[place], err);
        }
    }
    return err;
}

/* ---- the whole ---- */

/* Which nodes are parts of which that were written out. */
static void
find_parts(struct work *work, const struct gr_origins *origins)
{
    for (size_t i = 0; i < origins->count; i++) {
        const struct gr_origin *origin = &origins->all[i];

        work->origins[origin->last] = origin;
        for (size_t k = 0; k < origin->count; k++) {
            work->origins[origin->first + k] = origin;
        }
    }
}

/* The places of what nodes that were written out read: their parts read it, so it is there. */
static void
place_origins(const struct work *work, struct gr_origins *origins)
{
    for (size_t i = 0; i < origins->count; i++) {
        struct gr_origin *origin = &origins->all[i];

        for (size_t k = 0; k < origin->node->n_inputs; k++) {
            origin->inputs[k] = work->place_of[work_find(work, origin->node->inputs[k])];
        }
    }
}

/* Room before each node that will be written as others: from here on, places are those in the graph. */
static void
make_room(struct work *work, struct gr_graph *graph)
{
    for (size_t place = 0; place < work->count; place++) {
        size_t position = work->order[place];

        graph->count += gr_compose_room((enum gr_tile_op)work->ops[position], work->message->nodes[position]->n_inputs);
        work->place_of[position] = graph->count++;
    }
    for (size_t i = 0; i < graph->target_count; i++) {
        graph->targets[i] = work->place_of[work->order[graph->targets[i]]];
    }
}

/* Move what was found into the graph, in order. */
static granary_err
fill_nodes(struct work *work, struct gr_graph *graph)
{
    make_room(work, graph);
    graph->nodes = calloc(graph->count, sizeof *graph->nodes);
    if (graph->nodes == NULL) {
        return out_of_memory();
    }
    for (size_t place = 0; place < work->count; place++) {
        size_t position = work->order[place];
        struct gr_graph_node *node = &graph->nodes[work->place_of[position]];

        for (size_t k = gr_compose_room((enum gr_tile_op)work->ops[position], work->message->nodes[position]->n_inputs);
             k > 0; k--) {
            *(node - k) = (struct gr_graph_node){.node = work->message->nodes[position],
                                                 .op = GR_TILE_empty,
                                                 .yields = GR_YIELDS_TENSOR,
                                                 .absent = true,
                                                 .type = {.known = true, .is_tensor = true, .dtype = GRANARY_FLOAT64}};
        }

        node->node = work->message->nodes[position];
        node->origin = work->origins[position];
        node->op = work->ops[position];
        node->yields = work->yields[position];
        node->input_count = node->node->n_inputs;
        node->inputs = work->inputs[position];
        for (size_t i = 0; i < node->input_count; i++) {
            node->inputs[i] = work->place_of[node->inputs[i]];
        }
        work->inputs[position] = NULL;
    }
    return GRANARY_OK;
}

static granary_err
check_targets(const struct gr_graph *graph)
{
    for (size_t i = 0; i < graph->target_count; i++) {
        const struct gr_graph_node *node = &graph->nodes[graph->targets[i]];

        if (node->op == GR_TILE_object) {
            return node_fail(node->node,
                             gr_fail(GRANARY_EINVAL, "its objects are there already: it cannot be a target"));
        }
    }
    return GRANARY_OK;
}

static granary_err
build(struct work *work, Granary__Graph *message, struct gr_graph *graph)
{
    granary_err err;

    graph->origins = calloc(1, sizeof *graph->origins);
    err = graph->origins == NULL ? out_of_memory() : gr_graph_expand(message, graph->origins);
    if (err == GRANARY_OK) {
        err = work_init(work, message);
    }
    if (err == GRANARY_OK) {
        find_parts(work, graph->origins);
        err = check_nodes(work);
    }
    if (err == GRANARY_OK) {
        err = work_order(work);
    }
    if (err == GRANARY_OK) {
        err = check_kinds(work);
    }
    if (err == GRANARY_OK) {
        err = work_targets(work, &graph->targets, &graph->target_count);
    }
    if (err == GRANARY_OK) {
        err = fill_nodes(work, graph);
    }
    if (err == GRANARY_OK) {
        place_origins(work, graph->origins);
        err = check_targets(graph);
    }
    return err;
}

granary_err
gr_graph_create(Granary__Graph *message, struct gr_graph **ret_graph)
{
    struct work work = {.message = message};
    struct gr_graph *graph = calloc(1, sizeof *graph);
    granary_err err = graph == NULL ? out_of_memory() : GRANARY_OK;

    if (err == GRANARY_OK && message->level != GRANARY__GRAPH__LEVEL__TILEABLE) {
        err = gr_fail(GRANARY_EINVAL, "its level is not that of a tileable graph");
    }
    if (err == GRANARY_OK) {
        err = build(&work, message, graph);
    }
    work_free(&work);
    if (err != GRANARY_OK) {
        gr_graph_destroy(graph);
        return err;
    }
    graph->message = message;
    *ret_graph = graph;
    return GRANARY_OK;
}

void
gr_graph_destroy(struct gr_graph *graph)
{
    if (graph == NULL) {
        return;
    }
    for (size_t i = 0; graph->nodes != NULL && i < graph->count; i++) {
        free(graph->nodes[i].inputs);
        if (graph->nodes[i].own != NULL) {
            granary__node__free_unpacked(graph->nodes[i].own, NULL);
        }
        gr_schema_free(&graph->nodes[i].type.schema);
    }
    free(graph->nodes);
    free(graph->targets);
    if (graph->origins != NULL) {
        gr_origins_free(graph->origins);
    }
    free(graph->origins);
    if (graph->message != NULL) {
        granary__graph__free_unpacked(graph->message, NULL);
    }
    free(graph);
}
