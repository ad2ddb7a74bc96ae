/* Inside rows: lists of a block. */
#ifndef KERNEL_ROWS_LISTS_H
#define KERNEL_ROWS_LISTS_H

#include "kernel/rows/node.h"

/* n lists as a column; valid: NULL, or a byte a row. Errors: ENOMEM, EFULL */
granary_err lists_column(granary_dtype dtype, const struct rows_list *lists, const uint8_t *valid, int64_t n,
                         struct gr_column *ret_column);
/* A cast of lists to strings. Errors: ENOMEM */
granary_err lists_to_text(struct node *node, int64_t n);

#endif
