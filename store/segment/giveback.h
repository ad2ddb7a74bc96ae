/*
 * Memory on its way back to the system. Freeing pages takes long (0.4 ms a MiB), so a worker does it; the bytes stay
 * pooled in the account until it is done, and are called returning until then.
 */
#ifndef STORE_GIVEBACK_H
#define STORE_GIVEBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct segment;
struct store;

/* What the store holds of it. */
struct giveback {
    uint64_t returning;  /* pooled bytes that a worker is giving back */
    unsigned punching;   /* holes being made */
    struct punch *punch; /* looks for holes */
};

/* Bytes of a segment, from .. to. */
struct range {
    uint64_t from, to;
};

/*
 * Forget a segment that holds no object, and free its pages even while somebody has it mapped. It is in no list and no
 * map any more; takes it.
 */
void giveback_segment(struct store *store, struct segment *segment);

/* Give back the pages of dead ranges; takes the array, of malloc(). */
void giveback_ranges(struct store *store, struct segment *segment, struct range *ranges, size_t count);

/*
 * Give back what is dead in the closed segments of store->segments.torn, one at a time.
 *
 * looks    how many objects may be looked at now; reduced
 * Returns  whether there is more to do at once
 */
bool giveback_torn(struct store *store, unsigned *looks);

/* Pooled bytes that are on their way. */
uint64_t giveback_returning(const struct store *store);
/* Whether a worker makes holes just now. */
bool giveback_is_punching(const struct store *store);
/* Whether holes are being made: bytes may become free. */
bool giveback_under_way(const struct store *store);

/* The segment is in a session that goes: nothing is begun with it any more. */
void giveback_forget(struct store *store, struct segment *segment);

#endif
