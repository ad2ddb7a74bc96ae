/* Fields become values of a column that is being built. */
#ifndef KERNEL_CSV_CSV_PUT_H
#define KERNEL_CSV_CSV_PUT_H

#include "kernel/csv/csv_blocks.h"
#include "kernel/csv/csv_builder.h"

/* The column's fields of a block, nulls too, from row `at` on: false when one does not fit. Not of strings. */
bool csv_put_block(const struct csv_text *text, const struct csv_builder *builder, const struct csv_block *block,
                   int64_t at);

#endif
