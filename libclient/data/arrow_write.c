/*
 * Frames written as Arrow IPC files. Nothing is allocated: the same code runs once without memory to measure and once
 * to write, and gives the same bytes for the same frame.
 */
#include <string.h>

#include "base/error.h"
#include "data/arrow.h"
#include "data/arrow_format.h"
#include "data/bits.h"
#include "data/directory.h"
#include "data/flat.h"

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
        return (uint64_t)text_size(column);
    default:
        return (uint64_t)column->rows * gr_dtype_size(column->dtype);
    }
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
    place.offsets_size = column->dtype == GRANARY_STRING ? ((uint64_t)column->rows + 1) * sizeof(int32_t) : 0;
    place.values_offset = place.offsets_offset + aligned(place.offsets_size);
    place.values_size = values_size(column);
    *at = place.values_offset + aligned(place.values_size);
    return place;
}

/* ---- metadata ---- */

static size_t
put_int_type(struct flat_out *out, uint64_t bits)
{
    static const uint8_t sizes[] = {[INT_BIT_WIDTH] = 4, [INT_IS_SIGNED] = 1};
    size_t table = flat_put_table(out, sizes, sizeof sizes);

    flat_set(out, table, INT_BIT_WIDTH, bits, 4);
    flat_set(out, table, INT_IS_SIGNED, 1, 1);
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

static enum arrow_type
put_type(struct flat_out *out, granary_dtype dtype, size_t *ret_table)
{
    switch (dtype) {
    case GRANARY_INT64:
    case GRANARY_INT32:
        *ret_table = put_int_type(out, dtype == GRANARY_INT64 ? 64 : 32);
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
    default:
        *ret_table = flat_put_table(out, NULL, 0);
        return dtype == GRANARY_BOOL ? TYPE_BOOL : dtype == GRANARY_STRING ? TYPE_UTF8 : TYPE_NULL;
    }
}

static size_t
put_field(struct flat_out *out, const granary_column *column)
{
    static const uint8_t sizes[] = {[FIELD_NAME] = 4, [FIELD_NULLABLE] = 1,   [FIELD_TYPE_TYPE] = 1,
                                    [FIELD_TYPE] = 4, [FIELD_DICTIONARY] = 0, [FIELD_CHILDREN] = 4};
    size_t table = flat_put_table(out, sizes, sizeof sizes);
    enum arrow_type type;
    size_t type_table;

    flat_set(out, table, FIELD_NULLABLE, 1, 1);
    flat_refer(out, table, FIELD_NAME, flat_put_string(out, column->name, strlen(column->name)));
    type = put_type(out, column->dtype, &type_table);
    flat_set(out, table, FIELD_TYPE_TYPE, type, 1);
    flat_refer(out, table, FIELD_TYPE, type_table);
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
        flat_refer_element(out, fields, i, put_field(out, &frame->columns[i].view));
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
        count += column->dtype == GRANARY_NULLTYPE ? 0 : column->dtype == GRANARY_STRING ? 3 : 2;
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
        if (column->dtype == GRANARY_STRING) {
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

static void
put_message(struct flat_out *out, const granary_frame *frame, enum arrow_header kind, uint64_t body_length)
{
    static const uint8_t sizes[] = {
        [MESSAGE_VERSION] = 2, [MESSAGE_HEADER_TYPE] = 1, [MESSAGE_HEADER] = 4, [MESSAGE_BODY_LENGTH] = 8};
    size_t table = flat_put_table(out, sizes, sizeof sizes);

    flat_set(out, table, MESSAGE_VERSION, ARROW_V5, 2);
    flat_set(out, table, MESSAGE_HEADER_TYPE, kind, 1);
    flat_set(out, table, MESSAGE_BODY_LENGTH, body_length, 8);
    flat_refer(out, table, MESSAGE_HEADER, kind == HEADER_SCHEMA ? put_schema(out, frame) : put_batch(out, frame));
}

static void
put_footer(struct flat_out *out, const granary_frame *frame, const struct arrow_block *block)
{
    static const uint8_t sizes[] = {
        [FOOTER_VERSION] = 2, [FOOTER_SCHEMA] = 4, [FOOTER_DICTIONARIES] = 4, [FOOTER_BATCHES] = 4};
    size_t table = flat_put_table(out, sizes, sizeof sizes);
    size_t batches;

    flat_set(out, table, FOOTER_VERSION, ARROW_V5, 2);
    flat_refer(out, table, FOOTER_SCHEMA, put_schema(out, frame));
    flat_refer(out, table, FOOTER_DICTIONARIES, flat_put_vector(out, 0, sizeof *block));
    batches = flat_put_vector(out, 1, sizeof *block);
    flat_refer(out, table, FOOTER_BATCHES, batches);
    flat_set_element(out, batches, 0, sizeof *block, block);
}

/* ---- file ---- */

/* What is where in the file. */
struct plan {
    uint64_t schema; /* message: continuation, length, Flatbuffers, padding */
    uint64_t batch;
    uint64_t body; /* multiple of 64 */
    uint64_t end;  /* end-of-stream mark */
    uint64_t footer;
    uint64_t footer_size;
    uint64_t size;
};

#define MESSAGE_PREFIX 8

static struct arrow_block
block_of(const struct plan *plan)
{
    return (struct arrow_block){
        .offset = (int64_t)plan->batch,
        .metadata_length = (int32_t)(plan->body - plan->batch),
        .body_length = (int64_t)(plan->end - plan->body),
    };
}

static struct plan
plan_file(const granary_frame *frame)
{
    struct plan plan = {.schema = 8};
    struct arrow_block block = {0};
    struct flat_out schema = {0};
    struct flat_out batch = {0};
    struct flat_out footer = {0};

    put_message(&schema, frame, HEADER_SCHEMA, 0);
    put_message(&batch, frame, HEADER_BATCH, 0);
    put_footer(&footer, frame, &block);
    plan.batch = aligned(plan.schema + MESSAGE_PREFIX + schema.size);
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
write_message(const granary_frame *frame, enum arrow_header kind, uint64_t body_length, uint8_t *from,
              const uint8_t *to)
{
    struct flat_out out = {.bytes = from + MESSAGE_PREFIX};
    uint32_t prefix[2] = {ARROW_CONTINUATION, (uint32_t)(to - from) - MESSAGE_PREFIX};

    memcpy(from, prefix, sizeof prefix);
    put_message(&out, frame, kind, body_length);
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

static void
write_column(uint8_t *data, const granary_column *column, const struct gr_directory_column *place)
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
    write_buffer(data + place->values_offset, values, place->values_size);
    if (column->dtype == GRANARY_BOOL && column->rows > 0) {
        bits_trim(data + place->values_offset, column->rows);
    }
}

void
gr_arrow_write(const granary_frame *frame, void *data, void *meta)
{
    struct plan plan = plan_file(frame);
    struct arrow_block block = block_of(&plan);
    struct flat_out footer = {.bytes = (uint8_t *)data + plan.footer};
    uint32_t end[2] = {ARROW_CONTINUATION, 0};
    uint32_t footer_size = (uint32_t)plan.footer_size;
    uint64_t at = plan.body;
    uint8_t *bytes = data;

    memcpy(bytes, ARROW_MAGIC "\0\0", 8);
    write_message(frame, HEADER_SCHEMA, 0, bytes + plan.schema, bytes + plan.batch);
    write_message(frame, HEADER_BATCH, plan.end - plan.body, bytes + plan.batch, bytes + plan.body);
    gr_directory_begin(frame, plan.size, meta);
    for (size_t i = 0; i < frame->count; i++) {
        struct gr_directory_column place = place_column(&frame->columns[i].view, &at);

        write_column(bytes, &frame->columns[i].view, &place);
        gr_directory_put(frame, i, &place, meta);
    }
    memcpy(bytes + plan.end, end, sizeof end);
    put_footer(&footer, frame, &block);
    memcpy(bytes + plan.footer + footer.size, &footer_size, sizeof footer_size);
    memcpy(bytes + plan.footer + footer.size + sizeof footer_size, ARROW_MAGIC, ARROW_MAGIC_SIZE);
}
