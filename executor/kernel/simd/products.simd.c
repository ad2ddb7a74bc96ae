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

/* Four rows of b at a time, so many columns that these stay in the cache while all rows of a go by. */
void
SIMD(products_add_integers)(const uint64_t *a, const uint64_t *b, int64_t rows, int64_t inner, int64_t columns,
                            uint64_t *out)
{
    enum { WIDE = 512, DEEP = 64 };

    for (int64_t from = 0; from < columns; from += WIDE) {
        int64_t n = columns - from < WIDE ? columns - from : WIDE;

        for (int64_t deep = 0; deep < inner; deep += DEEP) {
            int64_t end = inner - deep < DEEP ? inner : deep + DEEP;

            for (int64_t r = 0; r < rows; r++) {
                uint64_t *restrict to = out + r * columns + from;
                const uint64_t *factor = a + r * inner;
                int64_t k = deep;

                for (; k + 4 <= end; k += 4) {
                    const uint64_t *restrict row = b + k * columns + from;

                    for (int64_t c = 0; c < n; c++) {
                        to[c] += factor[k] * row[c] + factor[k + 1] * row[columns + c] +
                                 factor[k + 2] * row[2 * columns + c] + factor[k + 3] * row[3 * columns + c];
                    }
                }
                for (; k < end; k++) {
                    for (int64_t c = 0; c < n; c++) {
                        to[c] += factor[k] * b[k * columns + from + c];
                    }
                }
            }
        }
    }
}
