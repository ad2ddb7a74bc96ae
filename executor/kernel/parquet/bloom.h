/* Row groups without a row that a condition wants, by their Bloom filters. */
#ifndef KERNEL_PARQUET_BLOOM_H
#define KERNEL_PARQUET_BLOOM_H

#include "graph/expr.h"
#include "parquet/parquet.h"

/* What is asked. */
struct bloom_question {
    int fd;
    uint64_t file_size;
    const struct gr_parquet_leaf *leaves;
    const struct gr_parquet_group *group;
    const struct gr_schema *schema; /* of the condition */
    const size_t *leaf_of;          /* by column of the schema */
};

/*
 * Whether the condition, which was checked, is true in no row of the group. Only = and IN with integers and texts are asked.
 * A filter that cannot be read, or is of another kind, says nothing.
 */
bool bloom_excludes(const struct bloom_question *question, const struct gr_expr *where);

#endif
