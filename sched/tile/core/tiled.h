/* A step that was tiled: the pieces it yields; and what tiling goes by. */
#ifndef TILE_CORE_TILED_H
#define TILE_CORE_TILED_H

#include "graph/user/function.h"
#include "optimize/steps.h"
#include "tile/core/chunk.h"

struct gr_file;
struct gr_table;

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
    struct gr_piece *pieces; /* this and the other arrays are the tiling's */
    struct gr_piece one;
    uint64_t *bytes;      /* estimate of each piece; frames and tensors */
    int64_t *rows;        /* frames: of each piece, -1 where unknown */
    struct gr_grid *grid; /* tensors */
    bool deferred;        /* frames: its operators were put off (core/defer.c) */
    bool wide;            /* stored frames: with columns the step does not yield; readers select, where they lie */
};

struct gr_tile_options {
    int64_t chunk_bytes;         /* tensors; 0: automatic */
    uint64_t memory_bytes;       /* of the store; 0: unknown */
    uint64_t outer_memory_bytes; /* in a recursion's body, which is not cut by it: of the store; 0: unknown */
};

/* What is known of what steps read or run, by step. */
struct gr_sources {
    struct gr_table *const *tables;                                       /* known, of each table */
    struct gr_file *const *files;                                         /* known, of each operator on files */
    struct gr_function *const *functions;                                 /* of each map_chunk and call */
    uint64_t (*distinct)(const struct gr_file *file, const char *column); /* gr_file_distinct() */
};

/* Tiling at work: tile/tile.h. */
struct tiling;

/* Take the answer of an info operator; a second one to the same is ignored. Errors: EPROTO · ENOMEM */
granary_err gr_tiling_answer(struct tiling *t, uint32_t op, const ProtobufCBinaryData *answer);

#endif
