/* Fields become values of a column that is being built. */
#ifndef KERNEL_CSV_CSV_PUT_H
#define KERNEL_CSV_CSV_PUT_H

#include "kernel/csv/csv_blocks.h"
#include "kernel/csv/csv_strings.h"

/* A column being built. */
struct csv_builder {
    const char *name; /* borrowed from the operator */
    granary_dtype dtype;
    size_t position;   /* of the field in a record */
    void *values;      /* NULL for strings */
    uint8_t *validity; /* a bit is cleared for a null */
    struct csv_strings *strings;
};

static inline void
csv_put_null(const struct csv_builder *builder, int64_t row)
{
    builder->validity[row >> 3] = (uint8_t)(builder->validity[row >> 3] & ~(1u << (row & 7)));
}

/* Put a field that is not null into row `row`: false when it does not fit the dtype. Strings are not its business. */
bool csv_put_value(const struct csv_builder *builder, int64_t row, const char *bytes, size_t size);

/* The column's fields of a block, nulls too, from row `at` on: false when one does not fit. Not of strings. */
bool csv_put_block(const struct csv_text *text, const struct csv_builder *builder, const struct csv_block *block,
                   int64_t at);

#endif
