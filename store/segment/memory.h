/* Segments as the store holds them: in the list of their state, in the accounts, with a writer or without. */
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
 * A new segment of that size, open for who wishes it; client NULL: for the store, until it is closed.
 * Errors: ENOMEM · EFULL
 */
granary_err
memory_create(struct store *store, const struct memory_wish *wish, uint64_t size, struct segment **ret_segment);
/* An idle one is open again, for who wishes it. */
void memory_reopen(struct store *store, const struct memory_wish *wish, struct segment *segment);

/* What was granted to a request whose answer was lost with the last store: an open segment, or NULL. */
struct segment *memory_granted(const struct client *client, uint64_t request);
/* Bytes that can be granted now: free in the account, and in /dev/shm too. */
uint64_t memory_free(const struct store *store);

/* What the user of a session may have beside what all of his sessions have; UINT64_MAX: no limit. */
uint64_t memory_user_left(const struct session *session);

/* What the session may have beside what it has: its quota, and its user's; UINT64_MAX: there is none. */
uint64_t memory_quota_left(const struct session *session);

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
