/*
 * Who gets which memory: segments for writers and for restores.
 *
 * A grant takes a warm idle segment of the same writer, or free bytes; it never makes room itself (reclaim.h does).
 */
#ifndef STORE_GRANT_H
#define STORE_GRANT_H

#include "store/segment/memory.h"

/*
 * A segment. ret_warm: so many bytes from its beginning on have pages already.
 * Errors: EBUSY not now · ESTATE not now, for the session is at its quota, or has its share of segments · ENOMEM ·
 * EFULL: never, or shared memory itself is full
 */
granary_err
memory_grant(struct store *store, const struct memory_wish *wish, struct segment **ret_segment, uint64_t *ret_warm);

/* Answer whoever can be answered, make room, spill ahead of demand. True: there is more to do at once. */
bool memory_turn(struct store *store, int64_t now_ns);

/* Until when memory_turn() has nothing to do by itself; INT64_MAX: for ever. */
int64_t memory_next_ns(const struct store *store);

#endif
