/* What the scheduler plans with, changed while it runs: for the supervisor that started it. */
#ifndef CLIENT_BUDGET_H
#define CLIENT_BUDGET_H

#include "granary/store.h"

/*
 * Graphs that are submitted from now on are planned with so much memory for objects.
 *
 * Errors  EUNREACHABLE · ETIMEDOUT · EPROTO the scheduler is of a release that cannot
 */
granary_err gr_sched_budget(granary_client *client, uint64_t bytes, int timeout_ms);

#endif
