/* The result: a row for each group (largest and smallest: for each value), in order, with a column for each aggregate.
 */
#include <stdlib.h>

#include "base/error.h"
#include "data/place.h"
#include "kernel/group/result_parts.h"
#include "kernel/group/tables.h"
#include "kernel/sort/sort.h"

/* ---- order ---- */

/* Runs of equal hashes, which hardly ever happen, by the keys. */
static granary_err
order_ties(const struct sort_key *by, size_t keys, const uint64_t *hashes, int64_t *order, size_t count)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK;) {
        size_t end = i + 1;

        while (end < count && hashes[order[end]] == hashes[order[i]]) {
            end++;
        }
        if (end - i > 1) {
            err = sort_rows_of(by, keys, order + i, (int64_t)(end - i));
        }
        i = end;
    }
    return err;
}

static granary_err
order_by_hash(const struct group_table *table, const struct sort_key *by, size_t keys, int64_t **ret_order)
{
    uint64_t *hashes = malloc((table->groups + 1) * sizeof *hashes);
    granary_column hash = {.dtype = GRANARY_UINT64, .rows = (int64_t)table->groups, .values = hashes};
    int64_t rows;
    granary_err err;

    if (hashes == NULL) {
        return gr_no_memory("groupby");
    }
    group_keys_hashes(table->keys, hashes);
    err = sort_rows(&(struct sort_key){.column = &hash}, 1, hash.rows, SORT_NO_LIMIT, ret_order, &rows);
    if (err == GRANARY_OK) {
        err = order_ties(by, keys, hashes, *ret_order, table->groups);
    }
    free(hashes);
    return err;
}

/* As they stand. */
static granary_err
order_none(size_t groups, int64_t **ret_order)
{
    int64_t *order = malloc((groups + 1) * sizeof *order);

    if (order == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t g = 0; g < groups; g++) {
        order[g] = (int64_t)g;
    }
    *ret_order = order;
    return GRANARY_OK;
}

/* By the keys, or by their hash and then the keys. */
static granary_err
table_order(const struct group_plan *plan, const struct group_table *table, int64_t **ret_order)
{
    size_t keys = table->keys->count;
    struct sort_key *by = calloc(keys + 1, sizeof *by);
    int64_t rows;
    granary_err err = by == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    for (size_t k = 0; k < keys && err == GRANARY_OK; k++) {
        by[k].column = &table->keys->columns[k].view;
    }
    if (err == GRANARY_OK && (keys == 0 || table->ordered)) {
        err = order_none(table->groups, ret_order);
    } else if (err == GRANARY_OK) {
        err = plan->by_hash ? order_by_hash(table, by, keys, ret_order)
                            : sort_rows(by, keys, (int64_t)table->groups, SORT_NO_LIMIT, ret_order, &rows);
    }
    free(by);
    return err;
}

/* Rows of a key. distinct: no value comes twice. */
static granary_err
key_column(const granary_column *key, const int64_t *rows, int64_t count, bool distinct, struct gr_column *ret_column)
{
    struct gr_column column;
    granary_err err = gr_column_take(key, rows, count, &column);

    if (err != GRANARY_OK) {
        return err;
    }
    if (!distinct || column.view.dictionary != NULL) {
        err = group_key_encode(&column);
    }
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    *ret_column = column;
    return GRANARY_OK;
}

/* ---- largest, smallest ---- */

static granary_err
rows_result(const struct group_plan *plan, const struct group_table *table, granary_frame *frame,
            const int64_t *entry_groups, const int64_t *entries)
{
    const struct group_part *list = &table->parts[plan->uses[0][USE_ITEM]];
    size_t keys = table->keys->count;
    granary_err err = GRANARY_OK;

    for (size_t k = 0; k <= keys && err == GRANARY_OK; k++) {
        const granary_column *from = k < keys ? &table->keys->columns[k].view : &list->values.view;
        struct gr_column column;

        err = k < keys ? key_column(from, entry_groups, frame->rows, false, &column)
                       : gr_column_take(from, entries, frame->rows, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, k, k < keys ? plan->keys->strings[k] : plan->aggregates[0].name, &column);
        }
    }
    return err;
}

/* Every entry of the list, group by group. */
static granary_err
result_of_rows(const struct group_plan *plan, const struct group_table *table, const int64_t *order,
               granary_frame **ret_frame)
{
    const struct group_part *list = &table->parts[plan->uses[0][USE_ITEM]];
    int64_t count = list->values.view.rows;
    int64_t *groups = malloc(((size_t)count + 1) * sizeof *groups);
    int64_t *entries = malloc(((size_t)count + 1) * sizeof *entries);
    granary_frame *frame = gr_frame_create(table->keys->count + 1, count);
    size_t at = 0;
    granary_err err = groups == NULL || entries == NULL || frame == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    for (size_t i = 0; i < table->groups && err == GRANARY_OK; i++) {
        for (size_t e = list->starts[order[i]]; e < list->starts[order[i] + 1]; e++) {
            groups[at] = order[i];
            entries[at++] = (int64_t)e;
        }
    }
    if (err == GRANARY_OK) {
        err = rows_result(plan, table, frame, groups, entries);
    }
    free(groups);
    free(entries);
    return gr_frame_give(frame, err, ret_frame);
}

/* The frame of all groups is about to be made: keys, and a number each. */
static void
expect_groups(const struct group_plan *plan, const struct group_table *table)
{
    int64_t rows = (int64_t)table->groups;
    uint64_t bytes = 0;
    uint64_t width = sizeof(int64_t);

    for (size_t k = 0; k < table->keys->count; k++) {
        bytes += gr_place_need(&table->keys->columns[k].view, rows);
    }
    for (size_t p = 0; p < plan->part_count; p++) {
        width = gr_dtype_kind(table->parts[p].values.view.dtype) == GRANARY_DECIMAL ? 2 * sizeof(int64_t) : width;
    }
    bytes += plan->count * ((uint64_t)rows * width + (uint64_t)gr_bitmap_bytes(rows) + 128);
    gr_place_expect(table->keys->count + plan->count, bytes);
}

static granary_err
result_of_groups(const struct group_plan *plan, const struct group_table *table, const int64_t *order,
                 granary_frame **ret_frame)
{
    size_t keys = table->keys->count;
    granary_frame *frame = gr_frame_create(keys + plan->count, (int64_t)table->groups);
    granary_err err = frame == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    expect_groups(plan, table);
    for (size_t i = 0; i < keys + plan->count && err == GRANARY_OK; i++) {
        struct gr_column column;

        err = i < keys ? key_column(&table->keys->columns[i].view, order, (int64_t)table->groups, keys == 1, &column)
                       : result_column(plan, table, i - keys, order, table->groups, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, i, i < keys ? plan->keys->strings[i] : plan->aggregates[i - keys].name, &column);
        }
    }
    return gr_frame_give(frame, err, ret_frame);
}

granary_err
group_result(const struct group_plan *plan, const struct group_table *table, granary_frame **ret_frame)
{
    int64_t *order = NULL;
    granary_err err = table_order(plan, table, &order);

    if (err == GRANARY_OK) {
        err = plan->count == 1 && gr_aggregate_is_rows(&plan->aggregates[0])
                  ? result_of_rows(plan, table, order, ret_frame)
                  : result_of_groups(plan, table, order, ret_frame);
    }
    free(order);
    return err;
}
