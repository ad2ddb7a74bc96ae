/*
 * Latencies: how often something took how long, counted in shared memory by who did it, and read by anybody.
 *
 * Buckets are log-linear, two to a power of two: up to 32 ns, 48, 64, 96, 128, ... The last one has all above 51 s.
 * To add one costs two relaxed additions to memory that no other process writes.
 */
#ifndef GRANARY_CONTRACT_LATENCY_H
#define GRANARY_CONTRACT_LATENCY_H

#include <stdatomic.h>
#include <stdint.h>

#define GR_LATENCY_BUCKETS 63u
#define GR_LATENCY_LOG2    5u /* of the first bound, in ns */

struct gr_latency {
    _Atomic uint64_t sum_ns;
    _Atomic uint64_t buckets[GR_LATENCY_BUCKETS];
};
_Static_assert(sizeof(struct gr_latency) == 512, "part of the layout");

/* The longest time of a bucket that is not the last one, in ns. */
static inline uint64_t
gr_latency_bound(unsigned bucket)
{
    return bucket == 0 ? (uint64_t)1 << GR_LATENCY_LOG2
                       : (uint64_t)(3 + (bucket - 1) % 2) << (GR_LATENCY_LOG2 - 1 + (bucket - 1) / 2);
}

static inline unsigned
gr_latency_bucket(uint64_t ns)
{
    unsigned log2, bucket;

    if (ns <= (uint64_t)1 << GR_LATENCY_LOG2) {
        return 0;
    }
    log2 = 63 - (unsigned)__builtin_clzll(ns - 1);
    bucket = 1 + (log2 - GR_LATENCY_LOG2) * 2 + (unsigned)((ns - 1) >> (log2 - 1) & 1);
    return bucket < GR_LATENCY_BUCKETS ? bucket : GR_LATENCY_BUCKETS - 1;
}

/* Time that went by; a clock that was read the wrong way round is no time. */
static inline void
gr_latency_add(struct gr_latency *latency, int64_t ns)
{
    uint64_t time = ns < 0 ? 0 : (uint64_t)ns;

    atomic_fetch_add_explicit(&latency->sum_ns, time, memory_order_relaxed);
    atomic_fetch_add_explicit(&latency->buckets[gr_latency_bucket(time)], 1, memory_order_relaxed);
}

/* What the store and its clients time. */
enum gr_latency_kind {
#define LATENCY(name, who, summary) GR_LATENCY_##name,
#include "contract/latencies.def"
#undef LATENCY
    GR_LATENCY_COUNT,
    GR_LATENCY_CLIENTS = GR_LATENCY_restore, /* so many are clients' */
};

#endif
