/* Some rows of pieces whose rows are known: those that are wanted whole stay as they are. */
#include "tile/core/rules.h"

void
tiling_add_slice(struct tiling *t, size_t i, const struct gr_tiled *in, size_t p, const int64_t *rows, int64_t from,
                 int64_t count, int64_t step, struct gr_tiled *out)
{
    size_t at = out->count++;
    gr_attrs attrs;

    out->rows[at] = count;
    out->bytes[at] = (uint64_t)((double)in->bytes[p] * (double)count / (double)(rows[p] > 0 ? rows[p] : 1)) + 1;
    if (step == 1 && count == rows[p]) {
        out->pieces[at] = in->pieces[p];
        return;
    }
    attrs = gr_chunks_attrs(t->chunks);
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("from", from));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("count", count));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("step", step));
    out->pieces[at] = tiling_add(t, i, GR_CHUNK_slice, attrs, &in->pieces[p], 1, out->bytes[at]);
}

granary_err
tiling_keep_rows(struct tiling *t, size_t i, struct gr_tiled *tiled, int64_t from, int64_t to)
{
    struct gr_tiled kept;
    int64_t before = 0;
    granary_err err = tiled_init(t, &kept, tiled->count + 1, true);

    if (err != GRANARY_OK) {
        return err;
    }
    kept.count = 0;
    for (size_t p = 0; p < tiled->count; p++) {
        int64_t rows = tiled->rows[p];
        int64_t low = from > before ? from : before;
        int64_t high = to < before + rows ? to : before + rows;

        if (low < high) {
            tiling_add_slice(t, i, tiled, p, tiled->rows, low - before, high - low, 1, &kept);
        }
        before += rows;
    }
    if (kept.count == 0) { /* none of them: the columns */
        tiling_add_slice(t, i, tiled, 0, tiled->rows, 0, 0, 1, &kept);
    }
    kept.wide = tiled->wide;
    *tiled = kept;
    return GRANARY_OK;
}
