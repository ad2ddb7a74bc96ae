/* Small things about machines and nodes of graphs that the files of this room share. */
#ifndef CLI_CLUSTER_NODE_H
#define CLI_CLUSTER_NODE_H

#include "cli/cluster/chunks.h"
#include "schema/granary.pb-c.h"

/* What this machine is called: Slurm's name for it, or its host name without a domain. Returns buffer. */
const char *node_name(char buffer[CHUNKS_NODE]);

/* Give a node of a graph an attribute, in place of one of that name. attr is the node's then; NULL: there was no memory
 * for it. Errors: ENOMEM */
granary_err node_set(Granary__Node *node, Granary__Attr *attr);

#endif
