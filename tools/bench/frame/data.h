/*
 * The tables of db-benchmark, written as CSV by their published definitions (h2oai/db-benchmark, _data/): no missing
 * values, rows in random order. The random stream is our own; sizes, key ranges and shares of matching keys are theirs.
 */
#ifndef FRAME_DATA_H
#define FRAME_DATA_H

#include <stdbool.h>
#include <stdint.h>

/* groupby: id1, id2 of 100 strings, id3 of rows / 100, id4 and id5 of 100 integers, id6 of rows / 100, v1 in 1..5, v2
 * in 1..15, v3 in 0..100 with six decimals. False, said on stderr: the file could not be written. */
bool data_groupby(const char *path, int64_t rows);

/*
 * join: x (rows), small (rows / 10^6), medium (rows / 10^3) and big (rows), as DIRECTORY/join_NAME.csv: keys id1
 * (small's), id2 (medium's), id3 (big's) and the same as text in id4, id5, id6; nine keys in ten are on both sides. At
 * least a million rows.
 */
bool data_join(const char *directory, int64_t rows);

#endif
