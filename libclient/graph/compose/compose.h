/*
 * Tensor operators that are written as several others: once the types of its inputs are known, such a node's place is
 * taken by nodes of its own. There are no tile rules or kernels for it.
 *
 * Positions do not move: a graph keeps room before the node, absent nodes that nothing reads until they are used.
 */
#ifndef GRAPH_COMPOSE_COMPOSE_H
#define GRAPH_COMPOSE_COMPOSE_H

#include "graph/graph.h"

/* How much room such a node needs at most. */
size_t gr_compose_room(enum gr_tile_op op, size_t inputs);

/* Compose node i, whose inputs' types are known; *ret_stays: it needs not be. Errors: EINVAL, ETYPE, ENOMEM; without
 * the node's name */
granary_err gr_compose(struct gr_graph *graph, size_t i, bool *ret_stays);

#endif
