/* How often the functions of libraries were called, how often they failed, and how long they take. Pure. */
#ifndef SCHED_HISTORY_FUNCTION_STATS_H
#define SCHED_HISTORY_FUNCTION_STATS_H

#include "granary/types.h"
#include "sched/execution/graph.h"

struct function_stats;

struct function_count {
    uint64_t calls;
    uint64_t failures;
    uint64_t mean_ns; /* exponential, the last eight weigh most */
};

/* NULL: out of memory. */
struct function_stats *function_stats_create(void);
void function_stats_destroy(struct function_stats *stats);

/* A run of a subtask with user code is over. Out of memory: it is not counted. */
void function_stats_note(struct function_stats *stats, const char *session, const struct subtask *subtask,
                         const struct user_code *code, granary_err err, uint64_t nanoseconds);

/* What was counted of a function of a session. */
struct function_count function_stats_find(const struct function_stats *stats, const char *session, const char *library,
                                          const char *version, const char *function);

#endif
