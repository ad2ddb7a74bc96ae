/* The attributes of the sort operators, read once for all of them. */
#include "kernel/sort/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { ADDED_MAX = 2 };

void
order_fini(struct order *order)
{
    free(order->names);
    free(order->descending);
    free(order->nulls_first);
    *order = (struct order){0};
}

/* Flags of a parameter, one for all or one a column; absent: false. */
static granary_err
order_flags(const Granary__Attr *attr, size_t count, bool *flags)
{
    if (attr != NULL && attr->n_ints != 1 && attr->n_ints != count) {
        return gr_fail(GRANARY_EINVAL, "'%s' has %zu values for %zu columns", attr->name, attr->n_ints, count);
    }
    for (size_t i = 0; attr != NULL && i < count; i++) {
        flags[i] = attr->ints[attr->n_ints == 1 ? 0 : i] != 0;
    }
    return GRANARY_OK;
}

granary_err
order_init(const struct gr_order_params *params, struct order *ret_order)
{
    struct order order = {.count = params->by->n_strings, .nan_largest = params->nan_largest};
    granary_err err;

    if (order.count == 0) {
        return gr_fail(GRANARY_EINVAL, "'by' names no column");
    }
    order.names = calloc(order.count + ADDED_MAX, sizeof *order.names);
    order.descending = calloc(order.count + ADDED_MAX, sizeof *order.descending);
    order.nulls_first = calloc(order.count + ADDED_MAX, sizeof *order.nulls_first);
    if (order.names == NULL || order.descending == NULL || order.nulls_first == NULL) {
        order_fini(&order);
        return gr_no_memory("sort");
    }
    memcpy(order.names, params->by->strings, order.count * sizeof *order.names);
    err = order_flags(params->descending, order.count, order.descending);
    if (err == GRANARY_OK) {
        err = order_flags(params->nulls_first, order.count, order.nulls_first);
    }
    if (err != GRANARY_OK) {
        order_fini(&order);
        return err;
    }
    *ret_order = order;
    return GRANARY_OK;
}

void
order_add(struct order *order, const char *name)
{
    order->names[order->count++] = (char *)(uintptr_t)name;
}

granary_err
order_keys(const struct order *order, const granary_frame *frame, struct sort_key **ret_keys)
{
    size_t count = order->count;
    const granary_column **columns;
    struct sort_key *keys;
    granary_err err = frame_columns(frame, order->names, count, &columns);

    if (err != GRANARY_OK) {
        return err;
    }
    keys = calloc(count, sizeof *keys);
    if (keys == NULL) {
        err = gr_no_memory("sort");
    }
    for (size_t i = 0; keys != NULL && i < count; i++) {
        keys[i] = (struct sort_key){columns[i], order->descending[i], order->nulls_first[i], order->nan_largest};
    }
    free(columns);
    if (err == GRANARY_OK) {
        *ret_keys = keys;
    }
    return err;
}

granary_err
order_frame(const struct order *order, const granary_frame *frame, int64_t limit, granary_frame **ret_frame)
{
    struct sort_key *keys;
    int64_t *indices = NULL;
    int64_t count = 0;
    granary_err err = order_keys(order, frame, &keys);

    if (err != GRANARY_OK) {
        return err;
    }
    err = sort_rows(keys, order->count, frame->rows, limit, &indices, &count);
    free(keys);
    if (err == GRANARY_OK) {
        err = gr_frame_take(frame, indices, count, ret_frame);
        free(indices);
    }
    return err;
}

bool
order_is_numbers(const struct order *order, const granary_frame *frame)
{
    const granary_column *column = frame->count == 1 ? &frame->columns[0].view : NULL;

    if (column == NULL || column->validity != NULL || order->count != 1 || strcmp(column->name, order->names[0]) != 0) {
        return false;
    }
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_INT64:
    case GRANARY_TIMESTAMP:
    case GRANARY_TIMESTAMPTZ:
    case GRANARY_TIME:
    case GRANARY_DURATION:
    case GRANARY_UINT64:
        return true;
    case GRANARY_FLOAT64:
        return order->nan_largest ? !order->descending[0] : !order->nulls_first[0];
    default:
        return false;
    }
}

granary_err
order_numbers(const struct order *order, granary_frame *frame, bool *ret_done)
{
    const granary_column *column;
    size_t count = (size_t)frame->rows;

    *ret_done = order_is_numbers(order, frame) && frame->columns[0].owned;
    if (!*ret_done) {
        return GRANARY_OK;
    }
    column = &frame->columns[0].view;
    switch (gr_dtype_kind(column->dtype)) {
    case GRANARY_UINT64:
        return sort_uint64((uint64_t *)(uintptr_t)column->values, count, order->descending[0]);
    case GRANARY_FLOAT64:
        return sort_float64((double *)(uintptr_t)column->values, count, order->descending[0]);
    default:
        return sort_int64((int64_t *)(uintptr_t)column->values, count, order->descending[0]);
    }
}
