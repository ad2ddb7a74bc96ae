/* Two lists of numbers as points or vectors, and lists made longer with a value. */
#include <math.h>
#include <stdlib.h>

#include "kernel/core/exact_sum.h"
#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/rows/lists/lists.h"

enum { RESIZE_MOST = 1 << 24 };

/* The exact sum of what is made of each pair of items: (a - b)^2, or a * b. */
static double
sum_pairs(const struct lists_view *a, const struct lists_view *b, int64_t i, bool squares)
{
    double units[2] = {(double)gr_power_of_ten(gr_dtype_scale(a->items->dtype)),
                       (double)gr_power_of_ten(gr_dtype_scale(b->items->dtype))};
    struct exact_sum sum = {.count = 0};
    double value;

    for (int64_t k = 0; k < a->count[i]; k++) {
        double x = select_real(a->items, a->from[i] + k, units[0]);
        double y = select_real(b->items, b->from[i] + k, units[1]);

        exact_sum_add(&sum, squares ? (x - y) * (x - y) : x * y);
    }
    value = exact_sum_ok(&sum) ? exact_sum_value(&sum) : NAN;
    exact_sum_fini(&sum);
    return value;
}

static bool
are_alike(const struct lists_view *a, const struct lists_view *b, int64_t i)
{
    return a->count[i] == b->count[i] && lists_items_there(a, i) == a->count[i] &&
           lists_items_there(b, i) == b->count[i];
}

static double
pair_value(enum gr_expr_op op, const struct lists_view *a, const struct lists_view *b, int64_t i)
{
    double cosine;

    if (op == GR_OP_LIST_DISTANCE) {
        return sqrt(sum_pairs(a, b, i, true));
    }
    if (op == GR_OP_LIST_INNER_PRODUCT) {
        return sum_pairs(a, b, i, false);
    }
    cosine = sum_pairs(a, b, i, false) / sqrt(sum_pairs(a, a, i, false) * sum_pairs(b, b, i, false));
    return cosine > 1.0 ? 1.0 : cosine < -1.0 ? -1.0 : cosine;
}

granary_err
op_list_pair(struct node *node, int64_t n)
{
    double *out = node_room(node, ROWS_DOUBLE);
    struct lists_view *a = NULL;
    struct lists_view *b = NULL;
    uint8_t *valid;
    granary_err err = lists_open(node->operands[0], n, &a);

    err = err == GRANARY_OK ? lists_open(node->operands[1], n, &b) : err;
    if (err != GRANARY_OK) {
        lists_close(a);
        return err;
    }
    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0.0;
        if (!node_counts(node, i)) {
            continue;
        }
        if (are_alike(a, b, i)) {
            out[i] = pair_value(node->op, a, b, i);
        } else {
            node_mark_bad(node, i, n);
        }
    }
    if (node->op == GR_OP_LIST_COSINE) { /* of nothing there is none */
        const uint8_t *there = node->valid;

        valid = node_valid_room(node);
        for (int64_t i = 0; i < n; i++) {
            valid[i] = (there == NULL || there[i] != 0) && a->count[i] > 0;
        }
    }
    lists_close(a);
    lists_close(b);
    node_round_to_float32(node, n);
    return GRANARY_OK;
}

/* How many items each list gets; where it is too long the row is bad. */
static granary_err
count_resized(struct node *node, int32_t *ends, int64_t n, int64_t *ret_all)
{
    const struct node *wanted = node->operands[1];
    int64_t all = 0;

    for (int64_t i = 0; i < n; i++) {
        int64_t count = node_counts(node, i) && node_counts(wanted, i) ? node_int_at(wanted, i) : 0;

        if (count > RESIZE_MOST || count < 0 || all + count > INT32_MAX) {
            node_mark_bad(node, i, n);
            count = 0;
        }
        all += count;
        ends[i] = (int32_t)all;
    }
    *ret_all = all;
    return GRANARY_OK;
}

/* Items, and behind them the values of the rows, as one column. */
static granary_err
join_values(const struct lists_view *view, struct node *value, int64_t n, granary_dtype item, struct gr_column *ret_all)
{
    struct gr_column values;
    struct gr_run runs[2];
    granary_err err = lists_node_column(value, n, &values);

    if (err == GRANARY_OK) {
        runs[0] = (struct gr_run){view->items, 0, view->items->rows};
        runs[1] = (struct gr_run){&values.view, 0, n};
        err = gr_column_concat(runs, 2, item, ret_all);
        gr_column_free(&values);
    }
    return err;
}

/* list_resize(l, n, x) */
granary_err
op_list_resize(struct node *node, int64_t n)
{
    struct lists_view *view = NULL;
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    int64_t *indices = NULL;
    struct gr_column joined = {.owned = false};
    int64_t all = 0;
    int64_t at = 0;
    granary_err err = ends == NULL ? node_no_memory() : lists_open(node->operands[0], n, &view);

    if (err == GRANARY_OK) {
        node_bad_of_operands(node, n);
        node->valid = node->operands[0]->valid;
        err = count_resized(node, ends, n, &all);
        indices = malloc((size_t)(all + 1) * sizeof *indices);
        err = indices == NULL ? node_no_memory() : err;
    }
    err = err == GRANARY_OK ? join_values(view, node->operands[2], n, GRANARY_LIST_ITEM(node->dtype), &joined) : err;
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        for (int64_t k = 0; at < ends[i]; k++) {
            indices[at++] = k < view->count[i] ? view->from[i] + k : view->items->rows + i;
        }
    }
    err = err == GRANARY_OK ? lists_give_picked(node, &joined.view, indices, at, ends, n) : err;
    gr_column_free(&joined);
    lists_close(view);
    free(indices);
    scratch_free(ends);
    return err;
}
