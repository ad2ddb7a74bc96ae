/* Random pipelines of frame operators over rows.csv (name, g, n, x) and groups.csv (g, label). */
#ifndef TESTS_PLAN_RANDOM_GRAPH_H
#define TESTS_PLAN_RANDOM_GRAPH_H

#include "base/buf.h"

/* Append "nodes" of a pipeline: the sources, then s0, s1, ...; returns how many steps s there are, at least one. */
int random_pipeline(unsigned *seed, struct gr_buf *out);

#endif
