/* Element-wise operators: a program over inputs that are cut alike. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tile/tensor/tensor.h"

/* ---- inputs cut alike ---- */

/* The shape the inputs broadcast to. They were found to fit, but for sizes that were not known. Errors: EINVAL */
static granary_err
broadcast(const struct tiling *t, const struct gr_step *step, struct gr_grid *grid)
{
    for (size_t k = 0; k < step->input_count; k++) {
        const struct gr_grid *input = t->tiled[step->inputs[k]].grid;

        grid->dims = input->dims > grid->dims ? input->dims : grid->dims;
    }
    for (int d = 0; d < grid->dims; d++) {
        grid->shape[d] = 1;
        for (size_t k = 0; k < step->input_count; k++) {
            const struct gr_grid *input = t->tiled[step->inputs[k]].grid;
            int own = d - (grid->dims - input->dims);

            if (own < 0 || input->shape[own] == 1) {
                continue;
            }
            if (grid->shape[d] != 1 && grid->shape[d] != input->shape[own]) {
                return gr_fail(GRANARY_EINVAL,
                               "inputs of %lld and %lld elements along dimension %d do not fit together",
                               (long long)grid->shape[d], (long long)input->shape[own], d);
            }
            grid->shape[d] = input->shape[own];
        }
    }
    return GRANARY_OK;
}

/* Each dimension is cut as the first input that has its full length is. */
static void
choose_block(const struct tiling *t, const struct gr_step *step, struct gr_grid *grid)
{
    int64_t elements = tile_block_elements(t);

    for (int d = 0; d < grid->dims; d++) {
        grid->block[d] = 1;
        for (size_t k = step->input_count; k-- > 0;) {
            const struct gr_grid *input = t->tiled[step->inputs[k]].grid;
            int own = d - (grid->dims - input->dims);

            if (own >= 0 && input->shape[own] == grid->shape[d]) {
                grid->block[d] = input->block[own];
            }
        }
    }
    /* Broadcasting a row against a column may make a block far larger than either. */
    for (size_t k = 0; k < step->input_count; k++) {
        const struct gr_grid *input = t->tiled[step->inputs[k]].grid;
        int64_t theirs = tile_product(input->block, input->dims);

        elements = theirs > elements ? theirs : elements;
    }
    tile_shrink(grid->block, grid->dims, elements);
}

/* Dimensions that are not reduced come in one piece, the others in pieces of so many elements as a block may have. */
static void
widen_block(const struct tiling *t, const bool *reduced, struct gr_grid *grid)
{
    int64_t most = tile_block_elements(t);

    for (int d = 0; d < grid->dims; d++) {
        if (!reduced[d]) {
            grid->block[d] = grid->shape[d] > 0 ? grid->shape[d] : 1;
            most /= grid->block[d];
        }
    }
    for (int d = 0; d < grid->dims; d++) {
        if (reduced[d]) {
            grid->block[d] = grid->block[d] < most ? grid->block[d] : most > 0 ? most : 1;
            most /= grid->block[d];
        }
    }
}

granary_err
tile_align(struct tiling *t, size_t i, struct tile_aligned *ret_aligned)
{
    return tile_align_whole(t, i, NULL, ret_aligned);
}

granary_err
tile_align_whole(struct tiling *t, size_t i, const bool *reduced, struct tile_aligned *ret_aligned)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct tile_aligned *a = ret_aligned;
    granary_err err = GRANARY_OK;

    *a = (struct tile_aligned){.count = step->input_count};
    if (a->count > GR_PROGRAM_INPUTS) {
        return gr_fail(GRANARY_EINVAL, "%zu inputs are more than %d", a->count, GR_PROGRAM_INPUTS);
    }
    err = broadcast(t, step, &a->grid);
    if (err != GRANARY_OK) {
        return err;
    }
    choose_block(t, step, &a->grid);
    if (reduced != NULL) {
        widen_block(t, reduced, &a->grid);
    }
    for (int d = 0; d < a->grid.dims; d++) {
        a->grid.splits[d] = a->grid.shape[d] == 0 ? 1 : (a->grid.shape[d] - 1) / a->grid.block[d] + 1;
    }
    for (size_t k = 0; k < a->count && err == GRANARY_OK; k++) {
        const struct gr_tiled *input = &t->tiled[step->inputs[k]];
        int shift = a->grid.dims - input->grid->dims;
        int64_t block[8];

        for (int d = 0; d < input->grid->dims; d++) { /* a dimension of one element is in one piece */
            block[d] = input->grid->shape[d] == 1 ? 1 : a->grid.block[d + shift];
        }
        err = grid_rechunk(t, i, input, block, &a->operands[k]);
    }
    return err;
}

void
tile_aligned_at(const struct tile_aligned *aligned, const int64_t *position, struct gr_piece *ret_pieces)
{
    for (size_t k = 0; k < aligned->count; k++) {
        const struct gr_tiled *operand = &aligned->operands[k];
        int shift = aligned->grid.dims - operand->grid->dims;
        int64_t theirs[8];

        for (int d = 0; d < operand->grid->dims; d++) {
            theirs[d] = operand->grid->splits[d] == 1 ? 0 : position[d + shift];
        }
        ret_pieces[k] = operand->pieces[grid_number(operand->grid, theirs)];
    }
}

/* ---- the operators ---- */

static granary_err
tile_map(struct tiling *t, size_t i)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    struct gr_tiled *out = &t->tiled[i];
    struct tile_aligned in;
    granary_err err = tile_align(t, i, &in);

    if (err != GRANARY_OK) {
        return err;
    }
    gr_attrs_add(t->chunks, attrs, gr_step_program(t->steps, &t->steps->steps[i]));
    err = tiled_init_grid(t, out, in.grid.dims, in.grid.shape, in.grid.block);
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        struct gr_piece inputs[GR_PROGRAM_INPUTS];
        int64_t position[8];

        grid_position(out->grid, n, position);
        tile_aligned_at(&in, position, inputs);
        out->pieces[n] = tiling_add(t, i, GR_CHUNK_map, attrs, inputs, in.count, out->bytes[n]);
    }
    return err;
}

#define MAP(name)                          TILE_AS(name, tile_map(t, i))
#define TENSOR_UNARY(name, rule, summary)  MAP(name)
#define TENSOR_BINARY(name, rule, summary) MAP(name)
#include "contract/ops/tensor_functions.def"
#undef TENSOR_UNARY
#undef TENSOR_BINARY
MAP(astype)
MAP(where)
MAP(clip)
MAP(nan_to_num)
MAP(round)
MAP(isclose)
#undef MAP
