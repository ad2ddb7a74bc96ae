/*
 * Operators that only move elements. The result is put together of boxes. Each shows a part of an input, gone through
 * with any steps along any of its dimensions.
 */
#ifndef GRAPH_VIEW_VIEW_H
#define GRAPH_VIEW_VIEW_H

#include "graph/graph.h"

#define GR_VIEW_BOXES 65536

/* Element x of the box (to <= x < to + extent) is element f of the input: f[a] = from[a] + step[a] * (x[dim[a]] -
 * to[dim[a]]), from[a] where dim[a] is -1. */
struct gr_view_box {
    size_t input;
    int64_t to[8];
    int64_t extent[8];
    int dim[8]; /* by dimension of the input */
    int64_t from[8];
    int64_t step[8]; /* not 0 */
};

struct gr_view {
    int dims;
    int64_t shape[8];
    int joined; /* this dimension and the next are one in the result, which has one dimension less; -1: none */
    size_t count;
    size_t room;
    struct gr_view_box *boxes; /* later ones cover earlier ones; together they cover everything */
};

/*
 * What an operator does to inputs of these shapes.
 *
 * ret_view  to be given to gr_view_fini(), success or not
 * Errors    EINVAL parameters that do not fit, too large · ENOMEM
 */
granary_err gr_view_make(enum gr_tile_op op, Granary__Attr *const *attrs, size_t attr_count,
                         const struct gr_node_type *const *inputs, size_t input_count, struct gr_view *ret_view);
void gr_view_fini(struct gr_view *view);
/* The result's shape: dimensions that are joined are one. */
void gr_view_shape(const struct gr_view *view, int *ret_dims, int64_t *ret_shape);

#endif
