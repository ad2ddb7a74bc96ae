/*
 * Frames of all partitions make one `table`, and objects one `object`. Blocks of a tensor are a grid in each partition, so
 * several partitions are an `array` each, with a node that puts them together.
 */
#include "cli/cluster/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/cluster/slurm/node.h"
#include "graph/graph.h"

/* What comes of one partition. */
struct part {
    size_t first, count; /* of the ids */
    int dims;
    int64_t shape[CHUNKS_DIMS]; /* tensors */
};

struct taking {
    const struct gr_cutplan_stage *stage; /* that reads */
    const struct gr_cutplan_stage *from;
    uint32_t partition; /* that reads */
    bool one;           /* chunk `partition` of each */
    const char *directory;
    granary_client *client;
    granary_id *ids;
    size_t count, room;
    struct part *parts;
    size_t part_count;
};

static granary_err
add_id(struct taking *taking, granary_id id)
{
    if (taking->count == taking->room) {
        size_t room = taking->room == 0 ? 16 : 2 * taking->room;
        granary_id *ids = realloc(taking->ids, room * sizeof *ids);

        if (ids == NULL) {
            return gr_no_memory("chunks");
        }
        taking->ids = ids;
        taking->room = room;
    }
    taking->ids[taking->count++] = id;
    return GRANARY_OK;
}

/* The chunks that are read of one partition of the other stage. */
static granary_err
take_partition(struct taking *taking, uint32_t p)
{
    const struct chunks_of of = {taking->directory, taking->from->digest, p};
    struct part *part = &taking->parts[taking->part_count++];
    struct chunks chunks = {.count = 0};
    granary_err err = chunks_read(&of, &chunks);
    size_t k = taking->one ? taking->partition : 0;
    size_t end;

    if (err == GRANARY_ENOENT) {
        err = gr_fail(GRANARY_ECORRUPT, "%s: has no results of it", taking->directory);
    }
    if (err == GRANARY_OK && taking->one && k >= chunks.count) {
        err = gr_fail(GRANARY_EINVAL, "it has %zu chunks, and chunk %zu is asked for", chunks.count, k);
    }
    part->first = taking->count;
    part->dims = chunks.is_tensor && !taking->one ? chunks.dims : 0;
    memcpy(part->shape, chunks.shape, sizeof part->shape);
    end = taking->one ? k + 1 : chunks.count;
    for (; err == GRANARY_OK && k < end; k++) {
        granary_id id;

        err = chunks_take(&of, &chunks, k, taking->client, &id);
        err = err == GRANARY_OK ? add_id(taking, id) : err;
    }
    part->count = taking->count - part->first;
    if (err == GRANARY_ECORRUPT) { /* whoever drives this has it made anew */
        chunks_spoil(&of);
    }
    chunks_free(&chunks);
    return err == GRANARY_OK ? err : gr_fail_in(err, "results of stage '%s', partition %u", taking->from->name, p);
}

/* A tensor of one partition. A single block that was asked for has the shape that it has. */
static granary_err
describe_part(const struct taking *taking, const struct part *part, Granary__Node *node)
{
    granary_err err = node_set_ids(node, &taking->ids[part->first], part->count);

    return err == GRANARY_OK && part->count > 0 ? node_set_tensor(node, taking->client, taking->ids[part->first],
                                                                  taking->one ? NULL : part->shape, part->dims)
                                                : err;
}

/* The node becomes one that puts arrays together: a new node for each partition. */
static granary_err
put_together(const struct taking *taking, Granary__Graph *graph, Granary__Node *node)
{
    Granary__Node **nodes = realloc(graph->nodes, (graph->n_nodes + taking->part_count) * sizeof *nodes);
    granary_err err;

    if (nodes == NULL) {
        return gr_no_memory("graph");
    }
    graph->nodes = nodes;
    err = node_become(node, "concatenate");
    node->inputs = err == GRANARY_OK ? calloc(taking->part_count, sizeof *node->inputs) : NULL;
    if (node->inputs == NULL) {
        return gr_no_memory("graph");
    }
    for (size_t p = 0; p < taking->part_count && err == GRANARY_OK; p++) {
        Granary__Node *part = malloc(sizeof *part);

        if (part == NULL) {
            return gr_no_memory("graph");
        }
        granary__node__init(part);
        graph->nodes[graph->n_nodes++] = part;
        if (asprintf(&part->name, "%s.%zu", node->name, p) < 0) {
            granary__node__init(part);
            return gr_no_memory("graph");
        }
        node->inputs[p] = strdup(part->name);
        if (node->inputs[p] == NULL) {
            return gr_no_memory("graph");
        }
        node->n_inputs = p + 1;
        err = describe_part(taking, &taking->parts[p], part);
    }
    return err == GRANARY_OK ? node_set(node, gr_attr_new_int("axis", 0)) : err;
}

static granary_err
tell_node(const struct taking *taking, Granary__Graph *graph, Granary__Node *node)
{
    if (strcmp(node->op, "array") != 0 || gr_attr_find(node->attrs, node->n_attrs, "shape") != NULL) {
        return node_set_ids(node, taking->ids, taking->count);
    }
    return taking->part_count == 1 ? describe_part(taking, &taking->parts[0], node) : put_together(taking, graph, node);
}

static granary_err
take_input(struct taking *taking, const struct gr_cutplan_input *input)
{
    uint32_t first = input->take == GR_PLAN_SAME ? taking->partition : 0;
    uint32_t end = input->take == GR_PLAN_SAME ? first + 1 : taking->from->partitions;
    Granary__Graph *graph = taking->stage->graph;
    granary_err err = GRANARY_OK;

    taking->one = input->take == GR_PLAN_PART;
    taking->parts = calloc(end - first, sizeof *taking->parts);
    if (taking->parts == NULL) {
        return gr_no_memory("chunks");
    }
    for (uint32_t p = first; p < end && err == GRANARY_OK; p++) {
        err = take_partition(taking, p);
    }
    err = err == GRANARY_OK ? tell_node(taking, graph, graph->nodes[input->node]) : err;
    free(taking->parts);
    free(taking->ids);
    return err;
}

granary_err
inputs_take(const struct gr_cutplan *plan, const struct gr_cutplan_stage *stage, uint32_t partition,
            const char *directory, granary_client *client)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < stage->part_of_count && err == GRANARY_OK; i++) {
        err = node_set(stage->graph->nodes[stage->part_of[i]], gr_attr_new_int("part", partition));
    }
    for (size_t i = 0; i < stage->input_count && err == GRANARY_OK; i++) {
        struct taking taking = {.stage = stage,
                                .from = &plan->stages[stage->inputs[i].stage],
                                .partition = partition,
                                .directory = directory,
                                .client = client};

        err = take_input(&taking, &stage->inputs[i]);
    }
    return err;
}
