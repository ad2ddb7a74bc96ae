/* The text of a topology file. */
#ifndef TOPOLOGY_PARSE_H
#define TOPOLOGY_PARSE_H

#include "topology/topology.h"

/* Fill in count and nodes, but for usable. Errors: EINVAL, "NAME:LINE: what" */
granary_err topology_parse_lines(const char *text, const char *name, struct topology *topology);

/* 10 to itself, 20 to others. */
void topology_default_distances(struct topology_node *nodes, size_t count, size_t node);

#endif
