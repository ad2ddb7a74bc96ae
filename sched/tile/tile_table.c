/* table: chunks that are there already. */
#include <stdlib.h>

#include "base/error.h"
#include "tile/rules.h"

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

/* The columns that are read, of pieces that have more. No bytes are touched. */
static granary_err
select_columns(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_schema *schema = &step->type->schema;
    struct gr_tiled *out = &t->tiled[i];
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    char **names = calloc(schema->count + 1, sizeof *names);
    size_t count = 0;

    for (size_t c = 0; names != NULL && c < schema->count; c++) {
        if (gr_step_yields(step, c)) {
            names[count++] = schema->fields[c].name;
        }
    }
    gr_attrs_add(t->chunks, attrs, names == NULL ? NULL : gr_attr_new_strings("columns", names, count));
    free(names);
    for (size_t p = 0; p < out->count; p++) {
        out->pieces[p] = tiling_add(t, i, GR_CHUNK_select, attrs, &out->pieces[p], 1, out->bytes[p]);
    }
    return gr_chunks_error(t->chunks);
}

granary_err
tile_table(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_table *table = t->sources->tables[i];
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tiled_init(out, table->count, true);
    struct gr_piece objects;

    if (err != GRANARY_OK) {
        return err;
    }
    objects = gr_table_objects(table, (uint32_t)i, NULL, t->chunks);
    for (size_t p = 0; p < out->count; p++) {
        out->pieces[p] = (struct gr_piece){.op = objects.op, .output = (uint32_t)p};
        out->rows[p] = table->infos[p]->rows;
        out->bytes[p] = present_bytes(step, table->infos[p]);
    }
    if (gr_step_width(step) < step->type->schema.count) {
        err = select_columns(t, i);
    }
    for (size_t p = 0; p < out->count && err == GRANARY_OK; p++) {
        err = tiling_tell(t, out->pieces[p], table->infos[p]);
    }
    return err;
}
