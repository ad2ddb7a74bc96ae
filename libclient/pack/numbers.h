/*
 * Numbers in few bytes: each value's distance to the least one (frame of reference: Goldstein, Ramakrishnan and Shaft,
 * Compressing Relations and Indexes, 1998). Doubles with few decimal places are integers divided by a power of ten
 * (Kuschewski et al., BtrBlocks, 2023; Afroozeh, Kuffo and Boncz, ALP, 2023). Every bit comes back: a division is
 * rounded as the text of the decimal was, and packing has tried each value.
 */
#ifndef PACK_NUMBERS_H
#define PACK_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum numbers_kind {
    NUMBERS_LONGS = 1, /* 64-bit integers */
    NUMBERS_INTS,      /* 32-bit integers */
    NUMBERS_DECIMALS,  /* doubles: (base + distance) / 10^exponent */
};

/* The first bytes of a packed frame; the distances follow, little-endian. Part of the file format. */
struct numbers {
    uint8_t kind;
    uint8_t width; /* bytes of a distance: 0 to 6 */
    uint8_t exponent;
    uint8_t reserved;
    uint32_t count;
    int64_t base;
};
_Static_assert(sizeof(struct numbers) == 16, "part of the file format");

/* How to pack these bytes, 8-byte aligned, in the fewest; false: as no numbers. */
bool numbers_plan(const char *raw, size_t size, struct numbers *ret_numbers);

/* What numbers_pack() writes. */
static inline size_t
numbers_size(const struct numbers *numbers)
{
    return sizeof *numbers + (size_t)numbers->count * numbers->width;
}

/* As planned for the same bytes. */
void numbers_pack(const struct numbers *numbers, const char *raw, char *packed);

/* False: what is stored is no such frame of `size` bytes. Any bytes may be stored. raw: 8-byte aligned */
bool numbers_unpack(const char *stored, size_t stored_size, char *raw, size_t size);

#endif
