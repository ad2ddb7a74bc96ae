/* Rows written in place, column by column, behind those that readers see. */
#include "mutable/frame/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/layout/directory.h"

/* Chunks grow with what their writer writes: one that appends a row and leaves takes little. */
#define CHUNK_LEAST ((uint64_t)4 << 10)
#define CHUNK_MOST  ((uint64_t)4 << 20)
#define TEXT_GUESS  16 /* bytes of a string */

struct rows_column {
    granary_dtype dtype;
    size_t size; /* of a value; 0: bits or strings */
    uint8_t *validity;
    char *values;
    int32_t *offsets;
    int32_t text_room;
    int32_t text_end; /* of a write: where its texts begin, as it was checked */
};

/* ---- a chunk ---- */

/* Bytes of a row, as far as can be told. */
static uint64_t
row_bytes(const granary_frame *schema)
{
    uint64_t bytes = 1;

    for (size_t i = 0; i < schema->count; i++) {
        granary_dtype dtype = schema->columns[i].view.dtype;

        bytes += gr_dtype_is_text(dtype) ? sizeof(int32_t) + TEXT_GUESS : gr_dtype_size(dtype) + 1;
    }
    return bytes;
}

static uint32_t
capacity_for(const granary_frame *schema, int64_t wanted, uint32_t before)
{
    const uint64_t row = row_bytes(schema);
    uint64_t least = CHUNK_LEAST / row > 2 * (uint64_t)before ? CHUNK_LEAST / row : 2 * (uint64_t)before;
    uint64_t most = CHUNK_MOST / row > 16 ? CHUNK_MOST / row : 16;
    uint64_t rows = (uint64_t)wanted > least ? (uint64_t)wanted : least;

    /* A multiple of 64: bitmaps end where other buffers begin. */
    return (uint32_t)(((rows < most ? rows : most) + 63) / 64 * 64);
}

/* Room for the text of a column: what is usual, and at least the first row's. */
static int64_t
text_room(const granary_column *column, int64_t from, uint32_t capacity)
{
    int64_t room = (int64_t)capacity * TEXT_GUESS;
    size_t length = 0;

    (void)granary_column_text(column, from, &length);
    return room > (int64_t)length ? room : (int64_t)length;
}

/* The memory of an empty chunk: all columns share the zeros. */
struct empty {
    void *zeros;
    int32_t *offsets; /* of the columns of strings, one behind the other */
};

/* Bytes of zeros that a column of so many rows needs at most. */
static uint64_t
zeros_size(const granary_column *column, int64_t text, uint32_t capacity)
{
    const uint64_t values =
        gr_dtype_is_text(column->dtype) ? (uint64_t)text : (uint64_t)capacity * gr_dtype_size(column->dtype);

    return values > capacity ? values : capacity; /* bitmaps are smaller */
}

static granary_err
empty_alloc(const granary_frame *schema, const granary_column *columns, int64_t from, uint32_t capacity,
            struct empty *empty)
{
    uint64_t zeros = 0;
    size_t texts = 0;

    for (size_t i = 0; i < schema->count; i++) {
        const granary_column *like = &schema->columns[i].view;
        const bool is_text = gr_dtype_is_text(like->dtype);
        const uint64_t size = zeros_size(like, is_text ? text_room(&columns[i], from, capacity) : 0, capacity);

        zeros = size > zeros ? size : zeros;
        texts += is_text;
    }
    empty->zeros = calloc(1, zeros);
    empty->offsets = calloc(texts * ((size_t)capacity + 1) + 1, sizeof *empty->offsets);
    return empty->zeros != NULL && empty->offsets != NULL ? GRANARY_OK
                                                          : gr_fail(GRANARY_ENOMEM, "table: out of memory");
}

static void
empty_free(struct empty *empty)
{
    free(empty->zeros);
    free(empty->offsets);
}

/* So many rows, all null: what the chunk is before anything is written. */
static granary_err
make_empty(const granary_frame *schema, const granary_column *columns, int64_t from, uint32_t capacity,
           const struct empty *empty, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(schema->count, capacity);
    granary_err err = frame == NULL ? gr_fail(GRANARY_ENOMEM, "table: out of memory") : GRANARY_OK;
    int32_t *offsets = empty->offsets;

    for (size_t i = 0; err == GRANARY_OK && i < schema->count; i++) {
        const granary_column *like = &schema->columns[i].view;
        granary_column column = {.dtype = like->dtype, .rows = capacity, .null_count = capacity};

        if (like->dtype != GRANARY_NULLTYPE) {
            column.validity = column.values = empty->zeros;
        }
        if (gr_dtype_is_text(like->dtype)) {
            column.offsets = offsets;
            offsets[capacity] = (int32_t)text_room(&columns[i], from, capacity);
            offsets += capacity + 1;
        }
        err = gr_frame_set_borrowed(frame, i, like->name, &column);
    }
    return gr_frame_give(frame, err, ret_frame);
}

/* Where the columns lie, from the directory that was written, and which others may write once the object is sealed. */
static void
find_columns(const granary_buffer *buffer, const granary_frame *schema, struct rows_column *columns)
{
    for (size_t i = 0; i < schema->count; i++) {
        struct gr_directory_column place;

        gr_directory_get(buffer->meta, i, &place);
        columns[i] = (struct rows_column){
            .dtype = schema->columns[i].view.dtype,
            .size = gr_dtype_size(schema->columns[i].view.dtype),
            .validity = (uint8_t *)buffer->data + place.validity_offset,
            .values = (char *)buffer->data + place.values_offset,
            .offsets = (int32_t *)(void *)((char *)buffer->data + place.offsets_offset),
            .text_room = (int32_t)place.values_size,
        };
    }
}

granary_err
rows_begin(struct rows_writer *rows, granary_client *client, granary_id table, uint32_t lane, uint32_t number,
           const granary_frame *schema, const granary_column *columns, int64_t from, int64_t wanted, int timeout_ms)
{
    const uint32_t capacity = capacity_for(schema, wanted, rows->capacity);
    struct rows_column *places = calloc(schema->count, sizeof *places);
    struct empty empty = {.zeros = NULL};
    granary_frame *frame = NULL;
    uint64_t data_size, meta_size;
    granary_buffer buffer;
    struct kept object;
    granary_err err;

    if (places == NULL) {
        return gr_fail(GRANARY_ENOMEM, "table: out of memory");
    }
    err = empty_alloc(schema, columns, from, capacity, &empty);
    err = err == GRANARY_OK ? make_empty(schema, columns, from, capacity, &empty, &frame) : err;
    err = err == GRANARY_OK ? gr_arrow_measure(frame, &data_size, &meta_size) : err;
    if (err == GRANARY_OK) {
        err = kept_create(client, kept_id(table, GR_MUTABLE_ROWS, lane, number), data_size, meta_size, timeout_ms,
                          &buffer);
    }
    if (err == GRANARY_OK) {
        gr_arrow_write_passing(frame, buffer.data, buffer.meta);
        find_columns(&buffer, schema, places);
        err = kept_seal(client, table, &buffer, &object);
    }
    gr_frame_destroy(frame);
    empty_free(&empty);
    if (err != GRANARY_OK) {
        free(places);
        return err;
    }
    rows_end(rows);
    *rows = (struct rows_writer){
        .object = object, .number = number, .capacity = capacity, .columns = places, .count = schema->count};
    return GRANARY_OK;
}

void
rows_end(struct rows_writer *rows)
{
    if (rows->columns != NULL && rows->rows > 0) {
        /* Out of memory, or a writer beside us that lies: the chunk stays one that is read in parts. */
        (void)gr_arrow_settle(rows->rows, rows->object.data, rows->object.size, rows->object.meta,
                              rows->object.meta_size);
    }
    kept_close(&rows->object);
    free(rows->columns);
    *rows = (struct rows_writer){.capacity = rows->capacity};
}

/* ---- writing ---- */

static bool
is_null(const granary_column *column, int64_t row)
{
    return column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row);
}

/* Bits of a byte get a value. It has bits of rows that others read, too: these keep theirs. */
static void
byte_write(uint8_t *byte, uint8_t bits, bool value)
{
    uint8_t before = __atomic_load_n(byte, __ATOMIC_RELAXED);

    __atomic_store_n(byte, (uint8_t)(value ? before | bits : before & ~bits), __ATOMIC_RELAXED);
}

static void
bit_write(uint8_t *bits, int64_t at, bool value)
{
    byte_write(&bits[at >> 3], (uint8_t)(1u << (at & 7)), value);
}

/* A run of bits that are one. */
static void
bits_write_ones(uint8_t *bits, int64_t at, int64_t count)
{
    const int64_t end = at + count;

    while (at < end) {
        const int64_t left = end - (at & ~(int64_t)7); /* in this byte and behind it */
        const unsigned until = left < 8 ? (unsigned)left : 8;

        byte_write(&bits[at >> 3], (uint8_t)((1u << until) - (1u << (at & 7))), true);
        at = (at | 7) + 1;
    }
}

/* How many of the rows have room for their texts. None when the end of the texts so far, which others may write, is none. */
static int64_t
rows_that_fit(struct rows_writer *rows, const granary_column *columns, int64_t from, int64_t count)
{
    for (size_t i = 0; i < rows->count; i++) {
        struct rows_column *to = &rows->columns[i];
        int64_t at = 0;

        if (gr_dtype_is_text(to->dtype)) {
            to->text_end = __atomic_load_n(&to->offsets[rows->rows], __ATOMIC_RELAXED);
            at = to->text_end;
            count = at < 0 ? 0 : count;
        }
        for (int64_t row = 0; gr_dtype_is_text(to->dtype) && row < count; row++) {
            size_t length = 0;

            (void)granary_column_text(&columns[i], from + row, &length);
            at += (int64_t)length;
            if (at > to->text_room) {
                count = row;
            }
        }
    }
    return count;
}

static void
write_texts(struct rows_column *to, uint32_t at, const granary_column *column, int64_t from, int64_t count)
{
    int32_t end = to->text_end;

    for (int64_t row = 0; row < count; row++) {
        size_t length = 0;
        const char *text = granary_column_text(column, from + row, &length);

        if (length > 0) {
            memcpy(to->values + end, text, length);
        }
        end += (int32_t)length;
        to->offsets[at + row + 1] = end;
    }
}

/* One value of eight bytes is what most appends have. */
static void
bytes_copy(char *to, const char *from, size_t size)
{
    if (size == sizeof(int64_t)) {
        memcpy(to, from, sizeof(int64_t));
    } else {
        memcpy(to, from, size);
    }
}

static void
write_values(struct rows_column *to, uint32_t at, const granary_column *column, int64_t from, int64_t count)
{
    if (to->dtype == GRANARY_BOOL) {
        for (int64_t row = 0; row < count; row++) {
            bit_write((uint8_t *)to->values, at + row,
                      !is_null(column, from + row) && gr_bit(column->values, from + row));
        }
        return;
    }
    bytes_copy(to->values + at * to->size, (const char *)column->values + (size_t)from * to->size,
               (size_t)count * to->size);
    for (int64_t row = 0; column->validity != NULL && row < count; row++) {
        if (is_null(column, from + row)) {
            memset(to->values + (at + (size_t)row) * to->size, 0, to->size);
        }
    }
}

static void
write_column(struct rows_column *to, uint32_t at, const granary_column *column, int64_t from, int64_t count)
{
    if (to->dtype == GRANARY_NULLTYPE) {
        return;
    }
    if (column->validity == NULL) {
        bits_write_ones(to->validity, at, count);
    }
    for (int64_t row = 0; column->validity != NULL && row < count; row++) {
        bit_write(to->validity, at + row, !is_null(column, from + row));
    }
    if (gr_dtype_is_text(to->dtype)) {
        write_texts(to, at, column, from, count);
    } else {
        write_values(to, at, column, from, count);
    }
}

uint32_t
rows_write(struct rows_writer *rows, const granary_column *columns, int64_t from, int64_t count)
{
    const int64_t room = (int64_t)rows->capacity - rows->rows;

    count = rows_that_fit(rows, columns, from, count < room ? count : room);
    for (size_t i = 0; i < rows->count; i++) {
        write_column(&rows->columns[i], rows->rows, &columns[i], from, count);
    }
    rows->rows += (uint32_t)count;
    return (uint32_t)count;
}
