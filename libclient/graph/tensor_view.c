#include "graph/tensor_view.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* What an operator is made from. */
struct making {
    enum gr_tile_op op;
    Granary__Attr *const *attrs;
    size_t attr_count;
    const struct gr_node_type *const *inputs;
    size_t input_count;
    struct gr_view *view;
};

bool
gr_op_is_view(enum gr_tile_op op)
{
    switch (op) {
#define TENSOR_VIEW(name, min, max, summary) case GR_TILE_##name:
#include "contract/tensor_views.def"
#undef TENSOR_VIEW
        return true;
    default:
        return false;
    }
}

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

static const Granary__Attr *
find(const struct making *m, const char *name)
{
    return gr_attr_find(m->attrs, m->attr_count, name);
}

static int64_t
int_of(const struct making *m, const char *name, int64_t fallback)
{
    return gr_attr_int(m->attrs, m->attr_count, name, fallback);
}

/* A box of the whole result that shows input 0 as it is; NULL: no memory. */
static struct gr_view_box *
add_box(struct gr_view *view)
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

static granary_err
read_axis(int64_t axis, int dims, const char *name, int *ret_axis)
{
    if (axis < -dims || axis >= dims) {
        return gr_fail(GRANARY_EINVAL, "parameter '%s': there is no axis %lld in a tensor of %d dimension%s", name,
                       (long long)axis, dims, dims == 1 ? "" : "s");
    }
    *ret_axis = (int)(axis < 0 ? axis + dims : axis);
    return GRANARY_OK;
}

/* Which dimensions a list of axes names; fallback when it is missing. */
static granary_err
read_axes(const struct making *m, const char *name, int dims, bool fallback, bool ret_named[8])
{
    const Granary__Attr *attr = find(m, name);

    for (int d = 0; d < 8; d++) {
        ret_named[d] = attr == NULL && fallback;
    }
    for (size_t i = 0; attr != NULL && i < attr->n_ints; i++) {
        int axis;
        granary_err err = read_axis(attr->ints[i], dims, name, &axis);

        if (err != GRANARY_OK) {
            return err;
        }
        if (ret_named[axis]) {
            return gr_fail(GRANARY_EINVAL, "parameter '%s' names axis %d twice", name, axis);
        }
        ret_named[axis] = true;
    }
    return GRANARY_OK;
}

static granary_err
too_many_dims(int dims)
{
    return gr_fail(GRANARY_EINVAL, "the result would have %d dimensions; at most 8 are possible", dims);
}

static void
same_shape(struct making *m)
{
    m->view->dims = m->inputs[0]->dims;
    memcpy(m->view->shape, m->inputs[0]->shape, sizeof m->view->shape);
}

/* ---- indices: "1:10:2, -1, ..., None" ---- */

struct index_reader {
    const char *at;
    const char *whole;
};

static void
skip_space(struct index_reader *r)
{
    while (isspace((unsigned char)*r->at)) {
        r->at++;
    }
}

static bool
take(struct index_reader *r, const char *text)
{
    skip_space(r);
    if (strncmp(r->at, text, strlen(text)) != 0) {
        return false;
    }
    r->at += strlen(text);
    return true;
}

static granary_err
bad_index(const struct index_reader *r)
{
    return gr_fail(GRANARY_EINVAL,
                   "parameter 'index', position %d: '%.40s' is no index: write numbers, start:stop:step, ... and None, "
                   "separated by commas",
                   (int)(r->at - r->whole) + 1, r->at);
}

/* *ret_given is false when there is none. */
static granary_err
take_number(struct index_reader *r, int64_t *ret_value, bool *ret_given)
{
    char *end;
    long long value;

    skip_space(r);
    *ret_given = *r->at == '-' || isdigit((unsigned char)*r->at);
    if (!*ret_given) {
        return GRANARY_OK;
    }
    errno = 0;
    value = strtoll(r->at, &end, 10);
    if (errno != 0 || end == r->at) {
        return bad_index(r);
    }
    *ret_value = value;
    r->at = end;
    return GRANARY_OK;
}

/* How many dimensions of the tensor the rest of an index takes. */
static int
count_taken(const char *text)
{
    int count = 0;

    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        size_t blank = strspn(text, " \t");

        if (blank < length && strncmp(text + blank, "None", 4) != 0 && strncmp(text + blank, "...", 3) != 0) {
            count++;
        }
        text += length + (text[length] == ',');
    }
    return count;
}

/* Python's slice of n elements: where it begins and how many there are. */
static int64_t
slice_count(int64_t n, bool has_start, int64_t *start, bool has_stop, int64_t stop, int64_t step)
{
    int64_t low = step > 0 ? 0 : -1;
    int64_t high = step > 0 ? n : n - 1;

    if (!has_start) {
        *start = step > 0 ? low : high;
    } else {
        *start = *start < 0 ? *start + n : *start;
        *start = *start < low ? low : *start > high ? high : *start;
    }
    if (!has_stop) {
        stop = step > 0 ? high : low;
    } else {
        stop = stop < 0 ? stop + n : stop;
        stop = stop < low ? low : stop > high ? high : stop;
    }
    if (step > 0) {
        return stop > *start ? (stop - *start - 1) / step + 1 : 0;
    }
    return *start > stop ? (*start - stop - 1) / -step + 1 : 0;
}

/* One dimension of the tensor: a number or a slice. */
static granary_err
read_dimension(struct index_reader *r, int axis, int64_t n, struct gr_view *view, struct gr_view_box *box)
{
    int64_t start = 0, stop = 0, step = 1;
    bool has_start, has_stop = false, has_step = false;
    granary_err err = take_number(r, &start, &has_start);

    if (err != GRANARY_OK) {
        return err;
    }
    if (!take(r, ":")) {
        if (!has_start) {
            return bad_index(r);
        }
        if (start < -n || start >= n) {
            return gr_fail(GRANARY_EINVAL, "parameter 'index': %lld is out of bounds for axis %d of %lld elements",
                           (long long)start, axis, (long long)n);
        }
        box->dim[axis] = -1;
        box->from[axis] = start < 0 ? start + n : start;
        return GRANARY_OK;
    }
    if ((err = take_number(r, &stop, &has_stop)) != GRANARY_OK) {
        return err;
    }
    if (take(r, ":") && (err = take_number(r, &step, &has_step)) != GRANARY_OK) {
        return err;
    }
    if (step == 0 || step == INT64_MIN) {
        return gr_fail(GRANARY_EINVAL, "parameter 'index': a slice's step cannot be %lld", (long long)step);
    }
    if (view->dims == 8) {
        return too_many_dims(9);
    }
    box->dim[axis] = view->dims;
    view->shape[view->dims++] = slice_count(n, has_start, &start, has_stop, stop, step);
    box->from[axis] = start;
    box->step[axis] = view->shape[view->dims - 1] > 1 ? step : step > 0 ? 1 : -1; /* nothing overflows */
    return GRANARY_OK;
}

/* What an index shows of input 0, as one box of its own shape. */
static granary_err
read_index(struct making *m, struct gr_view *view, struct gr_view_box *box)
{
    const char *text = gr_attr_string(m->attrs, m->attr_count, "index", "");
    struct index_reader r = {.at = text, .whole = text};
    const struct gr_node_type *input = m->inputs[0];
    int axis = 0;
    bool dots = false;
    granary_err err = GRANARY_OK;

    *view = (struct gr_view){.joined = -1};
    *box = (struct gr_view_box){.input = 0};
    for (int d = 0; d < 8; d++) {
        box->step[d] = 1;
    }
    skip_space(&r);
    while (*r.at != '\0' && err == GRANARY_OK) {
        if (take(&r, "...")) {
            int left = input->dims - axis - count_taken(r.at);

            if (dots) {
                return gr_fail(GRANARY_EINVAL, "parameter 'index' has '...' twice");
            }
            dots = true;
            for (; left > 0 && view->dims < 8; left--, axis++) {
                box->dim[axis] = view->dims;
                view->shape[view->dims++] = input->shape[axis];
            }
        } else if (take(&r, "None")) {
            if (view->dims == 8) {
                return too_many_dims(9);
            }
            view->shape[view->dims++] = 1;
        } else if (axis == input->dims) {
            return gr_fail(GRANARY_EINVAL, "parameter 'index' has more indices than the tensor's %d dimension%s",
                           input->dims, input->dims == 1 ? "" : "s");
        } else {
            err = read_dimension(&r, axis, input->shape[axis], view, box);
            axis++;
        }
        skip_space(&r);
        if (err == GRANARY_OK && *r.at != '\0' && !take(&r, ",")) {
            err = bad_index(&r);
        }
        skip_space(&r);
    }
    for (; axis < input->dims && err == GRANARY_OK; axis++) {
        if (view->dims == 8) {
            return too_many_dims(9);
        }
        box->dim[axis] = view->dims;
        view->shape[view->dims++] = input->shape[axis];
    }
    memcpy(box->extent, view->shape, sizeof box->extent);
    return err;
}

static granary_err
make_getitem(struct making *m)
{
    struct gr_view_box read;
    struct gr_view_box *box;
    granary_err err = read_index(m, m->view, &read);

    if (err == GRANARY_OK && (box = add_box(m->view)) != NULL) {
        *box = read;
        return GRANARY_OK;
    }
    return err == GRANARY_OK ? GRANARY_ENOMEM : err;
}

/* The second input, broadcast, where the index points to; input 0 everywhere else. */
static granary_err
make_setitem(struct making *m)
{
    struct gr_view_box read;
    struct gr_view part;
    const struct gr_node_type *value = m->inputs[1];
    const struct gr_node_type *whole = m->inputs[0];
    struct gr_view_box *box;
    granary_err err = read_index(m, &part, &read);

    if (err != GRANARY_OK) {
        return err;
    }
    same_shape(m);
    if ((box = add_box(m->view)) == NULL || (box = add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    box->input = 1;
    if (value->dims > part.dims) {
        return gr_fail(GRANARY_EINVAL, "a value of %d dimensions does not fit a place of %d", value->dims, part.dims);
    }
    for (int a = 0; a < 8; a++) {
        box->dim[a] = -1;
    }
    for (int a = 0; a < whole->dims; a++) {
        int d = read.dim[a];
        int own = d - (part.dims - value->dims);
        bool backwards = read.step[a] < 0;
        int64_t count = d < 0 ? 1 : part.shape[d];

        if (read.step[a] != 1 && read.step[a] != -1 && count > 1) {
            return gr_fail(GRANARY_EINVAL, "parameter 'index': steps other than 1 and -1 cannot be set");
        }
        box->to[a] = backwards ? read.from[a] - (count - 1) : read.from[a];
        box->extent[a] = count;
        if (d >= 0 && own >= 0 && value->shape[own] != 1) {
            box->dim[own] = a;
            box->from[own] = backwards ? count - 1 : 0;
            box->step[own] = backwards ? -1 : 1;
        }
    }
    for (int own = 0; own < value->dims; own++) {
        int64_t place = part.shape[own + part.dims - value->dims];

        if (value->shape[own] != 1 && value->shape[own] != place) {
            return gr_fail(GRANARY_EINVAL, "the value has %lld elements along dimension %d, the place %lld",
                           (long long)value->shape[own], own, (long long)place);
        }
    }
    return GRANARY_OK;
}

/* ---- dimensions in another order ---- */

/* Result dimension d is the input's dimension order[d]. */
static granary_err
make_order(struct making *m, const int order[8])
{
    int dims = m->inputs[0]->dims;
    struct gr_view_box *box;

    m->view->dims = dims;
    for (int d = 0; d < dims; d++) {
        m->view->shape[d] = m->inputs[0]->shape[order[d]];
    }
    if ((box = add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    for (int d = 0; d < dims; d++) {
        box->dim[order[d]] = d;
    }
    return GRANARY_OK;
}

static granary_err
make_transpose(struct making *m)
{
    const Granary__Attr *axes = find(m, "axes");
    int dims = m->inputs[0]->dims;
    int order[8];
    bool named[8];
    granary_err err = read_axes(m, "axes", dims, true, named);

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

static granary_err
make_swapaxes(struct making *m)
{
    int order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    int first, second;
    granary_err err = read_axis(int_of(m, "axis1", 0), m->inputs[0]->dims, "axis1", &first);

    if (err == GRANARY_OK &&
        (err = read_axis(int_of(m, "axis2", 0), m->inputs[0]->dims, "axis2", &second)) == GRANARY_OK) {
        order[first] = second;
        order[second] = first;
        return make_order(m, order);
    }
    return err;
}

static granary_err
make_moveaxis(struct making *m)
{
    const Granary__Attr *source = find(m, "source");
    const Granary__Attr *destination = find(m, "destination");
    int dims = m->inputs[0]->dims;
    bool moved[8], taken[8];
    int order[8];
    int next = 0;
    granary_err err = read_axes(m, "source", dims, false, moved);

    if (err == GRANARY_OK && (err = read_axes(m, "destination", dims, false, taken)) == GRANARY_OK &&
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

static granary_err
make_expand_dims(struct making *m)
{
    const Granary__Attr *axes = find(m, "axes");
    const struct gr_node_type *input = m->inputs[0];
    int dims = input->dims + (int)axes->n_ints;
    bool added[8];
    struct gr_view_box *box;
    int own = 0;
    granary_err err;

    if (axes->n_ints > 8 || dims > 8) {
        return too_many_dims(dims);
    }
    if ((err = read_axes(m, "axes", dims, false, added)) != GRANARY_OK) {
        return err;
    }
    m->view->dims = dims;
    for (int d = 0; d < dims; d++) {
        m->view->shape[d] = added[d] ? 1 : input->shape[own++];
    }
    if ((box = add_box(m->view)) == NULL) {
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

static granary_err
make_squeeze(struct making *m)
{
    const struct gr_node_type *input = m->inputs[0];
    bool named[8];
    int place[8];
    struct gr_view_box *box;
    granary_err err = read_axes(m, "axes", input->dims, true, named);

    for (int d = 0; d < input->dims && err == GRANARY_OK; d++) {
        if (named[d] && input->shape[d] != 1 && find(m, "axes") != NULL) {
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
        if ((box = add_box(m->view)) == NULL) {
            return GRANARY_ENOMEM;
        }
        memcpy(box->dim, place, (size_t)input->dims * sizeof place[0]);
    }
    return err;
}

static granary_err
make_flip(struct making *m)
{
    const struct gr_node_type *input = m->inputs[0];
    bool named[8];
    struct gr_view_box *box;
    granary_err err = read_axes(m, "axes", input->dims, true, named);

    if (err != GRANARY_OK) {
        return err;
    }
    same_shape(m);
    if ((box = add_box(m->view)) == NULL) {
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

static granary_err
make_broadcast_to(struct making *m)
{
    const Granary__Attr *shape = find(m, "shape");
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
    if ((box = add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    for (int own = 0; own < input->dims; own++) {
        box->dim[own] = input->shape[own] == 1 ? -1 : own + shift;
    }
    return GRANARY_OK;
}

static granary_err
make_diagonal(struct making *m)
{
    const struct gr_node_type *input = m->inputs[0];
    int64_t offset = int_of(m, "offset", 0);
    int first, second;
    struct gr_view_box *box;
    int64_t rows, columns, count;
    int next = 0;
    granary_err err;

    if (input->dims < 2) {
        return gr_fail(GRANARY_EINVAL, "it needs a tensor of 2 dimensions or more, not of %d", input->dims);
    }
    if ((err = read_axis(int_of(m, "axis1", 0), input->dims, "axis1", &first)) != GRANARY_OK ||
        (err = read_axis(int_of(m, "axis2", 1), input->dims, "axis2", &second)) != GRANARY_OK) {
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
    if ((box = add_box(m->view)) == NULL) {
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

/* ---- several boxes ---- */

static granary_err
make_concatenate(struct making *m)
{
    const struct gr_node_type *first = m->inputs[0];
    bool stack = m->op == GR_TILE_stack;
    int dims = first->dims + stack;
    int axis;
    int64_t at = 0;
    granary_err err;

    if (dims > 8) {
        return too_many_dims(dims);
    }
    if (dims == 0) {
        return gr_fail(GRANARY_EINVAL, "tensors without dimensions cannot be put behind one another; stack them");
    }
    if ((err = read_axis(int_of(m, "axis", 0), dims, "axis", &axis)) != GRANARY_OK) {
        return err;
    }
    m->view->dims = dims;
    for (int d = 0; d < dims; d++) {
        m->view->shape[d] = stack && d == axis ? (int64_t)m->input_count : first->shape[stack && d > axis ? d - 1 : d];
    }
    for (size_t k = 0; k < m->input_count; k++) {
        const struct gr_node_type *input = m->inputs[k];
        struct gr_view_box *box = add_box(m->view);
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
add_copies(struct making *m, const struct gr_node_type *input, int shift, const int64_t *counts, const int64_t *moved)
{
    int64_t which[8] = {0};
    int dims = m->view->dims;

    for (int d = 0; d < dims; d++) {
        if (counts[d] == 0) {
            return add_box(m->view) == NULL ? GRANARY_ENOMEM : GRANARY_OK;
        }
    }
    for (;;) {
        struct gr_view_box *box = add_box(m->view);
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

static granary_err
make_tile(struct making *m)
{
    const Granary__Attr *repeats = find(m, "repeats");
    const struct gr_node_type *input = m->inputs[0];
    int dims = (int)repeats->n_ints > input->dims ? (int)repeats->n_ints : input->dims;
    int64_t counts[8], moved[8] = {0};

    if (repeats->n_ints > 8) {
        return too_many_dims((int)repeats->n_ints);
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

static granary_err
make_roll(struct making *m)
{
    const Granary__Attr *shift = find(m, "shift");
    const Granary__Attr *axes = find(m, "axes");
    const struct gr_node_type *input = m->inputs[0];
    int64_t counts[8], moved[8] = {0};

    if (axes == NULL || (axes->n_ints != shift->n_ints && shift->n_ints != 1)) {
        return gr_fail(GRANARY_EINVAL, "parameter 'axes' needs an axis for each shift");
    }
    same_shape(m);
    for (size_t i = 0; i < axes->n_ints; i++) {
        int axis;
        granary_err err = read_axis(axes->ints[i], input->dims, "axes", &axis);
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
static granary_err
make_repeat(struct making *m)
{
    const struct gr_node_type *input = m->inputs[0];
    int64_t repeats = int_of(m, "repeats", 1);
    int64_t total;
    int axis;
    struct gr_view_box *box;
    granary_err err;

    if (input->dims == 0 || input->dims == 8) {
        return gr_fail(GRANARY_EINVAL, "it needs a tensor of 1 to 7 dimensions, not of %d", input->dims);
    }
    if ((err = read_axis(int_of(m, "axis", 0), input->dims, "axis", &axis)) != GRANARY_OK) {
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
    if ((box = add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    for (int a = 0; a < input->dims; a++) {
        box->dim[a] = a > axis ? a + 1 : a;
    }
    return GRANARY_OK;
}

/* Positions that follow one another with one step are a box. */
static granary_err
make_take(struct making *m)
{
    const Granary__Attr *indices = find(m, "indices");
    const struct gr_node_type *input = m->inputs[0];
    int axis;
    int64_t n;
    granary_err err;

    if (input->dims == 0) {
        return gr_fail(GRANARY_EINVAL, "a tensor without dimensions has no axis");
    }
    if ((err = read_axis(int_of(m, "axis", 0), input->dims, "axis", &axis)) != GRANARY_OK) {
        return err;
    }
    same_shape(m);
    n = input->shape[axis];
    m->view->shape[axis] = (int64_t)indices->n_ints;
    for (size_t i = 0; i < indices->n_ints;) {
        struct gr_view_box *box = add_box(m->view);
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
    return indices->n_ints == 0 && add_box(m->view) == NULL ? GRANARY_ENOMEM : GRANARY_OK;
}

/* One of equal parts along an axis. */
static granary_err
make_split(struct making *m)
{
    const struct gr_node_type *input = m->inputs[0];
    int64_t parts = int_of(m, "parts", 1);
    int64_t part = int_of(m, "part", 0);
    int64_t larger, each, begin;
    int axis;
    struct gr_view_box *box;
    granary_err err = read_axis(int_of(m, "axis", 0), input->dims, "axis", &axis);

    if (err == GRANARY_OK && (parts < 1 || part < 0 || part >= parts)) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'part' is %lld of %lld parts", (long long)part, (long long)parts);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    same_shape(m);
    each = input->shape[axis] / parts;
    larger = input->shape[axis] % parts; /* as NumPy's array_split: the first ones have one more */
    begin = part * each + (part < larger ? part : larger);
    m->view->shape[axis] = each + (part < larger);
    if ((box = add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    box->from[axis] = begin;
    return GRANARY_OK;
}

static granary_err
make_rechunk(struct making *m)
{
    same_shape(m);
    return add_box(m->view) == NULL ? GRANARY_ENOMEM : GRANARY_OK;
}

granary_err
gr_view_make(enum gr_tile_op op, Granary__Attr *const *attrs, size_t attr_count,
             const struct gr_node_type *const *inputs, size_t input_count, struct gr_view *ret_view)
{
    struct making m = {op, attrs, attr_count, inputs, input_count, ret_view};

    *ret_view = (struct gr_view){.joined = -1};
    switch (op) {
    case GR_TILE_getitem:
        return make_getitem(&m);
    case GR_TILE_setitem:
        return make_setitem(&m);
    case GR_TILE_transpose:
        return make_transpose(&m);
    case GR_TILE_swapaxes:
        return make_swapaxes(&m);
    case GR_TILE_moveaxis:
        return make_moveaxis(&m);
    case GR_TILE_expand_dims:
        return make_expand_dims(&m);
    case GR_TILE_squeeze:
        return make_squeeze(&m);
    case GR_TILE_flip:
        return make_flip(&m);
    case GR_TILE_broadcast_to:
        return make_broadcast_to(&m);
    case GR_TILE_diagonal:
        return make_diagonal(&m);
    case GR_TILE_concatenate:
    case GR_TILE_stack:
        return make_concatenate(&m);
    case GR_TILE_tile:
        return make_tile(&m);
    case GR_TILE_roll:
        return make_roll(&m);
    case GR_TILE_repeat:
        return make_repeat(&m);
    case GR_TILE_take:
        return make_take(&m);
    case GR_TILE_split:
        return make_split(&m);
    default:
        return make_rechunk(&m);
    }
}
