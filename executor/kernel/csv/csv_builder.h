/* Values of a column that is being built, one by one. */
#ifndef KERNEL_CSV_CSV_BUILDER_H
#define KERNEL_CSV_CSV_BUILDER_H

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

/* Its name and dtype are known, and it will have at most rows_max rows, with about so many bytes of text. Errors: ENOMEM
 */
granary_err csv_builder_init(struct csv_builder *builder, int64_t rows_max, size_t text_guess);
void csv_builder_fini(struct csv_builder *builder);
/* What was built, as a column; the builder is empty then. Errors: ENOMEM, EFULL */
granary_err csv_builder_finish(struct csv_builder *builder, int64_t rows, struct gr_column *ret_column);
/* All of them as columns of a frame; the builders are only to be given to csv_builder_fini() then. Errors: ENOMEM,
 * EFULL */
granary_err csv_builders_finish(struct csv_builder *builders, size_t count, int64_t rows, granary_frame **ret_frame);

static inline void
csv_put_null(const struct csv_builder *builder, int64_t row)
{
    builder->validity[row >> 3] = (uint8_t)(builder->validity[row >> 3] & ~(1u << (row & 7)));
}

/* The same, with a value of zeros, for that is what lies under a null; or with a string that is none. Errors: as
 * csv_strings_add() */
granary_err csv_put_missing(const struct csv_builder *builder, int64_t row);

/* Put a field that is not null into row `row`: false when it does not fit the dtype. Strings are not its business. */
bool csv_put_value(const struct csv_builder *builder, int64_t row, const char *bytes, size_t size);

#endif
