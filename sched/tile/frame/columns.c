/* Frames, except sort. Chunks follow one another by rows. */
#include <string.h>

#include "tile/core/rules.h"

TILE_AS(select, tile_rows(t, i, GR_CHUNK_select, tiling_attrs(t, i, NAMES("columns")), true))
TILE_AS(project, tile_rows(t, i, GR_CHUNK_project, tiling_attrs(t, i, NAMES("columns")), true))
TILE_AS(assign, tile_rows(t, i, GR_CHUNK_assign, tiling_attrs(t, i, NAMES("columns")), true))
TILE_AS(filter, tile_rows(t, i, GR_CHUNK_filter, tiling_attrs(t, i, NAMES("where")), false))
TILE_AS(explode,
        tile_rows(t, i, GR_CHUNK_explode, tiling_attrs(t, i, NAMES("column", "columns", "separator", "outer")), false))

/* ---- head ---- */

static gr_attrs
limit_attrs(struct tiling *t, int64_t rows)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("limit", rows));
    return attrs;
}

/* How many leading chunks hold the first rows, as far as their rows are known; count + 1 when that is not known. */
static size_t
chunks_with_rows(const struct gr_tiled *in, int64_t rows, int64_t *ret_before_last)
{
    int64_t before = 0;

    for (size_t p = 0; p < in->count; p++) {
        *ret_before_last = before;
        if (in->rows[p] < 0) {
            return in->count + 1;
        }
        if (in->rows[p] >= rows - before) {
            return p + 1;
        }
        before += in->rows[p];
    }
    return in->count;
}

/* Chunks behind the last row wanted are left out, and so never made; the last one is cut. */
static granary_err
head_of_known(struct tiling *t, size_t i, const struct gr_tiled *in, size_t count, int64_t last_rows)
{
    struct gr_tiled *out = &t->tiled[i];
    size_t last = count - 1;
    granary_err err = tiled_init(t, out, count, true);

    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(out->pieces, in->pieces, count * sizeof *in->pieces);
    memcpy(out->bytes, in->bytes, count * sizeof *in->bytes);
    memcpy(out->rows, in->rows, count * sizeof *in->rows);
    if (in->rows[last] > last_rows) {
        out->bytes[last] = in->bytes[last] / (uint64_t)in->rows[last] * (uint64_t)last_rows + 1024;
        out->rows[last] = last_rows;
        out->pieces[last] =
            tiling_add(t, i, GR_CHUNK_concat, limit_attrs(t, last_rows), &in->pieces[last], 1, out->bytes[last]);
    }
    return GRANARY_OK;
}

/* Each chunk is cut, then the rests are joined and cut, level by level. */
static granary_err
head_of_unknown(struct tiling *t, size_t i, const struct gr_tiled *in, int64_t rows)
{
    gr_attrs attrs = limit_attrs(t, rows);
    struct gr_tiled parts;
    size_t count;
    uint64_t bytes;
    granary_err err = tiled_copy(t, in, &parts);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t p = 0; p < in->count && in->count > 1; p++) {
        parts.pieces[p] = tiling_add(t, i, GR_CHUNK_concat, attrs, &in->pieces[p], 1, in->bytes[p]);
    }
    count = tiling_tree(t, i, GR_CHUNK_concat, attrs, parts.pieces, parts.bytes, in->count, TILE_FAN_IN, TILE_MAX);
    bytes = bytes_max(parts.bytes, count);
    return tiling_yield_one(t, i, tiling_add(t, i, GR_CHUNK_concat, attrs, parts.pieces, count, bytes), bytes);
}

granary_err
tile_head(struct tiling *t, size_t i)
{
    int64_t rows = GR_STEP_PARAMS(head, &t->steps->steps[i])->rows;
    const struct gr_tiled *in = tiling_input(t, i, 0);
    int64_t before = 0;
    size_t count = chunks_with_rows(in, rows, &before);

    return count <= in->count ? head_of_known(t, i, in, count, rows - before) : head_of_unknown(t, i, in, rows);
}
