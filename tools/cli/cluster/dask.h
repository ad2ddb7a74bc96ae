/* `--on dask:ADDRESS`: fragments run on the workers of a Dask cluster, driven by a process of Python (granary/_elsewhere.py). */
#ifndef CLI_CLUSTER_DASK_H
#define CLI_CLUSTER_DASK_H

#include "base/text/buf.h"
#include "cli/cluster/nodes.h"
#include "cli/cluster/places.h"
#include "schema/granary.pb-c.h"

struct dask;

/* The address of Dask's scheduler in what --on was given: behind "dask:". NULL: it is about other machines, or NULL. */
const char *dask_address(const char *on);

/*
 * Start the driver, which connects to the cluster. To be called before there are threads.
 *
 * Errors  EINVAL no address · EUNREACHABLE no Python, no package, no cluster · EVERSION a worker differs
 */
granary_err dask_open(const struct places_options *options, struct dask **ret_dask);
/* What still runs is cancelled. NULL is fine. */
void dask_close(struct dask *dask);

/*
 * What the workers tell of themselves and their nodes; to be freed by nodes_free().
 *
 * Errors  EUNREACHABLE no Python, no package, no cluster · ETIMEDOUT · ENOMEM
 */
granary_err dask_nodes(const char *address, struct node **ret_nodes, size_t *ret_count);

/*
 * What the fragments wait for that the scheduler has: lines of granary/_why.py, appended.
 *
 * subject  a stage; "": all
 * Errors   as dask_nodes()
 */
granary_err dask_why(const char *address, const char *subject, struct gr_buf *ret_said);

/* How many workers there are. */
size_t dask_workers(const struct dask *dask);

/*
 * Run a plan. The graph's nodes, one a target in the plan's order, then read its results, which live as long as the client.
 *
 * Errors  those of fragments · ETIMEDOUT · ETYPE a target that is neither frame nor tensor · EUNREACHABLE the driver has ended
 */
granary_err dask_run(struct dask *dask, const char *plan, size_t size, int timeout_ms, granary_client *client,
                     Granary__Graph *graph);

#endif
