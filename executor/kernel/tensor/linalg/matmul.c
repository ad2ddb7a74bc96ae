/* Matrix products: of floats by OpenBLAS, of integers by hand. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "base/error.h"
#include "graph/tensor/tall.h"
#include "kernel/simd/products.h"
#include "kernel/simd/tensor/tensor_map.h"
#include "kernel/tensor/call.h"
#include "kernel/tensor/complex_map.h"

/* Stacks of matrices, all alike. */
struct stack {
    int64_t matrices;
    int64_t rows;
    int64_t columns;
};

static struct stack
stack_of(const granary_tensor *tensor)
{
    struct stack stack = {1, tensor->shape[tensor->dims - 2], tensor->shape[tensor->dims - 1]};

    for (int d = 0; d < tensor->dims - 2; d++) {
        stack.matrices *= tensor->shape[d];
    }
    return stack;
}

/* Its elements in that lane; *ret_owned is to be freed. */
static granary_err
as_lane(const granary_tensor *tensor, enum gr_lane lane, const void **ret_values, void **ret_owned)
{
    int64_t count = gr_tensor_elements(tensor);
    enum gr_lane own = gr_lane_of(tensor->dtype);
    size_t element = lane == GR_LANE_Z ? 16 : 8;
    bool in_place = gr_tensor_element(tensor->dtype) == element && own == lane;
    char *stored = NULL;

    *ret_owned = NULL;
    *ret_values = tensor->values;
    if (in_place) {
        return GRANARY_OK;
    }
    *ret_owned = malloc(((size_t)count + 1) * element);
    stored = malloc(((size_t)count + 1) * element);
    if (*ret_owned == NULL || stored == NULL) {
        free(stored);
        return gr_fail(GRANARY_ENOMEM, "no memory for %lld numbers", (long long)count);
    }
    SIMD_CALL(tensor_lane_load)(tensor->dtype, stored, tensor->values, count);
    if (lane == GR_LANE_Z) {
        complex_lane_convert(own, lane, *ret_owned, stored, count);
    } else {
        SIMD_CALL(tensor_lane_convert)(own, lane, *ret_owned, stored, count);
    }
    free(stored);
    *ret_values = *ret_owned;
    return GRANARY_OK;
}

/*
 * out += a b of floats, strip after strip: the order of additions may depend on how many rows a call has, and rows of a matrix
 * may be cut between strips. Of both lanes.
 */
static void
add_strips(enum gr_lane lane, int64_t strip, int64_t m, int64_t k, int64_t n, const double *a, const double *b,
           double *out)
{
    const double one[2] = {1, 0};
    int64_t element = lane == GR_LANE_Z ? 2 : 1; /* in doubles */

    for (int64_t from = 0; from < m; from += strip) {
        blasint rows = (blasint)(m - from < strip ? m - from : strip);
        const double *left = a + element * from * k;
        double *to = out + element * from * n;

        if (lane == GR_LANE_D) {
            cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, (blasint)n, (blasint)k, 1.0, left, (blasint)k,
                        b, (blasint)n, 1.0, to, (blasint)n);
        } else {
            cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, (blasint)n, (blasint)k, one, left, (blasint)k,
                        b, (blasint)n, one, to, (blasint)n);
        }
    }
}

/* out += a b, for each pair of matrices; lane I, D or Z. */
static granary_err
add_product(const granary_tensor *a, const granary_tensor *b, enum gr_lane lane, int64_t strip, void *out)
{
    struct stack left = stack_of(a), right = stack_of(b);
    int64_t m = left.rows, k = left.columns, n = right.columns;
    const void *a_values = NULL, *b_values = NULL;
    void *a_owned = NULL, *b_owned = NULL;
    granary_err err = as_lane(a, lane, &a_values, &a_owned);

    if (err == GRANARY_OK) {
        err = as_lane(b, lane, &b_values, &b_owned);
    }
    for (int64_t i = 0; i < left.matrices && err == GRANARY_OK && m > 0 && k > 0 && n > 0; i++) {
        if (lane != GR_LANE_I) {
            int64_t element = lane == GR_LANE_Z ? 2 : 1;

            add_strips(lane, strip, m, k, n, (const double *)a_values + element * i * m * k,
                       (const double *)b_values + element * i * k * n, (double *)out + element * i * m * n);
        } else {
            SIMD_CALL(products_add_integers)
            ((const uint64_t *)a_values + i * m * k, (const uint64_t *)b_values + i * k * n, m, k, n,
             (uint64_t *)out + i * m * n);
        }
    }
    free(a_owned);
    free(b_owned);
    return err;
}

/* All pairs must multiply, and give the same shape. */
static granary_err
check_pairs(const struct gr_kernel_call *call)
{
    const granary_tensor *first = &call->inputs[0].tensor.view, *second = &call->inputs[1].tensor.view;

    for (size_t i = 0; i + 1 < call->input_count; i += 2) {
        const granary_tensor *a = &call->inputs[i].tensor.view;
        const granary_tensor *b = &call->inputs[i + 1].tensor.view;
        int dims = a->dims;

        if (dims < 2 || b->dims != dims || first->dims != dims || second->dims != dims ||
            memcmp(a->shape, b->shape, (size_t)(dims - 2) * sizeof a->shape[0]) != 0 ||
            memcmp(a->shape, first->shape, (size_t)(dims - 1) * sizeof a->shape[0]) != 0 ||
            a->shape[dims - 1] != b->shape[dims - 2] || b->shape[dims - 1] != second->shape[dims - 1] ||
            a->shape[dims - 2] > INT_MAX || a->shape[dims - 1] > INT_MAX || b->shape[dims - 1] > INT_MAX) {
            return gr_fail(GRANARY_EINVAL, "the shapes of inputs %zu and %zu do not multiply", i, i + 1);
        }
    }
    return GRANARY_OK;
}

/* The sum begins with the last input, when it is of no pair, or with zeros. */
static granary_err
begin_sum(const struct gr_kernel_call *call, enum gr_lane lane, const int64_t *shape, int64_t count, void *sum)
{
    size_t element = lane == GR_LANE_Z ? 16 : 8;
    const granary_tensor *first = &call->inputs[call->input_count - 1].tensor.view;
    int dims = call->inputs[0].tensor.view.dims;
    const void *values = NULL;
    void *owned = NULL;
    granary_err err;

    if (call->input_count % 2 == 0) {
        memset(sum, 0, (size_t)count * element);
        return GRANARY_OK;
    }
    if (first->dims != dims || memcmp(first->shape, shape, (size_t)dims * sizeof shape[0]) != 0) {
        return gr_fail(GRANARY_EINVAL, "the last input is of no pair, and has not the shape of a sum");
    }
    err = as_lane(first, lane, &values, &owned);
    if (err == GRANARY_OK) {
        memcpy(sum, values, (size_t)count * element);
    }
    free(owned);
    return err;
}

granary_err
kernel_matmul(struct gr_kernel_call *call, const struct gr_chunk_matmul *params)
{
    const char *name = params->dtype;
    granary_dtype dtype = gr_tensor_dtype_parse(name);
    enum gr_lane lane = gr_dtype_is_complex(dtype) ? GR_LANE_Z : gr_dtype_is_float(dtype) ? GR_LANE_D : GR_LANE_I;
    size_t element = lane == GR_LANE_Z ? 16 : 8; /* of what it is computed in */
    bool in_place = gr_tensor_element(dtype) == element;
    int64_t shape[TENSOR_DIMS_MAX];
    int64_t count = 1;
    void *values = NULL, *room = NULL;
    granary_err err = tensor_call_check_any(call, 2, SIZE_MAX);

    if (err == GRANARY_OK && (params->strip < 1 || params->strip > INT_MAX || !gr_tensor_dtype_valid(dtype))) {
        err = gr_fail(GRANARY_EINVAL, "%lld rows are no strip, or %.20s is no dtype", (long long)params->strip, name);
    }
    if (err == GRANARY_OK) {
        err = check_pairs(call);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(shape, call->inputs[0].tensor.view.shape, sizeof shape);
    shape[call->inputs[0].tensor.view.dims - 1] =
        call->inputs[1].tensor.view.shape[call->inputs[1].tensor.view.dims - 1];
    for (int d = 0; d < call->inputs[0].tensor.view.dims; d++) {
        count *= shape[d];
    }
    err = tensor_output(call, dtype, call->inputs[0].tensor.view.dims, shape, &values);
    if (err == GRANARY_OK && !in_place && (room = malloc(((size_t)count + 1) * element)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "no memory for %lld numbers", (long long)count);
    }
    if (err == GRANARY_OK) {
        err = begin_sum(call, lane, shape, count, in_place ? values : room);
    }
    openblas_set_num_threads(1); /* executors are the parallelism */
    for (size_t i = 0; err == GRANARY_OK && i + 1 < call->input_count; i += 2) {
        err = add_product(&call->inputs[i].tensor.view, &call->inputs[i + 1].tensor.view, lane, params->strip,
                          in_place ? values : room);
    }
    if (err == GRANARY_OK && dtype == GRANARY_FLOAT32) {
        for (int64_t i = 0; i < count; i++) {
            ((float *)values)[i] = (float)((const double *)room)[i];
        }
    } else if (err == GRANARY_OK && dtype == GRANARY_COMPLEX64) {
        complex_lane_convert(GR_LANE_Z, GR_LANE_C, values, room, count);
    } else if (err == GRANARY_OK && !in_place) {
        SIMD_CALL(tensor_lane_wrap)(dtype, room, count);
        SIMD_CALL(tensor_lane_store)(dtype, values, room, count);
    }
    free(room);
    return err;
}
