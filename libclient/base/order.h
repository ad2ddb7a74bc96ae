/* Sorting millions of things by numbers, without looking at the things again and again. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GR_ORDER_KEYS 3u

/* A thing, and what it is sorted by: the first key, where that is equal the second, and so on. */
struct gr_ordered {
    uint64_t keys[GR_ORDER_KEYS];
    const void *item; /* not looked at */
};

/* Sort, in time linear in count; what has equal keys keeps its order. False: no memory, and nothing has changed. */
bool gr_order(struct gr_ordered *items, size_t count);

/*
 * Ask for huge pages behind much memory that is going to be visited in no order, before it is first written: what costs
 * most there is to find the pages.
 */
void gr_order_expect(void *bytes, size_t size);

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
