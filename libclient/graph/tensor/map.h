/* Element-wise operators as programs: the instructions of executor/kernel/tensor/program.h. */
#ifndef GRAPH_TENSOR_MAP_H
#define GRAPH_TENSOR_MAP_H

#include "graph/graph.h"
#include "graph/tensor/types.h"

#define GR_PROGRAM_INPUTS 16
#define GR_PROGRAM_LENGTH 64

/* Whether an operator works element by element. */
bool gr_op_is_map(enum gr_tile_op op);
/* GR_REDUCE_COUNT when it is no reduction. */
enum gr_reduction gr_op_reduction(enum gr_tile_op op);

/* Errors, without the node's name: EINVAL too many or too few operands, ... */
granary_err gr_map_check(const Granary__Node *node, enum gr_tile_op op);
/* Errors: ETYPE, EINVAL */
granary_err gr_map_dtype(enum gr_tile_op op, Granary__Attr *const *attrs, size_t attr_count,
                         const granary_dtype *inputs, size_t input_count, granary_dtype *ret_dtype);
/* Whether a number written in the graph is complex: a string. */
bool gr_attr_is_complex(const Granary__Attr *attr);
/* Whether it has a value of that dtype. Bools and floats take any but complex ones. */
bool gr_number_fits(const Granary__Attr *attr, granary_dtype dtype);
/* EINVAL: it does not fit, and why. */
granary_err gr_number_misfit(const Granary__Attr *attr, granary_dtype dtype);
/* The operator's program over its inputs, or what a reduction needs before it: an attribute "program", maybe empty.
 * NULL: no memory */
Granary__Attr *gr_map_program(enum gr_tile_op op, Granary__Attr *const *attrs, size_t attr_count,
                              const granary_dtype *inputs, size_t input_count);

#endif
