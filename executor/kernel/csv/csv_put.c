/*
 * Fields become values of a column, a block at a time: first by loops that know what most fields are like
 * (csv_digits.h), and one by one by the parsers that know everything (csv_values.h) where those say no.
 */
#include "kernel/csv/csv_put.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/dtypes.h"
#include "data/value/bytes.h"
#include "data/value/calendar.h"
#include "graph/dtype_class.h"
#include "kernel/csv/csv_digits.h"
#include "kernel/csv/csv_style.h"
#include "kernel/csv/csv_values.h"

/* ---- one value, by the parsers that know everything ---- */

bool
csv_put_value(const struct csv_builder *builder, int64_t row, const char *bytes, size_t size)
{
    int64_t integer;
    bool truth;
    bool told;

    bytes = gr_trim_spaces(bytes, &size);
    switch (gr_dtype_kind(builder->dtype)) {
#define PUT(name, type, ...)                                                                                           \
    case GRANARY_##name:                                                                                               \
        if (GRANARY_##name == GRANARY_UINT64) {                                                                        \
            return csv_parse_uint64(bytes, size, (uint64_t *)builder->values + row);                                   \
        }                                                                                                              \
        if (!csv_parse_int64(bytes, size, &integer) || !gr_dtype_fits(GRANARY_##name, integer)) {                      \
            return false;                                                                                              \
        }                                                                                                              \
        ((type *)builder->values)[row] = (type)integer;                                                                \
        return true;
        GR_INTEGER_DTYPES(PUT)
#undef PUT
    case GRANARY_FLOAT32:
        return csv_parse_float32(bytes, size, (float *)builder->values + row);
    case GRANARY_FLOAT64:
        return csv_parse_float64(bytes, size, (double *)builder->values + row);
    case GRANARY_DECIMAL:
        return csv_parse_decimal(bytes, size, gr_dtype_scale(builder->dtype), (gr_int128 *)builder->values + row);
    case GRANARY_DATE:
        return gr_date_parse(bytes, size, (int32_t *)builder->values + row);
    case GRANARY_TIMESTAMP:
        return gr_timestamp_parse(bytes, size, (int64_t *)builder->values + row);
    case GRANARY_TIMESTAMPTZ:
        return gr_instant_parse(bytes, size, (int64_t *)builder->values + row, &told);
    case GRANARY_TIME:
        return gr_time_parse(bytes, size, (int64_t *)builder->values + row, &told);
    case GRANARY_DURATION:
        return gr_span_parse(bytes, size, (int64_t *)builder->values + row);
    case GRANARY_BOOL:
        if (!csv_parse_bool(bytes, size, &truth)) {
            return false;
        }
        if (truth) {
            gr_bit_set(builder->values, row);
        }
        return true;
    case GRANARY_NULLTYPE:
    case GRANARY_STRING:
    case GRANARY_BINARY:
    case GRANARY_COMPLEX64:
    case GRANARY_COMPLEX128:
    case GRANARY_LIST:
        break;
    }
    return false;
}

granary_err
csv_put_missing(const struct csv_builder *builder, int64_t row)
{
    size_t size = gr_dtype_size(builder->dtype);

    csv_put_null(builder, row);
    if (builder->strings != NULL) {
        return csv_strings_add(builder->strings, &(struct csv_string){.bytes = NULL}, 1);
    }
    memset((char *)builder->values + (size_t)row * size, 0, size);
    return GRANARY_OK;
}

/* ---- a block: first what most fields are like ---- */

static inline bool
nothing_fast(const char *bytes, size_t size, const void *value)
{
    (void)bytes;
    (void)size;
    (void)value;
    return false;
}

static inline bool
fast_int32(const char *bytes, size_t size, int32_t *value)
{
    int64_t wide;

    if (!csv_fast_int64(bytes, size, &wide) || wide < INT32_MIN || wide > INT32_MAX) {
        return false;
    }
    *value = (int32_t)wide;
    return true;
}

/* Loops over the rows of a block; fast: false where csv_put_value() is to be asked. */
#define PUT_LOOP(name, type, fast)                                                                                     \
    static bool name(const struct csv_text *text, const struct csv_builder *builder, const struct csv_block *block,    \
                     int64_t at)                                                                                       \
    {                                                                                                                  \
        for (int64_t row = 0; row < block->rows; row++) {                                                              \
            type *value = (type *)builder->values + at + row;                                                          \
            size_t size;                                                                                               \
            const char *bytes = csv_block_field(block, row, builder->position, &size);                                 \
                                                                                                                       \
            if (csv_is_null(text, bytes, size)) {                                                                      \
                csv_put_null(builder, at + row);                                                                       \
                *value = 0;                                                                                            \
            } else if (!fast(bytes, size, value) && !csv_put_value(builder, at + row, bytes, size)) {                  \
                return false;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        return true;                                                                                                   \
    }
PUT_LOOP(put_1, uint8_t, nothing_fast)
PUT_LOOP(put_2, uint16_t, nothing_fast)
PUT_LOOP(put_4, uint32_t, nothing_fast)
PUT_LOOP(put_8, uint64_t, nothing_fast)
PUT_LOOP(put_int32, int32_t, fast_int32)
PUT_LOOP(put_int64, int64_t, csv_fast_int64)
PUT_LOOP(put_float64, double, csv_fast_float64)

static bool
put_bools(const struct csv_text *text, const struct csv_builder *builder, const struct csv_block *block, int64_t at)
{
    for (int64_t row = 0; row < block->rows; row++) {
        size_t size;
        const char *bytes = csv_block_field(block, row, builder->position, &size);

        if (csv_is_null(text, bytes, size)) {
            csv_put_null(builder, at + row);
        } else if (!csv_put_value(builder, at + row, bytes, size)) {
            return false;
        }
    }
    return true;
}

static bool
put_decimals(const struct csv_text *text, const struct csv_builder *builder, const struct csv_block *block, int64_t at)
{
    size_t scale = (size_t)gr_dtype_scale(builder->dtype);

    for (int64_t row = 0; row < block->rows; row++) {
        gr_int128 *value = (gr_int128 *)builder->values + at + row;
        size_t size;
        const char *bytes = csv_block_field(block, row, builder->position, &size);
        int64_t scaled;

        if (csv_is_null(text, bytes, size)) {
            csv_put_null(builder, at + row);
            *value = 0;
        } else if (csv_fast_decimal(bytes, size, scale, &scaled)) {
            *value = scaled;
        } else if (!csv_put_value(builder, at + row, bytes, size)) {
            return false;
        }
    }
    return true;
}

static bool
put_styled(const struct csv_text *text, const struct csv_builder *builder, const struct csv_block *block, int64_t at)
{
    for (int64_t row = 0; row < block->rows; row++) {
        size_t size;
        const char *bytes = csv_block_field(block, row, builder->position, &size);

        if (csv_is_null(text, bytes, size)) {
            (void)csv_put_missing(builder, at + row); /* it fails for strings alone */
        } else if (!csv_style_put(&text->style, builder, at + row, bytes, size)) {
            return false;
        }
    }
    return true;
}

bool
csv_put_block(const struct csv_text *text, const struct csv_builder *builder, const struct csv_block *block, int64_t at)
{
    if (text->style.is_other) {
        return put_styled(text, builder, block, at);
    }
    switch ((int)gr_dtype_kind(builder->dtype)) {
    case GRANARY_BOOL:
        return put_bools(text, builder, block, at);
    case GRANARY_INT32:
        return put_int32(text, builder, block, at);
    case GRANARY_INT64:
        return put_int64(text, builder, block, at);
    case GRANARY_FLOAT64:
        return put_float64(text, builder, block, at);
    case GRANARY_DECIMAL:
        return put_decimals(text, builder, block, at);
    default:
        switch (gr_dtype_size(builder->dtype)) {
        case 1:
            return put_1(text, builder, block, at);
        case 2:
            return put_2(text, builder, block, at);
        case 4:
            return put_4(text, builder, block, at);
        case 8:
            return put_8(text, builder, block, at);
        default:
            return false; /* there are no others */
        }
    }
}

/* ---- columns ---- */

granary_err
csv_builder_init(struct csv_builder *builder, int64_t rows_max, size_t text_guess)
{
    size_t value_bytes = gr_dtype_size(builder->dtype) * (size_t)rows_max;
    size_t bitmap_bytes = (size_t)gr_bitmap_bytes(rows_max);
    granary_err err = GRANARY_OK;

    builder->validity = gr_data_alloc(bitmap_bytes);
    if (builder->validity != NULL) {
        memset(builder->validity, 0xff, bitmap_bytes);
    }
    if (gr_dtype_is_text(builder->dtype)) {
        err = csv_strings_create(rows_max, text_guess, &builder->strings);
    } else if (builder->dtype == GRANARY_BOOL) {
        builder->values = gr_data_alloc(bitmap_bytes);
    } else {
        builder->values = aligned_alloc(64, (value_bytes + 64) / 64 * 64); /* every row's is set */
    }
    if (err != GRANARY_OK || builder->validity == NULL || (builder->strings == NULL && builder->values == NULL)) {
        return gr_fail(GRANARY_ENOMEM, "no memory for column '%s' (%lld rows)", builder->name, (long long)rows_max);
    }
    return GRANARY_OK;
}

void
csv_builder_fini(struct csv_builder *builder)
{
    free(builder->values);
    free(builder->validity);
    csv_strings_destroy(builder->strings);
}

/* The bytes that texts stand for, as a column of its own; *takes* the texts. */
static granary_err
texts_as_bytes(struct gr_column *texts, struct gr_column *ret_column)
{
    const granary_column *view = &texts->view;
    struct gr_column column = {.owned = false};
    int32_t *ends = malloc((size_t)(view->rows + 1) * sizeof *ends);
    struct gr_buf bytes = {0};
    granary_err err = ends == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (int64_t i = 0; err == GRANARY_OK && i < view->rows; i++) {
        size_t size = 0;
        const char *text = gr_is_null(view, i) ? "" : gr_text_at(view, i, &size);

        if (!gr_bytes_parse(text, size, &bytes)) {
            err = !gr_buf_ok(&bytes) ? gr_fail(GRANARY_ENOMEM, "out of memory")
                                     : gr_fail(GRANARY_ETYPE, "'%.*s%s' is not binary: \\x and hexadecimal digits",
                                               (int)(size > 60 ? 60 : size), text, size > 60 ? "..." : "");
        }
        ends[i] = (int32_t)bytes.size; /* there are fewer than of text */
    }
    err = err == GRANARY_OK
              ? gr_column_alloc(GRANARY_BINARY, view->rows, (int64_t)bytes.size, view->validity != NULL, &column)
              : err;
    if (err == GRANARY_OK) {
        memcpy((int32_t *)(uintptr_t)column.view.offsets + 1, ends, (size_t)view->rows * sizeof *ends);
        if (bytes.size > 0) {
            memcpy((void *)(uintptr_t)column.view.values, bytes.bytes, bytes.size);
        }
        if (view->validity != NULL) {
            memcpy((void *)(uintptr_t)column.view.validity, view->validity, (size_t)gr_bitmap_bytes(view->rows));
        }
        gr_column_finish(&column);
        *ret_column = column;
    }
    gr_buf_free(&bytes);
    free(ends);
    gr_column_free(texts);
    return err;
}

granary_err
csv_builder_finish(struct csv_builder *builder, int64_t rows, struct gr_column *ret_column)
{
    uint8_t *validity = builder->validity;

    builder->validity = NULL;
    if (builder->strings != NULL) {
        struct gr_column texts;
        granary_err err = csv_strings_finish(builder->strings, validity, &texts);

        if (err != GRANARY_OK || builder->dtype == GRANARY_STRING) {
            *ret_column = texts;
            return err;
        }
        return texts_as_bytes(&texts, ret_column);
    }
    *ret_column = (struct gr_column){
        .owned = true,
        .view = {.dtype = builder->dtype, .rows = rows, .validity = validity, .values = builder->values},
    };
    builder->values = NULL;
    gr_column_finish(ret_column);
    return GRANARY_OK;
}

granary_err
csv_builders_finish(struct csv_builder *builders, size_t count, int64_t rows, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(count, rows);
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        struct gr_column column;

        err = csv_builder_finish(&builders[i], rows, &column);
        err = err == GRANARY_OK ? gr_frame_set(frame, i, builders[i].name, &column)
                                : gr_fail_in(err, "column '%s'", builders[i].name);
    }
    return gr_frame_give(frame, err, ret_frame);
}
