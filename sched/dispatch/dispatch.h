/*
 * What executors are given next: messages of subtasks, each to the executor that place/place.h finds best.
 */
#ifndef SCHED_DISPATCH_DISPATCH_H
#define SCHED_DISPATCH_DISPATCH_H

#include "sched/dispatch/choose.h"

struct distances {
    uint32_t nodes;
    uint32_t *rows; /* NULL: not told */
};

/* Copied. Out of memory: as if not told */
void distances_set(struct distances *distances, uint32_t nodes, const uint32_t *rows);

/* Send one message of the graph's ready subtasks. false: nobody can take it now */
bool dispatch_give(struct manager *manager, struct task_graph *graph, const struct choice *choice);

/* Whether its inputs are more than memory ever holds: trying would take minutes to find out. text: why */
bool
inputs_exceed_memory(const struct manager *manager, struct task_graph *graph, uint32_t number, char *text, size_t size);

#endif
