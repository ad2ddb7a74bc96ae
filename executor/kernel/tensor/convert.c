/* from_tensor, to_tensor: columns out of tensors, and tensors out of columns. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/core/frame_call.h"
#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/tensor/call.h"

#define ROWS_AT_ONCE 512 /* rows of all columns stay in the cache */

/* ---- from_tensor ---- */

/* Element e of rows [from, from + n) of a column, to where the frame keeps it. */
static void
take_column(const granary_tensor *tensor, int64_t column, int64_t columns, int64_t from, int64_t n, void *values)
{
    size_t size = gr_tensor_element(tensor->dtype);
    const char *source = (const char *)tensor->values + (size_t)(from * columns + column) * size;
    size_t step = (size_t)columns * size;

    switch (tensor->dtype == GRANARY_BOOL ? 0 : size) {
    case 0:
        for (int64_t r = 0; r < n; r++) {
            if (source[(size_t)r * step] != 0) {
                gr_bit_set(values, from + r);
            }
        }
        break;
    case 4:
        for (int64_t r = 0; r < n; r++) {
            memcpy((char *)values + (size_t)(from + r) * 4, source + (size_t)r * step, 4);
        }
        break;
    case 8:
        for (int64_t r = 0; r < n; r++) {
            memcpy((char *)values + (size_t)(from + r) * 8, source + (size_t)r * step, 8);
        }
        break;
    default:
        for (int64_t r = 0; r < n; r++) {
            memcpy((char *)values + (size_t)(from + r) * size, source + (size_t)r * step, size);
        }
    }
}

/* A tensor of one dimension lies as a column does, but for bools. */
static granary_err
borrow_column(granary_frame *frame, const char *name, const granary_tensor *tensor)
{
    const granary_column column = {.dtype = tensor->dtype, .rows = tensor->shape[0], .values = tensor->values};

    return gr_frame_set_borrowed(frame, 0, name, &column);
}

static granary_err
fill_frame(granary_frame *frame, char *const *names, const granary_tensor *tensor)
{
    int64_t columns = (int64_t)frame->count;
    int64_t rows = frame->rows;
    void **values = calloc(frame->count, sizeof *values);
    granary_err err = values == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        struct gr_column column;

        err = gr_column_alloc(tensor->dtype, rows, 0, false, &column);
        if (err == GRANARY_OK) {
            values[c] = (void *)(uintptr_t)column.view.values; /* ours, just made */
            err = gr_frame_set(frame, c, names[c], &column);
        }
    }
    for (int64_t from = 0; from < rows && err == GRANARY_OK; from += ROWS_AT_ONCE) {
        int64_t n = rows - from < ROWS_AT_ONCE ? rows - from : ROWS_AT_ONCE;

        for (int64_t c = 0; c < columns; c++) {
            take_column(tensor, c, columns, from, n, values[c]);
        }
    }
    free(values);
    return err;
}

granary_err
kernel_from_tensor(struct gr_kernel_call *call, const struct gr_chunk_from_tensor *params)
{
    const Granary__Attr *names = params->columns;
    const granary_tensor *tensor;
    granary_frame *frame;
    granary_err err = tensor_call_check(call, 1, 1);

    if (err != GRANARY_OK) {
        return err;
    }
    tensor = &call->inputs[0].tensor.view;
    if (tensor->dims < 1 || tensor->dims > 2 || names->n_strings == 0 ||
        (uint64_t)(tensor->dims == 2 ? tensor->shape[1] : 1) != names->n_strings) {
        return gr_fail(GRANARY_EINVAL, "%zu columns do not fit a tensor of %d dimensions", names->n_strings,
                       tensor->dims);
    }
    frame = gr_frame_create(names->n_strings, tensor->shape[0]);
    if (frame == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = names->n_strings == 1 && tensor->dtype != GRANARY_BOOL ? borrow_column(frame, names->strings[0], tensor)
                                                                 : fill_frame(frame, names->strings, tensor);
    return call_yield(call, 0, frame, err);
}

/* ---- to_tensor ---- */

/* The tensor being filled: rows x columns of a dtype. */
struct filling {
    granary_dtype dtype;
    size_t columns;
    char *values;
    int64_t done; /* rows */
};

/* Some values of a column as lane values of the tensor's dtype. */
static granary_err
load_values(const granary_column *column, int64_t from, int64_t n, granary_dtype dtype, void *lanes)
{
    _Alignas(64) int64_t own[ROWS_AT_ONCE];
    enum gr_lane lane = gr_lane_of(dtype);
    enum gr_lane source = gr_lane_of(column->dtype);

    if (column->dtype == GRANARY_BOOL) {
        for (int64_t r = 0; r < n; r++) {
            own[r] = gr_bit(column->values, from + r);
        }
    } else {
        SIMD_CALL(tensor_lane_load)
        (column->dtype, own, (const char *)column->values + (size_t)from * gr_dtype_size(column->dtype), n);
    }
    if (source == lane) {
        memcpy(lanes, own, (size_t)n * (lane == GR_LANE_F ? 4 : 8));
    } else {
        SIMD_CALL(tensor_lane_convert)(source, lane, lanes, own, n);
    }
    for (int64_t r = 0; column->null_count != 0 && r < n; r++) {
        if (!gr_is_null(column, from + r)) {
            continue;
        }
        if (!gr_dtype_is_float(dtype)) {
            return gr_fail(GRANARY_EFAILED, "column '%s' has a null, which %s does not have", column->name,
                           granary_dtype_name(dtype));
        }
        if (lane == GR_LANE_F) {
            ((float *)lanes)[r] = __builtin_nanf("");
        } else {
            ((double *)lanes)[r] = __builtin_nan("");
        }
    }
    return GRANARY_OK;
}

/* Rows [from, from + n) of a frame's columns. */
static granary_err
fill_rows(struct filling *f, const granary_column *const *columns, int64_t from, int64_t n)
{
    size_t size = gr_tensor_element(f->dtype);
    granary_err err = GRANARY_OK;

    for (size_t c = 0; c < f->columns && err == GRANARY_OK; c++) {
        _Alignas(64) int64_t lanes[ROWS_AT_ONCE];
        _Alignas(64) char stored[ROWS_AT_ONCE * 8];
        char *to = f->values + ((size_t)f->done * f->columns + c) * size;

        err = load_values(columns[c], from, n, f->dtype, lanes);
        SIMD_CALL(tensor_lane_store)(f->dtype, stored, lanes, err == GRANARY_OK ? n : 0);
        for (int64_t r = 0; r < n && err == GRANARY_OK; r++) {
            memcpy(to + (size_t)r * f->columns * size, stored + (size_t)r * size, size);
        }
    }
    f->done += n;
    return err;
}

/* Up to `rows` rows of a frame, behind the first `skip`. */
static granary_err
fill_from(struct filling *f, const granary_frame *frame, char *const *names, int64_t skip, int64_t rows)
{
    int64_t behind = frame->rows - skip < rows ? frame->rows : skip + rows;
    const granary_column **columns = NULL;
    granary_err err = frame_columns(frame, names, f->columns, &columns);

    for (size_t c = 0; c < f->columns && err == GRANARY_OK; c++) {
        if (!gr_tensor_dtype_good(columns[c]->dtype)) {
            err = gr_fail(GRANARY_ETYPE, "column '%s' is %s", names[c], granary_dtype_name(columns[c]->dtype));
        }
    }
    for (int64_t from = skip; from < behind && err == GRANARY_OK; from += ROWS_AT_ONCE) {
        err = fill_rows(f, columns, from, behind - from < ROWS_AT_ONCE ? behind - from : ROWS_AT_ONCE);
    }
    free(columns);
    return err;
}

granary_err
kernel_to_tensor(struct gr_kernel_call *call, const struct gr_chunk_to_tensor *params)
{
    int64_t skip = params->skip;
    int64_t rows = params->rows;
    bool flat = params->flat;
    struct filling f = {.dtype = gr_dtype_parse(params->dtype)};
    const granary_frame **frames = NULL;
    const Granary__Attr *names = params->columns;
    void *values;
    granary_err err = GRANARY_OK;

    if (err == GRANARY_OK && (skip < 0 || rows < 0 || names->n_strings == 0 || (flat && names->n_strings > 1) ||
                              !gr_tensor_dtype_good(f.dtype))) {
        err = gr_fail(GRANARY_EINVAL, "to_tensor: parameters that do not fit");
    }
    if (err == GRANARY_OK) {
        err = call_frames_encoded(call, &frames);
    }
    if (err == GRANARY_OK) {
        f.columns = names->n_strings;
        err = tensor_output(call, f.dtype, flat ? 1 : 2, (int64_t[]){rows, (int64_t)f.columns}, &values);
        f.values = values;
    }
    for (size_t k = 0; k < call->input_count && err == GRANARY_OK; k++) {
        if (skip < frames[k]->rows && f.done < rows) {
            err = fill_from(&f, frames[k], names->strings, skip, rows - f.done);
        }
        skip = skip < frames[k]->rows ? 0 : skip - frames[k]->rows;
    }
    if (err == GRANARY_OK && f.done < rows) {
        err = gr_fail(GRANARY_EINVAL, "to_tensor: %lld rows are too few", (long long)f.done);
    }
    free(frames);
    return err;
}
