/*
 * What subtasks of a kind cost, learned from those that have succeeded: the same kind in all graphs. A kind is a list
 * of operators; of operators that run user code, the function belongs to it (sched/execution/graph.h). Pure.
 */
#ifndef SCHED_DISPATCH_ESTIMATES_H
#define SCHED_DISPATCH_ESTIMATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Means are exponential: the last eight weigh most. */
struct estimate {
    uint32_t kind;
    uint32_t samples;
    uint64_t mean_ns;
    uint64_t size_bytes;   /* inputs and expected outputs of one */
    uint64_t out_bytes;    /* outputs of one */
    uint64_t out_per_in;   /* output bytes for 1024 of input; of those that had inputs */
    uint64_t out_per_plan; /* ... for 1024 the planner expected; of those for which it did, 0: none */
    uint64_t peak_bytes;   /* most private memory any of them took; 0: not measured */
};

/* What one has taken. */
struct estimate_sample {
    uint64_t nanoseconds;
    uint64_t in_bytes;
    uint64_t out_bytes;
    uint64_t planned_bytes; /* 0: the planner did not know */
    uint64_t peak_bytes;
};

struct estimates;

struct estimates *estimates_create(void); /* NULL: out of memory */
void estimates_destroy(struct estimates *estimates);

/* NULL: none of the kind has succeeded. Valid until the next learn. */
const struct estimate *estimates_find(const struct estimates *estimates, uint32_t kind);
/* Out of memory, or with more kinds than can be kept: a new kind stays unknown. */
void estimates_learn(struct estimates *estimates, uint32_t kind, const struct estimate_sample *sample);

/*
 * What a subtask will put into the store.
 *
 * estimate       of its kind; NULL: none
 * planned_bytes  what the planner expects; 0: it does not know
 * in_bytes       its inputs
 */
uint64_t estimate_out_bytes(const struct estimate *estimate, uint64_t planned_bytes, uint64_t in_bytes);

/* How long it takes: one with more to do than the mean takes longer in proportion. estimate: not NULL */
uint64_t estimate_ns(const struct estimate *estimate, uint64_t planned_bytes, uint64_t in_bytes);

#endif
