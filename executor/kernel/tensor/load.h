/* Elements of a tensor as values of a lane, in which kernels compute. */
#ifndef KERNEL_TENSOR_LOAD_H
#define KERNEL_TENSOR_LOAD_H

#include "data/tensor.h"
#include "kernel/simd/tensor/tensor_map.h"

/* Elements [from, from + n) of a tensor as values of the lane, of 8 bytes each. */
void tensor_elements_load(const granary_tensor *tensor, int64_t from, int64_t n, enum gr_lane lane, void *out);

#endif
