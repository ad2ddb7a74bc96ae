/*
 * Sources of memory when it is short, cheapest first: idle segments, dead bytes between objects, objects that have a
 * copy on disk. Last come objects that are written to disk first. All of it in small steps.
 */
#ifndef STORE_RECLAIM_H
#define STORE_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"

struct segment;
struct session;
struct store;

/* What the store holds of it. */
struct reclaim {
    uint64_t blocked_bytes; /* leased objects the last round of eviction had to leave */
    uint64_t blocked_now;   /* ... and this one, so far */
    bool starved;           /* of descriptors, which idle segments hold too */
    uint32_t hunt_file;     /* spill files from here on were written for who waits */
    unsigned spill_rank;    /* copies used lately are spared: others up to it are written first; VICTIM_NEVER: no */
    bool merciless;         /* ... and there are none: copies used lately are dropped, too */
    bool with_open;         /* copies in open segments are dropped too: nothing else is left */
    bool spill_open;        /* ... and objects in them are spilled */
    bool cleaning;          /* between the water marks: spilling in the background */
    int64_t drop_ns;        /* not before: nothing that has a copy can be dropped */
    int64_t spill_ns;       /* not before: nothing can be spilled */
    int64_t ahead_ns;       /* not before: nothing can be dropped ahead of demand */
    int64_t background_ns;  /* not before: the last look found nothing to spill */
    unsigned high_percent;  /* dirty bytes, of the capacity: spilling begins */
    unsigned low_percent;   /* ... and ends */
};

/* The water marks in percent, 0: as usual. Errors: EINVAL */
granary_err reclaim_init(struct reclaim *reclaim, unsigned high, unsigned low);

/* Copies were written: some objects can be dropped now. */
void reclaim_note_copies(struct store *store);
/* There was no descriptor for a segment. */
void reclaim_note_starved(struct store *store);
/* Leased objects that the last round of eviction had to leave. */
uint64_t reclaim_blocked_bytes(const struct store *store);
/* Whether objects are spilled in the background. */
bool reclaim_is_cleaning(const struct store *store);

/*
 * One step towards what queue->need asks for, or, when nobody asks, towards what is kept in hand.
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
