/* Sources of tensors. */

#include "tile/tensor/tensor.h"
#include "base/error.h"

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
    return tiled_init_grid(t, &t->tiled[i], type->dims, type->shape, block);
}

/* Where a block lies in the whole. */
static gr_attrs
block_attrs(struct tiling *t, const struct gr_grid *grid, size_t n)
{
    gr_attrs own = gr_chunks_attrs(t->chunks);
    int64_t offset[8], size[8];

    grid_block(grid, n, offset, size);
    gr_attrs_add(t->chunks, own, gr_attr_new_ints("shape", grid->shape, (size_t)grid->dims));
    gr_attrs_add(t->chunks, own, gr_attr_new_ints("offset", offset, (size_t)grid->dims));
    gr_attrs_add(t->chunks, own, gr_attr_new_ints("size", size, (size_t)grid->dims));
    return own;
}

/* One operator a block, which knows where it lies in the whole. */
granary_err
tile_tensor_source(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs shared)
{
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = source_grid(t, i);

    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        const gr_attrs attrs[2] = {shared, block_attrs(t, out->grid, n)};

        out->pieces[n] = tiling_add_own(t, i, op, attrs, NULL, 0, out->bytes[n]);
        err = gr_chunks_error(t->chunks);
    }
    return err;
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
        tiled_init_grid(t, out, step->type->dims, step->type->shape, chunk != NULL ? chunk->ints : step->type->shape);

    if (err == GRANARY_OK) {
        err = tile_objects(t, i, ids, &first);
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        out->pieces[n] = (struct gr_piece){.op = first.op, .output = (uint32_t)n};
    }
    return err;
}

TILE_AS(random, tile_tensor_source(t, i, GR_CHUNK_random,
                                   tiling_attrs(t, i,
                                                NAMES("seed", "distribution", "low", "high", "loc", "scale", "alpha",
                                                      "beta", "df", "lam", "n", "p", "pvals", "alphas"))))

/* One value everywhere, or in a band along the last two dimensions. */
static granary_err
tile_filled(struct tiling *t, size_t i, int64_t value, bool from_diagonal, bool to_diagonal)
{
    const struct gr_step *step = &t->steps->steps[i];
    int64_t offset = GR_STEP_PARAMS(eye, step)->offset; /* or of tri; the others have none */
    gr_attrs shared = tiling_attrs(t, i, NAMES("value"));

    if (gr_step_attr(step, "value") == NULL) {
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("value", value));
    }
    gr_attrs_add(t->chunks, shared, gr_attr_new_string("dtype", granary_dtype_name(step->type->dtype)));
    if (from_diagonal) {
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("low", offset));
    }
    if (to_diagonal) {
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("high", offset));
    }
    return tile_tensor_source(t, i, GR_CHUNK_full, shared);
}

#define FULL(name, value, from_diagonal, to_diagonal)                                                                  \
    TILE_AS(name, tile_filled(t, i, value, from_diagonal, to_diagonal))
FULL(zeros, 0, false, false)
FULL(ones, 1, false, false)
FULL(empty, 0, false, false)
FULL(full, 0, false, false)
FULL(zeros_like, 0, false, false)
FULL(ones_like, 1, false, false)
FULL(empty_like, 0, false, false)
FULL(full_like, 0, false, false)
FULL(eye, 1, true, true)
FULL(tri, 1, false, true)
#undef FULL

static granary_err
tile_band(struct tiling *t, size_t i, const char *bound)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = &t->tiled[step->inputs[0]];
    struct gr_tiled *out = &t->tiled[i];
    gr_attrs shared = gr_chunks_attrs(t->chunks);
    granary_err err = tiled_init_grid(t, out, in->grid->dims, in->grid->shape, in->grid->block);

    gr_attrs_add(t->chunks, shared, gr_attr_new_int(bound, GR_STEP_PARAMS(triu, step)->offset));
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        const gr_attrs attrs[2] = {shared, block_attrs(t, out->grid, n)};

        out->pieces[n] = tiling_add_own(t, i, GR_CHUNK_band, attrs, &in->pieces[n], 1, out->bytes[n]);
    }
    return err;
}

TILE_AS(triu, tile_band(t, i, "low"))
TILE_AS(tril, tile_band(t, i, "high"))

granary_err
tile_linspace(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_params_linspace *params = GR_STEP_PARAMS(linspace, step);
    int64_t count = step->type->shape[0];
    int64_t gaps = params->endpoint ? count - 1 : count;
    gr_attrs shared = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, shared, gr_attr_new_double("start", params->start));
    gr_attrs_add(t->chunks, shared,
                 gr_attr_new_double("step", gaps > 0 ? (params->stop - params->start) / (double)gaps : 0));
    if (params->endpoint && count > 1) {
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("last", count - 1));
        gr_attrs_add(t->chunks, shared, gr_attr_new_double("end", params->stop));
    }
    return tile_tensor_source(t, i, GR_CHUNK_arange, shared);
}

granary_err
tile_arange(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);
    const struct gr_params_arange *params = GR_STEP_PARAMS(arange, step);
    gr_attrs shared = gr_chunks_attrs(t->chunks);

    if (step->type->dtype == GRANARY_INT64) {
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("start", gr_attr_int(attrs, count, "start", 0)));
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("step", gr_attr_int(attrs, count, "step", 1)));
    } else {
        gr_attrs_add(t->chunks, shared, gr_attr_new_double("start", params->start));
        gr_attrs_add(t->chunks, shared, gr_attr_new_double("step", params->step));
    }
    return tile_tensor_source(t, i, GR_CHUNK_arange, shared);
}
