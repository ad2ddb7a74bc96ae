/*
 * Operators that are several others, one behind the other: a graph is written out before it is looked at, so nobody
 * else knows of them. A node NAME becomes nodes called "NAME: PART", and NAME itself, which is the last one. Only names
 * of columns are known here, no types.
 */
#ifndef GRAPH_EXPAND_EXPAND_H
#define GRAPH_EXPAND_EXPAND_H

#include "graph/graph.h"
#include "graph/ops.h"
#include "graph/schema.h"

/* What the operators above have of inputs at most. */
#define GR_EXPANDED_INPUTS 2

/* A node that was written out: who it is in messages, whatever of it is wrong. */
struct gr_origin {
    Granary__Node *node; /* owned: as the user wrote it */
    enum gr_tile_op op;
    size_t last;                       /* the position of the part that has its name */
    size_t first, count;               /* the positions of the others */
    size_t inputs[GR_EXPANDED_INPUTS]; /* places in the struct gr_graph, when that is made */
};

struct gr_origins {
    struct gr_origin *all;
    size_t count;
};

/* Write out all such nodes of a graph. Errors: EINVAL, with the node's name · ENOMEM; some may have been written out.
 * *ret_origins is all zero before, and to be freed in any case. */
granary_err gr_graph_expand(Granary__Graph *graph, struct gr_origins *ret_origins);
void gr_origins_free(struct gr_origins *origins);

#endif
