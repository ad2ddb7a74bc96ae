/* From what blocks of bytes do to the CSV automaton to ranges of whole records. */
#ifndef TILE_FILE_CSV_RANGE_H
#define TILE_FILE_CSV_RANGE_H

#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"
#include "schema/granary.pb-c.h"

#define GR_CSV_STATES 6 /* of the automaton: contract/formats/csv.def */

/* Bytes of a file that begin and end with whole records. */
struct gr_csv_range {
    int64_t offset;
    int64_t size;
    uint64_t line; /* number of the line its first byte is on, from 1 */
};

/* Whether an answer can be what a scan of size bytes gives. Errors: EPROTO */
granary_err gr_csv_split_check(const Granary__CsvSplit *split, int64_t size);

/*
 * Join the answers of consecutive blocks of block_bytes (the last one ends with the file). A block in which no record
 * begins belongs to the range before it; the first range has the first record whole.
 *
 * *ret_ranges  covers the file, at least one range; to be freed
 * Errors       ENOMEM
 */
granary_err gr_csv_ranges(Granary__CsvSplit *const *splits, size_t count, int64_t block_bytes, int64_t file_bytes,
                          struct gr_csv_range **ret_ranges, size_t *ret_count);

#endif
