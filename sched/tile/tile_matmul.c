/*
 * matmul: one block of the result for every block row of the left side and block column of the right side. An operator
 * multiplies and adds all pairs along the inner dimension; when they are too many to be read at once beside the
 * store's memory, several operators do, and their results are added.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tile/rules.h"

#define READ_PARTS 4 /* an operator reads at most this part of the store's memory */

/* Both sides, cut alike along the inner dimension. */
struct product {
    struct gr_tiled left;
    struct gr_tiled right;
    size_t pairs_max; /* of one operator */
    gr_attrs none;
    gr_attrs add;
};

static void
product_fini(struct product *p)
{
    tiled_fini(&p->left);
    tiled_fini(&p->right);
}

static granary_err
product_init(struct tiling *t, size_t i, struct product *p)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *left = &t->tiled[step->inputs[0]];
    const struct gr_tiled *right = &t->tiled[step->inputs[1]];
    int64_t rows_columns[2] = {left->grid->block[0], right->grid->block[1]};
    int64_t inner = left->grid->block[1];
    int64_t elements = tile_block_elements(t);
    uint64_t pair_bytes;
    granary_err err;

    *p = (struct product){.pairs_max = SIZE_MAX};
    /* Inputs that are long and thin would give a large result block. */
    for (int k = 0; k < 2; k++) {
        const struct gr_grid *grid = k == 0 ? left->grid : right->grid;
        int64_t theirs = tile_product(grid->block, grid->dims);

        elements = theirs > elements ? theirs : elements;
    }
    tile_shrink(rows_columns, 2, elements);
    err = grid_rechunk(t, i, left, (int64_t[8]){rows_columns[0], inner}, &p->left);
    if (err == GRANARY_OK) {
        err = grid_rechunk(t, i, right, (int64_t[8]){inner, rows_columns[1]}, &p->right);
    }
    if (err != GRANARY_OK) {
        product_fini(p);
        return err;
    }
    pair_bytes = (uint64_t)((rows_columns[0] + rows_columns[1]) * inner) * ELEMENT_BYTES;
    if (t->options->memory_bytes > 0) {
        p->pairs_max = t->options->memory_bytes / READ_PARTS / pair_bytes;
        p->pairs_max = p->pairs_max == 0 ? 1 : p->pairs_max;
    }
    p->none = 0;
    p->add = gr_chunks_attrs(t->chunks);
    gr_attrs_add(t->chunks, p->add, gr_attr_new_string("function", "add"));
    return GRANARY_OK;
}

/* Block (row, column) of the result. pairs has room for twice the inner splits. */
static struct gr_piece
product_block(struct tiling *t, size_t i, const struct product *p, const int64_t *position, struct gr_piece *pairs,
              uint64_t bytes)
{
    size_t inner = (size_t)p->left.grid->splits[1];
    struct gr_piece sum = {0};

    for (size_t from = 0; from < inner; from += p->pairs_max) {
        size_t many = inner - from < p->pairs_max ? inner - from : p->pairs_max;
        struct gr_piece part;

        for (size_t k = 0; k < many; k++) {
            int64_t at = (int64_t)(from + k);

            pairs[2 * k] = p->left.pieces[grid_number(p->left.grid, (int64_t[]){position[0], at})];
            pairs[2 * k + 1] = p->right.pieces[grid_number(p->right.grid, (int64_t[]){at, position[1]})];
        }
        part = tiling_add(t, i, GR_CHUNK_matmul, p->none, pairs, 2 * many, bytes);
        sum = from == 0 ? part : tiling_add(t, i, GR_CHUNK_map, p->add, (struct gr_piece[]){sum, part}, 2, bytes);
        if (many == inner - from) {
            break; /* from + pairs_max may be too large for a size_t */
        }
    }
    return sum;
}

granary_err
tile_matmul(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_tiled *out = &t->tiled[i];
    struct product p;
    struct gr_piece *pairs = NULL;
    granary_err err = product_init(t, i, &p);

    if (err != GRANARY_OK) {
        return err;
    }
    err = tiled_init_grid(out, 2, step->type->shape, (int64_t[8]){p.left.grid->block[0], p.right.grid->block[1]});
    if (err == GRANARY_OK) {
        pairs = malloc(2 * (size_t)p.left.grid->splits[1] * sizeof *pairs);
        err = pairs == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        int64_t offset[8];
        int64_t size[8];
        int64_t position[8];

        grid_block(out->grid, n, offset, size);
        grid_position(out->grid, n, position);
        out->bytes[n] = (uint64_t)(size[0] * size[1]) * ELEMENT_BYTES;
        out->pieces[n] = product_block(t, i, &p, position, pairs, out->bytes[n]);
    }
    free(pairs);
    product_fini(&p);
    return err;
}
