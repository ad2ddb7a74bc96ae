/* What the files of manager.h share. */
#ifndef SCHED_MANAGER_MANAGER_PRIVATE_H
#define SCHED_MANAGER_MANAGER_PRIVATE_H

void executors_fini(struct executors *executors);

/* It runs as that attempt, under no token: on an executor that has not joined this scheduler. */
bool subtask_is_elsewhere(const struct task_graph *graph, const struct subtask *subtask, uint32_t attempt);

#endif
