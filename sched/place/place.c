/* A scan over all candidates, which are few: bytes times distance, for each band. */
#include "place/place.h"

#include <assert.h>

#define DISTANCE_SELF  10
#define DISTANCE_OTHER 20

static uint64_t
distance(const struct gr_place_distances *distances, int32_t from, int32_t to)
{
    if (distances != NULL && distances->rows != NULL && from >= 0 && to >= 0 && (uint32_t)from < distances->nodes &&
        (uint32_t)to < distances->nodes) {
        return distances->rows[(uint32_t)from * distances->nodes + (uint32_t)to];
    }
    return from == to ? DISTANCE_SELF : DISTANCE_OTHER;
}

/* What it costs to read the inputs on a node. */
static uint64_t
cost_at(int32_t node, const struct gr_place_input *inputs, size_t input_count,
        const struct gr_place_distances *distances)
{
    uint64_t cost = 0;

    for (size_t i = 0; i < input_count; i++) {
        /* In units of 64 bytes: with a distance of 255 the sum of all memory there is still fits. */
        cost += (inputs[i].bytes + 63) / 64 * distance(distances, node, inputs[i].node);
    }
    return cost;
}

size_t
gr_place_choose(const struct gr_place_candidate *candidates, size_t count, const struct gr_place_input *inputs,
                size_t input_count, const struct gr_place_distances *distances)
{
    size_t best = 0;
    uint64_t best_cost;

    assert(count > 0);
    best_cost = cost_at(candidates[0].node, inputs, input_count, distances);
    for (size_t i = 1; i < count; i++) {
        const struct gr_place_candidate *candidate = &candidates[i];
        uint64_t cost;

        /* Waiting behind another subtask costs more than reading another node's memory. */
        if (candidate->in_flight > candidates[best].in_flight) {
            continue;
        }
        cost = candidate->node == candidates[best].node ? best_cost
                                                        : cost_at(candidate->node, inputs, input_count, distances);
        if (candidate->in_flight < candidates[best].in_flight || cost < best_cost ||
            (cost == best_cost && candidate->warm && !candidates[best].warm)) {
            best = i;
            best_cost = cost;
        }
    }
    return best;
}
