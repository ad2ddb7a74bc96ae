/* What the files of world.c share: a run, what is played in it, and the steps of each. Without memory they abort. */
#ifndef SIMULATE_WORLD_PRIVATE_H
#define SIMULATE_WORLD_PRIVATE_H

#include "sched/core/manager.h"
#include "sched/dispatch/reservations.h"
#include "sched/restore.h"
#include "simulate/store.h"
#include "simulate/world.h"

#define NEVER         INT64_MAX
#define FAULT_EVENTS  6
#define SUBMIT_TICKET 1000    /* ... and more: of submissions; below: of waits */
#define START_MS      1000000 /* Unix time at the run's begin */

/* A subtask an executor was given. */
struct task {
    struct task *next;
    Granary__ToExecutor *order; /* it is in: freed with the last of them */
    uint32_t *order_refs;
    const Granary__Subtask *subtask;
    bool cancelled;
};

/* What came of the subtask at work. */
struct outcome {
    granary_err err;
    granary_id lost; /* ENOENT */
    uint64_t nanoseconds;
};

struct player {
    uint32_t number; /* 0: not there */
    struct task *first, **last;
    int64_t finish_ns; /* of the first; NEVER: it was not begun */
    int64_t join_ns;   /* when it comes; NEVER: it is there */
    struct outcome outcome;
};

/* A report that the scheduler has got and has not kept: the executor would tell the next one again. */
struct unkept {
    struct unkept *next;
    struct player *player;
    size_t size;
    uint8_t bytes[];
};

struct timed_fault {
    int64_t at_ns;
    enum world_fault kind;
};

struct world {
    const struct world_options *options;
    struct world_report *report;
    struct manager *manager;
    struct keeper keeper;
    int64_t now_ns;
    struct player players[WORLD_EXECUTORS];
    struct player nobody; /* an executor that is gone */
    uint32_t last_number;
    struct played_table objects;
    struct played_table subtasks;
    uint64_t store_bytes; /* of objects that are there */
    uint64_t making_bytes;
    uint64_t used_ns[WORLD_GRAPHS]; /* executor time, by session */
    uint64_t busy_ns;
    bool submitted[WORLD_GRAPHS], accepted[WORLD_GRAPHS], ended[WORLD_GRAPHS];
    struct timed_fault faults[FAULT_EVENTS];
    uint32_t fault_count;
    uint64_t state; /* of the numbers drawn */
    bool lenient;  /* executors brought what they had to a new scheduler: memory may be over the budget until it ends */
    bool compared; /* shares */
    struct unkept *unkept, **last_unkept;
};

/* A subtask for humans: graph and number. */
#define NAME(number) (unsigned)((number) >> 32), (unsigned)(number)

/* The first thing that did not hold ends the run. */
void world_violated(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
void world_trace(const struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Whether a fault happens here: one of so many times, when the run has it. */
bool world_may(struct world *world, enum world_fault fault, uint64_t one_of);
/* Which of the options' graphs a subtask is of. */
uint32_t world_graph_number(const struct world *world, uint64_t wire_number);

/* ---- executors: players.c ---- */

struct player *player_of(struct world *world, uint32_t number);
void player_joins(struct world *world, struct player *player);
/* Takes order. */
void player_takes(struct world *world, struct player *player, Granary__ToExecutor *order);
/* It begins the first of what it was given. */
void player_begin(struct world *world, struct player *player);
/* ... which is over. */
void player_reports(struct world *world, struct player *player);
void player_dies(struct world *world, struct player *player);
/* What it was given is nobody's. */
void player_forgets(struct world *world, struct player *player);
/* It brings what it has to a new scheduler, with a new number. */
void player_claims(struct world *world, struct player *player);
/* The reports are kept; or, again: executors that are still there tell them to the next scheduler. */
void unkept_drop(struct world *world, bool again);

/* ---- clients: clients.c ---- */

void client_sets_weights(struct world *world);
void client_submits(struct world *world, uint32_t graph);
void client_waits(struct world *world, uint32_t graph);
void client_hears(struct world *world, const struct action *action);

/* ---- what must hold: checks.c ---- */

/* After every event. */
void check_now(struct world *world);
/* Nothing is left when everything has ended. */
void check_end(struct world *world);
/* Of fair runs: shares are compared when the first session has no demand any more. */
void check_shares(struct world *world);

#endif
