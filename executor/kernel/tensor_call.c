#include "kernel/tensor_call.h"

#include <string.h>

#include "base/error.h"

granary_err
tensor_call_check(const struct gr_kernel_call *call, size_t min, size_t max)
{
    if (call->output_count != 1 || call->input_count < min || call->input_count > max) {
        return gr_fail(GRANARY_EINVAL, "%zu inputs and %zu outputs do not fit the operator", call->input_count,
                       call->output_count);
    }
    for (size_t i = 0; i < call->input_count; i++) {
        const struct gr_value *input = &call->inputs[i];

        if (input->kind != GR_VALUE_TENSOR) {
            return gr_fail(GRANARY_ETYPE, "input %zu is no tensor", i);
        }
        if (input->tensor.view.dtype != GRANARY_INT64 && input->tensor.view.dtype != GRANARY_FLOAT64) {
            return gr_fail(GRANARY_ETYPE, "input %zu is a tensor of %s; int64 and float64 can be computed with", i,
                           granary_dtype_name(input->tensor.view.dtype));
        }
    }
    return GRANARY_OK;
}

granary_err
tensor_ints(const struct gr_kernel_call *call, const char *name, size_t max, const int64_t **ret_values,
            size_t *ret_count)
{
    const Granary__Attr *attr = gr_attr_find(call->op->attrs, call->op->n_attrs, name);

    if (attr != NULL && attr->n_ints > max) {
        return gr_fail(GRANARY_EINVAL, "%s: %zu numbers, at most %zu fit", name, attr->n_ints, max);
    }
    *ret_values = attr == NULL ? NULL : attr->ints;
    *ret_count = attr == NULL ? 0 : attr->n_ints;
    return GRANARY_OK;
}

granary_err
tensor_output(struct gr_kernel_call *call, granary_dtype dtype, int dims, const int64_t *shape, void **ret_values)
{
    granary_err err = gr_tensor_alloc(dtype, dims, shape, &call->outputs[0].tensor);

    if (err == GRANARY_OK) {
        call->outputs[0].kind = GR_VALUE_TENSOR;
        *ret_values = call->outputs[0].tensor.owned;
    }
    return err;
}

/* ---- parts ---- */

granary_err
tensor_part_read(const struct gr_kernel_call *call, struct tensor_part *ret_part)
{
    const int64_t *shape = NULL, *offset = NULL, *size = NULL;
    size_t dims = 0, offsets = 0, sizes = 0;
    struct tensor_part part = {0};
    int64_t elements = 1;
    granary_err err = tensor_ints(call, "shape", TENSOR_DIMS_MAX, &shape, &dims);

    if (err == GRANARY_OK) {
        err = tensor_ints(call, "offset", TENSOR_DIMS_MAX, &offset, &offsets);
    }
    if (err == GRANARY_OK) {
        err = tensor_ints(call, "size", TENSOR_DIMS_MAX, &size, &sizes);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (offsets != dims || sizes != dims) {
        return gr_fail(GRANARY_EINVAL, "shape, offset and size do not fit");
    }
    part.dims = (int)dims;
    for (size_t d = 0; d < dims; d++) {
        if (shape[d] < 0 || offset[d] < 0 || size[d] < 0 || offset[d] > shape[d] || size[d] > shape[d] - offset[d] ||
            __builtin_mul_overflow(elements, shape[d], &elements)) {
            return gr_fail(GRANARY_EINVAL, "shape, offset and size do not fit in dimension %zu", d);
        }
        part.shape[d] = shape[d];
        part.offset[d] = offset[d];
        part.size[d] = size[d];
    }
    *ret_part = part;
    return GRANARY_OK;
}

int64_t
tensor_part_run(const struct tensor_part *part)
{
    return part->dims == 0 ? 1 : part->size[part->dims - 1];
}

int64_t
tensor_part_runs(const struct tensor_part *part)
{
    int64_t runs = 1;

    for (int d = 0; d < part->dims - 1; d++) {
        runs *= part->size[d];
    }
    return runs;
}

int64_t
tensor_part_position(const struct tensor_part *part, int64_t run)
{
    int64_t stride = 1;
    int64_t position = 0;

    for (int d = part->dims - 1; d >= 0; d--) {
        bool last = d == part->dims - 1;

        position += stride * (part->offset[d] + (last ? 0 : run % part->size[d]));
        run = last ? run : run / part->size[d];
        stride *= part->shape[d];
    }
    return position;
}

/* ---- walks ---- */

bool
tensor_walk_next(struct tensor_walk *walk)
{
    for (int d = walk->dims - 1; d >= 0; d--) {
        for (int i = 0; i < TENSOR_OPERANDS; i++) {
            walk->at[i] += walk->stride[i][d];
        }
        if (++walk->index[d] < walk->extent[d]) {
            return true;
        }
        for (int i = 0; i < TENSOR_OPERANDS; i++) {
            walk->at[i] -= walk->stride[i][d] * walk->extent[d];
        }
        walk->index[d] = 0;
    }
    return false;
}

int64_t
tensor_walk_count(const struct tensor_walk *walk)
{
    int64_t count = 1;

    for (int d = 0; d < walk->dims; d++) {
        count *= walk->extent[d];
    }
    return count;
}

const double *
tensor_doubles(const granary_tensor *tensor, int64_t offset, int64_t stride, int64_t count, double *room)
{
    if (tensor->dtype == GRANARY_INT64) {
        const int64_t *values = (const int64_t *)tensor->values + offset;

        for (int64_t i = 0; i < count; i++) {
            room[i] = (double)values[i * stride];
        }
        return room;
    }
    if (stride == 1) {
        return (const double *)tensor->values + offset;
    }
    for (int64_t i = 0; i < count; i++) {
        room[i] = ((const double *)tensor->values)[offset + i * stride];
    }
    return room;
}
