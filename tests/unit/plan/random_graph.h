/* Random pipelines of frame operators over rows.csv (name, g, n, x) and groups.csv (g, label). */
#ifndef TESTS_PLAN_RANDOM_GRAPH_H
#define TESTS_PLAN_RANDOM_GRAPH_H

#include <stdbool.h>

#include "base/text/buf.h"

/*
 * Append "nodes" of a pipeline: the sources, then s0, s1, ...; returns how many steps s there are, at least one.
 *
 * functions  steps that compute one column are map_chunk of function "compute", parameters "column" and "expression"
 *            (of its input's columns); else assign
 */
int random_pipeline(unsigned *seed, bool functions, struct gr_buf *out);

#endif
