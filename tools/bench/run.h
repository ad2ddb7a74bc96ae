/* What the benchmarks of the store share: a client in a store of one's own, and objects by number. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include "bench/bench.h"
#include "granary/store.h"

/* A run: where it measures, how much of it, and where the figures go. */
struct run {
    granary_client *client;
    struct spawned *daemon;
    struct results *results;
    size_t scale; /* 10 for --quick: a tenth of the samples */
    bool failed;
};

granary_id run_id(uint64_t n);
uint64_t run_random(uint64_t *seed);

/* False, said once on stderr, when the store refused something. */
bool run_good(struct run *run, granary_err err);

/* Put, or delete, objects first .. first + count - 1, and wait for all of it. size: at most 1024. */
void run_fill(struct run *run, uint64_t first, size_t count, uint64_t size);
void run_empty(struct run *run, uint64_t first, size_t count);

/* Get and release at random among count objects; batch of them a sample, for the clock takes about as long as one. */
void run_time_gets(struct run *run, uint64_t first, size_t count, size_t batch, size_t rounds, struct samples *samples);

/* How long others wait while memory is full (bench_stall.c). */
void bench_stall(struct run *run);

/* How fast objects leave memory and come back (bench_spill.c); directory: on the disk they go to. */
void bench_spill(struct run *run, const char *directory);

/* How get, metadata and a restart grow with the number of objects (bench_growth.c). */
void bench_growth(struct run *run);

#endif
