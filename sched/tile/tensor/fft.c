/* Fourier transforms: the axis is brought into one piece, then each block by itself. */
#include <string.h>

#include "tile/tensor/tensor.h"

static granary_err
tile_transform(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_params_fft *params = GR_STEP_PARAMS(fft, step); /* all of them have these */
    const struct gr_tiled *in = &t->tiled[step->inputs[0]];
    struct gr_tiled *out = &t->tiled[i];
    struct gr_tiled lines;
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    int dims = in->grid->dims;
    int64_t axis = params->axis < 0 ? params->axis + dims : params->axis;
    int64_t length = in->grid->shape[axis];
    int64_t n = params->n != NULL ? *params->n : step->op == GR_TILE_irfft ? 2 * (length - 1) : length;
    int64_t longest = n > length ? n : length;
    int64_t block[8];
    granary_err err = tile_check_line(t, longest);

    memcpy(block, in->grid->block, sizeof block);
    block[axis] = 1;
    tile_shrink(block, dims, tile_block_elements(t) / longest);
    block[axis] = length;
    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("function", gr_op_info(step->op)->name));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("axis", axis));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("n", n));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("norm", params->norm));
    if (err == GRANARY_OK && (err = grid_rechunk(t, i, in, block, &lines)) == GRANARY_OK) {
        block[axis] = step->type->shape[axis];
        err = tiled_init_grid(t, out, dims, step->type->shape, block);
    }
    for (size_t p = 0; err == GRANARY_OK && p < out->count; p++) {
        out->pieces[p] = tiling_add(t, i, GR_CHUNK_fft, attrs, &lines.pieces[p], 1, out->bytes[p]);
    }
    return err;
}

TILE_AS(fft, tile_transform(t, i))
TILE_AS(ifft, tile_transform(t, i))
TILE_AS(rfft, tile_transform(t, i))
TILE_AS(irfft, tile_transform(t, i))
