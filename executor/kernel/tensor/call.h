/* What tensor kernels share: checking a call, walking through strided elements. */
#ifndef KERNEL_TENSOR_CALL_H
#define KERNEL_TENSOR_CALL_H

#include "graph/tensor/types.h"
#include "kernel/core/call.h"

#define TENSOR_DIMS_MAX 8

/* At least min and at most max inputs, all tensors of good dtypes, and one output. Errors: EINVAL, ETYPE */
granary_err tensor_call_check(const struct gr_kernel_call *call, size_t min, size_t max);

/* The same of the inputs alone. */
granary_err tensor_inputs_check(const struct gr_kernel_call *call, size_t min, size_t max);

/* Both for kernels that know complex numbers, or move elements whatever they are. */
granary_err tensor_call_check_any(const struct gr_kernel_call *call, size_t min, size_t max);
granary_err tensor_inputs_check_any(const struct gr_kernel_call *call, size_t min, size_t max);

/* A list of at most max numbers; NULL is empty. Errors: EINVAL */
granary_err tensor_ints(const Granary__Attr *list, size_t max, const int64_t **ret_values, size_t *ret_count);

/* The output, where it will stay if that can be; its elements are to be filled, all. Errors: EINVAL, EFULL, ENOMEM */
granary_err
tensor_output(struct gr_kernel_call *call, granary_dtype dtype, int dims, const int64_t *shape, void **ret_values);

/* A part of a larger tensor. */
struct tensor_part {
    int dims;
    int64_t shape[TENSOR_DIMS_MAX];  /* of the whole */
    int64_t offset[TENSOR_DIMS_MAX]; /* where the part begins */
    int64_t size[TENSOR_DIMS_MAX];   /* of the part */
};
/* Errors: EINVAL it reaches beyond the whole, or the whole has more elements than int64 counts */
granary_err tensor_part_read(const struct gr_part_params *params, struct tensor_part *ret_part);
/* Elements of a run along the last dimension, and how many runs there are. */
int64_t tensor_part_run(const struct tensor_part *part);
int64_t tensor_part_runs(const struct tensor_part *part);
/* Position in the whole (row-major) of the first element of run `run`. */
int64_t tensor_part_position(const struct tensor_part *part, int64_t run);

/* Steps through a grid of elements; up to TENSOR_OPERANDS offsets go along. */
#define TENSOR_OPERANDS 2
struct tensor_walk {
    int dims;
    int64_t extent[TENSOR_DIMS_MAX];
    int64_t stride[TENSOR_OPERANDS][TENSOR_DIMS_MAX]; /* elements */
    int64_t index[TENSOR_DIMS_MAX];
    int64_t at[TENSOR_OPERANDS]; /* offset of the element we are at */
};
/* Go to the next element, the last dimension first; false (and back at the beginning) after the last. */
bool tensor_walk_next(struct tensor_walk *walk);
/* How many there are; 1 without dimensions. */
int64_t tensor_walk_count(const struct tensor_walk *walk);

/* All elements as float64: in place when they are, else in room. */
const double *tensor_doubles(const granary_tensor *tensor, int64_t count, double *room);

#endif
