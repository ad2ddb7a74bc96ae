/*
 * Lists of a block, as those who work on them see them. A list is a stretch of some column's items; what a function makes of
 * it is another stretch, or items taken by their positions, so that one way serves items of all dtypes.
 */
#include <string.h>

#include "data/value/bits.h"
#include "kernel/core/scratch.h"
#include "kernel/rows/lists/lists.h"
#include "kernel/rows/store.h"

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
open_view(const struct node *node, int64_t n, struct lists_view *view)
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

granary_err
lists_open(const struct node *node, int64_t n, struct lists_view **ret_view)
{
    struct lists_view *view = scratch_alloc(sizeof *view);
    granary_err err = view == NULL ? node_no_memory() : open_view(node, n, view);

    if (err != GRANARY_OK) {
        scratch_free(view);
        view = NULL;
    }
    *ret_view = view;
    return err;
}

void
lists_close(struct lists_view *view)
{
    if (view != NULL) {
        gr_column_free(&view->own);
        scratch_free(view);
    }
}

/* The node's lists are stretches of a column that it has from now on; *takes* that. */
void
lists_give(struct node *node, struct gr_column *items, const int32_t *ends, int64_t n)
{
    struct rows_list *out = node_room(node, ROWS_LIST);

    gr_column_free(&node->made);
    node->made = *items;
    for (int64_t i = 0; i < n; i++) {
        int32_t from = i == 0 ? 0 : ends[i - 1];

        out[i] = (struct rows_list){&node->made.view, from, ends[i] - from};
    }
}

granary_err
lists_give_picked(struct node *node, const granary_column *items, const int64_t *indices, int64_t count,
                  const int32_t *ends, int64_t n)
{
    struct gr_column picked;
    granary_err err = gr_column_take(items, indices, count, &picked);

    if (err == GRANARY_OK) {
        lists_give(node, &picked, ends, n);
    }
    return err;
}

/* One item a row, or null: -1. */
granary_err
lists_give_taken(struct node *node, const granary_column *items, const int64_t *indices, int64_t n)
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
granary_err
lists_node_column(struct node *node, int64_t n, struct gr_column *ret_column)
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
    } else if (node->class == ROWS_LIST) {
        return lists_column(dtype, node->values, node->valid, n, ret_column);
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
