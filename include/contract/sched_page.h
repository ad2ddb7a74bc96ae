/*
 * What the active scheduler counts and times, in a file that tools read: <runtime>/sched.page. It costs no message, and
 * can be read when the scheduler does not answer, or is dead. Each scheduler that becomes active puts a page of its own
 * there, where it counts from 0. It alone writes: every word is whole, and no two belong together.
 */
#ifndef GRANARY_CONTRACT_SCHED_PAGE_H
#define GRANARY_CONTRACT_SCHED_PAGE_H

#include "contract/latency.h"

#define GR_SCHED_PAGE         "sched.page"
#define GR_SCHED_PAGE_MAGIC   0x72646573u /* "sedr" */
#define GR_SCHED_PAGE_VERSION 1u

enum gr_sched_count {
#define SCHED_COUNT(name, kind, unit, summary) GR_SCHED_##name,
#define SCHED_LATENCY(name, summary)
#include "contract/sched_page.def"
#undef SCHED_COUNT
#undef SCHED_LATENCY
    GR_SCHED_COUNTS
};

enum gr_sched_latency {
#define SCHED_COUNT(name, kind, unit, summary)
#define SCHED_LATENCY(name, summary) GR_SCHED_##name,
#include "contract/sched_page.def"
#undef SCHED_COUNT
#undef SCHED_LATENCY
    GR_SCHED_LATENCIES
};

#define GR_SCHED_COUNTS_MOST    96u
#define GR_SCHED_LATENCIES_MOST 16u

/* The places are more than there are: a version adds to the tables, and readers of all versions find what they know. */
struct gr_sched_page {
    uint32_t magic, version; /* magic is written last */
    int64_t pid;
    uint64_t start_time; /* of the process, clock ticks since boot */
    uint64_t reserved[5];
    _Atomic uint64_t counts[GR_SCHED_COUNTS_MOST];
    struct gr_latency latencies[GR_SCHED_LATENCIES_MOST];
};
_Static_assert(GR_SCHED_COUNTS <= GR_SCHED_COUNTS_MOST && GR_SCHED_LATENCIES <= GR_SCHED_LATENCIES_MOST,
               "there is room");

/* By the page's only writer. */
static inline void
gr_sched_page_add(_Atomic uint64_t *word, uint64_t more)
{
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + more, memory_order_relaxed);
}

#endif
