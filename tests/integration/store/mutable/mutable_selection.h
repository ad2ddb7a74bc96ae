/* Random indexes of a tensor, as NumPy has them, and what they mean: found out naively, position by position. */
#ifndef STORE_MUTABLE_SELECTION_H
#define STORE_MUTABLE_SELECTION_H

#include "mutable_tools.h"

#define DIMS_MOST   3
#define LENGTH_MOST 9
#define ELEMENTS    (LENGTH_MOST * LENGTH_MOST * LENGTH_MOST)
#define PICKED_MOST (ELEMENTS * 4)

/* Indexes, and what they mean, found out position by position. */
struct picked {
    granary_index indexes[DIMS_MOST + 1];
    size_t count;
    int64_t lists[DIMS_MOST][12];
    bool mask[ELEMENTS];
    int dims; /* of the result */
    int64_t shape[8];
    int64_t elements[PICKED_MOST]; /* flat positions in the tensor, in the result's order */
    int64_t total;
};

void draw_selection(struct course *course, int dims, const int64_t *shape, struct picked *picked);

#endif
