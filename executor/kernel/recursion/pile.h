/* The rows of all rounds, one behind the other: frames in a pile, small ones put together now and then. */
#ifndef KERNEL_RECURSION_PILE_H
#define KERNEL_RECURSION_PILE_H

#include "data/frame.h"

struct pile_part {
    granary_frame *frame; /* owned; its columns may be others' */
    int64_t first;        /* rows before it */
    int level;            /* how often its rows were put together */
};

struct pile {
    struct pile_part *parts;
    size_t count;
    size_t room;
    int64_t rows;
    uint64_t bytes; /* of them, about */
};

/* Put a frame on top; *takes* it. Errors: ENOMEM, and it is destroyed */
granary_err pile_add(struct pile *pile, granary_frame *frame);
/* The frame with that row, and which of its rows that is. */
const granary_frame *pile_find(const struct pile *pile, int64_t row, int64_t *ret_row);
/* Put small frames together where there are many; frames that were in it may be gone. Errors: as gr_frame_concat() */
granary_err pile_settle(struct pile *pile);
/* All of it as one frame. Errors: as gr_frame_concat() */
granary_err pile_give(const struct pile *pile, granary_frame **ret_frame);
void pile_free(struct pile *pile);

#endif
