/*
 * Spilling: objects are written to one file by a worker, while everything else goes on. They are chosen by victim.h,
 * a few looks at each turn of the loop.
 */
#ifndef STORE_EVICT_H
#define STORE_EVICT_H

#include "store/core/core.h"

/*
 * Begin to gather objects that have no copy on disk, about `want` bytes of them.
 *
 * with_open  also objects in segments that still have a writer
 * most_rank  nobody of a higher rank, and nobody who was used lately; VICTIM_NEVER: anybody
 * Returns    false: one is under way, or the disk failed a moment ago
 */
bool spill_start(struct store *store, uint64_t want, bool with_open, unsigned most_rank);

enum spill_progress {
    SPILL_NONE,      /* no spill, or nothing was found to spill */
    SPILL_GATHERING, /* more looks are needed */
    SPILL_WRITING,   /* the worker has it */
};

/* Go on gathering. */
enum spill_progress spill_step(struct store *store, unsigned looks);

/* The session goes: nothing more is gathered from it. */
void spill_forget(struct store *store, const struct session *session);

#endif
