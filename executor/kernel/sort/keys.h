/*
 * Keys as unsigned numbers whose order is that of the values: what radix sorts and binary searches work on.
 *
 * A key is one *lane* of 64-bit codes, or several: strings 7 bytes a lane (with how many are left), decimals two
 * halves. Codes of a lane ascend with the values whatever the direction; nulls and NaNs have kinds instead.
 */
#ifndef KERNEL_SORT_KEYS_H
#define KERNEL_SORT_KEYS_H

#include "kernel/sort/sort.h"

/* Rows whose codes are made at a time. */
#define SORT_BLOCK 1024

enum sort_kind {
    SORT_KIND_VALUE = 0,
    SORT_KIND_NAN = 1,
    SORT_KIND_NULL = 2,
    SORT_KIND_MORE = 4, /* of a block, beside the others: a string goes on in the next lane */
};

struct sort_lane {
    const struct sort_key *key;
    const uint32_t *ranks; /* of dictionary codes among the entries; NULL: by text */
    unsigned part;         /* strings: from byte 7 * part on; decimals: 0 high, 1 low half; others 0 */
};

/*
 * Codes and kinds of rows[0..count), or of the rows from `from` on when rows is NULL.
 *
 * count    at most SORT_BLOCK
 * kinds    written only when the result is not 0 (SORT_KIND_MORE aside); codes of nulls and NaNs are 0
 * Returns  the kinds there are, or'ed
 */
unsigned sort_encode(const struct sort_lane *lane, const int64_t *rows, int64_t from, size_t count, uint64_t *codes,
                     uint8_t *kinds);

/*
 * One number a row in the key's direction: never decreasing from a row to one that comes after it. Nulls and NaNs are
 * at the ends. Equal numbers tell nothing.
 */
void sort_ordinals(const struct sort_lane *lane, int64_t from, size_t count, uint64_t *ordinals);

/* Whether strings are compared by the ranks of their dictionary's entries: *ret_ranks is then set, to be freed.
 * Errors: ENOMEM */
granary_err sort_ranks(const granary_column *column, int64_t rows, uint32_t **ret_ranks);

#endif
