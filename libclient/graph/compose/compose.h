/*
 * Tensor operators that are written as several others: once the types of its inputs are known, such a node's place is
 * taken by nodes of its own. There are no tile rules or kernels for it.
 *
 * Positions do not move: a graph keeps room before the node, absent nodes that nothing reads until they are used.
 */
#ifndef GRAPH_COMPOSE_COMPOSE_H
#define GRAPH_COMPOSE_COMPOSE_H

#include "graph/graph.h"

/* clang-format off */
#define GR_COMPOSED_OPS(X) \
    X(outer, 2) X(inner, 10) X(dot, 10) X(vdot, 4) X(tensordot, 10) X(einsum, 16) X(kron, 4) X(cross, 8) \
    X(trace, 2) X(ptp, 3) X(average, 8) X(norm, 4) X(tensor_cov, 12) X(corrcoef, 20) X(rot90, 3) X(fliplr, 1) X(flipud, 1) \
    X(vstack, 0) X(hstack, 0) X(dstack, 0) X(column_stack, 0) X(meshgrid, 2) X(indices, 26) X(gradient, 12) \
    X(pad, 24) X(nancumsum, 3) X(nancumprod, 3) X(nanargmax, 3) X(nanargmin, 3) X(histogram, 34) \
    X(permutation, 3) X(choice, 8) X(diag, 9) X(pinv, 3) X(matrix_rank, 8) X(allclose, 2) X(array_equal, 2) \
    X(moment, 5) X(skew, 10) X(kurtosis, 10) X(sem, 3) X(partition, 1) X(argpartition, 1) X(logspace, 3) \
    X(select_where, 12) X(flatnonzero, 10) X(argwhere, 40) X(unique, 8) X(union1d, 12) X(intersect1d, 24) \
    X(setdiff1d, 24)
/* Those that have a tile rule, but not for all inputs. */
#define GR_COMPOSED_AT_TIMES_OPS(X) X(matmul, 6)
/* clang-format on */

bool gr_op_is_composed(enum gr_tile_op op);
/* How much room such a node needs at most. */
size_t gr_compose_room(enum gr_tile_op op, size_t inputs);

/* Compose node i, whose inputs' types are known; *ret_stays: it needs not be. Errors: EINVAL, ETYPE, ENOMEM; without
 * the node's name */
granary_err gr_compose(struct gr_graph *graph, size_t i, bool *ret_stays);

#endif
