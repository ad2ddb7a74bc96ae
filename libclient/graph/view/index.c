/* getitem and setitem: indices as between NumPy's brackets. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/view/private.h"

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
        return view_too_many_dims(9);
    }
    box->dim[axis] = view->dims;
    view->shape[view->dims++] = slice_count(n, has_start, &start, has_stop, stop, step);
    box->from[axis] = start;
    box->step[axis] = view->shape[view->dims - 1] > 1 ? step : step > 0 ? 1 : -1; /* nothing overflows */
    return GRANARY_OK;
}

/* What an index shows of input 0, as one box of its own shape. */
static granary_err
read_index(struct view_making *m, struct gr_view *view, struct gr_view_box *box)
{
    const char *text = VIEW_PARAMS(getitem, m)->index; /* or of setitem */
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
                return view_too_many_dims(9);
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
            return view_too_many_dims(9);
        }
        box->dim[axis] = view->dims;
        view->shape[view->dims++] = input->shape[axis];
    }
    memcpy(box->extent, view->shape, sizeof box->extent);
    return err;
}

granary_err
view_make_getitem(struct view_making *m)
{
    struct gr_view_box read;
    struct gr_view_box *box;
    granary_err err = read_index(m, m->view, &read);

    if (err == GRANARY_OK && (box = view_add_box(m->view)) != NULL) {
        *box = read;
        return GRANARY_OK;
    }
    return err == GRANARY_OK ? GRANARY_ENOMEM : err;
}

/* The second input, broadcast, where the index points to; input 0 everywhere else. */
granary_err
view_make_setitem(struct view_making *m)
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
    view_same_shape(m);
    if (view_add_box(m->view) == NULL || (box = view_add_box(m->view)) == NULL) {
        return GRANARY_ENOMEM;
    }
    box->input = 1;
    for (int own = 0; own < value->dims - part.dims; own++) { /* leading ones do not count, as in NumPy */
        if (value->shape[own] != 1) {
            return gr_fail(GRANARY_EINVAL, "a value of %d dimensions does not fit a place of %d", value->dims,
                           part.dims);
        }
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
    for (int own = value->dims > part.dims ? value->dims - part.dims : 0; own < value->dims; own++) {
        int64_t place = part.shape[own + part.dims - value->dims];

        if (value->shape[own] != 1 && value->shape[own] != place) {
            return gr_fail(GRANARY_EINVAL, "the value has %lld elements along dimension %d, the place %lld",
                           (long long)value->shape[own], own, (long long)place);
        }
    }
    return GRANARY_OK;
}
