/*
 * Arrays taken from others. type.c reads format strings, column.c makes columns of arrays whose layout is ours,
 * coded.c of those with a dictionary, convert.c of the others. columns.c puts record batches together, and put.c puts them into the store.
 *
 * Trust: the producer is a library of this process. Whether its addresses hold what it says cannot be seen; all that it
 * says is checked: formats, names, lengths, counts, offsets, codes.
 */
#ifndef ARROW_IN_IN_H
#define ARROW_IN_IN_H

#include <stdbool.h>

#include "data/frame.h"
#include "granary/arrow.h"

/* ---- type.c ---- */

/* How values lie in the buffers of an array. */
enum in_layout {
    IN_NULL,
    IN_BOOL,
    IN_FIXED, /* as ours */
    IN_HALF,
    IN_DATE_MS,
    IN_TIME, /* timestamps and durations of another unit: times `times`, or divided by `per` */
    IN_DECIMAL,
    IN_TEXT,
    IN_LARGE_TEXT,
    IN_FIXED_TEXT, /* binaries of one size */
    IN_VIEWS,
    IN_LIST,
    IN_LARGE_LIST,
    IN_LIST_VIEW,
    IN_LARGE_LIST_VIEW,
    IN_FIXED_LIST, /* `times` items each */
};

struct in_type {
    enum in_layout layout;
    granary_dtype dtype;
    size_t width;    /* bytes of a value; 0: it has no size of its own */
    int64_t buffers; /* that an array has at least */
    int64_t times;
    int64_t per;
};

/* name: of the column; of lists the dtype is only that they are lists. Errors: EUNSUPPORTED, EINVAL name the column and
 * the type */
granary_err in_type_parse(const char *name, const char *format, struct in_type *ret_type);
/* Bytes of an integer's format, and whether it is signed; false: it is none. */
bool in_type_integer(const char *format, size_t *ret_width, bool *ret_signed);
/* A format for a message: printable, and not too long. Returns ret_text. */
const char *in_type_shown(const char *format, char ret_text[48]);

/* ---- column.c ---- */

/* What columns rest on beside the array. */
struct in_kept {
    struct in_kept *next;
    struct gr_column column; /* owned, or empty */
    granary_column entries;  /* of a dictionary */
};

/* Rows of an array that become a column. */
struct in_rows {
    const char *name; /* of the column */
    struct in_type type;
    const struct ArrowArray *array;
    int64_t at;              /* the first one, in the buffers */
    int64_t rows;            /* at least one */
    const uint8_t *validity; /* of these rows, from a byte's first bit on; NULL: all are there */
    int64_t nulls;
};

/* *Takes* the column, until the end of the list. NULL: out of memory, and the column is gone. */
struct in_kept *in_keep(struct in_kept **kept, struct gr_column *column);
/* Zeroed bytes that are kept; NULL: out of memory. */
void *in_keep_bytes(struct in_kept **kept, size_t size);
void in_kept_free(struct in_kept *kept);

/* Bits [at, at + rows) from a byte's first bit on: in place, or a copy. Errors: ENOMEM */
granary_err in_bits(struct in_kept **kept, const uint8_t *bits, int64_t at, int64_t rows, const uint8_t **ret_bits);

/* Rows [from, from + rows) of an array as a column, whose name is borrowed. Errors: as granary_columns_import() */
granary_err in_column(struct in_kept **kept, const char *name, const struct ArrowSchema *schema,
                      const struct ArrowArray *array, int64_t from, int64_t rows, granary_column *ret_column);
/* A column without rows. kept NULL: of lists the dtype is all there is. */
granary_err
in_column_empty(struct in_kept **kept, const char *name, const struct ArrowSchema *schema, granary_column *ret_column);

/* EINVAL, with what is wrong with the column of that name. */
granary_err in_fail(const char *name, const char *what);

/* ---- coded.c ---- */

/* Rows of codes, whose type the rows have. Errors: as granary_columns_import() */
granary_err in_coded(struct in_kept **kept, const struct in_rows *rows, bool is_signed,
                     const struct ArrowSchema *values_schema, granary_column *column);

/* ---- lists.c ---- */

static inline bool
in_is_list(enum in_layout layout)
{
    return layout >= IN_LIST;
}
/* The dtype of lists with such items. Errors: as in_type_parse() */
granary_err in_list_dtype(const char *name, const struct ArrowSchema *schema, granary_dtype *ret_dtype);
/* Lists as a new owned column. Errors: as granary_columns_import() */
granary_err in_lists(struct in_kept **kept, const struct in_rows *rows, const struct ArrowSchema *schema,
                     struct gr_column *ret_column);

/* ---- convert.c ---- */

/* Values of another layout as a new owned column. Errors: as granary_columns_import() */
granary_err in_convert(const struct in_rows *rows, struct gr_column *ret_column);
/* That decimals of our own width have no more digits than ours. Errors: EINVAL names the row */
granary_err in_check_decimals(const struct in_rows *rows);

/* ---- columns.c ---- */

/* A record batch without rows, for its columns. Errors: as granary_columns_import() */
granary_err in_columns_empty(const struct ArrowSchema *schema, granary_columns *ret_columns);

#endif
