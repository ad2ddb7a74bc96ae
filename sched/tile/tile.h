/*
 * Tiling: every step becomes operators on chunks, and is from then on known by the pieces they yield.
 *
 * What a target yields does not depend on how it is cut; the order of a frame's pieces is the order of its rows.
 */
#ifndef TILE_TILE_H
#define TILE_TILE_H

#include "tile/core/tiled.h"

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
    struct gr_piece *spare; /* not made for their own sake, but kept if they are: what steps yield that are spare */
    size_t spare_count;
};
/* To be called once after each gr_tiling_go(): from then on all operators there are count as handed out. Errors: ENOMEM
 */
granary_err gr_tiling_wants(struct tiling *t, struct gr_wants *ret_wants);
void gr_wants_free(struct gr_wants *wants);

#endif
