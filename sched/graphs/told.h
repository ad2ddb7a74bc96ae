/*
 * What a plan was told of earlier results, for the next scheduler: it knows less, and would plan the graph in another way,
 * which the log of its events does not fit. Answers to a plan are noted in its submission, as it is kept; a graph that is
 * planned again is told the same, and nothing else.
 */
#ifndef SCHED_GRAPHS_TOLD_H
#define SCHED_GRAPHS_TOLD_H

#include "graph/schema.h"
#include "optimize/steps.h"
#include "sched/core/manager.h"

/* What the plan of a graph asks. */
struct recall_index {
    struct gr_recall calls;
    struct gr_recalled again; /* the last answer of told_find(), and of told_schema() */
    struct gr_schema schema_again;
};

/* Note what a plan was told. false: out of memory, and the plan is to be told nothing */
bool told_note_found(struct task_graph *graph, granary_id key, const struct gr_recalled *found);
bool told_note_missed(struct task_graph *graph, granary_id key);
bool told_note_schema(struct task_graph *graph, const char *node, const struct gr_schema *schema);
/* That is not so any more. */
void told_forget(struct task_graph *graph, granary_id key);
/* Keep it with the graph, if there is more. */
void told_keep(struct manager *manager, struct task_graph *graph);
/* What it was told: as the functions of struct gr_recall (optimize/steps.h). */
const struct gr_recalled *told_find(struct task_graph *graph, granary_id key);
bool told_missed(struct task_graph *graph, granary_id key);
const struct gr_schema *told_schema(struct task_graph *graph, const char *node);

#endif
