/*
 * Tiling: every step becomes operators on chunks, and is from then on known by the pieces they yield.
 *
 * What a target yields does not depend on how it is cut; the order of a frame's pieces is the order of its rows.
 */
#ifndef TILE_TILE_H
#define TILE_TILE_H

#include "graph/function.h"
#include "optimize/steps.h"
#include "tile/core/chunk.h"
#include "tile/source/csv.h"
#include "tile/source/table.h"

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
    bool wide;            /* stored frames: with columns the step does not yield; readers select, where they lie */
};

struct gr_tile_options {
    int64_t chunk_bytes;   /* tensors; 0: automatic */
    uint64_t memory_bytes; /* of the store; 0: unknown */
};

void gr_tiled_free(struct gr_tiled *tiled, size_t count);

/* What is known of what steps read or run, by step. */
struct gr_sources {
    struct gr_csv *const *csvs;           /* the READY file of each read_csv */
    struct gr_table *const *tables;       /* known, of each table */
    struct gr_file *const *files;         /* of each operator on other files */
    struct gr_function *const *functions; /* of each map_chunk and call */
};

/*
 * Tiling at work. Steps are tiled in order as soon as their inputs are; one that must know what its inputs have become
 * waits, and holds up only what reads it.
 *
 * Which operators there are does not depend on the order in which answers come: steps that wait go on one at a time, in
 * the order in which they asked.
 */
struct tiling;

/* All that is given must outlive it. Errors: ENOMEM */
granary_err
gr_tiling_create(const struct gr_steps *steps, const struct gr_sources *sources, const struct gr_tile_options *options,
                 struct gr_chunks *chunks, struct tiling **ret_tiling);
void gr_tiling_destroy(struct tiling *t); /* NULL is fine */

/*
 * Go on: the first time with all steps, then with the one that waits longest, if it was told all it asked for, and with
 * what follows from it. *ret_more: another call would go on at once.
 * Errors: ENOMEM · EINVAL too many chunks; the message names the node
 */
granary_err gr_tiling_go(struct tiling *t, bool *ret_more);

/* Some live step is not tiled yet. */
bool gr_tiling_waits(const struct tiling *t);
/* What step i yields; NULL: it is not tiled yet. */
const struct gr_tiled *gr_tiling_step(const struct tiling *t, size_t i);

/* What is to be made now. Arrays are owned: gr_wants_free(). */
struct gr_wants {
    struct gr_piece *roots; /* targets' pieces, those steps will read that are not tiled yet, questions */
    size_t count;
    size_t kept;              /* of them, the targets': they come first */
    size_t held;              /* those that follow: they must stay until they are settled */
    struct gr_piece *settled; /* held until now */
    size_t settled_count;
};
/* To be called once after each gr_tiling_go(): from then on all operators there are count as handed out. Errors: ENOMEM
 */
granary_err gr_tiling_wants(struct tiling *t, struct gr_wants *ret_wants);
void gr_wants_free(struct gr_wants *wants);

/* Take the answer of an info operator; a second one to the same is ignored. Errors: EPROTO · ENOMEM */
granary_err gr_tiling_answer(struct tiling *t, uint32_t op, const ProtobufCBinaryData *answer);

#endif
