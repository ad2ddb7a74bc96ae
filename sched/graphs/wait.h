/*
 * Requests that are answered when something has become of a graph.
 */
#ifndef SCHED_GRAPHS_WAIT_H
#define SCHED_GRAPHS_WAIT_H

#include "sched/core/manager.h"

/* A request that is answered later: when the graph ... */
enum waits_for {
    WAITS_END,     /* has ended */
    WAITS_GONE,    /* is deleted */
    WAITS_STOPPED, /* has ended, nothing of it runs, and its memory is back */
    WAITS_CHUNK,   /* has made a chunk of a target, or never will */
};

struct waiter {
    enum waits_for what;
    uint64_t ticket;
    uint32_t serial;
    bool existed;    /* END: the graph was there when this was submitted */
    uint32_t target; /* CHUNK: which */
    uint64_t cursor;
    uint32_t limit;
    int64_t deadline_ns;
};

struct waiters {
    struct waiter *items;
    size_t count, room;
};

/* false: out of memory, and the request is answered so. */
bool waiter_add(struct manager *manager, struct waiter waiter);
/* Answer those who wait for this graph to end, or to be gone. */
void waiters_answer(struct manager *manager, struct task_graph *graph, bool gone);
/* Something has become of its subtasks: answer those who wait for a chunk that is there now. */
void waiters_answer_chunks(struct manager *manager, struct task_graph *graph);
void waiters_expire(struct manager *manager, int64_t now_ns);
void waiters_fini(struct waiters *waiters);
int64_t waiters_deadline_ns(const struct manager *manager);

#endif
