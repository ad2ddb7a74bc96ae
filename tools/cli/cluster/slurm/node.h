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

/* Make it a node of another operator, without attributes. Errors: ENOMEM */
granary_err node_become(Granary__Node *node, const char *op);

/* Its attribute `ids`. Errors: ENOMEM */
granary_err node_set_ids(Granary__Node *node, const granary_id *ids, size_t count);

/*
 * Make it an `array` of the blocks that it has as ids.
 *
 * first  the first of them, which tells dtype and the size of blocks
 * shape  of the whole; NULL: the first one is all there is
 * Errors ETYPE it is no tensor · as granary_object_get() · ENOMEM
 */
granary_err
node_set_tensor(Granary__Node *node, granary_client *client, granary_id first, const int64_t *shape, int dims);

/*
 * Have the graph copy what the node reads, so that the result does not end with the objects: a new node reads, and this
 * one, which keeps its name, copies. Errors: ENOMEM
 */
granary_err node_copy(Granary__Graph *graph, size_t node);

#endif
