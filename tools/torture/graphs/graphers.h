/*
 * Clients that run random graphs (graphs.h), each once in calm, for what it gives; then again and again. Every result
 * must be the calm one, to the byte. An accepted graph must end, also when its client was killed: the next client
 * goes on with it.
 */
#ifndef TORTURE_GRAPHERS_H
#define TORTURE_GRAPHERS_H

#include <stdbool.h>
#include <stdint.h>

#include "torture/common/options.h"
#include "torture/common/pack.h"

struct graphers_shared;

struct graphers {
    struct graphers_shared *shared; /* by all processes */
    struct pack pack;
    const char *instance;
    char table[96];
    uint64_t seed;
    int64_t elements;     /* of tensors, about */
    unsigned graphs;      /* different ones */
    long pause_us;        /* between two graphs of a client */
    bool little;          /* there may be too little memory for some of them */
    unsigned refused;     /* so many */
    uint64_t chunk_bytes; /* 0: as the scheduler likes */
};

#define GRAPHERS_MOST   32u
#define GRAPHERS_GRAPHS 24u
#define GRAPHERS_TENSOR 3u /* a tensor is this part of the budget they are made for */

/*
 * instance   kept by pointer
 * directory  for the file that graphs read
 * graphs     how many different ones, GRAPHERS_GRAPHS at most
 */
bool graphers_create(struct graphers *graphers, const char *instance, const char *directory,
                     const struct options *options, unsigned count, unsigned graphs);
void graphers_destroy(struct graphers *graphers);

/* Run each once. False: one failed; said why. */
bool graphers_learn(struct graphers *graphers);

void graphers_start(struct graphers *graphers);
/* Tell them to end their graphs and stop, and wait until they have. */
void graphers_stop(struct graphers *graphers);

/* All have stopped: count what is left of their graphs. Frees are under way for a moment. */
void graphers_inspect(struct graphers *graphers);

/* Figures on stdout. Returns whether nothing at all was wrong. */
bool graphers_report(const struct graphers *graphers);
bool graphers_are_clean(const struct graphers *graphers);
uint64_t graphers_subtasks(const struct graphers *graphers);

#endif
