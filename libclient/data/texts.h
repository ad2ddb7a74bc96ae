/*
 * Strings (and other bytes) numbered: 0, 1, ... in the order in which they are first seen. Dictionaries, keys that are
 * strings and keys of several words are numbered so.
 */
#ifndef DATA_TEXTS_H
#define DATA_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "data/frame.h"

#define GR_TEXTS_NONE  UINT32_MAX
#define GR_TEXTS_BLOCK 128

struct gr_text {
    const char *bytes; /* not NUL-terminated; NULL only when size is 0 */
    size_t size;
};

struct gr_text_slot {
    uint32_t tag;    /* upper half of the hash */
    uint32_t number; /* + 1; 0: free */
};

/* Owned; all zero is the empty set. */
struct gr_texts {
    uint64_t count;
    uint64_t *offsets; /* count + 1, where each begins and the last ends; NULL: there is none */
    char *bytes;
    struct gr_text_slot *slots; /* linear probing, at most half full */
    uint64_t slot_count;        /* a power of two, or 0 */
    /* private */
    uint64_t room;
    uint64_t bytes_room;
};

void gr_texts_free(struct gr_texts *texts);

/* Room for so many more, and their bytes: no addition moves anything then. Errors: ENOMEM */
granary_err gr_texts_reserve(struct gr_texts *texts, uint64_t count, uint64_t bytes);

/* The number of a text, a new one if it is new. Errors: ENOMEM · EFULL 2^32 - 2 texts */
granary_err gr_texts_add(struct gr_texts *texts, const char *text, size_t size, uint32_t *ret_number);
/* The same of up to GR_TEXTS_BLOCK texts. Faster than one by one: what many of them touch is fetched ahead. */
granary_err
gr_texts_add_block(struct gr_texts *texts, const struct gr_text *added, size_t count, uint32_t *ret_numbers);
/* GR_TEXTS_NONE: it is not among them. */
uint32_t gr_texts_find(const struct gr_texts *texts, const char *text, size_t size);

/* The numbers of all strings of a plain column without nulls, by row; *ret_numbers is to be freed. Errors: as
 * gr_texts_add() */
granary_err gr_texts_add_column(struct gr_texts *texts, const granary_column *column, uint32_t **ret_numbers);

/* All of them as a new owned plain column of that dtype. Errors: ENOMEM · EFULL over 2 GiB */
granary_err gr_texts_column(const struct gr_texts *texts, granary_dtype dtype, struct gr_column *ret_column);

/* The same bytes have the same hash in every process. */
uint64_t gr_text_hash(const char *text, size_t size);

static inline uint64_t
gr_texts_bytes(const struct gr_texts *texts)
{
    return texts->count > 0 ? texts->offsets[texts->count] : 0;
}

static inline const char *
gr_texts_at(const struct gr_texts *texts, uint64_t number, size_t *ret_size)
{
    *ret_size = (size_t)(texts->offsets[number + 1] - texts->offsets[number]);
    return texts->bytes + texts->offsets[number];
}

#endif
