/* Functions that tell something of a list: its length, an item, a sum of its items. */
#include <math.h>
#include <stdlib.h>

#include "kernel/core/exact_sum.h"
#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/rows/lists/lists.h"

static bool
is_real(const granary_column *column)
{
    return column->dtype == GRANARY_FLOAT64 || column->dtype == GRANARY_FLOAT32;
}

/* Two values of one dtype, or numbers of two; a nan is a nan. */
static bool
is_equal(const granary_column *a, int64_t i, const granary_column *b, int64_t j)
{
    if (gr_dtype_is_text(a->dtype)) {
        return select_texts(a, i, b, j) == 0;
    }
    if (is_real(a) || is_real(b)) {
        double x = select_real(a, i, (double)gr_power_of_ten(gr_dtype_scale(a->dtype)));
        double y = select_real(b, j, (double)gr_power_of_ten(gr_dtype_scale(b->dtype)));

        return x == y || (isnan(x) && isnan(y));
    }
    return select_int(a, i) == select_int(b, j);
}

/* ---- lengths and items ---- */

granary_err
op_list_length(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    const struct rows_list *lists = a->values;
    int64_t *out = node_room(node, ROWS_INT);

    node_strict(node, n);
    for (int64_t i = 0; i < n; i++) {
        out[i] = a->class == ROWS_LIST && node_counts(a, i) ? lists[i].count : 0;
    }
    return GRANARY_OK;
}

/* From 1 on, or from the end; INT64_MIN: there is none. */
static int64_t
position_of(int64_t position, int64_t count)
{
    if (position > 0) {
        return position <= count ? position - 1 : INT64_MIN;
    }
    return position < 0 && position >= -count ? count + position : INT64_MIN;
}

granary_err
op_list_extract(struct node *node, int64_t n)
{
    const struct node *at = node->operands[1];
    int64_t *indices = scratch_alloc((size_t)(n + 1) * sizeof *indices);
    struct lists_view *view = NULL;
    granary_err err = indices == NULL ? node_no_memory() : lists_open(node->operands[0], n, &view);

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        int64_t position = node_counts(at, i) ? position_of(node_int_at(at, i), view->count[i]) : INT64_MIN;

        indices[i] = position < 0 ? -1 : view->from[i] + position;
    }
    err = err == GRANARY_OK ? lists_give_taken(node, view->items, indices, n) : err;
    lists_close(view);
    scratch_free(indices);
    return err;
}

/* Both ends are in it; one that is null is open. */
granary_err
op_list_slice(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    const struct node *first = node->operands[1];
    const struct node *last = node->operands[2];
    const struct rows_list *lists = a->values;
    struct rows_list *out = node_room(node, ROWS_LIST);

    node_bad_of_operands(node, n);
    node->valid = a->valid;
    for (int64_t i = 0; i < n; i++) {
        struct rows_list list = a->class == ROWS_LIST && node_counts(a, i) ? lists[i] : (struct rows_list){0};
        int64_t from = node_counts(first, i) ? node_int_at(first, i) : 1;
        int64_t to = node_counts(last, i) ? node_int_at(last, i) : list.count;

        from = from < -list.count ? 1 : from < 0 ? list.count + from + 1 : from < 1 ? 1 : from;
        to = to < -list.count ? 0 : to < 0 ? list.count + to + 1 : to > list.count ? list.count : to;
        if (to < from) {
            out[i] = (struct rows_list){list.items, list.from, 0};
        } else {
            out[i] = (struct rows_list){list.items, list.from + (int32_t)from - 1, (int32_t)(to - from + 1)};
        }
    }
    return GRANARY_OK;
}

/* Where the first null of a list is, from 1; 0: there is none. */
static int64_t
find_null(const struct lists_view *view, int64_t i)
{
    for (int64_t k = 0; k < view->count[i]; k++) {
        if (!lists_item_counts(view, i, k)) {
            return k + 1;
        }
    }
    return 0;
}

/* Where nulls are looked for, a row is there when its list is. */
static void
be_there_with_list(struct node *node, int64_t n)
{
    node_bad_of_operands(node, n);
    node->valid = node->operands[0]->valid;
}

/* Where a value is among a list's items, from 1; 0: it is not. Whether a null is there, nobody knows; its position is that of
 * a null. */
granary_err
op_list_find(struct node *node, int64_t n)
{
    struct node *wanted = node->operands[1];
    bool contains = node->op == GR_OP_LIST_CONTAINS;
    struct lists_view *view = NULL;
    struct gr_column values = {.owned = false};
    void *room = node_room(node, contains ? ROWS_BOOL : ROWS_INT);
    granary_err err = lists_node_column(wanted, n, &values);

    err = err == GRANARY_OK ? lists_open(node->operands[0], n, &view) : err;
    if (contains) {
        node_strict(node, n);
    } else {
        be_there_with_list(node, n);
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        bool wants_null = !contains && !node_counts(wanted, i);
        int64_t found = wants_null ? find_null(view, i) : 0;

        for (int64_t k = 0; k < view->count[i] && found == 0 && node_counts(node, i) && !wants_null; k++) {
            if (!gr_is_null(view->items, view->from[i] + k) &&
                is_equal(view->items, view->from[i] + k, &values.view, i)) {
                found = k + 1;
            }
        }
        if (contains) {
            ((uint8_t *)room)[i] = found > 0;
        } else {
            ((int64_t *)room)[i] = found;
        }
    }
    lists_close(view);
    gr_column_free(&values);
    return err;
}

/* ---- values of a whole list ---- */

granary_err
op_list_extreme(struct node *node, int64_t n)
{
    int wanted = node->op == GR_OP_LIST_MAX ? 1 : -1;
    int64_t *indices = scratch_alloc((size_t)(n + 1) * sizeof *indices);
    struct lists_view *view = NULL;
    granary_err err = indices == NULL ? node_no_memory() : lists_open(node->operands[0], n, &view);

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        indices[i] = -1;
        for (int64_t k = 0; k < view->count[i]; k++) {
            int64_t at = view->from[i] + k;

            if (lists_item_counts(view, i, k) &&
                (indices[i] < 0 || select_compare(view->items, at, indices[i]) * wanted > 0)) {
                indices[i] = at;
            }
        }
    }
    err = err == GRANARY_OK ? lists_give_taken(node, view->items, indices, n) : err;
    lists_close(view);
    scratch_free(indices);
    return err;
}

/* The exact sum of a list's floats, or of what is computed as such. */
static double
sum_reals(const struct lists_view *view, int64_t i, int64_t count, bool is_mean, bool *ret_ok)
{
    double divisor = (double)gr_power_of_ten(gr_dtype_scale(view->items->dtype));
    struct exact_sum sum = {.count = 0};
    double value;

    for (int64_t k = 0; k < view->count[i]; k++) {
        if (lists_item_counts(view, i, k)) {
            exact_sum_add(&sum, select_real(view->items, view->from[i] + k, divisor));
        }
    }
    value = exact_sum_value(&sum);
    *ret_ok = exact_sum_ok(&sum);
    exact_sum_fini(&sum);
    return is_mean ? value / (double)count : value;
}

/* Sums and means; null of no values. */
granary_err
op_list_sum(struct node *node, int64_t n)
{
    bool is_mean = node->op == GR_OP_LIST_MEAN;
    bool real = node->dtype == GRANARY_FLOAT64;
    struct lists_view *view;
    gr_int128 *exact = real ? NULL : node_exact_room(node);
    double *reals = real ? node_room(node, ROWS_DOUBLE) : NULL;
    uint8_t *valid;
    bool ok = true;
    granary_err err = lists_open(node->operands[0], n, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    node_strict(node, n);
    valid = node_valid_room(node);
    for (int64_t i = 0; i < n && ok; i++) {
        int64_t count = lists_items_there(view, i);

        valid[i] = count > 0;
        if (real) {
            reals[i] = count > 0 ? sum_reals(view, i, count, is_mean, &ok) : 0;
            continue;
        }
        exact[i] = 0;
        for (int64_t k = 0; k < view->count[i]; k++) {
            exact[i] += lists_item_counts(view, i, k) ? select_int(view->items, view->from[i] + k) : 0;
        }
    }
    lists_close(view);
    if (!real) {
        node_settle_exact(node, n);
    }
    return ok ? GRANARY_OK : node_no_memory();
}
