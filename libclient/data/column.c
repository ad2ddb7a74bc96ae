/* Columns: made, gathered by index, joined. */
#include "contract/int128.h"
#include "data/frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/encoded.h"
#include "data/list.h"
#include "data/place.h"
#include "data/value/bits.h"

#define ALIGNMENT 64u

static size_t
padded(size_t size)
{
    return size == 0 ? ALIGNMENT : (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* As gr_data_alloc(), but only the last 64 bytes are zero: for buffers that are filled at once. */
static void *
alloc_unset(size_t size)
{
    char *bytes = size > SIZE_MAX / 2 ? NULL : aligned_alloc(ALIGNMENT, padded(size));

    if (bytes != NULL) {
        memset(bytes + padded(size) - ALIGNMENT, 0, ALIGNMENT);
    }
    return bytes;
}

void *
gr_data_alloc(size_t size)
{
    void *bytes = alloc_unset(size);

    if (bytes != NULL) {
        memset(bytes, 0, padded(size));
    }
    return bytes;
}

static granary_err
fail_memory(granary_dtype dtype, int64_t rows)
{
    return gr_fail(GRANARY_ENOMEM, "%lld rows of %s: out of memory", (long long)rows, granary_dtype_name(dtype));
}

/* Bytes of the values buffer. */
static size_t
values_bytes(granary_dtype dtype, int64_t rows, int64_t text_bytes)
{
    switch (dtype) {
    case GRANARY_NULLTYPE:
        return 0;
    case GRANARY_BOOL:
        return (size_t)gr_bitmap_bytes(rows);
    case GRANARY_STRING:
    case GRANARY_BINARY:
        return (size_t)text_bytes;
    default:
        return (size_t)rows * gr_dtype_size(dtype);
    }
}

/* Values of a fixed size, or bits; where the frame they are for will stay, if that was said. */
static void *
alloc_values(granary_dtype dtype, size_t size, bool zeroed)
{
    char *bytes = gr_dtype_is_text(dtype) ? NULL : place_alloc(size);

    if (bytes == NULL) {
        return zeroed ? gr_data_alloc(size) : alloc_unset(size);
    }
    memset(zeroed ? bytes : bytes + padded(size) - ALIGNMENT, 0, zeroed ? padded(size) : ALIGNMENT);
    return bytes;
}

static void
free_buffer(const void *bytes)
{
    if (!place_give(bytes)) {
        free((void *)(uintptr_t)bytes);
    }
}

/* zeroed: false when the caller writes every value (and, for strings, every offset). The bitmap is zero anyway. */
static granary_err
column_alloc(granary_dtype dtype, int64_t rows, int64_t text_bytes, bool with_validity, bool zeroed,
             struct gr_column *ret_column)
{
    struct gr_column column = {.view = {.dtype = dtype, .rows = rows}, .owned = true};
    void *(*alloc)(size_t) = zeroed ? gr_data_alloc : alloc_unset;
    bool failed = false;

    if (rows < 0 || rows > INT64_MAX / 16) {
        return fail_memory(dtype, rows);
    }
    if (text_bytes > INT32_MAX) {
        return gr_fail(GRANARY_EFULL,
                       "%lld bytes of text in one column of a chunk: at most 2 GiB fit; use smaller chunks",
                       (long long)text_bytes);
    }
    if (dtype == GRANARY_NULLTYPE) {
        column.view.null_count = rows;
        *ret_column = column;
        return GRANARY_OK;
    }
    if (gr_dtype_is_list(dtype)) {
        struct gr_column items;
        granary_err err = column_alloc(GRANARY_LIST_ITEM(dtype), 0, 0, false, false, &items);

        return err == GRANARY_OK ? gr_list_create(&items, rows, with_validity, ret_column) : err;
    }
    if (with_validity) {
        failed = (column.view.validity = gr_data_alloc((size_t)gr_bitmap_bytes(rows))) == NULL;
    }
    if (gr_dtype_is_text(dtype)) {
        failed = failed || (column.view.offsets = alloc(((size_t)rows + 1) * sizeof(int32_t))) == NULL;
    }
    failed =
        failed || (column.view.values = alloc_values(dtype, values_bytes(dtype, rows, text_bytes), zeroed)) == NULL;
    if (failed) {
        gr_column_free(&column);
        return fail_memory(dtype, rows);
    }
    *ret_column = column;
    return GRANARY_OK;
}

granary_err
gr_column_alloc(granary_dtype dtype, int64_t rows, int64_t text_bytes, bool with_validity, struct gr_column *ret_column)
{
    return column_alloc(dtype, rows, text_bytes, with_validity, true, ret_column);
}

granary_err
gr_column_alloc_unset(granary_dtype dtype, int64_t rows, int64_t text_bytes, bool with_validity,
                      struct gr_column *ret_column)
{
    return column_alloc(dtype, rows, text_bytes, with_validity, false, ret_column);
}

void
gr_column_free(struct gr_column *column)
{
    if (column->owned) {
        free((void *)(uintptr_t)column->view.validity);
        if (!gr_dtype_is_list(column->view.dtype)) {
            free_buffer(column->view.values);
        }
        free((void *)(uintptr_t)column->view.offsets);
    }
    if (column->items != NULL) {
        gr_column_free(column->items);
        free(column->items);
        column->items = NULL;
    }
    column->view.validity = NULL;
    column->view.values = NULL;
    column->view.offsets = NULL;
    column->owned = false;
    column->view.dictionary = NULL;
    gr_dictionary_unref(column->dictionary);
    column->dictionary = NULL;
}

void
gr_column_settle(struct gr_column *column)
{
    granary_column *view = &column->view;

    if (view->dtype == GRANARY_NULLTYPE) {
        view->null_count = view->rows;
        return;
    }
    if (view->validity == NULL) {
        view->null_count = 0;
        return;
    }
    bits_trim((uint8_t *)(uintptr_t)view->validity, view->rows);
    view->null_count = view->rows - bits_count(view->validity, view->rows);
    if (view->null_count == 0) {
        free((void *)(uintptr_t)view->validity);
        view->validity = NULL;
    }
}

/* Close the gaps that text under nulls leaves. */
static void
drop_text_under_nulls(granary_column *view)
{
    int32_t *offsets = (int32_t *)(uintptr_t)view->offsets;
    char *text = (char *)(uintptr_t)view->values;
    int32_t from = offsets[0];
    int32_t to = from;

    for (int64_t i = 0; i < view->rows; i++) {
        int32_t length = offsets[i + 1] - from;

        from = offsets[i + 1];
        if (gr_bit(view->validity, i)) {
            if (to != from - length) {
                memmove(text + to, text + from - length, (size_t)length);
            }
            to += length;
        }
        offsets[i + 1] = to;
    }
    memset(text + to, 0, (size_t)(from - to));
}

static void
zero_under_nulls(granary_column *view)
{
    size_t size = gr_value_size(view);
    uint8_t *values = (uint8_t *)(uintptr_t)view->values;

    if (gr_dtype_is_list(view->dtype)) {
        return; /* who makes lists puts none there */
    }
    if (gr_dtype_is_text(view->dtype) && view->dictionary == NULL) {
        drop_text_under_nulls(view);
    } else if (view->dtype == GRANARY_BOOL) {
        for (int64_t i = 0; i < gr_bitmap_bytes(view->rows); i++) {
            values[i] = (uint8_t)(values[i] & view->validity[i]);
        }
    } else {
        for (int64_t i = 0; i < view->rows; i++) {
            if (!gr_bit(view->validity, i)) {
                memset(values + (size_t)i * size, 0, size);
            }
        }
    }
}

void
gr_column_finish(struct gr_column *column)
{
    gr_column_settle(column);
    if (column->view.validity != NULL) {
        zero_under_nulls(&column->view);
    }
    if (column->view.dtype == GRANARY_BOOL) {
        bits_trim((uint8_t *)(uintptr_t)column->view.values, column->view.rows);
    }
}

#define AHEAD 24 /* rows that are fetched before they are taken: an order may lead anywhere */

static inline void
fetch_value(const void *values, int64_t index, size_t size)
{
    __builtin_prefetch((const void *)((uintptr_t)values + (uintptr_t)index * size)); /* -1 fetches nothing of use */
}

/* bits NULL: all are set; those of rows that are not there are not. */
static void
take_bits(const uint8_t *bits, const int64_t *indices, int64_t count, uint8_t *out)
{
    uint8_t taken[512];

    for (int64_t from = 0; from < count; from += (int64_t)sizeof taken) {
        int64_t some = count - from < (int64_t)sizeof taken ? count - from : (int64_t)sizeof taken;

        for (int64_t i = 0; i < some; i++) {
            int64_t row = indices[from + i];

            taken[i] = row >= 0 && (bits == NULL || gr_bit(bits, row));
        }
        bits_pack(taken, some, out, from);
    }
}

#define TAKE(type)                                                                                                     \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        fetch_value(column->values, indices[i + AHEAD < count ? i + AHEAD : i], sizeof(type));                         \
        ((type *)out)[i] = indices[i] < 0 ? (type){0} : ((const type *)column->values)[indices[i]];                    \
    }                                                                                                                  \
    break

static void
take_values(const granary_column *column, const int64_t *indices, int64_t count, void *out)
{
    switch (gr_dtype_size(column->dtype)) {
    case 1:
        TAKE(uint8_t);
    case 2:
        TAKE(uint16_t);
    case 4:
        TAKE(uint32_t);
    case 8:
        TAKE(uint64_t);
    case 16:
        TAKE(gr_uint128);
    default:
        if (column->dtype == GRANARY_BOOL) {
            take_bits(column->values, indices, count, out);
        }
    }
}
#undef TAKE

static void
take_text(const granary_column *column, const int64_t *indices, int64_t count, struct gr_column *out)
{
    int32_t *offsets = (int32_t *)(uintptr_t)out->view.offsets;
    char *text = (char *)(uintptr_t)out->view.values;
    const char *from = column->values;
    int32_t at = 0;

    offsets[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        if (indices[i] >= 0) {
            int32_t begin = column->offsets[indices[i]];
            int32_t length = column->offsets[indices[i] + 1] - begin;

            if (length > 0) {
                memcpy(text + at, from + begin, (size_t)length);
                at += length;
            }
        }
        offsets[i + 1] = at;
    }
}

granary_err
gr_column_take(const granary_column *column, const int64_t *indices, int64_t count, struct gr_column *ret_column)
{
    struct gr_column out;
    bool nulls = column->validity != NULL;
    int64_t text_bytes = 0;
    granary_err err;

    if (column->dictionary != NULL) {
        return encoded_take(column, indices, count, ret_column);
    }
    if (gr_dtype_is_list(column->dtype)) {
        return lists_take(column, indices, count, ret_column);
    }
    for (int64_t i = 0; i < count && !nulls; i++) {
        nulls = indices[i] < 0;
    }
    if (gr_dtype_is_text(column->dtype)) {
        for (int64_t i = 0; i < count; i++) {
            text_bytes += indices[i] < 0 ? 0 : column->offsets[indices[i] + 1] - column->offsets[indices[i]];
        }
    }
    err = column_alloc(column->dtype, count, text_bytes, nulls, column->dtype == GRANARY_BOOL, &out);
    if (err != GRANARY_OK) {
        return err;
    }
    if (nulls && out.view.validity != NULL) {
        take_bits(column->validity, indices, count, (uint8_t *)(uintptr_t)out.view.validity);
    }
    if (gr_dtype_is_text(column->dtype)) {
        take_text(column, indices, count, &out);
    } else {
        take_values(column, indices, count, (void *)(uintptr_t)out.view.values);
    }
    gr_column_settle(&out); /* values under nulls are zero in the source, and so they are here */
    *ret_column = out;
    return GRANARY_OK;
}

/* Append one run's values at row `at`; *text_at: how much text is there. */
static void
append_run(struct gr_column *out, int64_t at, const struct gr_run *run, int32_t *text_at)
{
    const granary_column *from = run->column;
    size_t size = gr_dtype_size(out->view.dtype);
    char *values = (char *)(uintptr_t)out->view.values;

    if (gr_dtype_is_text(out->view.dtype)) {
        int32_t *offsets = (int32_t *)(uintptr_t)out->view.offsets + at;
        int32_t begin = 0;
        int32_t end = 0;

        if (gr_dtype_is_text(from->dtype) && run->rows > 0) {
            begin = from->offsets[run->from];
            end = from->offsets[run->from + run->rows];
            for (int64_t i = 1; i <= run->rows; i++) {
                offsets[i] = from->offsets[run->from + i] - begin + *text_at;
            }
        } else {
            for (int64_t i = 1; i <= run->rows; i++) {
                offsets[i] = *text_at;
            }
        }
        if (end > begin) {
            memcpy(values + *text_at, (const char *)from->values + begin, (size_t)(end - begin));
            *text_at += end - begin;
        }
    } else if (from->dtype == GRANARY_NULLTYPE) {
        return; /* zero already */
    } else if (out->view.dtype == GRANARY_BOOL) {
        bits_copy((uint8_t *)values, at, from->values, run->from, run->rows);
    } else if (run->rows > 0) {
        memcpy(values + (size_t)at * size, (const char *)from->values + (size_t)run->from * size,
               (size_t)run->rows * size);
    }
}

granary_err
gr_column_concat(const struct gr_run *runs, size_t count, granary_dtype dtype, struct gr_column *ret_column)
{
    struct gr_column out;
    int64_t rows = 0;
    int64_t text_bytes = 0;
    int64_t at = 0;
    int32_t text_at = 0;
    bool nulls = false;
    bool zeroed = dtype == GRANARY_BOOL;
    granary_err err;

    if (gr_dtype_is_list(dtype)) {
        return lists_concat(runs, count, dtype, ret_column);
    }
    for (size_t i = 0; i < count; i++) {
        const granary_column *column = runs[i].column;

        if (column->dictionary != NULL) {
            return encoded_concat(runs, count, ret_column);
        }
        rows += runs[i].rows;
        nulls = nulls || column->validity != NULL || column->dtype == GRANARY_NULLTYPE;
        zeroed = zeroed || column->dtype == GRANARY_NULLTYPE;
        if (gr_dtype_is_text(column->dtype) && runs[i].rows > 0) {
            text_bytes += column->offsets[runs[i].from + runs[i].rows] - column->offsets[runs[i].from];
        }
    }
    err = column_alloc(dtype, rows, text_bytes, nulls, zeroed, &out);
    if (err != GRANARY_OK || dtype == GRANARY_NULLTYPE) {
        *ret_column = err == GRANARY_OK ? out : *ret_column;
        return err;
    }
    if (gr_dtype_is_text(dtype)) {
        *(int32_t *)(uintptr_t)out.view.offsets = 0;
    }
    for (size_t i = 0; i < count; i++) {
        const granary_column *column = runs[i].column;

        append_run(&out, at, &runs[i], &text_at);
        if (column->validity != NULL) {
            bits_copy((uint8_t *)(uintptr_t)out.view.validity, at, column->validity, runs[i].from, runs[i].rows);
        } else if (nulls && column->dtype != GRANARY_NULLTYPE) {
            bits_set((uint8_t *)(uintptr_t)out.view.validity, at, runs[i].rows);
        }
        at += runs[i].rows;
    }
    gr_column_settle(&out);
    *ret_column = out;
    return GRANARY_OK;
}
