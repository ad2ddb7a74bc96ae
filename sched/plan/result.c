/* Where the targets lie. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "plan/state.h"

bool
gr_plan_keeps(const struct gr_plan *plan, granary_id id)
{
    return id_set_has(&plan->emitted.kept, id) || id_set_has(&plan->emitted.spare, id);
}

static granary_err
set_grid(const struct gr_grid *grid, Granary__Result *result)
{
    size_t dims = (size_t)grid->dims;

    result->is_tensor = true;
    result->shape = malloc((dims + 1) * sizeof *result->shape);
    result->splits = malloc((dims + 1) * sizeof *result->splits);
    result->block = malloc((dims + 1) * sizeof *result->block);
    if (result->shape == NULL || result->splits == NULL || result->block == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    memcpy(result->shape, grid->shape, dims * sizeof *result->shape);
    memcpy(result->splits, grid->splits, dims * sizeof *result->splits);
    memcpy(result->block, grid->block, dims * sizeof *result->block);
    result->n_shape = result->n_splits = result->n_block = dims;
    return GRANARY_OK;
}

static granary_err
set_chunks(const struct gr_plan *plan, const struct gr_tiled *tiled, Granary__Result *result)
{
    result->chunks = calloc(tiled->count + 1, sizeof *result->chunks);
    for (size_t i = 0; result->chunks != NULL && i < tiled->count; i++) {
        granary_id id = plan_object(plan, tiled->pieces[i]);
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

size_t
gr_plan_target_count(const struct gr_plan *plan)
{
    return plan->target_count;
}

const char *
gr_plan_target_name(const struct gr_plan *plan, size_t target)
{
    return plan_graph_node(plan, plan->targets[target])->name;
}

void
gr_plan_target_dtypes(const struct gr_plan *plan, size_t target, struct gr_buf *out)
{
    const struct gr_node_type nothing = {.known = false};
    const struct gr_node_type *type = plan->graph == NULL ? &nothing : &plan->graph->nodes[plan->targets[target]]->type;

    if (type->known && type->is_tensor) {
        gr_buf_addf(out, "%s", granary_dtype_name(type->dtype));
    }
    for (size_t i = 0; type->known && !type->is_tensor && i < type->schema.count; i++) {
        const struct gr_field *field = &type->schema.fields[i];

        gr_buf_addf(out, "%s%s:%s", i > 0 ? "," : "", field->name, granary_dtype_name(field->dtype));
    }
}

granary_err
gr_plan_target_result(const struct gr_plan *plan, size_t target, Granary__Result **ret_result)
{
    const struct gr_tiled *tiled = plan_tiled(plan, plan->targets[target]);
    Granary__Result *result;
    granary_err err;

    if (tiled == NULL) {
        return gr_fail(GRANARY_ESTATE, "target '%s' is not planned yet: what it needs is still being looked at",
                       gr_plan_target_name(plan, target));
    }
    result = malloc(sizeof *result);
    if (result == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    granary__result__init(result);
    result->is_objects = plan->graph == NULL || plan->graph->nodes[plan->targets[target]]->yields == GR_YIELDS_OBJECTS;
    err = set_chunks(plan, tiled, result);
    if (err == GRANARY_OK && tiled->grid != NULL) {
        err = set_grid(tiled->grid, result);
    }
    if (err == GRANARY_OK && tiled->grid != NULL && plan->graph != NULL) {
        char *dtype = strdup(granary_dtype_name(plan->graph->nodes[plan->targets[target]]->type.dtype));

        if (dtype != NULL) {
            result->dtype = dtype;
        } else {
            err = gr_fail(GRANARY_ENOMEM, "out of memory");
        }
    }
    if (err != GRANARY_OK) {
        granary__result__free_unpacked(result, NULL);
        return err;
    }
    *ret_result = result;
    return GRANARY_OK;
}
