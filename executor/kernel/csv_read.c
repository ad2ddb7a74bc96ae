/*
 * Whole records of a CSV file as a frame of the wanted columns. The dtypes were inferred from the same bytes; a file
 * that changed meanwhile gives an error with the line, not wrong values.
 */
#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "kernel/csv_text.h"
#include "kernel/csv_values.h"

/* A column being built. */
struct builder {
    const char *name; /* borrowed from the operator */
    granary_dtype dtype;
    size_t position; /* of the field in a record */
    void *values;    /* strings: unused */
    uint8_t *validity;
    int32_t *offsets;
    char *text;
    size_t text_size;
    size_t text_room;
};

struct reader {
    struct csv_text text;
    uint64_t first_line; /* number of the range's first line */
    size_t fields;       /* of every record; 0: as the first */
    struct builder *builders;
    size_t count;
    struct builder **by_field; /* by_field[position]: the column it is for, or NULL */
    size_t by_field_count;
    int64_t rows;
};

static granary_err
fail_at(const struct reader *reader, const char *place, granary_err err, const char *what)
{
    return gr_fail(err, "%s:%llu: %s", reader->text.path,
                   (unsigned long long)(reader->first_line + csv_text_line(&reader->text, place)), what);
}

static granary_err
fail_value(const struct reader *reader, const struct builder *builder, const struct csv_field *field)
{
    int shown = field->size > 60 ? 60 : (int)field->size;

    return gr_fail(GRANARY_ETYPE, "%s:%llu: column '%s': '%.*s%s' is not %s", reader->text.path,
                   (unsigned long long)(reader->first_line + csv_text_line(&reader->text, reader->text.record)),
                   builder->name, shown, field->bytes, shown < (int)field->size ? "..." : "",
                   granary_dtype_name(builder->dtype));
}

/* ---- values ---- */

static granary_err
add_text(const struct reader *reader, struct builder *builder, const struct csv_field *field)
{
    if (field->size > (size_t)INT32_MAX - builder->text_size) {
        return gr_fail(GRANARY_EFULL, "%s: column '%s': more than 2 GiB of text in one chunk; use smaller chunks",
                       reader->text.path, builder->name);
    }
    if (field->size > builder->text_room - builder->text_size) {
        size_t room = builder->text_room;
        char *grown;

        while (room - builder->text_size < field->size) {
            room *= 2;
        }
        grown = gr_data_alloc(room);
        if (grown == NULL) {
            return gr_fail(GRANARY_ENOMEM, "%s: no memory for column '%s'", reader->text.path, builder->name);
        }
        memcpy(grown, builder->text, builder->text_size);
        free(builder->text);
        builder->text = grown;
        builder->text_room = room;
    }
    memcpy(builder->text + builder->text_size, field->bytes, field->size);
    builder->text_size += field->size;
    return GRANARY_OK;
}

/* Put a field that is not null into row `row`: false when it does not fit the dtype. Strings are not its business. */
static bool
put_value(struct builder *builder, int64_t row, const struct csv_field *field)
{
    int32_t days;
    bool truth;

    switch (builder->dtype) {
    case GRANARY_BOOL:
        if (!csv_parse_bool(field->bytes, field->size, &truth)) {
            return false;
        }
        if (truth) {
            gr_bit_set(builder->values, row);
        }
        return true;
    case GRANARY_INT64:
        return csv_parse_int64(field->bytes, field->size, (int64_t *)builder->values + row);
    case GRANARY_FLOAT64:
        return csv_parse_float64(field->bytes, field->size, (double *)builder->values + row);
    case GRANARY_DATE:
        return csv_parse_date(field->bytes, field->size, (int32_t *)builder->values + row);
    case GRANARY_TIMESTAMP:
        if (csv_parse_date(field->bytes, field->size, &days)) {
            ((int64_t *)builder->values)[row] = (int64_t)days * 86400000000;
            return true;
        }
        return csv_parse_timestamp(field->bytes, field->size, (int64_t *)builder->values + row);
    default:
        return false;
    }
}

static granary_err
put_field(struct reader *reader, struct builder *builder, const struct csv_field *field)
{
    granary_err err = GRANARY_OK;

    if (!csv_field_is_null(&reader->text, field)) {
        if (builder->dtype == GRANARY_STRING) {
            err = add_text(reader, builder, field);
        } else if (!put_value(builder, reader->rows, field)) {
            err = fail_value(reader, builder, field);
        }
        if (err == GRANARY_OK) {
            gr_bit_set(builder->validity, reader->rows);
        }
    }
    if (builder->offsets != NULL) {
        builder->offsets[reader->rows + 1] = (int32_t)builder->text_size;
    }
    return err;
}

/* ---- records ---- */

static granary_err
read_record(struct reader *reader)
{
    struct csv_text *text = &reader->text;
    struct csv_field field = {0};
    granary_err err = GRANARY_OK;
    size_t position = 0;

    for (; !field.last; position++) {
        const char *place = text->at;

        csv_field_next(text, &field);
        if (field.unclosed || field.no_memory) {
            return field.unclosed ? fail_at(reader, place, GRANARY_EINVAL, "the quotes that begin here do not end")
                                  : fail_at(reader, place, GRANARY_ENOMEM, "no memory for a field");
        }
        if (position < reader->by_field_count && reader->by_field[position] != NULL) {
            err = put_field(reader, reader->by_field[position], &field);
            if (err != GRANARY_OK) {
                return err;
            }
        }
    }
    if (reader->fields == 0) {
        reader->fields = position;
    }
    if (position != reader->fields || position < reader->by_field_count) {
        return gr_fail(GRANARY_EINVAL, "%s:%llu: %zu fields, the records before have %zu", text->path,
                       (unsigned long long)(reader->first_line + csv_text_line(text, text->record)), position,
                       reader->fields);
    }
    reader->rows++;
    return GRANARY_OK;
}

static granary_err
read_records(struct reader *reader, bool header)
{
    const char *bad = csv_text_not_utf8(&reader->text);
    struct csv_field field = {0};
    granary_err err = GRANARY_OK;

    if (bad != NULL) {
        return fail_at(reader, bad, GRANARY_EINVAL, "not UTF-8");
    }
    if (header && csv_record_next(&reader->text)) {
        while (!field.last) {
            csv_field_next(&reader->text, &field);
        }
    }
    while (err == GRANARY_OK && csv_record_next(&reader->text)) {
        err = read_record(reader);
    }
    return err;
}

/* ---- columns ---- */

/* More rows than this the text cannot have: each ends with a line end, or with the text. */
static int64_t
rows_at_most(const struct csv_text *text)
{
    int64_t rows = 1;

    for (const char *p = text->begin; p < text->end; p++) {
        rows += (*p == '\n') | (*p == '\r');
    }
    return rows;
}

static granary_err
builder_init(struct builder *builder, int64_t rows_max, size_t text_guess)
{
    size_t value_bytes = builder->dtype == GRANARY_BOOL ? (size_t)gr_bitmap_bytes(rows_max)
                                                        : gr_dtype_size(builder->dtype) * (size_t)rows_max;

    if (builder->dtype == GRANARY_NULLTYPE) {
        return GRANARY_OK;
    }
    builder->validity = gr_data_alloc((size_t)gr_bitmap_bytes(rows_max));
    if (builder->dtype == GRANARY_STRING) {
        builder->text_room = text_guess + 64;
        builder->text = gr_data_alloc(builder->text_room);
        builder->offsets = gr_data_alloc(((size_t)rows_max + 1) * sizeof *builder->offsets);
    } else {
        builder->values = gr_data_alloc(value_bytes);
    }
    if (builder->validity == NULL ||
        (builder->dtype == GRANARY_STRING ? builder->text == NULL || builder->offsets == NULL
                                          : builder->values == NULL)) {
        return gr_fail(GRANARY_ENOMEM, "no memory for column '%s' (%lld rows)", builder->name, (long long)rows_max);
    }
    return GRANARY_OK;
}

/* Columns, positions and dtypes of the operator. What it says is checked: it came as a message. */
static granary_err
reader_init(struct reader *reader, const Granary__ChunkOp *op)
{
    const Granary__Attr *columns = gr_attr_find(op->attrs, op->n_attrs, "columns");
    const Granary__Attr *positions = gr_attr_find(op->attrs, op->n_attrs, "positions");
    const Granary__Attr *dtypes = gr_attr_find(op->attrs, op->n_attrs, "dtypes");
    int64_t rows_max = rows_at_most(&reader->text);
    int64_t fields = gr_attr_int(op->attrs, op->n_attrs, "fields", 0);
    granary_err err = GRANARY_OK;
    size_t count = columns == NULL ? 0 : columns->n_strings;

    if (fields < 0 || (positions == NULL ? 0 : positions->n_ints) != count ||
        (dtypes == NULL ? 0 : dtypes->n_strings) != count) {
        return gr_fail(GRANARY_EINVAL, "columns, positions and dtypes do not fit");
    }
    for (size_t i = 0; i < count; i++) {
        if (positions->ints[i] < 0 || positions->ints[i] > INT_MAX) {
            return gr_fail(GRANARY_EINVAL, "column '%s': bad position", columns->strings[i]);
        }
        if ((size_t)positions->ints[i] >= reader->by_field_count) {
            reader->by_field_count = (size_t)positions->ints[i] + 1;
        }
    }
    reader->fields = (size_t)fields;
    reader->first_line = (uint64_t)gr_attr_int(op->attrs, op->n_attrs, "line", 1);
    reader->builders = calloc(count + 1, sizeof *reader->builders);
    reader->by_field = calloc(reader->by_field_count + 1, sizeof(struct builder *));
    if (reader->builders == NULL || reader->by_field == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for %zu columns", count);
    }
    reader->count = count;
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        struct builder *builder = &reader->builders[i];

        builder->name = columns->strings[i];
        builder->dtype = gr_dtype_parse(dtypes->strings[i]);
        builder->position = (size_t)positions->ints[i];
        if (reader->by_field[builder->position] != NULL) {
            return gr_fail(GRANARY_EINVAL, "column '%s': its field is read twice", builder->name);
        }
        reader->by_field[builder->position] = builder;
        err = builder_init(builder, rows_max,
                           (size_t)(reader->text.end - reader->text.begin) / (reader->by_field_count + 1));
    }
    return err;
}

static void
reader_fini(struct reader *reader)
{
    for (size_t i = 0; i < reader->count; i++) {
        free(reader->builders[i].values);
        free(reader->builders[i].validity);
        free(reader->builders[i].offsets);
        free(reader->builders[i].text);
    }
    free(reader->builders);
    free(reader->by_field);
    csv_text_close(&reader->text);
}

/* What was built, as a column; the builder is empty then. */
static void
builder_finish(struct builder *builder, int64_t rows, struct gr_column *ret_column)
{
    *ret_column = (struct gr_column){
        .owned = true,
        .view = {.dtype = builder->dtype, .rows = rows, .validity = builder->validity, .offsets = builder->offsets},
    };
    ret_column->view.values = builder->dtype == GRANARY_STRING ? (void *)builder->text : builder->values;
    builder->values = NULL;
    builder->validity = NULL;
    builder->offsets = NULL;
    builder->text = NULL;
    gr_column_finish(ret_column);
}

static granary_err
make_frame(struct reader *reader, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(reader->count, reader->rows);
    granary_err err = GRANARY_OK;

    if (frame == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a frame of %zu columns", reader->count);
    }
    for (size_t i = 0; err == GRANARY_OK && i < reader->count; i++) {
        struct gr_column column;

        builder_finish(&reader->builders[i], reader->rows, &column);
        err = gr_frame_set(frame, i, reader->builders[i].name, &column);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

granary_err
kernel_csv_read(struct gr_kernel_call *call)
{
    struct reader reader = {0};
    bool header = gr_attr_bool(call->op->attrs, call->op->n_attrs, "header", false);
    granary_err err;

    if (call->output_count != 1) {
        return gr_fail(GRANARY_EINVAL, "one output, not %zu", call->output_count);
    }
    err = csv_text_open(call->op, &reader.text);
    if (err != GRANARY_OK) {
        return err;
    }
    err = reader_init(&reader, call->op);
    if (err == GRANARY_OK) {
        err = read_records(&reader, header);
    }
    if (err == GRANARY_OK) {
        err = make_frame(&reader, &call->outputs[0].frame);
    }
    if (err == GRANARY_OK) {
        call->outputs[0].kind = GR_VALUE_FRAME;
    }
    reader_fini(&reader);
    return err;
}
