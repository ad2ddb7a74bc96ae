/* A tensor put together of boxes of others, gone through with any strides. */
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/simd/tensor/tensor_move.h"
#include "kernel/tensor/call.h"

/* A box to be copied: dimensions of the result, of which the last has stride 1 there. */
struct box {
    int dims;
    int64_t extent[TENSOR_DIMS_MAX];
    int64_t to[TENSOR_DIMS_MAX];   /* strides in the result */
    int64_t from[TENSOR_DIMS_MAX]; /* strides in the input */
    char *out;                     /* where it begins in the result */
    int64_t begin;                 /* the same, in bytes */
    const char *in;
    size_t element;
};

/* Dimensions of one element go; neighbours that both sides go through in one stride become one. */
static void
simplify(struct box *b)
{
    int dims = 0;

    for (int d = 0; d < b->dims; d++) {
        if (b->extent[d] != 1) {
            b->extent[dims] = b->extent[d];
            b->to[dims] = b->to[d];
            b->from[dims++] = b->from[d];
        }
    }
    b->dims = dims;
    for (int d = b->dims - 2; d >= 0; d--) {
        if (b->to[d] == b->to[d + 1] * b->extent[d + 1] && b->from[d] == b->from[d + 1] * b->extent[d + 1]) {
            b->extent[d + 1] *= b->extent[d];
            for (int k = d; k + 1 < b->dims; k++) {
                b->extent[k] = b->extent[k + 1];
                b->to[k] = b->to[k + 1];
                b->from[k] = b->from[k + 1];
            }
            b->dims--;
        }
    }
}

/* complex128 */
struct wide {
    uint64_t half[2];
};

#define STRIDED(type)                                                                                                  \
    do {                                                                                                               \
        type *o = (type *)(void *)out;                                                                                 \
        const type *x = (const type *)(const void *)in;                                                                \
                                                                                                                       \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            o[i * to] = x[i * from];                                                                                   \
        }                                                                                                              \
    } while (0)

static void
copy_run(char *out, int64_t to, const char *in, int64_t from, int64_t n, size_t element)
{
    if (to == 1 && from == 1) {
        memcpy(out, in, (size_t)n * element);
        return;
    }
    switch (element) {
    case 1:
        STRIDED(uint8_t);
        break;
    case 2:
        STRIDED(uint16_t);
        break;
    case 4:
        STRIDED(uint32_t);
        break;
    case 16:
        STRIDED(struct wide);
        break;
    default:
        STRIDED(uint64_t);
    }
}

/* Rows of the result that are columns of the input: dimension `along` has stride 1 there, the last one here. Small
 * parts, so that lines which are read are used up. */
static void
copy_turned(char *out, int64_t to, int64_t rows, const char *in, int64_t from, int64_t columns, size_t element)
{
    if (element == 8) {
        SIMD_CALL(tensor_transpose)
        ((uint64_t *)(void *)out, to, (const uint64_t *)(const void *)in, from, rows, columns);
        return;
    }
    for (int64_t c = 0; c < columns; c += 64) {
        int64_t width = columns - c < 64 ? columns - c : 64;

        for (int64_t r = 0; r < rows; r++) {
            copy_run(out + (size_t)(r * to + c) * element, 1, in + (c * from + r) * (int64_t)element, from, width,
                     element);
        }
    }
}

static void
copy_box(struct box *b)
{
    int along = -1;
    int64_t index[TENSOR_DIMS_MAX] = {0};
    int64_t at = 0;
    int64_t where = 0;
    int last, d;

    simplify(b);
    last = b->dims - 1;
    if (b->dims == 0) {
        memcpy(b->out, b->in, b->element);
        return;
    }
    for (int k = 0; k < last && b->from[last] != 1; k++) {
        along = b->from[k] == 1 && b->to[last] == 1 ? k : along;
    }
    do {
        char *out = b->out + (size_t)at * b->element;
        const char *in = b->in + where * (int64_t)b->element;

        if (along >= 0) {
            copy_turned(out, b->to[along], b->extent[along], in, b->from[last], b->extent[last], b->element);
        } else {
            copy_run(out, b->to[last], in, b->from[last], b->extent[last], b->element);
        }
        for (d = last - 1; d >= 0; d--) {
            if (d == along) {
                continue;
            }
            at += b->to[d];
            where += b->from[d];
            if (++index[d] < b->extent[d]) {
                break;
            }
            at -= b->to[d] * b->extent[d];
            where -= b->from[d] * b->extent[d];
            index[d] = 0;
        }
    } while (d >= 0);
}

/* Entry i of the lists, inside its input and the result. */
static granary_err
make_box(const struct gr_kernel_call *call, const int64_t *shape, int dims, const int64_t *to, const int64_t *extent,
         const int64_t *stride, int64_t base, size_t i, struct box *ret_box)
{
    const granary_tensor *tensor = &call->inputs[i].tensor.view;
    gr_int128 low = base, high = base;
    int64_t step = 1;
    bool empty = false;

    *ret_box = (struct box){.dims = dims, .element = gr_tensor_element(tensor->dtype), .in = tensor->values};
    for (int d = dims - 1; d >= 0; d--) {
        gr_int128 reach = (gr_int128)stride[d] * (extent[d] - 1);

        if (extent[d] < 0 || to[d] < 0 || extent[d] > shape[d] || to[d] > shape[d] - extent[d]) {
            return gr_fail(GRANARY_EINVAL, "input %zu does not fit in dimension %d", i, d);
        }
        empty = empty || extent[d] == 0;
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
        ret_box->extent[d] = extent[d];
        ret_box->to[d] = step;
        ret_box->from[d] = stride[d];
        ret_box->begin += to[d] * step * (int64_t)ret_box->element;
        step *= shape[d];
    }
    if (empty) {
        ret_box->extent[0] = 0;
        return GRANARY_OK;
    }
    if (low < 0 || high >= gr_tensor_elements(tensor)) {
        return gr_fail(GRANARY_EINVAL, "input %zu is smaller than what is read of it", i);
    }
    ret_box->in += (size_t)base * ret_box->element;
    return GRANARY_OK;
}

/* Another shape of as many elements. */
static granary_err
take_shape(const int64_t *shape, size_t dims, int64_t *final, int *final_dims)
{
    granary_tensor one = {.dtype = GRANARY_BOOL, .dims = *final_dims};
    granary_tensor other;
    granary_err err = gr_npy_plan(GRANARY_BOOL, (int)dims, shape, &other);

    memcpy(one.shape, final, sizeof one.shape);
    if (err == GRANARY_OK && gr_tensor_elements(&one) != gr_tensor_elements(&other)) {
        err = gr_fail(GRANARY_EINVAL, "as has another number of elements");
    }
    if (err == GRANARY_OK) {
        memcpy(final, other.shape, sizeof other.shape);
        *final_dims = (int)dims;
    }
    return err;
}

granary_err
kernel_view(struct gr_kernel_call *call, const struct gr_chunk_view *params)
{
    const Granary__Attr *const lists[] = {params->to, params->extent, params->stride, params->base};
    const int64_t *shape = params->shape->ints;
    size_t dims = params->shape->n_ints;
    int64_t joined = params->joined;
    int64_t final[TENSOR_DIMS_MAX];
    const int64_t *as = NULL;
    size_t as_dims = 0;
    int final_dims = 0;
    void *values;
    granary_err err = tensor_call_check_any(call, 1, SIZE_MAX);

    if (err == GRANARY_OK && dims > TENSOR_DIMS_MAX) {
        err = gr_fail(GRANARY_EINVAL, "shape: %zu numbers, at most %d fit", dims, TENSOR_DIMS_MAX);
    }
    for (int k = 0; k < 4 && err == GRANARY_OK; k++) {
        if (lists[k]->n_ints != call->input_count * (k == 3 ? 1 : dims)) {
            err = gr_fail(GRANARY_EINVAL, "%s does not fit the inputs", lists[k]->name);
        }
    }
    if (err == GRANARY_OK && joined >= 0 && joined >= (int64_t)dims - 1) {
        err = gr_fail(GRANARY_EINVAL, "there is no dimension behind %lld", (long long)joined);
    }
    for (size_t i = 1; i < call->input_count && err == GRANARY_OK; i++) {
        if (call->inputs[i].tensor.view.dtype != call->inputs[0].tensor.view.dtype) {
            err = gr_fail(GRANARY_ETYPE, "input %zu is a tensor of %s, the first of %s", i,
                          granary_dtype_name(call->inputs[i].tensor.view.dtype),
                          granary_dtype_name(call->inputs[0].tensor.view.dtype));
        }
    }
    if (err == GRANARY_OK) {
        err = tensor_ints(params->as, TENSOR_DIMS_MAX, &as, &as_dims);
    }
    for (size_t d = 0; d < dims && err == GRANARY_OK; d++) {
        final[final_dims++] = (int64_t)d == joined ? shape[d] * shape[d + 1] : shape[d];
        d += (int64_t)d == joined;
    }
    if (err == GRANARY_OK && params->as != NULL) {
        err = take_shape(as, as_dims, final, &final_dims);
    }
    if (err == GRANARY_OK) {
        err = tensor_output(call, call->inputs[0].tensor.view.dtype, final_dims, final, &values);
    }
    for (size_t i = 0; i < call->input_count && err == GRANARY_OK; i++) {
        struct box box;

        err = make_box(call, shape, (int)dims, params->to->ints + i * dims, params->extent->ints + i * dims,
                       params->stride->ints + i * dims, params->base->ints[i], i, &box);
        if (err == GRANARY_OK && (dims == 0 || box.extent[0] > 0)) {
            box.out = (char *)values + box.begin;
            copy_box(&box);
        }
    }
    return err;
}
