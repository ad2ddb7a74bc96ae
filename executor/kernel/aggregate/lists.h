/* Values of rows, kept one by one, with whom they belong to; and single values of groups. Both end as columns. */
#ifndef KERNEL_AGGREGATE_LISTS_H
#define KERNEL_AGGREGATE_LISTS_H

#include "contract/int128.h"
#include "data/texts.h"
#include "kernel/aggregate/block.h"

/* Integers of which the least and the most are less apart are near: a bit for each is a megabyte, which stays in a
 * core's cache. */
#define GROUP_NEAR ((uint64_t)1 << 23)

/* A value in 64 bits, or 128 where the dtype is wide: integers by value, doubles by their bits, strings by their number
 * in texts. Owned; init with the dtype. */
struct values {
    granary_dtype dtype;
    size_t count;
    size_t room;
    size_t width; /* of a value, in bytes */
    char *bytes;
    bool keeps_nulls;
    uint8_t *there; /* with keeps_nulls: a byte a value; of a null it is 0 */
    struct gr_texts texts;
    uint64_t *seen; /* bits: which integers from seen_from on are there; NULL: nobody asked */
    int64_t seen_from;
    size_t different; /* values that are known to be there once: when this is count, all are */
};

void values_init(struct values *values, granary_dtype dtype);
void values_fini(struct values *values);
/* Room for more values. Errors: ENOMEM */
granary_err values_reserve(struct values *values, size_t more);
/* Integers that are not there yet, as far as that is quickly known: those near the first one are kept once. There is
 * room for all of them, and for a uint32_t of each in owners, which get 1. Errors: ENOMEM */
granary_err values_add_new(struct values *values, const int64_t *integers, int64_t n, uint32_t *owners);
/* The bits of row i of a block; strings are put among the texts. Errors: ENOMEM · EFULL */
granary_err values_bits(struct values *values, const struct rows_vector *vector, int64_t i, gr_int128 *ret_bits);

static inline void
values_put(struct values *values, size_t at, gr_int128 bits)
{
    if (values->width == 16) {
        ((gr_int128 *)(void *)values->bytes)[at] = bits;
    } else {
        ((int64_t *)(void *)values->bytes)[at] = (int64_t)bits;
    }
}
static inline gr_int128
values_get(const struct values *values, size_t at)
{
    return values->width == 16 ? ((const gr_int128 *)(const void *)values->bytes)[at]
                               : ((const int64_t *)(const void *)values->bytes)[at];
}

/* Values pick[i] (NULL: all in order) as a column; there: a byte a value that is no null, NULL: all. Errors: EFULL ·
 * ENOMEM
 */
granary_err values_column(const struct values *values, const uint32_t *pick, const uint8_t *there, size_t count,
                          struct gr_column *ret_column);

#endif
