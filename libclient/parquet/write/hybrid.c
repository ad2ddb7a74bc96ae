/* Runs of one number, and numbers packed in bits, in turn: codes of dictionaries, and definition levels. */
#include <string.h>

#include "data/value/bits.h"
#include "parquet/write/private.h"
#include "parquet/write/thrift_out.h"

#define RUN_LEAST 16 /* the same number so often is a run of it */

unsigned
put_bits_for(uint32_t most)
{
    return most == 0 ? 0 : 32 - (unsigned)__builtin_clz(most);
}

/* Eight numbers, as so many bytes as one has bits. */
static void
pack_eight(const uint32_t *codes, unsigned bits, uint8_t *out)
{
    gr_uint128 low = 0;
    gr_uint128 high = 0;

    for (unsigned i = 0; i < 4; i++) {
        low |= (gr_uint128)codes[i] << i * bits;
        high |= (gr_uint128)codes[i + 4] << i * bits;
    }
    if (bits <= 16) { /* 128 bits hold them */
        low |= high << 4 * bits;
        memcpy(out, &low, bits);
        return;
    }
    /* Four of them are a whole number of bytes, or half a one more. */
    if (bits % 2 == 0) {
        memcpy(out, &low, bits / 2);
        memcpy(out + bits / 2, &high, bits / 2);
        return;
    }
    memcpy(out, &low, bits / 2 + 1);
    out[bits / 2] = (uint8_t)(out[bits / 2] | (uint8_t)(high << 4));
    high >>= 4;
    memcpy(out + bits / 2 + 1, &high, bits / 2);
}

static void
put_packed(const uint32_t *codes, int64_t count, unsigned bits, struct gr_buf *out)
{
    uint64_t groups = ((uint64_t)count + 7) / 8;
    uint32_t last[8] = {0};
    uint8_t *at;

    if (count == 0) {
        return;
    }
    thrift_put_varint(out, groups << 1 | 1);
    at = gr_buf_grow(out, groups * bits);
    for (uint64_t g = 0; at != NULL && g < groups; g++, at += bits) {
        int64_t left = count - (int64_t)g * 8;

        if (left < 8) {
            memcpy(last, codes + g * 8, (size_t)left * sizeof *codes);
        }
        pack_eight(left < 8 ? last : codes + g * 8, bits, at);
    }
}

static void
put_run(uint32_t code, int64_t count, unsigned bits, struct gr_buf *out)
{
    thrift_put_varint(out, (uint64_t)count << 1);
    gr_buf_add(out, &code, (bits + 7) / 8);
}

void
put_codes(const uint32_t *codes, int64_t count, unsigned bits, struct gr_buf *out)
{
    int64_t begin = 0; /* of what is to be packed */
    int64_t at = 0;    /* always eight, or a multiple of it, behind begin */

    while (at < count) {
        int64_t end = at + 1;

        if (at + 8 <= count && memcmp(codes + at, codes + at + 1, 7 * sizeof *codes) != 0) {
            at += 8;
            continue;
        }
        while (end < count && codes[end] == codes[at]) {
            end++;
        }
        if (end - at < RUN_LEAST) {
            at = at + 8 < count ? at + 8 : count;
            continue;
        }
        put_packed(codes + begin, at - begin, bits, out);
        put_run(codes[at], end - at, bits, out);
        begin = at = end;
    }
    put_packed(codes + begin, count - begin, bits, out);
}

void
put_long_levels(const uint32_t *levels, int64_t count, unsigned bits, struct gr_buf *out)
{
    size_t begin = out->size;
    uint32_t size;

    if (gr_buf_grow(out, sizeof size) == NULL) {
        return;
    }
    put_codes(levels, count, bits, out);
    size = (uint32_t)(out->size - begin - sizeof size);
    if (gr_buf_ok(out)) {
        memcpy(out->bytes + begin, &size, sizeof size);
    }
}

void
put_levels(const uint8_t *validity, int64_t from, int64_t rows, struct gr_buf *out)
{
    size_t begin = out->size;
    int64_t there = validity == NULL ? rows : bits_count(validity + from / 8, rows);
    uint32_t size;

    if (gr_buf_grow(out, sizeof size) == NULL) {
        return;
    }
    if (there == 0 || there == rows) {
        put_run(there > 0, rows, 1, out);
    } else {
        size_t bytes = (size_t)(rows + 7) / 8;
        uint8_t *bits;

        thrift_put_varint(out, bytes << 1 | 1);
        bits = gr_buf_grow(out, bytes);
        if (bits == NULL) {
            return;
        }
        memcpy(bits, validity + from / 8, bytes);
        bits_trim(bits, rows);
    }
    size = (uint32_t)(out->size - begin - sizeof size);
    if (gr_buf_ok(out)) {
        memcpy(out->bytes + begin, &size, sizeof size);
    }
}
