/*
 * getitem and setitem. Positions are brought to the front and made one number a place, which take_at looks up. Setting
 * goes the other way: each place looks up the last of the positions that name it.
 */
#include <string.h>

#include "graph/infer/private.h"
#include "graph/rewrite/tensor/chosen.h"

/* The tensor with some dimensions in front, in this order, and how to undo that: ret_order[d] is which one is d. */
static struct gr_node *
to_front(struct rewrite *x, struct gr_node *a, const int *front, int count, int64_t ret_order[8])
{
    int dims = a->type.dims, placed = count;

    for (int k = 0; k < count; k++) {
        ret_order[k] = front[k];
    }
    for (int d = 0; d < dims; d++) {
        bool is_front = false;

        for (int k = 0; k < count; k++) {
            is_front = is_front || front[k] == d;
        }
        if (!is_front) {
            ret_order[placed++] = d;
        }
    }
    return rewrite_transpose(x, a, ret_order, (size_t)dims);
}

/* The first `count` dimensions come to a place behind `target` others; back: from there to the front. */
static struct gr_node *
move_block(struct rewrite *x, struct gr_node *a, int count, int target, bool back)
{
    int64_t order[8];
    int dims = a->type.dims;
    int first = back ? count : target, skipped = back ? target : count;

    for (int d = 0; d < dims; d++) {
        order[d] = d < first ? skipped + d : d < count + target ? d - first : d;
    }
    return rewrite_transpose(x, a, order, (size_t)dims);
}

/* The positions of the index, in its order. */
static int
list_positions(struct rewrite *x, const struct chosen *c, struct gr_node *ret_arrays[8])
{
    int count = 0;

    for (size_t i = 0; i < c->count && count < 8; i++) {
        if (c->parts[i].kind == PART_ARRAY) {
            ret_arrays[count++] = rewrite_input(x, c->parts[i].input);
        }
    }
    return count;
}

/* Positions along the first dimensions of a tensor as one: those from the end, and those beyond, are dealt with. */
static struct gr_node *
one_number(struct rewrite *x, const struct gr_node_type *type, struct gr_node *const *arrays, int count)
{
    struct gr_node *number = NULL;

    for (int k = 0; k < count; k++) {
        struct gr_node *own = rewrite_binary(x, GR_TILE_take_at, rewrite_range(x, type->shape[k]), arrays[k]);

        number = number == NULL
                     ? own
                     : rewrite_binary(x, GR_TILE_add,
                                      rewrite_value(x, GR_TILE_multiply, number, (double)type->shape[k]), own);
    }
    return number;
}

/* The first `count` dimensions as one. */
static struct gr_node *
join_front(struct rewrite *x, struct gr_node *a, int count)
{
    int64_t shape[8] = {1};
    int dims = a->type.dims;

    for (int d = 0; d < count; d++) {
        shape[0] *= a->type.shape[d];
    }
    for (int d = count; d < dims; d++) {
        shape[d - count + 1] = a->type.shape[d];
    }
    return count == 1 ? a : rewrite_reshape(x, a, shape, (size_t)(dims - count + 1));
}

static struct gr_node *
get_listed(struct rewrite *x, const struct chosen *c, const struct spots *s)
{
    int64_t count = 0;
    Granary__Attr *numbers = chosen_list(x, c->list, &count);
    struct gr_node *taken;
    int64_t order[8];

    if (x->err != GRANARY_OK) {
        return x->node;
    }
    taken = rewrite_add(x, GR_TILE_take, s->left, NULL, numbers, rewrite_int(x, "axis", s->at[0]));
    return s->target == s->at[0] || x->err != GRANARY_OK ? taken : to_front(x, taken, &s->at[0], 1, order);
}

static struct gr_node *
get_at(struct rewrite *x, const struct chosen *c)
{
    struct spots s;
    struct gr_node *arrays[8], *front, *number;
    int64_t order[8];
    int count = list_positions(x, c, arrays);

    if (!chosen_spots(x, c, &s)) {
        return x->node;
    }
    if (c->list != NULL) {
        return get_listed(x, c, &s);
    }
    front = to_front(x, s.left, s.at, count, order);
    if (x->err != GRANARY_OK) {
        return front;
    }
    number = count == 1 ? arrays[0] : one_number(x, &front->type, arrays, count);
    front = rewrite_binary(x, GR_TILE_take_at, join_front(x, front, count), number);
    return s.target == 0 || x->err != GRANARY_OK ? front : move_block(x, front, number->type.dims, s.target, false);
}

/* Rows of `to` at positions become those of `value`; of equal positions the last one counts. */
static struct gr_node *
scatter(struct rewrite *x, struct gr_node *to, struct gr_node *number, struct gr_node *value)
{
    int64_t rows = to->type.shape[0], shape[8] = {rows, 1, 1, 1, 1, 1, 1, 1};
    struct gr_node *order, *sorted, *place, *choice[3];

    number = rewrite_flat(x, number);
    order = rewrite_unary(x, GR_TILE_argsort, number);
    sorted = rewrite_binary(x, GR_TILE_take_at, number, order);
    place =
        rewrite_add(x, GR_TILE_searchsorted, sorted, rewrite_range(x, rows), rewrite_string(x, "side", "right"), NULL);
    place = rewrite_value(x, GR_TILE_maximum, rewrite_value(x, GR_TILE_subtract, place, 1), 0);
    choice[0] =
        rewrite_binary(x, GR_TILE_equal, rewrite_binary(x, GR_TILE_take_at, sorted, place), rewrite_range(x, rows));
    choice[0] = rewrite_reshape(x, choice[0], shape, (size_t)to->type.dims);
    choice[1] = rewrite_binary(x, GR_TILE_take_at, value, rewrite_binary(x, GR_TILE_take_at, order, place));
    choice[2] = to;
    return rewrite_add_many(x, GR_TILE_where, choice, 3);
}

/* The value, stretched to what positions of that shape choose, with their dimensions in front and as one. */
static struct gr_node *
stretch_value(struct rewrite *x, const struct gr_node *front, int count, const struct gr_node_type *number, int target,
              struct gr_node *value)
{
    int rest = front->type.dims - count, dims = number->dims + rest;
    int64_t shape[8];

    value = rewrite_astype(x, value, front->type.dtype);
    if (dims > 8) {
        return rewrite_fail(x, "parameter 'index' chooses %d dimensions; at most 8 are possible", dims);
    }
    for (int d = 0; d < dims; d++) {
        int behind = d - target - number->dims; /* of the others */

        shape[d] = d < target   ? front->type.shape[count + d]
                   : behind < 0 ? number->shape[d - target]
                                : front->type.shape[count + target + behind];
    }
    while (x->err == GRANARY_OK && value->type.dims > dims && value->type.shape[0] == 1) {
        value = rewrite_reshape(x, value, value->type.shape + 1, (size_t)value->type.dims - 1);
    }
    value = rewrite_add(x, GR_TILE_broadcast_to, value, NULL, rewrite_ints(x, "shape", shape, (size_t)dims), NULL);
    value = x->err == GRANARY_OK && target > 0 ? move_block(x, value, number->dims, target, true) : value;
    return x->err != GRANARY_OK ? x->node : join_front(x, value, number->dims);
}

static bool
is_empty(const struct gr_node_type *type)
{
    bool empty = false;

    for (int d = 0; d < type->dims; d++) {
        empty = empty || type->shape[d] == 0;
    }
    return empty;
}

static struct gr_node *
set_at(struct rewrite *x, const struct chosen *c, const struct spots *s, struct gr_node *value)
{
    struct gr_node *arrays[8], *front, *number, *joined;
    int64_t order[8], back[8];
    int count = list_positions(x, c, arrays);
    int dims = s->left->type.dims, target = s->target;

    front = to_front(x, s->left, s->at, count, order);
    number = one_number(x, &front->type, arrays, count);
    if (x->err == GRANARY_OK && number->type.dims == 0) { /* one place, whose own dimension may stand anywhere */
        number = rewrite_reshape(x, number, (int64_t[]){1}, 1);
        target = 0;
    }
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    if (is_empty(&front->type) || is_empty(&number->type)) {
        return rewrite_reshape(x, s->left, s->left->type.shape, (size_t)dims);
    }
    joined = join_front(x, front, count);
    value = stretch_value(x, front, count, &number->type, target, value);
    joined = x->err == GRANARY_OK ? scatter(x, joined, number, value) : x->node;
    joined = rewrite_reshape(x, joined, front->type.shape, (size_t)dims);
    for (int d = 0; d < dims; d++) {
        back[order[d]] = d;
    }
    return x->err == GRANARY_OK ? rewrite_transpose(x, joined, back, (size_t)dims) : x->node;
}

/* ---- the operators ---- */

static struct gr_node *
rewrite_getitem(struct rewrite *x)
{
    struct chosen c;

    if (!chosen_read(x, 1, &c)) {
        return x->node;
    }
    return c.masks > 0 ? chosen_get_masked(x, &c) : get_at(x, &c);
}

const struct gr_operator gr_op_getitem = {
    .traits = GR_OP_TAKES_UNSIZED, .infer = infer_view, .rewrite = rewrite_getitem};

static struct gr_node *
rewrite_setitem(struct rewrite *x)
{
    struct chosen c;
    struct spots s;
    struct gr_node *mask = NULL, *part;

    if (!chosen_read(x, 2, &c)) {
        return x->node;
    }
    if (c.list != NULL) {
        return rewrite_fail(x, "parameter 'index' has a list: give it as an input");
    }
    for (size_t i = 0; i < c.count; i++) {
        if (c.parts[i].kind == PART_NONE) {
            return rewrite_fail(x, "parameter 'index': None cannot be set beside arrays");
        }
    }
    if (!chosen_spots(x, &c, &s) || (c.masks > 0 && !chosen_mask(x, &c, &s, &mask))) {
        return x->node;
    }
    part =
        c.masks > 0 ? chosen_set_masked(x, s.left, mask, rewrite_input(x, 1)) : set_at(x, &c, &s, rewrite_input(x, 1));
    return s.is_all || x->err != GRANARY_OK
               ? part
               : rewrite_add(x, GR_TILE_setitem, c.whole, part, rewrite_string(x, "index", s.text), NULL);
}

const struct gr_operator gr_op_setitem = {
    .traits = GR_OP_TAKES_UNSIZED, .infer = infer_view, .rewrite = rewrite_setitem};
