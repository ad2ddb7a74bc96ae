/*
 * csv_split: where records begin in a block of a file, whatever stands before it (csv_scan.h), and which types its
 * columns have if it begins outside quotes, which nearly all do.
 */
#include "base/error.h"
#include "kernel/csv/find/csv_infer.h"
#include "kernel/csv/find/csv_scan.h"

/* The answer, by start states, and what it refers to. */
struct split {
    uint32_t ends[CSV_STATES];
    int64_t firsts[CSV_STATES];
    uint64_t records[CSV_STATES];
    uint64_t first_lines[CSV_STATES];
    uint64_t lines;
};

static void
block_scan(const struct csv_text *text, struct split *split)
{
    struct csv_scan scans[CSV_STATES];
    size_t size = (size_t)(text->end - text->begin);

    if (text->looks.quotes) {
        csv_scan(text->begin, size, text->delimiter, scans);
    } else {
        csv_scan_unquoted(text->begin, size, text->delimiter, text->looks.line_ends, scans);
    }
    for (int s = 0; s < CSV_STATES; s++) {
        bool in_mark = scans[s].first_record <= 0; /* -1 stays; the first record of a file includes its mark */

        split->ends[s] = (uint32_t)scans[s].end;
        split->firsts[s] = scans[s].first_record + (in_mark ? 0 : (int64_t)text->mark_bytes);
        split->records[s] = scans[s].records;
        split->first_lines[s] = split->firsts[s] < 0 ? 0 : csv_count_lines(text->owned, (size_t)split->firsts[s]);
    }
    split->lines = text->looks.lines;
}

/*
 * The bytes from the first record that begins in the block to the first that begins behind it. It holds if the block
 * does not begin between quotes; that shows when all blocks are joined. False: they are not all here.
 */
static bool
records_of_block(const struct csv_text *text, bool begins, const struct split *split, size_t *ret_from, size_t *ret_to)
{
    size_t size = (size_t)(text->end - text->owned);
    enum csv_state state = text->is_first || begins ? CSV_AT_RECORD : CSV_IN_FIELD;
    int64_t first = split->firsts[state];
    enum csv_state end = (enum csv_state)split->ends[state];
    struct csv_scan behind[CSV_STATES];

    if (first < 0 || (size_t)first >= size) {
        return false;
    }
    *ret_from = (size_t)first;
    *ret_to = size;
    if (text->behind == 0) {
        return true;
    }
    csv_scan(text->end, text->behind, text->delimiter, behind);
    if (behind[end].first_record < 0 || (size_t)behind[end].first_record >= text->behind) {
        return false;
    }
    *ret_to = size + (size_t)behind[end].first_record;
    return true;
}

/* The part of a text from one byte to another as a text of its own, as long as the text is not used. */
static struct csv_text
part_of(const struct csv_text *text, size_t from, size_t to)
{
    struct csv_text part = *text;

    if (to > (size_t)(text->end - text->owned)) {
        SIMD_CALL(csv_look)(text->end, to - (size_t)(text->end - text->owned), &part.looks);
    }
    part.owned = text->owned + from;
    part.begin = from == 0 ? text->begin : part.owned;
    part.end = text->owned + to;
    part.at = part.record = part.begin;
    part.scratch = (struct gr_buf){0};
    return part;
}

/* What csv_infer would say of the block's records. */
static granary_err
infer_records(const struct gr_chunk_csv_split *params, struct csv_text *text, const struct split *split,
              struct csv_infer *infer, Granary__CsvSplit *answer)
{
    bool header = params->header;
    char *end = text->owned + (text->end - text->owned);
    struct csv_text part;
    size_t from, to;
    granary_err err;

    *end = text->end_byte;
    if (!records_of_block(text, params->begins, split, &from, &to)) {
        return GRANARY_OK;
    }
    part = part_of(text, from, to);
    text->owned[to] = '\n';
    err = csv_infer_text(infer, &part, header);
    gr_buf_free(&part.scratch);
    answer->types = &infer->answer;
    answer->types_offset = params->offset + (int64_t)from;
    answer->types_size = (int64_t)(to - from);
    return err;
}

/* The effect of a block of a file on the CSV automaton, from each state in which it may begin. It has the columns'
 * types already, because most blocks begin outside quotes, and reading them once more takes as long as this. */
granary_err
kernel_csv_split(struct gr_kernel_call *call, const struct gr_chunk_csv_split *params)
{
    Granary__CsvSplit answer = GRANARY__CSV_SPLIT__INIT;
    struct csv_infer infer;
    struct split split;
    struct csv_text text;
    granary_err err = csv_text_open(call, &params->csv, params->behind, &text);
    void *packed;

    if (err != GRANARY_OK) {
        return err;
    }
    csv_infer_init(&infer, params->known, params->errors, params->fields);
    block_scan(&text, &split);
    answer.n_end_state = answer.n_first_record = answer.n_records = answer.n_first_lines = CSV_STATES;
    answer.end_state = split.ends;
    answer.first_record = split.firsts;
    answer.records = split.records;
    answer.first_lines = split.first_lines;
    answer.n_lines = 1;
    answer.lines = &split.lines;
    err = infer_records(params, &text, &split, &infer, &answer);
    csv_text_close(&text);
    if (err == GRANARY_OK) {
        packed = gr_buf_grow(call->answer, granary__csv_split__get_packed_size(&answer));
        if (packed == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "no memory for the answer");
        } else {
            (void)granary__csv_split__pack(&answer, packed);
        }
    }
    csv_infer_fini(&infer);
    return err;
}
