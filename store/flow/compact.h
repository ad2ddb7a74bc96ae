/*
 * Compaction: what is left of half-dead spill files is copied to a new one, as it is stored, and they go.
 *
 * The new file is complete before a slot leads to it, and the old ones go when no slot leads to them any more. So
 * whenever the store dies, every object is found by its id and stamp in one of them.
 */
#ifndef STORE_COMPACT_H
#define STORE_COMPACT_H

#include <stdbool.h>
#include <stdint.h>

struct store;

/* What the store holds of it. */
struct compact {
    struct compaction *running;
    int64_t look_ns; /* when files are looked at for being half dead; INT64_MAX: nothing has changed */
};

void compact_init(struct compact *compact);

/* A turn of the loop: begin one when there is enough to be gained. */
bool compact_turn(struct store *store, int64_t now_ns);
int64_t compact_next_ns(const struct store *store);

#endif
