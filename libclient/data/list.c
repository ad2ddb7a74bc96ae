/*
 * Columns of lists: offsets, and a column of all items. Items of a new column are exactly those of its rows, one list
 * behind the other, so that equal columns are equal bytes.
 */
#include "data/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/place.h"
#include "data/value/bits.h"

/* The items of so many lists of a column, from a row on. */
static struct gr_run
items_of(const granary_column *column, int64_t row, int64_t rows)
{
    int32_t from = rows > 0 ? column->offsets[row] : 0;

    return (struct gr_run){gr_list_items(column), from, rows > 0 ? column->offsets[row + rows] - from : 0};
}

/* Items have no dictionary. */
static granary_err
make_plain(struct gr_column *items)
{
    struct gr_column plain;
    granary_err err;

    if (items->view.dictionary == NULL) {
        return GRANARY_OK;
    }
    err = gr_column_decode(&items->view, &plain);
    gr_column_free(items);
    *items = err == GRANARY_OK ? plain : (struct gr_column){.owned = false};
    return err;
}

granary_err
gr_list_create(struct gr_column *items, int64_t rows, bool with_validity, struct gr_column *ret_column)
{
    struct gr_column column = {
        .view = {.dtype = GRANARY_LIST(items->view.dtype), .rows = rows},
        .owned = true,
    };
    granary_err err = make_plain(items);

    if (err != GRANARY_OK) {
        return err;
    }
    column.view.offsets = gr_data_alloc(((size_t)rows + 1) * sizeof *column.view.offsets);
    column.view.validity = with_validity ? gr_data_alloc((size_t)gr_bitmap_bytes(rows)) : NULL;
    column.items = malloc(sizeof *column.items);
    if (column.items != NULL) {
        *column.items = *items;
        column.view.values = &column.items->view;
    } else {
        gr_column_free(items);
    }
    *items = (struct gr_column){.owned = false};
    if (column.view.offsets == NULL || column.items == NULL || (with_validity && column.view.validity == NULL)) {
        gr_column_free(&column);
        return gr_fail(GRANARY_ENOMEM, "%lld lists: out of memory", (long long)rows);
    }
    *ret_column = column;
    return GRANARY_OK;
}

/* Items never lie where the frame will stay: they are copied there behind their offsets. */
static granary_err
concat_items(const struct gr_run *runs, size_t count, granary_dtype item, struct gr_column *ret_items)
{
    struct gr_place *place = place_leave();
    granary_err err = gr_column_concat(runs, count, item, ret_items);

    gr_place_set(place);
    return err;
}

granary_err
gr_list_gather(granary_dtype dtype, int64_t count, gr_list_at *at, const void *context, struct gr_column *ret_column)
{
    struct gr_run *runs = malloc(((size_t)count + 1) * sizeof *runs);
    struct gr_column items = {.owned = false};
    struct gr_column out = {.owned = false};
    size_t run_count = 0;
    int64_t have = 0;
    bool nulls = false;
    int32_t *offsets;
    granary_err err = GRANARY_OK;

    if (runs == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%lld lists: out of memory", (long long)count);
    }
    for (int64_t i = 0; i < count; i++) {
        struct gr_run run = at(context, i);
        struct gr_run *last = run_count > 0 ? &runs[run_count - 1] : NULL;

        nulls = nulls || run.column == NULL;
        if (run.column == NULL || run.rows == 0) {
            continue;
        }
        have += run.rows;
        if (last != NULL && last->column == run.column && last->from + last->rows == run.from) {
            last->rows += run.rows;
        } else {
            runs[run_count++] = run;
        }
    }
    if (have > INT32_MAX) {
        err = gr_fail(GRANARY_EFULL, "%lld items of lists in one column of a chunk: at most %d fit; use smaller chunks",
                      (long long)have, INT32_MAX);
    }
    if (err == GRANARY_OK) {
        err = concat_items(runs, run_count, GRANARY_LIST_ITEM(dtype), &items);
    }
    free(runs);
    if (err != GRANARY_OK || (err = gr_list_create(&items, count, nulls, &out)) != GRANARY_OK) {
        return err;
    }
    offsets = (int32_t *)(uintptr_t)out.view.offsets;
    for (int64_t i = 0; i < count; i++) {
        struct gr_run run = at(context, i);

        offsets[i + 1] = offsets[i] + (int32_t)(run.column == NULL ? 0 : run.rows);
        if (nulls && run.column != NULL) {
            gr_bit_set((uint8_t *)(uintptr_t)out.view.validity, i);
        }
    }
    gr_column_settle(&out);
    *ret_column = out;
    return GRANARY_OK;
}

/* ---- taken rows ---- */

struct taking {
    const granary_column *column;
    const int64_t *indices; /* NULL: all rows */
};

static struct gr_run
taken_at(const void *context, int64_t i)
{
    const struct taking *taking = context;
    int64_t row = taking->indices == NULL ? i : taking->indices[i];

    return row < 0 || gr_is_null(taking->column, row) ? (struct gr_run){0} : items_of(taking->column, row, 1);
}

/* Items of one size, none of them null: they are copied list by list. */
static granary_err
take_fixed(const granary_column *column, const int64_t *indices, int64_t count, bool nulls,
           struct gr_column *ret_column)
{
    const granary_column *from = gr_list_items(column);
    size_t size = gr_dtype_size(from->dtype);
    struct gr_column items;
    struct gr_column out;
    struct gr_place *place;
    int64_t have = 0;
    int32_t *offsets;
    char *to;
    granary_err err;

    for (int64_t i = 0; i < count; i++) {
        have += indices[i] < 0 ? 0 : column->offsets[indices[i] + 1] - column->offsets[indices[i]];
    }
    if (have > INT32_MAX) {
        return gr_fail(GRANARY_EFULL,
                       "%lld items of lists in one column of a chunk: at most %d fit; use smaller chunks",
                       (long long)have, INT32_MAX);
    }
    place = place_leave();
    err = gr_column_alloc_unset(from->dtype, have, 0, false, &items);
    gr_place_set(place);
    if (err != GRANARY_OK || (err = gr_list_create(&items, count, nulls, &out)) != GRANARY_OK) {
        return err;
    }
    offsets = (int32_t *)(uintptr_t)out.view.offsets;
    to = (char *)(uintptr_t)gr_list_items(&out.view)->values;
    for (int64_t i = 0; i < count; i++) {
        int64_t row = indices[i];
        int32_t begin = row < 0 ? 0 : column->offsets[row];
        int32_t length = row < 0 ? 0 : column->offsets[row + 1] - begin;

        if (length > 0) {
            memcpy(to + (size_t)offsets[i] * size, (const char *)from->values + (size_t)begin * size,
                   (size_t)length * size);
        }
        offsets[i + 1] = offsets[i] + length;
        if (nulls && row >= 0 && !gr_is_null(column, row)) {
            gr_bit_set((uint8_t *)(uintptr_t)out.view.validity, i);
        }
    }
    gr_column_settle(&out);
    *ret_column = out;
    return GRANARY_OK;
}

granary_err
lists_take(const granary_column *column, const int64_t *indices, int64_t count, struct gr_column *ret_column)
{
    const granary_column *items = gr_list_items(column);
    const struct taking taking = {column, indices};
    bool nulls = column->validity != NULL;

    for (int64_t i = 0; i < count && !nulls; i++) {
        nulls = indices[i] < 0;
    }
    return items->validity == NULL && gr_dtype_size(items->dtype) > 0
               ? take_fixed(column, indices, count, nulls, ret_column)
               : gr_list_gather(column->dtype, count, taken_at, &taking, ret_column);
}

granary_err
gr_list_compact(const granary_column *column, struct gr_column *ret_column)
{
    const struct taking taking = {column, NULL};

    return gr_list_gather(column->dtype, column->rows, taken_at, &taking, ret_column);
}

/* ---- columns joined ---- */

granary_err
lists_concat(const struct gr_run *runs, size_t count, granary_dtype dtype, struct gr_column *ret_column)
{
    struct gr_run *of = malloc((count + 1) * sizeof *of);
    struct gr_column items;
    struct gr_column out;
    size_t of_count = 0;
    int64_t rows = 0;
    int64_t have = 0;
    int64_t at = 0;
    bool nulls = false;
    int32_t *offsets;
    granary_err err;

    if (of == NULL) {
        return gr_fail(GRANARY_ENOMEM, "lists: out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        const granary_column *column = runs[i].column;

        rows += runs[i].rows;
        nulls = nulls || column->validity != NULL || column->dtype == GRANARY_NULLTYPE;
        if (column->dtype == dtype) {
            of[of_count] = items_of(column, runs[i].from, runs[i].rows);
            have += of[of_count++].rows;
        }
    }
    err =
        have <= INT32_MAX
            ? concat_items(of, of_count, GRANARY_LIST_ITEM(dtype), &items)
            : gr_fail(GRANARY_EFULL, "%lld items of lists in one column of a chunk: at most %d fit; use smaller chunks",
                      (long long)have, INT32_MAX);
    free(of);
    if (err != GRANARY_OK || (err = gr_list_create(&items, rows, nulls, &out)) != GRANARY_OK) {
        return err;
    }
    offsets = (int32_t *)(uintptr_t)out.view.offsets;
    for (size_t i = 0; i < count; i++) {
        const granary_column *column = runs[i].column;
        uint8_t *bits = (uint8_t *)(uintptr_t)out.view.validity;
        bool is_list = column->dtype == dtype;

        for (int64_t row = 0; row < runs[i].rows; row++) {
            int64_t from = runs[i].from + row;

            offsets[at + row + 1] =
                offsets[at + row] + (is_list ? column->offsets[from + 1] - column->offsets[from] : 0);
        }
        if (column->validity != NULL) {
            bits_copy(bits, at, column->validity, runs[i].from, runs[i].rows);
        } else if (nulls && is_list) {
            bits_set(bits, at, runs[i].rows);
        }
        at += runs[i].rows;
    }
    gr_column_settle(&out);
    *ret_column = out;
    return GRANARY_OK;
}
