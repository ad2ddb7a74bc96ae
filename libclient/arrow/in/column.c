/* Columns of arrays whose layout is ours: values stay where they are. */
#include <stdlib.h>
#include <string.h>

#include "arrow/in/in.h"
#include "base/error.h"
#include "data/value/bits.h"

/* Rows of one array: so that sizes in bytes are numbers. */
#define ROWS_MOST (INT64_MAX / 64)

static const _Alignas(64) char nothing[64];

/* ---- what is kept ---- */

struct in_kept *
in_keep(struct in_kept **kept, struct gr_column *column)
{
    struct in_kept *one = calloc(1, sizeof *one);

    if (one == NULL) {
        gr_column_free(column);
        (void)gr_no_memory("a column");
        return NULL;
    }
    one->next = *kept;
    one->column = *column;
    *kept = one;
    return one;
}

void
in_kept_free(struct in_kept *kept)
{
    while (kept != NULL) {
        struct in_kept *next = kept->next;

        gr_column_free(&kept->column);
        free(kept);
        kept = next;
    }
}

void *
in_keep_bytes(struct in_kept **kept, size_t size)
{
    struct gr_column column = {.view = {.values = gr_data_alloc(size)}, .owned = true};

    if (column.view.values == NULL) {
        (void)gr_no_memory("a column");
        return NULL;
    }
    return in_keep(kept, &column) == NULL ? NULL : (void *)(uintptr_t)column.view.values;
}

granary_err
in_bits(struct in_kept **kept, const uint8_t *bits, int64_t at, int64_t rows, const uint8_t **ret_bits)
{
    uint8_t *copy;

    if (at % 8 == 0) {
        *ret_bits = bits + at / 8;
        return GRANARY_OK;
    }
    copy = in_keep_bytes(kept, (size_t)gr_bitmap_bytes(rows));
    if (copy == NULL) {
        return GRANARY_ENOMEM;
    }
    bits_copy(copy, 0, bits, at, rows);
    *ret_bits = copy;
    return GRANARY_OK;
}

/* ---- what an array says of itself ---- */

granary_err
in_fail(const char *name, const char *what)
{
    return gr_fail(GRANARY_EINVAL, "column '%s': %s", name, what);
}

/* That there are such rows, and buffers for them. */
static granary_err
check_array(const struct in_rows *rows, int64_t from)
{
    const struct ArrowArray *array = rows->array;

    if (array->release == NULL) {
        return in_fail(rows->name, "its array was released already");
    }
    if (array->length < 0 || array->offset < 0 || array->length > ROWS_MOST || array->offset > ROWS_MOST) {
        return gr_fail(GRANARY_EINVAL, "column '%s': its array has %lld rows from row %lld", rows->name,
                       (long long)array->length, (long long)array->offset);
    }
    if (from > array->length || rows->rows > array->length - from) {
        return gr_fail(GRANARY_EINVAL, "column '%s' has %lld rows, and the record batch ends at %lld", rows->name,
                       (long long)array->length, (long long)(from + rows->rows));
    }
    if (array->n_children != 0 && !in_is_list(rows->type.layout)) {
        return in_fail(rows->name, "its array has children, which none of its type has");
    }
    if (array->null_count < -1 || array->null_count > array->length) {
        return gr_fail(GRANARY_EINVAL, "column '%s' has %lld nulls in %lld rows", rows->name,
                       (long long)array->null_count, (long long)array->length);
    }
    if (rows->rows > 0 && (array->n_buffers < rows->type.buffers || array->n_buffers > INT32_MAX ||
                           (array->buffers == NULL && rows->type.buffers > 0))) {
        return gr_fail(GRANARY_EINVAL, "column '%s' has %lld buffers, %lld are needed", rows->name,
                       (long long)array->n_buffers, (long long)rows->type.buffers);
    }
    return GRANARY_OK;
}

/* Which rows are null. */
static granary_err
find_nulls(struct in_kept **kept, struct in_rows *rows)
{
    const struct ArrowArray *array = rows->array;
    const uint8_t *bits = array->null_count == 0 ? NULL : array->buffers[0];
    granary_err err;

    if (bits == NULL) {
        return array->null_count > 0 ? in_fail(rows->name, "it has nulls, and no bitmap that tells which") : GRANARY_OK;
    }
    err = in_bits(kept, bits, rows->at, rows->rows, &bits);
    if (err == GRANARY_OK) {
        rows->nulls = rows->rows - bits_count(bits, rows->rows);
        rows->validity = rows->nulls > 0 ? bits : NULL;
    }
    return err;
}

/* ---- layouts that are ours ---- */

/* size bytes from buffer `number` on, `width` each; copied when they are not aligned. */
static granary_err
values_of(struct in_kept **kept, const struct in_rows *rows, int number, size_t width, int64_t count,
          const void **ret_values)
{
    const char *values = rows->array->buffers[number];
    char *copy;

    if (values == NULL) {
        return in_fail(rows->name, number == 1 ? "its values are missing" : "its text is missing");
    }
    values += (size_t)rows->at * width;
    *ret_values = values;
    if ((uintptr_t)values % width == 0) {
        return GRANARY_OK;
    }
    copy = in_keep_bytes(kept, (size_t)count * width);
    if (copy == NULL) {
        return GRANARY_ENOMEM;
    }
    memcpy(copy, values, (size_t)count * width);
    *ret_values = copy;
    return GRANARY_OK;
}

static granary_err
fixed_column(struct in_kept **kept, const struct in_rows *rows, granary_column *column)
{
    granary_err err = values_of(kept, rows, 1, rows->type.width, rows->rows, &column->values);

    return err == GRANARY_OK && gr_dtype_kind(rows->type.dtype) == GRANARY_DECIMAL ? in_check_decimals(rows) : err;
}

static granary_err
bool_column(struct in_kept **kept, const struct in_rows *rows, granary_column *column)
{
    const uint8_t *bits = rows->array->buffers[1];
    granary_err err =
        bits == NULL ? in_fail(rows->name, "its values are missing") : in_bits(kept, bits, rows->at, rows->rows, &bits);

    column->values = bits;
    return err;
}

static granary_err
text_column(struct in_kept **kept, const struct in_rows *rows, granary_column *column)
{
    const void *offsets = NULL;
    granary_err err = values_of(kept, rows, 1, sizeof(int32_t), rows->rows + 1, &offsets);

    if (err == GRANARY_OK && (((const int32_t *)offsets)[0] < 0 || !gr_offsets_ascend(offsets, rows->rows))) {
        err = in_fail(rows->name, "its string offsets begin below 0, or go backwards");
    }
    column->offsets = offsets;
    column->values = rows->array->buffers[2];
    if (err == GRANARY_OK && column->values == NULL) {
        column->values = nothing;
        err = column->offsets[rows->rows] > 0 ? in_fail(rows->name, "its text is missing") : GRANARY_OK;
    }
    return err;
}

static granary_err
converted_column(struct in_kept **kept, const struct in_rows *rows, const struct ArrowSchema *schema,
                 granary_column *column)
{
    struct gr_column converted;
    granary_err err =
        in_is_list(rows->type.layout) ? in_lists(kept, rows, schema, &converted) : in_convert(rows, &converted);

    if (err != GRANARY_OK) {
        return err;
    }
    if (in_keep(kept, &converted) == NULL) {
        return GRANARY_ENOMEM;
    }
    *column = converted.view;
    return GRANARY_OK;
}

/* Rows of a type without a dictionary. */
static granary_err
plain_column(struct in_kept **kept, const struct in_rows *rows, const struct ArrowSchema *schema,
             granary_column *column)
{
    column->validity = rows->validity;
    column->null_count = rows->nulls;
    switch (rows->type.layout) {
    case IN_BOOL:
        return bool_column(kept, rows, column);
    case IN_FIXED:
        return fixed_column(kept, rows, column);
    case IN_TEXT:
        return text_column(kept, rows, column);
    default:
        return converted_column(kept, rows, schema, column);
    }
}

/* ---- any ---- */

/* The type of the column; that of the codes goes to the rows when it has a dictionary. */
static granary_err
column_type(const char *name, const struct ArrowSchema *schema, struct in_type *ret_type, struct in_type *ret_codes,
            bool *ret_signed)
{
    char text[48];

    if (schema == NULL || schema->release == NULL) {
        return in_fail(name, "its schema is missing, or was released already");
    }
    if (schema->dictionary == NULL) {
        return in_type_parse(name, schema->format, ret_type);
    }
    *ret_codes = (struct in_type){.layout = IN_FIXED, .dtype = GRANARY_INT32, .buffers = 2};
    if (schema->format == NULL || !in_type_integer(schema->format, &ret_codes->width, ret_signed)) {
        return gr_fail(GRANARY_EINVAL, "column '%s': codes of a dictionary have the format '%s', which is no integer",
                       name, in_type_shown(schema->format == NULL ? "" : schema->format, text));
    }
    if (schema->dictionary->dictionary != NULL) {
        return gr_fail(GRANARY_EUNSUPPORTED, "column '%s': its dictionary has a dictionary: decode it", name);
    }
    return column_type(name, schema->dictionary, ret_type, ret_codes, ret_signed);
}

granary_err
in_column_empty(struct in_kept **kept, const char *name, const struct ArrowSchema *schema, granary_column *ret_column)
{
    struct in_type type;
    struct in_type codes;
    bool is_signed;
    granary_err err = column_type(name, schema, &type, &codes, &is_signed);

    if (err == GRANARY_OK) {
        *ret_column = (granary_column){.name = name, .dtype = type.dtype, .values = nothing};
        ret_column->offsets = gr_dtype_is_text(type.dtype) ? (const int32_t *)(const void *)nothing : NULL;
    }
    if (err == GRANARY_OK && in_is_list(type.layout)) {
        struct gr_column lists;

        err = in_list_dtype(name, schema, &ret_column->dtype);
        if (err == GRANARY_OK && kept != NULL) {
            err = gr_column_alloc(ret_column->dtype, 0, 0, false, &lists);
            err = err == GRANARY_OK && in_keep(kept, &lists) == NULL ? GRANARY_ENOMEM : err;
            *ret_column = err == GRANARY_OK ? (*kept)->column.view : *ret_column;
            ret_column->name = name;
        }
    }
    return err;
}

granary_err
in_column(struct in_kept **kept, const char *name, const struct ArrowSchema *schema, const struct ArrowArray *array,
          int64_t from, int64_t rows, granary_column *ret_column)
{
    struct in_rows in = {.name = name, .array = array, .rows = rows};
    granary_column column = {.name = name, .rows = rows};
    struct in_type codes;
    bool is_signed = false;
    granary_err err = column_type(name, schema, &in.type, &codes, &is_signed);

    if (err == GRANARY_OK && array == NULL) {
        err = in_fail(name, "its array is missing");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    column.dtype = in.type.dtype;
    in.type = schema->dictionary != NULL ? codes : in.type;
    err = check_array(&in, from);
    if (err != GRANARY_OK || rows == 0) {
        return err == GRANARY_OK ? in_column_empty(kept, name, schema, ret_column) : err;
    }
    if (in.type.layout == IN_NULL) {
        column.null_count = rows;
    } else {
        in.at = array->offset + from;
        err = find_nulls(kept, &in);
        if (err == GRANARY_OK) {
            err = schema->dictionary != NULL ? in_coded(kept, &in, is_signed, schema->dictionary, &column)
                                             : plain_column(kept, &in, schema, &column);
        }
    }
    if (err == GRANARY_OK) {
        column.name = name;
        *ret_column = column;
    }
    return err;
}
