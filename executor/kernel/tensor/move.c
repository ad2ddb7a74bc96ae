/* Pieces of tensors put together. */
#include <string.h>

#include "base/error.h"
#include "kernel/tensor/call.h"

/* Where a piece comes from and goes to. */
struct piece {
    const granary_tensor *tensor;
    const int64_t *to; /* dims numbers each */
    const int64_t *from;
    const int64_t *extent;
};

static granary_err
piece_check(const struct piece *piece, int dims, const int64_t *shape, granary_dtype dtype, size_t number)
{
    if (piece->tensor->dims != dims || piece->tensor->dtype != dtype) {
        return gr_fail(GRANARY_EINVAL, "input %zu has %d dimensions of %s, not %d of %s", number, piece->tensor->dims,
                       granary_dtype_name(piece->tensor->dtype), dims, granary_dtype_name(dtype));
    }
    for (int d = 0; d < dims; d++) {
        int64_t extent = piece->extent[d];

        if (extent < 0 || piece->to[d] < 0 || piece->from[d] < 0 || extent > shape[d] ||
            piece->to[d] > shape[d] - extent || extent > piece->tensor->shape[d] ||
            piece->from[d] > piece->tensor->shape[d] - extent) {
            return gr_fail(GRANARY_EINVAL, "input %zu does not fit in dimension %d", number, d);
        }
    }
    return GRANARY_OK;
}

/* Offset 0 of the walk is in the whole, offset 1 in the piece. */
static void
piece_copy(const struct piece *piece, int dims, const int64_t *shape, size_t element, char *values)
{
    struct tensor_walk walk = {.dims = dims};
    int64_t stride[2] = {1, 1};
    int64_t run = 1;

    for (int d = dims - 1; d >= 0; d--) {
        walk.extent[d] = piece->extent[d];
        walk.stride[0][d] = stride[0];
        walk.stride[1][d] = stride[1];
        walk.at[0] += piece->to[d] * stride[0];
        walk.at[1] += piece->from[d] * stride[1];
        stride[0] *= shape[d];
        stride[1] *= piece->tensor->shape[d];
    }
    if (tensor_walk_count(&walk) == 0) {
        return;
    }
    if (walk.dims > 0) {
        run = walk.extent[--walk.dims];
    }
    do {
        memcpy(values + (size_t)walk.at[0] * element,
               (const char *)piece->tensor->values + (size_t)walk.at[1] * element, (size_t)run * element);
    } while (tensor_walk_next(&walk));
}

granary_err
kernel_assemble(struct gr_kernel_call *call, const struct gr_chunk_assemble *params)
{
    const int64_t *shape = params->shape->ints, *to = params->to->ints, *from = params->from->ints;
    const int64_t *extent = params->extent->ints;
    size_t dims = params->shape->n_ints;
    size_t count = call->input_count * dims;
    granary_dtype dtype = GRANARY_FLOAT64;
    void *values;
    granary_err err = tensor_call_check_any(call, 1, SIZE_MAX);

    if (err == GRANARY_OK && (dims > TENSOR_DIMS_MAX || params->to->n_ints != count || params->from->n_ints != count ||
                              params->extent->n_ints != count)) {
        err = gr_fail(GRANARY_EINVAL, "shape, to, from and extent do not fit the inputs");
    }
    if (err == GRANARY_OK) {
        dtype = call->inputs[0].tensor.view.dtype;
        err = tensor_output(call, dtype, (int)dims, shape, &values);
    }
    for (size_t i = 0; err == GRANARY_OK && i < call->input_count; i++) {
        struct piece piece = {&call->inputs[i].tensor.view, to + i * dims, from + i * dims, extent + i * dims};

        err = piece_check(&piece, (int)dims, shape, dtype, i);
        if (err == GRANARY_OK) {
            piece_copy(&piece, (int)dims, shape, gr_tensor_element(dtype), values);
        }
    }
    return err;
}
