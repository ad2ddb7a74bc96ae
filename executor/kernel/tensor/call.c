/* Calls on tensors checked; strided elements walked in runs along the dimension that lies closest in memory. */
#include "kernel/tensor/call.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/tensor/load.h"

static granary_err
check_inputs(const struct gr_kernel_call *call, size_t min, size_t max, bool complex_too)
{
    if (call->input_count < min || call->input_count > max) {
        return gr_fail(GRANARY_EINVAL, "%zu inputs do not fit the operator", call->input_count);
    }
    for (size_t i = 0; i < call->input_count; i++) {
        const struct gr_value *input = &call->inputs[i];
        granary_dtype dtype = input->tensor.view.dtype;

        if (input->kind != GR_VALUE_TENSOR) {
            return gr_fail(GRANARY_ETYPE, "input %zu is no tensor", i);
        }
        if (!(complex_too ? gr_tensor_dtype_valid(dtype) : gr_tensor_dtype_good(dtype))) {
            return gr_fail(GRANARY_ETYPE, "input %zu is a tensor of %s; it takes bool, integers%s", i,
                           granary_dtype_name(dtype), complex_too ? ", floats and complex numbers" : " and floats");
        }
    }
    return GRANARY_OK;
}

static granary_err
check_call(const struct gr_kernel_call *call, size_t min, size_t max, bool complex_too)
{
    if (call->output_count != 1) {
        return gr_fail(GRANARY_EINVAL, "%zu inputs and %zu outputs do not fit the operator", call->input_count,
                       call->output_count);
    }
    return check_inputs(call, min, max, complex_too);
}

granary_err
tensor_inputs_check(const struct gr_kernel_call *call, size_t min, size_t max)
{
    return check_inputs(call, min, max, false);
}

granary_err
tensor_inputs_check_any(const struct gr_kernel_call *call, size_t min, size_t max)
{
    return check_inputs(call, min, max, true);
}

granary_err
tensor_call_check(const struct gr_kernel_call *call, size_t min, size_t max)
{
    return check_call(call, min, max, false);
}

granary_err
tensor_call_check_any(const struct gr_kernel_call *call, size_t min, size_t max)
{
    return check_call(call, min, max, true);
}

granary_err
tensor_ints(const Granary__Attr *list, size_t max, const int64_t **ret_values, size_t *ret_count)
{
    if (list != NULL && list->n_ints > max) {
        return gr_fail(GRANARY_EINVAL, "%s: %zu numbers, at most %zu fit", list->name, list->n_ints, max);
    }
    *ret_values = list == NULL ? NULL : list->ints;
    *ret_count = list == NULL ? 0 : list->n_ints;
    return GRANARY_OK;
}

granary_err
tensor_output(struct gr_kernel_call *call, granary_dtype dtype, int dims, const int64_t *shape, void **ret_values)
{
    granary_tensor view = {.dtype = dtype};
    struct gr_tensor *tensor = &call->outputs[0].tensor;
    size_t size;
    granary_err err = gr_npy_plan(dtype, dims, shape, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    size = ((size_t)gr_tensor_elements(&view) * gr_tensor_element(dtype) + 64) / 64 * 64;
    *ret_values = call->place == NULL ? NULL : call->place(call, &view);
    if (*ret_values == NULL) {
        *ret_values = tensor->owned = aligned_alloc(64, size);
    }
    if (*ret_values == NULL) {
        return gr_fail(GRANARY_ENOMEM, "a tensor of %zu bytes: out of memory", size);
    }
    view.values = *ret_values;
    tensor->view = view;
    call->outputs[0].kind = GR_VALUE_TENSOR;
    return GRANARY_OK;
}

/* ---- parts ---- */

granary_err
tensor_part_read(const struct gr_part_params *params, struct tensor_part *ret_part)
{
    const int64_t *shape = params->shape->ints, *offset = params->offset->ints, *size = params->size->ints;
    size_t dims = params->shape->n_ints;
    struct tensor_part part = {0};
    int64_t elements = 1;

    if (dims > TENSOR_DIMS_MAX || params->offset->n_ints != dims || params->size->n_ints != dims) {
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
tensor_doubles(const granary_tensor *tensor, int64_t count, double *room)
{
    enum gr_lane lane = gr_lane_of(tensor->dtype);
    const char *values = tensor->values;
    size_t element = gr_tensor_element(tensor->dtype);

    if (tensor->dtype == GRANARY_FLOAT64) {
        return tensor->values;
    }
    for (int64_t i = 0; i < count; i += 512) {
        _Alignas(64) char block[512 * 8];
        int64_t n = count - i < 512 ? count - i : 512;

        SIMD_CALL(tensor_lane_load)(tensor->dtype, block, values + (size_t)i * element, n);
        SIMD_CALL(tensor_lane_convert)(lane, GR_LANE_D, room + i, block, n);
    }
    return room;
}

#define LOADED_AT_ONCE 1024

void
tensor_elements_load(const granary_tensor *tensor, int64_t from, int64_t n, enum gr_lane lane, void *out)
{
    enum gr_lane own = gr_lane_of(tensor->dtype);
    size_t element = gr_tensor_element(tensor->dtype);

    for (int64_t done = 0; done < n; done += LOADED_AT_ONCE) {
        _Alignas(64) int64_t loaded[LOADED_AT_ONCE];
        int64_t many = n - done < LOADED_AT_ONCE ? n - done : LOADED_AT_ONCE;
        char *to = (char *)out + (size_t)done * 8;
        const char *stored = (const char *)tensor->values + (size_t)(from + done) * element;

        SIMD_CALL(tensor_lane_load)(tensor->dtype, loaded, stored, many);
        if (own == lane) {
            memcpy(to, loaded, (size_t)many * 8);
        } else {
            SIMD_CALL(tensor_lane_convert)(own, lane, to, loaded, many);
        }
    }
}
