/* What tells of a frame in an Arrow file, and what is where in one. Nothing is allocated: the same code runs once
 * without memory to measure and once to write. */
#include "data/arrow/layout.h"

#include <string.h>

#include "contract/dtypes.h"
#include "data/value/bits.h"

#define BUFFERS_MOST 3 /* of a column: validity, offsets, values */

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
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_BOOL:
        return (uint64_t)gr_bitmap_bytes(column->rows);
    case GRANARY_LIST:
        return 0;
    case GRANARY_STRING:
    case GRANARY_BINARY:
        return column->dictionary != NULL ? (uint64_t)column->rows * sizeof(int32_t) : (uint64_t)text_size(column);
    default:
        return (uint64_t)column->rows * gr_dtype_size(column->dtype);
    }
}

/* Whether a column has offsets of its own. */
static bool
has_offsets(const granary_column *column)
{
    return (gr_dtype_is_text(column->dtype) && column->dictionary == NULL) || gr_dtype_is_list(column->dtype);
}

/* Where the buffers of the items lie, in the place of their lists. */
static void
place_items(const granary_column *items, uint64_t *at, struct gr_directory_column *place)
{
    struct gr_directory_column own = arrow_place_column(items, at);

    place->entries = items->rows;
    place->entry_text_offset = own.validity_offset;
    place->entry_text_size = own.validity_size;
    place->entry_offsets_offset = own.offsets_offset;
    place->entry_offsets_size = own.offsets_size;
    place->values_offset = own.values_offset;
    place->values_size = own.values_size;
}

struct gr_directory_column
arrow_items_place(const struct gr_directory_column *place)
{
    return (struct gr_directory_column){.validity_offset = place->entry_text_offset,
                                        .validity_size = place->entry_text_size,
                                        .offsets_offset = place->entry_offsets_offset,
                                        .offsets_size = place->entry_offsets_size,
                                        .values_offset = place->values_offset,
                                        .values_size = place->values_size};
}

/* Where a column's buffers lie, from *at (a multiple of 64), which moves behind them. */
struct gr_directory_column
arrow_place_column(const granary_column *column, uint64_t *at)
{
    struct gr_directory_column place = {.validity_offset = *at};

    if (column->dtype == GRANARY_NULLTYPE) {
        return (struct gr_directory_column){0};
    }
    place.validity_size = validity_size(column);
    place.offsets_offset = place.validity_offset + arrow_aligned(place.validity_size);
    place.offsets_size = has_offsets(column) ? ((uint64_t)column->rows + 1) * sizeof(int32_t) : 0;
    if (gr_dtype_is_list(column->dtype)) {
        *at = place.offsets_offset + arrow_aligned(place.offsets_size);
        place_items(gr_list_items(column), at, &place);
        return place;
    }
    place.values_offset = place.offsets_offset + arrow_aligned(place.offsets_size);
    place.values_size = values_size(column);
    *at = place.values_offset + arrow_aligned(place.values_size);
    return place;
}

/* Where the buffers of a column's dictionary lie, from at on (a multiple of 64); returns what is behind them. */
uint64_t
arrow_place_entries(const granary_column *entries, uint64_t at, struct gr_directory_column *place)
{
    place->entries = entries->rows;
    place->entry_offsets_offset = at;
    place->entry_offsets_size = ((uint64_t)entries->rows + 1) * sizeof(int32_t);
    place->entry_text_offset = at + arrow_aligned(place->entry_offsets_size);
    place->entry_text_size = (uint64_t)text_size(entries);
    return place->entry_text_offset + arrow_aligned(place->entry_text_size);
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
put_timestamp_type(struct flat_out *out, bool has_zone)
{
    const uint8_t sizes[] = {[TIMESTAMP_UNIT] = 2, [TIMESTAMP_ZONE] = has_zone ? 4 : 0};
    size_t table = flat_put_table(out, sizes, has_zone ? 2 : 1);

    flat_set(out, table, TIMESTAMP_UNIT, TIME_MICROSECOND, 2);
    if (has_zone) {
        flat_refer(out, table, TIMESTAMP_ZONE, flat_put_string(out, "UTC", 3));
    }
    return table;
}

static size_t
put_time_type(struct flat_out *out)
{
    static const uint8_t sizes[] = {[TIME_UNIT] = 2, [TIME_BIT_WIDTH] = 4};
    size_t table = flat_put_table(out, sizes, sizeof sizes);

    flat_set(out, table, TIME_UNIT, TIME_MICROSECOND, 2);
    flat_set(out, table, TIME_BIT_WIDTH, 64, 4);
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
#define INTEGER(name, type, ...)                                                                                       \
    case GRANARY_##name:                                                                                               \
        *ret_table = put_int_type(out, 8 * sizeof(type), GR_IS_SIGNED(type));                                          \
        return TYPE_INT;
        GR_INTEGER_DTYPES(INTEGER)
#undef INTEGER
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
        *ret_table = put_unit_type(out, dtype == GRANARY_FLOAT64 ? PRECISION_DOUBLE : PRECISION_SINGLE);
        return TYPE_FLOAT;
    case GRANARY_DATE:
        *ret_table = put_unit_type(out, DATE_DAY);
        return TYPE_DATE;
    case GRANARY_TIMESTAMP:
    case GRANARY_TIMESTAMPTZ:
        *ret_table = put_timestamp_type(out, dtype == GRANARY_TIMESTAMPTZ);
        return TYPE_TIMESTAMP;
    case GRANARY_TIME:
        *ret_table = put_time_type(out);
        return TYPE_TIME;
    case GRANARY_DURATION:
        *ret_table = put_unit_type(out, TIME_MICROSECOND);
        return TYPE_DURATION;
    case GRANARY_DECIMAL:
        *ret_table = put_decimal_type(out, gr_dtype_scale(dtype));
        return TYPE_DECIMAL;
    case GRANARY_LIST:
        *ret_table = flat_put_table(out, NULL, 0);
        return TYPE_LIST;
    default:
        *ret_table = flat_put_table(out, NULL, 0);
        return dtype == GRANARY_BOOL     ? TYPE_BOOL
               : dtype == GRANARY_STRING ? TYPE_UTF8
               : dtype == GRANARY_BINARY ? TYPE_BINARY
                                         : TYPE_NULL;
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
    size_t children;

    flat_set(out, table, FIELD_NULLABLE, 1, 1);
    flat_refer(out, table, FIELD_NAME, flat_put_string(out, column->name, strlen(column->name)));
    type = put_type(out, column->dtype, &type_table);
    flat_set(out, table, FIELD_TYPE_TYPE, type, 1);
    flat_refer(out, table, FIELD_TYPE, type_table);
    if (column->dictionary != NULL) {
        flat_refer(out, table, FIELD_DICTIONARY, put_encoding(out, id));
    }
    children = flat_put_vector(out, gr_dtype_is_list(column->dtype), 4);
    flat_refer(out, table, FIELD_CHILDREN, children);
    if (gr_dtype_is_list(column->dtype)) {
        granary_column items = *gr_list_items(column);

        items.name = "item";
        flat_refer_element(out, children, 0, put_field(out, &items, id));
    }
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

/* How many nodes and buffers a column has. */
static void
count_parts(const granary_column *column, size_t *nodes, size_t *buffers)
{
    *nodes += 1;
    *buffers += column->dtype == GRANARY_NULLTYPE ? 0
                : gr_dtype_is_text(column->dtype) ? (has_offsets(column) ? 3 : 2)
                                                  : 2; /* lists: without values */
    if (gr_dtype_is_list(column->dtype)) {
        count_parts(gr_list_items(column), nodes, buffers);
    }
}

/* The vectors of a batch while they are filled. */
struct parts {
    struct flat_out *out;
    size_t nodes;
    size_t buffers;
    size_t node_count;
    size_t buffer_count;
};

static void
put_buffer(struct parts *parts, uint64_t offset, uint64_t size)
{
    struct arrow_buffer buffer = {(int64_t)offset, (int64_t)size};

    flat_set_element(parts->out, parts->buffers, parts->buffer_count++, sizeof buffer, &buffer);
}

static void
put_parts(struct parts *parts, const granary_column *column, const struct gr_directory_column *place)
{
    struct arrow_node node = {column->rows, column->dtype == GRANARY_NULLTYPE ? column->rows : column->null_count};

    flat_set_element(parts->out, parts->nodes, parts->node_count++, sizeof node, &node);
    if (column->dtype == GRANARY_NULLTYPE) {
        return;
    }
    put_buffer(parts, place->validity_offset, place->validity_size);
    if (has_offsets(column)) {
        put_buffer(parts, place->offsets_offset, place->offsets_size);
    }
    if (gr_dtype_is_list(column->dtype)) {
        struct gr_directory_column items = arrow_items_place(place);

        put_parts(parts, gr_list_items(column), &items);
    } else {
        put_buffer(parts, place->values_offset, place->values_size);
    }
}

/* places: NULL: one after the other. */
static size_t
put_batch(struct flat_out *out, const granary_frame *frame, const struct gr_directory_column *places)
{
    static const uint8_t sizes[] = {[BATCH_LENGTH] = 8, [BATCH_NODES] = 4, [BATCH_BUFFERS] = 4};
    size_t table = flat_put_table(out, sizes, sizeof sizes);
    struct parts parts = {.out = out};
    uint64_t at = 0;
    size_t node_count = 0;
    size_t buffer_count = 0;

    for (size_t i = 0; i < frame->count; i++) {
        count_parts(&frame->columns[i].view, &node_count, &buffer_count);
    }
    parts.nodes = flat_put_vector(out, node_count, sizeof(struct arrow_node));
    parts.buffers = flat_put_vector(out, buffer_count, sizeof(struct arrow_buffer));
    for (size_t i = 0; i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        struct gr_directory_column place = places != NULL ? places[i] : arrow_place_column(column, &at);

        put_parts(&parts, column, &place);
    }
    flat_set(out, table, BATCH_LENGTH, (uint64_t)frame->rows, 8);
    flat_refer(out, table, BATCH_NODES, parts.nodes);
    flat_refer(out, table, BATCH_BUFFERS, parts.buffers);
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

    (void)arrow_place_entries(entries, 0, &place);
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

void
arrow_put_message(struct flat_out *out, const granary_frame *frame, enum arrow_header kind, size_t column,
                  uint64_t body_length, const struct gr_directory_column *places)
{
    static const uint8_t sizes[] = {
        [MESSAGE_VERSION] = 2, [MESSAGE_HEADER_TYPE] = 1, [MESSAGE_HEADER] = 4, [MESSAGE_BODY_LENGTH] = 8};
    size_t table = flat_put_table(out, sizes, sizeof sizes);
    size_t header;

    flat_set(out, table, MESSAGE_VERSION, ARROW_V5, 2);
    flat_set(out, table, MESSAGE_HEADER_TYPE, kind, 1);
    flat_set(out, table, MESSAGE_BODY_LENGTH, body_length, 8);
    header = kind == HEADER_SCHEMA  ? put_schema(out, frame)
             : kind == HEADER_BATCH ? put_batch(out, frame, places)
                                    : put_dictionary(out, frame->columns[column].view.dictionary, column);
    flat_refer(out, table, MESSAGE_HEADER, header);
}

/* ---- file ---- */

struct arrow_block
arrow_dictionary_block(const granary_frame *frame, size_t column, uint64_t at)
{
    struct gr_directory_column place = {.entries = 0};
    struct flat_out out = {0};

    arrow_put_message(&out, frame, HEADER_DICTIONARY, column, 0, NULL);
    return (struct arrow_block){
        .offset = (int64_t)at,
        .metadata_length = (int32_t)arrow_aligned(ARROW_PREFIX + out.size),
        .body_length = (int64_t)arrow_place_entries(frame->columns[column].view.dictionary, 0, &place),
    };
}

uint64_t
arrow_block_end(const struct arrow_block *block)
{
    return (uint64_t)block->offset + (uint64_t)block->metadata_length + (uint64_t)block->body_length;
}

struct arrow_block
arrow_batch_block(const struct arrow_plan *plan)
{
    return (struct arrow_block){
        .offset = (int64_t)plan->batch,
        .metadata_length = (int32_t)(plan->body - plan->batch),
        .body_length = (int64_t)plan->body_size,
    };
}

void
arrow_put_footer(struct flat_out *out, const granary_frame *frame, const struct arrow_plan *plan,
                 const struct arrow_block *batches, size_t batch_count)
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
            struct arrow_block dictionary = arrow_dictionary_block(frame, i, at);

            flat_set_element(out, blocks, count++, sizeof dictionary, &dictionary);
            at = arrow_block_end(&dictionary);
        }
    }
    blocks = flat_put_vector(out, batch_count, sizeof *batches);
    flat_refer(out, table, FOOTER_BATCHES, blocks);
    for (size_t i = 0; i < batch_count; i++) {
        flat_set_element(out, blocks, i, sizeof batches[i], &batches[i]);
    }
}

struct arrow_plan
arrow_plan_file(const granary_frame *frame)
{
    struct arrow_plan plan = {.schema = 8};
    struct arrow_block block = {0};
    struct flat_out schema = {0};
    struct flat_out batch = {0};
    struct flat_out footer = {0};

    arrow_put_message(&schema, frame, HEADER_SCHEMA, 0, 0, NULL);
    arrow_put_message(&batch, frame, HEADER_BATCH, 0, 0, NULL);
    arrow_put_footer(&footer, frame, &plan, &block, 1);
    plan.dictionaries = arrow_aligned(plan.schema + ARROW_PREFIX + schema.size);
    plan.batch = plan.dictionaries;
    for (size_t i = 0; i < frame->count; i++) {
        if (frame->columns[i].view.dictionary != NULL) {
            block = arrow_dictionary_block(frame, i, plan.batch);
            plan.batch = arrow_block_end(&block);
        }
    }
    plan.body = arrow_aligned(plan.batch + ARROW_PREFIX + batch.size);
    plan.end = plan.body;
    for (size_t i = 0; i < frame->count; i++) {
        (void)arrow_place_column(&frame->columns[i].view, &plan.end);
    }
    plan.body_size = plan.end - plan.body;
    plan.footer = plan.end + ARROW_PREFIX;
    plan.footer_size = footer.size;
    plan.size = plan.footer + plan.footer_size + sizeof(uint32_t) + ARROW_MAGIC_SIZE;
    return plan;
}
