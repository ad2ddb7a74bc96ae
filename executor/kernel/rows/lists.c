/*
 * Functions of lists. A list of a block is a stretch of some column's items; what a function makes of them is another
 * stretch, or items taken by their positions, so that one way serves items of all dtypes.
 */
#include "kernel/rows/lists.h"

#include <stdlib.h>
#include <string.h>

#include "data/value/bits.h"
#include "kernel/core/exact_sum.h"
#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/rows/store.h"

#define ITEMS_MOST (1 << 24) /* of a list that a function makes of numbers */

/* ---- what they share ---- */

/* The lists of a block in one column of items. */
struct view {
    const granary_column *items;
    int32_t from[ROWS_BLOCK];
    int32_t count[ROWS_BLOCK]; /* 0 of nulls */
    int64_t all;
    struct gr_column own; /* when they were in several columns */
};

struct block {
    const struct rows_list *lists;
    const uint8_t *valid;
};

static struct gr_run
block_at(const void *context, int64_t i)
{
    const struct block *block = context;
    const struct rows_list *list = &block->lists[i];

    return block->valid != NULL && block->valid[i] == 0 ? (struct gr_run){0}
                                                        : (struct gr_run){list->items, list->from, list->count};
}

granary_err
lists_column(granary_dtype dtype, const struct rows_list *lists, const uint8_t *valid, int64_t n,
             struct gr_column *ret_column)
{
    const struct block block = {lists, valid};

    return gr_list_gather(dtype, n, block_at, &block, ret_column);
}

static granary_err
view_open(const struct node *node, int64_t n, struct view *view)
{
    static const struct rows_list none[ROWS_BLOCK];
    const struct rows_list *lists = node->class == ROWS_LIST ? node->values : none;
    bool one = true;
    granary_err err = GRANARY_OK;

    view->items = NULL;
    view->own = (struct gr_column){.owned = false};
    view->all = 0;
    for (int64_t i = 0; i < n; i++) {
        bool there = node_counts(node, i) && lists[i].items != NULL && lists[i].count > 0;

        view->from[i] = there ? lists[i].from : 0;
        view->count[i] = there ? lists[i].count : 0;
        view->all += view->count[i];
        if (there) {
            one = one && (view->items == NULL || view->items == lists[i].items);
            view->items = lists[i].items;
        }
    }
    if (!one || view->items == NULL) {
        err = lists_column(node->dtype, one ? none : lists, node->valid, n, &view->own);
        view->items = err == GRANARY_OK ? gr_list_items(&view->own.view) : NULL;
        for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
            view->from[i] = view->own.view.offsets[i];
        }
    }
    return err;
}

static void
view_close(struct view *view)
{
    gr_column_free(&view->own);
}

/* The node's lists are stretches of a column that it has from now on; *takes* that. */
static void
give_items(struct node *node, struct gr_column *items, const int32_t *ends, int64_t n)
{
    struct rows_list *out = node_room(node, ROWS_LIST);

    gr_column_free(&node->made);
    node->made = *items;
    for (int64_t i = 0; i < n; i++) {
        int32_t from = i == 0 ? 0 : ends[i - 1];

        out[i] = (struct rows_list){&node->made.view, from, ends[i] - from};
    }
}

/* One item a row, or null: -1. */
static granary_err
give_taken(struct node *node, const granary_column *items, const int64_t *indices, int64_t n)
{
    struct gr_column taken;
    granary_err err = gr_column_take(items, indices, n, &taken);

    if (err != GRANARY_OK) {
        return err;
    }
    gr_column_free(&node->made);
    node->made = taken;
    node->column = &node->made.view;
    load_column(node, &(struct extent){.n = n});
    node->column = NULL;
    node_bad_of_operands(node, n);
    return GRANARY_OK;
}

/* A node's values as a column. */
static granary_err
node_column(struct node *node, int64_t n, struct gr_column *ret_column)
{
    granary_dtype dtype = node->dtype;
    struct gr_column column;
    granary_err err;

    if (node->class == ROWS_TEXT || node->class == ROWS_CODE) {
        const struct rows_text *texts = node_texts(node, n);
        int64_t bytes = 0;
        int32_t *offsets;

        for (int64_t i = 0; i < n; i++) {
            bytes += node_counts(node, i) ? (int64_t)texts[i].size : 0;
        }
        err = gr_column_alloc(gr_dtype_is_text(dtype) ? dtype : GRANARY_STRING, n, bytes, node->valid != NULL, &column);
        offsets = err == GRANARY_OK ? (int32_t *)(uintptr_t)column.view.offsets : NULL;
        for (int64_t i = 0; i < n && offsets != NULL; i++) {
            size_t size = node_counts(node, i) ? texts[i].size : 0;

            if (size > 0) {
                memcpy((char *)(uintptr_t)column.view.values + offsets[i], texts[i].bytes, size);
            }
            offsets[i + 1] = offsets[i] + (int32_t)size;
        }
    } else if (node->class == ROWS_NULL) {
        return gr_column_alloc(dtype, n, 0, true, ret_column);
    } else {
        err = gr_column_alloc(dtype, n, 0, node->valid != NULL, &column);
        if (err == GRANARY_OK) {
            store_values(dtype, node->class, node->values, n, (void *)(uintptr_t)column.view.values, 0);
        }
    }
    if (err == GRANARY_OK && node->valid != NULL) {
        bits_pack(node->valid, n, (uint8_t *)(uintptr_t)column.view.validity, 0);
    }
    if (err == GRANARY_OK) {
        gr_column_finish(&column);
        *ret_column = column;
    }
    return err;
}

static bool
is_real(const granary_column *column)
{
    return column->dtype == GRANARY_FLOAT64 || column->dtype == GRANARY_FLOAT32;
}

/* Two values of one dtype, or numbers of two. */
static bool
is_equal(const granary_column *a, int64_t i, const granary_column *b, int64_t j)
{
    if (gr_dtype_is_text(a->dtype)) {
        return select_texts(a, i, b, j) == 0;
    }
    if (is_real(a) || is_real(b)) {
        return select_real(a, i, (double)gr_power_of_ten(gr_dtype_scale(a->dtype))) ==
               select_real(b, j, (double)gr_power_of_ten(gr_dtype_scale(b->dtype)));
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
    struct view *view = scratch_alloc(sizeof *view);
    granary_err err = indices == NULL || view == NULL ? node_no_memory() : view_open(node->operands[0], n, view);

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        int64_t position = node_counts(at, i) ? position_of(node_int_at(at, i), view->count[i]) : INT64_MIN;

        indices[i] = position < 0 ? -1 : view->from[i] + position;
    }
    if (err == GRANARY_OK) {
        err = give_taken(node, view->items, indices, n);
        view_close(view);
    }
    scratch_free(view);
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

/* Where a value is among a list's items, from 1; 0: it is not. A null is nowhere. */
granary_err
op_list_find(struct node *node, int64_t n)
{
    struct node *wanted = node->operands[1];
    bool contains = node->op == GR_OP_LIST_CONTAINS;
    struct view *view = scratch_alloc(sizeof *view);
    struct gr_column values = {.owned = false};
    void *room = node_room(node, contains ? ROWS_BOOL : ROWS_INT);
    granary_err err = view == NULL ? node_no_memory() : node_column(wanted, n, &values);

    err = err == GRANARY_OK ? view_open(node->operands[0], n, view) : err;
    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        int64_t found = 0;

        for (int64_t k = 0; k < view->count[i] && found == 0 && node_counts(node, i); k++) {
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
    if (err == GRANARY_OK) {
        view_close(view);
    }
    gr_column_free(&values);
    scratch_free(view);
    return err;
}

/* ---- values of a whole list ---- */

/* Whether item k is there. */
static bool
item_counts(const struct view *view, int64_t i, int64_t k)
{
    return view->items->dtype != GRANARY_NULLTYPE && !gr_is_null(view->items, view->from[i] + k);
}

granary_err
op_list_extreme(struct node *node, int64_t n)
{
    int wanted = node->op == GR_OP_LIST_MAX ? 1 : -1;
    int64_t *indices = scratch_alloc((size_t)(n + 1) * sizeof *indices);
    struct view *view = scratch_alloc(sizeof *view);
    granary_err err = indices == NULL || view == NULL ? node_no_memory() : view_open(node->operands[0], n, view);

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        indices[i] = -1;
        for (int64_t k = 0; k < view->count[i]; k++) {
            int64_t at = view->from[i] + k;

            if (item_counts(view, i, k) &&
                (indices[i] < 0 || select_compare(view->items, at, indices[i]) * wanted > 0)) {
                indices[i] = at;
            }
        }
    }
    if (err == GRANARY_OK) {
        err = give_taken(node, view->items, indices, n);
        view_close(view);
    }
    scratch_free(view);
    scratch_free(indices);
    return err;
}

/* The exact sum of a list's floats, or of what is computed as such. */
static double
sum_reals(const struct view *view, int64_t i, int64_t count, bool is_mean, bool *ret_ok)
{
    double divisor = (double)gr_power_of_ten(gr_dtype_scale(view->items->dtype));
    struct exact_sum sum = {.count = 0};
    double value;

    for (int64_t k = 0; k < view->count[i]; k++) {
        if (item_counts(view, i, k)) {
            exact_sum_add(&sum, select_real(view->items, view->from[i] + k, divisor));
        }
    }
    value = exact_sum_value(&sum);
    *ret_ok = exact_sum_ok(&sum);
    exact_sum_fini(&sum);
    return is_mean ? value / (double)count : value;
}

static int64_t
count_items(const struct view *view, int64_t i)
{
    int64_t count = 0;

    for (int64_t k = 0; k < view->count[i]; k++) {
        count += item_counts(view, i, k);
    }
    return count;
}

/* Sums and means; null of no values. */
granary_err
op_list_sum(struct node *node, int64_t n)
{
    bool is_mean = node->op == GR_OP_LIST_MEAN;
    bool real = node->dtype == GRANARY_FLOAT64;
    struct view *view = scratch_alloc(sizeof *view);
    gr_int128 *exact = real ? NULL : node_exact_room(node);
    double *reals = real ? node_room(node, ROWS_DOUBLE) : NULL;
    uint8_t *valid;
    bool ok = true;
    granary_err err = view == NULL ? node_no_memory() : view_open(node->operands[0], n, view);

    if (err != GRANARY_OK) {
        scratch_free(view);
        return err;
    }
    node_strict(node, n);
    valid = node_valid_room(node);
    for (int64_t i = 0; i < n && ok; i++) {
        int64_t count = count_items(view, i);

        valid[i] = count > 0;
        if (real) {
            reals[i] = count > 0 ? sum_reals(view, i, count, is_mean, &ok) : 0;
            continue;
        }
        exact[i] = 0;
        for (int64_t k = 0; k < view->count[i]; k++) {
            exact[i] += item_counts(view, i, k) ? select_int(view->items, view->from[i] + k) : 0;
        }
    }
    view_close(view);
    scratch_free(view);
    if (!real) {
        node_settle_exact(node, n);
    }
    return ok ? GRANARY_OK : node_no_memory();
}

/* ---- items in another order ---- */

static int
by_value(const void *a, const void *b, void *items)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    int order = select_compare(items, x, y);

    return order != 0 ? order : (x > y) - (x < y);
}

static int
by_place(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Positions of a list's items in order, nulls behind; how many. */
static int64_t
sort_list(const struct view *view, int64_t i, bool backwards, int64_t *to)
{
    int64_t there = 0;
    int64_t all;

    for (int64_t k = 0; k < view->count[i]; k++) {
        if (item_counts(view, i, k)) {
            to[there++] = view->from[i] + k;
        }
    }
    qsort_r(to, (size_t)there, sizeof *to, by_value, (void *)(uintptr_t)view->items);
    for (int64_t k = 0; backwards && k < there / 2; k++) {
        int64_t swapped = to[k];

        to[k] = to[there - 1 - k];
        to[there - 1 - k] = swapped;
    }
    all = there;
    for (int64_t k = 0; k < view->count[i]; k++) {
        if (!item_counts(view, i, k)) {
            to[all++] = view->from[i] + k;
        }
    }
    return all;
}

/* Each value once, without nulls, where it stands first. */
static int64_t
distinct_list(const struct view *view, int64_t i, int64_t *to)
{
    int64_t sorted = sort_list(view, i, false, to);
    int64_t there = 0;
    int64_t last = -1;

    for (int64_t k = 0; k < sorted; k++) {
        bool null = view->items->dtype == GRANARY_NULLTYPE || gr_is_null(view->items, to[k]);

        if (!null && (last < 0 || select_compare(view->items, last, to[k]) != 0)) {
            last = to[k];
            to[there++] = to[k];
        }
    }
    qsort(to, (size_t)there, sizeof *to, by_place);
    return there;
}

static int64_t
reverse_list(const struct view *view, int64_t i, int64_t *to)
{
    for (int64_t k = 0; k < view->count[i]; k++) {
        to[k] = view->from[i] + view->count[i] - 1 - k;
    }
    return view->count[i];
}

granary_err
op_list_order(struct node *node, int64_t n)
{
    struct view *view = scratch_alloc(sizeof *view);
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    int64_t *indices = NULL;
    int64_t at = 0;
    struct gr_column items;
    granary_err err = view == NULL || ends == NULL ? node_no_memory() : view_open(node->operands[0], n, view);

    if (err != GRANARY_OK) {
        scratch_free(view);
        scratch_free(ends);
        return err;
    }
    indices = malloc((size_t)(view->all + 1) * sizeof *indices);
    err = indices == NULL ? node_no_memory() : GRANARY_OK;
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        at += node->op == GR_OP_LIST_DISTINCT  ? distinct_list(view, i, indices + at)
              : node->op == GR_OP_LIST_REVERSE ? reverse_list(view, i, indices + at)
                                               : sort_list(view, i, node->op == GR_OP_LIST_REVERSE_SORT, indices + at);
        ends[i] = (int32_t)at;
    }
    err = err == GRANARY_OK ? gr_column_take(view->items, indices, at, &items) : err;
    if (err == GRANARY_OK) {
        give_items(node, &items, ends, n);
        node_strict(node, n);
    }
    view_close(view);
    free(indices);
    scratch_free(view);
    scratch_free(ends);
    return err;
}

/* ---- lists made of values ---- */

/* Each operand is an item of every row. */
granary_err
op_list_value(struct node *node, int64_t n)
{
    granary_dtype item = GRANARY_LIST_ITEM(node->dtype);
    struct gr_column *columns = calloc(node->count + 1, sizeof *columns);
    struct gr_run *runs = calloc(node->count + 1, sizeof *runs);
    int64_t *indices = malloc(((size_t)n * node->count + 1) * sizeof *indices);
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    struct gr_column all = {.owned = false};
    struct gr_column items;
    granary_err err =
        columns == NULL || runs == NULL || indices == NULL || ends == NULL ? node_no_memory() : GRANARY_OK;

    for (size_t k = 0; k < node->count && err == GRANARY_OK; k++) {
        err = node_column(node->operands[k], n, &columns[k]);
        runs[k] = (struct gr_run){&columns[k].view, 0, n};
    }
    err = err == GRANARY_OK ? gr_column_concat(runs, node->count, item, &all) : err;
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        for (size_t k = 0; k < node->count; k++) {
            indices[(size_t)i * node->count + k] = (int64_t)k * n + i;
        }
        ends[i] = (int32_t)((i + 1) * (int64_t)node->count);
    }
    err = err == GRANARY_OK ? gr_column_take(&all.view, indices, n * (int64_t)node->count, &items) : err;
    if (err == GRANARY_OK) {
        give_items(node, &items, ends, n);
        node_bad_of_operands(node, n);
        node->valid = NULL;
    }
    gr_column_free(&all);
    for (size_t k = 0; columns != NULL && k < node->count; k++) {
        gr_column_free(&columns[k]);
    }
    free(columns);
    free(runs);
    free(indices);
    scratch_free(ends);
    return err;
}

/* How many numbers from one to another; -1: too many. */
static int64_t
count_range(int64_t from, int64_t to, int64_t step, bool with_last)
{
    gr_int128 way = step > 0 ? (gr_int128)to - from : (gr_int128)from - to;
    gr_int128 size = step > 0 ? (gr_int128)step : -(gr_int128)step;
    gr_int128 count;

    if (step == 0 || way < 0 || (way == 0 && !with_last)) {
        return 0;
    }
    count = with_last ? way / size + 1 : (way - 1) / size + 1;
    return count > ITEMS_MOST ? -1 : (int64_t)count;
}

granary_err
op_list_range(struct node *node, int64_t n)
{
    bool with_last = node->op == GR_OP_GENERATE_SERIES;
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    int64_t *from = scratch_alloc((size_t)(n + 1) * sizeof *from);
    int64_t *by = scratch_alloc((size_t)(n + 1) * sizeof *by);
    struct gr_column items;
    int64_t all = 0;
    granary_err err = ends == NULL || from == NULL || by == NULL ? node_no_memory() : GRANARY_OK;

    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        const struct node *last = node->operands[node->count == 1 ? 0 : 1];
        int64_t count;

        from[i] = node->count == 1 ? 0 : node_int_at(node->operands[0], i);
        by[i] = node->count < 3 ? 1 : node_int_at(node->operands[2], i);
        count = node_counts(node, i) ? count_range(from[i], node_int_at(last, i), by[i], with_last) : 0;
        if (count < 0 || all + count > INT32_MAX) {
            node_mark_bad(node, i, n);
            count = 0;
        }
        all += count;
        ends[i] = (int32_t)all;
    }
    err = err == GRANARY_OK ? gr_column_alloc_unset(GRANARY_INT64, all, 0, false, &items) : err;
    if (err == GRANARY_OK) {
        int64_t *to = (int64_t *)(uintptr_t)items.view.values;

        for (int64_t i = 0; i < n; i++) {
            int32_t begin = i == 0 ? 0 : ends[i - 1];

            for (int32_t k = begin; k < ends[i]; k++) {
                to[k] = (int64_t)((uint64_t)from[i] + (uint64_t)by[i] * (uint64_t)(k - begin));
            }
        }
        give_items(node, &items, ends, n);
    }
    scratch_free(ends);
    scratch_free(from);
    scratch_free(by);
    return err;
}

/* ---- texts ---- */

/* Texts of an item each, while they are found. */
struct parts {
    int32_t *offsets;
    size_t count;
    size_t room;
    struct gr_buf bytes;
};

static granary_err
add_part(struct parts *parts, const char *at, size_t size)
{
    if (parts->count + 2 > parts->room) {
        size_t room = parts->room * 2 + 1024;
        int32_t *grown = realloc(parts->offsets, room * sizeof *grown);

        if (grown == NULL) {
            return node_no_memory();
        }
        parts->offsets = grown;
        parts->room = room;
    }
    parts->offsets[parts->count++] = (int32_t)parts->bytes.size;
    gr_buf_add(&parts->bytes, size > 0 ? at : "", size);
    return gr_buf_ok(&parts->bytes) ? GRANARY_OK : node_no_memory();
}

/* Bytes of the character that begins there. */
static size_t
character_size(const char *at, size_t left)
{
    size_t size = 1;

    while (size < left && ((unsigned char)at[size] & 0xc0) == 0x80) {
        size++;
    }
    return size;
}

/* Without a separator each character is a part. */
static granary_err
split_text(struct parts *parts, struct rows_text text, struct rows_text separator)
{
    granary_err err = GRANARY_OK;

    if (separator.size == 0) {
        for (size_t i = 0, size; i < text.size && err == GRANARY_OK; i += size) {
            size = character_size(text.bytes + i, text.size - i);
            err = add_part(parts, text.bytes + i, size);
        }
        return err;
    }
    for (;;) {
        const char *cut = text.size > 0 ? memmem(text.bytes, text.size, separator.bytes, separator.size) : NULL;
        size_t size = cut != NULL ? (size_t)(cut - text.bytes) : text.size;

        err = add_part(parts, text.bytes, size);
        if (err != GRANARY_OK || cut == NULL) {
            return err;
        }
        text = (struct rows_text){cut + separator.size, text.size - size - separator.size};
    }
}

granary_err
op_string_split(struct node *node, int64_t n)
{
    const struct rows_text *texts = node_texts(node->operands[0], n);
    const struct rows_text *separators = node_texts(node->operands[1], n);
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    struct parts parts = {.count = 0};
    struct gr_column items;
    granary_err err = ends == NULL ? node_no_memory() : GRANARY_OK;

    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        err = node_counts(node, i) ? split_text(&parts, texts[i], separators[i]) : GRANARY_OK;
        if (err == GRANARY_OK && (parts.bytes.size > INT32_MAX || parts.count > INT32_MAX)) {
            err = gr_fail(GRANARY_EFULL, "string_split: over 2 GiB of text in %lld rows", (long long)n);
        }
        ends[i] = (int32_t)parts.count;
    }
    if (err == GRANARY_OK) {
        err = gr_column_alloc_unset(GRANARY_STRING, (int64_t)parts.count, (int64_t)parts.bytes.size, false, &items);
    }
    if (err == GRANARY_OK) {
        int32_t *offsets = (int32_t *)(uintptr_t)items.view.offsets;

        if (parts.count > 0) {
            memcpy(offsets, parts.offsets, parts.count * sizeof *offsets);
        }
        offsets[parts.count] = (int32_t)parts.bytes.size;
        if (parts.bytes.size > 0) {
            memcpy((char *)(uintptr_t)items.view.values, parts.bytes.bytes, parts.bytes.size);
        }
        give_items(node, &items, ends, n);
    }
    free(parts.offsets);
    gr_buf_free(&parts.bytes);
    scratch_free(ends);
    return err;
}

/* Items that are there, as text, with the separator between them. */
granary_err
op_list_join(struct node *node, int64_t n)
{
    const struct rows_text *separators = node_texts(node->operands[1], n);
    struct view *view = scratch_alloc(sizeof *view);
    struct rows_text *out = node_room(node, ROWS_TEXT);
    granary_err err = view == NULL ? node_no_memory() : view_open(node->operands[0], n, view);

    if (err != GRANARY_OK) {
        scratch_free(view);
        return err;
    }
    node_strict(node, n);
    node->text.size = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t before = node->text.size;
        bool any = false;

        for (int64_t k = 0; k < view->count[i] && node_counts(node, i); k++) {
            if (item_counts(view, i, k)) {
                gr_buf_add(&node->text, any && separators[i].size > 0 ? separators[i].bytes : "",
                           any ? separators[i].size : 0);
                gr_value_format(view->items, view->from[i] + k, &node->text);
                any = true;
            }
        }
        out[i].size = node->text.size - before;
    }
    view_close(view);
    scratch_free(view);
    return node_place_texts(node, out, n);
}

/* Lists as they are printed. */
granary_err
lists_to_text(struct node *node, int64_t n)
{
    const struct node *a = node->operands[0];
    struct rows_text *out = node_room(node, ROWS_TEXT);
    struct gr_column lists;
    size_t begin = 0;
    granary_err err = a->class == ROWS_LIST ? lists_column(a->dtype, a->values, a->valid, n, &lists)
                                            : gr_column_alloc(a->dtype, n, 0, true, &lists);

    if (err != GRANARY_OK) {
        return err;
    }
    node->text.size = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t before = node->text.size;

        gr_value_format(&lists.view, i, &node->text);
        out[i].size = node->text.size - before;
    }
    for (int64_t i = 0; i < n; i++) {
        out[i].bytes = out[i].size > 0 ? node->text.bytes + begin : NULL;
        begin += out[i].size;
    }
    gr_column_free(&lists);
    return gr_buf_ok(&node->text) ? GRANARY_OK : node_no_memory();
}
