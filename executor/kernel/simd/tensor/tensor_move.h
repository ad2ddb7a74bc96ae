/* Blocks whose rows become columns. */
#ifndef KERNEL_SIMD_TENSOR_MOVE_H
#define KERNEL_SIMD_TENSOR_MOVE_H

#include <stdint.h>

#include "kernel/simd/simd.h"

/*
 * out[r * out_stride + c] = in[c * in_stride + r] for r < rows, c < columns: elements of 8 bytes. Lines that are
 * written whole go past the caches.
 */
SIMD_DECLARE(void, tensor_transpose,
             (uint64_t * out, int64_t out_stride, const uint64_t *in, int64_t in_stride, int64_t rows,
              int64_t columns));

#endif
