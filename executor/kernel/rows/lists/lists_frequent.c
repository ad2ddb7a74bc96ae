/* How often the items of a list come, nulls aside, and their bits. Equal items stand together when they are sorted. */
#include <math.h>
#include <stdlib.h>

#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/rows/lists/lists.h"
#include "kernel/sort/sort.h"

/* A list's items by their order. */
struct sorted {
    struct sort_key by;
    int64_t *items;
    int64_t count;
};

static granary_err
sort_items(const struct lists_view *view, int64_t i, struct sorted *sorted)
{
    sorted->by = (struct sort_key){.column = view->items, .nan_largest = true};
    sorted->count = 0;
    for (int64_t k = 0; k < view->count[i]; k++) {
        if (lists_item_counts(view, i, k)) {
            sorted->items[sorted->count++] = view->from[i] + k;
        }
    }
    return sorted->count > 1 ? sort_rows_of(&sorted->by, 1, sorted->items, sorted->count) : GRANARY_OK;
}

/* Where the items end that equal the one at `from`. */
static int64_t
end_of_equals(const struct sorted *sorted, int64_t from)
{
    int64_t end = from + 1;

    while (end < sorted->count &&
           sort_compare(&sorted->by, sorted->items[from], &sorted->by, sorted->items[end], 1) == 0) {
        end++;
    }
    return end;
}

/* The most frequent item, of equally frequent ones that which is first; -1: there is none. */
static int64_t
mode_of(const struct sorted *sorted)
{
    int64_t best = -1;
    int64_t most = 0;

    for (int64_t from = 0, end; from < sorted->count; from = end) {
        int64_t first = sorted->items[from];

        end = end_of_equals(sorted, from);
        for (int64_t k = from + 1; k < end; k++) {
            first = sorted->items[k] < first ? sorted->items[k] : first;
        }
        if (end - from > most || (end - from == most && first < best)) {
            most = end - from;
            best = first;
        }
    }
    return best;
}

/* A different item: where it is first, and how often it comes. */
struct frequency {
    int64_t first;
    int64_t count;
};

static int
compare_frequencies(const void *left, const void *right)
{
    const struct frequency *a = left;
    const struct frequency *b = right;

    return a->count != b->count ? (a->count < b->count ? 1 : -1) : (a->first > b->first) - (a->first < b->first);
}

/* Each different item once, as op_list_by_frequency() gives them. How many. */
static int64_t
frequencies_of(const struct sorted *sorted, struct frequency *found)
{
    int64_t count = 0;

    for (int64_t from = 0, end; from < sorted->count; from = end) {
        end = end_of_equals(sorted, from);
        found[count] = (struct frequency){sorted->items[from], end - from};
        for (int64_t k = from + 1; k < end; k++) {
            found[count].first = sorted->items[k] < found[count].first ? sorted->items[k] : found[count].first;
        }
        count++;
    }
    qsort(found, (size_t)count, sizeof *found, compare_frequencies);
    return count;
}

static double
entropy_of(const struct sorted *sorted)
{
    double sum = 0.0;

    for (int64_t from = 0, end; from < sorted->count; from = end) {
        double share;

        end = end_of_equals(sorted, from);
        share = (double)(end - from) / (double)sorted->count;
        sum -= share * log2(share);
    }
    return sum == 0.0 ? 0.0 : sum; /* no -0.0 */
}

granary_err
op_list_mode(struct node *node, int64_t n)
{
    int64_t *indices = scratch_alloc((size_t)(n + 1) * sizeof *indices);
    struct lists_view *view = NULL;
    struct sorted sorted = {.items = NULL};
    granary_err err = indices == NULL ? node_no_memory() : lists_open(node->operands[0], n, &view);

    if (err == GRANARY_OK) {
        sorted.items = malloc((size_t)(view->all + 1) * sizeof *sorted.items);
        err = sorted.items == NULL ? node_no_memory() : GRANARY_OK;
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        err = sort_items(view, i, &sorted);
        indices[i] = mode_of(&sorted);
    }
    err = err == GRANARY_OK ? lists_give_taken(node, view->items, indices, n) : err;
    lists_close(view);
    free(sorted.items);
    scratch_free(indices);
    return err;
}

/* The most frequent items first, of equally frequent ones that which is first. */
granary_err
op_list_by_frequency(struct node *node, int64_t n)
{
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    struct lists_view *view = NULL;
    struct frequency *found = NULL;
    struct sorted sorted = {.items = NULL};
    int64_t *indices = NULL;
    int64_t at = 0;
    granary_err err = ends == NULL ? node_no_memory() : lists_open(node->operands[0], n, &view);

    if (err == GRANARY_OK) {
        sorted.items = malloc((size_t)(view->all + 1) * sizeof *sorted.items);
        indices = malloc((size_t)(view->all + 1) * sizeof *indices);
        found = malloc((size_t)(view->all + 1) * sizeof *found);
        err = sorted.items == NULL || indices == NULL || found == NULL ? node_no_memory() : GRANARY_OK;
    }
    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        err = sort_items(view, i, &sorted);
        if (err == GRANARY_OK) {
            int64_t count = frequencies_of(&sorted, found);

            for (int64_t k = 0; k < count; k++) {
                indices[at++] = found[k].first;
            }
            ends[i] = (int32_t)at;
        }
    }
    err = err == GRANARY_OK ? lists_give_picked(node, view->items, indices, at, ends, n) : err;
    lists_close(view);
    free(sorted.items);
    free(indices);
    free(found);
    scratch_free(ends);
    return err;
}

/* Of no values 0, as DuckDB has it. */
granary_err
op_list_entropy(struct node *node, int64_t n)
{
    struct lists_view *view;
    double *out = node_room(node, ROWS_DOUBLE);
    struct sorted sorted;
    granary_err err = lists_open(node->operands[0], n, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    node_strict(node, n);
    sorted.items = malloc((size_t)(view->all + 1) * sizeof *sorted.items);
    err = sorted.items == NULL ? node_no_memory() : GRANARY_OK;
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        err = sort_items(view, i, &sorted);
        out[i] = err == GRANARY_OK ? entropy_of(&sorted) : 0.0;
    }
    lists_close(view);
    free(sorted.items);
    return err;
}

static gr_int128
join_bits(enum gr_expr_op op, gr_int128 a, gr_int128 b)
{
    return op == GR_OP_LIST_BIT_AND ? a & b : op == GR_OP_LIST_BIT_OR ? a | b : a ^ b;
}

/* Of all items; null of no values. */
granary_err
op_list_bits(struct node *node, int64_t n)
{
    struct lists_view *view;
    gr_int128 *out = node_exact_room(node);
    uint8_t *valid;
    granary_err err = lists_open(node->operands[0], n, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    node_strict(node, n);
    valid = node_valid_room(node);
    for (int64_t i = 0; i < n; i++) {
        out[i] = 0;
        valid[i] = 0;
        for (int64_t k = 0; k < view->count[i]; k++) {
            if (lists_item_counts(view, i, k)) {
                gr_int128 item = select_int(view->items, view->from[i] + k);

                out[i] = valid[i] == 0 ? item : join_bits(node->op, out[i], item);
                valid[i] = 1;
            }
        }
    }
    lists_close(view);
    node_settle_exact(node, n);
    return GRANARY_OK;
}
