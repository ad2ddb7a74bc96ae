/* Tensors for tests of their kernels, and kernels that have to succeed or to fail. What is wrong fails the test. */
#ifndef TEST_TENSOR_FIXTURE_H
#define TEST_TENSOR_FIXTURE_H

#include <stdint.h>

#include "unit/executor/op.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))
#define SHAPE(...)                                                                                                     \
    (const int64_t[])                                                                                                  \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* To be freed with gr_value_free(). */
struct gr_value tensor_of(granary_dtype dtype, int dims, const int64_t *shape);
/* Random numbers into a tensor of float64 or int64. */
void fill(struct gr_value *value);

/* The values of a tensor of that dtype. */
double *doubles(const struct gr_value *value);
int64_t *ints(const struct gr_value *value);
/* The one at index, which has `dims` numbers: as if broadcast. Of float64 or int64. */
double element(const struct gr_value *value, const int64_t *index, int dims);
void assert_shape(const struct gr_value *value, int dims, const int64_t *shape);

/* Run an operator that has to succeed, and forget it. */
struct gr_value must(gr_kernel *kernel, Granary__ChunkOp *op, const struct gr_value *inputs, size_t count);
/* ... that has to fail with err. */
void must_fail(gr_kernel *kernel, Granary__ChunkOp *op, const struct gr_value *inputs, size_t count, granary_err err);

/* An operator that makes a part of a tensor. */
Granary__ChunkOp *
part_op(const char *name, size_t dims, const int64_t *shape, const int64_t *offset, const int64_t *size);

#endif
