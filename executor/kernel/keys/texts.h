/* Different texts, numbered in the order in which they first came. Owned; all zero is the empty set. */
#ifndef KERNEL_KEYS_TEXTS_H
#define KERNEL_KEYS_TEXTS_H

#include "data/frame.h"

struct text_slot;

struct texts {
    uint32_t count;
    uint64_t *ends; /* where each text ends in bytes; the next one begins there */
    char *bytes;
    /* private */
    uint32_t room;
    uint64_t bytes_room;
    struct text_slot *slots;
    uint32_t slot_count; /* a power of two, or 0 */
};

void texts_fini(struct texts *texts);

/* The number of a text, which is put in when it is new. Errors: ENOMEM · EFULL 2^31 texts */
granary_err texts_code(struct texts *texts, const char *text, size_t size, uint32_t *ret_code);

static inline const char *
texts_at(const struct texts *texts, uint32_t code, size_t *ret_size)
{
    uint64_t begin = code > 0 ? texts->ends[code - 1] : 0;

    *ret_size = (size_t)(texts->ends[code] - begin);
    return texts->bytes + begin;
}

/* A hash of bytes that is the same in every process, and of a word. */
uint64_t text_hash(const char *text, size_t size);

static inline uint64_t
word_mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x;
}

/* The hash of one value more of a key; NULL_HASH stands for a null. */
#define NULL_HASH UINT64_C(0x6e756c6c6e756c6c)

static inline uint64_t
key_hash(uint64_t hash, uint64_t value)
{
    return word_mix(hash * UINT64_C(0x9e3779b97f4a7c15) + value);
}

#endif
