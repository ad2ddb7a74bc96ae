/* Bitmaps in Arrow's order (least significant bit first), eight bytes at a time. */
#ifndef DATA_VALUE_BITS_H
#define DATA_VALUE_BITS_H

#include <stdint.h>

/* How many of the bits [0, count) are set. */
int64_t bits_count(const uint8_t *bits, int64_t count);
/* Copy count bits from bit `from` of src to bit `to` of dst; neighbours in dst stay as they are. No overlap. */
void bits_copy(uint8_t *dst, int64_t to, const uint8_t *src, int64_t from, int64_t count);
/* Set count bits from bit `to`. */
void bits_set(uint8_t *dst, int64_t to, int64_t count);
/* Clear the bits of the last byte that lie behind count. */
void bits_trim(uint8_t *bits, int64_t count);
/* Bits from bit `from` on as bytes of 0 or 1. */
void bits_spread(const uint8_t *bits, int64_t from, int64_t count, uint8_t *ret_bytes);
/* The lowest bit of each byte as bits from bit `to` on; neighbours stay as they are. */
void bits_pack(const uint8_t *bytes, int64_t count, uint8_t *dst, int64_t to);

#endif
