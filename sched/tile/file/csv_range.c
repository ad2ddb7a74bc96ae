/*
 * Blocks were split for every state they may begin in: a walk over them picks the true one, and cuts ranges at
 * records.
 */
#include "tile/file/csv_range.h"

#include <stdlib.h>

#include "base/error.h"
#include "tile/core/chunk.h"

/* States in which a block's first byte (or the one after a line feed that belongs to a CR) begins a record. */
#define STATE_AT_RECORD 0
#define STATE_AFTER_CR  5

granary_err
gr_csv_split_check(const Granary__CsvSplit *split, int64_t size)
{
    if (split->n_end_state != GR_CSV_STATES || split->n_first_record != GR_CSV_STATES ||
        split->n_records != GR_CSV_STATES || split->n_first_lines != GR_CSV_STATES || split->n_lines < 1) {
        return gr_fail(GRANARY_EPROTO, "csv_split: an answer without all %d states", GR_CSV_STATES);
    }
    for (size_t s = 0; s < GR_CSV_STATES; s++) {
        if (split->end_state[s] >= GR_CSV_STATES || split->first_record[s] < -1 || split->first_record[s] > size ||
            split->first_lines[s] > split->lines[0]) {
            return gr_fail(GRANARY_EPROTO, "csv_split: an answer that is impossible for %lld bytes", (long long)size);
        }
    }
    return GRANARY_OK;
}

granary_err
gr_csv_ranges(Granary__CsvSplit *const *splits, size_t count, int64_t block_bytes, int64_t file_bytes,
              struct gr_csv_range **ret_ranges, size_t *ret_count)
{
    struct gr_csv_range *ranges = malloc((count + 1) * sizeof *ranges);
    uint32_t state = STATE_AT_RECORD;
    uint64_t line = 1;
    uint64_t records = 0;
    size_t made = 1;

    if (ranges == NULL) {
        return tile_no_memory();
    }
    ranges[0] = (struct gr_csv_range){.offset = 0, .line = 1};
    for (size_t i = 0; i < count; i++) {
        int64_t offset = (int64_t)i * block_bytes;
        int64_t size = file_bytes - offset < block_bytes ? file_bytes - offset : block_bytes;
        int64_t first = splits[i]->first_record[state];
        uint64_t ended = records + (state != STATE_AT_RECORD && state != STATE_AFTER_CR);

        /* At the block's very end it is the next block's to tell: a line feed there may still belong to a CR here. */
        if (first >= 0 && first < size && ended > 0) {
            ranges[made++] =
                (struct gr_csv_range){.offset = offset + first, .line = line + splits[i]->first_lines[state]};
        }
        line += splits[i]->lines[0];
        records += splits[i]->records[state];
        state = splits[i]->end_state[state];
    }
    for (size_t i = 0; i < made; i++) {
        ranges[i].size = (i + 1 < made ? ranges[i + 1].offset : file_bytes) - ranges[i].offset;
    }
    *ret_ranges = ranges;
    *ret_count = made;
    return GRANARY_OK;
}
