/* Where the targets lie. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "plan/state.h"

bool
gr_plan_keeps(const struct gr_plan *plan, granary_id id)
{
    return id_set_has(&plan->kept, id);
}

static granary_err
set_grid(const struct gr_grid *grid, Granary__Result *result)
{
    size_t dims = (size_t)grid->dims;

    result->is_tensor = true;
    result->shape = malloc((dims + 1) * sizeof *result->shape);
    result->splits = malloc((dims + 1) * sizeof *result->splits);
    if (result->shape == NULL || result->splits == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    memcpy(result->shape, grid->shape, dims * sizeof *result->shape);
    memcpy(result->splits, grid->splits, dims * sizeof *result->splits);
    result->n_shape = result->n_splits = dims;
    return GRANARY_OK;
}

static granary_err
set_chunks(const struct gr_plan *plan, const struct gr_tiled *tiled, Granary__Result *result)
{
    result->chunks = calloc(tiled->count + 1, sizeof *result->chunks);
    for (size_t i = 0; result->chunks != NULL && i < tiled->count; i++) {
        granary_id id = gr_id_of_chunk(plan->id_key, tiled->pieces[i].op, tiled->pieces[i].output);
        Granary__Chunk *chunk;

        if (plan->chunks.chunks[tiled->pieces[i].op].outputs == 0) {
            continue; /* null: nothing lies anywhere */
        }
        chunk = malloc(sizeof *chunk);
        if (chunk == NULL) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        granary__chunk__init(chunk);
        result->chunks[result->n_chunks++] = chunk;
        chunk->id.data = malloc(sizeof id.bytes);
        if (chunk->id.data == NULL) {
            return gr_fail(GRANARY_ENOMEM, "out of memory");
        }
        memcpy(chunk->id.data, id.bytes, sizeof id.bytes);
        chunk->id.len = sizeof id.bytes;
    }
    return result->chunks == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
}

granary_err
gr_plan_result(const struct gr_plan *plan, const char *target, Granary__Result **ret_result)
{
    const struct gr_graph *graph = plan->graph;
    const struct gr_tiled *tiled = NULL;
    Granary__Result *result;
    granary_err err;
    size_t t = 0;

    while (t < graph->target_count && strcmp(graph->nodes[graph->targets[t]].node->name, target) != 0) {
        t++;
    }
    if (t == graph->target_count) {
        return gr_fail(GRANARY_ENOENT, "'%s' is no target of the graph", target);
    }
    if (plan->tiled == NULL) {
        return gr_fail(GRANARY_ESTATE, "target '%s' is not planned yet: a file it needs is still being looked at",
                       target);
    }
    result = malloc(sizeof *result);
    if (result == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    granary__result__init(result);
    tiled = &plan->tiled[graph->targets[t]];
    err = set_chunks(plan, tiled, result);
    if (err == GRANARY_OK && tiled->grid != NULL) {
        err = set_grid(tiled->grid, result);
    }
    if (err != GRANARY_OK) {
        granary__result__free_unpacked(result, NULL);
        return err;
    }
    *ret_result = result;
    return GRANARY_OK;
}
