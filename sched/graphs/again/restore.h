/*
 * Start with what an earlier scheduler kept: metas, sessions, graphs, ends, results, events, frees, then start. Ended
 * graphs are known again. The others are planned again, in the same way, and what their logs tell is applied to that:
 * what is done is not done again.
 */
#ifndef SCHED_GRAPHS_RESTORE_H
#define SCHED_GRAPHS_RESTORE_H

#include "base/text/buf.h"
#include "granary/types.h"

struct manager;
struct task_graph;

void manager_restore_graph(struct manager *manager, const char *key, const void *submit, size_t size);
void manager_restore_end(struct manager *manager, const char *key, const void *status, size_t size);
void
manager_restore_result(struct manager *manager, const char *key, const char *target, const void *result, size_t size);
/* In the order of their keys. */
void manager_restore_events(struct manager *manager, const void *key, size_t key_size, const void *record, size_t size);
void manager_restore_held(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size);
/* Run those that have not ended. Returns how many. */
size_t manager_restore_start(struct manager *manager);

/* What a submission keeps could not be kept, for that error: forget the graph. Who waits for its end is told so. */
void manager_reject(struct manager *manager, const char *key, granary_err err, const char *why);

/* The process that owns graphs has ended: they are deleted. */
void manager_owner_ended(struct manager *manager, int64_t pid, uint64_t start_time, int64_t now_ns);
/* Which processes own graphs: one is told once for each of its graphs. */
void manager_owners(const struct manager *manager, void (*tell)(void *context, int64_t pid, uint64_t start_time),
                    void *context);

void records_drop(struct task_graph *graph);
/* Plan a graph that ended under an earlier scheduler once more, to tell of it. Errors: the planner's · ESTATE its input
 * has changed */
granary_err restored_explain(struct manager *manager, const struct task_graph *graph, struct gr_buf *ret_text);

#endif
