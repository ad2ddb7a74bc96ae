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

static bool
is_between_records(uint32_t state)
{
    return state == STATE_AT_RECORD || state == STATE_AFTER_CR;
}

granary_err
gr_csv_ranges(const struct gr_csv_block *blocks, size_t count, int64_t file_bytes, struct gr_csv_range **ret_ranges,
              size_t *ret_count, int64_t *ret_wrong)
{
    struct gr_csv_range *ranges = malloc((count + 1) * sizeof *ranges);
    int64_t end = blocks[count - 1].offset + blocks[count - 1].size;
    uint32_t state = STATE_AT_RECORD;
    uint64_t line = 1;
    uint64_t records = blocks[0].offset > 0; /* that ended before */
    size_t made = 1;

    if (ranges == NULL) {
        return tile_no_memory();
    }
    *ret_wrong = -1;
    ranges[0] = (struct gr_csv_range){.offset = blocks[0].offset, .line = 1};
    for (size_t i = 0; i < count; i++) {
        const Granary__CsvSplit *split = blocks[i].split;
        int64_t first = split->first_record[state];
        uint64_t ended = records + !is_between_records(state);

        if (blocks[i].begins && !is_between_records(state) && *ret_wrong < 0) {
            *ret_wrong = blocks[i].offset;
        }
        /* At the block's very end it is the next block's to tell: a line feed there may still belong to a CR here. */
        if (i > 0 && first >= 0 && first < blocks[i].size && ended > 0) {
            ranges[made++] =
                (struct gr_csv_range){.offset = blocks[i].offset + first, .line = line + split->first_lines[state]};
        }
        line += split->lines[0];
        records += split->records[state];
        state = split->end_state[state];
    }
    if (end < file_bytes && !is_between_records(state) && *ret_wrong < 0) {
        *ret_wrong = end;
    }
    if (*ret_wrong >= 0) {
        free(ranges);
        return GRANARY_OK;
    }
    for (size_t i = 0; i < made; i++) {
        ranges[i].size = (i + 1 < made ? ranges[i + 1].offset : end) - ranges[i].offset;
    }
    *ret_ranges = ranges;
    *ret_count = made;
    return GRANARY_OK;
}
