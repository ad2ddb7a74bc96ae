/* Sorting millions of things by numbers, without looking at the things again and again. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A thing, and the number it is sorted by next. */
struct gr_ordered {
    uint64_t key;
    const void *item;
};

/*
 * Sort by key, in time linear in count; what has equal keys keeps its order. So a second key is sorted by before the
 * first one is. False: no memory, and nothing has changed.
 */
bool gr_order(struct gr_ordered *items, size_t count);

/* A word as memcmp() compares its bytes. */
static inline uint64_t
gr_order_of_bytes(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(word);
#else
    return word;
#endif
}

#endif
