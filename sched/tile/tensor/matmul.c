/*
 * matmul. How a product is computed follows from its shape (graph/tensor/tall.h): a small right side stays whole, unless chunks of
 * the left side have parts of rows; and a very long inner dimension goes by sums of blocks. Of others, each block row of the left
 * side and block column of the right side give a block of the result. An operator multiplies and adds all pairs along the inner
 * dimension. When they are too many to be read at once beside the store's memory, several operators do it, and each begins with
 * the sum of the one before.
 */
#include <string.h>

#include "base/error.h"
#include "graph/tensor/tall.h"
#include "tile/tensor/tall.h"

#define READ_PARTS     4                  /* an operator reads at most this part of the store's memory */
#define BLOCK_ELEMENTS (INT64_C(1) << 20) /* what a block has at most, where the store has room for it */

/* Both sides, cut alike along the inner dimension. */
struct product {
    struct gr_tiled left;
    struct gr_tiled right;
    size_t pairs_max;      /* of one operator */
    gr_attrs attrs, first; /* of the last operator of a block, and of those before */
};

/* The blocks that a product is computed in: of the left side, and columns of the right one. */
struct blocks {
    int64_t strip, rows, inner, columns;
};

static granary_err
product_init(struct tiling *t, size_t i, const struct blocks *blocks, struct product *p)
{
    const struct gr_step *step = &t->steps->steps[i];
    granary_dtype dtypes[2] = {step->type->dtype, gr_product_sum_dtype(step->type->dtype)};
    gr_attrs *attrs[2] = {&p->attrs, &p->first};
    uint64_t pair_bytes =
        (uint64_t)((blocks->rows + blocks->columns) * blocks->inner) * (uint64_t)tile_element_bytes(t);
    granary_err err =
        grid_rechunk(t, i, &t->tiled[step->inputs[0]], (int64_t[8]){blocks->rows, blocks->inner}, &p->left);

    if (err == GRANARY_OK) {
        err = grid_rechunk(t, i, &t->tiled[step->inputs[1]], (int64_t[8]){blocks->inner, blocks->columns}, &p->right);
    }
    p->pairs_max = SIZE_MAX;
    if (t->options->memory_bytes > 0) {
        p->pairs_max = t->options->memory_bytes / READ_PARTS / (pair_bytes > 0 ? pair_bytes : 1);
        p->pairs_max = p->pairs_max == 0 ? 1 : p->pairs_max;
    }
    for (size_t k = 0; k < 2; k++) {
        *attrs[k] = gr_chunks_attrs(t->chunks);
        gr_attrs_add(t->chunks, *attrs[k], gr_attr_new_string("dtype", granary_dtype_name(dtypes[k])));
        gr_attrs_add(t->chunks, *attrs[k], gr_attr_new_int("strip", blocks->strip));
    }
    return err;
}

/* Block (row, column) of the result. pairs has room for twice the inner splits, and a sum. */
static struct gr_piece
product_block(struct tiling *t, size_t i, const struct product *p, const int64_t *position, struct gr_piece *pairs,
              uint64_t bytes)
{
    size_t inner = (size_t)p->left.grid->splits[1];
    struct gr_piece sum = {0};

    for (size_t from = 0; from < inner;) {
        bool last = inner - from <= p->pairs_max;
        size_t many = last ? inner - from : p->pairs_max;

        for (size_t k = 0; k < many; k++) {
            int64_t at = (int64_t)(from + k);

            pairs[2 * k] = p->left.pieces[grid_number(p->left.grid, (int64_t[]){position[0], at})];
            pairs[2 * k + 1] = p->right.pieces[grid_number(p->right.grid, (int64_t[]){at, position[1]})];
        }
        pairs[2 * many] = sum;
        sum = tiling_add(t, i, GR_CHUNK_matmul, last ? p->attrs : p->first, pairs, 2 * many + (from > 0), bytes);
        from += many;
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
tile_blocks(struct tiling *t, size_t i, const struct blocks *blocks)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_tiled *out = &t->tiled[i];
    struct product p;
    struct gr_piece *pairs = NULL;
    granary_err err = product_init(t, i, blocks, &p);

    if (err == GRANARY_OK) {
        err =
            tiled_init_grid(t, out, 2, step->type->shape, (int64_t[8]){p.left.grid->block[0], p.right.grid->block[1]});
    }
    if (err == GRANARY_OK) {
        pairs = tiling_scratch(t, 2 * (size_t)p.left.grid->splits[1] + 1, sizeof *pairs);
        err = pairs == NULL ? tile_no_memory() : GRANARY_OK;
    }
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        int64_t position[8];

        grid_position(out->grid, n, position);
        out->pieces[n] = product_block(t, i, &p, position, pairs, out->bytes[n]);
        err = gr_chunks_error(t->chunks);
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
rows_of_strips(const struct tiling *t, const struct gr_grid *left, int64_t width, int64_t strip)
{
    int64_t elements = tile_block_elements(t), theirs = tile_product(left->block, 2);
    int64_t rows = (left->block[0] + strip - 1) / strip;
    int64_t most = (theirs > elements ? theirs : elements) / width / strip;

    rows = rows > most ? most : rows;
    return (rows < 1 ? 1 : rows) * strip;
}

/* The right side is whole. */
static granary_err
tile_by_rows(struct tiling *t, size_t i, const struct gr_tiled *left, const struct gr_tiled *right, int64_t rows,
             int64_t strip)
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
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("strip", strip));
    for (size_t n = 0; err == GRANARY_OK && n < out->count; n++) {
        const struct gr_piece pair[2] = {strips.pieces[n], whole.pieces[0]};

        out->pieces[n] = tiling_add(t, i, GR_CHUNK_matmul, attrs, pair, 2, out->bytes[n]);
        err = gr_chunks_error(t->chunks);
    }
    return err;
}

static granary_err
tile_by_sums(struct tiling *t, size_t i, const struct gr_tiled *left, const struct gr_tiled *right, int64_t block,
             int64_t strip)
{
    granary_dtype dtype = t->steps->steps[i].type->dtype;
    struct gr_piece *pieces = NULL;
    size_t count = 0;
    granary_err err = tall_products(t, i, left, right, block, strip, dtype, &pieces, &count);

    return err == GRANARY_OK ? tall_add_up(t, i, pieces, count, gr_product_sum_dtype(dtype)) : err;
}

/*
 * The blocks along the inner dimension and of columns follow from the shape of the whole: they are those in which the larger side
 * is cut, when nobody says otherwise. So that side need not be copied.
 */
static struct blocks
choose_blocks(const struct tiling *t, int64_t m, int64_t k, int64_t n)
{
    int64_t left[2] = {m, k}, right[2] = {k, n};
    struct blocks blocks = {.strip = gr_product_strip(m)};
    int64_t strips, most;

    tile_shrink(left, 2, BLOCK_ELEMENTS);
    tile_shrink(right, 2, BLOCK_ELEMENTS);
    blocks.inner = m > n ? left[1] : right[0];
    blocks.columns = right[1];
    strips = (left[0] + blocks.strip - 1) / blocks.strip;
    most = tile_block_elements(t) / (blocks.columns > blocks.inner ? blocks.columns : blocks.inner) / blocks.strip;
    strips = strips > most ? most : strips;
    blocks.rows = (strips < 1 ? 1 : strips) * blocks.strip;
    return blocks;
}

/* Blocks in which both sides are cut already, where the store has no room for others. */
static struct blocks
small_blocks(const struct tiling *t, const struct gr_grid *left, const struct gr_grid *right, int64_t strip)
{
    int64_t rows_columns[2] = {left->block[0], right->block[1]};
    int64_t elements = tile_block_elements(t);
    int64_t theirs[2] = {tile_product(left->block, 2), tile_product(right->block, 2)};

    /* Inputs that are long and thin would give a large result block. */
    for (int k = 0; k < 2; k++) {
        elements = theirs[k] > elements ? theirs[k] : elements;
    }
    tile_shrink(rows_columns, 2, elements);
    return (struct blocks){strip, rows_columns[0], left->block[1], rows_columns[1]};
}

/* m: rows of the whole left side, of which it may be a part. */
static granary_err
tile_product_of(struct tiling *t, size_t i, int64_t m)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *left = &t->tiled[step->inputs[0]], *right = &t->tiled[step->inputs[1]];
    int64_t own = left->grid->shape[0], k = left->grid->shape[1], n = right->grid->shape[1];
    int64_t strip = gr_product_strip(m), rows;
    struct blocks blocks = choose_blocks(t, m, k, n);
    enum gr_product_way way = gr_product_way(m, k, n);

    if (way == GR_PRODUCT_BY_ROWS &&
        blocks.inner < k) { /* chunks have parts of rows, and are not copied into whole ones */
        way = GR_PRODUCT_BY_BLOCKS;
    }
    switch (way) {
    case GR_PRODUCT_BY_ROWS:
        rows = rows_of_strips(t, left->grid, k > n ? (k > 0 ? k : 1) : (n > 0 ? n : 1), strip);
        if (fits(t, rows * k, k * n, rows * n)) {
            return tile_by_rows(t, i, left, right, rows, strip);
        }
        break;
    case GR_PRODUCT_BY_SUMS:
        rows = gr_product_block(m, n);
        if (fits(t, own * rows, rows * n, own * n)) {
            return tile_by_sums(t, i, left, right, rows, strip);
        }
        break;
    case GR_PRODUCT_BY_BLOCKS:
        if (fits(t, blocks.rows * blocks.inner, blocks.inner * blocks.columns, blocks.rows * blocks.columns)) {
            return tile_blocks(t, i, &blocks);
        }
        break;
    }
    blocks = small_blocks(t, left->grid, right->grid, strip);
    return tile_blocks(t, i, &blocks);
}

granary_err
tile_matmul(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];

    return step->type->dims != 2 ? tile_stacks(t, i) : tile_product_of(t, i, t->tiled[step->inputs[0]].grid->shape[0]);
}

granary_err
tile_product_rows(struct tiling *t, size_t i)
{
    return tile_product_of(t, i, GR_STEP_PARAMS(product_rows, &t->steps->steps[i])->rows);
}
