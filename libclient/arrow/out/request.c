/*
 * Columns as a consumer asks for them: the same values in another layout of Arrow's. A number is only ever widened, so that every
 * value is kept. What is not possible is left as it is, as Arrow's PyCapsule interface wants it.
 */
#include <string.h>

#include "arrow/out/out.h"
#include "base/error.h"

/* ---- numbers that hold all values of others ---- */

#define WIDENED(X)                                                                                                     \
    X(INT8, int8_t, INT16, int16_t)                                                                                    \
    X(INT8, int8_t, INT32, int32_t)                                                                                    \
    X(INT8, int8_t, INT64, int64_t)                                                                                    \
    X(INT8, int8_t, FLOAT32, float)                                                                                    \
    X(INT8, int8_t, FLOAT64, double)                                                                                   \
    X(UINT8, uint8_t, INT16, int16_t)                                                                                  \
    X(UINT8, uint8_t, INT32, int32_t)                                                                                  \
    X(UINT8, uint8_t, INT64, int64_t)                                                                                  \
    X(UINT8, uint8_t, UINT16, uint16_t)                                                                                \
    X(UINT8, uint8_t, UINT32, uint32_t)                                                                                \
    X(UINT8, uint8_t, UINT64, uint64_t)                                                                                \
    X(UINT8, uint8_t, FLOAT32, float)                                                                                  \
    X(UINT8, uint8_t, FLOAT64, double)                                                                                 \
    X(INT16, int16_t, INT32, int32_t)                                                                                  \
    X(INT16, int16_t, INT64, int64_t)                                                                                  \
    X(INT16, int16_t, FLOAT32, float)                                                                                  \
    X(INT16, int16_t, FLOAT64, double)                                                                                 \
    X(UINT16, uint16_t, INT32, int32_t)                                                                                \
    X(UINT16, uint16_t, INT64, int64_t)                                                                                \
    X(UINT16, uint16_t, UINT32, uint32_t)                                                                              \
    X(UINT16, uint16_t, UINT64, uint64_t)                                                                              \
    X(UINT16, uint16_t, FLOAT32, float)                                                                                \
    X(UINT16, uint16_t, FLOAT64, double)                                                                               \
    X(INT32, int32_t, INT64, int64_t)                                                                                  \
    X(INT32, int32_t, FLOAT64, double)                                                                                 \
    X(UINT32, uint32_t, INT64, int64_t)                                                                                \
    X(UINT32, uint32_t, UINT64, uint64_t)                                                                              \
    X(UINT32, uint32_t, FLOAT64, double)                                                                               \
    X(FLOAT32, float, FLOAT64, double)

#define FUNCTION(FROM, from, TO, to)                                                                                   \
    static void widen_##FROM##_##TO(const void *values, int64_t rows, void *ret_values)                                \
    {                                                                                                                  \
        const from *given = values;                                                                                    \
        to *made = ret_values;                                                                                         \
                                                                                                                       \
        for (int64_t i = 0; i < rows; i++) {                                                                           \
            made[i] = (to)given[i];                                                                                    \
        }                                                                                                              \
    }
WIDENED(FUNCTION)

typedef void widen_fn(const void *values, int64_t rows, void *ret_values);

#define ROW(FROM, from, TO, to) {GRANARY_##FROM, GRANARY_##TO, widen_##FROM##_##TO},
static const struct {
    granary_dtype from;
    granary_dtype to;
    widen_fn *widen;
} widened[] = {WIDENED(ROW)};

/* NULL: some value would be lost, or they are no numbers */
static widen_fn *
widen_of(granary_dtype from, granary_dtype to)
{
    for (size_t i = 0; i < sizeof widened / sizeof widened[0]; i++) {
        if (widened[i].from == from && widened[i].to == to) {
            return widened[i].widen;
        }
    }
    return NULL;
}

granary_err
out_widen(const granary_column *column, granary_dtype to, struct gr_column *ret_column)
{
    struct gr_column made = {.owned = false};
    granary_err err = gr_column_alloc(to, column->rows, 0, column->validity != NULL, &made);

    if (err != GRANARY_OK) {
        return err;
    }
    if (column->rows > 0) {
        widen_of(column->dtype, to)(column->values, column->rows, (void *)(uintptr_t)made.view.values);
    }
    if (column->validity != NULL) {
        memcpy((void *)(uintptr_t)made.view.validity, column->validity, (size_t)gr_bitmap_bytes(column->rows));
    }
    gr_column_finish(&made);
    *ret_column = made;
    return GRANARY_OK;
}

/* ---- what is asked for ---- */

/* Of any layout: a consumer of one takes the others. */
static bool
is_text(granary_dtype dtype, const char *format)
{
    static const char *const formats[2][3] = {{"u", "U", "vu"}, {"z", "Z", "vz"}};
    bool found = false;

    for (size_t i = 0; i < 3; i++) {
        found = found || strcmp(format, formats[dtype == GRANARY_BINARY][i]) == 0;
    }
    return found;
}

static void
request(struct out_field *field, const struct ArrowSchema *asked)
{
    granary_dtype dtype;

    if (gr_dtype_is_text(field->dtype)) {
        if (asked->dictionary != NULL && asked->dictionary->format != NULL &&
            is_text(field->dtype, asked->dictionary->format)) {
            field->is_encoded = true;
        } else if (asked->dictionary == NULL && is_text(field->dtype, asked->format)) {
            field->is_encoded = false;
        }
    } else if (asked->dictionary == NULL && out_dtype_of(asked->format, &dtype)) {
        if (field->dtype == GRANARY_NULLTYPE) { /* nulls alone: they may be of any type, and so may later frames be */
            field->dtype = dtype;
            field->given = dtype;
        } else if (dtype == field->dtype || widen_of(field->dtype, dtype) != NULL) {
            field->given = dtype;
        }
    }
}

granary_err
out_request(struct out_shape *shape, const struct ArrowSchema *asked)
{
    if (asked->release == NULL || asked->format == NULL) {
        return gr_fail(GRANARY_EINVAL, "the Arrow schema that is asked for is missing, or was released already");
    }
    if (strcmp(asked->format, "+s") != 0) {
        return gr_fail(GRANARY_EINVAL,
                       "the Arrow schema that is asked for is no struct: frames are structs of columns");
    }
    if (asked->n_children < 0 || (size_t)asked->n_children != shape->count || asked->children == NULL) {
        return gr_fail(GRANARY_EINVAL, "the Arrow schema that is asked for has %lld columns, the frame has %zu",
                       (long long)asked->n_children, shape->count);
    }
    for (size_t i = 0; i < shape->count; i++) {
        const struct ArrowSchema *child = asked->children[i];
        const char *name = child == NULL || child->name == NULL ? "" : child->name;

        if (child == NULL || child->release == NULL || child->format == NULL) {
            return gr_fail(GRANARY_EINVAL, "column %zu of the Arrow schema that is asked for has no type", i);
        }
        if (strcmp(name, shape->fields[i].name) != 0) {
            return gr_fail(GRANARY_EINVAL,
                           "column %zu of the Arrow schema that is asked for is '%s', the frame's is '%s'", i, name,
                           shape->fields[i].name);
        }
    }
    for (size_t i = 0; i < shape->count; i++) {
        request(&shape->fields[i], asked->children[i]);
    }
    return GRANARY_OK;
}
