/* Vectors of the level that a *.simd.c is compiled for: doubles, and integers beside them. */
#ifndef KERNEL_SIMD_DOUBLES_H
#define KERNEL_SIMD_DOUBLES_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define VECTOR 64 /* bytes */
#elif defined(__AVX2__)
#define VECTOR 32
#else
#define VECTOR 16
#endif

enum { LANES = VECTOR / 8 };

typedef double doubles __attribute__((vector_size(VECTOR)));
typedef int64_t longs __attribute__((vector_size(VECTOR)));

/* Of normal numbers: -1022 <= exponent <= 1023. */
static inline double
power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
