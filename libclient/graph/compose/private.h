/*
 * What the files that write operators as others share: nodes are added one by one, each from those before it. The
 * compose() of an operator returns the position of the last one; the operator's own: it stays as it is.
 */
#ifndef GRAPH_COMPOSE_PRIVATE_H
#define GRAPH_COMPOSE_PRIVATE_H

#include "graph/compose/compose.h"
#include "graph/operator.h"

#define NO_NODE SIZE_MAX

/* An error sticks: from then on nothing is added, and positions mean nothing. */
struct composition {
    struct gr_graph *graph;
    size_t node; /* whose place is taken */
    size_t next; /* free place */
    granary_err err;
};

/* A node over up to two others (NO_NODE: none), with up to two attributes (NULL: none), which are *taken*. Returns its
 * position. */
size_t
compose_add(struct composition *x, enum gr_tile_op op, size_t a, size_t b, Granary__Attr *first, Granary__Attr *second);
/* ... over any number of others, with up to three attributes. */
size_t compose_add_many(struct composition *x, enum gr_tile_op op, const size_t *inputs, size_t count,
                        Granary__Attr *const attrs[3]);

/* Attributes; without memory the composition fails. */
Granary__Attr *compose_ints(struct composition *x, const char *name, const int64_t *values, size_t count);
Granary__Attr *compose_names(struct composition *x, const char *name, const char *const *values, size_t count);
Granary__Attr *compose_int(struct composition *x, const char *name, int64_t value);
Granary__Attr *compose_number(struct composition *x, const char *name, double value);
Granary__Attr *compose_bool(struct composition *x, const char *name, bool value);
Granary__Attr *compose_text(struct composition *x, const char *name, const char *value);

/* Fail; returns a position that means nothing. */
size_t compose_fail(struct composition *x, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is there: input k of the operator, its parameters, and any node's type. */
size_t compose_input(const struct composition *x, size_t k);
size_t compose_inputs(const struct composition *x);
const struct gr_node_type *compose_type(const struct composition *x, size_t position);
const Granary__Attr *compose_param(const struct composition *x, const char *name);
int64_t compose_param_int(const struct composition *x, const char *name, int64_t fallback);
/* The parameter as a dimension of that many; fails when there is none such. */
int compose_axis(struct composition *x, const char *name, int64_t fallback, int dims);

/* Shorthands. */
size_t compose_unary(struct composition *x, enum gr_tile_op op, size_t a);
size_t compose_binary(struct composition *x, enum gr_tile_op op, size_t a, size_t b);
size_t compose_value(struct composition *x, enum gr_tile_op op, size_t a, double value);
size_t compose_reshape(struct composition *x, size_t a, const int64_t *shape, size_t dims);
size_t compose_transpose(struct composition *x, size_t a, const int64_t *axes, size_t dims);
/* To a dtype; the node itself when it has it. */
size_t compose_astype(struct composition *x, size_t a, granary_dtype dtype);
/* A reduction over one axis (-1: all) that stays, of one element, or not. */
size_t compose_reduce(struct composition *x, enum gr_tile_op op, size_t a, int axis, bool keep);
/* A tensor of one value. */
/* value: an attribute of that name; NULL is 0. */
size_t
compose_full(struct composition *x, const int64_t *shape, int dims, const Granary__Attr *value, granary_dtype dtype);
/* Integers before `count`. */
size_t compose_range(struct composition *x, int64_t count);

#endif
