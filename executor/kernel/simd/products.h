/* Products of doubles without loss: x * y = product + rest; and of matrices of integers. */
#ifndef KERNEL_SIMD_PRODUCTS_H
#define KERNEL_SIMD_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/simd/simd.h"

/* The rest is 0 where the product is not finite. */
SIMD_DECLARE(void, exact_products, (const double *x, const double *y, size_t count, double *products, double *rests));

/* out += a b, row-major matrices of integers modulo 2^64: signs do not matter. */
SIMD_DECLARE(void, products_add_integers,
             (const uint64_t *a, const uint64_t *b, int64_t rows, int64_t inner, int64_t columns, uint64_t *out));

#endif
