/* table: chunks that are there already; append_to: rows for one that changes. */
#include "tile/source/table.h"

#include "contract/int128.h"
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

/* ---- parts ---- */

/* The rows of step i that are read, of all that the table has. */
struct rows {
    bool is_part;
    int64_t from;
    int64_t to;
};

static struct rows
rows_of(const struct tiling *t, size_t i)
{
    const struct gr_params_table *params = GR_STEP_PARAMS(table, &t->steps->steps[i]);
    const struct gr_table *table = t->sources->tables[i];
    struct rows rows = {.is_part = !table->recalled && params->part != NULL && params->parts != NULL};
    gr_int128 all = 0;

    for (size_t p = 0; p < table->count; p++) {
        all += table->infos[p]->rows;
    }
    rows.from = rows.is_part ? (int64_t)(all * *params->part / *params->parts) : 0;
    rows.to = rows.is_part ? (int64_t)(all * (*params->part + (gr_int128)1) / *params->parts) : (int64_t)all;
    return rows;
}

/* Which rows of an object, before which so many stand, are among them: [*ret_from, *ret_to). */
static void
rows_in(const struct rows *rows, int64_t before, int64_t count, int64_t *ret_from, int64_t *ret_to)
{
    *ret_from = rows->from <= before ? 0 : rows->from < before + count ? rows->from - before : count;
    *ret_to = rows->to >= before + count ? count : rows->to > before ? rows->to - before : 0;
}

/* ---- chunks that nobody needs ---- */

/* The chunks in which a reader may find rows, of those that are read; at least one, for the columns. */
static granary_err
choose(const struct tiling *t, size_t i, const struct rows *rows, bool *chosen, size_t *ret_count)
{
    const struct gr_table *table = t->sources->tables[i];
    granary_err err = zone_choose(t, i, &table->schema, table->infos, table->count, chosen);
    size_t read = 0;
    int64_t before = 0;

    *ret_count = 0;
    for (size_t p = 0; p < table->count; p++) {
        int64_t from, to;

        rows_in(rows, before, table->infos[p]->rows, &from, &to);
        before += table->infos[p]->rows;
        read += !rows->is_part || from < to;
        chosen[p] = chosen[p] && (!rows->is_part || from < to);
        *ret_count += chosen[p];
    }
    if (*ret_count == 0) {
        chosen[0] = true;
        *ret_count = 1;
    }
    if (*ret_count < read && t->steps->fired != NULL) {
        gr_buf_addf(t->steps->fired, "  zone-map: '%s' skips %zu of %zu chunks\n", t->steps->steps[i].origin->name,
                    read - *ret_count, read);
    }
    return err;
}

static granary_err
tile_chosen(struct tiling *t, size_t i, const struct rows *rows, const bool *chosen, size_t count)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_table *table = t->sources->tables[i];
    struct gr_tiled *out = &t->tiled[i];
    struct gr_piece objects = gr_table_objects(table, (uint32_t)i, chosen, t->chunks);
    struct gr_tiled whole;
    granary_err err = tiled_init(t, &whole, count, true);
    size_t at = 0;
    int64_t before = 0;

    err = err == GRANARY_OK ? tiled_init(t, out, count, true) : err;
    out->count = 0;
    for (size_t p = 0; p < table->count && err == GRANARY_OK; p++) {
        int64_t from, to;

        if (chosen[p]) {
            whole.pieces[at] = (struct gr_piece){.op = objects.op, .output = (uint32_t)at};
            whole.rows[at] = table->infos[p]->rows;
            whole.bytes[at] = present_bytes(step, table->infos[p]);
            rows_in(rows, before, whole.rows[at], &from, &to);
            tiling_add_slice(t, i, &whole, at, whole.rows, from, from < to ? to - from : 0, 1, out);
            if (from == 0 && to == whole.rows[at]) {
                out->bytes[at] = whole.bytes[at];
                err = tiling_tell(t, out->pieces[at], table->infos[p]);
            }
            at++;
        }
        before += table->infos[p]->rows;
    }
    out->wide = gr_step_width(step) < step->type->schema.count;
    return err;
}

granary_err
tile_table(struct tiling *t, size_t i)
{
    bool *chosen = tiling_scratch(t, t->sources->tables[i]->count, sizeof *chosen);
    const struct rows rows = rows_of(t, i);
    size_t count = 0;
    granary_err err = chosen == NULL ? tile_no_memory() : choose(t, i, &rows, chosen, &count);

    if (err == GRANARY_OK) {
        err = tile_chosen(t, i, &rows, chosen, count);
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
