/* Rewrites of operators that are given lists as keys, with columns that stand for them. Each returns the operator's own node
 * when none of its keys has lists. */
#ifndef GRAPH_REWRITE_FRAME_KEYS_H
#define GRAPH_REWRITE_FRAME_KEYS_H

#include "graph/operator.h"

struct gr_node *keys_of_sort(struct rewrite *x);
struct gr_node *keys_of_distinct(struct rewrite *x);
struct gr_node *keys_of_duplicated(struct rewrite *x);
struct gr_node *keys_of_value_counts(struct rewrite *x);
struct gr_node *keys_of_window(struct rewrite *x);
struct gr_node *keys_of_groupby(struct rewrite *x); /* of aggregates over lists, too */
struct gr_node *keys_of_join(struct rewrite *x);

#endif
