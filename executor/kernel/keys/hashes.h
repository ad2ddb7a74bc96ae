/* Hashes of words and keys: the same in every chunk and process. */
#ifndef KERNEL_KEYS_HASHES_H
#define KERNEL_KEYS_HASHES_H

#include "kernel/core/words.h"

/* The hash of one value more of a key; NULL_HASH stands for a null. */
#define NULL_HASH UINT64_C(0x6e756c6c6e756c6c)

static inline uint64_t
key_hash(uint64_t hash, uint64_t value)
{
    return word_mix(hash * UINT64_C(0x9e3779b97f4a7c15) + value);
}

#endif
