/*
 * Bytes of CSV compared 64 at a time: each comparison gives a mask, and the positions of its bits are written eight
 * at a time without a question.
 */
#include "kernel/simd/csv.h"

#include "kernel/simd/bytes64.h"

size_t
SIMD(csv_stops)(const char *bytes, size_t size, char delimiter, uint32_t first, uint32_t *ret_at)
{
    uint32_t *to = ret_at;

    for (size_t i = 0; i < size; i += 64) {
        bytes64 block = load(bytes + i);
        uint64_t stops = equal(block, delimiter) | equal(block, '\n') | equal(block, '\r') | equal(block, '"');
        uint32_t *end;

        stops &= below(size - i);
        end = to + __builtin_popcountll(stops);
        /* Eight at a time without a question: what is too many is overwritten. */
        while (to < end) {
            for (int k = 0; k < 8; k++) {
                to[k] = first + (uint32_t)i + (uint32_t)(stops == 0 ? 0 : __builtin_ctzll(stops));
                stops &= stops - 1;
            }
            to += 8;
        }
        to = end;
    }
    return (size_t)(to - ret_at);
}

uint64_t
SIMD(csv_count)(const char *bytes, size_t size, char byte)
{
    uint64_t count = 0;
    size_t i = 0;

    for (; i + 64 <= size; i += 64) {
        count += (uint64_t)__builtin_popcountll(equal(load(bytes + i), byte));
    }
    if (i < size) {
        count += (uint64_t)__builtin_popcountll(equal(load_rest(bytes + i, size - i), byte) & below(size - i));
    }
    return count;
}

uint64_t
SIMD(csv_line_ends)(const char *bytes, size_t size, bool in_run)
{
    uint64_t carry = in_run;
    uint64_t count = 0;

    for (size_t i = 0; i < size; i += 64) {
        bytes64 block = size - i >= 64 ? load(bytes + i) : load_rest(bytes + i, size - i);
        uint64_t ends = (equal(block, '\n') | equal(block, '\r')) & below(size - i);

        count += (uint64_t)__builtin_popcountll(ends & ~(ends << 1 | carry));
        carry = ends >> 63;
    }
    return count;
}

void
SIMD(csv_look)(const char *bytes, size_t size, struct csv_looks *looks)
{
    uint64_t carry = looks->in_run;
    uint64_t quotes = 0;
    bool wide = false;

    for (size_t i = 0; i < size; i += 64) {
        size_t now = size - i < 64 ? size - i : 64;
        bytes64 block = now == 64 ? load(bytes + i) : load_rest(bytes + i, now);
        uint64_t feeds = equal(block, '\n') & below(now);
        uint64_t ends = feeds | (equal(block, '\r') & below(now));

        looks->lines += (uint64_t)__builtin_popcountll(feeds);
        looks->line_ends += (uint64_t)__builtin_popcountll(ends & ~(ends << 1 | carry));
        carry = ends >> (now - 1) & 1;
        quotes |= equal(block, '"') & below(now);
        wide |= is_wide(block);
    }
    looks->in_run = carry != 0;
    looks->quotes |= quotes != 0;
    looks->wide |= wide;
}
