/*
 * Whole records of a CSV file as a frame of the wanted columns. The dtypes were inferred from the same bytes; a file
 * that changed meanwhile gives an error with the line, not wrong values.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "data/file/guess.h"
#include "kernel/csv/csv_blocks.h"
#include "kernel/csv/csv_errors.h"
#include "kernel/csv/csv_put.h"
#include "kernel/csv/csv_strings.h"
#include "kernel/csv/csv_style.h"
#include "kernel/simd/csv.h"

struct reader {
    struct csv_text text;
    uint64_t first_line; /* number of the range's first line */
    int64_t lines_from;  /* byte from which lines are counted; 0: from the file's first one */
    size_t fields;       /* of every record; 0: as the first */
    struct csv_builder *builders;
    size_t count;
    struct csv_builder **by_field; /* by_field[position]: the column it is for, or NULL */
    size_t by_field_count;
    int64_t rows;
    struct csv_checks *checks; /* where errors are not refused; else NULL */
    bool lists;                /* ... but listed, and nothing else is */
};

static const char *
print_line(const struct reader *reader, const char *place, char text[CSV_LINE_BYTES])
{
    return csv_print_line(reader->first_line + csv_text_line(&reader->text, place), reader->lines_from, text);
}

static granary_err
fail_at(const struct reader *reader, const char *place, granary_err err, const char *what)
{
    char line[CSV_LINE_BYTES];

    return gr_fail(err, "%s%s: %s", reader->text.path, print_line(reader, place, line), what);
}

static granary_err
fail_value(const struct reader *reader, const struct csv_builder *builder, const struct csv_field *field)
{
    int shown = field->size > 60 ? 60 : (int)field->size;
    char line[CSV_LINE_BYTES];

    return gr_fail(GRANARY_ETYPE, "%s%s: column '%s': '%.*s%s' is not %s; " GR_CSV_REMEDY, reader->text.path,
                   print_line(reader, reader->text.record, line), builder->name, shown, field->bytes,
                   shown < (int)field->size ? "..." : "", granary_dtype_name(builder->dtype));
}

/* ---- values ---- */

static granary_err
add_strings(const struct reader *reader, const struct csv_builder *builder, const struct csv_string *values,
            size_t count)
{
    granary_err err = csv_strings_add(builder->strings, values, count);

    return err == GRANARY_OK ? err : gr_fail_in(err, "%s: column '%s'", reader->text.path, builder->name);
}

/* Quotes make text of what else means null; of other dtypes it is null where it is no value. */
static granary_err
put_field(const struct reader *reader, const struct csv_builder *builder, const struct csv_field *field)
{
    bool is_null = csv_is_null(&reader->text, field->bytes, field->size);
    struct csv_string string = {field->bytes, field->size};

    if (builder->strings != NULL && !(is_null && !field->quoted)) {
        return add_strings(reader, builder, &string, 1);
    }
    if (builder->strings == NULL && !(is_null && !field->quoted) &&
        (reader->text.style.is_other
             ? csv_style_put(&reader->text.style, builder, reader->rows, field->bytes, field->size)
             : csv_put_value(builder, reader->rows, field->bytes, field->size))) {
        return GRANARY_OK;
    }
    if (!is_null) {
        return fail_value(reader, builder, field);
    }
    return csv_put_missing(builder, reader->rows);
}

/* ---- blocks ---- */

static granary_err
put_strings(const struct reader *reader, const struct csv_builder *builder, const struct csv_block *block)
{
    struct csv_string strings[CSV_BLOCK_ROWS];

    for (int64_t row = 0; row < block->rows; row++) {
        struct csv_string *string = &strings[row];

        string->bytes = csv_block_field(block, row, builder->position, &string->size);
        if (csv_is_null(&reader->text, string->bytes, string->size)) {
            string->bytes = NULL;
            csv_put_null(builder, reader->rows + row);
        }
    }
    return add_strings(reader, builder, strings, (size_t)block->rows);
}

/* *ret_fits false: some value of the block does not fit its column's dtype. */
static granary_err
read_block(struct reader *reader, const struct csv_block *block, bool *ret_fits)
{
    granary_err err = GRANARY_OK;

    *ret_fits = true;
    for (size_t i = 0; err == GRANARY_OK && *ret_fits && i < reader->count; i++) {
        const struct csv_builder *builder = &reader->builders[i];

        if (builder->strings != NULL) {
            err = put_strings(reader, builder, block);
        } else {
            *ret_fits = csv_put_block(&reader->text, builder, block, reader->rows);
        }
    }
    reader->rows += err == GRANARY_OK && *ret_fits ? block->rows : 0;
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
            return field.unclosed ? fail_at(reader, place, GRANARY_EINVAL, CSV_QUOTES_OPEN "; " GR_CSV_REMEDY)
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
    if ((position != reader->fields && reader->checks == NULL) || position < reader->by_field_count) {
        char line[CSV_LINE_BYTES];

        return gr_fail(GRANARY_EINVAL, "%s%s: %zu fields, the records before have %zu", text->path,
                       print_line(reader, text->record, line), position, reader->fields);
    }
    reader->rows++;
    return GRANARY_OK;
}

/* The record at text->record, if it fits. */
static granary_err
read_checked(struct reader *reader)
{
    bool fits;
    granary_err err = csv_checks_record(reader->checks, &fits);

    if (err != GRANARY_OK || !fits || reader->lists) {
        return err;
    }
    reader->text.at = reader->text.record;
    return read_record(reader);
}

/* A block in which something does not fit, once more, record by record: which is the first of them? */
static granary_err
fail_block(struct reader *reader, const struct csv_block *block)
{
    granary_err err = GRANARY_OK;

    reader->text.at = block->base + block->stops[-1] + 1;
    for (int64_t row = 0; err == GRANARY_OK && row < block->rows; row++) {
        (void)csv_record_next(&reader->text);
        err = reader->checks != NULL ? read_checked(reader) : read_record(reader);
    }
    return err != GRANARY_OK || reader->checks != NULL
               ? err
               : gr_fail(GRANARY_EFAILED, "%s: it was read in two ways", reader->text.path);
}

static granary_err
read_blocks(struct reader *reader)
{
    struct csv_blocks blocks;
    struct csv_block block;
    granary_err err = csv_blocks_init(&blocks, &reader->text, reader->fields);
    bool more = true;

    while (more && err == GRANARY_OK) {
        bool fits;

        switch (csv_blocks_next(&blocks, &block)) {
        case CSV_NEXT_END:
            more = false;
            break;
        case CSV_NEXT_BLOCK:
            fits = reader->checks == NULL || csv_checks_block(reader->checks, &block);
            err = fits && !reader->lists ? read_block(reader, &block, &fits) : GRANARY_OK;
            if (err == GRANARY_OK && !fits) {
                err = fail_block(reader, &block);
            }
            break;
        case CSV_NEXT_ODD:
            more = csv_record_next(&reader->text);
            err = !more ? GRANARY_OK : reader->checks != NULL ? read_checked(reader) : read_record(reader);
            break;
        }
    }
    csv_blocks_fini(&blocks);
    return err;
}

static granary_err
read_records(struct reader *reader, bool header)
{
    const char *bad = csv_text_not_utf8(&reader->text);
    struct csv_field field = {0};
    granary_err err = GRANARY_OK;

    if (bad != NULL && reader->checks == NULL) {
        return fail_at(reader, bad, GRANARY_EINVAL, GR_CSV_NOT_UTF8 "; " GR_CSV_REMEDY);
    }
    if (header && csv_record_next(&reader->text)) {
        while (!field.last) {
            csv_field_next(&reader->text, &field);
        }
    }
    if (reader->fields == 0 && csv_record_next(&reader->text)) {
        err = read_record(reader); /* the first record tells how many fields there are */
    }
    return err == GRANARY_OK && reader->fields > 0 ? read_blocks(reader) : err;
}

/* ---- columns ---- */

/* More rows than this the text cannot have: each ends with a line end, or with the text. */
static int64_t
rows_at_most(const struct csv_text *text)
{
    return 1 + (int64_t)text->looks.line_ends;
}

/* Columns, positions and dtypes of the operator. What it says is checked: it came as a message. */
static granary_err
reader_init(struct reader *reader, const struct gr_chunk_csv_read *params)
{
    const Granary__Attr *columns = params->columns;
    const Granary__Attr *positions = params->positions;
    const Granary__Attr *dtypes = params->dtypes;
    int64_t rows_max = rows_at_most(&reader->text);
    granary_err err = GRANARY_OK;
    size_t count = columns->n_strings;

    if (params->fields < 0 || positions->n_ints != count || dtypes->n_strings != count) {
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
    reader->fields = (size_t)params->fields;
    reader->first_line = (uint64_t)params->line;
    reader->lines_from = params->lines_from;
    reader->builders = calloc(count + 1, sizeof *reader->builders);
    reader->by_field = calloc(reader->by_field_count + 1, sizeof(struct csv_builder *));
    if (reader->builders == NULL || reader->by_field == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for %zu columns", count);
    }
    if (csv_errors_of(params->errors) != CSV_ERRORS_REFUSE) {
        err = csv_checks_create(params, &reader->text, &reader->checks);
        reader->lists = csv_errors_of(params->errors) == CSV_ERRORS_LIST;
    }
    if (err != GRANARY_OK || reader->lists) {
        return err;
    }
    reader->count = count;
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        struct csv_builder *builder = &reader->builders[i];

        builder->name = columns->strings[i];
        if (!gr_csv_dtype_parse(dtypes->strings[i], &builder->dtype) || gr_dtype_is_list(builder->dtype)) {
            return gr_fail(GRANARY_EINVAL, "column '%s': no dtype '%s' in CSV files", builder->name,
                           dtypes->strings[i]);
        }
        builder->position = (size_t)positions->ints[i];
        if (reader->by_field[builder->position] != NULL) {
            return gr_fail(GRANARY_EINVAL, "column '%s': its field is read twice", builder->name);
        }
        reader->by_field[builder->position] = builder;
        err = csv_builder_init(builder, rows_max,
                               (size_t)(reader->text.end - reader->text.begin) / (reader->by_field_count + 1));
    }
    return err;
}

static void
reader_fini(struct reader *reader)
{
    for (size_t i = 0; i < reader->count; i++) {
        csv_builder_fini(&reader->builders[i]);
    }
    csv_checks_destroy(reader->checks);
    free(reader->builders);
    free(reader->by_field);
    csv_text_close(&reader->text);
}

granary_err
kernel_csv_read(struct gr_kernel_call *call, const struct gr_chunk_csv_read *params)
{
    struct reader reader = {0};
    granary_err err;

    if (call->output_count != 1) {
        return gr_fail(GRANARY_EINVAL, "one output, not %zu", call->output_count);
    }
    err = csv_text_open(call, &params->csv, 0, &reader.text);
    if (err != GRANARY_OK) {
        return err;
    }
    err = reader_init(&reader, params);
    if (err == GRANARY_OK) {
        err = read_records(&reader, params->header);
    }
    if (err == GRANARY_OK) {
        err = reader.lists ? csv_checks_finish(reader.checks, &call->outputs[0].frame)
                           : csv_builders_finish(reader.builders, reader.count, reader.rows, &call->outputs[0].frame);
    }
    if (err == GRANARY_OK) {
        call->outputs[0].kind = GR_VALUE_FRAME;
    }
    reader_fini(&reader);
    return err;
}
