/*
 * The task manager: graphs from submission to deletion, who waits for them, and what the executors are to do. Together
 * with the execution graph and the reservations it is the scheduler's core: a state machine of events and actions. It
 * reads no clock, sends nothing and keeps nothing on disk; the server translates. (The planner looks at input files
 * once, when a graph is submitted.)
 *
 * Life of a graph
 *
 *   state      entered by                       next
 *   RUNNING    submit                           SUCCEEDED, FAILED, CANCELLED
 *   SUCCEEDED  every subtask has succeeded      - (deleted)
 *   FAILED     a subtask or the planner failed  - (deleted)
 *   CANCELLED  stop, delete                     - (deleted)
 *
 * A graph that has failed or was stopped is answered at once; its subtasks still under way are waited for before a
 * delete is answered, so that nothing of it is left.
 */
#ifndef SCHED_MANAGER_MANAGER_H
#define SCHED_MANAGER_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/core/actions.h"
#include "sched/core/options.h"
#include "sched/core/session.h"
#include "sched/dispatch/resources.h"
#include "sched/durable/journal.h"
#include "sched/executors/frees.h"
#include "sched/executors/pool.h"
#include "sched/executors/verdict.h"
#include "sched/graphs/again/restore.h"
#include "schema/granary.pb-c.h"

struct manager;

/* NULL: out of memory. */
struct manager *manager_create(const struct manager_options *options);
void manager_destroy(struct manager *manager);

/* ---- events; now_ns is any clock that only goes forward ---- */

/* A client's request. ticket names the request in the reply. May take request->submit->graph (sets it NULL). */
void manager_request(struct manager *manager, uint64_t ticket, Granary__Request *request, int64_t now_ns);
/* number: from 1, never used before. */
void manager_executor_joined(struct manager *manager, uint32_t number, int32_t node, int64_t pid);
/* How far NUMA nodes are from one another: nodes x nodes, copied; 10 is a node itself. Out of memory: as if not told.
 */
void manager_set_distances(struct manager *manager, uint32_t nodes, const uint32_t *rows);
void manager_executor_died(struct manager *manager, uint32_t number);
/* It has gone by its own wish: what it had goes back, and is not blamed for that. */
void manager_executor_left(struct manager *manager, uint32_t number);
/* Why its process ended, as the pool says; before manager_executor_died(), and not always. signal 0: it left by itself.
 */
void manager_executor_death(struct manager *manager, uint32_t number, int32_t signal, int32_t status);
/* Its process has ended, and why is waited for: it is given nothing any more. */
void manager_executor_ended(struct manager *manager, uint32_t number);
/* What it was at, as its page says; before manager_executor_died(). log: the end of what that printed, or NULL. */
void
manager_executor_was_at(struct manager *manager, uint32_t number, uint64_t subtask, uint32_t attempt, const char *log);
void manager_done(struct manager *manager, uint32_t executor, const Granary__Done *done);
/*
 * Executors outlive schedulers. One that joins tells what it has at hand; what is not this scheduler's it is told to
 * cancel. Subtasks of graphs that were restored are not given to anybody before claims_end: all have joined that were
 * known, or none more is waited for.
 */
void manager_executor_claims(struct manager *manager, uint32_t executor, const Granary__Register *message);
/* One that has not joined yet is seen to be at work on a subtask: that is waited for. At its end before it joined. */
void manager_executor_busy(struct manager *manager, uint64_t subtask, uint32_t attempt);
void manager_executor_busy_died(struct manager *manager, uint64_t subtask, uint32_t attempt);
void manager_claims_end(struct manager *manager);
/* Waits whose time is over are answered, graphs past their deadline fail. */
void manager_expire(struct manager *manager, int64_t now_ns);
/* The wall clock may have been set. */
void manager_set_unix_offset(struct manager *manager, int64_t unix_offset_ns);
int64_t manager_deadline(const struct manager *manager); /* when expire is due; INT64_MAX: never */
/* Write how much there is of what is not counted where it happens; a walk over all graphs. */
void manager_note_amounts(struct manager *manager);
/* Give ready subtasks to executors; after the events of a turn. */
void manager_dispatch(struct manager *manager, int64_t now_ns);

#endif
