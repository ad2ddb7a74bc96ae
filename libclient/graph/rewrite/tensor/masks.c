/* Masks in an index: rows are chosen (select.c), or the old elements and new ones by turns. */
#include <string.h>

#include "graph/infer/private.h"
#include "graph/rewrite/tensor/chosen.h"

bool
chosen_mask(struct rewrite *x, const struct chosen *c, const struct spots *s, struct gr_node **ret_mask)
{
    const struct gr_node_type *left = &s->left->type, *mask = NULL;
    bool plain = true;

    for (size_t i = 0; i < c->count; i++) {
        if (c->parts[i].kind == PART_ARRAY) {
            *ret_mask = rewrite_input(x, c->parts[i].input);
            mask = &(*ret_mask)->type;
        }
        plain = plain && c->parts[i].kind != PART_NONE;
    }
    if (!plain || s->at[0] != 0 || mask->dims == 0) {
        (void)rewrite_fail(x, "parameter 'index': a mask has the first dimensions, without None beside it; transpose "
                              "first, or use its positions");
        return false;
    }
    if (mask->dims > left->dims || memcmp(mask->shape, left->shape, (size_t)mask->dims * sizeof mask->shape[0]) != 0) {
        struct infer_shown shown, other;

        (void)rewrite_fail(x, "parameter 'index': a mask of shape %s does not fit a tensor of shape %s",
                           infer_show_type(mask, &shown), infer_show_type(left, &other));
        return false;
    }
    return true;
}

struct gr_node *
chosen_get_masked(struct rewrite *x, const struct chosen *c)
{
    struct spots s;
    struct gr_node *mask = NULL;

    if (!chosen_spots(x, c, &s) || !chosen_mask(x, c, &s, &mask)) {
        return x->node;
    }
    return rewrite_rows_where(x, s.left, mask);
}

/* 0 when so many are true. Of another number it becomes an error: a position that is not there. */
static struct gr_node *
nothing_else(struct rewrite *x, struct gr_node *flags, int64_t count)
{
    struct gr_node *surplus = rewrite_reduce(x, GR_TILE_sum, flags, -1, true);

    surplus = rewrite_value(x, GR_TILE_multiply, rewrite_value(x, GR_TILE_subtract, surplus, (double)count), 2);
    return rewrite_binary(x, GR_TILE_take_at, rewrite_full(x, (int64_t[]){1}, 1, NULL, GRANARY_INT64), surplus);
}

/* A part for each true element, in their order: that of an element is the number of true ones before it. */
static struct gr_node *
parts_by_mask(struct rewrite *x, struct gr_node *left, struct gr_node *mask, struct gr_node *value)
{
    int64_t count = value->type.shape[0];
    int64_t shape[8] = {count};
    int rest = left->type.dims - mask->type.dims;
    struct gr_node *flags = rewrite_astype(x, rewrite_flat(x, mask), GRANARY_INT64);
    struct gr_node *places = rewrite_value(x, GR_TILE_subtract, rewrite_unary(x, GR_TILE_cumsum, flags), 1);

    places = rewrite_binary(x, GR_TILE_add, places, nothing_else(x, flags, count));
    memcpy(shape + 1, left->type.shape + mask->type.dims, (size_t)rest * sizeof shape[0]);
    value = rewrite_add(x, GR_TILE_broadcast_to, value, NULL, rewrite_ints(x, "shape", shape, (size_t)rest + 1), NULL);
    value = rewrite_binary(x, GR_TILE_take_at, value, places);
    return rewrite_reshape(x, value, left->type.shape, (size_t)left->type.dims);
}

struct gr_node *
chosen_set_masked(struct rewrite *x, struct gr_node *left, struct gr_node *mask, struct gr_node *value)
{
    const struct gr_node_type *type = &left->type;
    int64_t shape[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    int rest = type->dims - mask->type.dims;
    struct gr_node *choice[3];

    value = rewrite_astype(x, value, type->dtype);
    while (x->err == GRANARY_OK && value->type.dims > rest && value->type.shape[0] == 1) {
        value = rewrite_reshape(x, value, value->type.shape + 1, (size_t)value->type.dims - 1);
    }
    if (x->err == GRANARY_OK && value->type.dims > rest + 1) {
        return rewrite_fail(x, "a value of %d dimensions does not fit what the mask chooses, of %d", value->type.dims,
                            rest + 1);
    }
    if (x->err != GRANARY_OK) {
        return x->node;
    }
    memcpy(shape, mask->type.shape, (size_t)mask->type.dims * sizeof shape[0]);
    choice[0] = rewrite_reshape(x, mask, shape, (size_t)type->dims);
    if (value->type.dims <= rest) {
        value = rewrite_add(x, GR_TILE_broadcast_to, value, NULL,
                            rewrite_ints(x, "shape", type->shape + mask->type.dims, (size_t)rest), NULL);
    } else if (value->type.shape[0] == 0) { /* an error, unless the mask chooses nothing */
        struct gr_node *flags = rewrite_astype(x, rewrite_flat(x, mask), GRANARY_INT64);

        choice[0] = rewrite_value(x, GR_TILE_not_equal, nothing_else(x, flags, 0), 0);
        choice[0] = rewrite_reshape(x, choice[0], NULL, 0);
        value = left;
    } else {
        value = parts_by_mask(x, left, mask, value);
    }
    choice[1] = value;
    choice[2] = left;
    return rewrite_add_many(x, GR_TILE_where, choice, 3);
}
