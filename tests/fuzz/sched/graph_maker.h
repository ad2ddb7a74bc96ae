/* Graphs from choices: operators, parameters and expressions by the tables that describe them, so that most of what an
 * input says is a graph that passes, or nearly passes, the check. */
#ifndef FUZZ_GRAPH_MAKER_H
#define FUZZ_GRAPH_MAKER_H

#include "base/text/buf.h"
#include "fuzz/choices.h"

/* Append a graph as JSON over rows.csv (name, g, n, x, day, flag) and groups.csv (g, label, n). */
void make_graph(struct choices *choices, struct gr_buf *out);

#endif
