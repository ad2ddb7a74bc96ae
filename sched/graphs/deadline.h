/*
 * Graphs that must have ended by some moment. Clients and state tell it in wall-clock time; what is left of that when
 * it is told is left, whatever the wall clock is set to meanwhile.
 */
#ifndef SCHED_GRAPHS_DEADLINE_H
#define SCHED_GRAPHS_DEADLINE_H

#include "sched/core/manager.h"

TAILQ_HEAD(deadlines, task_graph); /* running graphs that have one, the next one first */

void deadline_set(struct manager *manager, struct task_graph *graph, int64_t deadline_ms); /* 0: none */
void deadline_clear(struct manager *manager, struct task_graph *graph);
int64_t deadline_next_ns(const struct manager *manager); /* INT64_MAX: none */
void deadline_expire(struct manager *manager);           /* those that are past */

#endif
