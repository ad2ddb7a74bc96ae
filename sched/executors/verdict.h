/*
 * Subtasks that take too long or too much, or belong to a graph that has ended, are given up: user code is asked to
 * stop, and its executor killed if it does not.
 */
#ifndef SCHED_EXECUTORS_VERDICT_H
#define SCHED_EXECUTORS_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"

struct executor;
struct manager;

bool verdict_is_of(const struct executor *executor, uint64_t wire_number, uint32_t attempt);
void verdict_clear(struct executor *executor);
/* What is at work there is asked to stop, and its executor killed if it does not: it then fails with err and the
 * thread's message. */
void subtask_give_up(struct manager *manager, struct executor *executor, uint64_t wire_number, uint32_t attempt,
                     granary_err err, int64_t now_ns);

/*
 * What an executor is doing, for limits and for what is to be given up. While manager_watching(), it is to be told of
 * each executor every few hundredths of a second.
 */
struct manager_seen {
    uint64_t subtask; /* wire number of what is at work; 0: unknown */
    uint32_t attempt;
    int64_t running_ns;     /* so long; -1: unknown */
    uint64_t private_bytes; /* memory of the process alone; 0: unknown */
    granary_id waits_for;   /* the object user code waits for; zero: it does not */
    int64_t waits_since_ns;
    bool idle; /* it says that nothing is: what it was given has not begun, or its report is on the way */
};
void manager_watch(struct manager *manager, uint32_t executor, const struct manager_seen *seen, int64_t now_ns);
/* All were told of: waits of user code that can never end are ended. */
void manager_watched(struct manager *manager, int64_t now_ns);
/* Something that has limits runs, or something is to be given up. */
bool manager_watching(const struct manager *manager);

#endif
