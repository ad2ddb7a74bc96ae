/*
 * A fused multiply-add gives what rounding the product left off (Ogita, Rump, Oishi, Accurate Sum and Dot Product,
 * 2005: TwoProductFMA).
 */
#include "kernel/simd/products.h"

#include <math.h>

void
SIMD(exact_products)(const double *x, const double *y, size_t count, double *products, double *rests)
{
    for (size_t i = 0; i < count; i++) {
        double product = x[i] * y[i];
        double rest = fma(x[i], y[i], -product);

        products[i] = product;
        rests[i] = product - product == 0.0 ? rest : 0.0; /* inf - inf and nan - nan are nan */
    }
}
