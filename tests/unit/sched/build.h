/* Subtasks and graphs for the scheduler's tests. */
#ifndef BUILD_H
#define BUILD_H

#include "plan/plan.h"

/* An object id that is the text. */
granary_id build_id(const char *text);

/*
 * A batch of subtasks from lines, numbered from `first`: "output output < input input ; before before", where outputs
 * and inputs are objects by name and before are numbers. "" makes nothing. To be freed with build_batch_free().
 */
struct gr_plan_batch build_batch(uint64_t first, const char *const *lines, size_t count);
void build_batch_free(struct gr_plan_batch *batch);

/* A graph from lines "name op input input attribute=number"; every node "!name" is a target. On the heap, as a planner
 * takes it. */
Granary__Graph *build_graph(const char *const *lines, size_t count);

#endif
