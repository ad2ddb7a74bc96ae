/* Element-wise functions on blocks of complex numbers: what kernel/simd/tensor/tensor_map.h has for real ones. */
#ifndef KERNEL_TENSOR_COMPLEX_MAP_H
#define KERNEL_TENSOR_COMPLEX_MAP_H

#include "kernel/simd/tensor/tensor_map.h"

/*
 * out[i] = function(a[i], b[i], c[i]) in lane C or Z, of a function that contract/ops/tensor_complex.def names, or where.
 * Floats that it gives are of lane F or D, bools of lane I.
 */
void complex_map_apply(enum gr_map_function function, enum gr_lane lane, void *out, const void *a, const void *b,
                       const void *c, int64_t n);
/* From one lane to another, one of which is C or Z. What is complex becomes only lane I: whether it is not 0. */
void complex_lane_convert(enum gr_lane from, enum gr_lane to, void *out, const void *a, int64_t n);

#endif
