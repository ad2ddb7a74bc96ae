#include "frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "data/arrow/arrow.h"

static struct gr_column
column_of(granary_dtype dtype, const char *there, int64_t rows, int64_t text_bytes)
{
    struct gr_column column;

    assert_int_equal(gr_column_alloc(dtype, rows, text_bytes, there != NULL, &column), GRANARY_OK);
    for (int64_t i = 0; there != NULL && i < rows && column.view.validity != NULL; i++) {
        if (there[i] == '1') {
            gr_bit_set((uint8_t *)(uintptr_t)column.view.validity, i);
        }
    }
    return column;
}

struct gr_column
others(granary_dtype dtype, const int64_t *values, const char *there, int64_t rows)
{
    struct gr_column column = column_of(dtype, there, rows, 0);
    void *out = (void *)(uintptr_t)column.view.values;

    for (int64_t i = 0; i < rows && dtype != GRANARY_NULLTYPE; i++) {
        if (dtype == GRANARY_FLOAT32) {
            ((float *)out)[i] = (float)values[i];
        } else if (gr_dtype_size(dtype) == 4) {
            ((int32_t *)out)[i] = (int32_t)values[i];
        } else {
            ((int64_t *)out)[i] = values[i];
        }
    }
    gr_column_finish(&column);
    return column;
}

struct gr_column
ints(const int64_t *values, const char *there, int64_t rows)
{
    return others(GRANARY_INT64, values, there, rows);
}

struct gr_column
reals(const double *values, const char *there, int64_t rows)
{
    struct gr_column column = column_of(GRANARY_FLOAT64, there, rows, 0);

    memcpy((void *)(uintptr_t)column.view.values, values, (size_t)rows * sizeof *values);
    gr_column_finish(&column);
    return column;
}

struct gr_column
bools(const char *values, const char *there, int64_t rows)
{
    struct gr_column column = column_of(GRANARY_BOOL, there, rows, 0);

    for (int64_t i = 0; i < rows; i++) {
        if (values[i] == '1') {
            gr_bit_set((uint8_t *)(uintptr_t)column.view.values, i);
        }
    }
    gr_column_finish(&column);
    return column;
}

struct gr_column
texts(const char *const *values, const char *there, int64_t rows)
{
    struct gr_column column;
    int64_t bytes = 0;
    int32_t at = 0;

    for (int64_t i = 0; i < rows; i++) {
        bytes += (int64_t)strlen(values[i]);
    }
    column = column_of(GRANARY_STRING, there, rows, bytes);
    for (int64_t i = 0; i < rows; i++) {
        memcpy((char *)(uintptr_t)column.view.values + at, values[i], strlen(values[i]));
        at += (int32_t)strlen(values[i]);
        ((int32_t *)(uintptr_t)column.view.offsets)[i + 1] = at;
    }
    gr_column_finish(&column);
    return column;
}

granary_frame *
frame_of(size_t count, const char *const *names, struct gr_column *columns)
{
    granary_frame *frame = gr_frame_create(count, count > 0 ? columns[0].view.rows : 0);

    assert_non_null(frame);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(gr_frame_set(frame, i, names[i], &columns[i]), GRANARY_OK);
    }
    return frame;
}

granary_frame *
frame_of_everything(void)
{
    static const char *const names[] = {"n", "flag", "int", "real", "Größe €", "day", "at", "int32", "f32", "", "full"};
    static const int64_t integers[] = {INT64_MIN, -1, 99, 0, INT64_MAX};
    static const double numbers[] = {0.1, -1e300, 99, 0.0, 5e-324};
    static const char *const words[] = {"naïve", "", "under a null", "a,\"b\"\n", "日本語"};
    static const int64_t days[] = {-719162, -1, 99, 0, 2932896};
    static const int64_t micros[] = {-1, 0, 99, INT64_C(1577836800123456), INT64_C(253402300799999999)};
    static const int64_t narrow[] = {INT32_MIN, -1, 99, 0, INT32_MAX};
    struct gr_column columns[] = {
        others(GRANARY_NULLTYPE, NULL, NULL, 5),
        bools("10101", "11011", 5),
        ints(integers, "11011", 5),
        reals(numbers, "11011", 5),
        texts(words, "11011", 5),
        others(GRANARY_DATE, days, "11011", 5),
        others(GRANARY_TIMESTAMP, micros, "11011", 5),
        others(GRANARY_INT32, narrow, "11011", 5),
        others(GRANARY_FLOAT32, narrow, "11011", 5),
        texts(words, "00000", 5),
        ints(narrow, NULL, 5),
    };

    return frame_of(sizeof columns / sizeof columns[0], names, columns);
}

static void
assert_columns_equal(const granary_column *a, const granary_column *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->null_count, b->null_count);
    for (int64_t i = 0; i < a->rows && a->dtype != GRANARY_NULLTYPE; i++) {
        assert_int_equal(gr_is_null(a, i), gr_is_null(b, i));
        if (a->dtype == GRANARY_BOOL) {
            assert_int_equal(gr_bit(a->values, i), gr_bit(b->values, i));
        } else if (a->dtype == GRANARY_STRING && gr_is_null(a, i)) {
            continue; /* the code 0, or no text */
        } else if (a->dtype == GRANARY_STRING) {
            size_t length_a, length_b;
            const char *text_a = gr_text_at(a, i, &length_a);
            const char *text_b = gr_text_at(b, i, &length_b);

            assert_int_equal(length_a, length_b);
            if (length_a > 0) {
                assert_memory_equal(text_a, text_b, length_a);
            }
        } else {
            size_t size = gr_dtype_size(a->dtype);

            assert_memory_equal((const char *)a->values + (size_t)i * size, (const char *)b->values + (size_t)i * size,
                                size);
        }
    }
}

void
assert_frames_equal(const granary_frame *a, const granary_frame *b)
{
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_columns_equal(&a->columns[i].view, &b->columns[i].view);
    }
}

int64_t
int_at(const granary_frame *frame, const char *name, int64_t row)
{
    const granary_column *column = granary_frame_column_named(frame, name);

    assert_non_null(column);
    assert_false(gr_is_null(column, row));
    if (column->dtype == GRANARY_BOOL) {
        return gr_bit(column->values, row);
    }
    return gr_dtype_size(column->dtype) == 4 ? ((const int32_t *)column->values)[row]
                                             : ((const int64_t *)column->values)[row];
}

const char *
text_at(const granary_frame *frame, const char *name, int64_t row)
{
    static char text[256];
    const granary_column *column = granary_frame_column_named(frame, name);
    struct gr_buf buf = {0};

    assert_non_null(column);
    gr_value_format(column, row, &buf);
    (void)snprintf(text, sizeof text, "%s", buf.bytes == NULL ? "" : buf.bytes);
    gr_buf_free(&buf);
    return text;
}

struct object
object_of(const granary_frame *frame)
{
    struct object object;

    assert_int_equal(gr_arrow_measure(frame, &object.data_size, &object.meta_size), GRANARY_OK);
    object.data = gr_data_alloc(object.data_size);
    object.meta = gr_data_alloc(object.meta_size);
    assert_non_null(object.data);
    assert_non_null(object.meta);
    /* What a recycled object's memory may hold must not show. */
    memset(object.data, 0xa5, object.data_size);
    memset(object.meta, 0xa5, object.meta_size);
    gr_arrow_write(frame, object.data, object.meta);
    return object;
}

void
object_free(struct object *object)
{
    free(object->data);
    free(object->meta);
}
