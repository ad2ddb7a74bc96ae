/* Rows of a frame object that is not brought back whole: its directory tells where the bytes of a column lie. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/read.h"
#include "data/arrow/arrow.h"
#include "data/layout/directory.h"
#include "granary/frame.h"
#include "object/object.h"

/* Which object, and which rows of it. */
struct rows {
    granary_client *client;
    granary_id id;
    uint64_t data_size;
    int64_t frame_rows;
    int64_t from;
    int64_t count;
    int timeout_ms;
};

/* A buffer of a column, as its directory entry has it. */
struct buffer {
    uint64_t offset;
    uint64_t size;
};

/* Bytes [at, at + length) of a buffer. */
static granary_err
get_bytes(const struct rows *rows, const char *name, struct buffer buffer, uint64_t at, uint64_t length,
          granary_view *ret_view)
{
    if (buffer.offset > rows->data_size || buffer.size > rows->data_size - buffer.offset || at > buffer.size ||
        length > buffer.size - at) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': its values are not within the object", name);
    }
    return granary_object_get_range(rows->client, rows->id, buffer.offset + at, length, rows->timeout_ms, ret_view);
}

/* The rows' bits of a bitmap. */
static granary_err
copy_bits(const struct rows *rows, const char *name, struct buffer buffer, uint8_t *to)
{
    int64_t first = rows->from / 8;
    int64_t end = gr_bitmap_bytes(rows->from + rows->count);
    granary_view view;
    granary_err err = get_bytes(rows, name, buffer, (uint64_t)first, (uint64_t)(end - first), &view);

    if (err != GRANARY_OK) {
        return err;
    }
    for (int64_t i = 0; i < rows->count; i++) {
        if (gr_bit(view.data, rows->from - first * 8 + i)) {
            gr_bit_set(to, i);
        }
    }
    granary_object_release(rows->client, &view);
    return GRANARY_OK;
}

static granary_err
copy_bytes(const struct rows *rows, const char *name, struct buffer buffer, uint64_t at, uint64_t length, void *to)
{
    granary_view view;
    granary_err err = get_bytes(rows, name, buffer, at, length, &view);

    if (err == GRANARY_OK) {
        memcpy(to, view.data, length);
        granary_object_release(rows->client, &view);
    }
    return err;
}

/* Offsets [from, from + count] of strings, to be freed; they begin wherever the text of the first one does. */
static granary_err
get_offsets(const struct rows *rows, const char *name, struct buffer buffer, int64_t from, int64_t count,
            int32_t **ret_offsets)
{
    uint64_t bytes = ((uint64_t)count + 1) * sizeof(int32_t);
    int32_t *offsets = malloc(bytes);
    granary_err err;

    if (offsets == NULL) {
        return gr_fail(GRANARY_ENOMEM, "column '%s': out of memory", name);
    }
    err = copy_bytes(rows, name, buffer, (uint64_t)from * sizeof(int32_t), bytes, offsets);
    for (int64_t i = 0; err == GRANARY_OK && i <= count; i++) {
        if (offsets[i] < (i == 0 ? 0 : offsets[i - 1])) {
            err = gr_fail(GRANARY_ECORRUPT, "column '%s': its string offsets are damaged", name);
        }
    }
    if (err != GRANARY_OK) {
        free(offsets);
        return err;
    }
    *ret_offsets = offsets;
    return GRANARY_OK;
}

/* Strings [from, from + count). */
static granary_err
read_strings(const struct rows *rows, const char *name, granary_dtype dtype, struct buffer offsets_at,
             struct buffer text, int64_t from, int64_t count, bool nulls, struct gr_column *ret_column)
{
    int32_t *offsets = NULL;
    struct gr_column column = {.owned = false};
    granary_err err = get_offsets(rows, name, offsets_at, from, count, &offsets);

    if (err == GRANARY_OK) {
        err = gr_column_alloc(dtype, count, offsets[count] - offsets[0], nulls, &column);
    }
    if (err == GRANARY_OK) {
        int32_t *to = (int32_t *)(uintptr_t)column.view.offsets;

        for (int64_t i = 0; i <= count; i++) {
            to[i] = offsets[i] - offsets[0];
        }
        err = copy_bytes(rows, name, text, (uint64_t)offsets[0], (uint64_t)to[count],
                         (void *)(uintptr_t)column.view.values);
    }
    free(offsets);
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    *ret_column = column;
    return GRANARY_OK;
}

/* Whether a dictionary has no strings, and every row of the frame is null. */
static bool
is_empty_dictionary(const struct rows *rows, const struct gr_directory_column *entry)
{
    return (entry->flags & GR_DIRECTORY_ENCODED) != 0 && entry->entries == 0 && entry->null_count == rows->frame_rows;
}

/* The rows' codes, with the whole dictionary. */
static granary_err
read_encoded(const struct rows *rows, const char *name, const struct gr_directory_column *entry, bool nulls,
             struct gr_column *ret_column)
{
    struct gr_dictionary *dictionary = NULL;
    struct gr_column entries;
    struct gr_column codes = {.owned = false};
    granary_err err =
        entry->entries < 0 || entry->entries > INT32_MAX
            ? gr_fail(GRANARY_ECORRUPT, "column '%s': a dictionary of %lld", name, (long long)entry->entries)
            : read_strings(rows, name, (granary_dtype)entry->dtype,
                           (struct buffer){entry->entry_offsets_offset, entry->entry_offsets_size},
                           (struct buffer){entry->entry_text_offset, entry->entry_text_size}, 0, entry->entries, false,
                           &entries);

    if (err == GRANARY_OK && (err = gr_dictionary_create(&entries, &dictionary)) == GRANARY_OK &&
        (err = gr_column_alloc(GRANARY_INT32, rows->count, 0, nulls, &codes)) == GRANARY_OK) {
        err = copy_bytes(rows, name, (struct buffer){entry->values_offset, entry->values_size},
                         (uint64_t)rows->from * sizeof(int32_t), (uint64_t)rows->count * sizeof(int32_t),
                         (void *)(uintptr_t)codes.view.values);
    }
    /* Without entries all rows are null: their codes lead nowhere. */
    for (int64_t i = 0; err == GRANARY_OK && i < rows->count && !is_empty_dictionary(rows, entry); i++) {
        if ((uint32_t)((const int32_t *)codes.view.values)[i] >= (uint64_t)entry->entries) {
            err = gr_fail(GRANARY_ECORRUPT, "column '%s': values that are not in its dictionary", name);
        }
    }
    if (err != GRANARY_OK) {
        gr_column_free(&codes);
        gr_dictionary_unref(dictionary);
        return err;
    }
    gr_column_set_dictionary(&codes, dictionary);
    *ret_column = codes;
    return GRANARY_OK;
}

static granary_err
read_fixed(const struct rows *rows, const char *name, const struct gr_directory_column *entry, bool nulls,
           struct gr_column *ret_column)
{
    struct buffer values = {entry->values_offset, entry->values_size};
    granary_dtype dtype = gr_directory_dtype(entry);
    uint64_t size = gr_dtype_size(dtype);
    struct gr_column column;
    granary_err err = gr_column_alloc(dtype, rows->count, 0, nulls, &column);
    void *to;

    if (err != GRANARY_OK) {
        return err;
    }
    to = (void *)(uintptr_t)column.view.values;
    if (column.view.dtype == GRANARY_BOOL) {
        err = copy_bits(rows, name, values, to);
    } else if (size > 0) {
        err = copy_bytes(rows, name, values, (uint64_t)rows->from * size, (uint64_t)rows->count * size, to);
    }
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    *ret_column = column;
    return GRANARY_OK;
}

static granary_err read_column(const struct rows *rows, const char *name, const struct gr_directory_column *entry,
                               struct gr_column *ret_column);

/* The rows' lists: of the items those that are in them. */
static granary_err
read_list(const struct rows *rows, const char *name, const struct gr_directory_column *entry, bool nulls,
          struct gr_column *ret_column)
{
    const struct buffer offsets_at = {entry->offsets_offset, entry->offsets_size};
    struct rows within = *rows;
    struct gr_directory_column item = {.dtype = (uint16_t)entry->item,
                                       .null_count = entry->min.integer,
                                       .validity_offset = entry->entry_text_offset,
                                       .validity_size = entry->entry_text_size,
                                       .offsets_offset = entry->entry_offsets_offset,
                                       .offsets_size = entry->entry_offsets_size,
                                       .values_offset = entry->values_offset,
                                       .values_size = entry->values_size};
    struct gr_column items;
    struct gr_column column = {.owned = false};
    int32_t *offsets = NULL;
    granary_err err = get_offsets(rows, name, offsets_at, rows->from, rows->count, &offsets);

    if (err == GRANARY_OK) {
        within.frame_rows = entry->entries;
        within.from = offsets[0];
        within.count = offsets[rows->count] - offsets[0];
        err = within.from > entry->entries || within.count > entry->entries - within.from
                  ? gr_fail(GRANARY_ECORRUPT, "column '%s': the offsets of its lists are damaged", name)
                  : read_column(&within, name, &item, &items);
    }
    if (err == GRANARY_OK && (err = gr_list_create(&items, rows->count, nulls, &column)) == GRANARY_OK) {
        for (int64_t i = 0; i <= rows->count; i++) {
            ((int32_t *)(uintptr_t)column.view.offsets)[i] = offsets[i] - offsets[0];
        }
        *ret_column = column;
    }
    free(offsets);
    return err;
}

static granary_err
read_column(const struct rows *rows, const char *name, const struct gr_directory_column *entry,
            struct gr_column *ret_column)
{
    bool nulls = entry->null_count > 0 && entry->dtype != GRANARY_NULLTYPE;
    struct gr_column column = {.owned = false};
    granary_err err;

    if (!gr_dtype_is(gr_directory_dtype(entry)) || entry->null_count < 0 || entry->null_count > rows->frame_rows ||
        ((entry->flags & GR_DIRECTORY_ENCODED) != 0 && !gr_dtype_is_text(entry->dtype))) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': dtype %u with %lld nulls", name, entry->dtype,
                       (long long)entry->null_count);
    }
    if (entry->dtype == GRANARY_LIST) {
        err = read_list(rows, name, entry, nulls, &column);
    } else if (!gr_dtype_is_text(entry->dtype)) {
        err = read_fixed(rows, name, entry, nulls, &column);
    } else if ((entry->flags & GR_DIRECTORY_ENCODED) != 0) {
        err = read_encoded(rows, name, entry, nulls, &column);
    } else {
        err = read_strings(
            rows, name, (granary_dtype)entry->dtype, (struct buffer){entry->offsets_offset, entry->offsets_size},
            (struct buffer){entry->values_offset, entry->values_size}, rows->from, rows->count, nulls, &column);
    }
    if (err == GRANARY_OK && nulls && is_empty_dictionary(rows, entry)) { /* whatever the file's bits say */
        memset((uint8_t *)(uintptr_t)column.view.validity, 0, ((size_t)rows->count + 7) / 8);
    } else if (err == GRANARY_OK && nulls) {
        err = copy_bits(rows, name, (struct buffer){entry->validity_offset, entry->validity_size},
                        (uint8_t *)(uintptr_t)column.view.validity);
    }
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

/* Where a column goes in the new frame; SIZE_MAX: nowhere. */
static size_t
place_of(const char *name, const char *const *names, size_t count, size_t position)
{
    size_t at = 0;

    if (names == NULL) {
        return position;
    }
    while (at < count && strcmp(names[at], name) != 0) {
        at++;
    }
    return at < count ? at : SIZE_MAX;
}

static granary_err
check_rows(struct rows *rows)
{
    if (rows->count == GRANARY_ROWS_REST && rows->from >= 0 && rows->from <= rows->frame_rows) {
        rows->count = rows->frame_rows - rows->from;
    }
    if (rows->from < 0 || rows->count < 0 || rows->from > rows->frame_rows ||
        rows->count > rows->frame_rows - rows->from) {
        return gr_fail(GRANARY_EINVAL, "rows %lld to %lld: the frame has %lld", (long long)rows->from,
                       (long long)rows->from + (long long)rows->count, (long long)rows->frame_rows);
    }
    return GRANARY_OK;
}

static granary_err
check_names(const granary_frame *frame, const char *const *names)
{
    for (size_t i = 0; names != NULL && i < frame->count; i++) {
        if (frame->columns[i].view.name == NULL) {
            return gr_fail(GRANARY_ENOENT, "no column '%s', or it is named twice", names[i]);
        }
    }
    return GRANARY_OK;
}

/* The columns that are wanted, by the object's directory. */
static granary_err
read_directory(struct rows *rows, const granary_view *meta, const char *const *names, size_t count,
               granary_frame **ret_frame)
{
    struct gr_directory_reader reader;
    granary_err err = gr_directory_open(meta->data, meta->data_size, rows->data_size, &reader);
    granary_frame *frame;

    if (err != GRANARY_OK) {
        return err;
    }
    rows->frame_rows = reader.head.rows;
    err = check_rows(rows);
    if (err != GRANARY_OK) {
        return err;
    }
    frame = gr_frame_create(names == NULL ? reader.head.columns : count, rows->count);
    if (frame == NULL) {
        return gr_fail(GRANARY_ENOMEM, "frame: out of memory");
    }
    while (err == GRANARY_OK && reader.next < reader.head.columns) {
        size_t position = reader.next;
        struct gr_directory_column entry;
        struct gr_column column;
        const char *name;
        size_t place;

        err = gr_directory_next(&reader, &name, &entry);
        place = err == GRANARY_OK ? place_of(name, names, count, position) : SIZE_MAX;
        if (place != SIZE_MAX && (err = read_column(rows, name, &entry, &column)) == GRANARY_OK) {
            err = gr_frame_set(frame, place, name, &column);
        }
    }
    if (err == GRANARY_OK) {
        err = check_names(frame, names);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

granary_err
frame_open_columns(const granary_view *view, const char *const *names, size_t count, granary_frame **ret_frame)
{
    return names == NULL ? granary_frame_open(view, ret_frame)
                         : gr_arrow_read_columns(view->data, view->data_size, view->meta, view->meta_size, names, count,
                                                 ret_frame);
}

/* Without a directory the whole file is read. */
static granary_err
read_whole(struct rows *rows, const char *const *names, size_t count, granary_frame **ret_frame)
{
    granary_frame *frame = NULL;
    granary_frame *chosen = NULL;
    granary_view view;
    granary_err err = granary_object_get(rows->client, rows->id, rows->timeout_ms, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    err = names == NULL
              ? granary_frame_open(&view, &frame)
              : gr_arrow_read_columns(view.data, view.data_size, view.meta, view.meta_size, names, count, &frame);
    if (err == GRANARY_OK) {
        rows->frame_rows = frame->rows;
        err = check_rows(rows);
    }
    if (err == GRANARY_OK && names != NULL) {
        chosen = gr_frame_create(count, frame->rows);
        err = chosen == NULL ? gr_fail(GRANARY_ENOMEM, "frame: out of memory") : GRANARY_OK;
        for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
            int at = gr_frame_find(frame, names[i]);

            err = at < 0 ? gr_fail(GRANARY_ENOENT, "no column '%s'", names[i])
                         : gr_frame_set_borrowed(chosen, i, names[i], &frame->columns[at].view);
        }
    }
    if (err == GRANARY_OK) {
        err = gr_frame_slice(chosen == NULL ? frame : chosen, rows->from, rows->count, ret_frame);
    }
    gr_frame_destroy(chosen);
    gr_frame_destroy(frame);
    granary_object_release(rows->client, &view);
    return err;
}

/* The whole metadata when it is a directory; else *ret_meta is all zero. */
static granary_err
get_directory(struct rows *rows, granary_view *ret_meta)
{
    granary_object_info info;
    granary_err err = granary_object_info_get(rows->client, rows->id, &info);

    *ret_meta = (granary_view){.data = NULL};
    if (err != GRANARY_OK) {
        return err;
    }
    rows->data_size = info.data_size;
    err = granary_object_get_meta_range(rows->client, rows->id, 0, info.meta_size, rows->timeout_ms, ret_meta);
    if (err == GRANARY_OK && !gr_directory_is(ret_meta->data, ret_meta->data_size)) {
        granary_object_release(rows->client, ret_meta);
    }
    return err;
}

granary_err
frame_object_rows(granary_client *client, granary_id id, int timeout_ms, int64_t *ret_rows)
{
    struct rows rows = {.client = client, .id = id, .timeout_ms = timeout_ms};
    struct gr_directory_reader reader;
    granary_frame *frame = NULL;
    granary_view view;
    granary_err err = get_directory(&rows, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    if (view.lease != 0) {
        err = gr_directory_open(view.data, view.data_size, rows.data_size, &reader);
        *ret_rows = err == GRANARY_OK ? reader.head.rows : *ret_rows;
    } else if ((err = granary_object_get(client, id, timeout_ms, &view)) == GRANARY_OK) {
        err = gr_arrow_read_columns(view.data, view.data_size, view.meta, view.meta_size, NULL, 0, &frame);
        *ret_rows = err == GRANARY_OK ? frame->rows : *ret_rows;
    }
    gr_frame_destroy(frame);
    granary_object_release(client, &view);
    return err;
}

granary_err
granary_frame_read_rows(granary_client *client, granary_id id, int64_t from, int64_t rows_count,
                        const char *const *names, size_t count, int timeout_ms, granary_frame **ret_frame)
{
    struct rows rows = {.client = client, .id = id, .from = from, .count = rows_count, .timeout_ms = timeout_ms};
    granary_frame *frame = NULL;
    uint64_t before, after;
    granary_view meta;
    granary_err err = gr_client_check_wait(client, timeout_ms);

    if (err == GRANARY_OK) {
        err = granary_object_wait(client, &id, 1, 1, timeout_ms, NULL);
    }
    if (err == GRANARY_ETIMEDOUT && timeout_ms == 0) {
        err = GRANARY_OK; /* the next step says that it is not there */
    }
    if (err != GRANARY_OK || (err = gr_client_stamp(client, id, &before)) != GRANARY_OK ||
        (err = get_directory(&rows, &meta)) != GRANARY_OK) {
        return err;
    }
    err =
        meta.lease == 0 ? read_whole(&rows, names, count, &frame) : read_directory(&rows, &meta, names, count, &frame);
    granary_object_release(client, &meta);
    /* All of it is of one object, and not of another one that got its id meanwhile. */
    if (err == GRANARY_OK && (gr_client_stamp(client, id, &after) != GRANARY_OK || after != before)) {
        granary_frame_close(frame);
        return gr_fail(GRANARY_ENOENT, "the object was deleted while it was read");
    }
    if (err == GRANARY_OK) {
        *ret_frame = frame;
    }
    return err;
}
