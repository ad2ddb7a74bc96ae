#include "base/error.h"
#include "kernel/csv/csv_scan.h"
#include "kernel/csv/csv_text.h"

/* What a block of a file does to the CSV automaton, from each state it may begin in. */
granary_err
kernel_csv_split(struct gr_kernel_call *call)
{
    Granary__CsvSplit answer = GRANARY__CSV_SPLIT__INIT;
    struct csv_scan scans[CSV_STATES];
    uint32_t ends[CSV_STATES];
    int64_t firsts[CSV_STATES];
    uint64_t records[CSV_STATES];
    uint64_t first_lines[CSV_STATES];
    uint64_t lines;
    struct csv_text text;
    granary_err err = csv_text_open(call->op, &text);
    void *packed;

    if (err != GRANARY_OK) {
        return err;
    }
    csv_scan(text.begin, (size_t)(text.end - text.begin), text.delimiter, scans);
    for (int s = 0; s < CSV_STATES; s++) {
        bool in_mark = scans[s].first_record <= 0; /* -1 stays; the first record of a file includes its mark */

        ends[s] = (uint32_t)scans[s].end;
        firsts[s] = scans[s].first_record + (in_mark ? 0 : (int64_t)text.mark_bytes);
        records[s] = scans[s].records;
        first_lines[s] = firsts[s] < 0 ? 0 : csv_count_lines(text.owned, (size_t)firsts[s]);
    }
    lines = csv_text_line(&text, text.end);
    csv_text_close(&text);

    answer.n_end_state = answer.n_first_record = answer.n_records = CSV_STATES;
    answer.n_first_lines = CSV_STATES;
    answer.first_lines = first_lines;
    answer.end_state = ends;
    answer.first_record = firsts;
    answer.records = records;
    answer.n_lines = 1;
    answer.lines = &lines;
    packed = gr_buf_grow(call->answer, granary__csv_split__get_packed_size(&answer));
    if (packed == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for the answer");
    }
    (void)granary__csv_split__pack(&answer, packed);
    return GRANARY_OK;
}
