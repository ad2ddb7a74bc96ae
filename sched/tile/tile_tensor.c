/* Sources of tensors. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tile/rules.h"

/* ---- sources ---- */

static granary_err
source_grid(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_node_type *type = step->type;
    const Granary__Attr *chunk = gr_step_attr(step, "chunk");
    int64_t block[8];

    if (chunk != NULL && chunk->n_ints != (size_t)type->dims) {
        return gr_fail(GRANARY_EINVAL, "parameter 'chunk' has %zu numbers for %d dimensions", chunk->n_ints,
                       type->dims);
    }
    for (int d = 0; d < type->dims; d++) {
        block[d] = chunk != NULL ? chunk->ints[d] : type->shape[d] > 0 ? type->shape[d] : 1;
        if (block[d] < 1) {
            return gr_fail(GRANARY_EINVAL, "parameter 'chunk' has %lld, which is less than 1", (long long)block[d]);
        }
    }
    if (chunk == NULL) {
        tile_shrink(block, type->dims, tile_block_elements(t));
    }
    return tiled_init_grid(&t->tiled[i], type->dims, type->shape, block);
}

/* One operator a block, which knows where it lies in the whole. */
granary_err
tile_tensor_source(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs shared)
{
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = source_grid(t, i);

    if (err != GRANARY_OK) {
        return err;
    }
    gr_attrs_add(t->chunks, shared, gr_attr_new_ints("shape", out->grid->shape, (size_t)out->grid->dims));
    for (size_t n = 0; n < out->count; n++) {
        int64_t offset[8];
        int64_t size[8];
        struct gr_chunk_spec spec = {.op = op, .step = (uint32_t)i, .shared = shared, .outputs = 1};

        grid_block(out->grid, n, offset, size);
        spec.own = gr_chunks_attrs(t->chunks);
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("offset", offset, (size_t)out->grid->dims));
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_ints("size", size, (size_t)out->grid->dims));
        spec.bytes = out->bytes[n] = (uint64_t)tile_product(size, out->grid->dims) * ELEMENT_BYTES;
        out->pieces[n] = gr_chunks_add(t->chunks, &spec);
        if (t->chunks->failed != GRANARY_OK) {
            break; /* the caller tells */
        }
    }
    return GRANARY_OK;
}

granary_err
tile_array(struct tiling *t, size_t i)
{
    const Granary__Attr *ids = gr_step_attr(&t->steps->steps[i], "ids");
    const struct gr_step *step = &t->steps->steps[i];
    const Granary__Attr *chunk = gr_step_attr(step, "chunk");
    struct gr_tiled *out = &t->tiled[i];
    struct gr_piece first;
    granary_err err =
        tiled_init_grid(out, step->type->dims, step->type->shape, chunk != NULL ? chunk->ints : step->type->shape);

    if (err == GRANARY_OK) {
        err = tile_objects(t, i, ids, &first);
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        int64_t offset[8];
        int64_t size[8];

        grid_block(out->grid, n, offset, size);
        out->pieces[n] = (struct gr_piece){.op = first.op, .output = (uint32_t)n};
        out->bytes[n] = (uint64_t)tile_product(size, out->grid->dims) * ELEMENT_BYTES;
    }
    return err;
}

granary_err
tile_random(struct tiling *t, size_t i)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(&t->steps->steps[i], &count);
    gr_attrs shared = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, shared, gr_attr_new_int("seed", gr_attr_int(attrs, count, "seed", 0)));
    gr_attrs_add(t->chunks, shared,
                 gr_attr_new_string("distribution", gr_attr_string(attrs, count, "distribution", "uniform")));
    return tile_tensor_source(t, i, GR_CHUNK_random, shared);
}

granary_err
tile_arange(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);
    gr_attrs shared = gr_chunks_attrs(t->chunks);

    if (step->type->dtype == GRANARY_INT64) {
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("start", gr_attr_int(attrs, count, "start", 0)));
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("step", gr_attr_int(attrs, count, "step", 1)));
    } else {
        gr_attrs_add(t->chunks, shared, gr_attr_new_double("start", gr_attr_double(attrs, count, "start", 0)));
        gr_attrs_add(t->chunks, shared, gr_attr_new_double("step", gr_attr_double(attrs, count, "step", 1)));
    }
    return tile_tensor_source(t, i, GR_CHUNK_arange, shared);
}
