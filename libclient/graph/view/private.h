/* Within the room: what operators that move elements are made with. */
#ifndef GRAPH_VIEW_PRIVATE_H
#define GRAPH_VIEW_PRIVATE_H

#include "graph/view/view.h"

/* What an operator is made from. */
struct view_making {
    enum gr_tile_op op;
    Granary__Attr *const *attrs;
    size_t attr_count;
    const struct gr_node_type *const *inputs;
    size_t input_count;
    struct gr_view *view;
};

/* The parameters, as those of an operator. */
#define VIEW_PARAMS(op, m) GR_PARAMS(op, (m)->attrs, (m)->attr_count)
/* A box of the whole result that shows input 0 as it is; NULL: no memory. */
struct gr_view_box *view_add_box(struct gr_view *view);
/* A dimension by its number, negative from the end. Errors: EINVAL */
granary_err view_read_axis(int64_t axis, int dims, const char *name, int *ret_axis);
/* Which dimensions a list of axes names; fallback: without a list (NULL) all of them. Errors: EINVAL */
granary_err view_read_axes(const Granary__Attr *axes, int dims, bool fallback, bool ret_named[8]);
/* The error EINVAL. */
granary_err view_too_many_dims(int dims);
/* The result has the first input's shape. */
void view_same_shape(struct view_making *m);

/* The operators, by name. Errors: EINVAL, ENOMEM */
#define TENSOR_VIEW(name, min, max, summary) granary_err view_make_##name(struct view_making *m);
#include "contract/ops/tensor_views.def"
#undef TENSOR_VIEW

#endif
