/* Results of several boxes: tensors put together, copies, parts. */
#include <string.h>

#include "base/error.h"
#include "graph/tensor/types.h"
#include "graph/view/private.h"

granary_err
view_make_concatenate(struct view_making *m)
{
    const struct gr_node_type *first = m->inputs[0];
    bool stack = m->op == GR_TILE_stack;
    int dims = first->dims + stack;
    int axis;
    int64_t at = 0;
    granary_err err;

    if (dims > 8) {
        return view_too_many_dims(dims);
    }
    if (dims == 0) {
        return gr_fail(GRANARY_EINVAL, "tensors without dimensions cannot be put behind one another; stack them");
    }
    if ((err = view_read_axis(VIEW_PARAMS(concatenate, m)->axis, dims, "axis", &axis)) != GRANARY_OK) {
        return err;
    }
    m->view->dims = dims;
    for (int d = 0; d < dims; d++) {
        m->view->shape[d] = stack && d == axis ? (int64_t)m->input_count : first->shape[stack && d > axis ? d - 1 : d];
    }
    for (size_t k = 0; k < m->input_count; k++) {
        const struct gr_node_type *input = m->inputs[k];
        struct gr_view_box *box = view_add_box(m->view);
        bool fits = input->dims == first->dims;

        if (box == NULL) {
            return GRANARY_ENOMEM;
        }
        for (int d = 0; d < input->dims && fits; d++) {
            fits = input->shape[d] == first->shape[d] || (!stack && d == axis);
        }
        if (!fits) {
            return gr_fail(GRANARY_EINVAL, "input %zu has another shape than the first%s", k,
                           stack ? "" : ", not only along the axis");
        }
        box->input = k;
        box->to[axis] = at;
        box->extent[axis] = stack ? 1 : input->shape[axis];
        for (int a = 0; a < input->dims && stack; a++) {
            box->dim[a] = a >= axis ? a + 1 : a;
        }
        if (__builtin_add_overflow(at, box->extent[axis], &at)) {
            return gr_fail(GRANARY_EINVAL, "the result is larger than any memory");
        }
    }
    m->view->shape[axis] = at;
    return GRANARY_OK;
}

/* Copies of the input side by side: counts[d] along dimension d, the first moved to the left by shift[d] (of its
 * elements). */
static granary_err
add_copies(struct view_making *m, const struct gr_node_type *input, int shift, const int64_t *counts,
           const int64_t *moved)
{
    int64_t which[8] = {0};
    int dims = m->view->dims;

    for (int d = 0; d < dims; d++) {
        if (counts[d] == 0) {
            return view_add_box(m->view) == NULL ? GRANARY_ENOMEM : GRANARY_OK;
        }
    }
    for (;;) {
        struct gr_view_box *box = view_add_box(m->view);
        int d = dims - 1;

        if (box == NULL) {
            return GRANARY_ENOMEM;
        }
        if (m->view->count > GR_VIEW_BOXES) {
            return gr_fail(GRANARY_EINVAL, "more than %d copies", GR_VIEW_BOXES);
        }
        for (int a = 0; a < input->dims; a++) {
            box->dim[a] = a + shift;
        }
        for (int r = 0; r < dims; r++) {
            int64_t n = r >= shift ? input->shape[r - shift] : 1;
            int64_t begin = which[r] * n - moved[r];
            int64_t end = begin + n < m->view->shape[r] ? begin + n : m->view->shape[r];

            box->to[r] = begin < 0 ? 0 : begin;
            box->extent[r] = end - box->to[r] < 0 ? 0 : end - box->to[r];
            if (r >= shift) {
                box->from[r - shift] = begin < 0 ? -begin : 0;
            }
        }
        while (d >= 0 && ++which[d] == counts[d]) {
            which[d--] = 0;
        }
        if (d < 0) {
            return GRANARY_OK;
        }
    }
}

granary_err
view_make_stack(struct view_making *m)
{
    return view_make_concatenate(m);
}

granary_err
view_make_tile(struct view_making *m)
{
    const Granary__Attr *repeats = VIEW_PARAMS(tile, m)->repeats;
    const struct gr_node_type *input = m->inputs[0];
    int dims = (int)repeats->n_ints > input->dims ? (int)repeats->n_ints : input->dims;
    int64_t counts[8], moved[8] = {0};

    if (repeats->n_ints > 8) {
        return view_too_many_dims((int)repeats->n_ints);
    }
    m->view->dims = dims;
    for (int d = 0; d < dims; d++) {
        int own = d - (dims - input->dims);
        int given = d - (dims - (int)repeats->n_ints);

        counts[d] = given >= 0 ? repeats->ints[given] : 1;
        if (counts[d] < 0 || __builtin_mul_overflow(counts[d], own >= 0 ? input->shape[own] : 1, &m->view->shape[d])) {
            return gr_fail(GRANARY_EINVAL, "parameter 'repeats' cannot be %lld", (long long)counts[d]);
        }
    }
    return add_copies(m, input, dims - input->dims, counts, moved);
}

granary_err
view_make_roll(struct view_making *m)
{
    const Granary__Attr *shift = VIEW_PARAMS(roll, m)->shift;
    const Granary__Attr *axes = VIEW_PARAMS(roll, m)->axes;
    const struct gr_node_type *input = m->inputs[0];
    int64_t counts[8], moved[8] = {0};

    if (axes->n_ints != shift->n_ints && shift->n_ints != 1) {
        return gr_fail(GRANARY_EINVAL, "parameter 'axes' needs an axis for each shift");
    }
    view_same_shape(m);
    for (size_t i = 0; i < axes->n_ints; i++) {
        int axis;
        granary_err err = view_read_axis(axes->ints[i], input->dims, "axes", &axis);
        int64_t n = err == GRANARY_OK && input->shape[axis] > 0 ? input->shape[axis] : 1;
        int64_t by = shift->ints[shift->n_ints == 1 ? 0 : i] % n;

        if (err != GRANARY_OK) {
            return err;
        }
        moved[axis] = (moved[axis] + n - by) % n;
    }
    for (int d = 0; d < input->dims; d++) {
        counts[d] = moved[d] == 0 ? 1 : 2;
    }
    return add_copies(m, input, 0, counts, moved);
}

/* Every element so often: a dimension behind the axis along which nothing changes, which is then joined with it. */
granary_err
view_make_repeat(struct view_making *m)
{
    const struct gr_node_type *input = m->inputs[0];
    int64_t repeats = VIEW_PARAMS(repeat, m)->repeats;
    int64_t total;
    int axis;
    struct gr_view_box *box;
    granary_err err;

    if (input->dims == 0 || input->dims == 8) {
        return gr_fail(GRANARY_EINVAL, "it needs a tensor of 1 to 7 dimensions, not of %d", input->dims);
    }
    if ((err = view_read_axis(VIEW_PARAMS(repeat, m)->axis, input->dims, "axis", &axis)) != GRANARY_OK) {
        return err;
    }
    if (repeats < 0 || __builtin_mul_overflow(repeats, input->shape[axis], &total)) {
        return gr_fail(GRANARY_EINVAL, "parameter 'repeats' cannot be %lld", (long long)repeats);
    }
    m->view->dims = input->dims + 1;
    for (int d = 0; d < m->view->dims; d++) {
        m->view->shape[d] = d == axis + 1 ? repeats : input->shape[d > axis ? d - 1 : d];
    }
    m->view->joined = axis;
    if ((box = view_add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    for (int a = 0; a < input->dims; a++) {
        box->dim[a] = a > axis ? a + 1 : a;
    }
    return GRANARY_OK;
}

/* Positions that follow one another with one step are a box. */
granary_err
view_make_take(struct view_making *m)
{
    const Granary__Attr *indices = VIEW_PARAMS(take, m)->indices;
    const struct gr_node_type *input = m->inputs[0];
    int axis;
    int64_t n;
    granary_err err;

    if (input->dims == 0) {
        return gr_fail(GRANARY_EINVAL, "a tensor without dimensions has no axis");
    }
    if ((err = view_read_axis(VIEW_PARAMS(take, m)->axis, input->dims, "axis", &axis)) != GRANARY_OK) {
        return err;
    }
    view_same_shape(m);
    n = input->shape[axis];
    m->view->shape[axis] = (int64_t)indices->n_ints;
    for (size_t i = 0; i < indices->n_ints;) {
        struct gr_view_box *box = view_add_box(m->view);
        int64_t first = indices->ints[i];
        int64_t step = 1;
        size_t count = 1;

        if (box == NULL) {
            return GRANARY_ENOMEM;
        }
        if (first < -n || first >= n) {
            return gr_fail(GRANARY_EINVAL, "parameter 'indices': %lld is out of bounds for axis %d of %lld elements",
                           (long long)first, axis, (long long)n);
        }
        first = first < 0 ? first + n : first;
        while (i + count < indices->n_ints) {
            int64_t next = indices->ints[i + count];

            next = next < 0 ? next + n : next;
            if (count == 1) {
                step = next - first;
            }
            if (next < 0 || next >= n || step == 0 || next != first + step * (int64_t)count) {
                break;
            }
            count++;
        }
        box->to[axis] = (int64_t)i;
        box->extent[axis] = (int64_t)count;
        box->from[axis] = first;
        box->step[axis] = count == 1 ? 1 : step;
        i += count;
        if (m->view->count > GR_VIEW_BOXES) {
            return gr_fail(GRANARY_EINVAL, "parameter 'indices' has more than %d runs", GR_VIEW_BOXES);
        }
    }
    return indices->n_ints == 0 && view_add_box(m->view) == NULL ? GRANARY_ENOMEM : GRANARY_OK;
}

/* One of equal parts along an axis. */
granary_err
view_make_split(struct view_making *m)
{
    const struct gr_node_type *input = m->inputs[0];
    const struct gr_params_split *params = VIEW_PARAMS(split, m);
    int64_t parts = params->parts;
    int64_t part = params->part;
    int64_t align = params->align;
    int64_t begin;
    int axis;
    struct gr_view_box *box;
    granary_err err = view_read_axis(params->axis, input->dims, "axis", &axis);

    if (err == GRANARY_OK && (parts < 1 || part < 0 || part >= parts)) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'part' is %lld of %lld parts", (long long)part, (long long)parts);
    } else if (err == GRANARY_OK && align < 1) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'align' is %lld; it can be 1 or more", (long long)align);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    view_same_shape(m);
    begin = gr_tensor_part(input->shape[axis], part, parts, align);
    m->view->shape[axis] = gr_tensor_part(input->shape[axis], part + 1, parts, align) - begin;
    if ((box = view_add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    box->from[axis] = begin;
    return GRANARY_OK;
}
