/* What the files of worker.h share: a worker, what it says to the scheduler and hears from it. */
#ifndef EXECUTOR_WORKER_PRIVATE_H
#define EXECUTOR_WORKER_PRIVATE_H

#include "base/instance.h"
#include "dealer/dealer.h"
#include "executor/link/endpoint.h"
#include "executor/link/reports.h"
#include "executor/user/host.h"
#include "executor/worker/sessions.h"
#include "executor/worker/worker.h"

/* How long one that leaves waits to be told that this was heard. */
#define LEAVE_MS 1000
/*
 * An executor that has not looked at its scheduler for so long, and finds it dead, may come too late for the next
 * one. That waits 2 s for executors with work, and then gives it to others.
 */
#define WORKER_AWAY_NS 1000000000

struct worker {
    struct worker_options options;
    struct gr_instance instance;
    struct sessions sessions;
    struct host host;
    struct gr_dealer *socket;
    uint32_t number; /* the scheduler's for us; 0: not registered */
    struct endpoint endpoint;
    int64_t registered_ns;    /* when registration was sent */
    int64_t looked_ns;        /* at its socket */
    int64_t sought_ns;        /* for its process */
    int64_t seen_ns;          /* when its process, or that there is no other one, was looked at */
    Granary__Subtask **queue; /* queue[first .. first + count), in order */
    size_t first, count, room;
    size_t carried; /* the first so many of them were there when it registered */
    struct reports reports;
    uint64_t epoch;      /* the highest seen: no scheduler with a lower one is obeyed */
    uint64_t freed;      /* the last order to free objects that was done */
    bool freed_unsaid;   /* the scheduler does not know yet */
    int scheduler;       /* pidfd: readable when the scheduler has ended; -1: none is known */
    bool orphaned;       /* it has */
    bool away;           /* ... and nothing it gave counts any more */
    int64_t answered_ns; /* when answers were sent last */
    uint64_t received;   /* subtasks since it registered */
    uint64_t wanted;     /* of them, what the scheduler was told that it may send in all; pull only */
    bool standing;       /* what was asked for stays asked for between two polls */
    int poll_fd;         /* epoll: of the socket; -1 */
    bool die;
    bool replace; /* ... and have another process take the place */
    bool leaving; /* worn out: the scheduler was asked to let it go when it has done what it was given */
};

/* ---- to the scheduler: link.c ---- */

granary_err worker_send(struct worker *worker, const Granary__FromExecutor *message);
/*
 * Tell whoever is the scheduler what is at hand and what became of the rest: what an earlier one gave goes on, if this
 * one knows of it.
 */
granary_err worker_register(struct worker *worker);
/* The same, for the connection broke while the scheduler goes on; logged. */
granary_err worker_register_anew(struct worker *worker);
/* Register again when another scheduler has come, or the registration was lost with the one before. */
granary_err worker_look_after_scheduler(struct worker *worker);
/* Wait for messages, or the scheduler's end. */
void worker_wait(const struct worker *worker, int timeout_ms);
granary_err worker_send_answers(struct worker *worker);
/* Takes done, of a subtask of that session, that was there when the worker registered or was not. */
granary_err worker_add_answer(struct worker *worker, Granary__Done *done, const char *session, bool carried);
/* What it was given until the scheduler has heard this it still does. */
granary_err worker_ask_to_leave(struct worker *worker);
/* Say that it leaves, and wait a moment until that was heard: closing the socket drops what was not sent. */
void worker_leave(struct worker *worker);

/* ---- from the scheduler: orders.c ---- */

/* All messages that are there. */
granary_err worker_receive(struct worker *worker);
void worker_drop_queue(struct worker *worker);

/* Run the first of the queue, which is not empty. */
granary_err worker_run_next(struct worker *worker);

#endif
