/*
 * What was computed before is not computed again (recall/recalls.h). A graph all of whose targets another one has yielded
 * ends as it is submitted. Its results lie where that one's do, which stay as long as it does. Of any other graph, steps
 * that another one has computed are read from there (parts.c).
 */
#ifndef SCHED_GRAPHS_RECALL_H
#define SCHED_GRAPHS_RECALL_H

#include "sched/core/manager.h"

struct gr_recall;

/* What Submit.recall says. */
enum recall_wish { RECALL_ALLOWED, RECALL_OFF, RECALL_AGAIN, RECALL_EAGER };

/* A submission that is bound: tell by content what it computes. What it yields is there already: submit->recalled. */
void recall_look(struct manager *manager, struct task_graph *graph, Granary__Submit *submit);
/* Instead of a plan: it ends with what submit->recalled has. Errors: ENOMEM */
granary_err recall_take(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit);
/* A graph that is planned again, as it was submitted: tell by content what it computes. */
void recall_look_again(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit);
/* parts.c: what the plan of a graph may recall; NULL: nothing */
const struct gr_recall *recall_parts(struct manager *manager, struct task_graph *graph, const Granary__Submit *submit);
/* It reads nothing of others any more. manager NULL: all graphs go */
void recall_release_parts(struct manager *manager, struct task_graph *graph);
/* Something that it reads is not there, or damaged: nobody is to be given what it reads again. */
void recall_forget_parts(struct manager *manager, struct task_graph *graph);
/* again.c: a subtask that runs lacks an input. false: the graph recalled nothing, or cannot begin again */
bool recall_start_over(struct manager *manager, struct task_graph *graph, uint32_t number);
/* Nothing of a graph that is to begin again runs any more. */
void recall_again(struct manager *manager, struct task_graph *graph);
/* It has ended: what executors kept of its steps is for others, when it is wanted, or goes. */
void recall_note_parts(struct manager *manager, struct task_graph *graph, bool wanted);
/* It has succeeded: others may have what it yielded, unless a file changed meanwhile. */
void recall_note(struct manager *manager, struct task_graph *graph);
/* It is deleted: what others may want stays. */
void recall_keep(struct manager *manager, struct task_graph *graph);
/* It goes: what it has of others it has no longer. manager NULL: all graphs go */
void recall_leave(struct manager *manager, struct task_graph *graph);
/* The same graph comes again, because something of what was recalled is gone. */
void recall_forget(struct manager *manager, struct task_graph *graph);
/* Ids of all chunks that a graph has of others, for who is to see whether they are there. */
void recall_ids(const struct task_graph *graph, struct gr_buf *out);

/* Append that it was recalled, and from what; nothing of a graph that has its own results. */
void recall_explain(const struct task_graph *graph, struct gr_buf *out);

/* All graphs are restored: each has again what it had of others. */
void recall_restore_start(struct manager *manager);
void request_recall(struct manager *manager, uint64_t ticket, const Granary__RecallOrder *order);

#endif
