/*
 * Who gets which memory: rooms for writers, segments for restores, and where they come from when memory is short.
 *
 * Steps, cheapest first: warm idle segments of the same writer; free bytes; idle segments are destroyed; objects that
 * have a copy on disk are dropped and holes punched; a spill is started (evict.h) and the request waits in line.
 */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "store/core.h"

/* After something ended in a segment: put it in the list it belongs to now; it may be destroyed. */
void segment_settle(struct store *store, struct segment *segment);

/*
 * A segment of at least min bytes, want if it can be had at once, for client (NULL: the store itself).
 * Errors: EBUSY not now · ENOMEM · EFULL: never, or shared memory itself is full
 */
granary_err memory_grant(struct store *store, struct session *session, struct client *client, uint64_t min,
                         uint64_t want, struct segment **ret_segment, uint64_t *ret_warm);

/* The client's request for room: checked, and put in line. */
void memory_request_room(struct client *client, const struct gr_frame *request, const struct gr_room *room);

/* Answer whoever can be answered, fail whose time is over, spill ahead of demand. Cheap when nothing changed. */
void memory_turn(struct store *store, int64_t now_ns);

/* Until when memory_turn() has nothing to do by itself; INT64_MAX: for ever. */
int64_t memory_next_ns(const struct store *store, int64_t now_ns);

/* The writer is gone: its segments are closed and anybody's. */
void memory_writer_gone(struct client *client);

/* Forget a segment whose session goes; nobody's mapping of it breaks. It holds no object any more. */
void memory_abandon(struct store *store, struct segment *segment);

/* Who holds what, as the end of a sentence. */
void memory_describe(const struct store *store, char *text, size_t size);

#endif
