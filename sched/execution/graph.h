/*
 * The execution graph: the subtasks of one graph, what each waits for, and which objects are still needed. Pure: no
 * clock, no I/O. It never calls back; what follows from an event is read off afterwards (ready subtasks, freed
 * objects).
 *
 * Life of a subtask
 *
 *   state      entered by                              next
 *   WAITING    add, lose, requeue: an input is missing READY, RUNNING (behind what it waits for), FAILED, CANCELLED
 *   READY      its last input came                     RUNNING, WAITING (an input was lost), FAILED, CANCELLED
 *   RUNNING    take, take_follower, claim              SUCCEEDED, READY, WAITING, PARKED, AWAY, FAILED, CANCELLED
 *   PARKED     park: there was no room for its output  READY, WAITING, CANCELLED
 *   SUCCEEDED  succeed                                 WAITING, READY (an output was lost and is needed)
 *   FAILED     fail, give_up: it, or what it needs     -
 *   CANCELLED  cancel                                  -
 *   AWAY       away: it goes on as a graph             READY, WAITING, FAILED, CANCELLED
 *
 * Life of an object: MISSING until its producer succeeds, then PRESENT, or fails for good, then FAILED; FREED when its
 * last consumer has succeeded or failed, unless it is kept. A lost object is MISSING again and its producer runs again,
 * and so do the producers of what that needs. An object that was there before the graph is PRESENT and kept from the
 * beginning; lost, it is an error.
 */
#ifndef SCHED_EXECUTION_GRAPH_H
#define SCHED_EXECUTION_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "granary/types.h"
#include "plan/plan.h"
#include "schema/granary.pb-c.h"

enum subtask_state {
    SUBTASK_WAITING,
    SUBTASK_READY,
    SUBTASK_RUNNING,
    SUBTASK_PARKED,
    SUBTASK_SUCCEEDED,
    SUBTASK_FAILED,
    SUBTASK_CANCELLED,
    SUBTASK_AWAY,
    SUBTASK_STATES
};

#define SUBTASK_NONE UINT32_MAX

/* Of a subtask that runs user code: what it may take, and how often it may fail. */
struct user_code {
    int64_t timeout_ms;    /* at work; 0: any time */
    uint64_t memory_bytes; /* private memory; 0: what the instance allows */
    uint32_t retries;      /* times it may be tried again after failing by itself */
    uint32_t failures;     /* * times it did */
    uint64_t function;     /* which one: hash of library, version and name */
    bool grows;            /* its output is made larger step by step, and has several times its size meanwhile */
};

/* A subtask; fields up to "private" may be read by others, and those marked * written. */
struct subtask {
    const uint8_t *packed; /* Granary__Subtask without number and attempt */
    uint32_t packed_size;
    uint32_t attempt;    /* of the run under way, or of the last; from 1 */
    uint32_t kind;       /* of its operators: those of one kind take about as long, in all graphs */
    uint32_t need;       /* resources.h */
    uint32_t deaths;     /* * executors that died running it */
    uint32_t rooms;      /* * times there was no room for its output */
    uint32_t losses;     /* times it ran into a lost input */
    uint32_t token;      /* * reservation it runs under */
    uint32_t record;     /* * place of its last run among the manager's records */
    uint32_t charged_us; /* * executor time its session was charged for the run under way */
    uint8_t state;       /* enum subtask_state */
    bool feeds;          /* * its report is to be given to the planner; cleared when that was done */
    bool fed;            /* * that was done */
    bool tried;          /* * a run ended otherwise than in success */
    bool is_root;        /* it reads nothing of this graph and waits for nothing */
    bool suspect;        /* * it was on an executor that died: to be run alone */
    uint64_t out_bytes;  /* the planner's estimate of its outputs; 0: not known */
    int64_t sent_ns;     /* * when it was given to an executor last */
    uint32_t user_code;  /* position; SUBTASK_NONE: it runs none */
    uint32_t priority;
    uint32_t ready_class;
    uint32_t output_count;
    /* private */
    uint32_t taken;   /* graph->moment when it was taken; 0: by an earlier scheduler */
    uint32_t missing; /* WAITING, READY: inputs not present and subtasks before it not done */
    uint32_t first_input, input_count;
    uint32_t first_output;
    uint32_t first_before, before_count;
    uint32_t dependents; /* edges to subtasks that come after it */
    bool passed;         /* it has succeeded once: those after it wait no more */
};

struct execution_graph;

/* NULL: out of memory. */
struct execution_graph *execution_graph_create(void);
void execution_graph_destroy(struct execution_graph *graph);

/* Count running subtasks with user code there, too; before any are added. */
void execution_graph_count_watched(struct execution_graph *graph, uint64_t *counter);
/* Set that when an event could not be noted for want of memory: the graph is not what it should be any more. */
void execution_graph_tell_exhausted(struct execution_graph *graph, bool *exhausted);

/* An earlier scheduler may have given any of its subtasks to executors, and this one knows nothing of it. */
void execution_graph_given_earlier(struct execution_graph *graph);

/* Whether an object is a target's, to be kept to the end. */
typedef bool execution_graph_keeps(const void *context, granary_id id);

/* Add subtasks; only read. The number of each is the position it will have. Errors: EFAILED the planner contradicts
 * itself · ENOMEM; the graph is then good for destroy only */
granary_err execution_graph_add(struct execution_graph *graph, const struct gr_plan_subtask *subtasks, size_t count,
                                execution_graph_keeps *keeps, const void *context);

/* Objects that stay, whoever reads them, until they are settled: then they are kept or not, as keeps() tells, and gone
 * if nobody needs them. Unknown ones are ignored. */
void execution_graph_hold(struct execution_graph *graph, const granary_id *ids, size_t count);
void execution_graph_settle(struct execution_graph *graph, const granary_id *ids, size_t count,
                            execution_graph_keeps *keeps, const void *context);

struct subtask *execution_graph_subtask(struct execution_graph *graph, uint32_t number); /* NULL: none of that number */

/* What it runs of user code; NULL: operators only. Valid until subtasks are added. */
struct user_code *execution_graph_user_code(struct execution_graph *graph, uint32_t number);
bool execution_graph_has_user_code(const struct execution_graph *graph); /* any of its subtasks */

struct execution_graph_counts {
    uint64_t total, ready, running, parked, succeeded, failed;
    uint64_t retries;                    /* runs that ended otherwise than in success or failure */
    uint64_t freed_objects, freed_bytes; /* of those that were there */
    uint64_t roots_ready, roots_running;
    uint64_t live_bytes; /* of objects that are there and go when they have been read */
};
const struct execution_graph_counts *execution_graph_counts(const struct execution_graph *graph);

/* The ready subtask that is next: the highest priority, then the lowest number. SUBTASK_NONE when none is ready. */
uint32_t execution_graph_peek(struct execution_graph *graph);
/*
 * Ready subtasks are in classes: by what they need, roots apart from others. So one that cannot run now does not hide
 * those behind it. Classes are numbered from 0 and stay. The next one of a class, as above.
 */
uint32_t execution_graph_classes(const struct execution_graph *graph);
uint32_t execution_graph_peek_class(struct execution_graph *graph, uint32_t ready_class);

/* It is sent to an executor: READY -> RUNNING, a new attempt. */
void execution_graph_take(struct execution_graph *graph, uint32_t number);
/* Take a subtask that waits for this running one only, and that is accepted, to be run behind it by the same executor.
 * SUBTASK_NONE: none. */
uint32_t execution_graph_take_follower(struct execution_graph *graph, uint32_t number,
                                       bool (*accept)(const void *context, uint32_t number), const void *context);

/* It turns out that an executor has it, or has run it, as this attempt: READY or WAITING -> RUNNING. false: neither */
bool execution_graph_claim(struct execution_graph *graph, uint32_t number, uint32_t attempt);

/* Bytes of its inputs by the NUMA node they lie on: calls visit for each present input. */
void execution_graph_inputs(const struct execution_graph *graph, uint32_t number,
                            void (*visit)(void *context, int32_t node, uint64_t bytes), void *context);

/* The events of a running subtask. */
void execution_graph_succeed(struct execution_graph *graph, uint32_t number, const Granary__Done *done, int32_t node);
/* The same, its outputs' rows and bytes being known. */
void execution_graph_succeeded(struct execution_graph *graph, uint32_t number, int32_t node);
void execution_graph_fail(struct execution_graph *graph, uint32_t number);
void execution_graph_requeue(struct execution_graph *graph, uint32_t number); /* its executor died */
void execution_graph_park(struct execution_graph *graph, uint32_t number);
void execution_graph_unpark_all(struct execution_graph *graph);
/*
 * Inputs were gone when it ran: it waits until they are made again.
 * Errors: ENOENT nobody makes one of them · ELOST it has happened too often, or none was named
 */
granary_err execution_graph_lose(struct execution_graph *graph, uint32_t number, const ProtobufCBinaryData *lost,
                                 size_t lost_count);

/* A running subtask goes on as a graph: it holds nothing until that has ended. */
void execution_graph_away(struct execution_graph *graph, uint32_t number);
/* The graph has made what it was to make: it runs again, with a body that takes that over. Errors: ENOMEM */
granary_err execution_graph_come_back(struct execution_graph *graph, uint32_t number, Granary__Subtask *message);
/* What it would take over is gone: its own body is to run again. false: it has that. */
bool execution_graph_restore_body(struct execution_graph *graph, uint32_t number);

/* A subtask has succeeded. Find the one, among those that made its inputs, that went on as a graph and whose outputs
 * are all freed, from position *position on. SUBTASK_NONE: there is none (any more). */
uint32_t execution_graph_spent(const struct execution_graph *graph, uint32_t number, uint32_t *position);

/* An object is found to be gone: as lose. false: there is no such place. */
bool execution_graph_vanish(struct execution_graph *graph, uint32_t position);

/*
 * A subtask that is not done fails for good, and with it everything that needs what it makes; the rest runs on. To be
 * called again, with SUBTASK_NONE, when something has changed: what was under way then may have met a failed input.
 * Returns whether any failed.
 */
bool execution_graph_give_up(struct execution_graph *graph, uint32_t number);
/* Ids of kept objects that failed since the last call: *ret_ids is valid until the next event. */
size_t execution_graph_failed(struct execution_graph *graph, const granary_id **ret_ids);

/* Nothing more starts, and every object is freed; those of running subtasks are freed when these end. keep: the kept
 * ones stay that are there, or will be when what runs has succeeded. */
void execution_graph_cancel(struct execution_graph *graph, bool keep);

/* Nothing runs, waits or is parked. */
bool execution_graph_idle(const struct execution_graph *graph);

/* Ids of objects nobody needs any more since the last call: *ret_ids is valid until the next event. */
size_t execution_graph_freed(struct execution_graph *graph, const granary_id **ret_ids);

/* The NUMA node an object lies on; -1: it is not there */
int32_t execution_graph_object_node(const struct execution_graph *graph, granary_id id);

/* Output i of a subtask: rows, bytes and NUMA node (may be NULL). false: it has not so many */
bool execution_graph_output(const struct execution_graph *graph, uint32_t number, uint32_t i, int64_t *ret_rows,
                            uint64_t *ret_bytes, int32_t *ret_node);
void
execution_graph_output_set(struct execution_graph *graph, uint32_t number, uint32_t i, int64_t rows, uint64_t bytes);

/* An object's place among all; SUBTASK_NONE: it is not the graph's. */
uint32_t execution_graph_position(const struct execution_graph *graph, ProtobufCBinaryData id);

/* Of all subtasks there are: the same subtasks in the same order give the same. */
uint64_t execution_graph_digest(const struct execution_graph *graph);

/* Whether it has failed for good; whether it is neither there nor has failed. An unknown one is neither. */
bool execution_graph_object_failed(const struct execution_graph *graph, granary_id id);
bool execution_graph_object_lacks(const struct execution_graph *graph, granary_id id);
/* Whether nobody needs it any more. An unknown one may be planned later. */
bool execution_graph_object_freed(const struct execution_graph *graph, granary_id id);
/* Rows and bytes of a present object. false: it is not there */
bool execution_graph_object(const struct execution_graph *graph, granary_id id, int64_t *ret_rows, uint64_t *ret_bytes);

/* An id from a message; all zero when it has another length. */
static inline granary_id
id_of(ProtobufCBinaryData data)
{
    granary_id id = {{0}};

    if (data.len == sizeof id.bytes) {
        memcpy(id.bytes, data.data, sizeof id.bytes);
    }
    return id;
}

#endif
