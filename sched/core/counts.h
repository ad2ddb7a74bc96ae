/* What the manager counts and times for those who watch: words of a page that others read (contract/sched_page.h). */
#ifndef SCHED_CORE_COUNTS_H
#define SCHED_CORE_COUNTS_H

#include "contract/sched_page.h"
#include "sched/core/manager.h"

static inline void
manager_count(struct manager *manager, enum gr_sched_count which, uint64_t more)
{
    gr_sched_page_add(&manager->page->counts[which], more);
}

/* ns below 0: a clock of another process was read earlier than ours. */
static inline void
manager_time(struct manager *manager, enum gr_sched_latency which, int64_t ns)
{
    struct gr_latency *latency = &manager->page->latencies[which];
    uint64_t time = ns < 0 ? 0 : (uint64_t)ns;

    gr_sched_page_add(&latency->sum_ns, time);
    gr_sched_page_add(&latency->buckets[gr_latency_bucket(time)], 1);
}

#endif
