/*
 * Frames written as Arrow IPC files. Nothing is allocated: the same code runs once without memory to measure and once
 * to write, and gives the same bytes for the same frame.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow.h"
#include "data/arrow_format.h"
#include "data/bits.h"
#include "data/directory.h"
#include "data/flat.h"
#include "data/zone.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Arrow files are written in native order");

#define ALIGNMENT    64u
#define BUFFERS_MOST 3 /* of a column: validity, offsets, values */

static uint64_t
aligned(uint64_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint64_t
validity_size(const granary_column *column)
{
    return column->null_count > 0 ? (uint64_t)gr_bitmap_bytes(column->rows) : 0;
}

/* A string column without rows may come without offsets. */
static int64_t
text_size(const granary_column *column)
{
    return column->rows > 0 ? column->offsets[column->rows] - column->offsets[0] : 0;
}

static uint64_t
values_size(const granary_column *column)
{
    switch (column->dtype) {
    case GRANARY_BOOL:
        return (uint64_t)gr_bitmap_bytes(column->rows);
    case GRANARY_STRING:
        return column->dictionary != NULL ? (uint64_t)column->rows * sizeof(int32_t) : (uint64_t)text_size(column);
    default:
        return (uint64_t)column->rows * gr_dtype_size(column->dtype);
    }
}

/* Whether a column has offsets of its own. */
static bool
has_offsets(const granary_column *column)
{
    return column->dtype == GRANARY_STRING && column->dictionary == NULL;
}

/* Where a column's buffers lie, from *at (a multiple of 64), which moves behind them. */
static struct gr_directory_column
place_column(const granary_column *column, uint64_t *at)
{
    struct gr_directory_column place = {.validity_offset = *at};

    if (column->dtype == GRANARY_NULLTYPE) {
        return (struct gr_directory_column){0};
    }
    place.validity_size = validity_size(column);
    place.offsets_offset = place.validity_offset + aligned(place.validity_size);
    place.offsets_size = has_offsets(column) ? ((uint64_t)column->rows + 1) * sizeof(int32_t) : 0;
    place.values_offset = place.offsets_offset + aligned(place.offsets_size);
    place.values_size = values_size(column);
    *at = place.values_offset + aligned(place.values_size);
    return place;
}

/* Where the buffers of a column's dictionary lie, from at on (a multiple of 64); returns what is behind them. */
static uint64_t
place_entries(const granary_column *entries, uint64_t at, struct gr_directory_column *place)
{
    place->entries = entries->rows;
    place->entry_offsets_offset = at;
    place->entry_offsets_size = ((uint64_t)entries->rows + 1) * sizeof(int32_t);
    place->entry_text_offset = at + aligned(place->entry_offsets_size);
    place->entry_text_size = (uint64_t)text_size(entries);
    return place->entry_text_offset + aligned(place->entry_text_size);
}

/* ---- metadata ---- */

static size_t
put_int_type(struct flat_out *out, uint64_t bits, bool is_signed)
{
    static const uint8_t sizes[] = {[INT_BIT_WIDTH] = 4, [INT_IS_SIGNED] = 1};
    size_t table = flat_put_table(out, sizes, sizeof sizes);

    flat_set(out, table, INT_BIT_WIDTH, bits, 4);
    flat_set(out, table, INT_IS_SIGNED, is_signed, 1);
    return table;
}

/* A type table with one 16-bit field: precision or unit. */
static size_t
put_unit_type(struct flat_out *out, uint64_t unit)
{
    static const uint8_t sizes[] = {2};
    size_t table = flat_put_table(out, sizes, sizeof sizes);

    flat_set(out, table, 0, unit, 2);
    return table;
}

static size_t
put_decimal_type(struct flat_out *out, int scale)
{
    static const uint8_t sizes[] = {[DECIMAL_PRECISION] = 4, [DECIMAL_SCALE] = 4, [DECIMAL_BIT_WIDTH] = 4};
    size_t table = flat_put_table(out, sizes, sizeof sizes);

    flat_set(out, table, DECIMAL_PRECISION, GRANARY_DECIMAL_DIGITS, 4);
    flat_set(out, table, DECIMAL_SCALE, (uint64_t)scale, 4);
    flat_set(out, table, DECIMAL_BIT_WIDTH, 128, 4);
    return table;
}

static enum arrow_type
put_type(struct flat_out *out, granary_dtype dtype, size_t *ret_table)
{
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_INT64:
    case GRANARY_INT32:
    case GRANARY_INT16:
    case GRANARY_INT8:
        *ret_table = put_int_type(out, gr_dtype_size(dtype) * 8, true);
        return TYPE_INT;
    case GRANARY_UINT64:
    case GRANARY_UINT32:
    case GRANARY_UINT16:
    case GRANARY_UINT8:
        *ret_table = put_int_type(out, gr_dtype_size(dtype) * 8, false);
        return TYPE_INT;
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
        *ret_table = put_unit_type(out, dtype == GRANARY_FLOAT64 ? PRECISION_DOUBLE : PRECISION_SINGLE);
        return TYPE_FLOAT;
    case GRANARY_DATE:
        *ret_table = put_unit_type(out, DATE_DAY);
        return TYPE_DATE;
    case GRANARY_TIMESTAMP:
        *ret_table = put_unit_type(out, TIME_MICROSECOND);
        return TYPE_TIMESTAMP;
    case GRANARY_DURATION:
        *ret_table = put_unit_type(out, TIME_MICROSECOND);
        return TYPE_DURATION;
    case GRANARY_DECIMAL:
        *ret_table = put_decimal_type(out, gr_dtype_scale(dtype));
        return TYPE_DECIMAL;
    default:
        *ret_table = flat_put_table(out, NULL, 0);
        return dtype == GRANARY_BOOL ? TYPE_BOOL : dtype == GRANARY_STRING ? TYPE_UTF8 : TYPE_NULL;
    }
}

/* The dictionary of column `id` has that number. */
static size_t
put_encoding(struct flat_out *out, size_t id)
{
    static const uint8_t sizes[] = {[DICTIONARY_ID] = 8, [DICTIONARY_INDEX_TYPE] = 4};
    size_t table = flat_put_table(out, sizes, sizeof sizes);

    flat_set(out, table, DICTIONARY_ID, id, 8);
    flat_refer(out, table, DICTIONARY_INDEX_TYPE, put_int_type(out, 32, true));
    return table;
}

static size_t
put_field(struct flat_out *out, const granary_column *column, size_t id)
{
    const uint8_t sizes[] = {[FIELD_NAME] = 4,
                             [FIELD_NULLABLE] = 1,
                             [FIELD_TYPE_TYPE] = 1,
                             [FIELD_TYPE] = 4,
                             [FIELD_DICTIONARY] = column->dictionary != NULL ? 4 : 0,
                             [FIELD_CHILDREN] = 4};
    size_t table = flat_put_table(out, sizes, sizeof sizes);
    enum arrow_type type;
    size_t type_table;

    flat_set(out, table, FIELD_NULLABLE, 1, 1);
    flat_refer(out, table, FIELD_NAME, flat_put_string(out, column->name, strlen(column->name)));
    type = put_type(out, column->dtype, &type_table);
    flat_set(out, table, FIELD_TYPE_TYPE, type, 1);
    flat_refer(out, table, FIELD_TYPE, type_table);
    if (column->dictionary != NULL) {
        flat_refer(out, table, FIELD_DICTIONARY, put_encoding(out, id));
    }
    flat_refer(out, table, FIELD_CHILDREN, flat_put_vector(out, 0, 4));
    return table;
}

static size_t
put_schema(struct flat_out *out, const granary_frame *frame)
{
    static const uint8_t sizes[] = {[SCHEMA_ENDIANNESS] = 2, [SCHEMA_FIELDS] = 4};
    size_t table = flat_put_table(out, sizes, sizeof sizes);
    size_t fields = flat_put_vector(out, frame->count, 4);

    flat_refer(out, table, SCHEMA_FIELDS, fields);
    for (size_t i = 0; i < frame->count; i++) {
        flat_refer_element(out, fields, i, put_field(out, &frame->columns[i].view, i));
    }
    return table;
}

static size_t
put_batch(struct flat_out *out, const granary_frame *frame)
{
    static const uint8_t sizes[] = {[BATCH_LENGTH] = 8, [BATCH_NODES] = 4, [BATCH_BUFFERS] = 4};
    size_t table = flat_put_table(out, sizes, sizeof sizes);
    size_t nodes = flat_put_vector(out, frame->count, sizeof(struct arrow_node));
    struct arrow_buffer buffers[BUFFERS_MOST];
    uint64_t at = 0;
    size_t count = 0;
    size_t vector;

    for (size_t i = 0; i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        struct arrow_node node = {column->rows, column->dtype == GRANARY_NULLTYPE ? column->rows : column->null_count};

        flat_set_element(out, nodes, i, sizeof node, &node);
        count += column->dtype == GRANARY_NULLTYPE ? 0 : has_offsets(column) ? 3 : 2;
    }
    vector = flat_put_vector(out, count, sizeof buffers[0]);
    count = 0;
    for (size_t i = 0; i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        struct gr_directory_column place = place_column(column, &at);
        size_t have = 0;

        if (column->dtype == GRANARY_NULLTYPE) {
            continue;
        }
        buffers[have++] = (struct arrow_buffer){(int64_t)place.validity_offset, (int64_t)place.validity_size};
        if (has_offsets(column)) {
            buffers[have++] = (struct arrow_buffer){(int64_t)place.offsets_offset, (int64_t)place.offsets_size};
        }
        buffers[have++] = (struct arrow_buffer){(int64_t)place.values_offset, (int64_t)place.values_size};
        for (size_t b = 0; b < have; b++) {
            flat_set_element(out, vector, count++, sizeof buffers[b], &buffers[b]);
        }
    }
    flat_set(out, table, BATCH_LENGTH, (uint64_t)frame->rows, 8);
    flat_refer(out, table, BATCH_NODES, nodes);
    flat_refer(out, table, BATCH_BUFFERS, vector);
    return table;
}

/* The dictionary of column `id`, whose body is offsets and text. */
static size_t
put_dictionary(struct flat_out *out, const granary_column *entries, size_t id)
{
    static const uint8_t sizes[] = {
        [DICTIONARY_BATCH_ID] = 8, [DICTIONARY_BATCH_DATA] = 4, [DICTIONARY_BATCH_IS_DELTA] = 0};
    static const uint8_t batch_sizes[] = {[BATCH_LENGTH] = 8, [BATCH_NODES] = 4, [BATCH_BUFFERS] = 4};
    size_t table = flat_put_table(out, sizes, sizeof sizes);
    size_t batch = flat_put_table(out, batch_sizes, sizeof batch_sizes);
    size_t nodes = flat_put_vector(out, 1, sizeof(struct arrow_node));
    size_t buffers = flat_put_vector(out, BUFFERS_MOST, sizeof(struct arrow_buffer));
    struct gr_directory_column place = {.entries = 0};
    struct arrow_node node = {entries->rows, 0};

    (void)place_entries(entries, 0, &place);
    flat_set(out, table, DICTIONARY_BATCH_ID, id, 8);
    flat_refer(out, table, DICTIONARY_BATCH_DATA, batch);
    flat_set(out, batch, BATCH_LENGTH, (uint64_t)entries->rows, 8);
    flat_refer(out, batch, BATCH_NODES, nodes);
    flat_refer(out, batch, BATCH_BUFFERS, buffers);
    flat_set_element(out, nodes, 0, sizeof node, &node);
    for (size_t b = 0; b < BUFFERS_MOST; b++) {
        const struct arrow_buffer buffer[BUFFERS_MOST] = {
            {0, 0},
            {(int64_t)place.entry_offsets_offset, (int64_t)place.entry_offsets_size},
            {(int64_t)place.entry_text_offset, (int64_t)place.entry_text_size}};

        flat_set_element(out, buffers, b, sizeof buffer[b], &buffer[b]);
    }
    return table;
}

/* column: whose dictionary it is, for a message of that kind. */
static void
put_message(struct flat_out *out, const granary_frame *frame, enum arrow_header kind, size_t column,
            uint64_t body_length)
{
    static const uint8_t sizes[] = {
        [MESSAGE_VERSION] = 2, [MESSAGE_HEADER_TYPE] = 1, [MESSAGE_HEADER] = 4, [MESSAGE_BODY_LENGTH] = 8};
    size_t table = flat_put_table(out, sizes, sizeof sizes);
    size_t header;

    flat_set(out, table, MESSAGE_VERSION, ARROW_V5, 2);
    flat_set(out, table, MESSAGE_HEADER_TYPE, kind, 1);
    flat_set(out, table, MESSAGE_BODY_LENGTH, body_length, 8);
    header = kind == HEADER_SCHEMA  ? put_schema(out, frame)
             : kind == HEADER_BATCH ? put_batch(out, frame)
                                    : put_dictionary(out, frame->columns[column].view.dictionary, column);
    flat_refer(out, table, MESSAGE_HEADER, header);
}

/* ---- file ---- */

#define MESSAGE_PREFIX 8

/* What is where in the file. */
struct plan {
    uint64_t schema;       /* message: continuation, length, Flatbuffers, padding */
    uint64_t dictionaries; /* one after another: message, body */
    uint64_t batch;
    uint64_t body; /* multiple of 64 */
    uint64_t end;  /* end-of-stream mark */
    uint64_t footer;
    uint64_t footer_size;
    uint64_t size;
};

/* The message of a column's dictionary that begins at `at`, and what it takes. */
static struct arrow_block
dictionary_block(const granary_frame *frame, size_t column, uint64_t at)
{
    struct gr_directory_column place = {.entries = 0};
    struct flat_out out = {0};

    put_message(&out, frame, HEADER_DICTIONARY, column, 0);
    return (struct arrow_block){
        .offset = (int64_t)at,
        .metadata_length = (int32_t)aligned(MESSAGE_PREFIX + out.size),
        .body_length = (int64_t)place_entries(frame->columns[column].view.dictionary, 0, &place),
    };
}

static uint64_t
block_end(const struct arrow_block *block)
{
    return (uint64_t)block->offset + (uint64_t)block->metadata_length + (uint64_t)block->body_length;
}

static struct arrow_block
batch_block(const struct plan *plan)
{
    return (struct arrow_block){
        .offset = (int64_t)plan->batch,
        .metadata_length = (int32_t)(plan->body - plan->batch),
        .body_length = (int64_t)(plan->end - plan->body),
    };
}

static void
put_footer(struct flat_out *out, const granary_frame *frame, const struct plan *plan, const struct arrow_block *batches,
           size_t batch_count)
{
    static const uint8_t sizes[] = {
        [FOOTER_VERSION] = 2, [FOOTER_SCHEMA] = 4, [FOOTER_DICTIONARIES] = 4, [FOOTER_BATCHES] = 4};
    size_t table = flat_put_table(out, sizes, sizeof sizes);
    uint64_t at = plan->dictionaries;
    size_t count = 0;
    size_t blocks;

    for (size_t i = 0; i < frame->count; i++) {
        count += frame->columns[i].view.dictionary != NULL;
    }
    flat_set(out, table, FOOTER_VERSION, ARROW_V5, 2);
    flat_refer(out, table, FOOTER_SCHEMA, put_schema(out, frame));
    blocks = flat_put_vector(out, count, sizeof *batches);
    flat_refer(out, table, FOOTER_DICTIONARIES, blocks);
    count = 0;
    for (size_t i = 0; i < frame->count; i++) {
        if (frame->columns[i].view.dictionary != NULL) {
            struct arrow_block dictionary = dictionary_block(frame, i, at);

            flat_set_element(out, blocks, count++, sizeof dictionary, &dictionary);
            at = block_end(&dictionary);
        }
    }
    blocks = flat_put_vector(out, batch_count, sizeof *batches);
    flat_refer(out, table, FOOTER_BATCHES, blocks);
    for (size_t i = 0; i < batch_count; i++) {
        flat_set_element(out, blocks, i, sizeof batches[i], &batches[i]);
    }
}

static struct plan
plan_file(const granary_frame *frame)
{
    struct plan plan = {.schema = 8};
    struct arrow_block block = {0};
    struct flat_out schema = {0};
    struct flat_out batch = {0};
    struct flat_out footer = {0};

    put_message(&schema, frame, HEADER_SCHEMA, 0, 0);
    put_message(&batch, frame, HEADER_BATCH, 0, 0);
    put_footer(&footer, frame, &plan, &block, 1);
    plan.dictionaries = aligned(plan.schema + MESSAGE_PREFIX + schema.size);
    plan.batch = plan.dictionaries;
    for (size_t i = 0; i < frame->count; i++) {
        if (frame->columns[i].view.dictionary != NULL) {
            block = dictionary_block(frame, i, plan.batch);
            plan.batch = block_end(&block);
        }
    }
    plan.body = aligned(plan.batch + MESSAGE_PREFIX + batch.size);
    plan.end = plan.body;
    for (size_t i = 0; i < frame->count; i++) {
        (void)place_column(&frame->columns[i].view, &plan.end);
    }
    plan.footer = plan.end + MESSAGE_PREFIX;
    plan.footer_size = footer.size;
    plan.size = plan.footer + plan.footer_size + sizeof(uint32_t) + ARROW_MAGIC_SIZE;
    return plan;
}

granary_err
gr_arrow_measure(const granary_frame *frame, uint64_t *ret_data_size, uint64_t *ret_meta_size)
{
    struct plan plan = plan_file(frame);

    if (plan.body - plan.schema > INT32_MAX) {
        return gr_fail(GRANARY_EFULL, "frame of %zu columns: their names are longer than an Arrow file can hold",
                       frame->count);
    }
    *ret_data_size = plan.size;
    *ret_meta_size = gr_directory_size(frame);
    return GRANARY_OK;
}

static void
write_message(const granary_frame *frame, enum arrow_header kind, size_t column, uint64_t body_length, uint8_t *from,
              const uint8_t *to)
{
    struct flat_out out = {.bytes = from + MESSAGE_PREFIX};
    uint32_t prefix[2] = {ARROW_CONTINUATION, (uint32_t)(to - from) - MESSAGE_PREFIX};

    memcpy(from, prefix, sizeof prefix);
    put_message(&out, frame, kind, column, body_length);
    memset(out.bytes + out.size, 0, (size_t)(to - (out.bytes + out.size)));
}

/* Copy a buffer and fill up to the next multiple of 64 with zeros. */
static void
write_buffer(uint8_t *to, const void *from, uint64_t size)
{
    if (size > 0) {
        memcpy(to, from, size);
        memset(to + size, 0, aligned(size) - size);
    }
}

static void
write_offsets(uint8_t *to, const granary_column *column)
{
    uint64_t size = ((uint64_t)column->rows + 1) * sizeof(int32_t);
    int32_t first = column->rows > 0 ? column->offsets[0] : 0;
    int32_t *offsets = (int32_t *)(void *)to;

    if (column->rows > 0 && first == 0) {
        write_buffer(to, column->offsets, size);
        return;
    }
    memset(to, 0, aligned(size));
    for (int64_t i = 1; i <= column->rows; i++) {
        offsets[i] = column->offsets[i] - first;
    }
}

/* Rows that are copied together, so that their zone is made while they are in the cache. */
#define ZONE_ROWS 8192

/* Values of a column without nulls whose zones add up, block by block, each followed by its zone. */
static void
write_with_zone(uint8_t *to, const granary_column *column, struct gr_directory_column *place)
{
    const char *from = column->values;
    bool is_text = column->dtype == GRANARY_STRING;
    size_t size = gr_dtype_size(column->dtype);
    size_t first = is_text ? (size_t)column->offsets[0] : 0;

    for (int64_t row = 0; row < column->rows; row += ZONE_ROWS) {
        granary_column block = *column;
        size_t begin = is_text ? (size_t)column->offsets[row] : (size_t)row * size;
        size_t end;

        block.rows = column->rows - row < ZONE_ROWS ? column->rows - row : ZONE_ROWS;
        end = is_text ? (size_t)column->offsets[row + block.rows] : begin + (size_t)block.rows * size;
        if (is_text) {
            block.offsets += row;
        } else {
            block.values = from + begin;
        }
        if (end > begin) {
            memcpy(to + (begin - first), from + begin, end - begin);
        }
        zone_add(&block, place);
    }
}

/* place gets the zone when it is made at once. */
static void
write_column(uint8_t *data, const granary_column *column, struct gr_directory_column *place, bool with_zone)
{
    const char *values = column->values;

    if (place->validity_size > 0) {
        write_buffer(data + place->validity_offset, column->validity, place->validity_size);
        bits_trim(data + place->validity_offset, column->rows);
    }
    if (place->offsets_size > 0) {
        write_offsets(data + place->offsets_offset, column);
        values = column->rows > 0 && values != NULL ? values + column->offsets[0] : values;
    }
    if (with_zone && zone_adds(column) && place->values_size > 0) {
        write_with_zone(data + place->values_offset, column, place);
        memset(data + place->values_offset + place->values_size, 0, aligned(place->values_size) - place->values_size);
    } else {
        write_buffer(data + place->values_offset, values, place->values_size);
    }
    if (column->dtype == GRANARY_BOOL && column->rows > 0) {
        bits_trim(data + place->values_offset, column->rows);
    }
}

/* The dictionary messages; what is where in them goes to places' entries, counted from the begin of the file. */
static void
write_entries(uint8_t *bytes, const granary_frame *frame, size_t column, uint64_t *at,
              struct gr_directory_column *place)
{
    struct arrow_block block = dictionary_block(frame, column, *at);
    const granary_column *entries = frame->columns[column].view.dictionary;
    uint64_t body = *at + (uint64_t)block.metadata_length;

    write_message(frame, HEADER_DICTIONARY, column, (uint64_t)block.body_length, bytes + *at, bytes + body);
    (void)place_entries(entries, body, place);
    write_offsets(bytes + place->entry_offsets_offset, entries);
    write_buffer(bytes + place->entry_text_offset,
                 entries->values == NULL ? NULL : (const char *)entries->values + entries->offsets[0],
                 place->entry_text_size);
    *at = block_end(&block);
}

void
gr_arrow_write(const granary_frame *frame, void *data, void *meta)
{
    struct plan plan = plan_file(frame);
    struct flat_out footer = {.bytes = (uint8_t *)data + plan.footer};
    uint32_t end[2] = {ARROW_CONTINUATION, 0};
    uint32_t footer_size = (uint32_t)plan.footer_size;
    uint64_t dictionary = plan.dictionaries;
    uint64_t at = plan.body;
    struct arrow_block block;
    uint8_t *bytes = data;

    memcpy(bytes, ARROW_MAGIC "\0\0", 8);
    write_message(frame, HEADER_SCHEMA, 0, 0, bytes + plan.schema, bytes + plan.dictionaries);
    write_message(frame, HEADER_BATCH, 0, plan.end - plan.body, bytes + plan.batch, bytes + plan.body);
    if (meta != NULL) {
        gr_directory_begin(frame, plan.size, meta);
    }
    for (size_t i = 0; i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        struct gr_directory_column place = place_column(column, &at);

        if (column->dictionary != NULL) {
            write_entries(bytes, frame, i, &dictionary, &place);
        }
        write_column(bytes, column, &place, meta != NULL);
        if (meta != NULL) {
            gr_directory_put(frame, i, &place, meta);
        }
    }
    memcpy(bytes + plan.end, end, sizeof end);
    block = batch_block(&plan);
    put_footer(&footer, frame, &plan, &block, 1);
    memcpy(bytes + plan.footer + footer.size, &footer_size, sizeof footer_size);
    memcpy(bytes + plan.footer + footer.size + sizeof footer_size, ARROW_MAGIC, ARROW_MAGIC_SIZE);
}

/* ---- files of several batches ---- */

struct gr_arrow_stream {
    gr_arrow_put *put;
    void *to;
    granary_frame *empty; /* the columns, without rows */
    struct arrow_block *blocks;
    size_t count;
    size_t room;
    uint64_t at; /* bytes that were put */
};

granary_err
gr_arrow_stream_create(gr_arrow_put *put, void *to, struct gr_arrow_stream **ret_stream)
{
    struct gr_arrow_stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    stream->put = put;
    stream->to = to;
    *ret_stream = stream;
    return GRANARY_OK;
}

void
gr_arrow_stream_destroy(struct gr_arrow_stream *stream)
{
    if (stream != NULL) {
        gr_frame_destroy(stream->empty);
        free(stream->blocks);
        free(stream);
    }
}

static granary_err
stream_put(struct gr_arrow_stream *stream, const void *bytes, uint64_t size)
{
    stream->at += size;
    return stream->put(stream->to, bytes, size);
}

static granary_err
check_columns(const granary_frame *first, const granary_frame *frame)
{
    bool same = first->count == frame->count;

    for (size_t i = 0; same && i < frame->count; i++) {
        const granary_column *a = &first->columns[i].view;
        const granary_column *b = &frame->columns[i].view;

        same = strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && b->dictionary == NULL;
    }
    return same ? GRANARY_OK
                : gr_fail(GRANARY_ETYPE, "Arrow file: its record batches must have the same plain columns");
}

static granary_err
note_block(struct gr_arrow_stream *stream, struct arrow_block block)
{
    if (stream->count == stream->room) {
        size_t room = stream->room == 0 ? 16 : 2 * stream->room;
        struct arrow_block *grown = realloc(stream->blocks, room * sizeof *grown);

        if (grown == NULL) {
            return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
        }
        stream->blocks = grown;
        stream->room = room;
    }
    stream->blocks[stream->count++] = block;
    return GRANARY_OK;
}

/* The frame as a file of its own, of which the batch goes into this one. */
granary_err
gr_arrow_stream_add(struct gr_arrow_stream *stream, const granary_frame *frame)
{
    struct plan plan = plan_file(frame);
    struct arrow_block block = batch_block(&plan);
    uint64_t from = stream->count == 0 ? 0 : plan.batch; /* with what stands before the first one */
    uint64_t data_size, meta_size;
    char *data = NULL;
    granary_err err = gr_arrow_measure(frame, &data_size, &meta_size);

    if (err == GRANARY_OK && stream->empty == NULL) {
        err = gr_frame_slice(frame, 0, 0, &stream->empty);
    }
    if (err == GRANARY_OK) {
        err = check_columns(stream->empty, frame);
    }
    if (err == GRANARY_OK && (data = gr_data_alloc(data_size + meta_size)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory for %lld rows", (long long)frame->rows);
    }
    if (err == GRANARY_OK) {
        block.offset = (int64_t)(stream->at + plan.batch - from);
        err = note_block(stream, block);
    }
    if (err == GRANARY_OK) {
        gr_arrow_write(frame, data, data + data_size);
        err = stream_put(stream, data + from, plan.end - from);
    }
    free(data);
    return err;
}

granary_err
gr_arrow_stream_finish(struct gr_arrow_stream *stream)
{
    static const uint32_t end[2] = {ARROW_CONTINUATION, 0};
    struct plan plan = {.schema = 8};
    struct flat_out footer = {0};
    uint32_t size;
    granary_err err;

    put_footer(&footer, stream->empty, &plan, stream->blocks, stream->count);
    size = (uint32_t)footer.size;
    footer = (struct flat_out){.bytes = gr_data_alloc(size + sizeof size + ARROW_MAGIC_SIZE)};
    if (footer.bytes == NULL) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    put_footer(&footer, stream->empty, &plan, stream->blocks, stream->count);
    memcpy(footer.bytes + size, &size, sizeof size);
    memcpy(footer.bytes + size + sizeof size, ARROW_MAGIC, ARROW_MAGIC_SIZE);
    err = stream_put(stream, end, sizeof end);
    if (err == GRANARY_OK) {
        err = stream_put(stream, footer.bytes, size + sizeof size + ARROW_MAGIC_SIZE);
    }
    free(footer.bytes);
    return err;
}
