/* Tensors put together of others, and of positions. */
#include <stdio.h>
#include <string.h>

#include "graph/rewrite/private.h"
#include "graph/tensor/types.h"

/* ---- turned ---- */

static struct gr_node *
flip(struct rewrite *x, struct gr_node *a, int64_t axis)
{
    return rewrite_add(x, GR_TILE_flip, a, NULL, rewrite_ints(x, "axes", &axis, 1), NULL);
}

static struct gr_node *
rewrite_fliplr(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);

    return a->type.dims < 2 ? rewrite_fail(x, "it needs 2 dimensions or more") : flip(x, a, 1);
}

const struct gr_operator gr_op_fliplr = {.rewrite = rewrite_fliplr};

static struct gr_node *
rewrite_flipud(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);

    return a->type.dims < 1 ? rewrite_fail(x, "it needs a dimension") : flip(x, a, 0);
}

const struct gr_operator gr_op_flipud = {.rewrite = rewrite_flipud};

static struct gr_node *
rewrite_rot90(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    int dims = a->type.dims;
    int from, to;
    int64_t order[8];
    int64_t turns = ((rewrite_param_int(x, "k") % 4) + 4) % 4;

    if (dims < 2) {
        return rewrite_fail(x, "it needs 2 dimensions or more");
    }
    from = rewrite_axis(x, "axis1", dims);
    to = rewrite_axis(x, "axis2", dims);
    if (from == to) {
        return rewrite_fail(x, "it turns from one axis to another one, not from %d to itself", from);
    }
    for (int d = 0; d < dims; d++) {
        order[d] = d == from ? to : d == to ? from : d;
    }
    switch (turns) {
    case 1:
        return rewrite_transpose(x, flip(x, a, to), order, (size_t)dims);
    case 2:
        return flip(x, flip(x, a, from), to);
    case 3:
        return flip(x, rewrite_transpose(x, a, order, (size_t)dims), to);
    default:
        return a;
    }
}

const struct gr_operator gr_op_rot90 = {.rewrite = rewrite_rot90};

/* ---- beside one another ---- */

/* Every input with at least `dims` dimensions, then behind one another along the axis. columns: vectors stand upright.
 */
static struct gr_node *
join(struct rewrite *x, int dims, int axis, bool columns)
{
    struct gr_node *inputs[1000];
    size_t count = rewrite_inputs(x);

    for (size_t k = 0; k < count; k++) {
        const struct gr_node_type *type = &(inputs[k] = rewrite_input(x, k))->type;
        int64_t n = type->dims == 1 ? type->shape[0] : 1;
        int64_t shape[3] = {columns ? n : 1, columns ? 1 : n, 1};

        if (type->dims < dims && type->dims < 2) {
            inputs[k] = rewrite_reshape(x, inputs[k], dims == 1 ? &n : shape, (size_t)dims);
        } else if (type->dims < dims) {
            inputs[k] = rewrite_reshape(x, inputs[k], (int64_t[]){type->shape[0], type->shape[1], 1}, 3);
        }
    }
    rewrite_set(x, rewrite_int(x, "axis", axis));
    return rewrite_add_many(x, GR_TILE_concatenate, inputs, count);
}

REWRITE_AS(vstack, join(x, 2, 0, false))
REWRITE_AS(hstack, join(x, 1, rewrite_input(x, 0)->type.dims > 1, false))
REWRITE_AS(dstack, join(x, 3, 2, false))
REWRITE_AS(column_stack, join(x, 2, 1, true))

/* ---- grids ---- */

/* A vector along one axis, stretched. */
static struct gr_node *
stretch(struct rewrite *x, struct gr_node *vector, int axis, const int64_t *shape, int dims)
{
    int64_t own[8] = {1, 1, 1, 1, 1, 1, 1, 1};

    own[axis] = shape[axis];
    return rewrite_add(x, GR_TILE_broadcast_to, rewrite_reshape(x, vector, own, (size_t)dims), NULL,
                       rewrite_ints(x, "shape", shape, (size_t)dims), NULL);
}

static struct gr_node *
rewrite_meshgrid(struct rewrite *x)
{
    int dims = (int)rewrite_inputs(x);
    bool swapped = dims > 1 && rewrite_param_is(x, "indexing", "xy");
    int part = rewrite_axis(x, "part", dims);
    int64_t shape[8];

    for (int k = 0; k < dims; k++) {
        const struct gr_node_type *type = &rewrite_input(x, (size_t)k)->type;

        if (type->dims != 1) {
            return rewrite_fail(x, "input %d has %d dimensions; it needs one", k, type->dims);
        }
        shape[swapped && k < 2 ? 1 - k : k] = type->shape[0];
    }
    return stretch(x, rewrite_input(x, (size_t)part), swapped && part < 2 ? 1 - part : part, shape, dims);
}

const struct gr_operator gr_op_meshgrid = {.rewrite = rewrite_meshgrid};

static struct gr_node *
rewrite_indices(struct rewrite *x)
{
    const Granary__Attr *shape = rewrite_param(x, "shape");
    int dims = (int)shape->n_ints;
    struct gr_node *grids[8];

    if (dims < 1 || dims > 7) {
        return rewrite_fail(x, "parameter 'shape' has %d dimensions; 1 to 7 are possible", dims);
    }
    for (int d = 0; d < dims; d++) {
        if (shape->ints[d] < 0) {
            return rewrite_fail(x, "parameter 'shape' has %lld elements along dimension %d", (long long)shape->ints[d],
                                d);
        }
        grids[d] = stretch(x, rewrite_range(x, shape->ints[d]), d, shape->ints, dims);
    }
    rewrite_set(x, rewrite_int(x, "axis", 0));
    return rewrite_add_many(x, GR_TILE_stack, grids, (size_t)dims);
}

const struct gr_operator gr_op_indices = {.rewrite = rewrite_indices};

/* ---- along an axis ---- */

/* Elements [from, to) along an axis; `to` 0: to the end. */
static struct gr_node *
slice(struct rewrite *x, struct gr_node *a, int axis, int64_t from, int64_t to)
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
    return rewrite_add(x, GR_TILE_getitem, a, NULL, rewrite_string(x, "index", index), NULL);
}

static struct gr_node *
rewrite_gradient(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    int axis = rewrite_axis(x, "axis", a->type.dims);
    double h = rewrite_param_number(x, "spacing");
    struct gr_node *parts[3];

    if (x->err == GRANARY_OK && (a->type.dims == 0 || a->type.shape[axis] < 2)) {
        return rewrite_fail(x, "it needs 2 elements or more along the axis");
    }
    a = rewrite_astype(x, a, a->type.dtype == GRANARY_FLOAT32 ? GRANARY_FLOAT32 : GRANARY_FLOAT64);
    parts[0] = rewrite_value(x, GR_TILE_divide,
                             rewrite_binary(x, GR_TILE_subtract, slice(x, a, axis, 1, 2), slice(x, a, axis, 0, 1)), h);
    parts[1] =
        rewrite_value(x, GR_TILE_divide,
                      rewrite_binary(x, GR_TILE_subtract, slice(x, a, axis, 2, 0), slice(x, a, axis, 0, -2)), 2 * h);
    parts[2] = rewrite_value(
        x, GR_TILE_divide, rewrite_binary(x, GR_TILE_subtract, slice(x, a, axis, -1, 0), slice(x, a, axis, -2, -1)), h);
    rewrite_set(x, rewrite_int(x, "axis", axis));
    return rewrite_add_many(x, GR_TILE_concatenate, parts, 3);
}

const struct gr_operator gr_op_gradient = {.rewrite = rewrite_gradient};

/* So many elements in front of or behind the others: of a value, or like the one at the edge. */
static struct gr_node *
padding(struct rewrite *x, struct gr_node *a, int axis, int64_t many, bool front, bool edge, const Granary__Attr *value)
{
    const struct gr_node_type *type = &a->type;
    int64_t shape[8];

    memcpy(shape, type->shape, sizeof shape);
    shape[axis] = many;
    if (!edge) {
        return rewrite_full(x, shape, type->dims, value, type->dtype);
    }
    return rewrite_add(x, GR_TILE_broadcast_to, slice(x, a, axis, front ? 0 : -1, front), NULL,
                       rewrite_ints(x, "shape", shape, (size_t)type->dims), NULL);
}

static struct gr_node *
rewrite_pad(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    const Granary__Attr *widths[2] = {rewrite_param(x, "before"), rewrite_param(x, "after")};
    const Granary__Attr *value = rewrite_param(x, "value");
    bool edge = rewrite_param_is(x, "mode", "edge");
    int dims = a->type.dims;

    for (int k = 0; k < 2; k++) {
        if (widths[k] != NULL && widths[k]->n_ints != 1 && widths[k]->n_ints != (size_t)dims) {
            return rewrite_fail(x, "parameter '%s' has %zu numbers for %d dimensions", widths[k]->name,
                                widths[k]->n_ints, dims);
        }
    }
    for (int d = 0; d < dims; d++) {
        struct gr_node *parts[3] = {a, a, a};
        size_t count = 0;

        for (int k = 0; k < 3; k++) {
            const Granary__Attr *width = k == 1 ? NULL : widths[k / 2];
            int64_t many = width == NULL ? 0 : width->ints[width->n_ints == 1 ? 0 : d];

            if (many < 0 || (many > 0 && edge && a->type.shape[d] == 0)) {
                return rewrite_fail(x, "parameter '%s': %lld elements cannot be added along dimension %d", width->name,
                                    (long long)many, d);
            }
            if (k == 1) {
                parts[count++] = a;
            } else if (many > 0) {
                parts[count++] = padding(x, a, d, many, k == 0, edge, value);
            }
        }
        if (count > 1) {
            rewrite_set(x, rewrite_int(x, "axis", d));
            a = rewrite_add_many(x, GR_TILE_concatenate, parts, count);
        }
        if (x->err != GRANARY_OK) {
            return a;
        }
    }
    return a;
}

const struct gr_operator gr_op_pad = {.rewrite = rewrite_pad};

static struct gr_node *
rewrite_diag(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    const struct gr_node_type *type = &a->type;
    int64_t offset = rewrite_param_int(x, "offset");
    int64_t many = offset < 0 ? -offset : offset;
    struct gr_node *padded, *placed[3];

    if (type->dims == 2) {
        return rewrite_add(x, GR_TILE_diagonal, a, NULL, rewrite_int(x, "offset", offset), NULL);
    }
    if (type->dims != 1 || many > INT32_MAX) {
        return rewrite_fail(x, "it needs a tensor of 1 or 2 dimensions, not of %d", type->dims);
    }
    padded = rewrite_full(x, &many, 1, NULL, type->dtype);
    padded = rewrite_add(x, GR_TILE_concatenate, a, padded, rewrite_int(x, "axis", 0), NULL);
    /* Above the diagonal an element stands in the row of its number, below in the column. */
    placed[1] = rewrite_reshape(x, padded, offset >= 0 ? (int64_t[]){-1, 1} : (int64_t[]){1, -1}, 2);
    placed[2] = rewrite_full(x, NULL, 0, NULL, type->dtype); /* a number would make integers of bools */
    rewrite_set(x, rewrite_int(x, "rows", type->shape[0] + many));
    placed[0] =
        rewrite_add(x, GR_TILE_eye, NULL, NULL, rewrite_int(x, "offset", offset), rewrite_string(x, "dtype", "bool"));
    return rewrite_add_many(x, GR_TILE_where, placed, 3);
}

const struct gr_operator gr_op_diag = {.rewrite = rewrite_diag};

/* ---- chance ---- */

/* The numbers below n, in another order. */
static struct gr_node *
shuffled(struct rewrite *x, int64_t n)
{
    struct gr_node *keys = rewrite_add(x, GR_TILE_random, NULL, NULL, rewrite_ints(x, "shape", &n, 1),
                                       rewrite_int(x, "seed", rewrite_param_int(x, "seed")));

    return rewrite_unary(x, GR_TILE_argsort, keys);
}

static struct gr_node *
rewrite_permutation(struct rewrite *x)
{
    struct gr_node *a;

    if (rewrite_inputs(x) == 0) {
        return rewrite_param(x, "n") == NULL || rewrite_param_int(x, "n") < 0
                   ? rewrite_fail(x, "it needs an input, or parameter 'n' of 0 or more")
                   : shuffled(x, rewrite_param_int(x, "n"));
    }
    a = rewrite_input(x, 0);
    if (a->type.dims == 0) {
        return rewrite_fail(x, "it needs a dimension");
    }
    return rewrite_binary(x, GR_TILE_take_at, a, shuffled(x, a->type.shape[0]));
}

const struct gr_operator gr_op_permutation = {.rewrite = rewrite_permutation};

static struct gr_node *
rewrite_choice(struct rewrite *x)
{
    struct gr_node *a = rewrite_input(x, 0);
    int64_t size = rewrite_param_int(x, "size");
    int64_t n = a->type.dims == 0 ? 0 : a->type.shape[0];
    struct gr_node *drawn, *sums;

    if (size < 0 || (n == 0 && size > 0) || a->type.dims == 0) {
        return rewrite_fail(x, "%lld of %lld elements cannot be drawn", (long long)size, (long long)n);
    }
    if (size == 0) {
        return slice(x, a, 0, n, 0);
    }
    if (!rewrite_param_bool(x, "replace")) {
        if (rewrite_inputs(x) == 2 || size > n) {
            return rewrite_fail(x, "without 'replace' at most all %lld elements are drawn, each as likely",
                                (long long)n);
        }
        return rewrite_binary(x, GR_TILE_take_at, a, slice(x, shuffled(x, n), 0, 0, size));
    }
    drawn = rewrite_add(x, GR_TILE_random, NULL, NULL, rewrite_ints(x, "shape", &size, 1),
                        rewrite_int(x, "seed", rewrite_param_int(x, "seed")));
    if (rewrite_inputs(x) == 1) {
        drawn = rewrite_unary(x, GR_TILE_floor, rewrite_value(x, GR_TILE_multiply, drawn, (double)n));
        drawn = rewrite_value(x, GR_TILE_minimum, rewrite_astype(x, drawn, GRANARY_INT64), (double)(n - 1));
    } else if (rewrite_input(x, 1)->type.dims != 1 || rewrite_input(x, 1)->type.shape[0] != n) {
        return rewrite_fail(x, "chances have one dimension of %lld elements", (long long)n);
    } else {
        sums = rewrite_unary(x, GR_TILE_cumsum, rewrite_input(x, 1));
        drawn = rewrite_binary(x, GR_TILE_multiply, drawn,
                               rewrite_add(x, GR_TILE_getitem, sums, NULL, rewrite_string(x, "index", "-1"), NULL));
        drawn = rewrite_add(x, GR_TILE_searchsorted, sums, drawn, rewrite_string(x, "side", "right"), NULL);
        drawn = rewrite_value(x, GR_TILE_minimum, drawn, (double)(n - 1));
    }
    return rewrite_binary(x, GR_TILE_take_at, a, drawn);
}

const struct gr_operator gr_op_choice = {.rewrite = rewrite_choice};

/* ---- others by another name ---- */

REWRITE_AS(partition, rewrite_add(x, GR_TILE_tensor_sort, rewrite_input(x, 0), NULL,
                                  rewrite_int(x, "axis", rewrite_param_int(x, "axis")), NULL))
REWRITE_AS(argpartition, rewrite_add(x, GR_TILE_argsort, rewrite_input(x, 0), NULL,
                                     rewrite_int(x, "axis", rewrite_param_int(x, "axis")), NULL))

static struct gr_node *
rewrite_logspace(struct rewrite *x)
{
    struct gr_node *powers;

    rewrite_hand_on(x, "start", "start");
    rewrite_hand_on(x, "stop", "stop");
    rewrite_hand_on(x, "count", "count");
    powers = rewrite_add(x, GR_TILE_linspace, NULL, NULL, NULL, NULL);
    return rewrite_add(x, GR_TILE_power, powers, NULL, rewrite_number(x, "value", rewrite_param_number(x, "base")),
                       rewrite_bool(x, "left", true));
}

const struct gr_operator gr_op_logspace = {.rewrite = rewrite_logspace};
