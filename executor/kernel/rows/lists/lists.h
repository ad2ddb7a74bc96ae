/* Inside rows: lists of a block. */
#ifndef KERNEL_ROWS_LISTS_H
#define KERNEL_ROWS_LISTS_H

#include "kernel/rows/node.h"

/* n lists as a column; valid: NULL, or a byte a row. Errors: ENOMEM, EFULL */
granary_err lists_column(granary_dtype dtype, const struct rows_list *lists, const uint8_t *valid, int64_t n,
                         struct gr_column *ret_column);
/* The lists of a block in one column of items. */
struct lists_view {
    const granary_column *items;
    int32_t from[ROWS_BLOCK];
    int32_t count[ROWS_BLOCK]; /* 0 of nulls */
    int64_t all;
    struct gr_column own; /* when they were in several columns */
};

/* The lists of a node. *ret_view is for lists_close(), and NULL when it fails. Errors: ENOMEM, EFULL */
granary_err lists_open(const struct node *node, int64_t n, struct lists_view **ret_view);
void lists_close(struct lists_view *view); /* may be NULL */

/* Whether item k is there. */
static inline bool
lists_item_counts(const struct lists_view *view, int64_t i, int64_t k)
{
    return view->items->dtype != GRANARY_NULLTYPE && !gr_is_null(view->items, view->from[i] + k);
}
/* How many of row i are there. */
static inline int64_t
lists_items_there(const struct lists_view *view, int64_t i)
{
    int64_t count = 0;

    for (int64_t k = 0; k < view->count[i]; k++) {
        count += lists_item_counts(view, i, k);
    }
    return count;
}

/* The node's lists are stretches of a column that it has from now on; *takes* that. ends: of each row's */
void lists_give(struct node *node, struct gr_column *items, const int32_t *ends, int64_t n);
/* The same of items that are picked, `count` of them; -1: null. Errors: ENOMEM, EFULL */
granary_err lists_give_picked(struct node *node, const granary_column *items, const int64_t *indices, int64_t count,
                              const int32_t *ends, int64_t n);
/* One item a row, or null: -1. Errors: ENOMEM, EFULL */
granary_err lists_give_taken(struct node *node, const granary_column *items, const int64_t *indices, int64_t n);
/* A node's values as a column. Errors: ENOMEM, EFULL */
granary_err lists_node_column(struct node *node, int64_t n, struct gr_column *ret_column);

/* Blanks of lists as texts. */
static inline bool
lists_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline const char *
lists_behind_blanks(const char *at, const char *end)
{
    while (at < end && lists_is_blank(*at)) {
        at++;
    }
    return at;
}

/* Texts of an item each, while they are found. All zero is none. */
struct lists_parts {
    int32_t *offsets;
    uint8_t *there; /* of a null it is 0 */
    bool nulls;
    size_t count;
    size_t room;
    struct gr_buf bytes;
};

/* text NULL: a null. Errors: ENOMEM · EFULL over 2 GiB */
granary_err lists_part_add(struct lists_parts *parts, const struct rows_text *text);
/* The items of a text that begins with a brace; item: room for one. false: it is no list, or err. Errors: ENOMEM, EFULL */
bool
lists_read_braces(const char *at, const char *end, struct gr_buf *item, struct lists_parts *parts, granary_err *err);
void lists_parts_free(struct lists_parts *parts);
/* The parts are the node's lists, which end there. Errors: ENOMEM */
granary_err lists_parts_give(struct node *node, const struct lists_parts *parts, const int32_t *ends, int64_t n);

/* A cast of lists to others: of each item. Errors: ENOMEM, EFULL */
granary_err lists_cast(struct node *node, int64_t n);

/* A cast of lists to strings. Errors: ENOMEM */
granary_err lists_to_text(struct node *node, int64_t n);

#endif
