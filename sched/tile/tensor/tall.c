/*
 * Products and factorisations of tall matrices by blocks of rows, in one place or in two halves. In two halves, a machine has
 * whole blocks, and computes of each what one machine would.
 *
 *   product_partial   a product of each block
 *   product_combine   their sum, as a tree
 *   qr_partial        r of each block
 *   qr_combine        qr of these below one another
 *   qr_apply          q of each block times its rows of that q
 */
#include "tile/tensor/tall.h"

#include <string.h>

#include "base/error.h"
#include "graph/tensor/tall.h"

/* ---- products ---- */

granary_err
tall_products(struct tiling *t, size_t i, const struct gr_tiled *left, const struct gr_tiled *right, int64_t block,
              int64_t strip, granary_dtype dtype, struct gr_piece **ret_pieces, size_t *ret_count)
{
    int64_t m = left->grid->shape[0], n = right->grid->shape[1];
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    struct gr_tiled sides[2] = {0};
    struct gr_piece *pieces = NULL;
    granary_err err = grid_rechunk(t, i, left, (int64_t[8]){m, block}, &sides[0]);

    if (err == GRANARY_OK) {
        err = grid_rechunk(t, i, right, (int64_t[8]){block, n}, &sides[1]);
    }
    if (err == GRANARY_OK) {
        pieces = gr_region_alloc(t->memory, (sides[0].count + 1) * sizeof *pieces);
        err = pieces == NULL ? tile_no_memory() : GRANARY_OK;
    }
    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("dtype", granary_dtype_name(gr_product_sum_dtype(dtype))));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("strip", strip));
    for (size_t b = 0; err == GRANARY_OK && b < sides[0].count; b++) {
        const struct gr_piece pair[2] = {sides[0].pieces[b], sides[1].pieces[b]};

        pieces[b] =
            tiling_add(t, i, GR_CHUNK_matmul, attrs, pair, 2, (uint64_t)(m * n) * (uint64_t)tile_element_bytes(t));
        err = gr_chunks_error(t->chunks);
    }
    if (err == GRANARY_OK) {
        *ret_pieces = pieces;
        *ret_count = sides[0].count;
    }
    return err;
}

granary_err
tall_add_up(struct tiling *t, size_t i, struct gr_piece *pieces, size_t count, granary_dtype summed)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_tiled *out = &t->tiled[i];
    gr_attrs add = gr_chunks_attrs(t->chunks);
    bool alone = count == 1; /* it may be there already */
    granary_err err = tiled_init_grid(t, out, 2, step->type->shape, step->type->shape);

    if (err != GRANARY_OK) {
        return err;
    }
    gr_attrs_add(t->chunks, add, gr_attr_new_string("function", "add"));
    while (count > 1) { /* neighbours, level by level: the same tree for as many blocks */
        for (size_t k = 0; k < count / 2; k++) {
            pieces[k] = tiling_add(t, i, GR_CHUNK_map, add, &pieces[2 * k], 2, out->bytes[0]);
        }
        if (count % 2 == 1) {
            pieces[count / 2] = pieces[count - 1];
        }
        count = (count + 1) / 2;
    }
    if (alone || summed != step->type->dtype) {
        gr_attrs cast = gr_chunks_attrs(t->chunks);
        char text[40] = "astype:";
        char *lines[1] = {text};

        strncat(text, granary_dtype_name(step->type->dtype), 20);
        strncat(text, " $0", 4);
        gr_attrs_add(t->chunks, cast, gr_attr_new_strings("program", lines, 1));
        pieces[0] = tiling_add(t, i, GR_CHUNK_map, cast, pieces, 1, out->bytes[0]);
    }
    out->pieces[0] = pieces[0];
    return gr_chunks_error(t->chunks);
}

granary_err
tile_product_partial(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *left = &t->tiled[step->inputs[0]], *right = &t->tiled[step->inputs[1]];
    struct gr_piece *pieces = NULL;
    size_t count = 0;
    granary_err err = tall_products(t, i, left, right, GR_STEP_PARAMS(product_partial, step)->block,
                                    gr_product_strip(left->grid->shape[0]), step->type->dtype, &pieces, &count);

    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, &t->tiled[i], 2, step->type->shape,
                              (int64_t[8]){left->grid->shape[0], step->type->shape[1]});
    }
    if (err == GRANARY_OK) {
        memcpy(t->tiled[i].pieces, pieces, count * sizeof *pieces);
    }
    return err;
}

granary_err
tile_product_combine(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = &t->tiled[step->inputs[0]];
    struct gr_tiled blocks, own;
    granary_err err = grid_rechunk(t, i, in, step->type->shape, &blocks);

    if (err == GRANARY_OK) {
        err = tiled_copy(t, &blocks, &own);
    }
    return err == GRANARY_OK ? tall_add_up(t, i, own.pieces, own.count, t->steps->steps[step->inputs[0]].type->dtype)
                             : err;
}

/* ---- factors ---- */

struct gr_piece
tall_factor(struct tiling *t, size_t i, enum gr_chunk_op op, const struct gr_piece *inputs, size_t count, int64_t bytes)
{
    struct gr_chunk_spec spec = {.op = op,
                                 .step = (uint32_t)i,
                                 .inputs = inputs,
                                 .input_count = count,
                                 .outputs = op == GR_CHUNK_svd ? 3 : 2,
                                 .bytes = (uint64_t)bytes};

    return gr_chunks_add(t->chunks, &spec);
}

/* `rows` rows of a matrix of n columns, from `from` on. */
static struct gr_piece
add_rows(struct tiling *t, size_t i, struct gr_piece whole, int64_t from, int64_t rows, int64_t n)
{
    const int64_t shape[2] = {rows, n}, to[2] = {0, 0}, stride[2] = {n, 1};
    const int64_t base = from * n;
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, attrs, gr_attr_new_ints("shape", shape, 2));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_ints("to", to, 2));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_ints("extent", shape, 2));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_ints("stride", stride, 2));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_ints("base", &base, 1));
    return tiling_add(t, i, GR_CHUNK_view, attrs, &whole, 1, (uint64_t)(rows * n) * ELEMENT_BYTES);
}

void
tall_apply(struct tiling *t, size_t i, const struct gr_tiled *rows, const struct gr_piece *q, struct gr_piece top,
           int64_t first, struct gr_piece *ret_pieces)
{
    int64_t n = rows->grid->shape[1];

    for (size_t b = 0; b < rows->count; b++) {
        int64_t offset[8], size[8];
        struct gr_piece product[2] = {q[b]};

        grid_block(rows->grid, b, offset, size);
        product[1] = add_rows(t, i, top, (first + (int64_t)b) * n, size[0] < n ? size[0] : n, n);
        ret_pieces[b] = tiling_add(t, i, GR_CHUNK_matmul, 0, product, 2, rows->bytes[b]);
    }
}

granary_err
tile_qr_partial(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = &t->tiled[step->inputs[0]];
    int64_t n = in->grid->shape[1];
    struct gr_tiled rows;
    granary_err err = grid_rechunk(t, i, in, (int64_t[8]){GR_STEP_PARAMS(qr_partial, step)->block, n}, &rows);

    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, &t->tiled[i], 2, step->type->shape, (int64_t[8]){n, n});
    }
    for (size_t b = 0; err == GRANARY_OK && b < rows.count; b++) {
        struct gr_piece made =
            tall_factor(t, i, GR_CHUNK_qr, &rows.pieces[b], 1, (int64_t)rows.bytes[b] + n * n * ELEMENT_BYTES);

        t->tiled[i].pieces[b] = (struct gr_piece){made.op, 1};
        err = gr_chunks_error(t->chunks);
    }
    return err;
}

granary_err
tile_qr_combine(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = &t->tiled[step->inputs[0]];
    const struct gr_grid *grid = in->grid;
    bool q = strcmp(GR_STEP_PARAMS(qr_combine, step)->part, "q") == 0;
    int64_t bytes = (grid->shape[0] + grid->shape[1]) * grid->shape[1] * ELEMENT_BYTES;
    struct gr_tiled rows;
    struct gr_piece made;
    granary_err err = grid_rechunk(t, i, in, (int64_t[8]){grid->block[0], grid->shape[1]}, &rows);

    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, &t->tiled[i], 2, step->type->shape, step->type->shape);
    }
    if (err == GRANARY_OK) {
        made = tall_factor(t, i, GR_CHUNK_qr, rows.pieces, rows.count, bytes);
        t->tiled[i].pieces[0] = (struct gr_piece){made.op, q ? 0 : 1};
        err = gr_chunks_error(t->chunks);
    }
    return err;
}

granary_err
tile_qr_apply(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_params_qr_apply *params = GR_STEP_PARAMS(qr_apply, step);
    const struct gr_tiled *in = &t->tiled[step->inputs[0]];
    int64_t n = in->grid->shape[1];
    int64_t from = gr_tensor_part(params->rows, params->part, params->parts, params->align);
    struct gr_piece *q = NULL;
    struct gr_tiled rows, top;
    granary_err err = tile_gather(t, i, &t->tiled[step->inputs[1]], &top);

    if (err == GRANARY_OK) {
        err = grid_rechunk(t, i, in, (int64_t[8]){params->block, n}, &rows);
    }
    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, &t->tiled[i], 2, step->type->shape, (int64_t[8]){params->block, n});
    }
    q = err == GRANARY_OK ? tiling_scratch(t, rows.count, sizeof *q) : NULL;
    if (err == GRANARY_OK && q == NULL) {
        err = tile_no_memory();
    }
    for (size_t b = 0; err == GRANARY_OK && b < rows.count; b++) {
        q[b] = tall_factor(t, i, GR_CHUNK_qr, &rows.pieces[b], 1, (int64_t)rows.bytes[b] + n * n * ELEMENT_BYTES);
        err = gr_chunks_error(t->chunks);
    }
    if (err == GRANARY_OK) {
        tall_apply(t, i, &rows, q, top.pieces[0], from / params->block, t->tiled[i].pieces);
        err = gr_chunks_error(t->chunks);
    }
    return err;
}
