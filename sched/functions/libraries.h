/*
 * Libraries of user code: exported and unexported, bound to graphs, sent to executors ahead of what needs them.
 */
#ifndef SCHED_FUNCTIONS_LIBRARIES_H
#define SCHED_FUNCTIONS_LIBRARIES_H

#include "graph/graph.h"
#include "sched/core/manager.h"
#include "sched/functions/exports.h"

void request_export(struct manager *manager, uint64_t ticket, Granary__Library *library);
void request_unexport(struct manager *manager, uint64_t ticket, const Granary__Unexport *unexport);
/* Unexported libraries of the session that no graph needs any more go. */
void exports_sweep(struct manager *manager, const char *session);
/* The functions that nodes name are those there are now, by version. Errors: ENOENT, EINVAL; the message names the node
 */
granary_err graph_bind(struct manager *manager, const char *session, const Granary__Graph *message);
/* Where a planner looks functions up. */
struct function_scope {
    struct manager *manager;
    const char *session;
};
granary_err manager_find_function(void *scope, const char *text, struct gr_function *ret_function);
/* Executors that were sent a session's exports up to that one. */
uint32_t exports_executors(const struct manager *manager, const char *session, uint64_t sequence);
/* Put into a message to an executor what it needs ahead of the graph's subtasks. */
void exports_send(struct manager *manager, uint32_t executor, const struct task_graph *graph, struct gr_buf *message);
void manager_restore_library(struct manager *manager, const void *library, size_t size);

#endif
