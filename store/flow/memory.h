/*
 * Who gets which memory: segments for writers and for restores.
 *
 * A grant takes a warm idle segment of the same writer, or free bytes; it never makes room itself (reclaim.h does).
 */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "store/core/core.h"

/* After something ended in a segment: put it in the list it belongs to now; it may be destroyed. */
void segment_settle(struct store *store, struct segment *segment);

/* What somebody would like to have. */
struct memory_wish {
    struct session *session;
    struct client *client; /* NULL: the store itself */
    uint64_t min_bytes;
    uint64_t want_bytes; /* if it can be had at once */
    unsigned node;
};

/*
 * A segment. ret_warm: so many bytes from its beginning on have pages already.
 * Errors: EBUSY not now · ESTATE not now, for the session is at its quota, or has its share of segments · ENOMEM ·
 * EFULL: never, or shared memory itself is full
 */
granary_err
memory_grant(struct store *store, const struct memory_wish *wish, struct segment **ret_segment, uint64_t *ret_warm);

/* What was granted to a request whose answer was lost with the last store: an open segment, or NULL. */
struct segment *memory_granted(const struct client *client, uint64_t request);
/*
 * A segment of the store's own, for the supply of pages. It is open, and its writer is the store.
 * Errors: ENOMEM · EFULL
 */
granary_err memory_prepare(struct store *store, struct session *session, unsigned node, uint64_t bytes,
                           struct segment **ret_segment);

/* Bytes that can be granted now: free in the account, and in /dev/shm too. */
uint64_t memory_free(const struct store *store);

/* What the session may have beside what it has; UINT64_MAX: it has no quota. */
uint64_t memory_quota_left(const struct session *session);

/* Answer whoever can be answered, make room, spill ahead of demand. True: there is more to do at once. */
bool memory_turn(struct store *store, int64_t now_ns);

/* Until when memory_turn() has nothing to do by itself; INT64_MAX: for ever. */
int64_t memory_next_ns(const struct store *store, int64_t now_ns);

/* Its writer will not touch it again: it goes to the list it belongs to. */
void memory_close(struct store *store, struct segment *segment);

/* The writer is gone: its segments are closed and anybody's. */
void memory_writer_gone(struct client *client);

/* Give a segment that holds no object back to the system. */
void memory_destroy(struct store *store, struct segment *segment);

/* Forget a segment whose session goes; nobody's mapping of it breaks. It holds no object any more. */
void memory_abandon(struct store *store, struct segment *segment);

/* A segment that was another store's, with what is known to be in it: it goes to the list it belongs to. */
void memory_adopt(struct store *store, struct segment *segment);

/* Bytes of holes in a segment are free now. */
void memory_punched(struct store *store, struct segment *segment, uint64_t bytes);

#endif
