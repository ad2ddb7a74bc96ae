/*
 * The chunk graph: operators of contract/ops/chunk_ops.def and which output of which feeds which. Operators stand in
 * topological order and are never removed; a number names one for good. Built for millions of them: no allocation
 * each, attributes in sets that many operators share.
 *
 * Out of memory (or too many operators) sticks, as in gr_buf: adding goes on without effect, gr_chunks_error() tells.
 */
#ifndef TILE_CORE_CHUNK_H
#define TILE_CORE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "granary/types.h"
#include "graph/chunk/ops.h"
#include "schema/granary.pb-c.h"

/* Output `output` of operator `op`. For null, which has none, it means "after"; for operators whose only output is
 * an object of packed frames (gr_chunk_is_packed()), frame number `output` of it. */
struct gr_piece {
    uint32_t op;
    uint32_t output;
};

/* A set of attributes, for one or many operators; 0: none. */
typedef uint32_t gr_attrs;

struct gr_chunk {
    uint8_t op;        /* enum gr_chunk_op */
    bool joins;        /* of the same subtask as the operator before it: user code, files (it reads what that reads) */
    uint32_t step;     /* of gr_steps */
    uint32_t outputs;  /* how many */
    gr_attrs attrs[2]; /* shared, its own */
    uint32_t input_count;
    uint64_t first_input; /* in gr_chunks.inputs */
    uint64_t bytes;       /* estimate of all outputs */
};

struct gr_attr_set {
    Granary__Attr **attrs; /* owned */
    size_t count;
};

struct gr_chunks_body;

#define GR_CHUNKS_MAX ((uint32_t)1 << 21) /* a subtask of its own takes about a kilobyte of each */

struct gr_chunks {
    struct gr_chunk *chunks;
    uint32_t count;
    size_t room;
    struct gr_piece *inputs;
    size_t input_count;
    size_t input_room;
    struct gr_attr_set *sets; /* [0] is the empty one */
    uint32_t set_count;
    size_t set_room;
    struct gr_chunks_body **bodies; /* owned; by the attribute "body" of recurse */
    size_t body_count;
    size_t body_room;
    granary_err failed;
};

/* What a recurse runs in each round. */
struct gr_chunks_body {
    struct gr_chunks chunks;
    uint32_t outer; /* the first so many operators are not run: they stand for the recurse's inputs, in order */
    struct gr_piece end;
};
/* A new one, which lives as long as the chunks, and its number. Errors: ENOMEM */
granary_err gr_chunks_add_body(struct gr_chunks *chunks, struct gr_chunks_body **ret_body, size_t *ret_number);
/* That of a recurse. */
const struct gr_chunks_body *gr_chunk_body(const struct gr_chunks *chunks, const struct gr_chunk *chunk);

void gr_chunks_free(struct gr_chunks *chunks);
/* OK, or why the graph is incomplete: ENOMEM; EINVAL more than GR_CHUNKS_MAX operators. Sets the message. */
granary_err gr_chunks_error(const struct gr_chunks *chunks);

/* A new set of attributes. */
gr_attrs gr_chunks_attrs(struct gr_chunks *chunks);
/* Put an attribute into the set; *takes* it. NULL counts as out of memory. */
void gr_attrs_add(struct gr_chunks *chunks, gr_attrs set, Granary__Attr *attr);

struct gr_chunk_spec {
    enum gr_chunk_op op;
    bool joins;
    uint32_t step;
    gr_attrs shared;
    gr_attrs own;
    const struct gr_piece *inputs;
    size_t input_count;
    uint32_t outputs;
    uint64_t bytes;
};
/* Add an operator; returns its first output. */
struct gr_piece gr_chunks_add(struct gr_chunks *chunks, const struct gr_chunk_spec *spec);

/* The object behind an output of GR_CHUNK_object. */
granary_id gr_chunk_object(const struct gr_chunks *chunks, struct gr_piece piece);

/* Whether an operator's output is packed frames, which are read one by one. */
static inline bool
gr_chunk_is_packed(const struct gr_chunk *chunk)
{
    return chunk->op == GR_CHUNK_shuffle_split || chunk->op == GR_CHUNK_sort_split ||
           chunk->op == GR_CHUNK_window_split || chunk->op == GR_CHUNK_window_part ||
           chunk->op == GR_CHUNK_groupby_deal;
}

static inline const struct gr_piece *
gr_chunk_inputs(const struct gr_chunks *chunks, const struct gr_chunk *chunk)
{
    return chunks->inputs + chunk->first_input;
}

/* The error of whatever has found none. */
static inline granary_err
tile_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

#endif
