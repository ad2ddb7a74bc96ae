/* take_along_axis, put_along_axis: blocks of whole lines, cut alike but for the axis. */
#include <string.h>

#include "tile/tensor/tensor.h"

static granary_err
tile_along_at(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_grid *grid = t->tiled[step->inputs[0]].grid;
    bool put = step->input_count == 3;
    struct gr_tiled *out = &t->tiled[i], parts[3];
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    int dims = grid->dims;
    int64_t axis = GR_STEP_PARAMS(take_along_axis, step)->axis; /* put_along_axis has it, too */
    int64_t block[8], longest = 1;
    granary_err err = GRANARY_OK;

    axis = axis < 0 ? axis + dims : axis;
    for (size_t k = 0; k < step->input_count; k++) {
        int64_t n = t->tiled[step->inputs[k]].grid->shape[axis];

        longest = n > longest ? n : longest;
    }
    err = tile_check_line(t, longest);
    memcpy(block, grid->block, sizeof block);
    block[axis] = 1;
    tile_shrink(block, dims, tile_block_elements(t) / longest);
    for (size_t k = 0; k < step->input_count && err == GRANARY_OK; k++) {
        const struct gr_tiled *in = &t->tiled[step->inputs[k]];

        block[axis] = in->grid->shape[axis] > 0 ? in->grid->shape[axis] : 1;
        err = grid_rechunk(t, i, in, block, &parts[k]);
    }
    block[axis] = step->type->shape[axis] > 0 ? step->type->shape[axis] : 1;
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("axis", axis));
    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, out, dims, step->type->shape, block);
    }
    for (size_t p = 0; err == GRANARY_OK && p < out->count; p++) {
        struct gr_piece pieces[3] = {parts[0].pieces[p], parts[1].pieces[p]};

        if (put) {
            pieces[2] = parts[2].pieces[p];
        }
        out->pieces[p] = tiling_add(t, i, GR_CHUNK_along_at, attrs, pieces, step->input_count, out->bytes[p]);
    }
    return err;
}

TILE_AS(take_along_axis, tile_along_at(t, i))
TILE_AS(put_along_axis, tile_along_at(t, i))
