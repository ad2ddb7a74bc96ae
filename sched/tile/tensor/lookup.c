/* Chunks of one tensor, each looked up in all of another one. */
#include "tile/tensor/tensor.h"

/* sought: the input that is looked up. */
static granary_err
tile_lookup(struct tiling *t, size_t i, size_t sought)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = &t->tiled[step->inputs[sought]];
    struct gr_tiled *out = &t->tiled[i];
    gr_attrs attrs = tiling_attrs(t, i, NAMES("side", "right", "invert"));
    int64_t block[8], shape[8];
    struct gr_tiled table;
    granary_err err = tile_gather(t, i, &t->tiled[step->inputs[1 - sought]], &table);

    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("function", gr_op_info(step->op)->name));
    for (int d = 0; d < step->type->dims; d++) { /* behind the positions' dimensions, those of what is taken */
        block[d] = d < in->grid->dims ? in->grid->block[d] : step->type->shape[d];
        shape[d] = d < in->grid->dims ? in->grid->shape[d] : step->type->shape[d];
    }
    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, out, step->type->dims, shape, block);
    }
    for (size_t n = 0; err == GRANARY_OK && n < in->count; n++) {
        struct gr_piece inputs[2] = {in->pieces[n], table.pieces[0]};
        out->pieces[n] = tiling_add(t, i, GR_CHUNK_lookup, attrs, inputs, 2, out->bytes[n]);
    }
    return err;
}

TILE_AS(searchsorted, tile_lookup(t, i, 1))
TILE_AS(digitize, tile_lookup(t, i, 0))
TILE_AS(isin, tile_lookup(t, i, 0))
TILE_AS(take_at, tile_lookup(t, i, 1))
