/* Object ids beyond the public functions. */
#ifndef BASE_ID_H
#define BASE_ID_H

#include <stdbool.h>
#include <string.h>

#include "granary/types.h"

/* The id's bytes as the two native words a slot holds. */
static inline void
gr_id_words(granary_id id, uint64_t ret_words[2])
{
    memcpy(ret_words, id.bytes, sizeof id.bytes);
}

static inline granary_id
gr_id_from_words(uint64_t word0, uint64_t word1)
{
    granary_id id;

    memcpy(id.bytes, &word0, 8);
    memcpy(id.bytes + 8, &word1, 8);
    return id;
}

static inline bool
gr_id_equal(granary_id a, granary_id b)
{
    return memcmp(a.bytes, b.bytes, sizeof a.bytes) == 0;
}

static inline bool
gr_id_is_zero(granary_id id)
{
    return gr_id_equal(id, (granary_id){{0}});
}

/*
 * The id of an output of a chunk operator, known before anything runs. It begins with the plan's number, so that all
 * that a plan has made can be listed. Within a plan no two are the same.
 */
granary_id gr_id_of_chunk(uint64_t plan, uint32_t op, uint32_t output);

/* The id of a part of something: of a kind, a lane and a number, as contract/mutable.h has them. */
granary_id gr_id_of_part(granary_id whole, uint32_t kind, uint32_t lane, uint64_t number);

/* The id whose bytes are the XXH3-128 of these, never all zero. */
granary_id gr_id_of_bytes(const void *bytes, size_t size);

/* XXH3-128 as text in its canonical form, as `xxh128sum` prints it. */
void gr_hash128_format(const void *bytes, size_t size, char ret_text[33]);

/* XXH3-64. */
uint64_t gr_hash64(const void *bytes, size_t size);
uint64_t gr_hash64_seeded(const void *bytes, size_t size, uint64_t seed);

/* The finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014): one to one, and
 * each bit depends on all. 0 stays 0. */
static inline uint64_t
gr_mix64(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Of a name, for the word on which who waits for it sleeps. No object's. */
granary_id gr_id_of_name(const char *name);

#endif
