/* Within the room: one tile rule an operator, and what they share. */
#ifndef TILE_CORE_RULES_H
#define TILE_CORE_RULES_H

#include "graph/ops.h"
#include "graph/tensor/map.h"
#include "tile/core/measured.h"
#include "tile/core/tiled.h"

/* An input of a step that is not tiled yet. */
struct step_input {
    struct gr_tiled narrowed; /* cut down to what is read; pieces NULL: not (yet) */
    bool asked;               /* its pieces are to be measured */
    struct gr_measured *measured;
};
struct step_inputs {
    size_t count;
    struct step_input of[];
};

/* What was told of a piece. */
struct piece_info {
    struct gr_piece piece;
    bool used;
    const Granary__FrameInfo *info; /* NULL: it was asked for */
};

/* What statistics leave out of one file of many, or of all of them. */
struct left_out {
    size_t groups;         /* row groups that there are */
    size_t skipped_groups; /* by their statistics */
    size_t bloom_groups;   /* of the others, by their Bloom filters */
    int64_t rows;          /* of the row groups that are left */
    int64_t skipped_rows;
};

/* A step that waits, and how far it was seen that what it asked for is known. */
struct waiting {
    size_t step;
    size_t input;
    size_t piece;
};

/* Tile step i, whose inputs are tiled. Errors without the node's name. One for every operator of contract/ops/ops.def that is not written as
 * others. */
struct tiling;
typedef granary_err tile_rule(struct tiling *t, size_t i);

struct tiling {
    tile_rule *const *rules; /* by operator; NULL of those that are written as others */
    const struct gr_steps *steps;
    const struct gr_sources *sources;
    const struct gr_tile_options *options;
    struct gr_chunks *chunks;
    struct gr_region *memory;    /* what stays until the tiling ends: tiled, inputs, all they lead to, ... */
    struct gr_region *scratch;   /* what a rule takes: given back when it returns */
    struct gr_tiled *tiled;      /* by step */
    struct step_inputs **inputs; /* by step; NULL: nothing is noted */
    uint32_t *readers;           /* by step: inputs of live steps that it is */
    size_t untiled;              /* live steps */
    bool begun;
    struct waiting *waiting; /* a queue */
    size_t waiting_first;
    size_t waiting_end;
    size_t waiting_room;
    struct piece_info *infos; /* open addressing; info_room a power of two, or 0 */
    size_t info_count;
    size_t info_room;
    Granary__FrameInfos **answers; /* owned; infos lead into them */
    size_t answer_count;
    size_t answer_room;
    uint32_t handed_out; /* operators below it */
    uint32_t *asks;      /* info operators that are not handed out yet */
    size_t ask_count;
    size_t ask_room;
    bool *wanted;          /* by step: it is a target, and its pieces were wanted */
    struct gr_piece *held; /* sorted */
    size_t held_count;
    int64_t element_bytes;          /* of the step that is being tiled: 16 where a number is complex128 */
    struct left_out left_out;       /* of the step that is being tiled, where it reads many files */
    struct tile_factors *factors;   /* tensor/linalg.c */
    struct tile_partials *partials; /* tensor/reduce.c */
};

static inline int64_t
tile_element_bytes(const struct tiling *t)
{
    return t->element_bytes > 0 ? t->element_bytes : 8;
}

/* A rule that cannot go on before its inputs are measured returns this, and is called again when they are. */
#define TILE_WAIT ((granary_err)1)

#define OP(name, yields, min_inputs, max_inputs, summary) tile_rule tile_##name;
#define OP_WRITTEN(name, yields, min_inputs, max_inputs, summary)
#include "contract/ops/ops.def"

/* How many inputs an operator reads when many pieces become one, level by level. */
#define TILE_FAN_IN 8

/* Another operator that is tiled as some are. */
#define TILE_AS(name, ...)                                                                                             \
    granary_err tile_##name(struct tiling *t, size_t i)                                                                \
    {                                                                                                                  \
        return __VA_ARGS__;                                                                                            \
    }

/* Zeroed room for count items until the rule returns. NULL: no memory. */
void *tiling_scratch(struct tiling *t, size_t count, size_t size);

/* Room for count pieces (and what frames or tensors know of them), all zero, rows -1. Errors: ENOMEM */
granary_err tiled_init(struct tiling *t, struct gr_tiled *tiled, size_t count, bool is_frame);
/* Copies of the pieces and bytes of `in`, to be merged in place. Errors: ENOMEM */
granary_err tiled_copy(struct tiling *t, const struct gr_tiled *in, struct gr_tiled *ret_copy);
/* The step's frame is this piece, of about so many bytes. Errors: ENOMEM */
granary_err tiling_yield_one(struct tiling *t, size_t i, struct gr_piece piece, uint64_t bytes);

/*
 * Input k of step i, cut down to the rows and columns it reads; valid until the step is tiled. Without memory, which
 * sticks in the chunks, it is one piece of no rows.
 */
const struct gr_tiled *tiling_input(struct tiling *t, size_t i, size_t k);

/*
 * The pieces of frame input k of step i as they were made: rows, bytes, per column nulls, least and greatest value,
 * how many distinct ones. NULL: not known yet; the rule returns TILE_WAIT (after it has asked for all it wants), and is
 * called again, from its beginning, when they are. What it asks for is then made and looked at; everything that does
 * not depend on this step runs meanwhile. An answer costs a round trip: do not ask when the estimates decide already
 * (tiling_input(): bytes are rather too many than too few).
 * Targets must not depend on it, only what they cost. Valid until the step is tiled.
 */
const struct gr_measured *tiling_measured(struct tiling *t, size_t i, size_t k);

/* Put `columns` into the set: the names of the columns the step yields; with dtypes, also `dtypes`, or only these. */
void tiling_add_columns(struct tiling *t, const struct gr_step *step, gr_attrs attrs);
void tiling_add_only_dtypes(struct tiling *t, const struct gr_step *step, gr_attrs attrs);
void tiling_add_dtypes(struct tiling *t, const struct gr_step *step, gr_attrs attrs);

#define NAMES(...)                                                                                                     \
    ((const char *const[]){__VA_ARGS__}), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

/* A new set with copies of the named attributes of the step (those it has). */
gr_attrs tiling_attrs(struct tiling *t, size_t i, const char *const *names, size_t count);

/* One operator with one output. */
struct gr_piece tiling_add(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs shared,
                           const struct gr_piece *inputs, size_t input_count, uint64_t bytes);
/* The same with attributes of its own beside the shared ones. */
struct gr_piece tiling_add_own(struct tiling *t, size_t i, enum gr_chunk_op op, const gr_attrs attrs[2],
                               const struct gr_piece *inputs, size_t input_count, uint64_t bytes);
/* A new set of one number: which of many an operator is, or deals with. */
gr_attrs tiling_number(struct tiling *t, const char *name, uint64_t number);

enum tile_growth { TILE_SUM, TILE_MAX }; /* a merged piece is as large as its inputs together, or as the largest */

/*
 * Merge neighbours, fan_in at a time, until at most fan_in pieces are left; all of one operator.
 *
 * pieces, bytes  count entries; overwritten with those that are left
 * Returns        how many are left
 */
size_t tiling_tree(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs attrs, struct gr_piece *pieces,
                   uint64_t *bytes, size_t count, size_t fan_in, enum tile_growth growth);

/* Objects that are there, by their ids, as outputs of one operator. Errors: EINVAL */
granary_err tile_objects(struct tiling *t, size_t i, const Granary__Attr *ids, struct gr_piece *ret_first);
/* One operator a chunk of the input, with these attributes. keeps_rows: as many rows come out as go in. */
granary_err tile_rows(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs attrs, bool keeps_rows);

/* Rows from, from + step, ... of piece p, which has rows[p], as the next piece of `out`: so many of them. */
void tiling_add_slice(struct tiling *t, size_t i, const struct gr_tiled *in, size_t p, const int64_t *rows,
                      int64_t from, int64_t count, int64_t step, struct gr_tiled *out);
/* Cut the frame, whose pieces' rows are known, down to its rows [from, to). Errors: ENOMEM */
granary_err tiling_keep_rows(struct tiling *t, size_t i, struct gr_tiled *tiled, int64_t from, int64_t to);

/* From now on the pieces, which are packed frames, are those of that number. */
void pieces_choose(struct gr_piece *pieces, size_t count, size_t number);
uint64_t bytes_sum(const uint64_t *bytes, size_t count);
uint64_t bytes_max(const uint64_t *bytes, size_t count);

/* ---- tensors ---- */

#define ELEMENT_BYTES 8 /* of what is estimated; smaller dtypes are smaller, and see tiling.element_bytes */

/* Room for the pieces of a grid of that shape and block, with their bytes. Errors: EINVAL too many · ENOMEM */
granary_err
tiled_init_grid(struct tiling *t, struct gr_tiled *tiled, int dims, const int64_t *shape, const int64_t *block);
/* Where block number n (row-major) begins and how far it goes. */
void grid_block(const struct gr_grid *grid, size_t n, int64_t *ret_offset, int64_t *ret_size);
/* Position of a block in each dimension, and back. */
void grid_position(const struct gr_grid *grid, size_t n, int64_t *ret_position);
size_t grid_number(const struct gr_grid *grid, const int64_t *position);
/* The next position between first and last, row-major; false behind the last. */
bool grid_next(int dims, const int64_t *first, const int64_t *last, int64_t *position);
int64_t tile_product(const int64_t *values, int count);
/* Elements an automatic block has at most. */
int64_t tile_block_elements(const struct tiling *t);
/* Halve the longest side until the block has at most that many elements. */
void tile_shrink(int64_t *block, int dims, int64_t elements);

/* *ret_tiled has the same tensor with another block; the pieces themselves where nothing changes.
 * Errors: ENOMEM, EINVAL */
granary_err grid_rechunk(struct tiling *t, size_t i, const struct gr_tiled *tensor, const int64_t *block,
                         struct gr_tiled *ret_tiled);

/* ---- within tiling itself ---- */

/* What is noted of input k of step i. NULL: no memory. */
struct step_input *tiling_note(struct tiling *t, size_t i, size_t k);
/* Whether all that step asked for is known. */
bool tiling_is_told(const struct tiling *t, struct waiting *waiting);
/* Add operators that look at what step i has asked for. Errors: ENOMEM */
granary_err tiling_ask(struct tiling *t, size_t i);
void tiling_forget_answers(struct tiling *t);
/* What is known of a piece beforehand. Errors: ENOMEM */
granary_err tiling_tell(struct tiling *t, struct gr_piece piece, const Granary__FrameInfo *info);
/* A piece of step i that is others one below the other: what is known of all of them is known of it. Errors: ENOMEM */
granary_err
tiling_tell_together(struct tiling *t, size_t i, struct gr_piece piece, const struct gr_piece *parts, size_t count);
/* defer.c: whether input k (tiling_input()) of step i, which is not tiled, is made when that is; it is noted then. */
bool tiling_defer(struct tiling *t, size_t i, size_t k);
/* New operators for the inputs of step i that were put off, now that it is to be tiled. Errors: ENOMEM */
granary_err tiling_renew_inputs(struct tiling *t, size_t i);
/* small.c: put very many small pieces of step i, which was just tiled, together. Errors: ENOMEM */
granary_err tiling_join_small(struct tiling *t, size_t i);

#endif
