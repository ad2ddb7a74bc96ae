/* Inside join: a build at work. Its keys become words (build_words.c), the words an index (build_index.c). */
#ifndef KERNEL_JOIN_BUILDING_H
#define KERNEL_JOIN_BUILDING_H

#include "base/error.h"
#include "kernel/join/built.h"

struct build_key {
    granary_dtype dtype;
    bool is_bytes;
    bool any; /* min and max are there */
    int64_t min, max;
    struct gr_texts strings;
    uint32_t *ids; /* bytes: the number of every row's string, GR_TEXTS_NONE for none */
    uint64_t range;
    uint64_t stride;
};

struct build {
    size_t piece_count;
    const granary_frame *const *pieces;
    const granary_column **columns; /* piece after piece, key_count each */
    int64_t rows;
    uint32_t shift;
    size_t key_count;
    struct build_key *keys;
    char *const *names; /* of the keys */
    bool is_tuple;
    struct gr_texts tuples;
    uint32_t *tuple_ids; /* by row */
    uint32_t part;
    uint32_t part_bits;
    uint64_t nulls;
    bool must_be_unique;
    const char *side; /* for messages */
    struct built_head head;
    char *bytes;
    uint64_t size;
};

struct build_block {
    size_t piece;
    int64_t from; /* in the piece */
    int64_t n;
    int64_t row; /* of all pieces */
};

static inline granary_err
build_no_memory(const struct build *b)
{
    return gr_fail(GRANARY_ENOMEM, "join: out of memory for the keys of %lld rows", (long long)b->rows);
}

static inline const granary_column *
build_column(const struct build *b, size_t piece, size_t key)
{
    return b->columns[piece * b->key_count + key];
}

static inline uint32_t
build_reference(const struct build *b, const struct build_block *block, int64_t i)
{
    return (uint32_t)((uint64_t)block->piece << b->shift | (uint64_t)(block->from + i));
}

/* ---- build_words.c ---- */

/* The next block of rows; a zero block is before the first. */
bool build_next(const struct build *b, struct build_block *block);
/* The word of all keys together; present: 0 where there is none. */
void build_words(const struct build *b, const struct build_block *block, int64_t *words, uint8_t *present);
/* What the keys are like: ranges, numbers of strings; several are packed into a word, or numbered as tuples. Errors:
 * ENOMEM */
granary_err build_measure(struct build *b);

/* ---- build_index.c ---- */

/* Makes b->bytes. Errors: EINVAL a key that repeats · ENOMEM */
granary_err build_index(struct build *b);

#endif
