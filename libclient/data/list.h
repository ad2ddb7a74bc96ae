/* Columns of lists gathered and joined: what column.c leaves to list.c. */
#ifndef DATA_LIST_H
#define DATA_LIST_H

#include "data/frame.h"

/* gr_column_take() of a column of lists. */
granary_err
lists_take(const granary_column *column, const int64_t *indices, int64_t count, struct gr_column *ret_column);
/* gr_column_concat() of columns of lists, and of columns without any value. */
granary_err lists_concat(const struct gr_run *runs, size_t count, granary_dtype dtype, struct gr_column *ret_column);

#endif
