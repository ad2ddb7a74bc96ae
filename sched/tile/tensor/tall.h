/* Within the room: products and factorisations of tall matrices by blocks of rows (graph/tensor/tall.h). */
#ifndef TILE_TENSOR_TALL_H
#define TILE_TENSOR_TALL_H

#include "tile/tensor/tensor.h"

/* Left (m x k) times right (k x n) as a sum of products of `block` columns and rows: a piece for each block.
 * strip: rows of the left side that are multiplied at once. Errors: EINVAL, ENOMEM */
granary_err
tall_products(struct tiling *t, size_t i, const struct gr_tiled *left, const struct gr_tiled *right, int64_t block,
              int64_t strip, granary_dtype dtype, struct gr_piece **ret_pieces, size_t *ret_count);
/* The sum of m x n pieces, in that dtype, as the step's only piece. Errors: EINVAL, ENOMEM */
granary_err tall_add_up(struct tiling *t, size_t i, struct gr_piece *pieces, size_t count, granary_dtype summed);

/* A qr (2 outputs) or svd (3) of matrices below one another. */
struct gr_piece tall_factor(struct tiling *t, size_t i, enum gr_chunk_op op, const struct gr_piece *inputs,
                            size_t count, int64_t bytes);
/* q_b of each block of rows times the rows of `top` that are its own; first: of the first block. */
void tall_apply(struct tiling *t, size_t i, const struct gr_tiled *rows, const struct gr_piece *q, struct gr_piece top,
                int64_t first, struct gr_piece *ret_pieces);

#endif
