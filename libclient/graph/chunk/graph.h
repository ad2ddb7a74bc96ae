/*
 * Chunk graphs: what a user submits with Graph.level CHUNK. Nodes are operators of contract/ops/chunk_ops.def on chunks; an
 * input is "NODE" (its first output), "NODE:OUTPUT" or "object:ID".
 */
#ifndef GRAPH_CHUNK_GRAPH_H
#define GRAPH_CHUNK_GRAPH_H

#include "graph/chunk/ops.h"
#include "graph/graph.h"

#define GR_CHUNK_INPUT_OBJECT SIZE_MAX

struct gr_chunk_input {
    size_t node; /* position in nodes, smaller than its reader's; GR_CHUNK_INPUT_OBJECT: object */
    uint32_t output;
    granary_id object; /* all zero: its text is no whole id */
};

struct gr_chunk_node {
    const Granary__Node *node; /* borrowed from message */
    enum gr_chunk_op op;
    uint32_t outputs; /* 0 of null; of a call 0, too, until its function is known: gr_chunk_graph_settle() */
    size_t input_count;
    struct gr_chunk_input *inputs;
};

/* In order: inputs come before the nodes that read them. */
struct gr_chunk_graph {
    Granary__Graph *message; /* owned */
    size_t count;
    struct gr_chunk_node *nodes;
    size_t target_count;
    size_t *targets; /* positions in nodes */
};

/*
 * Check structure and parameters, as gr_graph_create() does. *takes* message on success. Errors: EINVAL, ENOENT; every
 * message about a node begins with "node 'NAME' (OP): "
 */
granary_err gr_chunk_graph_create(Granary__Graph *message, struct gr_chunk_graph **ret_graph);
void gr_chunk_graph_destroy(struct gr_chunk_graph *graph);

/* When the outputs of all calls are set: every input must be an output there is, or an object by its whole id. Errors:
 * EINVAL */
granary_err gr_chunk_graph_settle(const struct gr_chunk_graph *graph);

#endif
