/* Tensors: sources and element-wise operators. */
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
static granary_err
tile_source(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs shared)
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
tile_random(struct tiling *t, size_t i)
{
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(&t->steps->steps[i], &count);
    gr_attrs shared = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, shared, gr_attr_new_int("seed", gr_attr_int(attrs, count, "seed", 0)));
    gr_attrs_add(t->chunks, shared,
                 gr_attr_new_string("distribution", gr_attr_string(attrs, count, "distribution", "uniform")));
    return tile_source(t, i, GR_CHUNK_random, shared);
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
    return tile_source(t, i, GR_CHUNK_arange, shared);
}

/* ---- element-wise ---- */

/* The block of the result: each dimension is cut as the first operand that has its full length is. */
static void
map_block(const struct tiling *t, size_t i, int64_t *ret_block)
{
    const struct gr_step *step = &t->steps->steps[i];
    int dims = step->type->dims;
    int64_t elements = tile_block_elements(t);

    for (int d = 0; d < dims; d++) {
        ret_block[d] = 1;
        for (size_t k = step->input_count; k-- > 0;) {
            const struct gr_grid *grid = t->tiled[step->inputs[k]].grid;
            int own = d - (dims - grid->dims);

            if (own >= 0 && grid->shape[own] == step->type->shape[d]) {
                ret_block[d] = grid->block[own];
            }
        }
    }
    /* Broadcasting a row against a column may make a block far larger than either. */
    for (size_t k = 0; k < step->input_count; k++) {
        const struct gr_grid *grid = t->tiled[step->inputs[k]].grid;
        int64_t theirs = tile_product(grid->block, grid->dims);

        elements = theirs > elements ? theirs : elements;
    }
    tile_shrink(ret_block, dims, elements);
}

/* An operand cut as the result is; a dimension of length 1 is in one piece. */
static granary_err
map_operand(struct tiling *t, size_t i, size_t k, const int64_t *block, struct gr_tiled *ret_operand)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *input = &t->tiled[step->inputs[k]];
    int shift = step->type->dims - input->grid->dims;
    int64_t theirs[8];

    for (int d = 0; d < input->grid->dims; d++) {
        theirs[d] = input->grid->shape[d] == 1 ? 1 : block[d + shift];
    }
    return tile_rechunk(t, i, input, theirs, ret_operand);
}

/* The operand's piece under a block of the result. */
static struct gr_piece
piece_under(const struct gr_tiled *operand, const struct gr_grid *result, const int64_t *position)
{
    int shift = result->dims - operand->grid->dims;
    int64_t theirs[8];

    for (int d = 0; d < operand->grid->dims; d++) {
        theirs[d] = operand->grid->splits[d] == 1 ? 0 : position[d + shift];
    }
    return operand->pieces[grid_number(operand->grid, theirs)];
}

static granary_err
tile_map(struct tiling *t, size_t i, const char *function)
{
    const struct gr_step *step = &t->steps->steps[i];
    static const char *const value[] = {"value"};
    gr_attrs attrs = tiling_attrs(t, i, value, 1);
    struct gr_tiled operands[2] = {{0}};
    struct gr_tiled *out = &t->tiled[i];
    int64_t block[8];
    granary_err err = GRANARY_OK;

    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("function", function));
    map_block(t, i, block);
    for (size_t k = 0; k < step->input_count && err == GRANARY_OK; k++) {
        err = map_operand(t, i, k, block, &operands[k]);
    }
    if (err == GRANARY_OK) {
        err = tiled_init_grid(out, step->type->dims, step->type->shape, block);
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        struct gr_piece inputs[2];
        int64_t position[8];
        int64_t size[8];
        int64_t offset[8];

        grid_block(out->grid, n, offset, size);
        grid_position(out->grid, n, position);
        for (size_t k = 0; k < step->input_count; k++) {
            inputs[k] = piece_under(&operands[k], out->grid, position);
        }
        out->bytes[n] = (uint64_t)tile_product(size, out->grid->dims) * ELEMENT_BYTES;
        out->pieces[n] = tiling_add(t, i, GR_CHUNK_map, attrs, inputs, step->input_count, out->bytes[n]);
    }
    tiled_fini(&operands[0]);
    tiled_fini(&operands[1]);
    return err;
}

#define MAP(name)                                                                                                      \
    granary_err tile_##name(struct tiling *t, size_t i)                                                                \
    {                                                                                                                  \
        return tile_map(t, i, #name);                                                                                  \
    }
MAP(add)
MAP(subtract)
MAP(multiply)
MAP(divide)
MAP(negative)
MAP(sqrt)
MAP(exp)
MAP(log)
#undef MAP
