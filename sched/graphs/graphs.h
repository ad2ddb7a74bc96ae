/*
 * The life of graphs: submitted, planned, tried, failed, stopped, ended, deleted. What happens to one may end another,
 * a parent's or a child's, so these files call one another freely.
 */
#ifndef SCHED_GRAPHS_GRAPHS_H
#define SCHED_GRAPHS_GRAPHS_H

#include "sched/core/manager.h"

struct waiter;

/* ---- graphs.c: they come and go ---- */

/* A running graph of that key, known to the manager; NULL: out of memory, or another graph has the serial. */
struct task_graph *graph_create(struct manager *manager, const char *key, const char *session, uint32_t serial);
/* What its submission says of how it fails and who misses it. */
void graph_take_wishes(struct task_graph *graph, const Granary__Submit *submit);
void graph_drop(struct manager *manager, struct task_graph *graph);   /* forget it without a word to anybody */
void graph_unplan(struct manager *manager, struct task_graph *graph); /* as if it had not been planned */
void graph_destroy(struct task_graph *graph);                         /* when it is not linked any more, or all are */

/* ---- submit.c ---- */

granary_err key_check(const char *key); /* EINVAL: it can be no graph's */
/* A new graph of that key, kept and planned; may take submit->graph. Errors: the planner's · ENOMEM */
granary_err
graph_accept(struct manager *manager, const char *key, Granary__Submit *submit, struct task_graph **ret_graph);
void request_submit(struct manager *manager, uint64_t ticket, Granary__Submit *submit, int64_t now_ns);
/* existed: what asks is no submission that has made the graph */
void request_wait(struct manager *manager, uint64_t ticket, const struct task_graph *graph, bool existed,
                  int64_t timeout_ms, int64_t now_ns);

/* ---- plan.c ---- */

/* Plan it and take its first subtasks; takes submit->graph. Errors: the planner's */
granary_err graph_plan(struct manager *manager, struct task_graph *graph, Granary__Submit *submit);
/* Take the subtasks the planner can make by now. Errors: the planner's; the graph is then to be failed */
granary_err graph_advance(struct manager *manager, struct task_graph *graph);
/* It may have ended, or failed: what follows when everything is done. */
void graph_check_end(struct manager *manager, struct task_graph *graph);

/* ---- end.c ---- */

/* End it: SUCCEEDED, FAILED or CANCELLED, with an error and its message. */
void graph_end(struct manager *manager, struct task_graph *graph, granary_graph_state state, granary_err err,
               const char *message);
/* What of it is not done is not done any more, and executors are told; what it made is freed, but targets when keep. */
void graph_cancel_work(struct manager *manager, struct task_graph *graph, bool keep);
void graph_end_at_once(struct manager *manager, struct task_graph *graph); /* it was never planned: it has succeeded */
void graph_delete(struct manager *manager, struct task_graph *graph);
void graph_release(struct manager *manager, struct task_graph *graph); /* when nothing of it runs any more */
/* Note the objects of a result, to delete them with the graph. false: out of memory */
bool graph_kept_add(struct task_graph *graph, const Granary__Result *result);

/* ---- stop.c: graphs that are stopped, and what that gave back ---- */

void request_stop(struct manager *manager, uint64_t ticket, struct task_graph *graph, const Granary__GraphRef *ref,
                  int64_t now_ns);
void request_delete(struct manager *manager, uint64_t ticket, struct task_graph *graph, int64_t now_ns);
/* End it if it runs. how: "stopped", "deleted" */
void graph_stop(struct manager *manager, struct task_graph *graph, const char *how);
/* The same, and delete it: it may be gone on return. */
void graph_discard(struct manager *manager, struct task_graph *graph, const char *how, int64_t now_ns);
/* One of its subtasks ended; it matters when the graph had. */
void receipt_note(struct task_graph *graph, bool killed);
/* What was freed since it ended. */
void receipt_settle(struct task_graph *graph);
/* Whether nothing of it runs and what it left is freed. */
bool is_stopped(const struct manager *manager, struct task_graph *graph);

/* ---- rename.c ---- */

/* Whether the graph was submitted under that key. */
bool graph_was_called(const struct task_graph *graph, const char *key);
void request_rename(struct manager *manager, uint64_t ticket, const Granary__Rename *request, int64_t now_ns);

/* ---- go_on.c: graphs that subtasks started ---- */

/* It is, or is not, a graph of another one any more. */
void family_join(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit);
void family_leave(struct task_graph *graph);
/* What is stopped, or deleted, with a graph. */
void family_stop(struct manager *manager, struct task_graph *graph);
void family_delete(struct manager *manager, struct task_graph *graph);
/* A subtask has succeeded: graphs as which those went on that made its inputs have done what they were for. */
void family_spend(struct manager *manager, struct task_graph *graph, uint32_t number);
bool family_is_stopped(const struct task_graph *graph);
/* A running subtask has reported that it goes on as a graph. */
void subtask_goes_on(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done);
/* A graph that another one may wait for has ended. */
void child_ended(struct manager *manager, struct task_graph *child);

/* ---- retry.c: runs that did not succeed ---- */

/* It ended through no fault of its own: again, but not for ever. what: such as "executors could not run it" */
void run_elsewhere(struct manager *manager, struct task_graph *graph, uint32_t number, const char *what,
                   granary_err err, const char *message);
/* There was no room for what it makes: later, but not for ever. */
void no_room(struct manager *manager, struct task_graph *graph, uint32_t number, struct executor *executor,
             const Granary__Done *done);
/* Room may have been made: what waited for it in vain so far does not count. */
void rooms_begin_anew(struct manager *manager);
/* Its inputs are gone: when they are made again. */
void inputs_lost(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done);
/* It failed by itself, or was given up: again when it has retries left, else for good. */
void failed_by_itself(struct manager *manager, struct task_graph *graph, uint32_t number, const char *node,
                      granary_err err, const char *message);
/* Its executor died at it. */
void
executor_died_at(struct manager *manager, struct task_graph *graph, uint32_t number, const struct executor *executor);
void function_succeeded(struct task_graph *graph, uint32_t number);
void unpark_all(struct manager *manager);

/* ---- errors.c ---- */

/* The graph fails because of a subtask. node: as the executor named it, or "". */
void fail_graph(struct manager *manager, struct task_graph *graph, uint32_t number, const char *node, granary_err err,
                const char *message);
/* Something has changed: what meets a failed input now fails, too. */
void give_up_doomed(struct manager *manager, struct task_graph *graph);
/* It has failed and nothing of it runs: errors under the ids of what its targets lack. */
void errors_of_missing(struct task_graph *graph);

/* ---- results.c ---- */

void request_result(struct manager *manager, uint64_t ticket, struct task_graph *graph, const Granary__GraphRef *ref,
                    int64_t now_ns);
/* Answer a request for chunks if it can be answered by now. */
bool chunks_reply(struct manager *manager, struct task_graph *graph, const struct waiter *waiter);
/* What is known of a target of a graph that runs: it belongs to the target. NULL: nothing yet, or out of memory */
Granary__Result *target_known(struct task_graph *graph, struct target *target);
/* Fill in what is there of the chunks from `first` on. */
void result_fill(const struct task_graph *graph, Granary__Result *result, size_t first, size_t count);
/* The target of a graph that has that name; NULL: none */
struct target *target_find(const struct task_graph *graph, const char *name);
/* Where a target of a graph that has ended lies: to be freed. NULL: nowhere, or out of memory */
Granary__Result *target_unpack(const struct target *target);

/* ---- status.c ---- */

void graph_status(const struct task_graph *graph, Granary__GraphStatus *ret_status); /* strings are borrowed */
double graph_progress(struct task_graph *graph);                                     /* 0 to 1, never falls */
/* err: ETIMEDOUT, or OK for a graph that has ended */
void
reply_status(struct manager *manager, uint64_t ticket, const struct task_graph *graph, bool existed, granary_err err);

#endif
