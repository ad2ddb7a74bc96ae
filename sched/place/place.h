/* Which executor a subtask goes to. Pure. */
#ifndef PLACE_PLACE_H
#define PLACE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An executor that could take the subtask now. */
struct gr_place_candidate {
    uint32_t executor;
    int32_t node;       /* NUMA node, its band */
    uint32_t in_flight; /* messages it has not finished */
    bool warm;          /* it has run user code of this kind: its library is loaded, its reusables are made */
};

/* How far nodes are from one another, as the kernel tells: 10 is a node itself. */
struct gr_place_distances {
    uint32_t nodes;
    const uint32_t *rows; /* nodes x nodes; rows[from * nodes + to]. NULL: 10 for itself, 20 for another */
};

/* Where the subtask's inputs lie. A node may come several times. */
struct gr_place_input {
    int32_t node;
    uint64_t bytes;
};

/*
 * Choose: an idle executor before one that would queue the subtask; among equals the band for which bytes times
 * distance is least; then one that is warm; then the first.
 *
 * count      at least 1
 * distances  NULL: as with rows NULL
 * Returns    a position in candidates
 */
size_t gr_place_choose(const struct gr_place_candidate *candidates, size_t count, const struct gr_place_input *inputs,
                       size_t input_count, const struct gr_place_distances *distances);

#endif
