/*
 * Tensors whose size is found when they are made: what is left of rows of a frame, whose number need not be known.
 */
#include <string.h>

#include "graph/compose/private.h"
#include "graph/tensor/types.h"

static const char *const names[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};

/* A column of a frame as a tensor of one dimension. */
static size_t
column(struct composition *x, size_t frame, size_t which)
{
    return compose_add(x, GR_TILE_to_tensor, frame, NO_NODE, compose_names(x, "columns", &names[which], 1),
                       compose_bool(x, "flat", true));
}

static size_t
flat(struct composition *x, size_t a)
{
    return compose_type(x, a)->dims == 1 ? a : compose_unary(x, GR_TILE_ravel, a);
}

/* Vectors of as many elements as columns; those rows where the last one is not 0. */
static size_t
rows_where(struct composition *x, const size_t *vectors, size_t count)
{
    bool flags = compose_type(x, vectors[0])->dtype == GRANARY_BOOL;
    char where[16] = "`1` != 0";
    Granary__Attr *attrs[3] = {compose_int(x, "axis", 1), NULL, NULL};
    size_t table = compose_add_many(x, GR_TILE_stack, vectors, count, attrs);

    (void)memcpy(where + 1, names[count - 1], 1);
    where[3] = flags ? '\0' : where[3];
    table = compose_add(x, GR_TILE_from_tensor, table, NO_NODE, compose_names(x, "columns", names, count), NULL);
    return compose_add(x, GR_TILE_filter, table, NO_NODE, compose_text(x, "where", where), NULL);
}

/* Elements for which the mask, of the same shape, is not 0. */
static size_t
masked(struct composition *x, size_t a, size_t mask)
{
    size_t vectors[2] = {flat(x, a), flat(x, mask)};

    if (compose_type(x, mask)->dtype != GRANARY_BOOL) {
        vectors[1] = compose_value(x, GR_TILE_not_equal, vectors[1], 0);
    }
    vectors[1] = compose_astype(x, vectors[1], compose_type(x, a)->dtype);
    return column(x, rows_where(x, vectors, 2), 0);
}

static size_t
compose_select_where(struct composition *x)
{
    size_t a = compose_input(x, 0), mask = compose_input(x, 1);
    const struct gr_node_type *left = compose_type(x, a), *right = compose_type(x, mask);

    if (left->dims != right->dims ||
        memcmp(left->shape, right->shape, (size_t)left->dims * sizeof left->shape[0]) != 0) {
        return compose_fail(x, "the mask has not the shape of what it is for");
    }
    return masked(x, a, mask);
}

const struct gr_operator gr_op_select_where = {.compose = compose_select_where, .compose_room = 12};

static size_t
compose_flatnonzero(struct composition *x)
{
    size_t a = flat(x, compose_input(x, 0));

    return x->err == GRANARY_OK ? masked(x, compose_range(x, compose_type(x, a)->shape[0]), a) : x->node;
}

const struct gr_operator gr_op_flatnonzero = {.compose = compose_flatnonzero, .compose_room = 10};

/* Beside each element its position, one column a dimension. */
static size_t
compose_argwhere(struct composition *x)
{
    size_t a = compose_input(x, 0);
    const struct gr_node_type *type = compose_type(x, a);
    size_t vectors[9];
    int64_t shape[8];
    int dims = type->dims;

    memcpy(shape, type->shape, sizeof shape);
    if (dims == 0) {
        return compose_fail(x, "it needs a dimension");
    }
    for (int d = 0; d < dims; d++) {
        int64_t own[8] = {1, 1, 1, 1, 1, 1, 1, 1};

        own[d] = shape[d];
        vectors[d] = compose_reshape(x, compose_range(x, shape[d]), own, (size_t)dims);
        vectors[d] = compose_add(x, GR_TILE_broadcast_to, vectors[d], NO_NODE,
                                 compose_ints(x, "shape", shape, (size_t)dims), NULL);
        vectors[d] = flat(x, vectors[d]);
    }
    vectors[dims] = flat(x, compose_value(x, GR_TILE_not_equal, a, 0));
    vectors[dims] = compose_astype(x, vectors[dims], GRANARY_INT64);
    return compose_add(x, GR_TILE_to_tensor, rows_where(x, vectors, (size_t)dims + 1), NO_NODE,
                       compose_names(x, "columns", names, (size_t)dims), NULL);
}

const struct gr_operator gr_op_argwhere = {.compose = compose_argwhere, .compose_room = 40};

/* Each value of vectors once, ascending, and how often it comes. */
static size_t
groups(struct composition *x, size_t vector)
{
    char key[] = "n", size[] = "size";
    char *keys[] = {key}, *sizes[] = {size};
    Granary__Attr *aggregate = gr_attr_new_map("aggregate", keys, sizes, 1);
    size_t table = compose_add(x, GR_TILE_from_tensor, vector, NO_NODE, compose_names(x, "columns", names, 1), NULL);

    if (aggregate == NULL) {
        return compose_fail(x, "out of memory");
    }
    return compose_add(x, GR_TILE_groupby, table, NO_NODE, compose_names(x, "keys", names, 1), aggregate);
}

static size_t
unique_of(struct composition *x, size_t vector)
{
    return column(x, groups(x, vector), 0);
}

static size_t
compose_unique(struct composition *x)
{
    const Granary__Attr *part = compose_param(x, "part");
    size_t a = compose_input(x, 0);

    if (part == NULL || strcmp(part->strings[0], "values") == 0) {
        return unique_of(x, flat(x, a));
    }
    if (strcmp(part->strings[0], "counts") == 0) {
        static const char *const counts[] = {"n"};

        return compose_add(x, GR_TILE_to_tensor, groups(x, flat(x, a)), NO_NODE, compose_names(x, "columns", counts, 1),
                           compose_bool(x, "flat", true));
    }
    if (strcmp(part->strings[0], "inverse") == 0) {
        return compose_binary(x, GR_TILE_searchsorted, unique_of(x, flat(x, a)), a);
    }
    return compose_fail(x, "parameter 'part' is '%.20s'; it can be 'values', 'counts' or 'inverse'", part->strings[0]);
}

const struct gr_operator gr_op_unique = {.traits = GR_OP_TAKES_UNSIZED, .compose = compose_unique, .compose_room = 8};

/* ---- sets ---- */

static size_t
compose_union1d(struct composition *x)
{
    return unique_of(x, compose_add(x, GR_TILE_concatenate, flat(x, compose_input(x, 0)), flat(x, compose_input(x, 1)),
                                    compose_int(x, "axis", 0), NULL));
}

const struct gr_operator gr_op_union1d = {.compose = compose_union1d, .compose_room = 12};

static size_t
chosen(struct composition *x, bool invert, granary_dtype dtype)
{
    size_t a = compose_astype(x, flat(x, compose_input(x, 0)), dtype);
    size_t mask = compose_add(x, GR_TILE_isin, a, compose_input(x, 1), compose_bool(x, "invert", invert), NULL);
    size_t table = masked(x, a, mask);

    return unique_of(x, table);
}

static size_t
compose_intersect1d(struct composition *x)
{
    return chosen(
        x, false,
        gr_dtype_promote(compose_type(x, compose_input(x, 0))->dtype, compose_type(x, compose_input(x, 1))->dtype));
}

const struct gr_operator gr_op_intersect1d = {.compose = compose_intersect1d, .compose_room = 24};

static size_t
compose_setdiff1d(struct composition *x)
{
    return chosen(x, true, compose_type(x, compose_input(x, 0))->dtype);
}

const struct gr_operator gr_op_setdiff1d = {.compose = compose_setdiff1d, .compose_room = 24};
