/* From what blocks of bytes do to the CSV automaton to ranges of whole records. */
#ifndef TILE_FILE_CSV_RANGE_H
#define TILE_FILE_CSV_RANGE_H

#include <stdbool.h>
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

/* Bytes of a file whose effect on the automaton is asked for. */
struct gr_csv_block {
    int64_t offset;
    int64_t size;
    bool begins;              /* a part begins here, and so does a record */
    Granary__CsvSplit *split; /* owned; NULL: not told yet */
};

/*
 * Join the answers of consecutive blocks, the first of which begins with the file or a record. A block in which no record
 * begins belongs to the range before it; the first range of a file has the first record whole.
 *
 * file_bytes   of the file: blocks that end before end with a record
 * *ret_ranges  covers the blocks, at least one range; to be freed
 * *ret_wrong   a byte at which no record begins although it should: then there are no ranges. -1: there is none
 * Errors       ENOMEM
 */
granary_err gr_csv_ranges(const struct gr_csv_block *blocks, size_t count, int64_t file_bytes,
                          struct gr_csv_range **ret_ranges, size_t *ret_count, int64_t *ret_wrong);

#endif
