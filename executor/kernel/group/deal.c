/* A part of a table whose groups were dealt to parts, so that each is a range of them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/group/tables.h"

static granary_err
slice_reals(const struct group_part *from, size_t begin, size_t end, struct group_part *part)
{
    if (from->other_count == 0) {
        return GRANARY_OK;
    }
    part->others = calloc(from->other_count, sizeof *part->others);
    part->more = calloc(from->other_count, sizeof *part->more);
    if (part->others == NULL || part->more == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t i = 0; i < from->other_count; i++) {
        if (from->others[i] >= begin && from->others[i] < end) {
            part->others[part->other_count] = from->others[i] - (uint32_t)begin;
            exact_sum_merge(&part->more[part->other_count], &from->more[i]);
            if (!exact_sum_ok(&part->more[part->other_count++])) {
                return gr_no_memory("groupby");
            }
        }
    }
    return GRANARY_OK;
}

/* Borrowed, where a row begins at a byte. */
static granary_err
slice_column(const granary_column *column, size_t begin, size_t end, bool coded, struct gr_column *ret_column)
{
    struct gr_run run = {column, (int64_t)begin, (int64_t)(end - begin)};
    size_t size = column->dictionary != NULL ? sizeof(int32_t) : gr_dtype_size(column->dtype);

    if (column->null_count == 0 && size > 0 && column->dtype != GRANARY_BOOL &&
        (column->dictionary == NULL || coded || gr_dictionary_pays(column->dictionary->rows, run.rows))) {
        *ret_column = (struct gr_column){.view = *column, .owned = false};
        ret_column->view.validity = NULL;
        ret_column->view.values = (const char *)column->values + begin * size;
        ret_column->view.rows = run.rows;
        return GRANARY_OK;
    }
    return gr_column_concat(&run, 1, column->dtype, ret_column);
}

static granary_err
slice_list(const struct group_part *from, size_t begin, size_t end, struct group_part *part)
{
    part->borrowed = false;
    part->starts = malloc((end - begin + 1) * sizeof *part->starts);
    if (part->starts == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t g = begin; g <= end; g++) {
        part->starts[g - begin] = from->starts[g] - from->starts[begin];
    }
    return slice_column(&from->values.view, from->starts[begin], from->starts[end], false, &part->values);
}

static granary_err
slice_part(enum group_kind kind, const struct group_part *from, size_t begin, size_t end, struct group_part *part)
{
    part->borrowed = true;
    switch (kind) {
    case GROUP_COUNT:
        part->counts = from->counts + begin;
        return GRANARY_OK;
    case GROUP_INT:
    case GROUP_REAL:
        part->unit = from->unit;
        part->ints = from->ints + begin;
        return slice_reals(from, begin, end, part);
    case GROUP_VALUE:
        return slice_column(&from->values.view, begin, end, false, &part->values);
    case GROUP_LIST:
        return slice_list(from, begin, end, part);
    }
    return GRANARY_OK;
}

granary_err
group_table_slice(const struct group_plan *plan, const struct group_table *table, size_t begin, size_t end,
                  struct group_table *ret_table)
{
    struct group_table slice = {.groups = end - begin, .part_count = table->part_count};
    granary_err err = GRANARY_OK;

    slice.parts = calloc(table->part_count + 1, sizeof *slice.parts);
    slice.keys = gr_frame_create(table->keys->count, (int64_t)slice.groups);
    if (slice.parts == NULL || slice.keys == NULL) {
        err = gr_no_memory("groupby");
    }
    for (size_t k = 0; k < table->keys->count && err == GRANARY_OK; k++) {
        struct gr_column column;

        err = slice_column(&table->keys->columns[k].view, begin, end, table->coded, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(slice.keys, k, table->keys->columns[k].view.name, &column);
        }
    }
    for (size_t p = 0; p < table->part_count && err == GRANARY_OK; p++) {
        err = slice_part(plan->parts[p].kind, &table->parts[p], begin, end, &slice.parts[p]);
    }
    if (err != GRANARY_OK) {
        group_table_fini(&slice);
        return err;
    }
    *ret_table = slice;
    return GRANARY_OK;
}
