/*
 * A reduction in two halves, for a tensor whose rows lie on several machines. The first half keeps one object for all
 * results, whatever the tensor is cut into: the axes that stay are brought into one piece before.
 *
 *   reduce_partial   reduce_map (a block) -> reduce_merge
 *   reduce_combine   reduce_merge -> reduce_final
 */
#include "tile/tensor/tensor.h"

#define RESULT_BYTES 16    /* of a partial result for every element of the result */
#define OBJECT_BYTES 65536 /* what an object that is there already is taken for */

/* The axes that are reduced, ascending. */
static Granary__Attr *
axes_attr(const bool *reduced, int dims)
{
    int64_t axes[8];
    size_t count = 0;

    for (int d = 0; d < dims; d++) {
        if (reduced[d]) {
            axes[count++] = d;
        }
    }
    return gr_attr_new_ints("axes", axes, count);
}

/* Where a block begins in the whole. */
static gr_attrs
place_attrs(struct tiling *t, size_t i, const struct gr_grid *grid, size_t block)
{
    const struct gr_params_reduce_partial *params = GR_STEP_PARAMS(reduce_partial, &t->steps->steps[i]);
    const int64_t *shape = params->shape != NULL ? params->shape->ints : grid->shape;
    gr_attrs own = gr_chunks_attrs(t->chunks);
    int64_t offset[8], size[8];

    grid_block(grid, block, offset, size);
    offset[0] += gr_tensor_part(shape[0], params->part, params->parts, params->align);
    gr_attrs_add(t->chunks, own, gr_attr_new_ints("shape", shape, (size_t)grid->dims));
    gr_attrs_add(t->chunks, own, gr_attr_new_ints("offset", offset, (size_t)grid->dims));
    return own;
}

/* How many dimensions the step reads. */
static int
dims_of(const struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    int dims = 0;

    for (size_t k = 0; k < step->input_count; k++) {
        int theirs = t->tiled[step->inputs[k]].grid->dims;

        dims = theirs > dims ? theirs : dims;
    }
    return dims;
}

granary_err
tile_reduce_partial(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    gr_attrs map = tiling_attrs(t, i, NAMES("function"));
    gr_attrs merge = tiling_attrs(t, i, NAMES("function"));
    int dims = dims_of(t, i);
    uint64_t bytes = RESULT_BYTES;
    bool reduced[8];
    struct tile_aligned in;
    struct gr_tiled parts;
    size_t count;
    granary_err err;

    tile_read_axes(step, dims, reduced);
    gr_attrs_add(t->chunks, map, axes_attr(reduced, dims));
    gr_attrs_add(t->chunks, map, gr_step_program(t->steps, step));
    err = tile_align_whole(t, i, reduced, &in);
    if (err == GRANARY_OK) {
        err = tiled_init(t, &parts, (size_t)tile_product(in.grid.splits, dims), false);
    }
    if (err == GRANARY_OK) {
        err = tiled_init(t, &t->tiled[i], 1, false);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (int d = 0; d < dims; d++) {
        bytes *= reduced[d] ? 1 : (uint64_t)in.grid.shape[d];
    }
    for (size_t n = 0; n < parts.count; n++) {
        const gr_attrs attrs[2] = {map, place_attrs(t, i, &in.grid, n)};
        struct gr_piece inputs[GR_PROGRAM_INPUTS];
        int64_t position[8];

        grid_position(&in.grid, n, position);
        tile_aligned_at(&in, position, inputs);
        parts.bytes[n] = bytes + 64;
        parts.pieces[n] = tiling_add_own(t, i, GR_CHUNK_reduce_map, attrs, inputs, in.count, parts.bytes[n]);
    }
    count =
        tiling_tree(t, i, GR_CHUNK_reduce_merge, merge, parts.pieces, parts.bytes, parts.count, TILE_FAN_IN, TILE_MAX);
    t->tiled[i].bytes[0] = bytes + 64;
    t->tiled[i].pieces[0] =
        count == 1 ? parts.pieces[0] : tiling_add(t, i, GR_CHUNK_reduce_merge, merge, parts.pieces, count, bytes + 64);
    return GRANARY_OK;
}

granary_err
tile_reduce_combine(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_params_reduce_combine *params = GR_STEP_PARAMS(reduce_combine, step);
    const struct gr_tiled *in = &t->tiled[step->inputs[0]];
    int dims = (int)params->shape->n_ints;
    gr_attrs merge = tiling_attrs(t, i, NAMES("function"));
    gr_attrs final = tiling_attrs(t, i, NAMES("function", "ddof", "keepdims"));
    int64_t per_result = 1;
    bool reduced[8];
    struct gr_tiled parts;
    size_t count;
    granary_err err = tiled_copy(t, in, &parts);

    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, &t->tiled[i], step->type->dims, step->type->shape, step->type->shape);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    tile_read_axes(step, dims, reduced);
    for (int d = 0; d < dims; d++) {
        per_result *= reduced[d] ? params->shape->ints[d] : 1;
    }
    gr_attrs_add(t->chunks, final, gr_attr_new_int("count", per_result));
    gr_attrs_add(t->chunks, final, axes_attr(reduced, dims));
    gr_attrs_add(t->chunks, final, gr_attr_new_ints("shape", step->type->shape, (size_t)step->type->dims));
    gr_attrs_add(t->chunks, final, gr_attr_new_string("dtype", granary_dtype_name(step->type->dtype)));
    for (size_t p = 0; p < in->count; p++) {
        parts.bytes[p] = parts.bytes[p] > 0 ? parts.bytes[p] : OBJECT_BYTES;
    }
    count =
        tiling_tree(t, i, GR_CHUNK_reduce_merge, merge, parts.pieces, parts.bytes, in->count, TILE_FAN_IN, TILE_MAX);
    t->tiled[i].pieces[0] = tiling_add(t, i, GR_CHUNK_reduce_final, final, parts.pieces, count, t->tiled[i].bytes[0]);
    return GRANARY_OK;
}
