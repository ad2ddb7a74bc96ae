/* Which rows a condition leaves, when they are so few that the other columns had better be read of these alone. */
#ifndef KERNEL_PARQUET_WHERE_H
#define KERNEL_PARQUET_WHERE_H

#include "data/frame.h"

struct where_found {
    int64_t *rows; /* scratch; the caller's in any case */
    int64_t count;
};

/* tested: the columns of the condition. Returns false, too, when it cannot be told, as who reads all rows will say. */
bool where_leaves_few(const granary_frame *tested, const char *where, struct where_found *ret_found);

#endif
