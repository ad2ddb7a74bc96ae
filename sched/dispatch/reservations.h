/*
 * Reservations: the right to have one message of subtasks on an executor, and room for what they put into the store.
 * Both are granted together, as one token, and returned together, exactly once: when the last subtask of the message
 * was reported, or the executor died. Pure.
 *
 * An executor has CREDIT messages in flight at most: one it runs and one behind it, so that it never waits for us. A
 * message that will run long is granted to an idle executor only, and `alone` keeps others from queueing behind it.
 *
 * Operators keep a core busy, so no more executors run them at a time than there are cores: more would only take turns,
 * and each other's caches. User code may wait for something else than a core, and is not counted. Neither are executors
 * that ask for their work.
 *
 * Memory: what is granted stays within memory_bytes, but a subtask always gets room when nothing else has any: one that
 * is larger than the budget runs alone and spills. So nobody ever waits for memory that nobody will give back.
 *
 * Subtasks that need little do not starve those that wait for much. The first one refused has a claim. When others
 * have been granted what it waits for CLAIM_PATIENCE times, nobody else of its rank or below gets any of that before
 * it.
 */
#ifndef SCHED_DISPATCH_RESERVATIONS_H
#define SCHED_DISPATCH_RESERVATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "place/place.h"
#include "sched/dispatch/resources.h"

#define RESERVATIONS_CREDIT 2
#define RESERVATIONS_BATCH  64 /* subtasks of a message, at most */
#define RESERVATION_NONE    UINT32_MAX
#define CLAIM_PATIENCE      16

struct reservations;

/* memory_bytes, cores: 0 unlimited. NULL: out of memory. */
struct reservations *reservations_create(uint64_t memory_bytes, uint32_t cores);
void reservations_destroy(struct reservations *reservations);
/* What needs are granted from; borrowed. Before anything is granted; without it there are no needs but NEED_NONE. */
void reservations_use(struct reservations *reservations, struct resources *resources);

/* An executor with all its credit. number: from 1, never used before. false: out of memory */
bool reservations_join(struct reservations *reservations, uint32_t number, int32_t node);

/*
 * One that asks for its work: it is given so many subtasks in all, counted from its joining; at first none. May become
 * less: what it has stays with it.
 */
void reservations_limit(struct reservations *reservations, uint32_t executor, uint64_t subtasks);
/* It gets nothing more. */
void reservations_close(struct reservations *reservations, uint32_t executor);

/* The most subtasks a message to it may have now. */
uint32_t reservations_room(const struct reservations *reservations, uint32_t executor);

/* Who could take a message now. idle_only: those with nothing in flight. user_code: it needs no core. Valid until the
 * next call; `warm` is the caller's to set. */
struct gr_place_candidate *
reservations_candidates(struct reservations *reservations, bool idle_only, bool user_code, size_t *ret_count);

/*
 * Somebody whose turn it is needs an idle executor and there is none: nothing more is queued on the one that will be
 * idle first, until unhold.
 */
void reservations_hold(struct reservations *reservations);
void reservations_unhold(struct reservations *reservations); /* all of them */

/* Whether anybody could take a message now. user_code: some messages there are need no core. */
bool reservations_any_free(const struct reservations *reservations, bool user_code);
/* Whether as many executors run operators as there are cores. */
bool reservations_cores_taken(const struct reservations *reservations);

/* What a subtask asks for. */
struct reservation_ask {
    uint64_t number; /* the subtask */
    uint64_t bytes;
    uint32_t need;  /* resources.h */
    int32_t rank;   /* its graph's priority */
    bool user_code; /* it needs no core */
};

/* Whether its need can be granted now, and no claim of somebody else stands against it. Memory: reservations_fit() */
bool reservations_allow(const struct reservations *reservations, const struct reservation_ask *ask);
/* The same for one more of a message whose need it shares. */
bool reservations_allow_more(const struct reservations *reservations, const struct reservation_ask *ask);
/* It could not be granted: for want of memory, or of its need. */
void reservations_refused(struct reservations *reservations, const struct reservation_ask *ask, bool memory);
/* Who has a claim on memory, or on other resources; 0: nobody. One that is not ready any more is to be dropped. */
uint64_t reservations_claimant(const struct reservations *reservations, bool memory);
void reservations_claim_drop(struct reservations *reservations, bool memory);

/* Whether bytes more fit beside what is granted and `more` that is about to be. */
bool reservations_fit(const struct reservations *reservations, uint64_t more, uint64_t bytes);

/*
 * Grant a token to one of the candidates.
 *
 * count   subtasks of the message, 1 to RESERVATIONS_BATCH; numbers are theirs, in the order they will run
 * ask     what one of them asks for, its bytes aside: they run one after another. NULL: nothing
 * Returns RESERVATION_NONE when out of memory
 */
uint32_t reservations_grant(struct reservations *reservations, uint32_t executor, const uint64_t *numbers,
                            uint32_t count, uint64_t bytes, bool alone, const struct reservation_ask *ask);

/* The executor a token belongs to. */
uint32_t reservations_holder(const struct reservations *reservations, uint32_t token);

/* Tokens are counted as they are granted, from 1: the count of this one, and of the last one. */
uint64_t reservations_order(const struct reservations *reservations, uint32_t token);
uint64_t reservations_last_order(const struct reservations *reservations);

/* The first subtask of an executor that is not settled: unless it says otherwise, it is at work. 0: it has none. */
uint64_t reservations_first(const struct reservations *reservations, uint32_t executor);

/* One subtask of the token's message is over. The last one returns the token: true. */
bool reservations_settle(struct reservations *reservations, uint32_t token, uint64_t number);

/*
 * The executor is gone: all its tokens are returned.
 *
 * visit  called for each subtask not settled, in the order they would have run; first: it was the one at work
 */
void reservations_leave(struct reservations *reservations, uint32_t executor,
                        void (*visit)(void *context, uint64_t number, bool first), void *context);

/* For each token with subtasks of a graph (the upper half of their numbers): the unsettled ones of them. */
void reservations_of_graph(const struct reservations *reservations, uint32_t serial,
                           void (*visit)(void *context, uint32_t executor, const uint64_t *numbers, size_t count),
                           void *context);

/* For each token: whose it is, what it holds, and its first subtask that is not settled. */
void reservations_visit(const struct reservations *reservations,
                        void (*visit)(void *context, uint32_t executor, uint64_t bytes, uint64_t first, uint32_t left),
                        void *context);

/* Messages in flight on an executor; 0 for one that is unknown. */
uint32_t reservations_in_flight(const struct reservations *reservations, uint32_t executor);
/* Subtasks of those that were not reported yet. */
uint32_t reservations_queued(const struct reservations *reservations, uint32_t executor);
/* Messages in flight in all. */
uint32_t reservations_granted(const struct reservations *reservations);
uint64_t reservations_bytes(const struct reservations *reservations);
/* Messages in flight that have memory. */
uint32_t reservations_with_bytes(const struct reservations *reservations);
/* Executors with nothing in flight that no token occupies. */
uint32_t reservations_idle(const struct reservations *reservations);
/* Executors there are. */
uint32_t reservations_executors(const struct reservations *reservations);

#endif
