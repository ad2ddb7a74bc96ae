/*
 * Factorizations. QR and singular values of a tall matrix go by blocks of rows. Their size follows from the matrix
 * alone, so chunks do not change the result. Everything else is gathered into one chunk.
 */
#include <string.h>

#include "base/error.h"
#include "graph/tensor/tall.h"
#include "tile/tensor/tall.h"

#define GATHER_BYTES ((int64_t)1 << 30) /* without a budget; else a quarter of that */
#define GATHER_PARTS 4

/* ---- one chunk ---- */

/* Errors: EINVAL it is too large for one chunk */
static granary_err
check_gather(const struct tiling *t, const struct gr_grid *grid)
{
    int64_t bytes = tile_product(grid->shape, grid->dims);
    int64_t most = t->options->memory_bytes > 0 ? (int64_t)(t->options->memory_bytes / GATHER_PARTS) : GATHER_BYTES;

    bytes = bytes > INT64_MAX / 16 ? INT64_MAX : bytes * tile_element_bytes(t);
    if (bytes > most) {
        return gr_fail(
            GRANARY_EINVAL,
            "it works on one chunk, which would have %.3g MB; %.3g MB are possible, so give the store more memory",
            (double)bytes / (1 << 20), (double)most / (1 << 20));
    }
    return GRANARY_OK;
}

granary_err
tile_gather(struct tiling *t, size_t i, const struct gr_tiled *input, struct gr_tiled *ret_whole)
{
    granary_err err = check_gather(t, input->grid);

    return err == GRANARY_OK ? grid_rechunk(t, i, input, input->grid->shape, ret_whole) : err;
}

static granary_err
tile_gathered(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_tiled *out = &t->tiled[i];
    gr_attrs attrs = tiling_attrs(t, i, NAMES("part", "lower", "rcond"));
    struct gr_piece pieces[2];
    granary_err err = GRANARY_OK;

    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("function", gr_op_info(step->op)->name));
    for (size_t k = 0; k < step->input_count && err == GRANARY_OK; k++) {
        struct gr_tiled whole;

        err = tile_gather(t, i, &t->tiled[step->inputs[k]], &whole);
        if (err == GRANARY_OK) {
            pieces[k] = whole.pieces[0];
        }
    }
    if (err == GRANARY_OK) {
        err = tiled_init_grid(t, out, step->type->dims, step->type->shape, step->type->shape);
    }
    if (err == GRANARY_OK) {
        out->pieces[0] = tiling_add(t, i, GR_CHUNK_linalg, attrs, pieces, step->input_count, out->bytes[0]);
    }
    return err;
}

#define GATHERED(name) TILE_AS(name, tile_gathered(t, i))
GATHERED(cholesky)
GATHERED(det)
GATHERED(inv)
GATHERED(solve)
GATHERED(solve_triangular)
GATHERED(lstsq)
GATHERED(lu)
GATHERED(eigh)
GATHERED(eig)
#undef GATHERED

/* ---- tall matrices ---- */

/* What the parts of one factorization share. */
struct tile_factors {
    struct tile_factors *next;
    size_t input; /* step */
    enum gr_tile_op op;
    uint32_t from;      /* operators at and above it were made for this */
    struct gr_tiled q;  /* or u: blocks of rows */
    struct gr_piece r;  /* of svd: s */
    struct gr_piece vt; /* of svd */
};

/* Rows of a block: they follow from the matrix alone. */
static int64_t
rows_of_block(const struct gr_grid *grid)
{
    int64_t rows = grid->shape[0] > 0 ? grid->shape[0] : 1;

    return gr_factor_is_tall(grid->shape[0], grid->shape[1]) ? gr_factor_block(grid->shape[0], grid->shape[1]) : rows;
}

/* Blocks b: q_b, r_b. All r below one another: q', r. Then q_b times its rows of q', for svd of q' times u of r. */
static granary_err
factor(struct tiling *t, size_t i, struct tile_factors *f)
{
    const struct gr_tiled *input = &t->tiled[f->input];
    int64_t n = input->grid->shape[1];
    int64_t square = n * n * ELEMENT_BYTES;
    bool svd = f->op == GR_TILE_svd;
    struct gr_tiled rows = {0};
    struct gr_piece *parts = NULL;
    struct gr_piece top, last;
    bool one = rows_of_block(input->grid) >= input->grid->shape[0];
    granary_err err = one ? check_gather(t, input->grid) : GRANARY_OK;

    if (err == GRANARY_OK) {
        err = grid_rechunk(t, i, input, (int64_t[8]){rows_of_block(input->grid), n}, &rows);
    }
    if (err == GRANARY_OK) {
        err = tiled_init_grid(
            t, &f->q, 2, (int64_t[8]){input->grid->shape[0], input->grid->shape[0] < n ? input->grid->shape[0] : n},
            (int64_t[8]){rows.grid->block[0], n});
    }
    if (err == GRANARY_OK && rows.count == 1) {
        last =
            tall_factor(t, i, svd ? GR_CHUNK_svd : GR_CHUNK_qr, rows.pieces, 1, (int64_t)(2 * rows.bytes[0]) + square);
        f->q.pieces[0] = last;
        f->q.bytes[0] = rows.bytes[0];
        f->r = (struct gr_piece){last.op, 1};
        f->vt = (struct gr_piece){last.op, 2};
        return err;
    }
    parts = err == GRANARY_OK ? tiling_scratch(t, rows.count, sizeof *parts) : NULL;
    if (err == GRANARY_OK && parts == NULL) {
        err = tile_no_memory();
    }
    for (size_t b = 0; b < rows.count && err == GRANARY_OK; b++) {
        f->q.pieces[b] = tall_factor(t, i, GR_CHUNK_qr, &rows.pieces[b], 1, (int64_t)rows.bytes[b] + square);
        f->q.bytes[b] = rows.bytes[b];
        parts[b] = (struct gr_piece){f->q.pieces[b].op, 1};
        err = gr_chunks_error(t->chunks);
    }
    if (err == GRANARY_OK) {
        last = tall_factor(t, i, GR_CHUNK_qr, parts, rows.count, (int64_t)rows.count * square + square);
        top = last;
        f->r = (struct gr_piece){last.op, 1};
        if (svd) {
            struct gr_piece product[2];
            gr_attrs attrs = gr_chunks_attrs(t->chunks);
            int64_t over =
                input->grid->shape[0] - (int64_t)(rows.count - 1) * rows.grid->block[0]; /* in the last block */
            int64_t stacked = (int64_t)(rows.count - 1) * n + (over < n ? over : n);

            gr_attrs_add(t->chunks, attrs, gr_attr_new_int("strip", gr_product_strip(stacked)));
            last = tall_factor(t, i, GR_CHUNK_svd, &f->r, 1, 3 * square);
            product[0] = top;
            product[1] = last;
            f->r = (struct gr_piece){last.op, 1};
            f->vt = (struct gr_piece){last.op, 2};
            top = tiling_add(t, i, GR_CHUNK_matmul, attrs, product, 2, rows.count * (uint64_t)square);
        }
        tall_apply(t, i, &rows, f->q.pieces, top, 0, f->q.pieces);
        err = gr_chunks_error(t->chunks);
    }
    return err;
}

/* Another step may have factored the same matrix. */
static granary_err
find_factors(struct tiling *t, size_t i, struct tile_factors **ret_factors)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct tile_factors *f = t->factors;
    granary_err err;

    while (f != NULL && (f->input != step->inputs[0] || f->op != step->op || f->from < t->handed_out)) {
        f = f->next;
    }
    if (f == NULL) {
        f = gr_region_alloc(t->memory, sizeof *f);
        if (f == NULL) {
            return tile_no_memory();
        }
        *f = (struct tile_factors){
            .next = t->factors, .input = step->inputs[0], .op = step->op, .from = t->chunks->count};
        t->factors = f;
        if ((err = factor(t, i, f)) != GRANARY_OK) {
            f->from = 0;
            return err;
        }
    }
    *ret_factors = f;
    return GRANARY_OK;
}

static granary_err
tile_factored(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_tiled *out = &t->tiled[i];
    const char *part = GR_STEP_PARAMS(qr, step)->part; /* or of svd */
    struct tile_factors *f = NULL;
    granary_err err = find_factors(t, i, &f);

    if (err != GRANARY_OK) {
        return err;
    }
    if (strcmp(part, "q") == 0 || strcmp(part, "u") == 0) {
        err = tiled_init_grid(t, out, 2, f->q.grid->shape, f->q.grid->block);
        if (err == GRANARY_OK) {
            memcpy(out->pieces, f->q.pieces, out->count * sizeof *out->pieces);
            memcpy(out->bytes, f->q.bytes, out->count * sizeof *out->bytes);
        }
        return err;
    }
    err = tiled_init_grid(t, out, step->type->dims, step->type->shape, step->type->shape);
    if (err == GRANARY_OK) {
        out->pieces[0] = strcmp(part, "vt") == 0 ? f->vt : f->r;
    }
    return err;
}

TILE_AS(qr, tile_factored(t, i))
TILE_AS(svd, tile_factored(t, i))
