/*
 * Which of a graph's ready subtasks is next, what it asks for, and what is known of it.
 */
#ifndef SCHED_DISPATCH_CHOOSE_H
#define SCHED_DISPATCH_CHOOSE_H

#include "sched/core/manager.h"
#include "sched/dispatch/estimates.h"
#include "sched/dispatch/reservations.h"
#include "sched/dispatch/resources.h"

struct choice {
    uint32_t number; /* SUBTASK_NONE: nothing can be given now */
    struct reservation_ask ask;
    uint64_t nanoseconds; /* it will take; 0: not known */
    bool alone;           /* to an idle executor, with none queued behind it */
    bool several;         /* others may be in its message */
};
/* What a subtask asks for. */
struct reservation_ask ask_of(const struct manager *manager, struct task_graph *graph, uint32_t number);
/* Of the graph's ready subtasks the one to be given next. */
struct choice graph_choose(struct manager *manager, struct task_graph *graph);
/* How long it will take; 0: not known. */
uint64_t time_of(const struct manager *manager, struct task_graph *graph, uint32_t number);
/* What waits for memory or resources and has a right to be next may have ended otherwise. */
void claims_check(struct manager *manager);
/* Roots are not given out ahead of what reads them. more_bytes: about to be made. */
bool roots_are_held(const struct manager *manager, const struct task_graph *graph, uint64_t more_bytes);
/* Learn from a subtask that has succeeded; before the execution graph is told. */
void subtask_learn(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done);
/* Numbers for what subtasks of a batch need. Errors: EINVAL more than there is, or of something there is not */
granary_err needs_resolve(struct manager *manager, struct gr_plan_batch *batch);

#endif
