#include "graph/tensor/tall.h"

#define BLOCK_ELEMENTS (INT64_C(1) << 20) /* of a block of rows: 8 MiB */
#define SIDE_MOST      4096               /* of a small matrix */
#define BLOCKS_LEAST   4                  /* of a matrix, unless they are small */
#define FACTOR_LEAST   (INT64_C(1) << 16) /* elements of a small block of a factorisation */
#define STRIP_LEAST    INT64_C(128)       /* rows: fewer in a call would cost more than 3 % */

/* The power of two that is not more than `most`, but at least `least`. */
static int64_t
power_of_two(int64_t most, int64_t least)
{
    int64_t rows = 1;

    while (2 * rows <= most || rows < least) {
        rows *= 2;
    }
    return rows;
}

static int64_t
larger(int64_t a, int64_t b)
{
    int64_t most = a > b ? a : b;

    return most > 1 ? most : 1;
}

/* Neither factor is more than SIDE_MOST, so nothing overflows. */
static bool
is_small(int64_t rows, int64_t columns)
{
    return rows <= SIDE_MOST && columns <= SIDE_MOST && rows * columns <= BLOCK_ELEMENTS;
}

int64_t
gr_product_block(int64_t m, int64_t n)
{
    int64_t side = larger(m, n);

    return power_of_two(BLOCK_ELEMENTS / side, 2 * side);
}

enum gr_product_way
gr_product_way(int64_t m, int64_t k, int64_t n)
{
    if (is_small(k, n)) {
        return GR_PRODUCT_BY_ROWS;
    }
    return k > SIDE_MOST && is_small(m, n) && k >= 2 * gr_product_block(m, n) ? GR_PRODUCT_BY_SUMS
                                                                              : GR_PRODUCT_BY_BLOCKS;
}

int64_t
gr_product_strip(int64_t m)
{
    int64_t strip = GR_PRODUCT_STRIP;

    while (strip > STRIP_LEAST && m <= (BLOCKS_LEAST - 1) * strip) {
        strip /= 2;
    }
    return strip;
}

granary_dtype
gr_product_sum_dtype(granary_dtype dtype)
{
    return dtype == GRANARY_FLOAT32 ? GRANARY_FLOAT64 : dtype == GRANARY_COMPLEX64 ? GRANARY_COMPLEX128 : dtype;
}

int64_t
gr_factor_block(int64_t rows, int64_t columns)
{
    int64_t side = larger(columns, 1), block;

    if (side > (INT64_C(1) << 40)) {
        return INT64_C(1) << 45;
    }
    block = power_of_two(BLOCK_ELEMENTS / side, 16 * side);
    while (rows / block < BLOCKS_LEAST && block >= 32 * side && block / 2 * side >= FACTOR_LEAST) {
        block /= 2;
    }
    return block;
}

bool
gr_factor_is_tall(int64_t rows, int64_t columns)
{
    return rows / 2 >= gr_factor_block(rows, columns);
}
