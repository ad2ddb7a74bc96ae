/*
 * What columns can be does not depend on how a file is cut: the planner joins the kinds of all chunks with a bitwise
 * or. Which value is called odd may: that is told to people, and decides nothing.
 */
#include "kernel/csv/find/csv_infer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "data/file/guess.h"
#include "graph/schema.h"
#include "kernel/csv/csv_blocks.h"
#include "kernel/csv/csv_digits.h"
#include "kernel/csv/csv_errors.h"
#include "kernel/csv/csv_style.h"
#include "kernel/csv/csv_values.h"

static granary_err
add_field(struct csv_infer *infer)
{
    Granary__CsvTypes *answer = &infer->answer;

    if (answer->n_kinds == infer->room) {
        size_t room = infer->room == 0 ? 32 : infer->room * 2;
        uint32_t *kinds = realloc(answer->kinds, room * sizeof *kinds);
        struct csv_suspect *suspects;

        if (kinds == NULL) {
            return gr_fail(GRANARY_ENOMEM, "no memory for %zu columns", room);
        }
        answer->kinds = kinds;
        suspects = realloc(infer->suspects, room * sizeof *suspects);
        if (suspects == NULL) {
            return gr_fail(GRANARY_ENOMEM, "no memory for %zu columns", room);
        }
        infer->suspects = suspects;
        infer->room = room;
    }
    infer->suspects[answer->n_kinds] = (struct csv_suspect){.seen = false};
    answer->kinds[answer->n_kinds++] = 0;
    return GRANARY_OK;
}

static void
set_error(struct csv_infer *infer, uint64_t line, const char *error)
{
    (void)snprintf(infer->error, sizeof infer->error, "%s", error);
    infer->answer.error = infer->error;
    infer->answer.error_line = line;
}

static granary_err
add_name(struct csv_infer *infer, const struct csv_field *field, size_t *room)
{
    Granary__CsvTypes *answer = &infer->answer;
    ProtobufCBinaryData *names = answer->names;
    uint8_t *copy;

    if (answer->n_names == *room) {
        *room = *room == 0 ? 32 : *room * 2;
        names = realloc(answer->names, *room * sizeof *names);
        if (names == NULL) {
            return gr_fail(GRANARY_ENOMEM, "no memory for %zu names", *room);
        }
        answer->names = names;
    }
    copy = malloc(field->size + 1);
    if (copy == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a column's name");
    }
    memcpy(copy, field->bytes, field->size);
    names[answer->n_names++] = (ProtobufCBinaryData){.data = copy, .len = field->size};
    return GRANARY_OK;
}

/* Quotes that do not end are an error of the file, answered; no memory is one of the subtask. */
static bool
field_is_bad(struct csv_infer *infer, const struct csv_text *text, const char *place, const struct csv_field *field,
             granary_err *ret_err)
{
    if (field->no_memory) {
        *ret_err = gr_fail(GRANARY_ENOMEM, "%s: no memory for a field", text->path);
    } else if (field->unclosed) {
        set_error(infer, csv_text_line(text, place), CSV_QUOTES_OPEN "; " GR_CSV_REMEDY);
    }
    return field->no_memory || field->unclosed;
}

static granary_err
read_header(struct csv_infer *infer, struct csv_text *text)
{
    struct csv_field field = {0};
    granary_err err = GRANARY_OK;
    size_t room = 0;

    do {
        const char *place = text->at;

        csv_field_next(text, &field);
        if (field_is_bad(infer, text, place, &field, &err)) {
            return err;
        }
        err = add_name(infer, &field, &room);
        if (err == GRANARY_OK) {
            err = add_field(infer);
        }
    } while (err == GRANARY_OK && !field.last);
    infer->answer.fields = infer->answer.n_kinds;
    return err;
}

/* As much of a text as is shown: of its first line, in whole characters. */
static size_t
shown_size(const char *bytes, size_t size)
{
    size_t cut = 0;

    while (cut < size && cut < CSV_ODD_VALUE && (unsigned char)bytes[cut] >= ' ') {
        cut++;
    }
    while (cut < size && cut > 0 && ((unsigned char)bytes[cut] & 0xc0) == 0x80) {
        cut--;
    }
    return cut;
}

/* A value of a kind was seen in a column. place: in the text, where it is or begins */
static void
add_kind(struct csv_infer *infer, size_t position, uint32_t kind, const struct csv_text *text, const char *place,
         const char *bytes, size_t size)
{
    uint32_t before = infer->answer.kinds[position];
    struct csv_suspect *suspect = &infer->suspects[position];

    infer->answer.kinds[position] |= kind;
    if (!gr_kinds_are_text(before) && gr_kinds_are_text(before | kind)) {
        suspect->seen = true;
        suspect->line = csv_text_line(text, place);
        suspect->size = shown_size(bytes, size);
        memcpy(suspect->value, bytes, suspect->size);
    }
}

/* The kind of what is not null. Spaces alone are text. */
static uint32_t
kind_of_value(const struct csv_text *text, const char *bytes, size_t size)
{
    const char *from = gr_trim_spaces(bytes, &size);

    return size == 0 && from != bytes ? CSV_STRING
           : text->style.is_other     ? csv_style_kind(&text->style, from, size)
                                      : (uint32_t)csv_kind_of(from, size);
}

/* In quotes what means null may be a value, but says nothing as text. */
static uint32_t
kind_in_record(const struct csv_text *text, const struct csv_field *field)
{
    bool is_null = csv_is_null(text, field->bytes, field->size);
    uint32_t kind = is_null && !field->quoted ? (uint32_t)CSV_NULL : kind_of_value(text, field->bytes, field->size);

    return is_null && kind == CSV_STRING ? (uint32_t)CSV_NULL : kind;
}

/* One record; *ret_more: go on with the next. */
static granary_err
infer_record(struct csv_infer *infer, struct csv_text *text, bool *ret_more)
{
    Granary__CsvTypes *answer = &infer->answer;
    struct csv_field field = {0};
    granary_err err = GRANARY_OK;
    size_t position = 0;

    *ret_more = false;
    for (; !field.last; position++) {
        const char *place = text->at;

        csv_field_next(text, &field);
        if (field_is_bad(infer, text, place, &field, &err)) {
            return err;
        }
        if (answer->fields == 0) { /* the first record says how many there are */
            err = add_field(infer);
            if (err != GRANARY_OK) {
                return err;
            }
        } else if (position == answer->n_names && answer->n_names > 0 && answer->records == 0 && field.last &&
                   field.size ==
                       0) { /* a delimiter behind each record, and none behind the header: a field of nothing */
            err = add_field(infer);
            if (err != GRANARY_OK) {
                return err;
            }
            answer->fields++;
        } else if (position >= answer->n_kinds) {
            continue;
        }
        if ((answer->kinds[position] & CSV_STRING) == 0) { /* nothing else can make a string column another */
            add_kind(infer, position, kind_in_record(text, &field), text, place, field.bytes, field.size);
        }
    }
    if (answer->fields == 0) {
        answer->fields = position;
    }
    if (position != answer->fields) {
        answer->ragged = true;
        answer->ragged_line = csv_text_line(text, text->record);
        answer->ragged_fields = position;
        return GRANARY_OK;
    }
    answer->records++;
    *ret_more = true;
    return GRANARY_OK;
}

/* Whether what a column can be is settled, or nobody's concern. */
static bool
is_known(const struct csv_infer *infer, size_t position)
{
    const Granary__Attr *known = infer->known;

    for (size_t i = 0; known != NULL && i < known->n_ints; i++) {
        if (known->ints[i] == (int64_t)position) {
            return true;
        }
    }
    return false;
}

/* The narrowest kind of a field, CSV_NULL among them. */
static uint32_t
kind_of_field(const struct csv_text *text, const char *bytes, size_t size)
{
    int64_t integer;
    double real;

    if (text->style.is_other) {
        return csv_is_null(text, bytes, size) ? CSV_NULL : kind_of_value(text, bytes, size);
    }
    return csv_is_null(text, bytes, size)                      ? CSV_NULL
           : csv_is_code(bytes, size)                          ? kind_of_value(text, bytes, size)
           : size > 0 && csv_fast_int64(bytes, size, &integer) ? CSV_INT64
           : size > 0 && csv_fast_float64(bytes, size, &real)  ? CSV_FLOAT64
                                                               : kind_of_value(text, bytes, size);
}

/* Whether what made the column a string is odd among a block's values, or those behind it: once a column and range. */
static void
judge_suspect(const struct csv_text *text, const struct csv_block *block, size_t position, bool is_before,
              struct csv_suspect *suspect)
{
    int64_t texts = is_before;
    int64_t others = 0;

    for (int64_t row = 0; row < block->rows; row++) {
        size_t size;
        const char *bytes = csv_block_field(block, row, position, &size);
        uint32_t kind = kind_of_field(text, bytes, size);

        texts += kind == CSV_STRING;
        others += kind != CSV_STRING && kind != CSV_NULL;
    }
    suspect->judged = true;
    suspect->odd = others > 0 && others >= texts;
}

/* What a column of a block can be. Of strings it does not matter whether some are null. */
static void
infer_column(struct csv_infer *infer, const struct csv_text *text, const struct csv_block *block, size_t position)
{
    uint32_t *kinds = &infer->answer.kinds[position];
    struct csv_suspect *suspect = &infer->suspects[position];
    bool is_before = suspect->seen;

    for (int64_t row = 0; row < block->rows && (*kinds & CSV_STRING) == 0; row++) {
        size_t size;
        const char *bytes = csv_block_field(block, row, position, &size);
        uint32_t kind = kind_of_field(text, bytes, size);

        if ((kind & ~*kinds) != 0) {
            add_kind(infer, position, kind, text, bytes, bytes, size);
        }
    }
    if (suspect->seen && !suspect->judged) {
        judge_suspect(text, block, position, is_before, suspect);
    }
}

/* ---- where errors are left out ---- */

enum { NUMBERS, MOMENTS, TIMES, TRUTHS, TEXTS, COUNTS };

static granary_err
counts_create(struct csv_infer *infer)
{
    Granary__CsvTypes *answer = &infer->answer;

    answer->n_counts = COUNTS * answer->n_kinds;
    answer->counts = calloc(answer->n_counts + 1, sizeof *answer->counts);
    return answer->counts == NULL ? gr_fail(GRANARY_ENOMEM, "no memory for %zu columns", answer->n_kinds) : GRANARY_OK;
}

static void
count_value(struct csv_infer *infer, size_t position, uint32_t kind)
{
    uint64_t *counts = infer->answer.counts + COUNTS * position;

    infer->answer.kinds[position] |= kind;
    counts[NUMBERS] += (kind & (CSV_INT64 | CSV_WIDE | CSV_FLOAT64)) != 0;
    counts[MOMENTS] += (kind & (CSV_DATE | CSV_TIMESTAMP | CSV_TIMESTAMPTZ)) != 0;
    counts[TIMES] += kind == CSV_TIME;
    counts[TRUTHS] += kind == CSV_BOOL;
    counts[TEXTS] += kind == CSV_STRING;
}

/* The record at text->record, if it has all its fields. */
static granary_err
count_record(struct csv_infer *infer, struct csv_text *text)
{
    struct csv_field field = {0};
    size_t fields = 0;
    enum csv_trouble trouble = csv_record_pass(text, infer->answer.fields, infer->is_broken, &fields);
    const char *behind = text->at;

    if (trouble == CSV_NO_MEMORY) {
        return gr_fail(GRANARY_ENOMEM, "%s: no memory for a field", text->path);
    }
    text->at = text->record;
    for (size_t i = 0; i < infer->answer.n_kinds && trouble == CSV_FINE; i++) {
        csv_field_next(text, &field);
        if (!is_known(infer, i)) {
            count_value(infer, i, kind_in_record(text, &field));
        }
    }
    text->at = behind;
    infer->answer.records += trouble == CSV_FINE;
    return GRANARY_OK;
}

static granary_err
count_block(struct csv_infer *infer, struct csv_text *text, const struct csv_block *block)
{
    granary_err err = GRANARY_OK;

    if (infer->is_broken) { /* record by record: which of them are? */
        text->at = block->base + block->stops[-1] + 1;
        for (int64_t row = 0; err == GRANARY_OK && row < block->rows; row++) {
            (void)csv_record_next(text);
            err = count_record(infer, text);
        }
        return err;
    }
    for (size_t i = 0; i < infer->answer.n_kinds; i++) {
        for (int64_t row = 0; !is_known(infer, i) && row < block->rows; row++) {
            size_t size;
            const char *bytes = csv_block_field(block, row, i, &size);

            count_value(infer, i, kind_of_field(text, bytes, size));
        }
    }
    infer->answer.records += (uint64_t)block->rows;
    return GRANARY_OK;
}

/* All records behind the header. */
static granary_err
count_records(struct csv_infer *infer, struct csv_text *text)
{
    struct csv_blocks blocks;
    struct csv_block block;
    granary_err err = GRANARY_OK;
    bool more = true;

    while (infer->answer.n_kinds < infer->answer.fields && err == GRANARY_OK) {
        err = add_field(infer);
    }
    err = err == GRANARY_OK ? counts_create(infer) : err;
    if (err != GRANARY_OK || infer->answer.fields == 0) {
        return err;
    }
    err = csv_blocks_init(&blocks, text, infer->answer.fields);
    while (more && err == GRANARY_OK) {
        enum csv_next next = csv_blocks_next(&blocks, &block);

        if (next == CSV_NEXT_BLOCK) {
            err = count_block(infer, text, &block);
        } else {
            more = next == CSV_NEXT_ODD && csv_record_next(text);
            err = more ? count_record(infer, text) : err;
        }
    }
    csv_blocks_fini(&blocks);
    return err;
}

/* ---- all of a text ---- */

/* The records behind the first one, whose number of fields is known. */
static granary_err
infer_records(struct csv_infer *infer, struct csv_text *text)
{
    struct csv_blocks blocks;
    struct csv_block block;
    granary_err err = csv_blocks_init(&blocks, text, infer->answer.fields);
    bool more = err == GRANARY_OK;

    while (more && err == GRANARY_OK) {
        switch (csv_blocks_next(&blocks, &block)) {
        case CSV_NEXT_END:
            more = false;
            break;
        case CSV_NEXT_BLOCK:
            for (size_t i = 0; i < infer->answer.n_kinds; i++) {
                if (!is_known(infer, i)) {
                    infer_column(infer, text, &block, i);
                }
            }
            infer->answer.records += (uint64_t)block.rows;
            break;
        case CSV_NEXT_ODD:
            more = csv_record_next(text);
            if (more) {
                err = infer_record(infer, text, &more);
            }
            break;
        }
    }
    csv_blocks_fini(&blocks);
    return err;
}

/* The suspects that are odd become part of the answer. */
static granary_err
tell_odd(struct csv_infer *infer)
{
    Granary__CsvTypes *answer = &infer->answer;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < answer->n_kinds && err == GRANARY_OK; i++) {
        struct csv_suspect *suspect = &infer->suspects[i];
        Granary__CsvOdd **grown =
            !suspect->odd ? NULL : reallocarray(answer->odd, answer->n_odd + 1, sizeof(Granary__CsvOdd *));
        Granary__CsvOdd *odd = grown == NULL ? NULL : malloc(sizeof *odd);

        answer->odd = grown == NULL ? answer->odd : grown;
        if (odd != NULL) {
            granary__csv_odd__init(odd);
            odd->column = (uint32_t)i;
            odd->line = suspect->line;
            odd->value = (ProtobufCBinaryData){.data = (uint8_t *)suspect->value, .len = suspect->size};
            answer->odd[answer->n_odd++] = odd;
        } else if (suspect->odd) {
            err = gr_fail(GRANARY_ENOMEM, "no memory for %zu odd values", answer->n_odd + 1);
        }
    }
    return err;
}

granary_err
csv_infer_text(struct csv_infer *infer, struct csv_text *text, bool header)
{
    const char *bad = csv_text_not_utf8(text);
    const char *guess = header && text->is_first ? gr_data_guess(text->begin, (size_t)(text->end - text->begin)) : NULL;
    granary_err err = GRANARY_OK;
    bool more = true;

    if (guess != NULL) {
        set_error(infer, 0, guess);
        return GRANARY_OK;
    }
    infer->is_broken = bad != NULL;
    if (bad != NULL && !infer->tolerates) {
        set_error(infer, csv_text_line(text, bad), GR_CSV_NOT_UTF8 "; " GR_CSV_REMEDY);
        return GRANARY_OK;
    }
    if (header && csv_record_next(text)) {
        err = read_header(infer, text);
    }
    if (infer->tolerates && err == GRANARY_OK && infer->answer.error[0] == '\0') {
        return count_records(infer, text);
    }
    if (err == GRANARY_OK && infer->answer.error[0] == '\0' && csv_record_next(text)) {
        infer->answer.first_record_line = csv_text_line(text, text->record);
        err = infer_record(infer, text, &more);
        if (err == GRANARY_OK && more) {
            err = infer_records(infer, text);
        }
    }
    return err == GRANARY_OK ? tell_odd(infer) : err;
}

void
csv_infer_init(struct csv_infer *infer, const Granary__Attr *known, const char *errors, int64_t fields)
{
    *infer = (struct csv_infer){
        .answer = GRANARY__CSV_TYPES__INIT, .known = known, .tolerates = csv_errors_of(errors) != CSV_ERRORS_REFUSE};
    infer->answer.fields = infer->tolerates && fields > 0 ? (uint64_t)fields : 0;
}

void
csv_infer_fini(struct csv_infer *infer)
{
    free(infer->answer.kinds);
    free(infer->answer.counts);
    for (size_t i = 0; i < infer->answer.n_names; i++) {
        free(infer->answer.names[i].data);
    }
    free(infer->answer.names);
    for (size_t i = 0; i < infer->answer.n_odd; i++) {
        free(infer->answer.odd[i]);
    }
    free(infer->answer.odd);
    free(infer->suspects);
}

granary_err
kernel_csv_infer(struct gr_kernel_call *call, const struct gr_chunk_csv_infer *params)
{
    struct csv_infer infer;
    struct csv_text text;
    granary_err err = csv_text_open(call, &params->csv, 0, &text);
    void *packed;

    if (err != GRANARY_OK) {
        return err;
    }
    csv_infer_init(&infer, params->known, params->errors, params->fields);
    err = csv_infer_text(&infer, &text, params->header);
    if (err == GRANARY_OK) {
        packed = gr_buf_grow(call->answer, granary__csv_types__get_packed_size(&infer.answer));
        if (packed == NULL) {
            err = gr_fail(GRANARY_ENOMEM, "%s: no memory for the answer", text.path);
        } else {
            (void)granary__csv_types__pack(&infer.answer, packed);
        }
    }
    csv_text_close(&text);
    csv_infer_fini(&infer);
    return err;
}
