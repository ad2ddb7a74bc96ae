/* A part of the convolution of two vectors: each sum by itself, in the order of the shorter one. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/tensor/call.h"
#include "kernel/tensor/load.h"

#define MOST    ((int64_t)1 << 60)
#define AT_ONCE 2048

/* What is added: elements of both as values of one lane. */
struct convolving {
    enum gr_lane lane;
    granary_dtype dtype;
    int64_t begin, held; /* elements of the longer vector that are here */
    int64_t width;       /* of the shorter one */
    void *values, *kernel, *sums;
};

/* sums[at + f - from] += kernel[k] * values[f - k], for f of [from, from + count). */
#define ADD_PRODUCTS(type, name)                                                                                       \
    static void add_##name(struct convolving *c, int64_t at, int64_t from, int64_t count)                              \
    {                                                                                                                  \
        type *sums = (type *)c->sums + at;                                                                             \
        const type *values = c->values, *kernel = c->kernel;                                                           \
                                                                                                                       \
        for (int64_t k = 0; k < c->width; k++) {                                                                       \
            int64_t first = c->begin + k > from ? c->begin + k : from;                                                 \
            int64_t end = c->begin + c->held + k < from + count ? c->begin + c->held + k : from + count;               \
            type factor = kernel[k];                                                                                   \
                                                                                                                       \
            for (int64_t f = first; f < end; f++) {                                                                    \
                sums[f - from] += factor * values[f - k - c->begin];                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }
ADD_PRODUCTS(double, doubles)
ADD_PRODUCTS(uint64_t, wholes) /* wraps, signed or not */

/* So many at once that they stay in the cache. */
static void
add_all(struct convolving *c, int64_t from, int64_t count)
{
    for (int64_t done = 0; done < count; done += AT_ONCE) {
        int64_t n = count - done < AT_ONCE ? count - done : AT_ONCE;

        if (c->lane == GR_LANE_D) {
            add_doubles(c, done, from + done, n);
        } else {
            add_wholes(c, done, from + done, n);
        }
    }
}

/* Sums of bools are counts: whether there is one. Those of float32 are float64 until then. */
static void
store(const struct convolving *c, int64_t count, void *out)
{
    if (c->dtype == GRANARY_BOOL) {
        for (int64_t i = 0; i < count; i++) {
            ((bool *)out)[i] = ((const uint64_t *)c->sums)[i] != 0;
        }
    } else if (c->dtype == GRANARY_FLOAT32) {
        for (int64_t i = 0; i < count; i++) {
            ((float *)out)[i] = (float)((const double *)c->sums)[i];
        }
    } else {
        SIMD_CALL(tensor_lane_store)(c->dtype, out, c->sums, count);
    }
}

static granary_err
load(struct gr_kernel_call *call, struct convolving *c, int64_t count)
{
    const granary_tensor *kernel = &call->inputs[call->input_count - 1].tensor.view;
    int64_t at = 0;

    c->width = gr_tensor_elements(kernel);
    c->values = malloc((size_t)(c->held + 1) * 8);
    c->kernel = malloc((size_t)(c->width + 1) * 8);
    c->sums = calloc((size_t)count + 1, 8);
    if (c->values == NULL || c->kernel == NULL || c->sums == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for %lld numbers", (long long)(c->held + c->width + count));
    }
    tensor_elements_load(kernel, 0, c->width, c->lane, c->kernel);
    for (size_t k = 0; k + 1 < call->input_count; k++) {
        const granary_tensor *piece = &call->inputs[k].tensor.view;
        int64_t n = gr_tensor_elements(piece);

        tensor_elements_load(piece, 0, n, c->lane, (char *)c->values + at * 8);
        at += n;
    }
    return GRANARY_OK;
}

granary_err
kernel_convolve(struct gr_kernel_call *call, const struct gr_chunk_convolve *params)
{
    struct convolving c = {.begin = params->begin};
    int64_t count = params->count;
    void *out = NULL;
    granary_err err = tensor_call_check(call, 2, call->input_count);

    if (err != GRANARY_OK) {
        return err;
    }
    if (count < 0 || count > MOST || params->begin < 0 || params->begin > MOST || params->from < 0 ||
        params->from > MOST) {
        return gr_fail(GRANARY_EINVAL, "convolve: %lld elements from %lld on", (long long)count,
                       (long long)params->from);
    }
    c.dtype =
        gr_dtype_promote(call->inputs[0].tensor.view.dtype, call->inputs[call->input_count - 1].tensor.view.dtype);
    c.lane = c.dtype == GRANARY_FLOAT32 ? GR_LANE_D : gr_lane_of(c.dtype);
    for (size_t k = 0; k + 1 < call->input_count; k++) {
        c.held += gr_tensor_elements(&call->inputs[k].tensor.view);
    }
    err = load(call, &c, count);
    if (err == GRANARY_OK) {
        err = tensor_output(call, c.dtype, 1, &count, &out);
    }
    if (err == GRANARY_OK) {
        add_all(&c, params->from, count);
        store(&c, count, out);
    }
    free(c.values);
    free(c.kernel);
    free(c.sums);
    return err;
}
