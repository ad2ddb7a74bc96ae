/*
 * Runs of small numbers: the RLE/bit-packed hybrid of levels, codes and bools. Behind the bytes of a page 16 more can be
 * read, whatever they are (pages.c): so every number is taken out of one word.
 */
#ifndef KERNEL_PARQUET_BITS_H
#define KERNEL_PARQUET_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PAGE_SLACK 16

static inline uint64_t
bits_load(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

struct hybrid {
    const uint8_t *at;
    const uint8_t *end;
    unsigned bits; /* of a number, at most 32 */
    uint64_t left; /* numbers of this run */
    bool packed;   /* else all are value */
    uint32_t value;
    const uint8_t *run; /* packed: where it begins, and the next number's first bit */
    uint64_t bit;
};

void hybrid_open(struct hybrid *hybrid, const uint8_t *bytes, size_t size, unsigned bits);
/* Go on to a run with numbers left. false: there is none. */
bool hybrid_run(struct hybrid *hybrid);
/* Numbers of a packed run, at most what is left of it. */
void hybrid_unpack(struct hybrid *hybrid, uint32_t *numbers, size_t count);
/* Numbers of all runs. false: there are not so many. */
bool hybrid_take(struct hybrid *hybrid, uint32_t *numbers, size_t count);
bool hybrid_skip(struct hybrid *hybrid, uint64_t count);

/* Bits needed for numbers up to most. */
static inline unsigned
bits_for(uint32_t most)
{
    return most == 0 ? 0 : 32 - (unsigned)__builtin_clz(most);
}

/* dst bits are zero: become those of src; how many are ones. */
int64_t run_bits(uint8_t *dst, int64_t dst_at, const uint8_t *src, uint64_t src_at, int64_t count);
void run_ones(uint8_t *dst, int64_t at, int64_t count);
/* How many of bits [from, to) are ones. Eight bytes can be read behind the last. */
int64_t count_ones(const uint8_t *bits, int64_t from, int64_t to);

#endif
