/*
 * Slices: parts of spilled objects that are brought back without the rest, as objects of their own.
 *
 * A slice is made of whole frames; its id comes from its parent's id and stamp and the range. It goes with its parent,
 * and before anything else when memory is needed: nothing has to be written for that.
 */
#ifndef STORE_SLICE_H
#define STORE_SLICE_H

#include "store/core/core.h"

struct restore;

struct gr_slice;

/* Answers at once, or when the slice is there. Returns the error of a peer that breaks the protocol. */
granary_err slice_request(struct client *client, const struct gr_frame *request, const struct gr_slice *slice);

/* Whoever waits for it is answered. err OK: it is there; else the error is set. */
void slice_answer(struct restore *restore, granary_err err);

#endif
