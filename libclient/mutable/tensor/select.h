/*
 * select: which elements of a tensor an index means, as in NumPy. A selection without lists is a box with steps; one
 * with lists or masks is expanded element by element.
 */
#ifndef MUTABLE_TENSOR_SELECT_H
#define MUTABLE_TENSOR_SELECT_H

#include "mutable/tensor/shape.h"

/* Positions first, first + step, ... of a dimension. */
struct select_axis {
    int64_t first;
    int64_t step;
    int64_t count;
    int out; /* the dimension of the result; -1: it has none */
};

/* An element that was expanded. */
struct select_element {
    uint64_t chunk;
    uint32_t offset; /* elements, in the chunk */
    int64_t at;      /* position in the result, in C order */
};

struct selection {
    const struct tensor_shape *shape;
    struct select_axis axis[TENSOR_DIMS]; /* without lists */
    int dims;                             /* of the result */
    int64_t out[TENSOR_DIMS];
    int64_t elements;
    bool is_expanded;
    struct select_element *element; /* elements of them, by chunk, and in the result's order within one */
};

/* Errors: EINVAL a position that is not there, too many indexes, lists that do not fit · ENOMEM */
granary_err select_resolve(const struct tensor_shape *shape, const granary_index *indexes, size_t count,
                           struct selection *ret_selection);
void select_free(struct selection *selection);

/* The part of a box that lies in one chunk. */
struct select_part {
    uint64_t chunk;
    int64_t counts[TENSOR_DIMS]; /* of the chunk's dimensions */
    int64_t first[TENSOR_DIMS];  /* position in the chunk */
    int64_t step[TENSOR_DIMS];
    int64_t at[TENSOR_DIMS]; /* which of the axis' positions it begins with */
    int64_t extent[TENSOR_DIMS];
    bool is_whole; /* all elements of the chunk */
};

/* Each chunk that a box touches. Errors: those of take, which end it */
typedef granary_err select_take(void *context, const struct select_part *part);
granary_err select_parts(const struct selection *selection, select_take *take, void *context);

#endif
