/* take_along_axis, put_along_axis: elements of lines at positions that each line has of its own. */
#include <string.h>

#include "base/error.h"
#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/tensor/call.h"
#include "kernel/tensor/load.h"

#define AT_ONCE 1024

/* Elements before the axis, along it (of the tensor and of the positions), and behind it. */
struct lines {
    int64_t outer, own, chosen, inner;
    size_t size; /* of an element */
    bool wide;   /* positions are uint64 */
};

static granary_err
lines_of(const granary_tensor *tensor, const granary_tensor *positions, int64_t axis, struct lines *ret)
{
    struct lines l = {.outer = 1, .inner = 1, .size = gr_tensor_element(tensor->dtype)};

    if (tensor->dims != positions->dims || axis < 0 || axis >= tensor->dims || !gr_dtype_is_integer(positions->dtype)) {
        return gr_fail(GRANARY_EINVAL, "positions of %d dimensions do not fit a tensor of %d", positions->dims,
                       tensor->dims);
    }
    for (int d = 0; d < tensor->dims; d++) {
        if (d == axis) {
            l.own = tensor->shape[d];
            l.chosen = positions->shape[d];
        } else if (tensor->shape[d] != positions->shape[d]) {
            return gr_fail(GRANARY_EINVAL, "%lld positions along dimension %d for %lld elements",
                           (long long)positions->shape[d], d, (long long)tensor->shape[d]);
        } else if (d < axis) {
            l.outer *= tensor->shape[d];
        } else {
            l.inner *= tensor->shape[d];
        }
    }
    l.wide = positions->dtype == GRANARY_UINT64;
    *ret = l;
    return GRANARY_OK;
}

static granary_err
no_position(const struct lines *l, int64_t at)
{
    return l->wide ? gr_fail(GRANARY_EINVAL, "position %llu: there are %lld elements along the axis",
                             (unsigned long long)at, (long long)l->own)
                   : gr_fail(GRANARY_EINVAL, "position %lld: there are %lld elements along the axis", (long long)at,
                             (long long)l->own);
}

/* Position number e of all leads to element *ret_element of the tensor. */
static bool
element_of(const struct lines *l, int64_t e, int64_t at, int64_t *ret_element)
{
    int64_t line = e / (l->chosen * l->inner);

    at = !l->wide && at < 0 ? at + l->own : at;
    *ret_element = (line * l->own + at) * l->inner + e % l->inner;
    return at >= 0 && at < l->own;
}

/* From the tensor to the output, or from the values into it. */
static granary_err
move_all(const struct lines *l, const granary_tensor *positions, const char *from, char *to, bool put)
{
    int64_t count = gr_tensor_elements(positions);
    granary_err err = GRANARY_OK;

    for (int64_t done = 0; done < count && err == GRANARY_OK; done += AT_ONCE) {
        _Alignas(64) int64_t block[AT_ONCE];
        int64_t n = count - done < AT_ONCE ? count - done : AT_ONCE;

        tensor_elements_load(positions, done, n, gr_lane_of(positions->dtype), block);
        for (int64_t k = 0; k < n && err == GRANARY_OK; k++) {
            int64_t element = 0;

            if (!element_of(l, done + k, block[k], &element)) {
                err = no_position(l, block[k]);
            } else if (put) {
                memcpy(to + (size_t)element * l->size, from + (size_t)(done + k) * l->size, l->size);
            } else {
                memcpy(to + (size_t)(done + k) * l->size, from + (size_t)element * l->size, l->size);
            }
        }
    }
    return err;
}

granary_err
kernel_along_at(struct gr_kernel_call *call, const struct gr_chunk_along_at *params)
{
    const granary_tensor *tensor, *positions, *values;
    struct lines l = {0};
    void *out = NULL;
    granary_err err = tensor_call_check_any(call, 2, 3);

    if (err != GRANARY_OK) {
        return err;
    }
    tensor = &call->inputs[0].tensor.view;
    positions = &call->inputs[1].tensor.view;
    values = call->input_count == 3 ? &call->inputs[2].tensor.view : NULL;
    err = lines_of(tensor, positions, params->axis, &l);
    if (err == GRANARY_OK && values != NULL &&
        (values->dtype != tensor->dtype || gr_tensor_elements(values) != gr_tensor_elements(positions))) {
        err = gr_fail(GRANARY_EINVAL, "values do not fit the positions");
    }
    if (err == GRANARY_OK) {
        err = tensor_output(call, tensor->dtype, tensor->dims, values != NULL ? tensor->shape : positions->shape, &out);
    }
    if (err == GRANARY_OK && values != NULL && gr_tensor_elements(tensor) > 0) {
        memcpy(out, tensor->values, (size_t)gr_tensor_elements(tensor) * l.size);
    }
    return err == GRANARY_OK
               ? move_all(&l, positions, values != NULL ? values->values : tensor->values, out, values != NULL)
               : err;
}
