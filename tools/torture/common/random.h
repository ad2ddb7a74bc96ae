/* Random numbers: the same sequence for the same seed. */
#ifndef TORTURE_RANDOM_H
#define TORTURE_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* (splitmix64) */
static inline uint64_t
random_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/* Moves *seed on. */
static inline uint64_t
random_next(uint64_t *seed)
{
    return random_mix(*seed += 0x9e3779b97f4a7c15ull);
}

/* Sleep for less than so many nanoseconds. */
static inline void
random_pause(uint64_t *seed, uint64_t nanoseconds)
{
    const uint64_t sleep = random_next(seed) % nanoseconds;

    (void)nanosleep(&(struct timespec){.tv_sec = (time_t)(sleep / 1000000000), .tv_nsec = (long)(sleep % 1000000000)},
                    NULL);
}

#endif
