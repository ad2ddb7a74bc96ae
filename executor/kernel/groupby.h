/*
 * Grouping in steps: a table has a row for each group: its keys, and for each aggregate the state from which the
 * result is made at the end. A chunk of rows gives a table, tables are merged into one, and the last one gives a frame.
 * Every step is exact, so that neither chunking nor the order of merging changes the result.
 *
 * In aggregates NaN counts as missing, like null (as in pandas). As a key it is a value: one group, after the numbers.
 * -0.0 and 0.0 are one key, shown as 0.0; as values min takes -0.0 and max takes 0.0.
 */
#ifndef KERNEL_GROUPBY_H
#define KERNEL_GROUPBY_H

#include "data/frame.h"
#include "graph/aggregate.h"
#include "kernel/exact_sum.h"

/* One aggregate over all groups. Which members are set is decided by function and dtype. */
struct group_state {
    enum gr_aggregate_function function;
    granary_dtype dtype; /* of the values; GRANARY_NULLTYPE for size */

    int64_t *counts;        /* size, count, mean */
    __int128 *ints;         /* sum, mean of int64 and bool; of 2^64 rows no overflow */
    struct exact_sum *sums; /* sum, mean of float64 */
    size_t sum_count;       /* of sums */
    struct gr_column best;  /* min, max: null where there was no value */
    /* nunique: each different value of a group is a pair */
    size_t pair_count;
    int64_t *pair_groups;
    struct gr_column pair_values;
};

struct group_table {
    size_t groups;
    granary_frame *keys; /* a row for each group */
    size_t count;
    struct group_state *states; /* one for each aggregate */
    size_t file_count;
    granary_frame **files; /* what columns above borrow from */
};

void group_table_fini(struct group_table *table);

/* ---- groupby_state.c ---- */

enum group_sum { GROUP_SUM_NONE, GROUP_SUM_INT, GROUP_SUM_DOUBLE };
/* How a state adds values up. */
enum group_sum group_sum_kind(enum gr_aggregate_function function, granary_dtype dtype);
/* Whether it counts. */
bool group_counts(enum gr_aggregate_function function);

/*
 * The state of groups groups over a column; ids[row] is the row's group or GROUP_NONE.
 * column   NULL for size: then rows tells how many ids there are
 * Errors   ENOMEM · EFULL; on failure the state is left for group_state_fini()
 */
granary_err group_state_map(struct group_state *state, const granary_column *column, const uint32_t *ids, int64_t rows,
                            size_t groups);
/*
 * The state of the groups of several tables: ids has an entry for each group of tables[0], then of tables[1], ...
 * and says which group it became. which: position of the aggregate in the tables.
 */
granary_err group_state_merge(struct group_state *state, const struct group_table *tables, size_t count, size_t which,
                              const uint32_t *ids, size_t groups);
void group_state_fini(struct group_state *state);

/* ---- groupby_partial.c ---- */

/* A table as bytes, 64-byte aligned, in a form of our own; *ret_bytes is to be freed. Errors: ENOMEM · EFULL */
granary_err group_table_write(const struct group_table *table, void **ret_bytes, uint64_t *ret_size);
/*
 * Read it back; bytes must outlive the table.
 * Errors  ECORRUPT · EVERSION · EINVAL it was made for other keys or aggregates · ENOMEM
 */
granary_err group_table_read(const void *bytes, uint64_t size, size_t key_count, const struct gr_aggregate *aggregates,
                             size_t count, struct group_table *ret_table);

#endif
