/*
 * Rows that are read alone. What a condition leaves of a page is known before the page is read: its values are decoded
 * from the first that is wanted to the last of the same block, and the others in between are not copied.
 */
#ifndef KERNEL_PARQUET_PICKS_H
#define KERNEL_PARQUET_PICKS_H

#include <stddef.h>
#include <stdint.h>

#define PICKS_BLOCK 512

/* Rows of those that are read, ascending. */
struct picks {
    const int64_t *rows;
    int64_t count;
};

/* Values of a page, ascending, a block after another. */
struct pick_walk {
    const uint32_t *at; /* positions */
    size_t count;
    size_t begin; /* this block has positions [begin, end) */
    size_t end;
    uint32_t first;  /* the first of them */
    uint32_t skip;   /* values between the block before and this one */
    uint32_t values; /* from the first to the last, at most PICKS_BLOCK */
};

/* Go to the next block. Returns whether there is one. */
static inline int
pick_walk_next(struct pick_walk *walk)
{
    uint32_t passed = walk->first + walk->values;

    walk->begin = walk->end;
    if (walk->begin == walk->count) {
        return 0;
    }
    walk->first = walk->at[walk->begin];
    walk->skip = walk->first - passed;
    while (walk->end < walk->count && walk->at[walk->end] - walk->first < PICKS_BLOCK) {
        walk->end++;
    }
    walk->values = walk->at[walk->end - 1] - walk->first + 1;
    return 1;
}

#endif
