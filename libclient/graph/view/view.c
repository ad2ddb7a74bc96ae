/* Views: boxes are added by the operator's maker, and shapes follow from them. */
#include "graph/view/private.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

void
gr_view_fini(struct gr_view *view)
{
    free(view->boxes);
    *view = (struct gr_view){.joined = -1};
}

void
gr_view_shape(const struct gr_view *view, int *ret_dims, int64_t *ret_shape)
{
    int dims = 0;

    for (int d = 0; d < view->dims; d++) {
        ret_shape[dims++] = view->shape[d] * (d == view->joined ? view->shape[d + 1] : 1);
        d += d == view->joined;
    }
    *ret_dims = dims;
}

/* ---- pieces ---- */

/* A box of the whole result that shows input 0 as it is; NULL: no memory. */
struct gr_view_box *
view_add_box(struct gr_view *view)
{
    struct gr_view_box *box;

    if (view->count == view->room) {
        size_t room = view->room == 0 ? 4 : view->room * 2;
        struct gr_view_box *boxes = realloc(view->boxes, room * sizeof *boxes);

        if (boxes == NULL) {
            (void)gr_fail(GRANARY_ENOMEM, "a view of %zu boxes: out of memory", room);
            return NULL;
        }
        view->boxes = boxes;
        view->room = room;
    }
    box = &view->boxes[view->count++];
    *box = (struct gr_view_box){.input = 0};
    for (int d = 0; d < 8; d++) {
        box->extent[d] = d < view->dims ? view->shape[d] : 0;
        box->dim[d] = d;
        box->step[d] = 1;
    }
    return box;
}

granary_err
view_read_axis(int64_t axis, int dims, const char *name, int *ret_axis)
{
    if (axis < -dims || axis >= dims) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s': there is no axis %lld in a tensor of %d dimension%s", name,
                       (long long)axis, dims, dims == 1 ? "" : "s");
    }
    *ret_axis = (int)(axis < 0 ? axis + dims : axis);
    return GRANARY_OK;
}

granary_err
view_read_axes(const Granary__Attr *axes, int dims, bool fallback, bool ret_named[8])
{
    for (int d = 0; d < 8; d++) {
        ret_named[d] = axes == NULL && fallback;
    }
    for (size_t i = 0; axes != NULL && i < axes->n_ints; i++) {
        int axis;
        granary_err err = view_read_axis(axes->ints[i], dims, axes->name, &axis);

        if (err != GRANARY_OK) {
            return err;
        }
        if (ret_named[axis]) {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' names axis %d twice", axes->name, axis);
        }
        ret_named[axis] = true;
    }
    return GRANARY_OK;
}

granary_err
view_too_many_dims(int dims)
{
    return gr_fail(GRANARY_EINVAL, "the result would have %d dimensions; at most 8 are possible", dims);
}

void
view_same_shape(struct view_making *m)
{
    m->view->dims = m->inputs[0]->dims;
    memcpy(m->view->shape, m->inputs[0]->shape, sizeof m->view->shape);
}

/* ---- the operators ---- */

granary_err
view_make_rechunk(struct view_making *m)
{
    view_same_shape(m);
    return view_add_box(m->view) == NULL ? GRANARY_ENOMEM : GRANARY_OK;
}

granary_err
gr_view_make(enum gr_tile_op op, Granary__Attr *const *attrs, size_t attr_count,
             const struct gr_node_type *const *inputs, size_t input_count, struct gr_view *ret_view)
{
    struct view_making m = {op, attrs, attr_count, inputs, input_count, ret_view};

    *ret_view = (struct gr_view){.joined = -1};
    switch (op) {
#define TENSOR_VIEW(name, min, max, summary)                                                                           \
    case GR_TILE_##name:                                                                                               \
        return view_make_##name(&m);
#include "contract/ops/tensor_views.def"
#undef TENSOR_VIEW
    default:
        return gr_fail(GRANARY_EUNSUPPORTED, "it does more than move elements");
    }
}
