/*
 * What is remembered of what has ended: runs of subtasks, calls of functions, and the subtasks of ended graphs as long as
 * there is room for them.
 */
#ifndef SCHED_HISTORY_HISTORY_H
#define SCHED_HISTORY_HISTORY_H

#include "sched/core/manager.h"
#include "sched/history/function_stats.h"
#include "sched/history/records.h"

struct history {
    struct records *records; /* of runs that have ended */
    struct function_stats *function_stats;
    TAILQ_HEAD(pasts, task_graph) past; /* ended graphs with one, the oldest first */
    uint64_t past_subtasks;             /* theirs */
    uint64_t past_most;                 /* of these */
};

/* Of so many runs; 0: MANAGER_HISTORY. false: out of memory; history_fini() is to be called all the same */
bool history_init(struct history *history, uint64_t runs);
void history_fini(struct history *history);

/* A run is over: note when it was, and what came of it. */
void record_done(struct manager *manager, struct task_graph *graph, uint32_t number, const struct executor *executor,
                 const Granary__Done *done, granary_err err);
/* It was lost with its executor. */
void record_lost(struct manager *manager, struct task_graph *graph, uint32_t number, const struct executor *executor);
/* The last run that has ended; NULL: none, or it was too long ago. */
const struct record *record_of(const struct manager *manager, const struct task_graph *graph, uint32_t number);
/* When it could run, as far as is known. */
int64_t ready_since(const struct manager *manager, const struct task_graph *graph, uint32_t number);
/* Keep what an ended graph was, as long as there is room for it; takes execution. */
void past_keep(struct manager *manager, struct task_graph *graph, struct execution_graph *execution);
void past_forget(struct manager *manager, struct task_graph *graph);

#endif
