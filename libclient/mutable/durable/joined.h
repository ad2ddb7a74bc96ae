/* joined: rows of one chunk, which pieces tell part by part, put together. */
#ifndef MUTABLE_DURABLE_JOINED_H
#define MUTABLE_DURABLE_JOINED_H

#include "mutable/durable/piece.h"

/* All zero: there is no chunk. */
struct joined {
    uint64_t chunk;
    uint64_t from; /* rows [from, to) are there */
    uint64_t to;
    granary_frame **frames; /* copies */
    size_t count;
    size_t room;
};

static inline bool
joined_is_empty(const struct joined *joined)
{
    return joined->count == 0;
}

/* Whether an entry of GR_PIECE_ROWS goes on where the rows end, or tells of them again. */
bool joined_continues(const struct joined *joined, const struct piece_entry *entry);
/*
 * Add its rows, but for those that are there.
 *
 * schema  the table's columns
 * Errors  ECORRUPT they are none of the table's · ENOMEM
 */
granary_err joined_add(struct joined *joined, const struct piece_entry *entry, const granary_frame *schema);

/* All rows as one frame. Errors: as gr_frame_concat() */
granary_err joined_frame(const struct joined *joined, granary_frame **ret_frame);
void joined_clear(struct joined *joined);
void joined_free(struct joined *joined);

#endif
