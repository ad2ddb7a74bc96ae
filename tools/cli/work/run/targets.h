/* Targets of a graph that has run: where each goes, in which format, and what is told of it. */
#ifndef CLI_TARGETS_H
#define CLI_TARGETS_H

#include "cli/work/run/run.h"
#include "schema/granary.pb-c.h"

/* Whether every -o names a target there is, and --arrow or --npy go with one. Said before anything runs. Errors: ENOENT, EINVAL */
granary_err targets_check(const struct run *run, const Granary__Graph *graph);

/* Print them, or write their files. parts_only: the graph went on without what had failed, so that only some are whole.
 * Returns the exit status, with the error printed. */
int
targets_print(struct run *run, granary_client *client, const char *key, const Granary__Graph *graph, bool parts_only);

/* Which chunks hold a result, for who wants to map them later. */
void targets_tell(granary_client *client, const char *key, const char *target);

#endif
