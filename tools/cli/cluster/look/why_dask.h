/* `granary cluster why --on dask:ADDRESS`: what fragments wait for that Dask's scheduler has. */
#ifndef CLI_CLUSTER_WHY_DASK_H
#define CLI_CLUSTER_WHY_DASK_H

#include "cli/command/cli.h"

/*
 * Print it.
 *
 * subject  a stage; NULL: all
 * Errors   ENOENT it has no fragments, or none of that stage · EPROTO · those of dask_why()
 */
granary_err why_of_dask(const struct cli *cli, const char *address, const char *subject);

#endif
