/*
 * Limits that may change while the store serves: the budget, what lies on disk, and what each user of a group may have
 * in memory. A budget that becomes smaller is reached step by step: what is free goes at once, and the rest is spilled
 * as if somebody waited for it.
 */
#ifndef STORE_LIMITS_H
#define STORE_LIMITS_H

#include "contract/store_proto.h"
#include "store/core/core.h"

/* Errors: EINVAL less than 1 MiB of memory · EFULL /dev/shm has no room for more */
granary_err limits_set(struct store *store, const struct gr_limits *limits);

/* Come nearer to the budget. Returns the bytes that are still too many. */
uint64_t limits_turn(struct store *store);

/* Bytes that the account has beyond the budget. */
uint64_t limits_excess(const struct store *store);

#endif
