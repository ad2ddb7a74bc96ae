/*
 * Equal keys found by hashing: rows of key columns are numbered by group, in the order in which each key first appears.
 *
 * Two values are equal when they compare equal; -0.0 equals 0.0, and NaN equals NaN, so that it forms one group. A row
 * with a null in any key belongs to no group. Not thread-safe; used by groupby and join.
 */
#ifndef KERNEL_HASH_H
#define KERNEL_HASH_H

#include "data/frame.h"

/* A key column in the form that is hashed: one 64-bit word a row, or text. */
struct key_column {
    const granary_column *column; /* borrowed */
    const uint64_t *words;        /* NULL for strings; equal values have equal words */
    uint64_t *owned_words;        /* words when they had to be made */
};

struct key_set {
    int64_t rows;
    size_t count;
    struct key_column *columns;
};

/*
 * Prepare count columns of the same length as keys. They are borrowed until key_set_fini().
 * Errors: EINVAL no column · EFULL 2^32 - 1 rows or more · ENOMEM
 */
granary_err key_set_init(const granary_column *const *columns, size_t count, int64_t rows, struct key_set *ret_keys);
void key_set_fini(struct key_set *keys);

#define GROUP_NONE UINT32_MAX

struct grouping {
    const struct key_set *keys; /* borrowed */
    uint32_t *ids;              /* group of each row, GROUP_NONE when a key is null */
    int64_t *first_rows;        /* first row of each group */
    size_t groups;
    /* private */
    uint64_t *hashes; /* of each group */
    size_t room;      /* of first_rows and hashes */
    struct group_slot *slots;
    size_t slot_count; /* a power of two */
};

/* Number the rows of keys, which must outlive the grouping. Errors: ENOMEM */
granary_err grouping_build(const struct key_set *keys, struct grouping *ret_grouping);
void grouping_fini(struct grouping *grouping);

/*
 * Find the groups of other rows: ret_ids[row] is the group with the same key, or GROUP_NONE.
 * others  as many columns as the grouping's keys, of the same dtypes
 */
void grouping_probe(const struct grouping *grouping, const struct key_set *others, uint32_t *ret_ids);

#endif
