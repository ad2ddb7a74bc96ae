/* Dictionary-encoded columns gathered and joined: what column.c leaves to dictionary.c. */
#ifndef DATA_ENCODED_H
#define DATA_ENCODED_H

#include "data/frame.h"

/* gr_column_take() of an encoded column. */
granary_err
encoded_take(const granary_column *column, const int64_t *indices, int64_t count, struct gr_column *ret_column);
/* gr_column_concat() of string columns, at least one of which is encoded. */
granary_err encoded_concat(const struct gr_run *runs, size_t count, struct gr_column *ret_column);

#endif
