/*
 * Operators that are several others, one behind the other: a graph is written out before it is looked at, so nobody
 * else knows of them. A node NAME becomes nodes called "NAME: PART", and NAME itself, which is the last one. Only names
 * of columns are known here, no types.
 */
#ifndef GRAPH_EXPAND_EXPAND_H
#define GRAPH_EXPAND_EXPAND_H

#include "graph/graph.h"
#include "graph/ops.h"

/* clang-format off */
#define GR_EXPANDED_OPS(X) \
    X(merge_asof) X(group_head) X(group_tail) X(group_nth) X(idxmax) X(idxmin) X(factorize) X(qcut) X(pivot_table) \
    X(update) X(combine_first) X(corr) X(cov) X(interpolate) X(date_range)
/* clang-format on */

/* Write out all such nodes of a graph. Errors: EINVAL, with the node's name · ENOMEM; some may have been written out */
granary_err gr_graph_expand(Granary__Graph *graph);

#endif
