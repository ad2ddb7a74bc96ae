/*
 * Tall matrices: how their rows are cut for products and factorisations. It follows from the shape alone. So neither the sizes
 * of chunks nor the number of machines changes the last digits: whoever computes a block sees the same numbers.
 */
#ifndef GRAPH_TENSOR_TALL_H
#define GRAPH_TENSOR_TALL_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/dtype_class.h"

/* A product goes by strips of rows of the left side: of each one call of OpenBLAS. Of a stack's matrices, and at most: */
#define GR_PRODUCT_STRIP INT64_C(512)

enum gr_product_way {
    GR_PRODUCT_BY_ROWS,   /* the right side is small and whole: rows of the left side are cut at strips */
    GR_PRODUCT_BY_SUMS,   /* of very many columns by rows, with a small result: products of blocks, added as a tree */
    GR_PRODUCT_BY_BLOCKS, /* of all others: blocks of both sides, added along the inner dimension */
};

/* How m x k by k x n is computed. */
enum gr_product_way gr_product_way(int64_t m, int64_t k, int64_t n);
/* Rows of a strip of a left side of m rows: so many that there are four at least, but 128 rows or more. A power of two. */
int64_t gr_product_strip(int64_t m);
/* Rows of a block of GR_PRODUCT_BY_SUMS, whose result is m x n. A power of two. */
int64_t gr_product_block(int64_t m, int64_t n);

/* What its blocks are added up in: floats in float64, so that nothing is rounded on the way. */
granary_dtype gr_product_sum_dtype(granary_dtype dtype);

/* Rows of a block of a factorisation. Such a matrix has four blocks at least, unless they are small. A power of two. */
int64_t gr_factor_block(int64_t rows, int64_t columns);
/* Whether it goes by blocks. */
bool gr_factor_is_tall(int64_t rows, int64_t columns);

#endif
