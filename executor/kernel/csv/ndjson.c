/*
 * JSON lines: ndjson_infer, ndjson_read, ndjson_format. Types are those of CSV fields (kernel/csv), values are built as
 * theirs are. The dtypes were inferred from the same bytes; a file that changed meanwhile gives an error with the line,
 * not wrong values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "data/file/json_record.h"
#include "data/file/lines.h"
#include "data/file/paths/regular.h"
#include "data/print/print.h"
#include "graph/schema.h"
#include "kernel/core/frame_call.h"
#include "kernel/csv/csv_put.h"
#include "kernel/csv/csv_values.h"

/* Hand on the values of every line; `end` is called behind those of a record. */
static granary_err
read_lines(struct gr_lines *lines, struct gr_json_records *records, gr_json_take *take, granary_err (*end)(void *to),
           void *to)
{
    const char *line;
    bool is_record;
    size_t size;
    granary_err err = gr_lines_next(lines, &line, &size);

    while (err == GRANARY_OK && line != NULL) {
        err = gr_json_record(records, line, size, take, to, &is_record);
        err = err == GRANARY_OK && is_record ? end(to) : err;
        err = err == GRANARY_OK ? gr_lines_next(lines, &line, &size) : err;
    }
    return err;
}

/* The lines an operator names; of a packed file its input. */
static granary_err
open_lines(const struct gr_kernel_call *call, const char *path, int64_t inode, int64_t offset, int64_t size,
           struct gr_lines *lines)
{
    if (call->input_count == 0) {
        struct stat info;
        granary_err err = gr_lines_open(lines, path, offset, size);

        if (err == GRANARY_OK && fstat(lines->fd, &info) < 0) {
            err = gr_fail_errno("%s", path);
        }
        return err == GRANARY_OK ? gr_regular_check(path, &info, inode) : err;
    }
    if (call->inputs[0].kind != GR_VALUE_BYTES || size < 0 || call->inputs[0].bytes_size != (uint64_t)size) {
        return gr_fail(GRANARY_ETYPE, "%s: its text is not as it was unpacked", path);
    }
    return gr_lines_open_bytes(lines, path, offset, call->inputs[0].bytes, (size_t)size);
}

/* ---- types ---- */

struct infer {
    struct gr_json_records records;
    uint32_t kinds[GR_JSON_NAMES_MAX]; /* by name; 0: of objects alone */
};

/* What a text is, if it is written as that: numbers in quotes are texts, but for those that JSON cannot write. */
static uint32_t
kind_of_text(const char *bytes, size_t size)
{
    static const char *const reals[] = {"NaN", "Infinity", "-Infinity"};
    enum csv_kind kind = csv_kind_of(bytes, size);

    for (size_t i = 0; i < sizeof reals / sizeof reals[0]; i++) {
        if (strlen(reals[i]) == size && memcmp(bytes, reals[i], size) == 0) {
            return CSV_FLOAT64;
        }
    }
    return (kind & (CSV_DATE | CSV_TIME | CSV_TIMESTAMP | CSV_TIMESTAMPTZ)) != 0 ? (uint32_t)kind
                                                                                 : (uint32_t)CSV_STRING;
}

static uint32_t
kind_of_value(const struct gr_json_value *value)
{
    switch (value->kind) {
    case GR_JSON_NULL:
        return CSV_NULL;
    case GR_JSON_BOOL:
    case GR_JSON_NUMBER:
        return (uint32_t)csv_kind_of(value->bytes, value->size);
    case GR_JSON_STRING:
        return kind_of_text(value->bytes, value->size);
    case GR_JSON_LIST:
        break;
    }
    return CSV_STRING;
}

/* What was seen in one list. */
struct seen {
    uint32_t kinds;
    bool nested; /* a list or an object is among its items: the list is a text */
};

static granary_err
infer_item(void *to, const struct gr_json_value *value)
{
    struct seen *seen = to;

    seen->nested = seen->nested || value->kind == GR_JSON_LIST;
    seen->kinds |= (seen->kinds & CSV_STRING) != 0 ? 0 : kind_of_value(value);
    return GRANARY_OK;
}

static granary_err
infer_value(void *to, const struct gr_json_value *value)
{
    struct infer *infer = to;
    uint32_t *kinds = &infer->kinds[value->name];
    struct seen seen = {0};
    granary_err err;

    if ((*kinds & CSV_STRING) != 0) { /* nothing else can make a string column another */
        return GRANARY_OK;
    }
    if (value->kind != GR_JSON_LIST) {
        *kinds |= kind_of_value(value);
        return GRANARY_OK;
    }
    err = gr_json_items(&infer->records, value->bytes, value->size, infer_item, &seen);
    *kinds |= seen.nested ? (uint32_t)CSV_STRING : GR_KIND_LIST | seen.kinds << GR_KIND_ITEM_SHIFT;
    return err;
}

static granary_err
infer_end(void *to)
{
    (void)to;
    return GRANARY_OK;
}

/* What was seen, as the answer. Names that are of objects alone are left out. */
static granary_err
tell_types(const struct infer *infer, Granary__CsvTypes *types, struct gr_buf *answer)
{
    uint64_t count = infer->records.names.count;
    ProtobufCBinaryData *names = calloc(count + 1, sizeof *names);
    uint32_t *kinds = calloc(count + 1, sizeof *kinds);
    void *packed = NULL;

    for (uint64_t i = 0; names != NULL && kinds != NULL && i < count && i < GR_JSON_NAMES_MAX; i++) {
        ProtobufCBinaryData *name = &names[types->n_names];

        if (infer->kinds[i] != 0) {
            name->data = (uint8_t *)(uintptr_t)gr_texts_at(&infer->records.names, i, &name->len);
            kinds[types->n_names++] = infer->kinds[i];
        }
    }
    types->names = names;
    types->kinds = kinds;
    types->n_kinds = types->n_names;
    if (names != NULL && kinds != NULL) {
        packed = gr_buf_grow(answer, granary__csv_types__get_packed_size(types));
    }
    if (packed != NULL) {
        (void)granary__csv_types__pack(types, packed);
    }
    free(names);
    free(kinds);
    return packed == NULL ? gr_fail(GRANARY_ENOMEM, "no memory for the answer") : GRANARY_OK;
}

granary_err
kernel_ndjson_infer(struct gr_kernel_call *call, const struct gr_chunk_ndjson_infer *params)
{
    struct infer *infer = calloc(1, sizeof *infer);
    Granary__CsvTypes types = GRANARY__CSV_TYPES__INIT;
    struct gr_lines lines = {.fd = -1};
    char message[256] = "";
    granary_err err = infer == NULL
                          ? gr_fail(GRANARY_ENOMEM, "ndjson_infer: out of memory")
                          : open_lines(call, params->path, params->inode, params->offset, params->size, &lines);

    if (err == GRANARY_OK) {
        err = read_lines(&lines, &infer->records, infer_value, infer_end, infer);
        types.records = infer->records.count;
        types.lines = lines.number;
        if (err == GRANARY_EINVAL) { /* what is wrong with the file is part of the answer */
            (void)snprintf(message, sizeof message, "%s", granary_error_message());
            types.error = message;
            types.error_line = lines.number > 0 ? lines.number - 1 : 0;
            err = GRANARY_OK;
        }
        err = err == GRANARY_OK ? tell_types(infer, &types, call->answer) : err;
    }
    gr_lines_close(&lines);
    if (infer != NULL) {
        gr_json_records_free(&infer->records);
    }
    free(infer);
    return err;
}

/* ---- rows ---- */

/* A column of lists. */
struct lists {
    struct csv_builder items;
    int64_t at;        /* items so far */
    int32_t *offsets;  /* NULL: it is no such column */
    uint8_t *validity; /* a bit is set for a list */
};

struct reader {
    struct gr_json_records records;
    struct csv_builder *builders; /* by column */
    struct lists *lists;          /* the same */
    int64_t *filled;              /* by column: rows that have a value, or none */
    size_t count;
    struct gr_texts columns; /* their names, by column */
    int64_t rows;
    int64_t rows_max; /* as planned */
};

static granary_err
fail_value(const struct csv_builder *builder, const struct gr_json_value *value, granary_dtype dtype)
{
    int shown = value->size > 60 ? 60 : (int)value->size;

    return gr_fail(GRANARY_ETYPE, "column '%s': '%.*s%s' is not %s", builder->name, shown, value->bytes,
                   shown < (int)value->size ? "..." : "", granary_dtype_name(dtype));
}

static granary_err
read_item(void *to, const struct gr_json_value *value)
{
    struct lists *lists = to;
    struct csv_builder *items = &lists->items;
    int64_t at = lists->at++;

    if (at == INT32_MAX) {
        return gr_fail(GRANARY_EFULL, "column '%s': its lists have over %d items", items->name, INT32_MAX);
    }
    if (value->kind == GR_JSON_NULL) {
        return csv_put_missing(items, at);
    }
    if (items->strings != NULL) {
        return csv_strings_add(items->strings, &(struct csv_string){value->bytes, value->size}, 1);
    }
    return csv_put_value(items, at, value->bytes, value->size) ? GRANARY_OK : fail_value(items, value, items->dtype);
}

static granary_err
read_value(void *to, const struct gr_json_value *value)
{
    struct reader *reader = to;
    size_t size;
    const char *name = gr_texts_at(&reader->records.names, value->name, &size);
    uint32_t column = gr_texts_find(&reader->columns, name, size);
    const struct csv_builder *builder = column == GR_TEXTS_NONE ? NULL : &reader->builders[column];

    if (builder == NULL || value->kind == GR_JSON_NULL || reader->rows == reader->rows_max) {
        return GRANARY_OK;
    }
    reader->filled[column] = reader->rows + 1;
    if (reader->lists[column].offsets != NULL) {
        if (value->kind != GR_JSON_LIST) {
            return fail_value(builder, value, builder->dtype);
        }
        gr_bit_set(reader->lists[column].validity, reader->rows);
        return gr_json_items(&reader->records, value->bytes, value->size, read_item, &reader->lists[column]);
    }
    if (builder->strings != NULL) {
        return csv_strings_add(builder->strings, &(struct csv_string){value->bytes, value->size}, 1);
    }
    return csv_put_value(builder, reader->rows, value->bytes, value->size) ? GRANARY_OK
                                                                           : fail_value(builder, value, builder->dtype);
}

/* What the record has not had is null. */
static granary_err
end_record(void *to)
{
    struct reader *reader = to;
    granary_err err = reader->rows == reader->rows_max
                          ? gr_fail(GRANARY_EIO, "more records than when the graph was submitted; submit again")
                          : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < reader->count; i++) {
        if (reader->lists[i].offsets != NULL) {
            reader->lists[i].offsets[reader->rows + 1] = (int32_t)reader->lists[i].at;
        } else if (reader->filled[i] <= reader->rows) {
            err = csv_put_missing(&reader->builders[i], reader->rows);
        }
    }
    reader->rows++;
    return err;
}

/* Each item takes two bytes of the text at least. */
static granary_err
lists_init(struct lists *lists, const struct csv_builder *builder, int64_t rows_max, int64_t size, size_t text_guess)
{
    lists->items = (struct csv_builder){.name = builder->name, .dtype = GRANARY_LIST_ITEM(builder->dtype)};
    lists->offsets = malloc(((size_t)rows_max + 1) * sizeof *lists->offsets);
    lists->validity = gr_data_alloc((size_t)gr_bitmap_bytes(rows_max));
    if (lists->offsets == NULL || lists->validity == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for column '%s'", builder->name);
    }
    lists->offsets[0] = 0;
    return csv_builder_init(&lists->items, size / 2 + 1, text_guess);
}

/* Columns and dtypes of the operator. What it says is checked: it came as a message. */
static granary_err
reader_init(struct reader *reader, const struct gr_chunk_ndjson_read *params)
{
    const Granary__Attr *names = params->columns;
    const Granary__Attr *dtypes = params->dtypes;
    int64_t size = params->size;
    granary_err err = GRANARY_OK;

    reader->rows_max = params->rows;
    if (names->n_strings != dtypes->n_strings || reader->rows_max < 0 || reader->rows_max > size / 2 + 1) {
        return gr_fail(GRANARY_EINVAL, "ndjson_read: columns, dtypes and rows do not fit");
    }
    reader->builders = calloc(names->n_strings + 1, sizeof *reader->builders);
    reader->filled = calloc(names->n_strings + 1, sizeof *reader->filled);
    reader->lists = calloc(names->n_strings + 1, sizeof *reader->lists);
    if (reader->builders == NULL || reader->filled == NULL || reader->lists == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for %zu columns", names->n_strings);
    }
    for (size_t i = 0; err == GRANARY_OK && i < names->n_strings; i++) {
        struct csv_builder *builder = &reader->builders[i];
        uint32_t number;

        builder->name = names->strings[i];
        if (!gr_csv_dtype_parse(dtypes->strings[i], &builder->dtype)) {
            return gr_fail(GRANARY_EINVAL, "column '%s': no dtype '%s'", builder->name, dtypes->strings[i]);
        }
        err = gr_texts_add(&reader->columns, builder->name, strlen(builder->name), &number);
        if (err == GRANARY_OK && number != i) {
            err = gr_fail(GRANARY_EINVAL, "column '%s' is read twice", builder->name);
        }
        reader->count++;
        if (err == GRANARY_OK && gr_dtype_is_list(builder->dtype)) {
            err = lists_init(&reader->lists[i], builder, reader->rows_max, size, (size_t)size / (names->n_strings + 1));
        } else if (err == GRANARY_OK) {
            err = csv_builder_init(builder, reader->rows_max, (size_t)size / (names->n_strings + 1));
        }
    }
    return err;
}

static void
reader_fini(struct reader *reader)
{
    for (size_t i = 0; i < reader->count; i++) {
        csv_builder_fini(&reader->builders[i]);
        if (reader->lists[i].offsets != NULL) {
            csv_builder_fini(&reader->lists[i].items);
        }
        free(reader->lists[i].offsets);
        free(reader->lists[i].validity);
    }
    free(reader->builders);
    free(reader->filled);
    free(reader->lists);
    gr_texts_free(&reader->columns);
    gr_json_records_free(&reader->records);
}

static granary_err
lists_finish(struct lists *lists, int64_t rows, struct gr_column *ret_column)
{
    struct gr_column items;
    struct gr_column column;
    granary_err err = csv_builder_finish(&lists->items, lists->at, &items);

    err = err == GRANARY_OK ? gr_list_create(&items, rows, true, &column) : err;
    if (err == GRANARY_OK) {
        memcpy((void *)(uintptr_t)column.view.offsets, lists->offsets, ((size_t)rows + 1) * sizeof *lists->offsets);
        memcpy((void *)(uintptr_t)column.view.validity, lists->validity, (size_t)gr_bitmap_bytes(rows));
        gr_column_settle(&column);
        *ret_column = column;
    }
    return err;
}

static granary_err
reader_finish(struct reader *reader, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(reader->count, reader->rows);
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < reader->count; i++) {
        struct gr_column column;

        err = reader->lists[i].offsets != NULL ? lists_finish(&reader->lists[i], reader->rows, &column)
                                               : csv_builder_finish(&reader->builders[i], reader->rows, &column);
        err = err == GRANARY_OK ? gr_frame_set(frame, i, reader->builders[i].name, &column)
                                : gr_fail_in(err, "column '%s'", reader->builders[i].name);
    }
    return gr_frame_give(frame, err, ret_frame);
}

granary_err
kernel_ndjson_read(struct gr_kernel_call *call, const struct gr_chunk_ndjson_read *params)
{
    struct gr_lines lines = {.fd = -1};
    struct reader reader = {.count = 0};
    granary_frame *frame = NULL;
    granary_err err = reader_init(&reader, params);

    if (err == GRANARY_OK) {
        err = open_lines(call, params->path, params->inode, params->offset, params->size, &lines);
    }
    if (err == GRANARY_OK) {
        err = read_lines(&lines, &reader.records, read_value, end_record, &reader);
        err = err == GRANARY_OK ? err
                                : gr_fail_in(err, "%s%s", lines.path,
                                             csv_print_line((uint64_t)params->line + lines.number - 1,
                                                            params->lines_from, (char[CSV_LINE_BYTES]){0}));
    }
    if (err == GRANARY_OK) {
        err = reader_finish(&reader, &frame);
        err = call_yield(call, 0, frame, err);
    }
    gr_lines_close(&lines);
    reader_fini(&reader);
    return err;
}

/* ---- text ---- */

granary_err
kernel_ndjson_format(struct gr_kernel_call *call, const struct gr_chunk_ndjson_format *params)
{
    const granary_frame *frame;
    struct gr_buf text = {0};
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    gr_print_json_lines(frame, &text);
    return call_yield_packed(call, 0, &text, frame->rows, params->packing);
}
