/* Within group_keys: how keys are numbered. keys_plan.c decides it, keys.c does
 * it, keys_values.c gives keys back. */
#ifndef KERNEL_KEYS_KEYS_PARTS_H
#define KERNEL_KEYS_KEYS_PARTS_H

#include "data/texts.h"
#include "kernel/keys/keys.h"

/* How the values of a key become bits. */
enum part_form {
    PART_CODES, /* numbers below size */
    PART_WORD,  /* all 64 bits */
    PART_WIDE,  /* 128 bits: two words */
};

struct key_part {
    granary_dtype dtype;
    enum part_form form;
    bool has_null;   /* nulls are kept: CODES: size - 1; else a bit of their own */
    uint64_t size;   /* CODES */
    int64_t least;   /* integers as CODES: of code 0 */
    uint32_t stride; /* direct */
    /* packed */
    unsigned word;
    unsigned shift;
    unsigned bits;
    unsigned null_word;
    unsigned null_shift;
    /* strings */
    const granary_column *dictionary; /* NULL: the texts */
    struct gr_texts texts;
    uint32_t **maps; /* by source; NULL: codes as they are */
};

/* Linear probing; at most half full. */
struct key_slot {
    uint32_t tag; /* upper half of the hash */
    uint32_t id;  /* 0: free */
};

struct group_keys {
    struct rows *const *sources;
    size_t source_count;
    size_t count;
    bool keep_nulls;
    struct key_part *parts;
    bool direct;
    uint32_t room; /* direct: how many numbers; else 1 + groups */
    /* packed */
    unsigned words; /* of a key */
    uint64_t *values;
    uint32_t values_room;
    struct key_slot *slots;
    uint32_t slot_count;
    bool in_order;    /* one key, of plain text: texts are numbered as groups are, but for the null; no slots */
    uint32_t null_id; /* in_order: the group of the null; 0: none yet */
    /* of a block */
    uint8_t drop[ROWS_BLOCK];
    uint64_t codes[ROWS_BLOCK];
    uint64_t high[ROWS_BLOCK];
    uint64_t hashes[ROWS_BLOCK];
    uint64_t *packed; /* words * ROWS_BLOCK */
};

static inline const struct rows_vector *
key_vector(const struct group_keys *keys, size_t source, size_t k)
{
    return rows_vector(keys->sources[source], k);
}

#endif
