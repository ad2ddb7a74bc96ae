/* Values whose layout is not ours, as columns of their own. Nothing is rounded or cut off: what does not fit is an error. */
#include <stdlib.h>
#include <string.h>

#include "arrow/in/in.h"
#include "base/error.h"
#include "contract/int128.h"
#include "data/arrow/read.h"
#include "data/value/half.h"

#define DAY_US INT64_C(86400000000)

static bool
is_there(const struct in_rows *rows, int64_t i)
{
    return rows->validity == NULL || gr_bit(rows->validity, i);
}

/* Where a value lies. */
static const char *
value_at(const struct in_rows *rows, int64_t i)
{
    return (const char *)rows->array->buffers[1] + (size_t)(rows->at + i) * rows->type.width;
}

static granary_err
fail_row(const struct in_rows *rows, int64_t row, const char *what)
{
    return gr_fail(GRANARY_EINVAL, "column '%s': the %s in row %lld %s", rows->name,
                   granary_dtype_name(rows->type.dtype), (long long)row, what);
}

/* ---- values of a fixed size ---- */

static granary_err
convert_halves(const struct in_rows *rows, void *values)
{
    float *to = values;

    for (int64_t i = 0; i < rows->rows; i++) {
        to[i] = gr_half(value_at(rows, i));
    }
    return GRANARY_OK;
}

/* Of 32 or 64 bits. */
static int64_t
time_at(const struct in_rows *rows, int64_t i)
{
    int64_t value = 0;
    int32_t narrow;

    if (rows->type.width == sizeof narrow) {
        memcpy(&narrow, value_at(rows, i), sizeof narrow);
        return narrow;
    }
    memcpy(&value, value_at(rows, i), sizeof value);
    return value;
}

static granary_err
convert_times(const struct in_rows *rows, void *values)
{
    int64_t *to = values;

    for (int64_t i = 0; i < rows->rows; i++) {
        int64_t value = time_at(rows, i);

        if (!is_there(rows, i)) {
            continue;
        }
        if (value % rows->type.per != 0) {
            return fail_row(rows, i, "is no whole microsecond: cast the column to microseconds");
        }
        if (__builtin_mul_overflow(value / rows->type.per, rows->type.times, &to[i])) {
            return fail_row(rows, i, "is out of range: microseconds since 1970 fit into 64 bits");
        }
        if (rows->type.dtype == GRANARY_TIME && (to[i] < 0 || to[i] >= DAY_US)) {
            return fail_row(rows, i, "is out of range: a day has 24 hours");
        }
    }
    return GRANARY_OK;
}

static granary_err
convert_dates(const struct in_rows *rows, void *values)
{
    int32_t *to = values;

    for (int64_t i = 0; i < rows->rows; i++) {
        int64_t value;

        memcpy(&value, value_at(rows, i), sizeof value);
        if (!is_there(rows, i)) {
            continue;
        }
        if (value % rows->type.per != 0) {
            return fail_row(rows, i, "is no whole day: cast the column to timestamps");
        }
        value /= rows->type.per;
        if (value < INT32_MIN || value > INT32_MAX) {
            return fail_row(rows, i, "is out of range: days since 1970 fit into 32 bits");
        }
        to[i] = (int32_t)value;
    }
    return GRANARY_OK;
}

/* ---- decimals ---- */

static granary_err
fail_digits(const struct in_rows *rows, int64_t row)
{
    return fail_row(rows, row, "has more than 38 digits: round the column");
}

static granary_err
convert_decimals(const struct in_rows *rows, void *values)
{
    for (int64_t i = 0; i < rows->rows; i++) {
        gr_int128 value = 0;

        if (is_there(rows, i) && !arrow_decimal(value_at(rows, i), rows->type.width, &value)) {
            return fail_digits(rows, i);
        }
        memcpy((char *)values + (size_t)i * sizeof value, &value, sizeof value);
    }
    return GRANARY_OK;
}

granary_err
in_check_decimals(const struct in_rows *rows)
{
    for (int64_t i = 0; i < rows->rows; i++) {
        gr_int128 value;

        if (is_there(rows, i) && !arrow_decimal(value_at(rows, i), sizeof value, &value)) {
            return fail_digits(rows, i);
        }
    }
    return GRANARY_OK;
}

/* ---- one of these ---- */

static granary_err
convert_fixed(const struct in_rows *rows, granary_err (*convert)(const struct in_rows *rows, void *values),
              struct gr_column *ret_column)
{
    struct gr_column column;
    granary_err err = rows->array->buffers[1] == NULL
                          ? gr_fail(GRANARY_EINVAL, "column '%s': its values are missing", rows->name)
                          : gr_column_alloc(rows->type.dtype, rows->rows, 0, rows->validity != NULL, &column);

    if (err != GRANARY_OK) {
        return err;
    }
    err = convert(rows, (void *)(uintptr_t)column.view.values);
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    if (rows->validity != NULL) {
        memcpy((void *)(uintptr_t)column.view.validity, rows->validity, (size_t)gr_bitmap_bytes(rows->rows));
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

/* ---- text, by what reads Arrow's files ---- */

static granary_err
text_error(const struct in_rows *rows, granary_err err)
{
    if (err == GRANARY_EFULL) {
        return gr_fail(GRANARY_EINVAL, "column '%s': more than 2 GiB of text in one batch: give it in smaller ones",
                       rows->name);
    }
    return err == GRANARY_ECORRUPT ? GRANARY_EINVAL : err; /* with its message */
}

static struct arrow_piece
piece_of(const struct in_rows *rows)
{
    return (struct arrow_piece){
        .rows = rows->rows,
        .null_count = rows->nulls,
        .validity = rows->validity,
        .validity_size = (uint64_t)gr_bitmap_bytes(rows->rows),
    };
}

static granary_err
convert_large_text(const struct in_rows *rows, struct gr_column *ret_column)
{
    const struct arrow_field field = {.name = rows->name, .dtype = rows->type.dtype, .layout = LAYOUT_LARGE_TEXT};
    struct arrow_piece piece = piece_of(rows);
    int64_t end;

    if (rows->array->buffers[1] == NULL) {
        return gr_fail(GRANARY_EINVAL, "column '%s': its string offsets are missing", rows->name);
    }
    piece.offsets = (const uint8_t *)rows->array->buffers[1] + (size_t)rows->at * sizeof end;
    piece.offsets_size = ((uint64_t)rows->rows + 1) * sizeof end;
    memcpy(&end, piece.offsets + (size_t)rows->rows * sizeof end, sizeof end);
    piece.values = rows->array->buffers[2];
    piece.values_size = end < 0 || piece.values == NULL ? 0 : (uint64_t)end;
    return text_error(rows, arrow_decode(&field, &piece, NULL, ret_column));
}

static granary_err
convert_fixed_text(const struct in_rows *rows, struct gr_column *ret_column)
{
    const struct arrow_field field = {
        .name = rows->name, .dtype = rows->type.dtype, .layout = LAYOUT_FIXED_TEXT, .width = (int32_t)rows->type.width};
    struct arrow_piece piece = piece_of(rows);

    if (rows->array->buffers[1] == NULL && rows->type.width > 0) {
        return gr_fail(GRANARY_EINVAL, "column '%s': its values are missing", rows->name);
    }
    piece.values = (const uint8_t *)value_at(rows, 0);
    piece.values_size = (uint64_t)rows->rows * rows->type.width;
    return text_error(rows, arrow_decode(&field, &piece, NULL, ret_column));
}

/* The buffers that views lead to: behind the views, with their sizes in the last one. */
static granary_err
view_parts(const struct in_rows *rows, struct arrow_part *parts, size_t count)
{
    const struct ArrowArray *array = rows->array;
    const char *sizes = array->buffers[array->n_buffers - 1];

    for (size_t i = 0; i < count; i++) {
        int64_t size = -1;

        if (sizes != NULL) {
            memcpy(&size, sizes + i * sizeof size, sizeof size);
        }
        if (size < 0 || (size > 0 && array->buffers[2 + i] == NULL)) {
            return gr_fail(GRANARY_EINVAL, "column '%s': buffer %zu of its text is missing, or of no known size",
                           rows->name, i);
        }
        parts[i] = (struct arrow_part){array->buffers[2 + i], (uint64_t)size};
    }
    return GRANARY_OK;
}

static granary_err
convert_views(const struct in_rows *rows, struct gr_column *ret_column)
{
    const struct arrow_field field = {.name = rows->name, .dtype = rows->type.dtype, .layout = LAYOUT_TEXT_VIEWS};
    struct arrow_piece piece = piece_of(rows);
    struct arrow_part *parts;
    granary_err err;

    if (rows->array->buffers[1] == NULL) {
        return gr_fail(GRANARY_EINVAL, "column '%s': its views are missing", rows->name);
    }
    piece.values = (const uint8_t *)rows->array->buffers[1] + (size_t)rows->at * 16;
    piece.values_size = (uint64_t)rows->rows * 16;
    piece.part_count = (size_t)rows->array->n_buffers - 3;
    piece.parts = parts = calloc(piece.part_count + 1, sizeof *parts);
    if (parts == NULL) {
        return gr_no_memory("a column");
    }
    err = view_parts(rows, parts, piece.part_count);
    err = err == GRANARY_OK ? text_error(rows, arrow_decode(&field, &piece, NULL, ret_column)) : err;
    free(parts);
    return err;
}

granary_err
in_convert(const struct in_rows *rows, struct gr_column *ret_column)
{
    switch (rows->type.layout) {
    case IN_HALF:
        return convert_fixed(rows, convert_halves, ret_column);
    case IN_DATE_MS:
        return convert_fixed(rows, convert_dates, ret_column);
    case IN_TIME:
        return convert_fixed(rows, convert_times, ret_column);
    case IN_DECIMAL:
        return convert_fixed(rows, convert_decimals, ret_column);
    case IN_LARGE_TEXT:
        return convert_large_text(rows, ret_column);
    case IN_FIXED_TEXT:
        return convert_fixed_text(rows, ret_column);
    default:
        return convert_views(rows, ret_column);
    }
}
