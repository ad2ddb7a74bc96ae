/* Bitmaps, a word of 64 bits at a time, whatever the offset of the first bit. */
#include "data/value/bits.h"

#include <string.h>

static uint64_t
load_word(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

int64_t
bits_count(const uint8_t *bits, int64_t count)
{
    int64_t set = 0;
    int64_t i = 0;

    for (; i + 64 <= count; i += 64) {
        set += __builtin_popcountll(load_word(bits + i / 8));
    }
    for (; i < count; i++) {
        set += bits[i >> 3] >> (i & 7) & 1;
    }
    return set;
}

static void
put_bit(uint8_t *dst, int64_t to, unsigned bit)
{
    dst[to >> 3] = (uint8_t)((dst[to >> 3] & ~(1u << (to & 7))) | bit << (to & 7));
}

void
bits_copy(uint8_t *dst, int64_t to, const uint8_t *src, int64_t from, int64_t count)
{
    for (; count > 0 && (to & 7) != 0; to++, from++, count--) {
        put_bit(dst, to, src[from >> 3] >> (from & 7) & 1u);
    }
    for (; count >= 64; to += 64, from += 64, count -= 64) {
        unsigned shift = (unsigned)(from & 7);
        uint64_t word = load_word(src + (from >> 3)) >> shift;

        if (shift != 0) {
            word |= (uint64_t)src[(from >> 3) + 8] << (64 - shift);
        }
        memcpy(dst + (to >> 3), &word, sizeof word);
    }
    for (; count > 0; to++, from++, count--) {
        put_bit(dst, to, src[from >> 3] >> (from & 7) & 1u);
    }
}

void
bits_set(uint8_t *dst, int64_t to, int64_t count)
{
    for (; count > 0 && (to & 7) != 0; to++, count--) {
        put_bit(dst, to, 1);
    }
    if (count >= 8) {
        memset(dst + (to >> 3), 0xff, (size_t)(count >> 3));
        to += count & ~(int64_t)7;
        count &= 7;
    }
    for (; count > 0; to++, count--) {
        put_bit(dst, to, 1);
    }
}

#define ONES UINT64_C(0x0101010101010101)

/* Eight bits as eight bytes; the first bit in the lowest byte. */
static uint64_t
spread(uint8_t bits)
{
    return (((uint64_t)bits * ONES & UINT64_C(0x8040201008040201)) + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & ONES;
}

void
bits_spread(const uint8_t *bits, int64_t from, int64_t count, uint8_t *ret_bytes)
{
    int64_t i = 0;

    for (; i < count && ((from + i) & 7) != 0; i++) {
        ret_bytes[i] = bits[(from + i) >> 3] >> ((from + i) & 7) & 1;
    }
    for (; i + 8 <= count; i += 8) {
        uint64_t word = spread(bits[(from + i) >> 3]);

        memcpy(ret_bytes + i, &word, sizeof word);
    }
    for (; i < count; i++) {
        ret_bytes[i] = bits[(from + i) >> 3] >> ((from + i) & 7) & 1;
    }
}

void
bits_pack(const uint8_t *bytes, int64_t count, uint8_t *dst, int64_t to)
{
    int64_t i = 0;

    for (; i < count && ((to + i) & 7) != 0; i++) {
        put_bit(dst, to + i, bytes[i] & 1u);
    }
    for (; i + 8 <= count; i += 8) { /* the product has the bytes' bits side by side on top */
        dst[(to + i) >> 3] = (uint8_t)((load_word(bytes + i) & ONES) * UINT64_C(0x0102040810204080) >> 56);
    }
    for (; i < count; i++) {
        put_bit(dst, to + i, bytes[i] & 1u);
    }
}

void
bits_trim(uint8_t *bits, int64_t count)
{
    if ((count & 7) != 0) {
        bits[count >> 3] = (uint8_t)(bits[count >> 3] & ((1u << (count & 7)) - 1));
    }
}
