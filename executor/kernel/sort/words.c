/* Both widths of words, from one body (words_body.h); words.h tells the algorithm and its sources. */
#include "kernel/sort/words.h"

#include <stdbool.h>
#include <string.h>

enum {
    CACHE_BYTES = 512 << 10, /* words and spare of a bucket sorted least significant digit first */
    INSERTION_MAX = 24,
    DIGIT_BITS = 8,       /* of a pass over what is larger than the cache */
    SMALL_DIGIT_BITS = 8, /* of a pass within the cache over few words */
    LARGE_DIGIT_BITS = 11,
    LARGE_MIN = 1024, /* words for which the larger digit pays */
    LINE = 64,        /* bytes written at once */
    SPARE_BITS = 4,   /* sorted beyond log2(words), so that few words stay equal by chance */
};

static unsigned
bit_length(uint64_t x)
{
    return x == 0 ? 0 : 64 - (unsigned)__builtin_clzll(x);
}

static unsigned
bit_length128(sort_word128 x)
{
    return (uint64_t)(x >> 64) != 0 ? 64 + bit_length((uint64_t)(x >> 64)) : bit_length((uint64_t)x);
}

#define WORD       uint64_t
#define WORDS(x)   x##64
#define BITS_OF(x) bit_length(x)
#include "kernel/sort/words_body.h"
#undef WORD
#undef WORDS
#undef BITS_OF

#define WORD       sort_word128
#define WORDS(x)   x##128
#define BITS_OF(x) bit_length128(x)
#include "kernel/sort/words_body.h"
#undef WORD
#undef WORDS
#undef BITS_OF
