/*
 * Tiling: every step becomes operators on chunks, and is from then on known by the pieces they yield.
 *
 * What a target yields does not depend on how it is cut; the order of a frame's pieces is the order of its rows.
 */
#ifndef TILE_TILE_H
#define TILE_TILE_H

#include "graph/function.h"
#include "optimize/steps.h"
#include "tile/chunk.h"
#include "tile/csv.h"

/* How a tensor is cut: a grid of equal blocks, the last ones along each dimension smaller. Row-major. */
struct gr_grid {
    int dims;
    int64_t shape[8];
    int64_t block[8];  /* at least 1 */
    int64_t splits[8]; /* blocks along each dimension, at least 1 */
};

/* A step that was tiled. */
struct gr_tiled {
    size_t count;
    struct gr_piece *pieces; /* owned, unless it is &one */
    struct gr_piece one;
    uint64_t *bytes;      /* estimate of each piece; frames and tensors */
    int64_t *rows;        /* frames: of each piece, -1 where unknown */
    struct gr_grid *grid; /* tensors */
};

struct gr_tile_options {
    int64_t chunk_bytes;   /* tensors; 0: automatic */
    uint64_t memory_bytes; /* of the store; 0: unknown */
};

/*
 * Tile all live steps into chunks.
 *
 * csvs       by step: the READY file of each read_csv
 * functions  by step: what each map_chunk and call runs
 * ret_tiled  by step; to be given to gr_tiled_free() with steps->count
 * Errors     ENOMEM · EINVAL too many chunks; the message names the node
 */
granary_err gr_tile(const struct gr_steps *steps, struct gr_csv *const *csvs, struct gr_function *const *functions,
                    const struct gr_tile_options *options, struct gr_chunks *chunks, struct gr_tiled **ret_tiled);
void gr_tiled_free(struct gr_tiled *tiled, size_t count);

#endif
