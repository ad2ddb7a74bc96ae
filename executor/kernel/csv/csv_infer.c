/* The answer does not depend on how a file is cut: the planner joins the answers of all chunks with a bitwise or. */
#include "kernel/csv/csv_infer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "kernel/csv/csv_blocks.h"
#include "kernel/csv/csv_digits.h"
#include "kernel/csv/csv_values.h"

static granary_err
add_field(struct csv_infer *infer)
{
    Granary__CsvTypes *answer = &infer->answer;

    if (answer->n_kinds == infer->room) {
        size_t room = infer->room == 0 ? 32 : infer->room * 2;
        uint32_t *kinds = realloc(answer->kinds, room * sizeof *kinds);

        if (kinds == NULL) {
            return gr_fail(GRANARY_ENOMEM, "no memory for %zu columns", room);
        }
        answer->kinds = kinds;
        infer->room = room;
    }
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
        set_error(infer, csv_text_line(text, place), "the quotes that begin here do not end");
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
        if (memchr(field.bytes, '\0', field.size) != NULL) {
            set_error(infer, csv_text_line(text, place), "a column's name has a NUL byte");
            return GRANARY_OK;
        }
        err = add_name(infer, &field, &room);
        if (err == GRANARY_OK) {
            err = add_field(infer);
        }
    } while (err == GRANARY_OK && !field.last);
    infer->answer.fields = infer->answer.n_kinds;
    return err;
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
        } else if (position >= answer->n_kinds) {
            continue;
        }
        if (csv_is_null(text, field.bytes, field.size)) {
            answer->kinds[position] |= CSV_NULL;
        } else if ((answer->kinds[position] & CSV_STRING) == 0) { /* nothing else can make a string column another */
            answer->kinds[position] |= (uint32_t)csv_kind_of(field.bytes, field.size);
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

/* What a column of a block can be. Of strings it does not matter whether some are null. */
static uint32_t
kinds_of_column(const struct csv_text *text, const struct csv_block *block, size_t position, uint32_t kinds)
{
    for (int64_t row = 0; row < block->rows && (kinds & CSV_STRING) == 0; row++) {
        int64_t integer;
        double real;
        size_t size;
        const char *bytes = csv_block_field(block, row, position, &size);

        if (csv_is_null(text, bytes, size)) {
            kinds |= CSV_NULL;
        } else if (size > 0 && csv_fast_int64(bytes, size, &integer)) {
            kinds |= CSV_INT64;
        } else if (size > 0 && csv_fast_float64(bytes, size, &real)) {
            kinds |= CSV_FLOAT64;
        } else {
            kinds |= (uint32_t)csv_kind_of(bytes, size);
        }
    }
    return kinds;
}

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
                    infer->answer.kinds[i] = kinds_of_column(text, &block, i, infer->answer.kinds[i]);
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

granary_err
csv_infer_text(struct csv_infer *infer, struct csv_text *text, bool header)
{
    const char *bad = csv_text_not_utf8(text);
    granary_err err = GRANARY_OK;
    bool more = true;

    if (bad != NULL) {
        set_error(infer, csv_text_line(text, bad), "not UTF-8");
        return GRANARY_OK;
    }
    if (header && csv_record_next(text)) {
        err = read_header(infer, text);
    }
    if (err == GRANARY_OK && infer->answer.error[0] == '\0' && csv_record_next(text)) {
        infer->answer.first_record_line = csv_text_line(text, text->record);
        err = infer_record(infer, text, &more);
        if (err == GRANARY_OK && more) {
            err = infer_records(infer, text);
        }
    }
    return err;
}

void
csv_infer_init(struct csv_infer *infer, const Granary__ChunkOp *op)
{
    *infer =
        (struct csv_infer){.answer = GRANARY__CSV_TYPES__INIT, .known = gr_attr_find(op->attrs, op->n_attrs, "known")};
}

void
csv_infer_fini(struct csv_infer *infer)
{
    free(infer->answer.kinds);
    for (size_t i = 0; i < infer->answer.n_names; i++) {
        free(infer->answer.names[i].data);
    }
    free(infer->answer.names);
}

granary_err
kernel_csv_infer(struct gr_kernel_call *call)
{
    bool header = gr_attr_bool(call->op->attrs, call->op->n_attrs, "header", false);
    struct csv_infer infer;
    struct csv_text text;
    granary_err err = csv_text_open(call->op, &text);
    void *packed;

    if (err != GRANARY_OK) {
        return err;
    }
    csv_infer_init(&infer, call->op);
    err = csv_infer_text(&infer, &text, header);
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
