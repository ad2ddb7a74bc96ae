/* Frames written as Arrow IPC files: the same bytes for the same frame. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/arrow/layout.h"
#include "data/value/bits.h"
#include "data/zone.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "Arrow files are written in native order");

granary_err
gr_arrow_measure(const granary_frame *frame, uint64_t *ret_data_size, uint64_t *ret_meta_size)
{
    struct arrow_plan plan = arrow_plan_file(frame);

    if (plan.body - plan.schema > INT32_MAX) {
        return gr_fail(GRANARY_EFULL, "frame of %zu columns: their names are longer than an Arrow file can hold",
                       frame->count);
    }
    *ret_data_size = plan.size;
    *ret_meta_size = gr_directory_size(frame);
    return GRANARY_OK;
}

void
arrow_write_message(const granary_frame *frame, enum arrow_header kind, size_t column, uint64_t body_length,
                    const struct gr_directory_column *places, uint8_t *from, const uint8_t *to)
{
    struct flat_out out = {.bytes = from + ARROW_PREFIX};
    uint32_t prefix[2] = {ARROW_CONTINUATION, (uint32_t)(to - from) - ARROW_PREFIX};

    memcpy(from, prefix, sizeof prefix);
    arrow_put_message(&out, frame, kind, column, body_length, places);
    memset(out.bytes + out.size, 0, (size_t)(to - (out.bytes + out.size)));
}

/* by: may be the complement of a number to go down. A dictionary lies elsewhere. */
static void
move_place(const granary_column *column, struct gr_directory_column *place, uint64_t by)
{
    place->validity_offset += by;
    place->offsets_offset += by;
    place->values_offset += by;
    if (gr_dtype_is_list(column->dtype)) {
        place->entry_offsets_offset += by;
        place->entry_text_offset += by;
    }
}

void
arrow_write_batch(const granary_frame *frame, const struct arrow_plan *plan, struct gr_directory_column *places,
                  uint8_t *bytes)
{
    for (size_t i = 0; i < frame->count; i++) {
        move_place(&frame->columns[i].view, &places[i], -plan->body);
    }
    arrow_write_message(frame, HEADER_BATCH, 0, plan->body_size, places, bytes + plan->batch, bytes + plan->body);
    for (size_t i = 0; i < frame->count; i++) {
        move_place(&frame->columns[i].view, &places[i], plan->body);
    }
}

/* Copy a buffer and fill up to the next multiple of 64 with zeros. */
static void
write_buffer(uint8_t *to, const void *from, uint64_t size)
{
    if (size > 0) {
        memcpy(to, from, size);
        memset(to + size, 0, arrow_aligned(size) - size);
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
    memset(to, 0, arrow_aligned(size));
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
    bool is_text = gr_dtype_is_text(column->dtype);
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

void
arrow_write_column(uint8_t *data, const granary_column *column, struct gr_directory_column *place, bool with_zone)
{
    const char *values = column->values;

    if (place->validity_size > 0) {
        write_buffer(data + place->validity_offset, column->validity, place->validity_size);
        bits_trim(data + place->validity_offset, column->rows);
    }
    if (place->offsets_size > 0) {
        write_offsets(data + place->offsets_offset, column);
    }
    if (gr_dtype_is_list(column->dtype)) {
        struct gr_directory_column items = arrow_items_place(place);

        arrow_write_column(data, gr_list_items(column), &items, false);
        return;
    }
    if (place->offsets_size > 0) {
        values = column->rows > 0 && values != NULL ? values + column->offsets[0] : values;
    }
    if (with_zone && zone_adds(column) && place->values_size > 0) {
        write_with_zone(data + place->values_offset, column, place);
        memset(data + place->values_offset + place->values_size, 0,
               arrow_aligned(place->values_size) - place->values_size);
    } else {
        write_buffer(data + place->values_offset, values, place->values_size);
    }
    if (column->dtype == GRANARY_BOOL && column->rows > 0) {
        bits_trim(data + place->values_offset, column->rows);
    }
}

void
arrow_write_entries(uint8_t *bytes, const granary_frame *frame, size_t column, uint64_t *at,
                    struct gr_directory_column *place)
{
    struct arrow_block block = arrow_dictionary_block(frame, column, *at);
    const granary_column *entries = frame->columns[column].view.dictionary;
    uint64_t body = *at + (uint64_t)block.metadata_length;

    arrow_write_message(frame, HEADER_DICTIONARY, column, (uint64_t)block.body_length, NULL, bytes + *at, bytes + body);
    (void)arrow_place_entries(entries, body, place);
    write_offsets(bytes + place->entry_offsets_offset, entries);
    write_buffer(bytes + place->entry_text_offset,
                 entries->values == NULL ? NULL : (const char *)entries->values + entries->offsets[0],
                 place->entry_text_size);
    *at = arrow_block_end(&block);
}

void
arrow_write_end(const granary_frame *frame, const struct arrow_plan *plan, uint8_t *bytes)
{
    const uint32_t end[2] = {ARROW_CONTINUATION, 0};
    struct arrow_block block = arrow_batch_block(plan);
    struct flat_out footer = {.bytes = bytes + plan->footer};
    uint32_t footer_size = (uint32_t)plan->footer_size;

    memcpy(bytes + plan->end, end, sizeof end);
    arrow_put_footer(&footer, frame, plan, &block, 1);
    memcpy(bytes + plan->footer + footer.size, &footer_size, sizeof footer_size);
    memcpy(bytes + plan->footer + footer.size + sizeof footer_size, ARROW_MAGIC, ARROW_MAGIC_SIZE);
}

static void
write_frame(const granary_frame *frame, bool counted, void *data, void *meta)
{
    struct arrow_plan plan = arrow_plan_file(frame);
    uint64_t dictionary = plan.dictionaries;
    uint64_t at = plan.body;
    uint8_t *bytes = data;

    memcpy(bytes, ARROW_MAGIC "\0\0", 8);
    arrow_write_message(frame, HEADER_SCHEMA, 0, 0, NULL, bytes + plan.schema, bytes + plan.dictionaries);
    arrow_write_message(frame, HEADER_BATCH, 0, plan.body_size, NULL, bytes + plan.batch, bytes + plan.body);
    if (meta != NULL) {
        gr_directory_begin(frame, plan.size, meta);
    }
    for (size_t i = 0; i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        struct gr_directory_column place = arrow_place_column(column, &at);

        if (column->dictionary != NULL) {
            arrow_write_entries(bytes, frame, i, &dictionary, &place);
        }
        arrow_write_column(bytes, column, &place, meta != NULL);
        if (meta != NULL) {
            gr_directory_put(frame, i, &place, counted, meta);
        }
    }
    arrow_write_end(frame, &plan, bytes);
}

void
gr_arrow_write(const granary_frame *frame, void *data, void *meta)
{
    write_frame(frame, true, data, meta);
}

void
gr_arrow_write_passing(const granary_frame *frame, void *data, void *meta)
{
    write_frame(frame, false, data, meta);
}
