/*
 * Operators that say nothing new are written as others. There are no tile rules or kernels for them.
 *
 * A rewrite appends nodes to the graph (graph/rewrite/private.h), and the last of them takes the operator's place. It
 * runs when the types of the operator's inputs are known. Nodes that it appends may be written as others in turn.
 */
#ifndef GRAPH_REWRITE_REWRITE_H
#define GRAPH_REWRITE_REWRITE_H

#include "graph/graph.h"

/* Write a node as others, which are appended to the graph before it; *ret_stays: it need not be. Errors: ENOENT a
 * column that is not there, EINVAL, ETYPE, ENOMEM; without the node's name */
granary_err gr_rewrite(struct gr_graph *graph, struct gr_node *node, bool *ret_stays);

/* Whether a node whose rewrite needs no types can be written as others, as far as its parameters tell. Errors: EINVAL,
 * ENOMEM; without the node's name */
granary_err gr_rewrite_try(struct gr_node *node);

/* Of operators that have kernels, too: the node itself where these do it. */
struct rewrite;
struct gr_node *rewrite_sample(struct rewrite *x);
struct gr_node *rewrite_describe(struct rewrite *x);

/* Whether it is a part of a tensor from a source, which is written as the source and a `split`. */
bool gr_part_is_written(const struct gr_node *node);

/* Whether the operator takes its inputs, of which some may be complex. Errors: ETYPE */
granary_err gr_complex_check(const struct gr_node *node);
/* Whether some are, and it is written by their parts. */
bool gr_complex_is_written(const struct gr_node *node);

#endif
