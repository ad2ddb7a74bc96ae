/*
 * Who waits for whom, and whether that can end. A subtask whose user code waits for an object keeps its executor
 * while it waits. The object may need an executor that only such waiters hold. Then nobody will ever go on. Pure.
 */
#ifndef SCHED_EXECUTORS_WAITS_H
#define SCHED_EXECUTORS_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

struct manager;

/* The waits executors' pages told of last (manager_watch()): if some were stuck for a second, the youngest is failed
 * with ESTATE, and the message names them. */
void waits_break(struct manager *manager, int64_t now_ns);

#endif
