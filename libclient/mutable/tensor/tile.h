/* tile: a chunk of a tensor as it is at a time: the last whole one that was put, with what was written over it since. */
#ifndef MUTABLE_TENSOR_TILE_H
#define MUTABLE_TENSOR_TILE_H

#include "mutable/table.h"
#include "mutable/tensor/shape.h"

struct tile {
    const void *values; /* dense, in C order; NULL: all of it is the tensor's fill */
    granary_view view;  /* of an object that they lie in; view.data NULL: there is none */
    void *owned;        /* or memory of ours */
};

/*
 * A chunk at a time that is final. The table is locked, and has learnt all up to that time.
 *
 * Errors  ECORRUPT a note or an object makes no sense · as granary_object_get() · ENOMEM
 */
granary_err tile_get(const granary_mutable *table, uint64_t chunk, int64_t time, struct tile *ret_tile);
void tile_release(granary_client *client, struct tile *tile);

#endif
