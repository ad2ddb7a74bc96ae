/* Jobs that read spill files: a large object is read by several, many small ones by one. */
#ifndef STORE_READING_H
#define STORE_READING_H

#include "store/core/core.h"

struct restore;

/*
 * Read what a restore asks for (restore->from, footprint bytes) into its segment; restore_finished() is called in the
 * loop when all of it is there, or has failed. Small ones wait for reading_flush(). False: out of memory.
 */
bool reading_start(struct restore *restore);
void reading_flush(struct store *store);

#endif
