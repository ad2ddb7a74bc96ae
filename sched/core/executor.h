/*
 * Executors as the manager knows them. What is to be done with them is in sched/executors.
 */
#ifndef SCHED_CORE_EXECUTOR_H
#define SCHED_CORE_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

struct export_mark;
struct free_order;
struct manager;

#define WARM_KINDS 8

/* User code of a subtask at work waits for an object. */
struct wait {
    uint32_t executor;
    uint64_t subtask; /* on the wire */
    uint32_t attempt;
    granary_id object;
    int64_t since_ns;
};

/* Why the subtask at work at an executor is to be given up. */
struct verdict {
    uint64_t subtask; /* wire number; 0: there is none */
    uint32_t attempt;
    granary_err err;
    int64_t kill_ns; /* unless it ends by then, its executor is killed; INT64_MAX: not */
    bool killed;
    char *message;
};

struct executor {
    struct verdict verdict;
    uint64_t unbegun; /* its next subtask with user code, which it was seen not to have at work ... */
    uint32_t unbegun_attempt;
    int64_t unbegun_ns;        /* ... since then */
    struct wait wait;          /* of user code at work, as its page told last */
    struct export_mark *marks; /* by session: what it was sent of its exports */
    size_t mark_count;
    struct free_order *free_orders; /* the oldest first */
    uint32_t number;
    int32_t node;
    int64_t pid;
    uint64_t done;
    uint64_t failures;
    uint32_t warm[WARM_KINDS]; /* kinds of user code it was given last: a ring */
    uint32_t warm_next;
    uint64_t full_of; /* the row (manager's full_row) of which this is: */
    uint32_t full;    /* ... subtasks that found no room for what they made, while none of anybody's succeeded, */
    int64_t full_ns;  /* ... since then */
    bool pull;        /* embedded in another program: gets what it asks for */
    bool draining;    /* gets nothing more, and is told to leave when it has nothing left */
    bool replace;     /* ... and another process is to take its place */
    bool dismissed;   /* ... was told */
    bool blameless;   /* it is killed because somebody wanted that */
    bool death_told;  /* the pool has said how its process ended: */
    int32_t signal;   /* ... 0: it left by itself, with ... */
    int32_t status;
    uint64_t last_subtask; /* what it was at when its process ended, as its page says; 0: unknown */
    uint32_t last_attempt;
    char *last_log; /* the end of what that printed; NULL: nothing */
};

struct executors {
    struct executor *items;
    size_t count, room;
};

struct executor *executor_find(struct manager *manager, uint32_t number); /* NULL: none of that number */

#endif
