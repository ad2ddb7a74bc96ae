/* Row groups without a row that a condition wants, by their Bloom filters. */
#ifndef TILE_FILE_PARQUET_BLOOM_H
#define TILE_FILE_PARQUET_BLOOM_H

#include "tile/file/parquet_cuts.h"
#include "tile/source/zone.h"

/*
 * Whether the condition is true in no row of the group, as far as the filters of the file tell: = and IN with literals are
 * asked for. A filter that cannot be read, or is of another kind, says nothing.
 */
bool bloom_excludes(const struct zone_test *test, const struct cuts *cuts, size_t group, int fd);

#endif
