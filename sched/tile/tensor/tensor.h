/* What rules for tensors share: whole tensors, and inputs that are cut alike. */
#ifndef TILE_TENSOR_TENSOR_H
#define TILE_TENSOR_TENSOR_H

#include "tile/core/rules.h"

/* The step's tensor by operators that have no inputs, one a block: attributes shape, offset and size, and these. */
granary_err tile_tensor_source(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs shared);

/* A tensor in one chunk. Errors: EINVAL it is too large for that · ENOMEM */
granary_err tile_gather(struct tiling *t, size_t i, const struct gr_tiled *input, struct gr_tiled *ret_whole);

/* Whether a line of so many elements may be in one piece. Errors: EINVAL it is too large for that */
granary_err tile_check_line(const struct tiling *t, int64_t elements);

/* All inputs of a step cut alike: a grid over the shape they broadcast to. */
struct tile_aligned {
    struct gr_grid grid;
    size_t count;
    struct gr_tiled operands[GR_PROGRAM_INPUTS];
};
/* Errors: ENOMEM, EINVAL */
granary_err tile_align(struct tiling *t, size_t i, struct tile_aligned *ret_aligned);

/* The same, but dimensions that are not flagged as reduced are in one piece. */
granary_err tile_align_whole(struct tiling *t, size_t i, const bool *reduced, struct tile_aligned *ret_aligned);

/* Which dimensions a step's attribute `axes` names; all without it. */
void tile_read_axes(const struct gr_step *step, int dims, bool *ret_reduced);

/* The inputs' pieces under a block. */
void tile_aligned_at(const struct tile_aligned *aligned, const int64_t *position, struct gr_piece *ret_pieces);

#endif
