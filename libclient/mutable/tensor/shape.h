/* shape: what a mutable tensor is made of: its elements, and the chunks into which they are cut. */
#ifndef MUTABLE_TENSOR_SHAPE_H
#define MUTABLE_TENSOR_SHAPE_H

#include <stdbool.h>

#include "data/frame.h"
#include "granary/mutable.h"

#define TENSOR_DIMS 8

struct tensor_shape {
    granary_dtype dtype;
    size_t element; /* bytes */
    int dims;
    int64_t shape[TENSOR_DIMS];
    int64_t chunk[TENSOR_DIMS]; /* elements of a chunk; the last one along a dimension may have fewer */
    int64_t grid[TENSOR_DIMS];  /* chunks along each dimension */
    uint64_t chunks;            /* all of them; they have numbers in C order */
    unsigned char fill[8];      /* the value of what was never written */
};

/* Errors: EINVAL names the dimension, or a fill that the dtype cannot hold */
granary_err shape_plan(const granary_mutable_tensor *tensor, struct tensor_shape *ret_shape);

/* Whether two are the same, fills included (nan is nan). */
bool shape_equal(const struct tensor_shape *a, const struct tensor_shape *b);

/* As columns of the table's object, and back. Errors: ENOMEM; ECORRUPT */
granary_err shape_frame(const struct tensor_shape *shape, const char *mark, granary_frame **ret_frame);
granary_err shape_read(const granary_frame *frame, struct tensor_shape *ret_shape);

/* Where a chunk begins, and how many elements it has along each dimension. Returns how many it has. */
int64_t shape_extent(const struct tensor_shape *shape, uint64_t chunk, int64_t ret_origin[TENSOR_DIMS],
                     int64_t ret_extent[TENSOR_DIMS]);

/* Distances in bytes between neighbours of a dense array of these extents, in C order. */
void
shape_strides(const struct tensor_shape *shape, const int64_t extent[TENSOR_DIMS], int64_t ret_strides[TENSOR_DIMS]);

/* Copy elements of boxes that lie at strides (bytes, of any sign); a stride of 0 repeats. */
void copy_box(int dims, const int64_t *counts, const char *from, const int64_t *from_strides, char *to,
              const int64_t *to_strides, size_t element);

#endif
