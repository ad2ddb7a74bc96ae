/* Dimensions in another order, more and fewer of them. */
#include <string.h>

#include "base/error.h"
#include "graph/view/private.h"

/* Result dimension d is the input's dimension order[d]. */
static granary_err
make_order(struct view_making *m, const int order[8])
{
    int dims = m->inputs[0]->dims;
    struct gr_view_box *box;

    m->view->dims = dims;
    for (int d = 0; d < dims; d++) {
        m->view->shape[d] = m->inputs[0]->shape[order[d]];
    }
    if ((box = view_add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    for (int d = 0; d < dims; d++) {
        box->dim[order[d]] = d;
    }
    return GRANARY_OK;
}

granary_err
view_make_transpose(struct view_making *m)
{
    const Granary__Attr *axes = VIEW_PARAMS(transpose, m)->axes;
    int dims = m->inputs[0]->dims;
    int order[8];
    bool named[8];
    granary_err err = view_read_axes(axes, dims, true, named);

    if (err == GRANARY_OK && axes != NULL && axes->n_ints != (size_t)dims) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'axes' names %zu axes of %d", axes->n_ints, dims);
    }
    for (int d = 0; d < dims; d++) {
        order[d] = dims - 1 - d;
        if (axes != NULL && err == GRANARY_OK) {
            order[d] = (int)(axes->ints[d] < 0 ? axes->ints[d] + dims : axes->ints[d]);
        }
    }
    return err == GRANARY_OK ? make_order(m, order) : err;
}

granary_err
view_make_swapaxes(struct view_making *m)
{
    int order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    const struct gr_params_swapaxes *params = VIEW_PARAMS(swapaxes, m);
    int first, second;
    granary_err err = view_read_axis(params->axis1, m->inputs[0]->dims, "axis1", &first);

    if (err == GRANARY_OK &&
        (err = view_read_axis(params->axis2, m->inputs[0]->dims, "axis2", &second)) == GRANARY_OK) {
        order[first] = second;
        order[second] = first;
        return make_order(m, order);
    }
    return err;
}

granary_err
view_make_moveaxis(struct view_making *m)
{
    const Granary__Attr *source = VIEW_PARAMS(moveaxis, m)->source;
    const Granary__Attr *destination = VIEW_PARAMS(moveaxis, m)->destination;
    int dims = m->inputs[0]->dims;
    bool moved[8], taken[8];
    int order[8];
    int next = 0;
    granary_err err = view_read_axes(source, dims, false, moved);

    if (err == GRANARY_OK && (err = view_read_axes(destination, dims, false, taken)) == GRANARY_OK &&
        source->n_ints != destination->n_ints) {
        err = gr_fail(GRANARY_EINVAL, "parameters 'source' and 'destination' name %zu and %zu axes", source->n_ints,
                      destination->n_ints);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; i < source->n_ints; i++) {
        int64_t to = destination->ints[i] < 0 ? destination->ints[i] + dims : destination->ints[i];

        order[to] = (int)(source->ints[i] < 0 ? source->ints[i] + dims : source->ints[i]);
    }
    for (int d = 0; d < dims; d++) {
        if (!taken[d]) {
            while (moved[next]) {
                next++;
            }
            order[d] = next++;
        }
    }
    return make_order(m, order);
}

granary_err
view_make_expand_dims(struct view_making *m)
{
    const Granary__Attr *axes = VIEW_PARAMS(expand_dims, m)->axes;
    const struct gr_node_type *input = m->inputs[0];
    int dims = input->dims + (int)axes->n_ints;
    bool added[8];
    struct gr_view_box *box;
    int own = 0;
    granary_err err;

    if (axes->n_ints > 8 || dims > 8) {
        return view_too_many_dims(dims);
    }
    if ((err = view_read_axes(axes, dims, false, added)) != GRANARY_OK) {
        return err;
    }
    m->view->dims = dims;
    for (int d = 0; d < dims; d++) {
        m->view->shape[d] = added[d] ? 1 : input->shape[own++];
    }
    if ((box = view_add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    own = 0;
    for (int d = 0; d < dims; d++) {
        if (!added[d]) {
            box->dim[own++] = d;
        }
    }
    return GRANARY_OK;
}

granary_err
view_make_squeeze(struct view_making *m)
{
    const struct gr_node_type *input = m->inputs[0];
    const Granary__Attr *axes = VIEW_PARAMS(squeeze, m)->axes;
    bool named[8];
    int place[8];
    struct gr_view_box *box;
    granary_err err = view_read_axes(axes, input->dims, true, named);

    for (int d = 0; d < input->dims && err == GRANARY_OK; d++) {
        if (named[d] && input->shape[d] != 1 && axes != NULL) {
            return gr_fail(GRANARY_EINVAL, "axis %d has %lld elements, only one of 1 can be left out", d,
                           (long long)input->shape[d]);
        }
        place[d] = -1;
        if (!named[d] || input->shape[d] != 1) {
            place[d] = m->view->dims;
            m->view->shape[m->view->dims++] = input->shape[d];
        }
    }
    if (err == GRANARY_OK) {
        if ((box = view_add_box(m->view)) == NULL) {
            return GRANARY_ENOMEM;
        }
        memcpy(box->dim, place, (size_t)input->dims * sizeof place[0]);
    }
    return err;
}

granary_err
view_make_flip(struct view_making *m)
{
    const struct gr_node_type *input = m->inputs[0];
    bool named[8];
    struct gr_view_box *box;
    granary_err err = view_read_axes(VIEW_PARAMS(flip, m)->axes, input->dims, true, named);

    if (err != GRANARY_OK) {
        return err;
    }
    view_same_shape(m);
    if ((box = view_add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    for (int d = 0; d < input->dims; d++) {
        if (named[d]) {
            box->from[d] = input->shape[d] - 1;
            box->step[d] = -1;
        }
    }
    return GRANARY_OK;
}

granary_err
view_make_broadcast_to(struct view_making *m)
{
    const Granary__Attr *shape = VIEW_PARAMS(broadcast_to, m)->shape;
    const struct gr_node_type *input = m->inputs[0];
    struct gr_view_box *box;
    int shift = (int)shape->n_ints - input->dims;

    if (shape->n_ints > 8 || shift < 0) {
        return gr_fail(GRANARY_EINVAL, "parameter 'shape' has %zu dimensions, the tensor %d", shape->n_ints,
                       input->dims);
    }
    m->view->dims = (int)shape->n_ints;
    for (int d = 0; d < m->view->dims; d++) {
        int own = d - shift;

        m->view->shape[d] = shape->ints[d];
        if (shape->ints[d] < 0 || (own >= 0 && input->shape[own] != 1 && input->shape[own] != shape->ints[d])) {
            return gr_fail(GRANARY_EINVAL,
                           "parameter 'shape': %lld elements along dimension %d do not fit the tensor's %lld",
                           (long long)shape->ints[d], d, own >= 0 ? (long long)input->shape[own] : 1);
        }
    }
    if ((box = view_add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    for (int own = 0; own < input->dims; own++) {
        box->dim[own] = input->shape[own] == 1 ? -1 : own + shift;
    }
    return GRANARY_OK;
}

granary_err
view_make_diagonal(struct view_making *m)
{
    const struct gr_node_type *input = m->inputs[0];
    const struct gr_params_diagonal *params = VIEW_PARAMS(diagonal, m);
    int64_t offset = params->offset;
    int first, second;
    struct gr_view_box *box;
    int64_t rows, columns, count;
    int next = 0;
    granary_err err;

    if (input->dims < 2) {
        return gr_fail(GRANARY_EINVAL, "it needs a tensor of 2 dimensions or more, not of %d", input->dims);
    }
    if ((err = view_read_axis(params->axis1, input->dims, "axis1", &first)) != GRANARY_OK ||
        (err = view_read_axis(params->axis2, input->dims, "axis2", &second)) != GRANARY_OK) {
        return err;
    }
    if (first == second) {
        return gr_fail(GRANARY_EINVAL, "parameters 'axis1' and 'axis2' are the same");
    }
    offset = offset < -input->shape[first] ? -input->shape[first] : offset;
    offset = offset > input->shape[second] ? input->shape[second] : offset;
    rows = input->shape[first] - (offset < 0 ? -offset : 0);
    columns = input->shape[second] - (offset > 0 ? offset : 0);
    count = rows < columns ? rows : columns;
    m->view->dims = input->dims - 1;
    for (int d = 0; d < input->dims; d++) {
        if (d != first && d != second) {
            m->view->shape[next++] = input->shape[d];
        }
    }
    m->view->shape[next] = count < 0 ? 0 : count;
    if ((box = view_add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    next = 0;
    for (int d = 0; d < input->dims; d++) {
        box->dim[d] = d == first || d == second ? m->view->dims - 1 : next++;
    }
    box->from[first] = offset < 0 ? -offset : 0;
    box->from[second] = offset > 0 ? offset : 0;
    return GRANARY_OK;
}
