/* Column directories written and read. A reader believes nothing: each offset is checked against its region. */
#include "data/layout/directory.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/zone.h"

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

/* Least, most and flags: as they are known, else from the values. */
static void
put_zone(const granary_column *column, const struct gr_column_stats *known, struct gr_directory_column *entry)
{
    memset(&entry->min, 0, sizeof entry->min);
    memset(&entry->max, 0, sizeof entry->max);
    if (gr_dtype_is_list(column->dtype)) {
        entry->min.integer = gr_list_items(column)->null_count;
        return;
    }
    if (entry->null_count == column->rows) {
        return;
    }
    if (known == NULL || !known->has_zone) {
        zone_of_column(column, entry);
        return;
    }
    memcpy(&entry->min, &known->min, sizeof entry->min);
    memcpy(&entry->max, &known->max, sizeof entry->max);
    entry->flags |= (uint16_t)(GR_DIRECTORY_ZONE | (known->has_nan ? GR_DIRECTORY_NAN : 0));
}

void
gr_directory_put(const granary_frame *frame, size_t position, const struct gr_directory_column *place, bool counted,
                 void *meta)
{
    const granary_column *column = &frame->columns[position].view;
    const struct gr_column_stats *known = gr_frame_stats(frame, position);
    struct gr_directory_column entry = *place;

    entry.name_offset = 0;
    for (size_t i = 0; i < position; i++) {
        entry.name_offset += (uint32_t)strlen(frame->columns[i].view.name) + 1;
    }
    entry.name_length = (uint32_t)strlen(column->name);
    entry.dtype = (uint16_t)(gr_dtype_is_list(column->dtype) ? GRANARY_LIST : column->dtype);
    entry.item = gr_dtype_is_list(column->dtype) ? GRANARY_LIST_ITEM(column->dtype) : 0;
    entry.flags = (uint16_t)(place->flags | (column->dictionary != NULL ? GR_DIRECTORY_ENCODED : 0));
    entry.null_count = column->dtype == GRANARY_NULLTYPE ? column->rows : column->null_count;
    if (place->flags == 0 || gr_dtype_is_list(column->dtype)) {
        put_zone(column, known, &entry);
    }
    entry.distinct = !counted                               ? 0
                     : known != NULL && known->distinct > 0 ? known->distinct
                                                            : distinct_of_column(column, &entry);
    memcpy((char *)meta + sizeof(struct gr_directory) + position * sizeof entry, &entry, sizeof entry);
}

void
gr_directory_set_rows(void *meta, int64_t rows)
{
    /* Release: who sees so few rows sees the columns' new counts, too. */
    __atomic_store_n(&((struct gr_directory *)meta)->rows, rows, __ATOMIC_RELEASE);
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

struct gr_column_stats
gr_directory_stats(const struct gr_directory_column *entry)
{
    bool is_list = entry->dtype == GRANARY_LIST;

    return (struct gr_column_stats){.nulls = entry->null_count,
                                    .bytes = entry->validity_size + entry->offsets_size + entry->values_size +
                                             entry->entry_offsets_size + entry->entry_text_size,
                                    .distinct = entry->distinct,
                                    .has_zone = !is_list && (entry->flags & GR_DIRECTORY_ZONE) != 0,
                                    .has_nan = !is_list && (entry->flags & GR_DIRECTORY_NAN) != 0,
                                    .min = entry->min,
                                    .max = entry->max};
}

/* The object, and a column of it. */
struct place {
    const void *data;
    uint64_t data_size;
    const char *name;
};

/* A buffer within data, aligned, at least `least` bytes; NULL when it is not. */
static const void *
buffer_of(const struct place *place, uint64_t offset, uint64_t size, uint64_t least)
{
    if (offset % 64 != 0 || offset > place->data_size || size > place->data_size - offset || size < least) {
        return NULL;
    }
    return (const char *)place->data + offset;
}

/* Offsets and text of rows strings. */
static granary_err
text_read(const struct place *place, const uint64_t offsets[2], const uint64_t text[2], granary_column *column)
{
    column->offsets = buffer_of(place, offsets[0], offsets[1], ((uint64_t)column->rows + 1) * sizeof *column->offsets);
    if (column->offsets == NULL || column->offsets[0] != 0 || column->offsets[column->rows] < 0) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': its string offsets are damaged", place->name);
    }
    column->values = buffer_of(place, text[0], text[1], (uint64_t)column->offsets[column->rows]);
    return column->values == NULL
               ? gr_fail(GRANARY_ECORRUPT, "column '%s': its values are not within the object", place->name)
               : GRANARY_OK;
}

/* Make a column of codes an encoded one. */
static granary_err
dictionary_read(const struct place *place, const struct gr_directory_column *entry, struct gr_column *column)
{
    struct gr_column entries = {.view = {.dtype = (granary_dtype)entry->dtype, .rows = entry->entries}};
    struct gr_dictionary *dictionary;
    granary_err err;

    if (entry->entries > INT32_MAX) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': a dictionary of %lld", place->name, (long long)entry->entries);
    }
    err = text_read(place, (const uint64_t[]){entry->entry_offsets_offset, entry->entry_offsets_size},
                    (const uint64_t[]){entry->entry_text_offset, entry->entry_text_size}, &entries.view);
    if (err == GRANARY_OK && (err = gr_dictionary_create(&entries, &dictionary)) == GRANARY_OK) {
        gr_column_set_dictionary(column, dictionary);
    }
    return err;
}

/* Bits or values of one size, as many as the column has rows. */
static granary_err
values_read(const struct place *place, const struct gr_directory_column *entry, size_t width, granary_column *view)
{
    uint64_t size = view->dtype == GRANARY_BOOL ? (uint64_t)gr_bitmap_bytes(view->rows) : (uint64_t)view->rows * width;

    view->values = buffer_of(place, entry->values_offset, entry->values_size, size);
    return view->values == NULL
               ? gr_fail(GRANARY_ECORRUPT, "column '%s': its values are not within the object", place->name)
               : GRANARY_OK;
}

/* The items of lists: a column of its own, which borrows the object. */
static granary_err
items_read(const struct place *place, const struct gr_directory_column *entry, struct gr_column *items)
{
    granary_column *view = &items->view;

    *items = (struct gr_column){.view = {.name = "item",
                                         .dtype = (granary_dtype)entry->item,
                                         .rows = entry->entries,
                                         .null_count = entry->min.integer}};
    if (view->rows > INT32_MAX || view->null_count < 0 || view->null_count > view->rows) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': %lld items with %lld nulls", place->name, (long long)view->rows,
                       (long long)view->null_count);
    }
    if (view->null_count > 0) {
        view->validity =
            buffer_of(place, entry->entry_text_offset, entry->entry_text_size, (uint64_t)gr_bitmap_bytes(view->rows));
        if (view->validity == NULL) {
            return gr_fail(GRANARY_ECORRUPT, "column '%s': the bitmap of its items is not within the object",
                           place->name);
        }
    }
    return gr_dtype_is_text(view->dtype)
               ? text_read(place, (const uint64_t[]){entry->entry_offsets_offset, entry->entry_offsets_size},
                           (const uint64_t[]){entry->values_offset, entry->values_size}, view)
               : values_read(place, entry, gr_dtype_size(view->dtype), view);
}

static granary_err
list_read(const struct place *place, const struct gr_directory_column *entry, struct gr_column *column)
{
    granary_column *view = &column->view;
    granary_err err;

    view->offsets = buffer_of(place, entry->offsets_offset, entry->offsets_size,
                              ((uint64_t)view->rows + 1) * sizeof *view->offsets);
    if (view->offsets == NULL || view->offsets[0] != 0 || view->offsets[view->rows] != entry->entries) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': the offsets of its lists are damaged", place->name);
    }
    column->items = malloc(sizeof *column->items);
    if (column->items == NULL) {
        return gr_fail(GRANARY_ENOMEM, "column '%s': out of memory", place->name);
    }
    err = items_read(place, entry, column->items);
    view->values = &column->items->view;
    return err;
}

/* Whatever is returned, the column may be freed. */
static granary_err
column_read(const struct place *place, int64_t rows, const struct gr_directory_column *entry, struct gr_column *column)
{
    bool encoded = (entry->flags & GR_DIRECTORY_ENCODED) != 0;
    granary_column *view = &column->view;
    granary_err err;

    *view = (granary_column){.dtype = gr_directory_dtype(entry), .rows = rows, .null_count = entry->null_count};
    if (!gr_dtype_is(view->dtype) || entry->null_count < 0 || entry->null_count > rows || entry->entries < 0 ||
        (gr_dtype_is_list(view->dtype) && (unsigned)GRANARY_LIST_ITEM(view->dtype) != entry->item) ||
        (encoded && !gr_dtype_is_text(view->dtype))) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': dtype %u with %lld nulls", place->name, entry->dtype,
                       (long long)entry->null_count);
    }
    if (view->dtype == GRANARY_NULLTYPE) {
        return GRANARY_OK;
    }
    if (entry->null_count > 0) {
        view->validity =
            buffer_of(place, entry->validity_offset, entry->validity_size, (uint64_t)gr_bitmap_bytes(rows));
        if (view->validity == NULL) {
            return gr_fail(GRANARY_ECORRUPT, "column '%s': its bitmap is not within the object", place->name);
        }
    }
    if (gr_dtype_is_list(view->dtype)) {
        return list_read(place, entry, column);
    }
    if (gr_dtype_is_text(view->dtype) && !encoded) {
        return text_read(place, (const uint64_t[]){entry->offsets_offset, entry->offsets_size},
                         (const uint64_t[]){entry->values_offset, entry->values_size}, view);
    }
    err = values_read(place, entry, encoded ? sizeof(int32_t) : gr_dtype_size(view->dtype), view);
    return err == GRANARY_OK && encoded ? dictionary_read(place, entry, column) : err;
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

/* A column of which only the directory is known. */
static void
column_outline(const struct gr_directory_column *entry, int64_t rows, struct gr_column *ret_column)
{
    *ret_column =
        (struct gr_column){.view = {.dtype = gr_directory_dtype(entry), .rows = rows, .null_count = entry->null_count}};
}

granary_err
gr_directory_read_columns(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size,
                          const bool *wanted, granary_frame **ret_frame)
{
    struct gr_directory_reader reader;
    granary_frame *frame;
    size_t count = 0;
    granary_err err = gr_directory_open(meta, meta_size, data_size, &reader);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < reader.head.columns; i++) {
        count += wanted == NULL || wanted[i];
    }
    frame = gr_frame_create(count, reader.head.rows);
    if (frame == NULL || (frame->stats = calloc(count + 1, sizeof *frame->stats)) == NULL) {
        gr_frame_destroy(frame);
        return gr_fail(GRANARY_ENOMEM, "frame: out of memory");
    }
    count = 0;
    for (size_t i = 0; err == GRANARY_OK && i < reader.head.columns; i++) {
        struct place place = {.data = data, .data_size = data_size};
        struct gr_directory_column entry;
        struct gr_column column = {.owned = false};

        err = gr_directory_next(&reader, &place.name, &entry);
        if (err != GRANARY_OK || (wanted != NULL && !wanted[i])) {
            continue;
        }
        if (data == NULL) {
            column_outline(&entry, reader.head.rows, &column);
        } else {
            err = column_read(&place, reader.head.rows, &entry, &column);
        }
        if (err == GRANARY_OK) {
            frame->stats[count] = gr_directory_stats(&entry);
            err = gr_frame_set(frame, count++, place.name, &column);
        }
        gr_column_free(&column);
    }
    return gr_frame_give(frame, err, ret_frame);
}

granary_err
gr_directory_read(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size, granary_frame **ret_frame)
{
    return gr_directory_read_columns(data, data_size, meta, meta_size, NULL, ret_frame);
}
