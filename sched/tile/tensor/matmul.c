/*
 * matmul. How a product is computed follows from its shape (graph/tensor/tall.h): a small right side stays whole, and a very
 * long inner dimension goes by blocks. Of others, each block row of the left side and block column of the right side give a
 * block of the result. An operator multiplies and adds all pairs along the inner dimension. When they are too many to be read
 * at once beside the store's memory, several operators do it, and their results are added.
 */
#include <string.h>

#include "base/error.h"
#include "graph/tensor/tall.h"
#include "tile/tensor/tall.h"

#define READ_PARTS 4 /* an operator reads at most this part of the store's memory */

/* Both sides, cut alike along the inner dimension. */
struct product {
    struct gr_tiled left;
    struct gr_tiled right;
    size_t pairs_max; /* of one operator */
    gr_attrs attrs;
    gr_attrs add;
};

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

    *p = (struct product){.pairs_max = SIZE_MAX, .attrs = gr_chunks_attrs(t->chunks)};
    gr_attrs_add(t->chunks, p->attrs, gr_attr_new_string("dtype", granary_dtype_name(step->type->dtype)));
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
        return err;
    }
    pair_bytes = (uint64_t)((rows_columns[0] + rows_columns[1]) * inner) * (uint64_t)tile_element_bytes(t);
    if (t->options->memory_bytes > 0) {
        p->pairs_max = t->options->memory_bytes / READ_PARTS / pair_bytes;
        p->pairs_max = p->pairs_max == 0 ? 1 : p->pairs_max;
    }
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
        part = tiling_add(t, i, GR_CHUNK_matmul, p->attrs, pairs, 2 * many, bytes);
        sum = from == 0 ? part : tiling_add(t, i, GR_CHUNK_map, p->add, (struct gr_piece[]){sum, part}, 2, bytes);
        if (many == inner - from) {
            break; /* from + pairs_max may be too large for a size_t */
        }
    }
    return sum;
}

/* Stacks: whole matrices, so many that a block of the larger side is as large as blocks are. */
static granary_err
tile_stacks(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *sides[2] = {&t->tiled[step->inputs[0]], &t->tiled[step->inputs[1]]};
    struct gr_tiled *out = &t->tiled[i];
    struct gr_tiled whole[2];
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    int dims = step->type->dims;
    int64_t block[8], most = step->type->shape[dims - 2] * step->type->shape[dims - 1];
    granary_err err = GRANARY_OK;

    for (int k = 0; k < 2; k++) {
        int64_t matrix = sides[k]->grid->shape[dims - 2] * sides[k]->grid->shape[dims - 1];

        most = matrix > most ? matrix : most;
    }
    if (t->options->memory_bytes > 0 &&
        (uint64_t)most > t->options->memory_bytes / READ_PARTS / (uint64_t)tile_element_bytes(t)) {
        return gr_fail(GRANARY_EINVAL, "matrices of a stack stay whole, and one of %lld elements is too large for that",
                       (long long)most);
    }
    memcpy(block, sides[0]->grid->block, sizeof block);
    most = tile_block_elements(t) / (most > 0 ? most : 1);
    tile_shrink(block, dims - 2, most > 0 ? most : 1);
    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("dtype", granary_dtype_name(step->type->dtype)));
    for (int k = 0; k < 2 && err == GRANARY_OK; k++) {
        for (int d = dims - 2; d < dims; d++) {
            block[d] = sides[k]->grid->shape[d] > 0 ? sides[k]->grid->shape[d] : 1;
        }
        err = grid_rechunk(t, i, sides[k], block, &whole[k]);
    }
    for (int d = dims - 2; d < dims; d++) {
        block[d] = step->type->shape[d] > 0 ? step->type->shape[d] : 1;
    }
    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, out, dims, step->type->shape, block);
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        struct gr_piece pair[2] = {whole[0].pieces[n], whole[1].pieces[n]};
        out->pieces[n] = tiling_add(t, i, GR_CHUNK_matmul, attrs, pair, 2, out->bytes[n]);
    }
    return err;
}

static granary_err
tile_matrices(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_tiled *out = &t->tiled[i];
    struct product p;
    struct gr_piece *pairs = NULL;
    granary_err err = product_init(t, i, &p);

    if (err != GRANARY_OK) {
        return err;
    }
    err = tiled_init_grid(t, out, 2, step->type->shape, (int64_t[8]){p.left.grid->block[0], p.right.grid->block[1]});
    if (err == GRANARY_OK) {
        pairs = tiling_scratch(t, 2 * (size_t)p.left.grid->splits[1], sizeof *pairs);
        err = pairs == NULL ? tile_no_memory() : GRANARY_OK;
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        int64_t position[8];

        grid_position(out->grid, n, position);
        out->pieces[n] = product_block(t, i, &p, position, pairs, out->bytes[n]);
    }
    return err;
}

/* Whether blocks of so many elements on both sides and in the result can be read and made at once. */
static bool
fits(const struct tiling *t, int64_t left, int64_t right, int64_t result)
{
    uint64_t bytes = (uint64_t)(left + right + result) * (uint64_t)tile_element_bytes(t);

    return t->options->memory_bytes == 0 || bytes <= t->options->memory_bytes / READ_PARTS;
}

/* Rows of a block of the left side: whole strips, about as many as it has. */
static int64_t
rows_of_strips(const struct tiling *t, const struct gr_grid *left, int64_t width)
{
    int64_t elements = tile_block_elements(t), theirs = tile_product(left->block, 2);
    int64_t rows = (left->block[0] + GR_PRODUCT_STRIP - 1) / GR_PRODUCT_STRIP;
    int64_t most = (theirs > elements ? theirs : elements) / width / GR_PRODUCT_STRIP;

    rows = rows > most ? most : rows;
    return (rows < 1 ? 1 : rows) * GR_PRODUCT_STRIP;
}

/* The right side is whole. */
static granary_err
tile_by_rows(struct tiling *t, size_t i, const struct gr_tiled *left, const struct gr_tiled *right, int64_t rows)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_tiled *out = &t->tiled[i];
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    struct gr_tiled strips, whole;
    granary_err err = grid_rechunk(t, i, left, (int64_t[8]){rows, left->grid->shape[1]}, &strips);

    if (err == GRANARY_OK) {
        err = grid_rechunk(t, i, right, right->grid->shape, &whole);
    }
    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, out, 2, step->type->shape, (int64_t[8]){strips.grid->block[0], step->type->shape[1]});
    }
    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("dtype", granary_dtype_name(step->type->dtype)));
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        const struct gr_piece pair[2] = {strips.pieces[n], whole.pieces[0]};

        out->pieces[n] = tiling_add(t, i, GR_CHUNK_matmul, attrs, pair, 2, out->bytes[n]);
        err = gr_chunks_error(t->chunks);
    }
    return err;
}

static granary_err
tile_by_sums(struct tiling *t, size_t i, const struct gr_tiled *left, const struct gr_tiled *right, int64_t block)
{
    granary_dtype dtype = t->steps->steps[i].type->dtype;
    struct gr_piece *pieces = NULL;
    size_t count = 0;
    granary_err err = tall_products(t, i, left, right, block, dtype, &pieces, &count);

    return err == GRANARY_OK ? tall_add_up(t, i, pieces, count, gr_product_sum_dtype(dtype)) : err;
}

granary_err
tile_matmul(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *left = &t->tiled[step->inputs[0]], *right = &t->tiled[step->inputs[1]];
    int64_t m = left->grid->shape[0], k = left->grid->shape[1], n = right->grid->shape[1];
    enum gr_product_way way;
    int64_t rows;

    if (step->type->dims != 2) {
        return tile_stacks(t, i);
    }
    way = gr_product_way(m, k, n);
    if (way == GR_PRODUCT_BY_ROWS) {
        rows = rows_of_strips(t, left->grid, k > n ? (k > 0 ? k : 1) : (n > 0 ? n : 1));
        if (fits(t, rows * k, k * n, rows * n)) {
            return tile_by_rows(t, i, left, right, rows);
        }
    } else if (way == GR_PRODUCT_BY_SUMS) {
        rows = gr_product_block(m, n);
        if (fits(t, m * rows, rows * n, m * n)) {
            return tile_by_sums(t, i, left, right, rows);
        }
    }
    return tile_matrices(t, i);
}
