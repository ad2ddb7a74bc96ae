/*
 * One simulated run: its parameters, what happens in it, and what came of it. Everything follows from the seed.
 */
#ifndef SIMULATE_WORLD_H
#define SIMULATE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/granary.pb-c.h"

enum world_shape { SHAPE_TREE, SHAPE_CHAIN, SHAPE_MAP, SHAPE_SHUFFLE, SHAPE_ARRAY, SHAPE_RANDOM, SHAPES };
/* Faults, as bits. */
enum world_fault {
    FAULT_DEATH = 1,    /* an executor dies; another comes */
    FAULT_LOSS = 2,     /* an object is gone when somebody wants to read it */
    FAULT_FAILURE = 4,  /* user code fails */
    FAULT_STALL = 8,    /* an executor does nothing for a while */
    FAULT_FULL = 16,    /* the store has no room */
    FAULT_RESTART = 32, /* the scheduler is killed; the next one starts with what was kept */
    FAULTS_ALL = 63
};

#define WORLD_GRAPHS    16
#define WORLD_EXECUTORS 100000

/* A graph that will be submitted. */
struct world_graph {
    int64_t at_ns;
    uint32_t session;
    int32_t priority;
    int64_t deadline_ms; /* 0: none */
    enum world_shape shape;
    uint32_t size;       /* about so many subtasks */
    uint64_t mean_ns;    /* a subtask takes */
    uint64_t mean_bytes; /* ... puts into the store */
    bool depth_first;    /* nodes come in an order in which what is made is read soon; else leaves first */
    bool resources;      /* some of its subtasks need a named one */
};

/* What a recorded node takes; of those without a record the graph's means. */
struct world_duration {
    char *node;
    uint64_t nanoseconds;
    uint64_t bytes;
};

struct world_options {
    uint64_t seed;
    bool trace; /* print what happens to stdout */
    uint32_t executors;
    uint64_t memory_bytes;
    uint32_t sessions;
    uint32_t weights[WORLD_GRAPHS]; /* by session */
    uint32_t faults;                /* bits of world_fault that may happen */
    struct world_graph graphs[WORLD_GRAPHS];
    uint32_t graph_count;
    bool fair;                      /* sessions have demand until one has none: their shares are compared */
    const Granary__Graph *recorded; /* instead of a generated one, for every graph */
    const char *directory;          /* its file names are relative to; NULL: none */
    const struct world_duration *durations;
    size_t duration_count;
};

struct world_report {
    uint64_t subtasks;                   /* that succeeded */
    uint64_t reruns;                     /* runs beyond the first of a subtask */
    uint64_t succeeded, failed, refused; /* graphs */
    uint64_t deaths, losses, failures, stalls, fulls, restarts;
    int64_t makespan_ns;
    double utilisation;    /* 0 to 1: executors' time spent on subtasks */
    uint64_t peak_granted; /* bytes reserved at once */
    uint64_t peak_store;   /* bytes of objects there were at once, those being made included */
    double unfairness;     /* of fair runs: the largest difference of time used, by weight, over its bound */
    char violation[512];   /* what did not hold; "": all did */
    char reason[512];      /* why a graph failed or was refused, the last one; "": all succeeded */
};

/* Everything that follows from the seed; what is set in options->graphs[0] and others may be changed afterwards. */
void world_choose(uint64_t seed, struct world_options *ret_options);
/* The graph as a client would send it; to be freed. NULL: out of memory */
Granary__Graph *world_make_graph(const struct world_options *options, uint32_t graph);
void world_run(const struct world_options *options, struct world_report *ret_report);

/* ---- numbers from numbers ---- */

uint64_t world_mix(uint64_t a, uint64_t b);
uint64_t world_below(uint64_t *state, uint64_t bound); /* 0 to bound - 1 */

#endif
