/*
 * The order of rows by key columns: stable, the first key decides. Numbers by value (-0.0 equals 0.0), then NaN, then
 * nulls, whatever the direction; strings by their bytes; false before true.
 */
#ifndef KERNEL_SORT_H
#define KERNEL_SORT_H

#include "data/frame.h"

struct sort_key {
    const granary_column *column; /* borrowed */
    bool descending;
};

#define SORT_NO_LIMIT (-1)

/*
 * Row numbers in order.
 *
 * limit        the first so many only, or SORT_NO_LIMIT
 * ret_indices  *ret_count row numbers, to be freed
 * Errors       ENOMEM
 */
granary_err sort_rows(const struct sort_key *keys, size_t count, int64_t rows, int64_t limit, int64_t **ret_indices,
                      int64_t *ret_count);

/* The same when rows [ends[i - 1], ends[i]) are in order already for each of runs runs; ends[runs - 1] is the number of
 * rows. Equal rows stay in the order of their runs. */
granary_err sort_merge_runs(const struct sort_key *keys, size_t count, const int64_t *ends, size_t runs, int64_t limit,
                            int64_t **ret_indices, int64_t *ret_count);

/* Below 0, 0 or above 0: row row_a of columns a against row row_b of columns b, of the same dtypes and directions. */
int sort_compare(const struct sort_key *a, int64_t row_a, const struct sort_key *b, int64_t row_b, size_t count);

#endif
