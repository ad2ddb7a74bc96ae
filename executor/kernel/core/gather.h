/* Rows of a frame that lies in pieces, gathered by reference (kernel/join/built.h) into new columns. */
#ifndef KERNEL_CORE_GATHER_H
#define KERNEL_CORE_GATHER_H

#include "data/frame.h"

struct gather {
    const uint32_t *refs; /* piece << shift | row; UINT32_MAX: null */
    int64_t count;
    uint32_t shift; /* of one piece 32: references are rows */
    size_t piece_count;
    const granary_frame *const *pieces;
    bool ascending; /* references are in order, none is null */
    bool has_none;  /* set by gather_check() */
};

/* That every reference leads to a row. Errors: ECORRUPT */
granary_err gather_check(struct gather *gather);

/*
 * The column of that name, of all pieces, as a new owned one. Encoded columns stay encoded when all pieces have one
 * dictionary, or when few entries are to be made one. Errors: ENOENT · ETYPE the pieces differ · EFULL over 2 GiB of
 * text · ENOMEM
 */
granary_err gather_column(const struct gather *gather, const char *name, struct gr_column *ret_column);
/* All columns of the first piece but one; without: NULL, or its name. Errors: as gather_column() */
granary_err gather_frame(const struct gather *gather, const char *without, granary_frame **ret_frame);

#endif
