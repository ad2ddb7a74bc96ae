/*
 * The order of rows by key columns: stable, the first key decides. Numbers by value (-0.0 equals 0.0), then NaN, then
 * nulls, whatever the direction (or nulls, NaN, numbers), or NaN as the largest number; strings by their bytes; false
 * before true.
 */
#ifndef KERNEL_SORT_SORT_H
#define KERNEL_SORT_SORT_H

#include "data/frame.h"

struct sort_key {
    const granary_column *column; /* borrowed; dictionary-encoded or plain */
    bool descending;
    bool nulls_first;
    bool nan_largest; /* else NaN stands beside nulls */
};

static inline bool
sort_nans_first(const struct sort_key *key)
{
    return key->nan_largest ? key->descending : key->nulls_first;
}

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

/* The same of the rows in indices[0..count), which stand in the order that equal ones shall keep; in place. */
granary_err sort_rows_of(const struct sort_key *keys, size_t count, int64_t *indices, int64_t rows);

/* Below 0, 0 or above 0: row row_a of columns a against row row_b of columns b, of the same dtypes and directions. */
int sort_compare(const struct sort_key *a, int64_t row_a, const struct sort_key *b, int64_t row_b, size_t count);

/*
 * Plain numbers, in place. Floats: NaN last in either direction; -0.0 and 0.0 keep their order.
 * Errors: ENOMEM
 */
granary_err sort_int64(int64_t *values, size_t count, bool descending);
granary_err sort_uint64(uint64_t *values, size_t count, bool descending);
granary_err sort_float64(double *values, size_t count, bool descending);

#endif
