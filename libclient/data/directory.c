#include "data/directory.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "data/bits.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the directory is little-endian");

/* Rows beyond this would overflow sizes; no file comes near. */
#define ROWS_MAX (INT64_MAX / 64)

uint64_t
gr_directory_size(const granary_frame *frame)
{
    uint64_t size = sizeof(struct gr_directory) + frame->count * sizeof(struct gr_directory_column);

    for (size_t i = 0; i < frame->count; i++) {
        size += strlen(frame->columns[i].view.name) + 1;
    }
    return size;
}

void
gr_directory_begin(const granary_frame *frame, uint64_t data_size, void *meta)
{
    uint64_t names = sizeof(struct gr_directory) + frame->count * sizeof(struct gr_directory_column);
    struct gr_directory head = {.magic = GR_DIRECTORY_MAGIC,
                                .version = GR_DIRECTORY_VERSION,
                                .entry_size = sizeof(struct gr_directory_column),
                                .columns = (uint32_t)frame->count,
                                .names_size = (uint32_t)(gr_directory_size(frame) - names),
                                .rows = frame->rows,
                                .data_size = data_size};
    char *at = (char *)meta + names;

    memcpy(meta, &head, sizeof head);
    for (size_t i = 0; i < frame->count; i++) {
        size_t length = strlen(frame->columns[i].view.name) + 1;

        memcpy(at, frame->columns[i].view.name, length);
        at += length;
    }
}

struct range {
    int64_t min;
    int64_t max;
};

/* Without nulls the loops are plain, and the compiler makes vectors of them. */
static struct range
range_of_int64(const int64_t *values, const uint8_t *validity, int64_t rows)
{
    struct range range = {INT64_MAX, INT64_MIN};

    for (int64_t i = 0; validity == NULL && i < rows; i++) {
        range.min = values[i] < range.min ? values[i] : range.min;
        range.max = values[i] > range.max ? values[i] : range.max;
    }
    for (int64_t i = 0; validity != NULL && i < rows; i++) {
        int64_t value = gr_bit(validity, i) ? values[i] : range.min;

        range.min = value < range.min ? value : range.min;
        value = gr_bit(validity, i) ? values[i] : range.max;
        range.max = value > range.max ? value : range.max;
    }
    return range;
}

static struct range
range_of_int32(const int32_t *values, const uint8_t *validity, int64_t rows)
{
    int32_t min = INT32_MAX;
    int32_t max = INT32_MIN;

    for (int64_t i = 0; i < rows; i++) {
        if (validity == NULL || gr_bit(validity, i)) {
            min = values[i] < min ? values[i] : min;
            max = values[i] > max ? values[i] : max;
        }
    }
    return (struct range){min, max};
}

static struct range
range_of_bools(const granary_column *column)
{
    int64_t there = column->rows - column->null_count;
    int64_t set = bits_count(column->values, column->rows); /* those under nulls are not set */

    return (struct range){set == there, set > 0};
}

static void
zone_of_integers(const granary_column *column, struct gr_directory_column *entry)
{
    struct range range;

    if (column->dtype == GRANARY_BOOL) {
        range = range_of_bools(column);
    } else if (gr_dtype_size(column->dtype) == sizeof(int32_t)) {
        range = range_of_int32(column->values, column->validity, column->rows);
    } else {
        range = range_of_int64(column->values, column->validity, column->rows);
    }
    entry->min.integer = range.min;
    entry->max.integer = range.max;
    entry->flags = GR_DIRECTORY_ZONE;
}

static void
zone_of_reals(const granary_column *column, struct gr_directory_column *entry)
{
    double min = INFINITY;
    double max = -INFINITY;
    bool any = false;

    for (int64_t i = 0; i < column->rows; i++) {
        double value;

        if (gr_is_null(column, i)) {
            continue;
        }
        value = column->dtype == GRANARY_FLOAT32 ? (double)((const float *)column->values)[i]
                                                 : ((const double *)column->values)[i];
        if (isnan(value)) {
            entry->flags |= GR_DIRECTORY_NAN;
            continue;
        }
        any = true;
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    if (any) {
        entry->min.real = min;
        entry->max.real = max;
        entry->flags |= GR_DIRECTORY_ZONE;
    }
}

static void
zone_of_text(const granary_column *column, struct gr_directory_column *entry)
{
    const char *text = column->values;
    uint64_t min = UINT64_MAX;
    uint64_t max = 0;

    for (int64_t i = 0; i < column->rows; i++) {
        size_t length = (size_t)(column->offsets[i + 1] - column->offsets[i]);
        uint64_t head = 0;

        if (gr_is_null(column, i)) {
            continue;
        }
        if (length >= sizeof head) {
            memcpy(&head, text + column->offsets[i], sizeof head);
        } else if (length > 0) {
            memcpy(&head, text + column->offsets[i], length);
        }
        head = __builtin_bswap64(head); /* numbers are compared faster than bytes */
        min = head < min ? head : min;
        max = head > max ? head : max;
    }
    min = __builtin_bswap64(min);
    max = __builtin_bswap64(max);
    memcpy(entry->min.text, &min, sizeof min);
    memcpy(entry->max.text, &max, sizeof max);
    entry->flags = GR_DIRECTORY_ZONE;
}

void
gr_directory_put(const granary_frame *frame, size_t position, const struct gr_directory_column *place, void *meta)
{
    const granary_column *column = &frame->columns[position].view;
    struct gr_directory_column entry = *place;

    entry.name_offset = 0;
    for (size_t i = 0; i < position; i++) {
        entry.name_offset += (uint32_t)strlen(frame->columns[i].view.name) + 1;
    }
    entry.name_length = (uint32_t)strlen(column->name);
    entry.dtype = (uint16_t)column->dtype;
    entry.flags = 0;
    entry.reserved = 0;
    entry.null_count = column->dtype == GRANARY_NULLTYPE ? column->rows : column->null_count;
    memset(&entry.min, 0, sizeof entry.min);
    memset(&entry.max, 0, sizeof entry.max);
    if (entry.null_count < column->rows) {
        if (column->dtype == GRANARY_STRING) {
            zone_of_text(column, &entry);
        } else if (column->dtype == GRANARY_FLOAT64 || column->dtype == GRANARY_FLOAT32) {
            zone_of_reals(column, &entry);
        } else {
            zone_of_integers(column, &entry);
        }
    }
    memcpy((char *)meta + sizeof(struct gr_directory) + position * sizeof entry, &entry, sizeof entry);
}

bool
gr_directory_is(const void *meta, uint64_t meta_size)
{
    struct gr_directory head;

    if (meta == NULL || meta_size < sizeof head) {
        return false;
    }
    memcpy(&head, meta, sizeof head);
    return head.magic == GR_DIRECTORY_MAGIC && head.version == GR_DIRECTORY_VERSION;
}

void
gr_directory_get(const void *meta, size_t position, struct gr_directory_column *ret_column)
{
    memcpy(ret_column, (const char *)meta + sizeof(struct gr_directory) + position * sizeof *ret_column,
           sizeof *ret_column);
}

/* A buffer within data, aligned, at least `least` bytes; NULL when it is not. */
static const void *
buffer_of(const void *data, uint64_t data_size, uint64_t offset, uint64_t size, uint64_t least)
{
    if (offset % 64 != 0 || offset > data_size || size > data_size - offset || size < least) {
        return NULL;
    }
    return (const char *)data + offset;
}

static granary_err
column_read(const void *data, uint64_t data_size, int64_t rows, const char *name,
            const struct gr_directory_column *entry, granary_column *ret_column)
{
    granary_column column = {.dtype = (granary_dtype)entry->dtype, .rows = rows, .null_count = entry->null_count};
    uint64_t values = (uint64_t)rows * gr_dtype_size(column.dtype);

    if (entry->dtype > GRANARY_FLOAT32 || entry->null_count < 0 || entry->null_count > rows) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': dtype %u with %lld nulls", name, entry->dtype,
                       (long long)entry->null_count);
    }
    if (column.dtype == GRANARY_NULLTYPE) {
        *ret_column = column;
        return GRANARY_OK;
    }
    if (entry->null_count > 0) {
        column.validity =
            buffer_of(data, data_size, entry->validity_offset, entry->validity_size, (uint64_t)gr_bitmap_bytes(rows));
        if (column.validity == NULL) {
            return gr_fail(GRANARY_ECORRUPT, "column '%s': its bitmap is not within the object", name);
        }
    }
    if (column.dtype == GRANARY_BOOL) {
        values = (uint64_t)gr_bitmap_bytes(rows);
    }
    if (column.dtype == GRANARY_STRING) {
        column.offsets = buffer_of(data, data_size, entry->offsets_offset, entry->offsets_size,
                                   ((uint64_t)rows + 1) * sizeof(int32_t));
        if (column.offsets == NULL || column.offsets[0] != 0 || column.offsets[rows] < 0) {
            return gr_fail(GRANARY_ECORRUPT, "column '%s': its string offsets are damaged", name);
        }
        values = (uint64_t)column.offsets[rows];
    }
    column.values = buffer_of(data, data_size, entry->values_offset, entry->values_size, values);
    if (column.values == NULL) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': its values are not within the object", name);
    }
    *ret_column = column;
    return GRANARY_OK;
}

granary_err
gr_directory_open(const void *meta, uint64_t meta_size, uint64_t data_size, struct gr_directory_reader *ret_reader)
{
    struct gr_directory_reader reader = {.meta = meta};
    struct gr_directory *head = &reader.head;

    if (meta_size < sizeof *head) {
        return gr_fail(GRANARY_ECORRUPT, "column directory: %llu bytes are too few", (unsigned long long)meta_size);
    }
    memcpy(head, meta, sizeof *head);
    if (!gr_directory_is(meta, meta_size) || head->entry_size != sizeof(struct gr_directory_column) || head->rows < 0 ||
        head->rows > ROWS_MAX || head->data_size != data_size ||
        meta_size - sizeof *head != (uint64_t)head->columns * sizeof(struct gr_directory_column) + head->names_size) {
        return gr_fail(GRANARY_ECORRUPT, "column directory: its header does not fit the object");
    }
    *ret_reader = reader;
    return GRANARY_OK;
}

granary_err
gr_directory_next(struct gr_directory_reader *reader, const char **ret_name, struct gr_directory_column *ret_entry)
{
    const struct gr_directory *head = &reader->head;
    const char *names = (const char *)reader->meta + sizeof *head + (size_t)head->columns * sizeof *ret_entry;
    const char *name = names + reader->names_at;

    gr_directory_get(reader->meta, reader->next, ret_entry);
    /* One NUL-terminated text right behind the name before it. */
    if (ret_entry->name_offset != reader->names_at || ret_entry->name_length >= head->names_size - reader->names_at ||
        memchr(name, '\0', (size_t)ret_entry->name_length + 1) != name + ret_entry->name_length) {
        return gr_fail(GRANARY_ECORRUPT, "column directory: the name of column %u is damaged", reader->next);
    }
    reader->names_at += ret_entry->name_length + 1;
    reader->next++;
    *ret_name = name;
    return GRANARY_OK;
}

granary_err
gr_directory_read(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size, granary_frame **ret_frame)
{
    struct gr_directory_reader reader;
    granary_frame *frame;
    granary_err err = gr_directory_open(meta, meta_size, data_size, &reader);

    if (err != GRANARY_OK) {
        return err;
    }
    frame = gr_frame_create(reader.head.columns, reader.head.rows);
    if (frame == NULL) {
        return gr_fail(GRANARY_ENOMEM, "frame: out of memory");
    }
    for (size_t i = 0; err == GRANARY_OK && i < reader.head.columns; i++) {
        struct gr_directory_column entry;
        const char *name;
        granary_column column;

        if ((err = gr_directory_next(&reader, &name, &entry)) == GRANARY_OK &&
            (err = column_read(data, data_size, reader.head.rows, name, &entry, &column)) == GRANARY_OK) {
            err = gr_frame_set_borrowed(frame, i, name, &column);
        }
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}
