/* Slices that are in memory: objects of their own, which go with the object that they are parts of. */
#ifndef STORE_OBJECT_SLICE_H
#define STORE_OBJECT_SLICE_H

#include "store/core/core.h"

/* A part of the object of this stamp was read: it becomes an object. False: out of memory. */
bool slice_book(struct session *session, uint64_t stamp, granary_id id, struct segment *segment, uint64_t offset,
                uint64_t size);

/* The object of this stamp goes: its slices too. */
void slices_drop(struct session *session, uint64_t stamp);
void slices_fini(struct session *session);

#endif
