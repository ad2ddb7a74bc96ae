/* Random numbers: the same sequence for the same seed. */
#ifndef TORTURE_RANDOM_H
#define TORTURE_RANDOM_H

#include <stdint.h>

/* Moves *seed on. (splitmix64) */
static inline uint64_t
random_next(uint64_t *seed)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15ull;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

#endif
