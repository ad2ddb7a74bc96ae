/* Element-wise functions of the C library, an element at a time: the same on every machine of one C library. */
#ifndef KERNEL_TENSOR_LIBM_H
#define KERNEL_TENSOR_LIBM_H

#include <stdint.h>

#include "graph/tensor_types.h"

/* out[i] = function(a[i], b[i]) in float32 or float64. */
void tensor_libm_floats(enum gr_map_function function, float *out, const float *a, const float *b, int64_t n);
void tensor_libm_doubles(enum gr_map_function function, double *out, const double *a, const double *b, int64_t n);

#endif
