/*
 * Sources of memory when it is short, cheapest first: idle segments, dead bytes between objects, objects that have a
 * copy on disk. Last come objects that are written to disk first. All of it in small steps.
 */
#ifndef STORE_RECLAIM_H
#define STORE_RECLAIM_H

#include "store/core/core.h"

/*
 * One step towards what store->need asks for, or, when nobody asks, towards what is kept in hand.
 *
 * Returns  whether there is more to do at once
 */
bool reclaim_turn(struct store *store, int64_t now_ns);

/* When to come again although nothing happens; INT64_MAX: never. */
int64_t reclaim_next_ns(const struct store *store);

/* Whether bytes are on their way to be free. */
bool reclaim_hopeful(const struct store *store);

/* Whether taking objects from this segment helps who waits. */
bool reclaim_may_take(const struct store *store, const struct segment *segment);

/* What is kept free, or warm, for small requests while large ones wait. */
uint64_t reclaim_reserve(const struct store *store);

/* The session's segments are no candidates any more. */
void reclaim_forget(struct session *session);
/* Nothing more is begun. */
void reclaim_stop(struct store *store);

#endif
