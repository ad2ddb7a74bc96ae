/* Random graphs of real operators, the same for the same seed, over a file and tensors of its own. */
#ifndef TORTURE_GRAPHS_H
#define TORTURE_GRAPHS_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/graph.h"

/* Write the CSV file that frame graphs read. rows: of a few dozen bytes each */
bool graphs_write_table(const char *path, uint64_t seed, unsigned rows);

/*
 * A graph with one target, "result".
 *
 * table     the file
 * elements  of a tensor that does not stay small, about
 */
granary_graph *graphs_make(uint64_t seed, const char *table, int64_t elements);

#endif
