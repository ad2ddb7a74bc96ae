/* Element-wise functions on blocks of one dtype, and their way in and out of memory. */
#ifndef KERNEL_SIMD_TENSOR_MAP_H
#define KERNEL_SIMD_TENSOR_MAP_H

#include <stdint.h>

#include "graph/tensor/types.h"
#include "kernel/simd/simd.h"

/* How elements are computed with: bool and signed integers as int64, unsigned ones as uint64, floats and complex numbers
 * as they are. These loops are for the first four; complex numbers have theirs (kernel/tensor/complex_map.h). */
enum gr_lane { GR_LANE_I, GR_LANE_U, GR_LANE_F, GR_LANE_D, GR_LANE_C, GR_LANE_Z };

static inline bool
gr_lane_is_complex(enum gr_lane lane)
{
    return lane == GR_LANE_C || lane == GR_LANE_Z;
}

static inline enum gr_lane
gr_lane_of(granary_dtype dtype)
{
    return dtype == GRANARY_FLOAT64                                   ? GR_LANE_D
           : dtype == GRANARY_FLOAT32                                 ? GR_LANE_F
           : dtype == GRANARY_COMPLEX64                               ? GR_LANE_C
           : dtype == GRANARY_COMPLEX128                              ? GR_LANE_Z
           : gr_dtype_is_integer(dtype) && !gr_dtype_is_signed(dtype) ? GR_LANE_U
                                                                      : GR_LANE_I;
}

/*
 * out[i] = function(a[i], b[i], c[i]) in that lane; out overlaps nothing. Predicates and comparisons give lane I, 0 or
 * 1; the condition of where is of lane I. The lane is one in which gr_map_types() has the function compute; there is no
 * kernel for astype, which is a conversion.
 */
SIMD_DECLARE(void, tensor_map_apply,
             (enum gr_map_function function, enum gr_lane lane, void *out, const void *a, const void *b, const void *c,
              int64_t n));
/* From one lane to another: whole numbers of floats are cut towards zero; what does not fit gives the least int64. */
SIMD_DECLARE(void, tensor_lane_convert, (enum gr_lane from, enum gr_lane to, void *out, const void *a, int64_t n));
/* Bring lane values into a dtype's range: wrap, or of bool: whether it is not 0. In place. */
SIMD_DECLARE(void, tensor_lane_wrap, (granary_dtype dtype, void *values, int64_t n));
/* Stored elements as lane values, and back. */
SIMD_DECLARE(void, tensor_lane_load, (granary_dtype dtype, void *out, const void *stored, int64_t n));
SIMD_DECLARE(void, tensor_lane_store, (granary_dtype dtype, void *stored, const void *values, int64_t n));
/* Copy past the caches. */
SIMD_DECLARE(void, tensor_stream, (void *to, const void *from, int64_t bytes));

#endif
