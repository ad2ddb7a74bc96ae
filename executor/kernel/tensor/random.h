/*
 * Random numbers by position: each depends on the seed and its place in the whole tensor alone. Philox 4x32-10 gives
 * 128 bits for every counter (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011). Elements of most
 * distributions have counters of their own, with a second word that counts their tries.
 */
#ifndef KERNEL_TENSOR_RANDOM_H
#define KERNEL_TENSOR_RANDOM_H

#include "graph/graph.h"

struct random_make;
typedef void random_fill_one(const struct random_make *make, uint64_t position, void *to);

struct random_make {
    granary_dtype dtype; /* FLOAT64 or INT64 */
    uint64_t seed;
    double a; /* the distribution's parameters: random.c */
    double b;
    int64_t low;
    uint64_t range;
    void (*pair)(uint64_t counter, uint64_t seed, double ret_pair[2]); /* two elements a counter; or NULL */
    random_fill_one *one;                                              /* of rows: all numbers of one */
    const double *numbers;                                             /* of rows: chances or shapes */
    size_t width;                                                      /* 0: elements do not come in rows */
};

/* Errors: EINVAL no such distribution, or its parameters do not fit */
granary_err random_make_init(const struct gr_params *params, int64_t seed, struct random_make *ret_make);
/* Elements [position, position + count) of the whole; of 8 bytes. */
void random_fill(const struct random_make *make, void *values, int64_t position, int64_t count);

#endif
