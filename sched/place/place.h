/* Which executor a subtask goes to. Pure. */
#ifndef PLACE_PLACE_H
#define PLACE_PLACE_H

#include <stddef.h>
#include <stdint.h>

/* An executor that could take the subtask now. */
struct gr_place_candidate {
    uint32_t executor;
    int32_t node;       /* NUMA node, its band */
    uint32_t in_flight; /* messages it has not finished */
};

/* Where the subtask's inputs lie. A node may come several times. */
struct gr_place_input {
    int32_t node;
    uint64_t bytes;
};

/*
 * Choose: an idle executor before one that would queue the subtask; among equals the band with most input bytes; then
 * the first.
 *
 * count    at least 1
 * Returns  a position in candidates
 */
size_t gr_place_choose(const struct gr_place_candidate *candidates, size_t count, const struct gr_place_input *inputs,
                       size_t input_count);

#endif
