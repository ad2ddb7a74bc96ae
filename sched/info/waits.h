/*
 * Who waits for whom, and whether that can end. A subtask whose user code waits for an object keeps its executor while
 * it waits; when what makes the object needs an executor that only such waiters hold, nobody will ever go on. Pure.
 */
#ifndef SCHED_INFO_WAITS_H
#define SCHED_INFO_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

struct manager;

/* User code of a subtask at work waits for an object. */
struct wait {
    uint32_t executor;
    uint64_t subtask; /* on the wire */
    uint32_t attempt;
    granary_id object;
    int64_t since_ns;
};

/*
 * Find the waits that can never end: the largest set of them in which each waits for something only others of the set
 * could bring about. What somebody outside may do is taken to happen.
 *
 * ret_stuck  one a wait
 * Returns    how many
 */
size_t waits_find_stuck(struct manager *manager, const struct wait *waits, size_t count, bool *ret_stuck);

/* The waits executors' pages told of last (manager_watch()): if some were stuck for a second, the youngest is failed
 * with ESTATE, and the message names them. */
void waits_break(struct manager *manager, int64_t now_ns);

#endif
