/* Tensors put together of others, and of positions. */
#include <stdio.h>
#include <string.h>

#include "graph/compose/private.h"
#include "graph/tensor/types.h"

/* ---- turned ---- */

static size_t
flip(struct composition *x, size_t a, int64_t axis)
{
    return compose_add(x, GR_TILE_flip, a, NO_NODE, compose_ints(x, "axes", &axis, 1), NULL);
}

static size_t
compose_fliplr(struct composition *x)
{
    size_t a = compose_input(x, 0);

    return compose_type(x, a)->dims < 2 ? compose_fail(x, "it needs 2 dimensions or more") : flip(x, a, 1);
}

const struct gr_operator gr_op_fliplr = {.compose = compose_fliplr, .compose_room = 1};

static size_t
compose_flipud(struct composition *x)
{
    size_t a = compose_input(x, 0);

    return compose_type(x, a)->dims < 1 ? compose_fail(x, "it needs a dimension") : flip(x, a, 0);
}

const struct gr_operator gr_op_flipud = {.compose = compose_flipud, .compose_room = 1};

static size_t
compose_rot90(struct composition *x)
{
    size_t a = compose_input(x, 0);
    int dims = compose_type(x, a)->dims;
    int from, to;
    int64_t order[8];
    int64_t turns = ((compose_param_int(x, "k", 1) % 4) + 4) % 4;

    if (dims < 2) {
        return compose_fail(x, "it needs 2 dimensions or more");
    }
    from = compose_axis(x, "axis1", 0, dims);
    to = compose_axis(x, "axis2", 1, dims);
    if (from == to) {
        return compose_fail(x, "it turns from one axis to another one, not from %d to itself", from);
    }
    for (int d = 0; d < dims; d++) {
        order[d] = d == from ? to : d == to ? from : d;
    }
    switch (turns) {
    case 1:
        return compose_transpose(x, flip(x, a, to), order, (size_t)dims);
    case 2:
        return flip(x, flip(x, a, from), to);
    case 3:
        return flip(x, compose_transpose(x, a, order, (size_t)dims), to);
    default:
        return a;
    }
}

const struct gr_operator gr_op_rot90 = {.compose = compose_rot90, .compose_room = 3};

/* ---- beside one another ---- */

/* Every input with at least `dims` dimensions, then behind one another along the axis. columns: vectors stand upright.
 */
static size_t
join(struct composition *x, int dims, int axis, bool columns)
{
    size_t inputs[1000];
    size_t count = compose_inputs(x);
    Granary__Attr *attrs[3] = {NULL};

    for (size_t k = 0; k < count; k++) {
        const struct gr_node_type *type = compose_type(x, inputs[k] = compose_input(x, k));
        int64_t n = type->dims == 1 ? type->shape[0] : 1;
        int64_t shape[3] = {columns ? n : 1, columns ? 1 : n, 1};

        if (type->dims < dims && type->dims < 2) {
            inputs[k] = compose_reshape(x, inputs[k], dims == 1 ? &n : shape, (size_t)dims);
        } else if (type->dims < dims) {
            inputs[k] = compose_reshape(x, inputs[k], (int64_t[]){type->shape[0], type->shape[1], 1}, 3);
        }
    }
    attrs[0] = compose_int(x, "axis", axis);
    return compose_add_many(x, GR_TILE_concatenate, inputs, count, attrs);
}

static size_t
compose_vstack(struct composition *x)
{
    return join(x, 2, 0, false);
}

const struct gr_operator gr_op_vstack = {.compose = compose_vstack, .compose_room = 0};

static size_t
compose_hstack(struct composition *x)
{
    return join(x, 1, compose_type(x, compose_input(x, 0))->dims > 1, false);
}

const struct gr_operator gr_op_hstack = {.compose = compose_hstack, .compose_room = 0};

static size_t
compose_dstack(struct composition *x)
{
    return join(x, 3, 2, false);
}

const struct gr_operator gr_op_dstack = {.compose = compose_dstack, .compose_room = 0};

static size_t
compose_column_stack(struct composition *x)
{
    return join(x, 2, 1, true);
}

const struct gr_operator gr_op_column_stack = {.compose = compose_column_stack, .compose_room = 0};

/* ---- grids ---- */

/* A vector along one axis, stretched. */
static size_t
stretch(struct composition *x, size_t vector, int axis, const int64_t *shape, int dims)
{
    int64_t own[8] = {1, 1, 1, 1, 1, 1, 1, 1};

    own[axis] = shape[axis];
    return compose_add(x, GR_TILE_broadcast_to, compose_reshape(x, vector, own, (size_t)dims), NO_NODE,
                       compose_ints(x, "shape", shape, (size_t)dims), NULL);
}

static size_t
compose_meshgrid(struct composition *x)
{
    int dims = (int)compose_inputs(x);
    const Granary__Attr *indexing = compose_param(x, "indexing");
    bool swapped = dims > 1 && (indexing == NULL || strcmp(indexing->strings[0], "xy") == 0);
    int part = compose_axis(x, "part", 0, dims);
    int64_t shape[8];

    if (!swapped && indexing != NULL && strcmp(indexing->strings[0], "ij") != 0 && dims > 1) {
        return compose_fail(x, "parameter 'indexing' is '%.20s'; it can be 'xy' or 'ij'", indexing->strings[0]);
    }
    for (int k = 0; k < dims; k++) {
        const struct gr_node_type *type = compose_type(x, compose_input(x, (size_t)k));

        if (type->dims != 1) {
            return compose_fail(x, "input %d has %d dimensions; it needs one", k, type->dims);
        }
        shape[swapped && k < 2 ? 1 - k : k] = type->shape[0];
    }
    return stretch(x, compose_input(x, (size_t)part), swapped && part < 2 ? 1 - part : part, shape, dims);
}

const struct gr_operator gr_op_meshgrid = {.compose = compose_meshgrid, .compose_room = 2};

static size_t
compose_indices(struct composition *x)
{
    const Granary__Attr *shape = compose_param(x, "shape");
    int dims = (int)shape->n_ints;
    size_t grids[8];
    Granary__Attr *attrs[3] = {NULL};

    if (dims < 1 || dims > 7) {
        return compose_fail(x, "parameter 'shape' has %d dimensions; 1 to 7 are possible", dims);
    }
    for (int d = 0; d < dims; d++) {
        if (shape->ints[d] < 0) {
            return compose_fail(x, "parameter 'shape' has %lld elements along dimension %d", (long long)shape->ints[d],
                                d);
        }
        grids[d] = stretch(x, compose_range(x, shape->ints[d]), d, shape->ints, dims);
    }
    attrs[0] = compose_int(x, "axis", 0);
    return compose_add_many(x, GR_TILE_stack, grids, (size_t)dims, attrs);
}

const struct gr_operator gr_op_indices = {.compose = compose_indices, .compose_room = 26};

/* ---- along an axis ---- */

/* Elements [from, to) along an axis; `to` 0: to the end. */
static size_t
slice(struct composition *x, size_t a, int axis, int64_t from, int64_t to)
{
    char index[96] = "";
    size_t used = 0;

    for (int d = 0; d < axis; d++) {
        used += (size_t)snprintf(index + used, sizeof index - used, ":, ");
    }
    if (to != 0) {
        (void)snprintf(index + used, sizeof index - used, "%lld:%lld", (long long)from, (long long)to);
    } else {
        (void)snprintf(index + used, sizeof index - used, "%lld:", (long long)from);
    }
    return compose_add(x, GR_TILE_getitem, a, NO_NODE, compose_text(x, "index", index), NULL);
}

static size_t
compose_gradient(struct composition *x)
{
    size_t a = compose_input(x, 0);
    int axis = compose_axis(x, "axis", -1, compose_type(x, a)->dims);
    const Granary__Attr *spacing = compose_param(x, "spacing");
    double h = spacing == NULL                             ? 1
               : spacing->kind == GRANARY__ATTR__KIND__INT ? (double)spacing->ints[0]
                                                           : spacing->doubles[0];
    size_t parts[3];
    Granary__Attr *attrs[3] = {NULL};

    if (x->err == GRANARY_OK && (compose_type(x, a)->dims == 0 || compose_type(x, a)->shape[axis] < 2)) {
        return compose_fail(x, "it needs 2 elements or more along the axis");
    }
    a = compose_astype(x, a, compose_type(x, a)->dtype == GRANARY_FLOAT32 ? GRANARY_FLOAT32 : GRANARY_FLOAT64);
    parts[0] = compose_value(x, GR_TILE_divide,
                             compose_binary(x, GR_TILE_subtract, slice(x, a, axis, 1, 2), slice(x, a, axis, 0, 1)), h);
    parts[1] =
        compose_value(x, GR_TILE_divide,
                      compose_binary(x, GR_TILE_subtract, slice(x, a, axis, 2, 0), slice(x, a, axis, 0, -2)), 2 * h);
    parts[2] = compose_value(
        x, GR_TILE_divide, compose_binary(x, GR_TILE_subtract, slice(x, a, axis, -1, 0), slice(x, a, axis, -2, -1)), h);
    attrs[0] = compose_int(x, "axis", axis);
    return compose_add_many(x, GR_TILE_concatenate, parts, 3, attrs);
}

const struct gr_operator gr_op_gradient = {.compose = compose_gradient, .compose_room = 12};

/* So many elements in front of or behind the others: of a value, or like the one at the edge. */
static size_t
padding(struct composition *x, size_t a, int axis, int64_t many, bool front, bool edge, const Granary__Attr *value)
{
    const struct gr_node_type *type = compose_type(x, a);
    int64_t shape[8];

    memcpy(shape, type->shape, sizeof shape);
    shape[axis] = many;
    if (!edge) {
        return compose_full(x, shape, type->dims, value, type->dtype);
    }
    return compose_add(x, GR_TILE_broadcast_to, slice(x, a, axis, front ? 0 : -1, front), NO_NODE,
                       compose_ints(x, "shape", shape, (size_t)type->dims), NULL);
}

static size_t
compose_pad(struct composition *x)
{
    size_t a = compose_input(x, 0);
    const Granary__Attr *widths[2] = {compose_param(x, "before"), compose_param(x, "after")};
    const Granary__Attr *mode = compose_param(x, "mode"), *value = compose_param(x, "value");
    bool edge = mode != NULL && strcmp(mode->strings[0], "edge") == 0;
    int dims = compose_type(x, a)->dims;

    if (mode != NULL && !edge && strcmp(mode->strings[0], "constant") != 0) {
        return compose_fail(x, "parameter 'mode' is '%.20s'; it can be 'constant' or 'edge'", mode->strings[0]);
    }
    for (int k = 0; k < 2; k++) {
        if (widths[k] != NULL && widths[k]->n_ints != 1 && widths[k]->n_ints != (size_t)dims) {
            return compose_fail(x, "parameter '%s' has %zu numbers for %d dimensions", widths[k]->name,
                                widths[k]->n_ints, dims);
        }
    }
    for (int d = 0; d < dims; d++) {
        size_t parts[3] = {a, a, a};
        size_t count = 0;
        Granary__Attr *attrs[3] = {NULL};

        for (int k = 0; k < 3; k++) {
            const Granary__Attr *width = k == 1 ? NULL : widths[k / 2];
            int64_t many = width == NULL ? 0 : width->ints[width->n_ints == 1 ? 0 : d];

            if (many < 0 || (many > 0 && edge && compose_type(x, a)->shape[d] == 0)) {
                return compose_fail(x, "parameter '%s': %lld elements cannot be added along dimension %d", width->name,
                                    (long long)many, d);
            }
            if (k == 1) {
                parts[count++] = a;
            } else if (many > 0) {
                parts[count++] = padding(x, a, d, many, k == 0, edge, value);
            }
        }
        if (count > 1) {
            attrs[0] = compose_int(x, "axis", d);
            a = compose_add_many(x, GR_TILE_concatenate, parts, count, attrs);
        }
        if (x->err != GRANARY_OK) {
            return a;
        }
    }
    return a;
}

const struct gr_operator gr_op_pad = {.compose = compose_pad, .compose_room = 24};

static size_t
compose_diag(struct composition *x)
{
    size_t a = compose_input(x, 0);
    const struct gr_node_type *type = compose_type(x, a);
    int64_t offset = compose_param_int(x, "offset", 0);
    int64_t many = offset < 0 ? -offset : offset;
    size_t parts[2], placed[3];
    Granary__Attr *attrs[3] = {NULL};

    if (type->dims == 2) {
        return compose_add(x, GR_TILE_diagonal, a, NO_NODE, compose_int(x, "offset", offset), NULL);
    }
    if (type->dims != 1 || many > INT32_MAX) {
        return compose_fail(x, "it needs a tensor of 1 or 2 dimensions, not of %d", type->dims);
    }
    parts[0] = a;
    parts[1] = compose_full(x, &many, 1, NULL, type->dtype);
    attrs[0] = compose_int(x, "axis", 0);
    parts[0] = compose_add_many(x, GR_TILE_concatenate, parts, 2, attrs);
    /* Above the diagonal an element stands in the row of its number, below in the column. */
    placed[1] = compose_reshape(x, parts[0], offset >= 0 ? (int64_t[]){-1, 1} : (int64_t[]){1, -1}, 2);
    placed[2] = compose_full(x, NULL, 0, NULL, type->dtype); /* a number would make integers of bools */
    attrs[0] = compose_int(x, "rows", type->shape[0] + many);
    attrs[1] = compose_int(x, "offset", offset);
    attrs[2] = compose_text(x, "dtype", "bool");
    placed[0] = compose_add_many(x, GR_TILE_eye, NULL, 0, attrs);
    return compose_add_many(x, GR_TILE_where, placed, 3, (Granary__Attr *const[3]){NULL});
}

const struct gr_operator gr_op_diag = {.compose = compose_diag, .compose_room = 9};

/* ---- chance ---- */

/* The numbers below n, in another order. */
static size_t
shuffled(struct composition *x, int64_t n)
{
    size_t keys = compose_add(x, GR_TILE_random, NO_NODE, NO_NODE, compose_ints(x, "shape", &n, 1),
                              compose_int(x, "seed", compose_param_int(x, "seed", 0)));

    return compose_unary(x, GR_TILE_argsort, keys);
}

static size_t
compose_permutation(struct composition *x)
{
    size_t a;

    if (compose_inputs(x) == 0) {
        int64_t n = compose_param_int(x, "n", -1);

        return n < 0 ? compose_fail(x, "it needs an input, or parameter 'n' of 0 or more") : shuffled(x, n);
    }
    a = compose_input(x, 0);
    if (compose_type(x, a)->dims == 0) {
        return compose_fail(x, "it needs a dimension");
    }
    return compose_binary(x, GR_TILE_take_at, a, shuffled(x, compose_type(x, a)->shape[0]));
}

const struct gr_operator gr_op_permutation = {.compose = compose_permutation, .compose_room = 3};

static size_t
compose_choice(struct composition *x)
{
    size_t a = compose_input(x, 0);
    int64_t size = compose_param_int(x, "size", 1);
    int64_t n = compose_type(x, a)->dims == 0 ? 0 : compose_type(x, a)->shape[0];
    const Granary__Attr *replace = compose_param(x, "replace");
    size_t drawn, sums;

    if (size < 0 || (n == 0 && size > 0) || compose_type(x, a)->dims == 0) {
        return compose_fail(x, "%lld of %lld elements cannot be drawn", (long long)size, (long long)n);
    }
    if (size == 0) {
        return slice(x, a, 0, n, 0);
    }
    if (replace != NULL && replace->ints[0] == 0) {
        if (compose_inputs(x) == 2 || size > n) {
            return compose_fail(x, "without 'replace' at most all %lld elements are drawn, each as likely",
                                (long long)n);
        }
        return compose_binary(x, GR_TILE_take_at, a, slice(x, shuffled(x, n), 0, 0, size));
    }
    drawn = compose_add(x, GR_TILE_random, NO_NODE, NO_NODE, compose_ints(x, "shape", &size, 1),
                        compose_int(x, "seed", compose_param_int(x, "seed", 0)));
    if (compose_inputs(x) == 1) {
        drawn = compose_unary(x, GR_TILE_floor, compose_value(x, GR_TILE_multiply, drawn, (double)n));
        drawn = compose_value(x, GR_TILE_minimum, compose_astype(x, drawn, GRANARY_INT64), (double)(n - 1));
    } else if (compose_type(x, compose_input(x, 1))->dims != 1 || compose_type(x, compose_input(x, 1))->shape[0] != n) {
        return compose_fail(x, "chances have one dimension of %lld elements", (long long)n);
    } else {
        sums = compose_unary(x, GR_TILE_cumsum, compose_input(x, 1));
        drawn = compose_binary(x, GR_TILE_multiply, drawn,
                               compose_add(x, GR_TILE_getitem, sums, NO_NODE, compose_text(x, "index", "-1"), NULL));
        drawn = compose_add(x, GR_TILE_searchsorted, sums, drawn, compose_text(x, "side", "right"), NULL);
        drawn = compose_value(x, GR_TILE_minimum, drawn, (double)(n - 1));
    }
    return compose_binary(x, GR_TILE_take_at, a, drawn);
}

const struct gr_operator gr_op_choice = {.compose = compose_choice, .compose_room = 8};

/* ---- others by another name ---- */

static size_t
compose_partition(struct composition *x)
{
    return compose_add(x, GR_TILE_tensor_sort, compose_input(x, 0), NO_NODE,
                       compose_int(x, "axis", compose_param_int(x, "axis", -1)), NULL);
}

const struct gr_operator gr_op_partition = {.compose = compose_partition, .compose_room = 1};

static size_t
compose_argpartition(struct composition *x)
{
    return compose_add(x, GR_TILE_argsort, compose_input(x, 0), NO_NODE,
                       compose_int(x, "axis", compose_param_int(x, "axis", -1)), NULL);
}

const struct gr_operator gr_op_argpartition = {.compose = compose_argpartition, .compose_room = 1};

static size_t
compose_logspace(struct composition *x)
{
    static const char *const names[] = {"start", "stop", "count"};
    const Granary__Attr *base = compose_param(x, "base");
    double of = base == NULL ? 10 : base->kind == GRANARY__ATTR__KIND__INT ? (double)base->ints[0] : base->doubles[0];
    Granary__Attr *attrs[3];
    size_t powers;

    for (int k = 0; k < 3; k++) {
        attrs[k] = compose_param(x, names[k]) == NULL ? NULL : gr_attr_copy(compose_param(x, names[k]));
    }
    powers = compose_add_many(x, GR_TILE_linspace, NULL, 0, attrs);
    return compose_add(x, GR_TILE_power, powers, NO_NODE, compose_number(x, "value", of),
                       compose_bool(x, "left", true));
}

const struct gr_operator gr_op_logspace = {.compose = compose_logspace, .compose_room = 3};
