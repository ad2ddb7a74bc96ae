/* See tensor_fixture.h. */
#include "unit/executor/tensor_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

struct gr_value
tensor_of(granary_dtype dtype, int dims, const int64_t *shape)
{
    struct gr_value value = {.kind = GR_VALUE_TENSOR};

    assert_int_equal(gr_tensor_alloc(dtype, dims, shape, &value.tensor), GRANARY_OK);
    return value;
}

double *
doubles(const struct gr_value *value)
{
    assert_int_equal(value->kind, GR_VALUE_TENSOR);
    assert_int_equal(value->tensor.view.dtype, GRANARY_FLOAT64);
    return value->tensor.owned;
}

int64_t *
ints(const struct gr_value *value)
{
    assert_int_equal(value->kind, GR_VALUE_TENSOR);
    assert_int_equal(value->tensor.view.dtype, GRANARY_INT64);
    return value->tensor.owned;
}

void
assert_shape(const struct gr_value *value, int dims, const int64_t *shape)
{
    assert_int_equal(value->tensor.view.dims, dims);
    for (int d = 0; d < dims; d++) {
        assert_int_equal(value->tensor.view.shape[d], shape[d]);
    }
}

struct gr_value
must(gr_kernel *kernel, Granary__ChunkOp *op, const struct gr_value *inputs, size_t count)
{
    struct gr_value output = {0};

    if (op_run(kernel, op, inputs, count, &output, 1, NULL) != GRANARY_OK) {
        fail_msg("%s: %s", op->op, granary_error_message());
    }
    granary__chunk_op__free_unpacked(op, NULL);
    return output;
}

void
must_fail(gr_kernel *kernel, Granary__ChunkOp *op, const struct gr_value *inputs, size_t count, granary_err err)
{
    struct gr_value output = {0};

    assert_int_equal(op_run(kernel, op, inputs, count, &output, 1, NULL), err);
    gr_value_free(&output);
    granary__chunk_op__free_unpacked(op, NULL);
}

Granary__ChunkOp *
part_op(const char *name, size_t dims, const int64_t *shape, const int64_t *offset, const int64_t *size)
{
    Granary__ChunkOp *op = op_new(name);

    op_attr(op, gr_attr_new_ints("shape", shape, dims));
    op_attr(op, gr_attr_new_ints("offset", offset, dims));
    op_attr(op, gr_attr_new_ints("size", size, dims));
    return op;
}

void
fill(struct gr_value *value)
{
    int64_t count = gr_tensor_elements(&value->tensor.view);

    for (int64_t i = 0; i < count; i++) {
        if (value->tensor.view.dtype == GRANARY_INT64) {
            ((int64_t *)value->tensor.owned)[i] = random() % 2000 - 1000;
        } else {
            ((double *)value->tensor.owned)[i] = (double)(random() % 20000 - 10000) / 16;
        }
    }
}

double
element(const struct gr_value *value, const int64_t *index, int dims)
{
    const granary_tensor *tensor = &value->tensor.view;
    int64_t at = 0;

    for (int d = 0; d < tensor->dims; d++) {
        int64_t i = index[dims - tensor->dims + d];

        at = at * tensor->shape[d] + (tensor->shape[d] == 1 ? 0 : i);
    }
    return tensor->dtype == GRANARY_INT64 ? (double)((const int64_t *)tensor->values)[at]
                                          : ((const double *)tensor->values)[at];
}
