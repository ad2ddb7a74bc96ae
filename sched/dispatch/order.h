/*
 * Whose turn it is: graphs of a higher priority first, then the session that has used the least executor time for its
 * weight, then its graphs in turn. Part of the task manager's core: no clock, no I/O.
 *
 * A session's young graphs, which have used little time so far, go before its old ones, so a small question does not
 * wait for a turn of each large one. Every fourth turn is an old one's. (Multi-level feedback: F. J. Corbató et al., "An
 * experimental time-sharing system", 1962.)
 *
 * A lane is a session's graphs of one priority. Lanes that have graphs with ready subtasks are in a heap, so that the
 * next one is found in O(log n) however many sessions there are. A session's virtual time grows by the time its
 * subtasks take, divided by its weight. It grows by an estimate when they are sent, corrected when they report, so
 * many short ones cannot run ahead. One that had nothing ready does not save up time: it comes back no earlier than
 * those that wait.
 */
#ifndef SCHED_DISPATCH_ORDER_H
#define SCHED_DISPATCH_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "granary/types.h"

struct manager;
struct session;
struct subtask;
struct task_graph;

struct lane {
    LIST_ENTRY(lane) link;                           /* of the session */
    TAILQ_HEAD(lane_graphs, task_graph) runnable[2]; /* may have ready subtasks, the next one first: young, old */
    struct session *session;
    int32_t priority;
    uint32_t graphs;     /* that belong to it, runnable or not */
    uint32_t counts[2];  /* of them */
    uint32_t refused[2]; /* of them, asked in vain since the last grant of this dispatch */
    uint32_t turns;
    uint32_t heap_at; /* LANE_NOWHERE: not in the heap */
};

#define LANE_NOWHERE UINT32_MAX

/* The lanes with runnable graphs, and those set aside while a dispatch lasts. */
struct order {
    struct lane **heap;
    struct lane **aside;
    uint32_t heap_count, aside_count;
    uint32_t lane_count, lane_room; /* there is room for all lanes in both */
    uint64_t virtual_ns;            /* of the session that was served last */
    uint64_t served;                /* messages given */
    uint32_t coded;                 /* runnable graphs with user code */
    LIST_HEAD(order_sessions, session) backlogged;
};

void order_fini(struct order *order);

/* The graph gets its place; it is not runnable yet. Errors: ENOMEM */
granary_err order_attach(struct manager *manager, struct task_graph *graph, int32_t priority);
/* It is going away. Harmless for one that was never attached. */
void order_detach(struct manager *manager, struct task_graph *graph);

/* The graph that is next; NULL: none, or all were refused. */
struct task_graph *order_next(struct manager *manager);
/* That graph was given something: it is another one's turn. */
void order_served(struct manager *manager, struct task_graph *graph);
/* Nothing of that graph can be given now. */
void order_refused(struct manager *manager, struct task_graph *graph);
/* The dispatch is over: those refused are to be asked again next time. */
void order_resume(struct manager *manager);

/* Its session is charged for a subtask that is sent: this long, as far as is known. */
void order_charge(struct manager *manager, struct task_graph *graph, struct subtask *subtask, uint64_t nanoseconds);
/* It has taken this long in truth; 0 for one that did not start. */
void order_settle(struct manager *manager, struct task_graph *graph, struct subtask *subtask, uint64_t nanoseconds);

/* ---- runnable or not ---- */

void graph_wake(struct manager *manager, struct task_graph *graph);  /* it may have ready subtasks */
void graph_sleep(struct manager *manager, struct task_graph *graph); /* it has none */

#endif
