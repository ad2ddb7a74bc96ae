/* Chunk graphs checked: names and inputs are resolved, then nodes put in order, inputs before who reads them. */
#include "graph/chunk/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "graph/node.h"
#include "graph/operators/nearest.h"
#include "graph/order.h"
#include "graph/user/user.h"

#define OBJECT_PREFIX "object:"
#define OUTPUTS_MAX   65536 /* of one operator */

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

    *ret_op = gr_chunk_op_find(node->op);
    if (*ret_op >= 0) {
        return GRANARY_OK;
    }
    for (int op = 0; op < GR_CHUNK_object; op++) {
        if (gr_chunk_op_find(gr_chunk_op_name((enum gr_chunk_op)op)) >= 0) {
            gr_nearest_offer(&nearest, gr_chunk_op_name((enum gr_chunk_op)op));
        }
    }
    return gr_fail(GRANARY_ENOENT, "there is no operator '%.60s' on chunks%s", node->op,
                   gr_nearest_hint(&nearest, hint));
}

/* As many outputs as the parameter "parts" says, and some more. */
static granary_err
count_parts(const Granary__Node *node, size_t more, uint32_t *ret_outputs)
{
    int64_t parts = GR_CHUNK_PARAMS(groupby_map, node->attrs, node->n_attrs)->parts; /* as all have it */

    if (parts < 1 || parts > UINT16_MAX) {
        return gr_fail(GRANARY_EINVAL, "parameter 'parts' is %lld; it can be 1 to %d", (long long)parts, UINT16_MAX);
    }
    *ret_outputs = (uint32_t)((size_t)parts + more);
    return GRANARY_OK;
}

/* How many outputs it has, as far as its parameters tell; and what they must be beyond their kinds. */
static granary_err
check_outputs(const Granary__Node *node, enum gr_chunk_op op, uint32_t *ret_outputs)
{
    const Granary__Attr *texts = gr_attr_find(node->attrs, node->n_attrs, "texts");
    const Granary__Attr *functions = gr_attr_find(node->attrs, node->n_attrs, "functions");

    *ret_outputs = 1;
    switch (op) {
    case GR_CHUNK_null:
        *ret_outputs = 0;
        return node_check_values(node, GR_TILE_null, NULL);
    case GR_CHUNK_sort_split: /* packed frames */
    case GR_CHUNK_shuffle_split:
    case GR_CHUNK_window_split:
    case GR_CHUNK_window_part:
    case GR_CHUNK_groupby_map:
        return count_parts(node, 0, ret_outputs);
    case GR_CHUNK_groupby_deal: /* packed frames: behind the parts a dictionary of each of texts */
        return count_parts(node, texts == NULL ? 0 : texts->n_ints, ret_outputs);
    case GR_CHUNK_reduce_map:
        *ret_outputs = functions == NULL ? 1 : (uint32_t)functions->n_strings;
        return GRANARY_OK;
    case GR_CHUNK_qr:
        *ret_outputs = 2;
        return GRANARY_OK;
    case GR_CHUNK_svd:
    case GR_CHUNK_window_next:
        *ret_outputs = 3;
        return GRANARY_OK;
    case GR_CHUNK_call:
        *ret_outputs = 0;
        return node_check_values(node, GR_TILE_call, NULL);
    case GR_CHUNK_exec:
        return node_check_values(node, GR_TILE_exec, NULL);
    default:
        return GRANARY_OK;
    }
}

/* ---- inputs ---- */

/* The node and output that a text names: a node of that very name, or what stands before the last colon. */
static granary_err
find_output(const struct work *work, const char *text, struct gr_chunk_input *ret_input)
{
    const char *colon = strrchr(text, ':');
    char *name = NULL;
    char *end = NULL;
    unsigned long output = 0;

    ret_input->output = 0;
    ret_input->node = work_find(work, text);
    if (ret_input->node != SIZE_MAX) {
        return GRANARY_OK;
    }
    if (colon != NULL && colon[1] >= '0' && colon[1] <= '9') {
        output = strtoul(colon + 1, &end, 10);
    }
    if (end == NULL || *end != '\0' || output > OUTPUTS_MAX) {
        return work_no_node(work, text);
    }
    name = strndup(text, (size_t)(colon - text));
    if (name == NULL) {
        return out_of_memory();
    }
    ret_input->node = work_find(work, name);
    ret_input->output = (uint32_t)output;
    if (ret_input->node == SIZE_MAX) {
        granary_err err = work_no_node(work, name);

        free(name);
        return err;
    }
    free(name);
    return GRANARY_OK;
}

static granary_err
find_input(const struct work *work, const char *text, struct gr_chunk_input *ret_input)
{
    const char *id = text + strlen(OBJECT_PREFIX);

    if (strncmp(text, OBJECT_PREFIX, strlen(OBJECT_PREFIX)) != 0) {
        return find_output(work, text, ret_input);
    }
    *ret_input = (struct gr_chunk_input){.node = WORK_OBJECT};
    if (!gr_id_text_good(id)) {
        return gr_fail(GRANARY_EINVAL, "input '%.100s' names no object: write object:ID or object:name:NAME", text);
    }
    (void)granary_id_parse(id, strlen(id), &ret_input->object); /* else it is to be resolved */
    return GRANARY_OK;
}

/* inputs: room for all of the node's. */
static granary_err
resolve_inputs(struct work *work, size_t position, struct gr_chunk_input *inputs)
{
    const Granary__Node *node = work->message->nodes[position];
    granary_err err = GRANARY_OK;

    work->inputs[position] = calloc(node->n_inputs + 1, sizeof **work->inputs);
    if (work->inputs[position] == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < node->n_inputs && err == GRANARY_OK; i++) {
        err = find_input(work, node->inputs[i], &inputs[i]);
        work->inputs[position][i] = inputs[i].node;
    }
    return err;
}

/* ---- the whole ---- */

static granary_err
check_node(struct work *work, size_t position, struct gr_chunk_node *ret_node)
{
    Granary__Node *node = work->message->nodes[position];
    granary_err err = find_op(node, &work->ops[position]);

    if (err == GRANARY_OK) {
        err = node_check_attrs(node, gr_chunk_params_of((enum gr_chunk_op)work->ops[position]));
    }
    if (err == GRANARY_OK) {
        ret_node->node = node;
        ret_node->op = (enum gr_chunk_op)work->ops[position];
        ret_node->input_count = node->n_inputs;
        ret_node->inputs = calloc(node->n_inputs + 1, sizeof *ret_node->inputs);
        err = ret_node->inputs == NULL ? out_of_memory() : check_outputs(node, ret_node->op, &ret_node->outputs);
    }
    if (err == GRANARY_OK) {
        err = resolve_inputs(work, position, ret_node->inputs);
    }
    return err == GRANARY_OK ? err : node_fail(node, err);
}

/* From positions in the message to places in order. */
static void
put_in_order(const struct work *work, struct gr_chunk_node *found, struct gr_chunk_graph *graph)
{
    for (size_t place = 0; place < work->count; place++) {
        struct gr_chunk_node *node = &graph->nodes[place];

        *node = found[work->order[place]];
        found[work->order[place]].inputs = NULL;
        for (size_t i = 0; i < node->input_count; i++) {
            node->inputs[i].node =
                node->inputs[i].node == WORK_OBJECT ? GR_CHUNK_INPUT_OBJECT : work->place_of[node->inputs[i].node];
        }
    }
    graph->count = work->count;
}

static granary_err
build(struct work *work, Granary__Graph *message, struct gr_chunk_graph *graph)
{
    struct gr_chunk_node *found = calloc(message->n_nodes + 1, sizeof *found);
    granary_err err = work_init(work, message);

    graph->nodes = calloc(message->n_nodes + 1, sizeof *graph->nodes);
    if (err == GRANARY_OK && (found == NULL || graph->nodes == NULL)) {
        err = out_of_memory();
    }
    for (size_t i = 0; i < work->count && err == GRANARY_OK; i++) {
        err = check_node(work, i, &found[i]);
    }
    if (err == GRANARY_OK) {
        err = work_order(work);
    }
    if (err == GRANARY_OK) {
        err = work_targets(work, &graph->targets, &graph->target_count);
    }
    if (err == GRANARY_OK) {
        put_in_order(work, found, graph);
    }
    for (size_t i = 0; found != NULL && i < message->n_nodes; i++) {
        free(found[i].inputs);
    }
    free(found);
    return err;
}

granary_err
gr_chunk_graph_create(Granary__Graph *message, struct gr_chunk_graph **ret_graph)
{
    struct work work = {.message = message};
    struct gr_chunk_graph *graph = calloc(1, sizeof *graph);
    granary_err err = graph == NULL ? out_of_memory() : build(&work, message, graph);

    work_free(&work);
    if (err != GRANARY_OK) {
        gr_chunk_graph_destroy(graph);
        return err;
    }
    graph->message = message;
    *ret_graph = graph;
    return GRANARY_OK;
}

static granary_err
check_input(const struct gr_chunk_graph *graph, const struct gr_chunk_node *node, size_t k)
{
    const struct gr_chunk_input *input = &node->inputs[k];
    const struct gr_chunk_node *from = input->node == GR_CHUNK_INPUT_OBJECT ? NULL : &graph->nodes[input->node];

    if (from == NULL) {
        return gr_id_is_zero(input->object)
                   ? gr_fail(GRANARY_EINVAL, "input '%.100s' is not a whole id of 32 hex digits", node->node->inputs[k])
                   : GRANARY_OK;
    }
    if (from->outputs == 0 && node->op == GR_CHUNK_null) {
        return GRANARY_OK; /* it only waits */
    }
    return input->output < from->outputs
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "input '%.100s': node '%.100s' (%s) has %u output%s", node->node->inputs[k],
                         from->node->name, from->node->op, from->outputs, from->outputs == 1 ? "" : "s");
}

granary_err
gr_chunk_graph_settle(const struct gr_chunk_graph *graph)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < graph->count && err == GRANARY_OK; i++) {
        for (size_t k = 0; k < graph->nodes[i].input_count && err == GRANARY_OK; k++) {
            err = check_input(graph, &graph->nodes[i], k);
        }
        if (err != GRANARY_OK) {
            err = node_fail(graph->nodes[i].node, err);
        }
    }
    return err;
}

void
gr_chunk_graph_destroy(struct gr_chunk_graph *graph)
{
    if (graph == NULL) {
        return;
    }
    for (size_t i = 0; graph->nodes != NULL && i < graph->count; i++) {
        free(graph->nodes[i].inputs);
    }
    free(graph->nodes);
    free(graph->targets);
    if (graph->message != NULL) {
        granary__graph__free_unpacked(graph->message, NULL);
    }
    free(graph);
}
