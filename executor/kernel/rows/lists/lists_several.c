/*
 * Functions of several lists of a row: in the order of others, where others say so, one behind another, what two have.
 * Items are taken by their positions, so that one way serves all dtypes; order is that of the sorts (kernel/sort).
 */
#include <stdlib.h>
#include <string.h>

#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/rows/lists/lists.h"
#include "kernel/sort/sort.h"

/* Lists of operands, the items of each in a column of their own, row by row; and what is taken of the first. */
struct several {
    size_t count;
    struct lists_view **views;
    struct gr_column *items;
    int64_t *indices; /* of items that are taken; room for all of the first */
    int32_t *ends;    /* of each row's */
    int64_t at;
};

static void
several_close(struct several *several)
{
    for (size_t k = 0; several->views != NULL && k < several->count; k++) {
        lists_close(several->views[k]);
    }
    for (size_t k = 0; several->items != NULL && k < several->count; k++) {
        gr_column_free(&several->items[k]);
    }
    free(several->views);
    free(several->items);
    free(several->indices);
    scratch_free(several->ends);
}

/* All operands, but perhaps one (-1: none). Whatever comes, several_close(). */
static granary_err
several_open(const struct node *node, int without, int64_t n, struct several *several)
{
    granary_err err = GRANARY_OK;

    *several = (struct several){.views = calloc(node->count + 1, sizeof(struct lists_view *)),
                                .items = calloc(node->count + 1, sizeof(struct gr_column)),
                                .ends = scratch_alloc((size_t)(n + 1) * sizeof(int32_t))};
    if (several->views == NULL || several->items == NULL || several->ends == NULL) {
        return node_no_memory();
    }
    for (size_t k = 0; k < node->count && err == GRANARY_OK; k++) {
        if ((int)k != without) {
            err = lists_open(node->operands[k], n, &several->views[several->count++]);
        }
    }
    if (err == GRANARY_OK) {
        several->indices = malloc((size_t)(several->views[0]->all + 1) * sizeof *several->indices);
        err = several->indices == NULL ? node_no_memory() : GRANARY_OK;
    }
    return err;
}

/* Whether a row has a result. */
static bool
row_counts(const struct node *node, int64_t i)
{
    return node_counts(node, i) && (node->bad == NULL || node->bad[i] == 0);
}

/* The items of the rows that count, of each list. */
static granary_err
several_gather(const struct node *node, struct several *several, int64_t n)
{
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k < several->count && err == GRANARY_OK; k++) {
        const struct lists_view *view = several->views[k];
        int64_t *indices = malloc((size_t)(view->all + 1) * sizeof *indices);
        int64_t at = 0;

        if (indices == NULL) {
            return node_no_memory();
        }
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; row_counts(node, i) && j < view->count[i]; j++) {
                indices[at++] = view->from[i] + j;
            }
        }
        err = gr_column_take(view->items, indices, at, &several->items[k]);
        free(indices);
    }
    return err;
}

/* The items of the first list at the indices are the node's. */
static granary_err
several_give(struct node *node, const struct several *several, int64_t n)
{
    return lists_give_picked(node, &several->items[0].view, several->indices, several->at, several->ends, n);
}

/* Rows whose lists have unequal lengths are bad. */
static void
mark_unequal(struct node *node, const struct several *several, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        bool equal = true;

        for (size_t k = 1; k < several->count; k++) {
            equal = equal && several->views[k]->count[i] == several->views[0]->count[i];
        }
        if (!equal && node_counts(node, i)) {
            node_mark_bad(node, i, n);
        }
    }
}

/* ---- in the order of others ---- */

/* "a,df": ascending, and descending with nulls first. The check has read it. */
static void
read_directions(const char *text, struct sort_key *keys, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        keys[k].descending = *text == 'd';
        keys[k].nulls_first = *text != '\0' && text[1] == 'f';
        keys[k].nan_largest = true;
        text += strcspn(text, ",");
        text += *text == ',';
    }
}

static granary_err
order_rows(const struct node *node, struct several *several, const struct sort_key *by, int64_t n)
{
    granary_err err = GRANARY_OK;

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        int64_t *indices = several->indices + several->at;
        int64_t count = row_counts(node, i) ? several->views[0]->count[i] : 0;

        for (int64_t k = 0; k < count; k++) {
            indices[k] = several->at + k;
        }
        err = count > 1 ? sort_rows_of(by, several->count - 1, indices, count) : GRANARY_OK;
        several->at += count;
        several->ends[i] = (int32_t)several->at;
    }
    return err;
}

granary_err
op_list_order_by(struct node *node, int64_t n)
{
    struct several several = {.count = 0};
    struct sort_key *by = calloc(node->count, sizeof *by);
    granary_err err = several_open(node, 1, n, &several);

    err = err == GRANARY_OK && by == NULL ? node_no_memory() : err;
    if (err == GRANARY_OK) {
        node_bad_of_operands(node, n);
        node->valid = node->operands[0]->class == ROWS_LIST ? node->operands[0]->valid : NULL;
        mark_unequal(node, &several, n);
        err = several_gather(node, &several, n);
    }
    if (err == GRANARY_OK) {
        read_directions(node->expr->operands[1]->text, by, several.count - 1);
        for (size_t k = 1; k < several.count; k++) {
            by[k - 1].column = &several.items[k].view;
        }
        err = order_rows(node, &several, by, n);
    }
    err = err == GRANARY_OK ? several_give(node, &several, n) : err;
    several_close(&several);
    free(by);
    if (err == GRANARY_OK && node->operands[0]->class != ROWS_LIST) {
        memset(node_valid_room(node), 0, (size_t)n);
    }
    return err;
}

/* ---- some items ---- */

/* Items beside which another list says true; behind the last item null. */
granary_err
op_list_where(struct node *node, int64_t n)
{
    struct several several = {.count = 0};
    int64_t *indices;
    granary_err err = several_open(node, -1, n, &several);

    if (err == GRANARY_OK) {
        node_strict(node, n);
        err = several_gather(node, &several, n);
    }
    if (err == GRANARY_OK && several.views[1]->all > several.views[0]->all) {
        indices = realloc(several.indices, (size_t)(several.views[1]->all + 1) * sizeof *indices);
        several.indices = indices != NULL ? indices : several.indices;
        err = indices == NULL ? node_no_memory() : GRANARY_OK;
    }
    for (int64_t i = 0, from = 0, flag = 0; i < n && err == GRANARY_OK; i++) {
        const granary_column *flags = &several.items[1].view;
        int64_t count = row_counts(node, i) ? several.views[0]->count[i] : 0;
        int64_t asked = row_counts(node, i) ? several.views[1]->count[i] : 0;

        for (int64_t k = 0; k < asked; k++) {
            if (flags->dtype == GRANARY_BOOL && !gr_is_null(flags, flag + k) && gr_bit(flags->values, flag + k)) {
                several.indices[several.at++] = k < count ? from + k : -1;
            }
        }
        from += count;
        flag += asked;
        several.ends[i] = (int32_t)several.at;
    }
    err = err == GRANARY_OK ? several_give(node, &several, n) : err;
    several_close(&several);
    return err;
}

/* Items at the positions that another list has, null where there is none. */
granary_err
op_list_select(struct node *node, int64_t n)
{
    struct several several = {.count = 0};
    int64_t *indices = NULL;
    int64_t at = 0;
    granary_err err = several_open(node, -1, n, &several);

    if (err == GRANARY_OK) {
        node_strict(node, n);
        err = several_gather(node, &several, n);
        indices = malloc((size_t)(several.views[1]->all + 1) * sizeof *indices);
        err = err == GRANARY_OK && indices == NULL ? node_no_memory() : err;
    }
    for (int64_t i = 0, from = 0, place = 0; i < n && err == GRANARY_OK; i++) {
        const granary_column *places = &several.items[1].view;
        int64_t count = row_counts(node, i) ? several.views[0]->count[i] : 0;
        int64_t wanted = row_counts(node, i) ? several.views[1]->count[i] : 0;

        for (int64_t k = place; k < place + wanted; k++) {
            gr_int128 position =
                gr_dtype_kind(places->dtype) == GRANARY_NULLTYPE || gr_is_null(places, k) ? 0 : select_int(places, k);

            indices[at++] = position >= 1 && position <= count ? from + (int64_t)position - 1 : -1;
        }
        from += count;
        place += wanted;
        several.ends[i] = (int32_t)at;
    }
    err = err == GRANARY_OK ? lists_give_picked(node, &several.items[0].view, indices, at, several.ends, n) : err;
    several_close(&several);
    free(indices);
    return err;
}

/* ---- one behind another ---- */

/* A null list has no items; of nulls alone it is null. */
static void
concat_valid(struct node *node, int64_t n)
{
    uint8_t *valid;

    if (node->op == GR_OP_LIST_BEHIND) {
        node_strict(node, n);
        return;
    }
    node_bad_of_operands(node, n);
    valid = node_valid_room(node);
    for (int64_t i = 0; i < n; i++) {
        valid[i] = 0;
        for (size_t k = 0; k < node->count; k++) {
            const struct node *operand = node->operands[k];

            valid[i] |= operand->class == ROWS_LIST && node_counts(operand, i);
        }
    }
}

granary_err
op_list_concat(struct node *node, int64_t n)
{
    struct several several = {.count = 0};
    struct gr_run *runs = calloc(node->count + 1, sizeof *runs);
    int64_t *from = calloc(node->count + 1, sizeof *from);
    int64_t *indices = NULL;
    struct gr_column all = {.owned = false};
    int64_t total = 0;
    int64_t at = 0;
    granary_err err = several_open(node, -1, n, &several);

    err = err == GRANARY_OK && (runs == NULL || from == NULL) ? node_no_memory() : err;
    if (err == GRANARY_OK) {
        concat_valid(node, n);
        err = several_gather(node, &several, n);
    }
    for (size_t k = 0; k < several.count && err == GRANARY_OK; k++) {
        runs[k] = (struct gr_run){&several.items[k].view, 0, several.items[k].view.rows};
        from[k] = total;
        total += several.items[k].view.rows;
    }
    if (err == GRANARY_OK && total > INT32_MAX) {
        err = gr_fail(GRANARY_EFULL, "list_concat: %lld items in %lld rows, and there is room for 2147483647",
                      (long long)total, (long long)n);
    }
    if (err == GRANARY_OK) {
        indices = malloc((size_t)(total + 1) * sizeof *indices);
        err = indices == NULL ? node_no_memory()
                              : gr_column_concat(runs, several.count, GRANARY_LIST_ITEM(node->dtype), &all);
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        for (size_t k = 0; k < several.count; k++) {
            for (int64_t j = 0; row_counts(node, i) && j < several.views[k]->count[i]; j++) {
                indices[at++] = from[k]++;
            }
        }
        several.ends[i] = (int32_t)at;
    }
    err = err == GRANARY_OK ? lists_give_picked(node, &all.view, indices, at, several.ends, n) : err;
    several_close(&several);
    gr_column_free(&all);
    free(indices);
    free(from);
    free(runs);
    return err;
}

/* ---- which is less ---- */

/* Nulls are the largest items, and equal. */
static int
compare_row(const struct sort_key keys[2], int64_t from[2], const int64_t count[2])
{
    int order = 0;

    for (int64_t k = 0; k < count[0] && k < count[1] && order == 0; k++) {
        order = sort_compare(&keys[0], from[0] + k, &keys[1], from[1] + k, 1);
    }
    order = order != 0 ? order : (count[0] > count[1]) - (count[0] < count[1]);
    return (order > 0) - (order < 0);
}

granary_err
op_list_compare(struct node *node, int64_t n)
{
    struct several several = {.count = 0};
    struct sort_key keys[2] = {{.nan_largest = true}, {.nan_largest = true}};
    int64_t from[2] = {0, 0};
    int64_t *out = node_room(node, ROWS_INT);
    granary_err err = several_open(node, -1, n, &several);

    if (err == GRANARY_OK) {
        node_strict(node, n);
        err = several_gather(node, &several, n);
    }
    for (int side = 0; side < 2 && err == GRANARY_OK; side++) {
        keys[side].column = &several.items[side].view;
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        int64_t count[2] = {0, 0};

        for (int side = 0; side < 2 && row_counts(node, i); side++) {
            count[side] = several.views[side]->count[i];
        }
        out[i] = compare_row(keys, from, count);
        from[0] += count[0];
        from[1] += count[1];
    }
    several_close(&several);
    return err;
}

/* ---- what two have ---- */

/* Items below 0 are of the second list, from -1 on. */
struct both {
    struct sort_key first;
    struct sort_key second;
};

static int
compare_items(const struct both *both, int64_t x, int64_t y)
{
    return sort_compare(x < 0 ? &both->second : &both->first, x < 0 ? -1 - x : x, y < 0 ? &both->second : &both->first,
                        y < 0 ? -1 - y : y, 1);
}

static int
item_order(const void *a, const void *b, void *context)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    int order = compare_items(context, x, y);

    return order != 0 ? order : (x > y) - (x < y);
}

/* Items of the first list that the second has, each once, where it stands first; sorted: room for all of a row. */
static int64_t
meet(const struct both *both, int64_t from[2], const int64_t count[2], int64_t *sorted, int64_t *to)
{
    int64_t all = 0;
    int64_t met = 0;

    for (int side = 0; side < 2; side++) {
        for (int64_t k = from[side]; k < from[side] + count[side]; k++) {
            if (!gr_is_null(side == 0 ? both->first.column : both->second.column, k)) {
                sorted[all++] = side == 0 ? k : -1 - k;
            }
        }
    }
    qsort_r(sorted, (size_t)all, sizeof *sorted, item_order, (void *)(uintptr_t)both);
    for (int64_t i = 0; i < all;) { /* those of the second stand before equal ones of the first */
        int64_t end = i + 1;
        int64_t own = sorted[i] < 0 ? -1 : sorted[i];

        while (end < all && compare_items(both, sorted[i], sorted[end]) == 0) {
            own = own < 0 && sorted[end] >= 0 ? sorted[end] : own;
            end++;
        }
        if (sorted[i] < 0 && own >= 0) {
            to[met++] = own;
        }
        i = end;
    }
    return met;
}

static int
by_place(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

granary_err
op_list_intersect(struct node *node, int64_t n)
{
    struct several several = {.count = 0};
    struct both both = {.first = {.nan_largest = true}, .second = {.nan_largest = true}};
    int64_t *sorted = NULL;
    int64_t from[2] = {0, 0};
    granary_err err = several_open(node, -1, n, &several);

    if (err == GRANARY_OK) {
        node_strict(node, n);
        err = several_gather(node, &several, n);
        sorted = malloc((size_t)(several.views[0]->all + several.views[1]->all + 1) * sizeof *sorted);
        err = err == GRANARY_OK && sorted == NULL ? node_no_memory() : err;
        both.first.column = &several.items[0].view;
        both.second.column = &several.items[1].view;
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        int64_t count[2] = {row_counts(node, i) ? several.views[0]->count[i] : 0,
                            row_counts(node, i) ? several.views[1]->count[i] : 0};
        int64_t met = both.first.column->dtype != both.second.column->dtype
                          ? 0
                          : meet(&both, from, count, sorted, several.indices + several.at);

        qsort(several.indices + several.at, (size_t)met, sizeof *several.indices, by_place);
        several.at += met;
        from[0] += count[0];
        from[1] += count[1];
        several.ends[i] = (int32_t)several.at;
    }
    err = err == GRANARY_OK ? several_give(node, &several, n) : err;
    several_close(&several);
    free(sorted);
    return err;
}
