/* convolve: blocks of the result, each of the pieces of the longer vector that it needs, and all of the shorter one. */
#include <string.h>

#include "tile/tensor/tensor.h"

/* The block of results that begins at `from` of the full convolution. */
static granary_err
add_block(struct tiling *t, size_t i, const struct gr_tiled *in, struct gr_piece kernel, int64_t width, int64_t from,
          int64_t count, size_t n)
{
    int64_t length = in->grid->shape[0], block = in->grid->block[0];
    int64_t first = from - (width - 1) > 0 ? (from - (width - 1)) / block : 0;
    int64_t last = (from + count - 1 < length - 1 ? from + count - 1 : length - 1) / block;
    struct gr_piece *pieces = tiling_scratch(t, (size_t)(last - first) + 2, sizeof *pieces);
    gr_attrs own = gr_chunks_attrs(t->chunks);
    const gr_attrs attrs[2] = {0, own};

    if (pieces == NULL) {
        return tile_no_memory();
    }
    memcpy(pieces, &in->pieces[first], (size_t)(last - first + 1) * sizeof *pieces);
    pieces[last - first + 1] = kernel;
    gr_attrs_add(t->chunks, own, gr_attr_new_int("begin", first * block));
    gr_attrs_add(t->chunks, own, gr_attr_new_int("from", from));
    gr_attrs_add(t->chunks, own, gr_attr_new_int("count", count));
    t->tiled[i].pieces[n] =
        tiling_add_own(t, i, GR_CHUNK_convolve, attrs, pieces, (size_t)(last - first) + 2, t->tiled[i].bytes[n]);
    return gr_chunks_error(t->chunks);
}

granary_err
tile_convolve(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = &t->tiled[step->inputs[0]], *other = &t->tiled[step->inputs[1]];
    bool swapped = other->grid->shape[0] > in->grid->shape[0];
    const char *mode = GR_STEP_PARAMS(convolve, step)->mode;
    struct gr_tiled *out = &t->tiled[i], kernel;
    const struct gr_tiled *longer = swapped ? other : in;
    int64_t width = swapped ? in->grid->shape[0] : other->grid->shape[0];
    int64_t from = strcmp(mode, "full") == 0 ? 0 : strcmp(mode, "same") == 0 ? (width - 1) / 2 : width - 1;
    granary_err err = tile_gather(t, i, swapped ? in : other, &kernel);

    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, out, 1, step->type->shape, longer->grid->block);
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        int64_t offset[8], size[8];

        grid_block(out->grid, n, offset, size);
        err = add_block(t, i, longer, kernel.pieces[0], width, from + offset[0], size[0], n);
    }
    return err;
}
