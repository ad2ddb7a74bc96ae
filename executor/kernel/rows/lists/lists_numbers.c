/*
 * What statistics say of the items of a list, nulls aside. Sums are exact and rounded once, as those of groups. The
 * spread is taken around the mean, which is rounded: so it is that of groups but for the last digits.
 */
#include <math.h>
#include <stdlib.h>

#include "kernel/core/exact_sum.h"
#include "kernel/core/moments.h"
#include "kernel/core/select.h"
#include "kernel/rows/lists/lists.h"
#include "kernel/sort/sort.h"

/* The squares of distances from the mean, added up. */
static double
spread_of(const double *values, size_t count)
{
    struct exact_sum sum = {0};
    double mean;
    double spread;

    exact_sum_add_many(&sum, values, count);
    mean = exact_sum_value(&sum) / (double)count;
    exact_sum_fini(&sum);
    sum = (struct exact_sum){0};
    for (size_t i = 0; i < count; i++) {
        exact_sum_add(&sum, (values[i] - mean) * (values[i] - mean));
    }
    spread = exact_sum_ok(&sum) ? exact_sum_value(&sum) : NAN;
    exact_sum_fini(&sum);
    return spread;
}

/* The median of distances from the median. */
static double
deviation_of(double *values, size_t count)
{
    double median = select_quantile(values, count, 0.5);

    for (size_t i = 0; i < count; i++) {
        values[i] = fabs(values[i] - median);
    }
    return select_quantile(values, count, 0.5);
}

/* false: it has none. values: room for as many behind them. */
static bool
number_of(enum gr_expr_op op, double *values, size_t count, double *ret_value)
{
    size_t least = op == GR_OP_LIST_VAR_SAMP ? 2 : 1;

    if (count < least) {
        return false;
    }
    switch (op) {
    case GR_OP_LIST_MEDIAN:
        *ret_value = select_quantile(values, count, 0.5);
        break;
    case GR_OP_LIST_MAD:
        *ret_value = deviation_of(values, count);
        break;
    case GR_OP_LIST_SKEWNESS:
        return moment_skew(values, count, ret_value);
    case GR_OP_LIST_KURTOSIS:
        return moment_kurtosis(values, count, ret_value);
    case GR_OP_LIST_PRODUCT:
        *ret_value = 1.0;
        for (size_t i = 0; i < count; i++) {
            *ret_value *= values[i];
        }
        break;
    default:
        *ret_value = spread_of(values, count) / (double)(count + 1 - least);
        break;
    }
    return true;
}

/* Medians, products, variances. */
granary_err
op_list_number(struct node *node, int64_t n)
{
    struct lists_view *view;
    double *out = node_room(node, ROWS_DOUBLE);
    double *values = NULL;
    uint8_t *valid;
    granary_err err = lists_open(node->operands[0], n, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    node_strict(node, n);
    valid = node_valid_room(node);
    values = malloc((size_t)(view->all + 1) * 2 * sizeof *values);
    err = values == NULL ? node_no_memory() : GRANARY_OK;
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        double divisor = (double)gr_power_of_ten(gr_dtype_scale(view->items->dtype));
        size_t count = 0;

        for (int64_t k = 0; k < view->count[i]; k++) {
            if (lists_item_counts(view, i, k)) {
                values[count++] = select_real(view->items, view->from[i] + k, divisor);
            }
        }
        out[i] = 0.0;
        valid[i] = number_of(node->op, values, count, &out[i]);
    }
    lists_close(view);
    free(values);
    return err;
}

/* Different items, by their order. */
static granary_err
count_different(const struct lists_view *view, int64_t i, int64_t *room, int64_t *ret_count)
{
    const struct sort_key by = {.column = view->items, .nan_largest = true};
    int64_t there = 0;
    int64_t count = 0;
    granary_err err;

    for (int64_t k = 0; k < view->count[i]; k++) {
        if (lists_item_counts(view, i, k)) {
            room[there++] = view->from[i] + k;
        }
    }
    err = there > 1 ? sort_rows_of(&by, 1, room, there) : GRANARY_OK;
    for (int64_t k = 0; k < there && err == GRANARY_OK; k++) {
        count += k == 0 || sort_compare(&by, room[k - 1], &by, room[k], 1) != 0;
    }
    *ret_count = count;
    return err;
}

/* How many items are there, or how many different ones. */
granary_err
op_list_count(struct node *node, int64_t n)
{
    struct lists_view *view;
    int64_t *out = node_room(node, ROWS_INT);
    int64_t *room = NULL;
    granary_err err = lists_open(node->operands[0], n, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    node_strict(node, n);
    room = malloc((size_t)(view->all + 1) * sizeof *room);
    err = room == NULL ? node_no_memory() : GRANARY_OK;
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        if (node->op == GR_OP_LIST_UNIQUE) {
            err = count_different(view, i, room, &out[i]);
        } else {
            out[i] = lists_items_there(view, i);
        }
    }
    lists_close(view);
    free(room);
    return err;
}

/* Whether all items are true, or any; null of no values. */
granary_err
op_list_truth(struct node *node, int64_t n)
{
    bool all = node->op == GR_OP_LIST_BOOL_AND;
    struct lists_view *view;
    uint8_t *out = node_room(node, ROWS_BOOL);
    uint8_t *valid;
    granary_err err = lists_open(node->operands[0], n, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    node_strict(node, n);
    valid = node_valid_room(node);
    for (int64_t i = 0; i < n; i++) {
        out[i] = all;
        valid[i] = 0;
        for (int64_t k = 0; k < view->count[i]; k++) {
            if (lists_item_counts(view, i, k)) {
                bool item = gr_bit(view->items->values, view->from[i] + k);

                valid[i] = 1;
                out[i] = all ? out[i] && item : out[i] || item;
            }
        }
    }
    lists_close(view);
    return GRANARY_OK;
}
