/* Optimised steps as a graph again, for those who print it, cut it, or run it elsewhere. */
#ifndef OPTIMIZE_GRAPH_H
#define OPTIMIZE_GRAPH_H

#include "graph/graph.h"
#include "optimize/optimize.h"

/* Rules after which a step says what no node can: a groupby that computes its arguments, a program of several operators.
 * Whoever runs the graph applies them again. */
#define GR_RULES_INTO_STEPS ((uint32_t)(GR_RULE_FOLD | GR_RULE_FUSE_MAP))

/*
 * The graph that rules make of another one. Its targets have the same names and types, and yield the same bytes. Nodes of
 * other names than the user's may come and go.
 *
 *   conditions        are filters, as near to the sources as they go
 *   unread columns    are left out by a select above a source or a join, and below what would move them
 *   a sort's limit    is a head above the sort
 *   operators that are written as others are these others
 *
 * graph      inferred, with the types of all its sources (client/learn.h learns them); unchanged
 * ret_graph  *gives* the other one, inferred, too; its message can be submitted. gr_graph_destroy()
 * Errors     ESTATE the type of a source is not known · EINVAL of recursions, what gr_optimize() finds · ENOMEM
 */
granary_err gr_graph_optimize(const struct gr_graph *graph, struct gr_graph **ret_graph);

#endif
