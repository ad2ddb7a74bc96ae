#include "place/place.h"

#include <assert.h>

static uint64_t
bytes_at(int32_t node, const struct gr_place_input *inputs, size_t input_count)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < input_count; i++) {
        bytes += inputs[i].node == node ? inputs[i].bytes : 0;
    }
    return bytes;
}

size_t
gr_place_choose(const struct gr_place_candidate *candidates, size_t count, const struct gr_place_input *inputs,
                size_t input_count)
{
    size_t best = 0;
    uint64_t best_bytes;

    assert(count > 0);
    best_bytes = bytes_at(candidates[0].node, inputs, input_count);
    for (size_t i = 1; i < count; i++) {
        const struct gr_place_candidate *candidate = &candidates[i];
        uint64_t bytes;

        /* Waiting behind another subtask costs more than reading another node's memory. */
        if (candidate->in_flight > candidates[best].in_flight) {
            continue;
        }
        bytes = candidate->node == candidates[best].node ? best_bytes : bytes_at(candidate->node, inputs, input_count);
        if (candidate->in_flight < candidates[best].in_flight || bytes > best_bytes) {
            best = i;
            best_bytes = bytes;
        }
    }
    return best;
}
