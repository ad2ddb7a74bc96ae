/* Columns that have one value for all rows of a file, and conditions on them. */
#ifndef GRAPH_FOLDERS_CONSTANT_H
#define GRAPH_FOLDERS_CONSTANT_H

#include "graph/expr.h"

/* Columns by the names a condition calls them. */
struct constants {
    size_t count;
    const char *const *names;      /* NULL: it cannot be named there */
    struct gr_expr *const *values; /* literals */
};

/* What a value can be, as CSV has it (enum gr_kind). text: NULL, it is null */
uint32_t constant_kind(const char *text);

/* The value as an expression, to be freed: "cast(5 as int64)". Errors: EINVAL it is no such value · ENOMEM */
granary_err constant_text(const char *text, granary_dtype dtype, char **ret_text);

/* Whether the condition is true in no row of the file. Of other columns nothing is known. */
bool constants_exclude(const struct constants *constants, const struct gr_expr *where);

#endif
