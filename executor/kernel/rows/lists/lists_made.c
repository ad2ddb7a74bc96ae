/* Functions that make lists: of others in another order, of values, of texts; and texts of lists. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/value/bits.h"
#include "kernel/core/scratch.h"
#include "kernel/core/select.h"
#include "kernel/rows/lists/lists.h"

#define ITEMS_MOST (1 << 24) /* of a list that a function makes of numbers */

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
sort_list(const struct lists_view *view, int64_t i, bool backwards, int64_t *to)
{
    int64_t there = 0;
    int64_t all;

    for (int64_t k = 0; k < view->count[i]; k++) {
        if (lists_item_counts(view, i, k)) {
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
        if (!lists_item_counts(view, i, k)) {
            to[all++] = view->from[i] + k;
        }
    }
    return all;
}

/* Each value once, without nulls, where it stands first. */
static int64_t
distinct_list(const struct lists_view *view, int64_t i, int64_t *to)
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
reverse_list(const struct lists_view *view, int64_t i, int64_t *to)
{
    for (int64_t k = 0; k < view->count[i]; k++) {
        to[k] = view->from[i] + view->count[i] - 1 - k;
    }
    return view->count[i];
}

granary_err
op_list_order(struct node *node, int64_t n)
{
    struct lists_view *view = NULL;
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    int64_t *indices = NULL;
    int64_t at = 0;
    granary_err err = ends == NULL ? node_no_memory() : lists_open(node->operands[0], n, &view);

    if (err != GRANARY_OK) {
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
    err = err == GRANARY_OK ? lists_give_picked(node, view->items, indices, at, ends, n) : err;
    if (err == GRANARY_OK) {
        node_strict(node, n);
    }
    lists_close(view);
    free(indices);
    scratch_free(ends);
    return err;
}

/* Nulls behind the items, up to a number of them. A null list has no items, and null is no more. */
granary_err
op_list_pad(struct node *node, int64_t n)
{
    const struct node *wanted = node->operands[1];
    struct lists_view *view = NULL;
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    int64_t *indices = NULL;
    int64_t all = 0;
    int64_t at = 0;
    granary_err err = ends == NULL ? node_no_memory() : lists_open(node->operands[0], n, &view);

    if (err != GRANARY_OK) {
        scratch_free(ends);
        return err;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t most = node_counts(wanted, i) ? node_int_at(wanted, i) : 0;

        most = most > ITEMS_MOST ? ITEMS_MOST : most;
        all += view->count[i] > most ? view->count[i] : most;
        ends[i] = all > INT32_MAX ? INT32_MAX : (int32_t)all;
    }
    if (all > INT32_MAX) {
        err = gr_fail(GRANARY_EFULL, "list_pad: %lld items in %lld rows, and there is room for 2147483647",
                      (long long)all, (long long)n);
    } else {
        indices = malloc((size_t)(all + 1) * sizeof *indices);
        err = indices == NULL ? node_no_memory() : GRANARY_OK;
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        for (int64_t k = 0; at < ends[i]; k++) {
            indices[at++] = k < view->count[i] ? view->from[i] + k : -1;
        }
    }
    err = err == GRANARY_OK ? lists_give_picked(node, view->items, indices, at, ends, n) : err;
    if (err == GRANARY_OK) {
        node_bad_of_operands(node, n);
        node->valid = NULL;
    }
    lists_close(view);
    free(indices);
    scratch_free(ends);
    return err;
}

/* The items so many times; -1: too many. */
static int64_t
count_repeated(int64_t items, int64_t times)
{
    return items == 0 || times <= 0 ? 0 : times > ITEMS_MOST / items ? -1 : items * times;
}

granary_err
op_list_repeat(struct node *node, int64_t n)
{
    struct lists_view *view = NULL;
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    int64_t *indices = NULL;
    int64_t all = 0;
    int64_t at = 0;
    granary_err err = ends == NULL ? node_no_memory() : lists_open(node->operands[0], n, &view);

    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        int64_t count = node_counts(node, i) ? count_repeated(view->count[i], node_int_at(node->operands[1], i)) : 0;

        if (count < 0 || all + count > INT32_MAX) {
            node_mark_bad(node, i, n);
            count = 0;
        }
        all += count;
        ends[i] = (int32_t)all;
    }
    if (err == GRANARY_OK) {
        indices = malloc((size_t)(all + 1) * sizeof *indices);
        err = indices == NULL ? node_no_memory() : GRANARY_OK;
    }
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        for (int64_t k = 0; at < ends[i]; k = k + 1 == view->count[i] ? 0 : k + 1) {
            indices[at++] = view->from[i] + k;
        }
    }
    err = err == GRANARY_OK ? lists_give_picked(node, view->items, indices, at, ends, n) : err;
    lists_close(view);
    free(indices);
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
    granary_err err =
        columns == NULL || runs == NULL || indices == NULL || ends == NULL ? node_no_memory() : GRANARY_OK;

    for (size_t k = 0; k < node->count && err == GRANARY_OK; k++) {
        err = lists_node_column(node->operands[k], n, &columns[k]);
        runs[k] = (struct gr_run){&columns[k].view, 0, n};
    }
    err = err == GRANARY_OK ? gr_column_concat(runs, node->count, item, &all) : err;
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        for (size_t k = 0; k < node->count; k++) {
            indices[(size_t)i * node->count + k] = (int64_t)k * n + i;
        }
        ends[i] = (int32_t)((i + 1) * (int64_t)node->count);
    }
    err = err == GRANARY_OK ? lists_give_picked(node, &all.view, indices, n * (int64_t)node->count, ends, n) : err;
    if (err == GRANARY_OK) {
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
        lists_give(node, &items, ends, n);
    }
    scratch_free(ends);
    scratch_free(from);
    scratch_free(by);
    return err;
}

/* ---- texts ---- */

granary_err
lists_part_add(struct lists_parts *parts, const struct rows_text *text)
{
    if (parts->count + 2 > parts->room) {
        size_t room = parts->room * 2 + 1024;
        int32_t *grown = realloc(parts->offsets, room * sizeof *grown);
        uint8_t *there;

        if (grown == NULL) {
            return node_no_memory();
        }
        parts->offsets = grown;
        there = realloc(parts->there, room);
        if (there == NULL) {
            return node_no_memory();
        }
        parts->there = there;
        parts->room = room;
    }
    parts->there[parts->count] = text != NULL;
    parts->nulls = parts->nulls || text == NULL;
    parts->offsets[parts->count++] = (int32_t)parts->bytes.size;
    if (text != NULL && text->size > 0) {
        gr_buf_add(&parts->bytes, text->bytes, text->size);
    }
    if (parts->bytes.size > INT32_MAX || parts->count > INT32_MAX) {
        return gr_fail(GRANARY_EFULL, "over 2 GiB of text in the lists of a block: use smaller chunks");
    }
    return gr_buf_ok(&parts->bytes) ? GRANARY_OK : node_no_memory();
}

void
lists_parts_free(struct lists_parts *parts)
{
    free(parts->offsets);
    free(parts->there);
    gr_buf_free(&parts->bytes);
}

granary_err
lists_parts_give(struct node *node, const struct lists_parts *parts, const int32_t *ends, int64_t n)
{
    struct gr_column items;
    int32_t *offsets;
    granary_err err =
        gr_column_alloc_unset(GRANARY_STRING, (int64_t)parts->count, (int64_t)parts->bytes.size, parts->nulls, &items);

    if (err != GRANARY_OK) {
        return err;
    }
    offsets = (int32_t *)(uintptr_t)items.view.offsets;
    if (parts->count > 0) {
        memcpy(offsets, parts->offsets, parts->count * sizeof *offsets);
    }
    offsets[parts->count] = (int32_t)parts->bytes.size;
    if (parts->bytes.size > 0) {
        memcpy((char *)(uintptr_t)items.view.values, parts->bytes.bytes, parts->bytes.size);
    }
    if (parts->nulls) {
        memset((uint8_t *)(uintptr_t)items.view.validity, 0, (size_t)gr_bitmap_bytes((int64_t)parts->count));
        bits_pack(parts->there, (int64_t)parts->count, (uint8_t *)(uintptr_t)items.view.validity, 0);
        gr_column_finish(&items);
    }
    lists_give(node, &items, ends, n);
    return GRANARY_OK;
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
split_text(struct lists_parts *parts, struct rows_text text, struct rows_text separator)
{
    granary_err err = GRANARY_OK;

    if (separator.size == 0) {
        for (size_t i = 0, size; i < text.size && err == GRANARY_OK; i += size) {
            size = character_size(text.bytes + i, text.size - i);
            err = lists_part_add(parts, &(struct rows_text){text.bytes + i, size});
        }
        return err;
    }
    for (;;) {
        const char *cut = text.size > 0 ? memmem(text.bytes, text.size, separator.bytes, separator.size) : NULL;
        size_t size = cut != NULL ? (size_t)(cut - text.bytes) : text.size;

        err = lists_part_add(parts, &(struct rows_text){text.bytes, size});
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
    struct lists_parts parts = {.count = 0};
    granary_err err = ends == NULL ? node_no_memory() : GRANARY_OK;

    node_strict(node, n);
    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        err = node_counts(node, i) ? split_text(&parts, texts[i], separators[i]) : GRANARY_OK;
        ends[i] = (int32_t)parts.count;
    }
    err = err == GRANARY_OK ? lists_parts_give(node, &parts, ends, n) : err;
    lists_parts_free(&parts);
    scratch_free(ends);
    return err;
}

/* Items that are there, as text, with the separator between them. */
granary_err
op_list_join(struct node *node, int64_t n)
{
    const struct rows_text *separators = node_texts(node->operands[1], n);
    struct lists_view *view;
    struct rows_text *out = node_room(node, ROWS_TEXT);
    granary_err err = lists_open(node->operands[0], n, &view);

    if (err != GRANARY_OK) {
        return err;
    }
    node_strict(node, n);
    node->text.size = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t before = node->text.size;
        bool any = false;

        for (int64_t k = 0; k < view->count[i] && node_counts(node, i); k++) {
            if (lists_item_counts(view, i, k)) {
                gr_buf_add(&node->text, any && separators[i].size > 0 ? separators[i].bytes : "",
                           any ? separators[i].size : 0);
                gr_value_format(view->items, view->from[i] + k, &node->text);
                any = true;
            }
        }
        out[i].size = node->text.size - before;
    }
    lists_close(view);
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

/* ---- casts of the items ---- */

/* So many items of a column, cast. Errors: as rows_frame() */
static granary_err
cast_items(const granary_column *items, const int64_t *indices, int64_t count, granary_dtype to,
           granary_frame **ret_frame)
{
    static const char *const names[] = {"x"};
    const char *const item = granary_dtype_name(to);
    char text[128];
    const char *wanted = text;
    struct rows_spec spec = {.wanted = &wanted, .wanted_count = 1};
    granary_frame *frame = gr_frame_create(1, count);
    struct gr_column taken;
    granary_err err = frame == NULL ? node_no_memory() : gr_column_take(items, indices, count, &taken);

    (void)snprintf(text, sizeof text, "cast(`x` as %s)", item);
    if (err == GRANARY_OK) {
        err = gr_frame_set(frame, 0, "x", &taken);
    }
    err = err == GRANARY_OK ? rows_frame(frame, &spec, names, ret_frame) : err;
    gr_frame_destroy(frame);
    return err;
}

/* Rows whose items cannot all be cast are bad, and their lists empty. */
static granary_err
mark_uncast(struct node *node, const struct lists_view *view, int64_t *indices, int64_t n)
{
    granary_err err = GRANARY_OK;

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        granary_frame *frame = NULL;

        for (int64_t k = 0; k < view->count[i]; k++) {
            indices[k] = view->from[i] + k;
        }
        err = cast_items(view->items, indices, view->count[i], GRANARY_LIST_ITEM(node->dtype), &frame);
        if (err == GRANARY_EFAILED) {
            node_mark_bad(node, i, n);
            err = GRANARY_OK;
        }
        gr_frame_destroy(frame);
    }
    return err;
}

static int64_t
list_items(const struct node *node, const struct lists_view *view, int64_t *indices, int32_t *ends, int64_t n)
{
    int64_t at = 0;

    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < view->count[i] && (node->bad == NULL || node->bad[i] == 0); k++) {
            indices[at++] = view->from[i] + k;
        }
        ends[i] = (int32_t)at;
    }
    return at;
}

granary_err
lists_cast(struct node *node, int64_t n)
{
    struct lists_view *view = NULL;
    int32_t *ends = scratch_alloc((size_t)(n + 1) * sizeof *ends);
    granary_frame *frame = NULL;
    int64_t *indices = NULL;
    granary_err err = ends == NULL ? node_no_memory() : lists_open(node->operands[0], n, &view);

    if (err != GRANARY_OK) {
        scratch_free(ends);
        return err;
    }
    indices = malloc((size_t)(view->all + 1) * sizeof *indices);
    err = indices == NULL ? node_no_memory() : GRANARY_OK;
    for (int round = 0; round < 2 && err == GRANARY_OK && frame == NULL; round++) {
        err = cast_items(view->items, indices, list_items(node, view, indices, ends, n), GRANARY_LIST_ITEM(node->dtype),
                         &frame);
        if (err == GRANARY_EFAILED && round == 0) { /* an item of some row: which ones */
            err = mark_uncast(node, view, indices, n);
        }
    }
    if (err == GRANARY_OK) {
        struct gr_run all = {&frame->columns[0].view, 0, frame->rows};
        struct gr_column items;

        err = gr_column_concat(&all, 1, GRANARY_LIST_ITEM(node->dtype), &items);
        if (err == GRANARY_OK) {
            lists_give(node, &items, ends, n);
        }
    }
    gr_frame_destroy(frame);
    lists_close(view);
    free(indices);
    scratch_free(ends);
    return err;
}
