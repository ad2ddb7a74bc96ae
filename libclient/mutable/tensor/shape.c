/* Shapes planned from what a caller wants, kept as a small frame, and walked by number. */
#include "mutable/tensor/shape.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/dtypes.h"
#include "data/tensor.h"
#include "data/value/number.h"
#include "mutable/marked.h"

#define CHUNK_ELEMENTS ((int64_t)1 << 17)
#define CHUNK_MOST     ((int64_t)1 << 31) /* offsets in a chunk have 32 bits */
#define SHAPE_MOST     ((int64_t)1 << 62)

enum { SHAPE_DIMS, SHAPE_SHAPE, SHAPE_CHUNK, SHAPE_FILL, SHAPE_COLUMNS };

/* ---- fills ---- */

static granary_err
fail_fill(granary_dtype dtype, const char *text)
{
    return gr_fail(GRANARY_EINVAL, "fill '%.40s' is no value of %s", text, granary_dtype_name(dtype));
}

static granary_err
fill_parse(granary_dtype dtype, const char *text, unsigned char ret_fill[8])
{
    const size_t size = strlen(text);
    gr_int128 integer = 0;
    double real = 0;
    bool truth = false;

    switch (dtype) {
    case GRANARY_BOOL:
        if (!gr_bool_parse(text, size, &truth)) {
            return fail_fill(dtype, text);
        }
        ret_fill[0] = truth;
        return GRANARY_OK;
    case GRANARY_FLOAT64:
    case GRANARY_FLOAT32:
        if (!gr_real_parse(text, size, &real)) {
            return fail_fill(dtype, text);
        }
        if (dtype == GRANARY_FLOAT64) {
            memcpy(ret_fill, &real, sizeof real);
        } else {
            const float narrow = (float)real;

            memcpy(ret_fill, &narrow, sizeof narrow);
        }
        return GRANARY_OK;
#define INTEGER(name, type, ...)                                                                                       \
    case GRANARY_##name: {                                                                                             \
        const type value = gr_integer_parse(text, size, &integer) ? (type)integer : 0;                                 \
                                                                                                                       \
        if (!gr_integer_parse(text, size, &integer) || (gr_int128)value != integer) {                                  \
            return fail_fill(dtype, text);                                                                             \
        }                                                                                                              \
        memcpy(ret_fill, &value, sizeof value);                                                                        \
        return GRANARY_OK;                                                                                             \
    }
        GR_INTEGER_DTYPES(INTEGER)
#undef INTEGER
    default:
        return gr_fail(GRANARY_ETYPE, "mutable tensors have no elements of %s: bool, integers and floats",
                       granary_dtype_name(dtype));
    }
}

/* ---- plans ---- */

/* The grid of chunks. */
static granary_err
grid_plan(struct tensor_shape *shape)
{
    int64_t elements = 1, of_chunk = 1;

    shape->chunks = 1;
    for (int i = 0; i < shape->dims; i++) {
        const int64_t length = shape->shape[i];

        if (length < 0 || (length > 0 && elements > SHAPE_MOST / length)) {
            return gr_fail(GRANARY_EINVAL, "dimension %d: %lld elements are none, or more than there can be", i,
                           (long long)length);
        }
        if (shape->chunk[i] <= 0 || of_chunk > CHUNK_MOST / shape->chunk[i]) {
            return gr_fail(GRANARY_EINVAL, "dimension %d: chunks of %lld elements are none, or too large", i,
                           (long long)shape->chunk[i]);
        }
        elements *= length > 0 ? length : 1;
        of_chunk *= shape->chunk[i];
        shape->grid[i] = length == 0 ? 0 : (length - 1) / shape->chunk[i] + 1;
        shape->chunks *= (uint64_t)shape->grid[i];
    }
    return GRANARY_OK;
}

/* Chunks of whole rows, as far as they go. */
static void
chunk_choose(struct tensor_shape *shape)
{
    int64_t left = CHUNK_ELEMENTS;

    for (int i = shape->dims; i-- > 0;) {
        const int64_t length = shape->shape[i] > 0 ? shape->shape[i] : 1;

        shape->chunk[i] = length < left ? length : left;
        left /= shape->chunk[i];
        left = left > 0 ? left : 1;
    }
}

granary_err
shape_plan(const granary_mutable_tensor *tensor, struct tensor_shape *ret_shape)
{
    struct tensor_shape shape = {
        .dtype = tensor->dtype, .element = gr_tensor_element(tensor->dtype), .dims = tensor->dims};
    bool chosen = false;
    granary_err err;

    if (tensor->dims < 0 || tensor->dims > TENSOR_DIMS) {
        return gr_fail(GRANARY_EINVAL, "%d dimensions: there are 0 to %d", tensor->dims, TENSOR_DIMS);
    }
    for (int i = 0; i < shape.dims; i++) {
        shape.shape[i] = tensor->shape[i];
        chosen = chosen || tensor->chunk[i] != 0;
    }
    chunk_choose(&shape);
    for (int i = 0; chosen && i < shape.dims; i++) {
        shape.chunk[i] = tensor->chunk[i];
    }
    err = fill_parse(shape.dtype, tensor->fill == NULL ? "0" : tensor->fill, shape.fill);
    err = err == GRANARY_OK ? grid_plan(&shape) : err;
    if (err == GRANARY_OK) {
        *ret_shape = shape;
    }
    return err;
}

bool
shape_equal(const struct tensor_shape *a, const struct tensor_shape *b)
{
    const size_t size = (size_t)a->dims * sizeof *a->shape;

    return a->dtype == b->dtype && a->dims == b->dims && memcmp(a->shape, b->shape, size) == 0 &&
           memcmp(a->chunk, b->chunk, size) == 0 && memcmp(a->fill, b->fill, a->element) == 0;
}

/* ---- as a frame ---- */

granary_err
shape_frame(const struct tensor_shape *shape, const char *mark, granary_frame **ret_frame)
{
    const int64_t rows = shape->dims == 0 ? 1 : shape->dims;
    int64_t dims[TENSOR_DIMS];
    unsigned char fills[TENSOR_DIMS * 8];
    const granary_column columns[SHAPE_COLUMNS] = {
        [SHAPE_DIMS] = {.name = "dims", .dtype = GRANARY_INT64, .values = dims},
        [SHAPE_SHAPE] = {.name = "shape", .dtype = GRANARY_INT64, .values = shape->shape},
        [SHAPE_CHUNK] = {.name = "chunk", .dtype = GRANARY_INT64, .values = shape->chunk},
        [SHAPE_FILL] = {.name = "fill", .dtype = shape->dtype, .values = fills},
    };
    granary_frame *borrowed = NULL;
    granary_err err;

    for (int64_t i = 0; i < TENSOR_DIMS; i++) {
        dims[i] = shape->dims;
        memcpy(fills + (size_t)i * shape->element, shape->fill, shape->element);
    }
    if (shape->dtype == GRANARY_BOOL) {
        fills[0] = shape->fill[0] ? 0xff : 0;
    }
    err = marked_frame(mark, columns, SHAPE_COLUMNS, rows, &borrowed);
    if (err == GRANARY_OK) {
        err = gr_frame_slice(borrowed, 0, rows, ret_frame);
        gr_frame_destroy(borrowed);
    }
    return err;
}

static bool
columns_fit(const granary_frame *frame)
{
    bool fit = frame->count == SHAPE_COLUMNS && frame->rows >= 1 && frame->rows <= TENSOR_DIMS;

    for (size_t i = 0; fit && i < SHAPE_COLUMNS; i++) {
        fit = frame->columns[i].view.validity == NULL &&
              (i == SHAPE_FILL || frame->columns[i].view.dtype == GRANARY_INT64);
    }
    return fit && !gr_dtype_is_text(frame->columns[SHAPE_FILL].view.dtype);
}

granary_err
shape_read(const granary_frame *frame, struct tensor_shape *ret_shape)
{
    struct tensor_shape shape = {.dims = 0};
    const granary_column *fill;

    if (!columns_fit(frame)) {
        return gr_fail(GRANARY_ECORRUPT, "the tensor's object has other columns than such objects have");
    }
    fill = &frame->columns[SHAPE_FILL].view;
    shape.dtype = fill->dtype;
    shape.element = gr_tensor_element(fill->dtype);
    shape.dims = (int)((const int64_t *)frame->columns[SHAPE_DIMS].view.values)[0];
    if (shape.element == 0 || shape.element > sizeof shape.fill || shape.dims < 0 || shape.dims > TENSOR_DIMS ||
        (shape.dims > 0 && shape.dims != frame->rows)) {
        return gr_fail(GRANARY_ECORRUPT, "the tensor's object makes no sense");
    }
    for (int i = 0; i < shape.dims; i++) {
        shape.shape[i] = ((const int64_t *)frame->columns[SHAPE_SHAPE].view.values)[i];
        shape.chunk[i] = ((const int64_t *)frame->columns[SHAPE_CHUNK].view.values)[i];
    }
    if (shape.dtype == GRANARY_BOOL) {
        shape.fill[0] = gr_bit(fill->values, 0);
    } else {
        memcpy(shape.fill, fill->values, shape.element);
    }
    *ret_shape = shape;
    return grid_plan(ret_shape);
}

/* ---- chunks ---- */

int64_t
shape_extent(const struct tensor_shape *shape, uint64_t chunk, int64_t ret_origin[TENSOR_DIMS],
             int64_t ret_extent[TENSOR_DIMS])
{
    int64_t elements = 1;

    for (int i = shape->dims; i-- > 0;) {
        const int64_t at = (int64_t)(chunk % (uint64_t)shape->grid[i]);

        chunk /= (uint64_t)shape->grid[i];
        ret_origin[i] = at * shape->chunk[i];
        ret_extent[i] =
            shape->shape[i] - ret_origin[i] < shape->chunk[i] ? shape->shape[i] - ret_origin[i] : shape->chunk[i];
        elements *= ret_extent[i];
    }
    return elements;
}

void
shape_strides(const struct tensor_shape *shape, const int64_t extent[TENSOR_DIMS], int64_t ret_strides[TENSOR_DIMS])
{
    int64_t stride = (int64_t)shape->element;

    for (int i = shape->dims; i-- > 0;) {
        ret_strides[i] = stride;
        stride *= extent[i];
    }
}

/* ---- copies ---- */

#define COPY(type)                                                                                                     \
    for (int64_t i = 0; i < count; i++) {                                                                              \
        memcpy(to + i * to_stride, from + i * from_stride, sizeof(type));                                              \
    }                                                                                                                  \
    break

static void
copy_row(int64_t count, const char *from, int64_t from_stride, char *to, int64_t to_stride, size_t element)
{
    if (from_stride == (int64_t)element && to_stride == (int64_t)element) {
        memcpy(to, from, (size_t)count * element);
        return;
    }
    switch (element) {
    case 1:
        COPY(uint8_t);
    case 2:
        COPY(uint16_t);
    case 4:
        COPY(uint32_t);
    default:
        COPY(uint64_t);
    }
}

void
copy_box(int dims, const int64_t *counts, const char *from, const int64_t *from_strides, char *to,
         const int64_t *to_strides, size_t element)
{
    if (dims == 0) {
        memcpy(to, from, element);
        return;
    }
    if (dims == 1) {
        copy_row(counts[0], from, from_strides[0], to, to_strides[0], element);
        return;
    }
    for (int64_t i = 0; i < counts[0]; i++) {
        copy_box(dims - 1, counts + 1, from + i * from_strides[0], from_strides + 1, to + i * to_strides[0],
                 to_strides + 1, element);
    }
}
