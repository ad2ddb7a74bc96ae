/* Spilling: objects of some segments are written to one file by a worker, while everything else goes on. */
#ifndef STORE_EVICT_H
#define STORE_EVICT_H

#include "store/core.h"

/*
 * Start writing objects that have no copy on disk, about `want` bytes of them, oldest segments first.
 * with_open: also objects in segments that still have a writer. False: nothing to spill, one is under way, or the disk
 * failed a moment ago.
 */
bool spill_start(struct store *store, uint64_t want, bool with_open);

/* Drop what has a copy on disk and is neither leased nor pinned. Returns the bytes that are dead now. */
uint64_t segment_drop_clean(struct store *store, struct segment *segment);

/* Give the pages of dead ranges back. */
void segment_punch_dead(struct store *store, struct segment *segment);

#endif
