/* Values as words: equal ones have the same word, in every chunk and process. */
#ifndef KERNEL_CORE_WORDS_H
#define KERNEL_CORE_WORDS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* One zero, one NaN. */
static inline uint64_t
word_of_double(double x)
{
    uint64_t word;

    if (isnan(x)) {
        return UINT64_C(0x7ff8000000000000);
    }
    x += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&word, &x, sizeof word);
    return word;
}

/* All bits depend on all: two rounds of xor, shift and multiply. */
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

#endif
