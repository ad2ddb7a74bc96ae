/* What the files that infer types of tensors share. Errors come without the node's name. */
#ifndef GRAPH_INFER_PRIVATE_H
#define GRAPH_INFER_PRIVATE_H

#include "graph/node.h"

enum { DIMS_MAX = 8 };

/* A parameter, or NULL. */
const Granary__Attr *infer_find(const struct gr_node *node, const char *name);

/* A shape as messages show it: "(3, 4)"; (? when the first size is not known. */
struct infer_shown {
    char text[192];
};
const char *infer_show_type(const struct gr_node_type *type, struct infer_shown *shown);

/* Elements of a shape. Errors: EINVAL more bytes than an address space has */
granary_err infer_count(int dims, const int64_t *shape, int64_t *ret_count);
/* A parameter that is a shape. Errors: EINVAL */
granary_err infer_read_shape(const Granary__Attr *attr, struct gr_node_type *type);
/* Which dimensions the parameter "axes" (NULL: all) reduces in a tensor of so many. Errors: EINVAL */
granary_err infer_read_axes(const Granary__Attr *axes, int dims, bool ret_reduced[DIMS_MAX]);
/* The parameter "chunk", if there is one. Errors: EINVAL it does not fit */
granary_err infer_check_chunk(const struct gr_node *node, const struct gr_node_type *type);

/* Several dtypes are promoted in two turns, floats first, as NumPy does: whether this one's is the first. */
bool infer_is_turn_of(granary_dtype dtype, bool first);

granary_err
infer_array(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type);
granary_err
infer_matmul(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type);
granary_err
infer_linalg(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type);
granary_err
infer_along(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type);
granary_err infer_view(const struct gr_node *node, const struct gr_node_type *const *inputs, struct gr_node_type *type);

#endif
