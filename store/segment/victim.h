/*
 * The order in which objects leave memory: by importance, then by the hint of next use, then by recency. Among
 * equals, the object that was put first goes first, and a large object is spared for less long than a small one.
 *
 * Segments are listed by the rank of the least worthy object they hold. There is one list for objects that must be
 * written first (dirty), and one for those that have a copy (clean). A hunt looks at objects rank by rank with a
 * bounded number of looks a time, and goes on where it stopped: nobody waits for it. What was used lately is spared
 * in a first pass over a rank, and taken in a second one only when the first took nothing (CLOCK).
 *
 * Time is counted in bytes: the clock ticks once for each sixteenth of the capacity that comes into memory.
 */
#ifndef STORE_VICTIM_H
#define STORE_VICTIM_H

#include <stdbool.h>
#include <stdint.h>

#include "granary/types.h"
#include "store/base/list.h"

struct store;
struct session;
struct segment;
struct gr_slot;
struct victims;

enum victim_kind { VICTIM_DIRTY, VICTIM_CLEAN, VICTIM_KINDS };

/* A segment's place among the ranks of one kind. */
struct victim_place {
    struct list in_rank;
    uint32_t cursor; /* entries looked at in this pass */
    uint32_t pass;   /* in which it was last looked at */
    uint16_t rank;
    uint16_t next_rank; /* of what was left there so far */
    bool listed;
};

/* Errors: ENOMEM */
granary_err victims_create(struct victims **ret_victims);
void victims_destroy(struct victims *victims); /* NULL is fine */

/* Nothing of the session was seen used yet. */
void victim_session_init(struct session *session);

void victim_segment_init(struct segment *segment);
/* It holds nothing any more, or goes. */
void victim_segment_gone(struct store *store, struct segment *segment);

/* The slot's object lies in this segment, or what decides about it changed. O(1). */
void victim_note(struct store *store, struct segment *segment, const struct gr_slot *slot);

/* That many bytes came into memory: the clock goes on. */
void victim_tick(struct store *store, uint64_t bytes);
/* The clock, as a new object's age. */
unsigned victim_clock(const struct store *store);
/* After a tick: take note of what some clients of the store leased since the last time. */
void victim_turn(struct store *store);

/* From now on, at that clock, it is noted whether an object of that serial is used; */
void victim_watch(struct session *session, uint64_t serial, unsigned clock);
/* ... and it was. One in some thousand times another object was meant. */
bool victim_was_used(const struct session *session, const struct gr_slot *slot);

/* Importance and hint as a rank: 0 leaves first. VICTIM_NEVER: it stays. */
#define VICTIM_RANKS 4096u
#define VICTIM_NEVER VICTIM_RANKS

enum victim_verdict {
    VICTIM_TAKEN,
    VICTIM_HELD,   /* not now: leased */
    VICTIM_ENOUGH, /* taken, and the hunt ends here */
};

/* What is done with who is found. */
struct victim_hunt {
    unsigned most_rank; /* whoever is worth more stays, and whoever was used lately, */
    bool merciless;     /* ... but if this is set */
    bool (*wants)(struct victim_hunt *hunt, struct segment *segment);
    /* The object is in memory, unpinned, and of the hunt's kind. */
    enum victim_verdict (*take)(struct victim_hunt *hunt, struct segment *segment, struct gr_slot *slot);
    /* After the last take() in a segment for now; it may go. */
    void (*leave)(struct victim_hunt *hunt, struct segment *segment);
};

enum victim_result {
    VICTIM_MORE,      /* the looks are used up */
    VICTIM_SATISFIED, /* take() had enough */
    VICTIM_ROUND,     /* a pass over a rank ended, and something was taken in it */
    VICTIM_SPARED,    /* nothing was taken: what is left of the rank was used lately, or the next rank is too high */
    VICTIM_NOTHING,   /* everything was looked at, and nothing taken */
};

/* The rank of the least worthy of that kind, about; VICTIM_NEVER: there is none. */
unsigned victim_least(const struct store *store, enum victim_kind kind);
/* Where the last hunt for that kind was when it ended. */
unsigned victim_reached(const struct store *store, enum victim_kind kind);

/* Go on hunting with that many looks, of which each costs some 100 ns. */
enum victim_result victim_hunt(struct store *store, enum victim_kind kind, struct victim_hunt *hunt, unsigned looks);

#endif
