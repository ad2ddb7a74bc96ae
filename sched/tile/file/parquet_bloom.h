/* Row groups without a row that a condition wants, by their Bloom filters. */
#ifndef TILE_FILE_PARQUET_BLOOM_H
#define TILE_FILE_PARQUET_BLOOM_H

#include "tile/file/parquet_cuts.h"

struct bloom_test;

/* The parts of a condition that can be checked with these columns. Errors: ENOMEM */
granary_err
bloom_test_create(const struct gr_expr *where, const struct gr_schema *schema, struct bloom_test **ret_test);
void bloom_test_destroy(struct bloom_test *test); /* NULL is fine */

/*
 * Whether the condition is true in no row of the group, as far as the filters of the file tell: = and IN with literals are
 * asked for. A filter that cannot be read, or is of another kind, says nothing.
 */
bool bloom_test_excludes(const struct bloom_test *test, const struct cuts *cuts, size_t group, int fd);

#endif
