/*
 * granary: the pool of an instance: more executors, fewer, other ones (libgranary).
 *
 * Each function returns when it is done, or with ETIMEDOUT after timeout_ms (GRANARY_FOREVER; 0: it only gives the
 * order). The message then names the executors that still run something. The order continues nevertheless. ELOST: the
 * scheduler ended meanwhile; the order may have been executed, and executors have other numbers now. Executors are
 * named by their number; `granary executors` and the subject "executors" of granary_info() print it. Any thread may
 * call these functions.
 */
#ifndef GRANARY_POOL_H
#define GRANARY_POOL_H

#include "granary/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Start executors and wait until they are ready to work.
 *
 * node    NUMA node they are to be on; -1: where fewest are
 * Errors  EINVAL count is 0, there would be more than 1024, or no such node · EUNREACHABLE no pool · ETIMEDOUT
 */
GRANARY_API granary_err granary_pool_add(granary_client *client, uint32_t count, int node, int timeout_ms);

/*
 * Let executors finish what they have and leave; they get nothing new, and their slots go. An executor that is
 * embedded in another program learns it when it asks for work.
 *
 * Errors  EINVAL count is 0 · ENOENT no such executor · ETIMEDOUT · EUNREACHABLE
 */
GRANARY_API granary_err granary_pool_drain(granary_client *client, const uint32_t *executors, size_t count,
                                           int timeout_ms);

/*
 * Kill executors now and wait for those that take their place. Their subtasks run again, without blame.
 *
 * Errors  as granary_pool_drain() · EINVAL one is embedded in another program
 */
GRANARY_API granary_err granary_pool_kill(granary_client *client, const uint32_t *executors, size_t count,
                                          int timeout_ms);

/* Let executors finish what they have, and put new processes in their place. count 0: all of the pool. Errors: as kill
 */
GRANARY_API granary_err granary_pool_recycle(granary_client *client, const uint32_t *executors, size_t count,
                                             int timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
