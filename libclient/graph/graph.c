/* Tileable graphs: operators, inputs, and what flows between them. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/memory/grow.h"
#include "graph/node.h"
#include "graph/operator.h"
#include "graph/operators/nearest.h"
#include "graph/order.h"
#include "graph/rewrite/rewrite.h"

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
check_nodes(struct work *work, struct gr_trees *trees)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < work->count && err == GRANARY_OK; i++) {
        err = find_op(work->message->nodes[i], &work->ops[i]);
    }
    for (size_t i = 0; i < work->count && err == GRANARY_OK; i++) {
        err = node_check(work->message->nodes[i], (enum gr_tile_op)work->ops[i], trees);
        if (err == GRANARY_OK) {
            err = resolve_inputs(work, i);
        }
        if (err != GRANARY_OK) {
            err = node_fail(work->message->nodes[i], err);
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

/* What an operator works on: what it yields, but for those that write files or turn one kind into another. */
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
    case GR_TILE_groupby_partial:
        return GR_YIELDS_FRAME;
    case GR_TILE_reduce_partial:
        return GR_YIELDS_TENSOR;
    case GR_TILE_groupby_combine:
    case GR_TILE_reduce_combine:
        return GR_YIELDS_OBJECTS;
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

        if ((wanted == GR_YIELDS_FRAME || wanted == GR_YIELDS_TENSOR || wanted != info->yields) && from != wanted) {
            return gr_fail(GRANARY_ETYPE, "it works on %s, but its input '%.100s' (%s) yields %s",
                           wanted == GR_YIELDS_FRAME    ? "frames"
                           : wanted == GR_YIELDS_TENSOR ? "tensors"
                                                        : "objects",
                           node->inputs[i], op, yields_text(from));
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
            err = node_fail(work->message->nodes[work->order[place]], err);
        }
    }
    return err;
}

/* ---- the whole ---- */

struct gr_node *
graph_make_node(struct gr_graph *graph, Granary__Node *message, enum gr_tile_op op, size_t input_count)
{
    struct gr_node *node = malloc(sizeof *node);

    if (node == NULL) {
        return NULL;
    }
    *node = (struct gr_node){.node = message,
                             .shown = message,
                             .op = (int)op,
                             .yields = gr_op_info(op)->yields,
                             .input_count = input_count,
                             .inputs = input_count == 0 ? NULL : calloc(input_count, sizeof(struct gr_node *)),
                             .limit = GR_NO_LIMIT,
                             .next = graph->made,
                             .trees = &graph->trees};
    if (node->inputs == NULL && input_count > 0) {
        free(node);
        return NULL;
    }
    return graph->made = node;
}

bool
graph_append(struct gr_graph *graph, struct gr_node *node)
{
    if (!gr_grow(&graph->nodes, &graph->room, graph->count + graph->awaited, sizeof(struct gr_node *))) {
        return false;
    }
    node->position = graph->count;
    graph->nodes[graph->count++] = node;
    return true;
}

void
graph_free_nodes(struct gr_graph *graph)
{
    while (graph->made != NULL) {
        struct gr_node *node = graph->made;

        graph->made = node->next;
        free(node->inputs);
        granary__node__free_unpacked(node->own, NULL);
        gr_schema_free(&node->type.schema);
        free(node);
    }
    free(graph->nodes);
    gr_trees_free(&graph->trees);
}

/* Move what was found into the graph, in order. */
static granary_err
fill_nodes(const struct work *work, struct gr_graph *graph)
{
    for (size_t place = 0; place < work->count; place++) {
        size_t position = work->order[place];
        Granary__Node *message = work->message->nodes[position];
        struct gr_node *node = graph_make_node(graph, message, (enum gr_tile_op)work->ops[position], message->n_inputs);

        if (node == NULL || !graph_append(graph, node)) {
            return out_of_memory();
        }
        node->yields = work->yields[position];
        for (size_t i = 0; i < node->input_count; i++) {
            node->inputs[i] = graph->nodes[work->place_of[work->inputs[position][i]]];
        }
    }
    return GRANARY_OK;
}

/* What can be told of rewrites before any type is known. */
static granary_err
try_rewrites(const struct gr_graph *graph)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < graph->count && err == GRANARY_OK; i++) {
        if (gr_op_has((enum gr_tile_op)graph->nodes[i]->op, GR_OP_KNOWS_NO_TYPES)) {
            err = gr_rewrite_try(graph->nodes[i]);
            err = err == GRANARY_OK ? err : node_fail(graph->nodes[i]->node, err);
        }
    }
    return err;
}

static granary_err
name_targets(struct gr_graph *graph)
{
    graph->target_names = calloc(graph->target_count + 1, sizeof *graph->target_names);
    for (size_t t = 0; graph->target_names != NULL && t < graph->target_count; t++) {
        graph->target_names[t] = graph->nodes[graph->targets[t]]->node->name;
    }
    return graph->target_names == NULL ? out_of_memory() : GRANARY_OK;
}

static granary_err
check_targets(const struct gr_graph *graph)
{
    for (size_t i = 0; i < graph->target_count; i++) {
        const struct gr_node *node = graph->nodes[graph->targets[i]];

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
    granary_err err = work_init(work, message);

    if (err == GRANARY_OK) {
        err = check_nodes(work, &graph->trees);
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
        err = name_targets(graph);
    }
    if (err == GRANARY_OK) {
        err = check_targets(graph);
    }
    if (err == GRANARY_OK) {
        err = try_rewrites(graph);
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
    graph_free_nodes(graph);
    free(graph->targets);
    free(graph->target_names);
    if (graph->message != NULL) {
        granary__graph__free_unpacked(graph->message, NULL);
    }
    free(graph);
}

bool *
gr_graph_needed(const struct gr_graph *graph)
{
    bool *needed = calloc(graph->count + 1, sizeof *needed);

    for (size_t t = 0; needed != NULL && t < graph->target_count; t++) {
        needed[graph->targets[t]] = true;
    }
    for (size_t i = graph->count; needed != NULL && i-- > 0;) {
        for (size_t k = 0; k < graph->nodes[i]->input_count && needed[i]; k++) {
            needed[graph->nodes[i]->inputs[k]->position] = true;
        }
    }
    return needed;
}

uint64_t
gr_graph_digest(const Granary__Graph *graph)
{
    struct gr_buf bytes = {0};
    uint64_t digest = 0;
    void *room = gr_buf_grow(&bytes, granary__graph__get_packed_size(graph));

    if (room != NULL) {
        (void)granary__graph__pack(graph, room);
        digest = gr_hash64(bytes.bytes, bytes.size);
    }
    gr_buf_free(&bytes);
    return digest;
}
