/* What a fragment reads: chunks of other stages are taken into the store, and the nodes of its graph are told of them. */
#ifndef CLI_CLUSTER_INPUTS_H
#define CLI_CLUSTER_INPUTS_H

#include "cli/cluster/chunks.h"
#include "graph_json/plan.h"

/*
 * Set `part` and the inputs of the stage's graph for a partition. The chunks live as long as the client.
 *
 * Errors  ECORRUPT naming stage, partition and file: results that are not whole, or damaged; they do not count any more ·
 *         what importing gives
 */
granary_err inputs_take(const struct gr_cutplan *plan, const struct gr_cutplan_stage *stage, uint32_t partition,
                        const char *directory, granary_client *client);

#endif
