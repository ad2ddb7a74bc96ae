/* Numbers of groups from codes, places of their words, and the largest size of integers. */
#include "kernel/simd/group_loops.h"

/* Codes come from memory: the processor's own prefetching ends with a page. */
enum { AHEAD_BYTES = 2048, LINE = 64 / sizeof(int32_t) };

void
SIMD(group_add_codes)(const int32_t *codes, uint32_t stride, uint32_t *ids, int64_t n)
{
    int64_t i = 0;

    for (; i + LINE <= n; i += LINE) {
        __builtin_prefetch((const char *)(codes + i) + AHEAD_BYTES);
        for (int64_t k = i; k < i + LINE; k++) {
            ids[k] += (uint32_t)codes[k] * stride;
        }
    }
    for (; i < n; i++) {
        ids[i] += (uint32_t)codes[i] * stride;
    }
}

void
SIMD(group_add_ints)(const int64_t *values, int64_t least, uint32_t stride, uint32_t *ids, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        ids[i] += (uint32_t)((uint64_t)values[i] - (uint64_t)least) * stride;
    }
}

void
SIMD(group_places)(const uint32_t *ids, unsigned copies, uint32_t room, uint32_t stride, uint32_t *slots,
                   uint32_t *offsets, int64_t n)
{
    uint32_t mask = copies - 1; /* a power of two */

    for (int64_t i = 0; i < n; i++) {
        uint32_t slot = ids[i] + ((uint32_t)i & mask) * room;

        slots[i] = slot;
        offsets[i] = slot * stride;
    }
}

void
SIMD(group_pack)(const int64_t *low, int64_t constant, const int64_t *high, int64_t *out, int64_t n)
{
    if (low == 0) {
        for (int64_t i = 0; i < n; i++) {
            out[i] = (int64_t)((uint64_t)constant + ((uint64_t)high[i] << 32));
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            out[i] = (int64_t)((uint64_t)low[i] + ((uint64_t)high[i] << 32));
        }
    }
}

int64_t
SIMD(group_size)(const int64_t *values, int64_t n)
{
    int64_t bits = 0;

    for (int64_t i = 0; i < n; i++) {
        bits |= values[i] ^ (values[i] >> 63);
    }
    return bits < INT64_MAX ? bits + 1 : bits;
}
