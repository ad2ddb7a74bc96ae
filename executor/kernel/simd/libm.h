/* Element-wise functions of the C library, an element at a time: the same on every machine of one C library. */
#ifndef KERNEL_SIMD_LIBM_H
#define KERNEL_SIMD_LIBM_H

#include <stdint.h>

/* out[i] = function(a[i], b[i]) in float32 or float64, of functions of one operand function(a[i]). */
#define TENSOR_LIBM(function)                                                                                          \
    void tensor_libm_##function##_floats(float *out, const float *a, const float *b, int64_t n);                       \
    void tensor_libm_##function##_doubles(double *out, const double *a, const double *b, int64_t n);
#include "kernel/simd/libm.def"
#undef TENSOR_LIBM

#endif
