/* The loops of groupby over a block of rows. */
#ifndef KERNEL_SIMD_GROUP_LOOPS_H
#define KERNEL_SIMD_GROUP_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/simd/simd.h"

/* ids[i] += code * stride, of codes and of integers from least on. */
SIMD_DECLARE(void, group_add_codes, (const int32_t *codes, uint32_t stride, uint32_t *ids, int64_t n));
SIMD_DECLARE(void, group_add_ints, (const int64_t *values, int64_t least, uint32_t stride, uint32_t *ids, int64_t n));
/* slots[i]: copy i % copies of room entries, entry ids[i]; offsets[i]: its first word. */
SIMD_DECLARE(void, group_places,
             (const uint32_t *ids, unsigned copies, uint32_t room, uint32_t stride, uint32_t *slots, uint32_t *offsets,
              int64_t n));
/* out[i] = low[i] + high[i] * 2^32; low NULL: constant instead. */
SIMD_DECLARE(void, group_pack, (const int64_t *low, int64_t constant, const int64_t *high, int64_t *out, int64_t n));
/* A size that no value exceeds: less than twice the largest, and one. */
SIMD_DECLARE(int64_t, group_size, (const int64_t *values, int64_t n));

#endif
