/* Products of doubles without loss: x * y = product + rest. */
#ifndef KERNEL_SIMD_PRODUCTS_H
#define KERNEL_SIMD_PRODUCTS_H

#include <stddef.h>

#include "kernel/simd/simd.h"

/* The rest is 0 where the product is not finite. */
SIMD_DECLARE(void, exact_products, (const double *x, const double *y, size_t count, double *products, double *rests));

#endif
