/* table: chunks that are there already; append_to: rows for one that changes. */
#include "tile/source/table.h"
#include "tile/core/rules.h"
#include "tile/source/choose.h"

/* Bytes of the columns that are read. */
static uint64_t
present_bytes(const struct gr_step *step, const Granary__FrameInfo *info)
{
    uint64_t bytes = 0;

    for (size_t c = 0; c < info->n_columns; c++) {
        bytes += gr_step_yields(step, c) ? info->columns[c]->bytes : 0;
    }
    return bytes;
}

/* ---- chunks that nobody needs ---- */

/* The chunks in which a reader may find rows; at least one, for the columns. */
static granary_err
choose(const struct tiling *t, size_t i, bool *chosen, size_t *ret_count)
{
    const struct gr_table *table = t->sources->tables[i];
    granary_err err = zone_choose(t, i, &table->schema, table->infos, table->count, chosen);

    *ret_count = 0;
    for (size_t p = 0; p < table->count; p++) {
        *ret_count += chosen[p];
    }
    if (*ret_count == 0) {
        chosen[0] = true;
        *ret_count = 1;
    }
    if (*ret_count < table->count && t->steps->fired != NULL) {
        gr_buf_addf(t->steps->fired, "  zone-map: '%s' skips %zu of %zu chunks\n", t->steps->steps[i].origin->name,
                    table->count - *ret_count, table->count);
    }
    return err;
}

static granary_err
tile_chosen(struct tiling *t, size_t i, const bool *chosen, size_t count)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_table *table = t->sources->tables[i];
    struct gr_tiled *out = &t->tiled[i];
    struct gr_piece objects = gr_table_objects(table, (uint32_t)i, chosen, t->chunks);
    granary_err err = tiled_init(t, out, count, true);
    size_t at = 0;

    for (size_t p = 0; p < table->count && err == GRANARY_OK; p++) {
        if (chosen[p]) {
            out->pieces[at] = (struct gr_piece){.op = objects.op, .output = (uint32_t)at};
            out->rows[at] = table->infos[p]->rows;
            out->bytes[at++] = present_bytes(step, table->infos[p]);
        }
    }
    out->wide = gr_step_width(step) < step->type->schema.count;
    at = 0;
    for (size_t p = 0; p < table->count && err == GRANARY_OK; p++) {
        if (chosen[p]) {
            err = tiling_tell(t, out->pieces[at++], table->infos[p]);
        }
    }
    return err;
}

granary_err
tile_table(struct tiling *t, size_t i)
{
    bool *chosen = tiling_scratch(t, t->sources->tables[i]->count, sizeof *chosen);
    size_t count = 0;
    granary_err err = chosen == NULL ? tile_no_memory() : choose(t, i, chosen, &count);

    if (err == GRANARY_OK) {
        err = tile_chosen(t, i, chosen, count);
    }
    return err == GRANARY_OK ? tiling_join_small(t, i) : err;
}

granary_err
tile_append_to(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    const struct gr_params_append_to *params = GR_STEP_PARAMS(append_to, &t->steps->steps[i]);
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tiled_init(t, out, 1, true);

    if (params->token == NULL) {
        return gr_fail(GRANARY_EINVAL, "parameter 'token': the scheduler gives one");
    }
    if (err == GRANARY_OK) {
        const gr_attrs attrs = tiling_attrs(t, i, NAMES("name", "token"));

        out->rows[0] = 1;
        out->bytes[0] = 1024;
        out->pieces[0] = tiling_add(t, i, GR_CHUNK_append_to, attrs, in->pieces, in->count, out->bytes[0]);
    }
    return err;
}
