/* Matrix products, by OpenBLAS. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

#include "base/error.h"
#include "kernel/tensor/call.h"

/* A matrix as doubles; *ret_owned is to be freed. */
static granary_err
as_doubles(const granary_tensor *tensor, const double **ret_values, double **ret_owned)
{
    int64_t count = gr_tensor_elements(tensor);

    *ret_owned = NULL;
    if (tensor->dtype != GRANARY_FLOAT64) {
        *ret_owned = malloc(((size_t)count + 1) * sizeof **ret_owned);
        if (*ret_owned == NULL) {
            return gr_fail(GRANARY_ENOMEM, "no memory for %lld numbers", (long long)count);
        }
    }
    *ret_values = tensor_doubles(tensor, count, *ret_owned);
    return GRANARY_OK;
}

/* out += a b */
static granary_err
add_product(const granary_tensor *a, const granary_tensor *b, double *out)
{
    const double *a_values = NULL;
    const double *b_values = NULL;
    double *a_owned = NULL;
    double *b_owned = NULL;
    granary_err err = as_doubles(a, &a_values, &a_owned);

    if (err == GRANARY_OK) {
        err = as_doubles(b, &b_values, &b_owned);
    }
    if (err == GRANARY_OK && a->shape[0] > 0 && a->shape[1] > 0 && b->shape[1] > 0) {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)a->shape[0], (blasint)b->shape[1],
                    (blasint)a->shape[1], 1.0, a_values, (blasint)a->shape[1], b_values, (blasint)b->shape[1], 1.0, out,
                    (blasint)b->shape[1]);
    }
    free(a_owned);
    free(b_owned);
    return err;
}

granary_err
kernel_matmul(struct gr_kernel_call *call)
{
    const granary_tensor *first;
    const granary_tensor *second;
    int64_t shape[2];
    void *values;
    granary_err err = tensor_call_check(call, 2, SIZE_MAX);

    if (err == GRANARY_OK && call->input_count % 2 != 0) {
        err = gr_fail(GRANARY_EINVAL, "%zu inputs are no pairs", call->input_count);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    first = &call->inputs[0].tensor.view;
    second = &call->inputs[1].tensor.view;
    for (size_t i = 0; i < call->input_count; i += 2) {
        const granary_tensor *a = &call->inputs[i].tensor.view;
        const granary_tensor *b = &call->inputs[i + 1].tensor.view;

        if (a->dims != 2 || b->dims != 2 || a->shape[1] != b->shape[0] || a->shape[0] != first->shape[0] ||
            b->shape[1] != second->shape[1] || a->shape[0] > INT_MAX || a->shape[1] > INT_MAX ||
            b->shape[1] > INT_MAX) {
            return gr_fail(GRANARY_EINVAL, "the shapes of inputs %zu and %zu do not multiply", i, i + 1);
        }
    }
    shape[0] = first->shape[0];
    shape[1] = second->shape[1];
    err = tensor_output(call, GRANARY_FLOAT64, 2, shape, &values);
    if (err == GRANARY_OK) {
        memset(values, 0, (size_t)(shape[0] * shape[1]) * sizeof(double));
    }
    openblas_set_num_threads(1); /* executors are the parallelism */
    for (size_t i = 0; err == GRANARY_OK && i < call->input_count; i += 2) {
        err = add_product(&call->inputs[i].tensor.view, &call->inputs[i + 1].tensor.view, values);
    }
    return err;
}
