/* One node's check and type. In this room only: graph.c and infer.c walk the graph. */
#ifndef GRAPH_NODE_H
#define GRAPH_NODE_H

#include "graph/graph.h"
#include "graph/ops.h"

/* Put "node 'NAME' (OP): " in front of the thread's message; returns err. */
granary_err node_fail(const Granary__Node *node, granary_err err);

/*
 * Check the parameters by themselves: known, complete, of the right kind, sensible. Attributes are brought to the kind
 * that ops.h promises; expressions are parsed into trees. Errors: EINVAL, ENOMEM; without the node's name
 */
granary_err node_check(Granary__Node *node, enum gr_tile_op op, struct gr_trees *trees);

/* The attributes by themselves, against the parameters of an operator. Errors: as node_check() */
granary_err node_check_attrs(Granary__Node *node, const struct gr_param_info *params);

/* What the operator says of its parameters' values, once their kinds are right. trees: NULL for one without
 * expressions. Errors: EINVAL; without the node's
 * name */
granary_err node_check_values(const Granary__Node *node, enum gr_tile_op op, struct gr_trees *trees);

/* A string that a list has twice, or NULL. Errors: ENOMEM */
granary_err find_repeated(char *const *strings, size_t count, const char **ret_string);

/* Whether the columns that its parameters name are in that input, a frame. Errors: ENOENT; without the node's name */
granary_err
node_check_columns(const Granary__Node *node, enum gr_tile_op op, size_t input, const struct gr_schema *schema);

/* Give a node whose inputs' types are known its type, or write it as others, which are appended to the graph. Errors:
 * ENOENT, ETYPE, EINVAL, ENOMEM; without the node's name */
granary_err node_settle(struct gr_graph *graph, struct gr_node *node);

/* A node of the graph, with room for so many inputs, at no place yet. NULL: no memory */
struct gr_node *graph_make_node(struct gr_graph *graph, Granary__Node *message, enum gr_tile_op op, size_t input_count);
/* Give it the last place. false: no memory */
bool graph_append(struct gr_graph *graph, struct gr_node *node);
void graph_free_nodes(struct gr_graph *graph);

#endif
