/* Tables of groups become one: their keys are numbered as rows are, then each part of the same group is put together.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/aggregate/adders.h"
#include "kernel/aggregate/reals.h"
#include "kernel/core/select.h"
#include "kernel/group/tables.h"
#include "kernel/keys/keys.h"

struct merge {
    const struct group_plan *plan;
    struct group_table *tables;
    size_t count;
    uint32_t **ids; /* of each table's groups: the group they become */
    size_t groups;
    uint32_t *first_ids; /* by group: its number among the keys */
};

static granary_err
keys_number(struct merge *merge, struct group_keys *keys, struct rows **sources)
{
    granary_err err = GRANARY_OK;

    for (size_t t = 0; t < merge->count && err == GRANARY_OK; t++) {
        struct rows_block block = {.count = 1};

        merge->ids[t] = malloc((merge->tables[t].groups + ROWS_BLOCK) * sizeof **merge->ids);
        if (merge->ids[t] == NULL) {
            return gr_no_memory("groupby");
        }
        while ((err = rows_next(sources[t], &block)) == GRANARY_OK && block.count > 0) {
            err = group_keys_find(keys, t, block.count, merge->ids[t] + block.from);
            if (err != GRANARY_OK) {
                break;
            }
        }
    }
    return err;
}

/* Numbers as they came become 0, 1, ... without gaps; a group that has no number (its key is null, though nulls are
 * dropped) is damage. */
static granary_err
keys_compact(struct merge *merge, const struct group_keys *keys)
{
    uint32_t room = group_keys_room(keys);
    uint32_t *place = calloc(room, sizeof *place);
    granary_err err = GRANARY_OK;

    merge->first_ids = malloc((size_t)room * sizeof *merge->first_ids);
    if (place == NULL || merge->first_ids == NULL) {
        free(place);
        return gr_no_memory("groupby");
    }
    for (size_t t = 0; t < merge->count && err == GRANARY_OK; t++) {
        for (size_t i = 0; i < merge->tables[t].groups && err == GRANARY_OK; i++) {
            uint32_t id = merge->ids[t][i];

            if (id == GROUP_NONE_ID) {
                err = gr_fail(GRANARY_ECORRUPT, "groupby: a partial result is damaged: a key is null");
                break;
            }
            if (place[id] == 0) {
                merge->first_ids[merge->groups] = id;
                place[id] = (uint32_t)++merge->groups;
            }
            merge->ids[t][i] = place[id] - 1;
        }
    }
    free(place);
    return err;
}

static granary_err
keys_merge(struct merge *merge, granary_frame **ret_frame)
{
    const Granary__Attr *names = merge->plan->keys;
    struct rows_spec spec = {.wanted = (const char *const *)names->strings, .wanted_count = names->n_strings};
    struct rows **sources = calloc(merge->count + 1, sizeof(struct rows *));
    struct group_keys *keys = NULL;
    granary_frame *frame = NULL;
    int64_t rows = 0;
    granary_err err = sources == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    for (size_t t = 0; t < merge->count && err == GRANARY_OK; t++) {
        err = rows_open(merge->tables[t].keys, &spec, &sources[t]);
        rows += (int64_t)merge->tables[t].groups;
    }
    if (err == GRANARY_OK) {
        err = group_keys_create(sources, merge->count, names->n_strings, rows, merge->plan->keep_nulls, &keys);
    }
    if (err == GRANARY_OK) {
        err = keys_number(merge, keys, sources);
    }
    if (err == GRANARY_OK) {
        err = keys_compact(merge, keys);
    }
    if (err == GRANARY_OK) {
        frame = gr_frame_create(names->n_strings, (int64_t)merge->groups);
    }
    for (size_t k = 0; k < names->n_strings && err == GRANARY_OK; k++) {
        struct gr_column column;

        err = group_keys_column(keys, k, merge->first_ids, (int64_t)merge->groups, false, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, k, names->strings[k], &column);
        }
    }
    group_keys_destroy(keys);
    for (size_t t = 0; sources != NULL && t < merge->count; t++) {
        rows_close(sources[t]);
    }
    free(sources);
    return gr_frame_give(frame, err, ret_frame);
}

/* Without keys all groups are one. */
static granary_err
keys_none(struct merge *merge, granary_frame **ret_frame)
{
    for (size_t t = 0; t < merge->count; t++) {
        merge->ids[t] = calloc(merge->tables[t].groups + 1, sizeof **merge->ids);
        if (merge->ids[t] == NULL) {
            return gr_no_memory("groupby");
        }
    }
    merge->groups = 1;
    *ret_frame = gr_frame_create(0, 1);
    return *ret_frame == NULL ? gr_no_memory("groupby") : GRANARY_OK;
}

/* ---- parts ---- */

static granary_err
merge_counts(const struct merge *merge, size_t p, struct group_part *part)
{
    part->counts = calloc(merge->groups + 1, sizeof *part->counts);
    if (part->counts == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t t = 0; t < merge->count; t++) {
        const int64_t *counts = merge->tables[t].parts[p].counts;

        for (size_t i = 0; i < merge->tables[t].groups; i++) {
            part->counts[merge->ids[t][i]] += counts[i];
        }
    }
    return GRANARY_OK;
}

static granary_err
merge_ints(const struct merge *merge, size_t p, struct group_part *part)
{
    part->ints = calloc(merge->groups + 1, sizeof *part->ints);
    if (part->ints == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t t = 0; t < merge->count; t++) {
        const gr_int128 *ints = merge->tables[t].parts[p].ints;

        for (size_t i = 0; i < merge->tables[t].groups; i++) {
            granary_err err = sums_add_wide((int64_t *)&part->ints[merge->ids[t][i]], ints[i]);

            if (err != GRANARY_OK) {
                return err;
            }
        }
    }
    return GRANARY_OK;
}

static granary_err
merge_reals(const struct merge *merge, size_t p, struct group_part *part)
{
    struct reals reals = {0};
    uint32_t *all = malloc((merge->groups + 1) * sizeof *all);
    bool any = false;
    granary_err err = all == NULL ? gr_no_memory("groupby") : reals_grow(&reals, (uint32_t)merge->groups + 1);

    for (size_t t = 0; t < merge->count; t++) { /* the smallest unit, so that all others are multiples of it */
        const struct group_part *from = &merge->tables[t].parts[p];

        if (merge->tables[t].groups > 0 && (!any || from->unit < reals.unit)) {
            reals.unit = from->unit;
            any = true;
        }
    }
    if (err == GRANARY_OK) {
        reals.whole = calloc(merge->groups + 1, sizeof *reals.whole);
        err = reals.whole == NULL ? gr_no_memory("groupby") : GRANARY_OK;
    }
    for (size_t t = 0; t < merge->count && err == GRANARY_OK; t++) {
        const struct group_part *from = &merge->tables[t].parts[p];
        const uint32_t *ids = merge->ids[t];

        for (size_t i = 0; i < merge->tables[t].groups && err == GRANARY_OK; i++) {
            err = reals_add_whole(&reals, ids[i], from->ints[i], from->unit);
        }
        for (size_t i = 0; i < from->other_count && err == GRANARY_OK; i++) {
            err = reals_add_sum(&reals, ids[from->others[i]], &from->more[i]);
        }
    }
    for (size_t g = 0; g < merge->groups && err == GRANARY_OK; g++) {
        all[g] = (uint32_t)g;
    }
    if (err == GRANARY_OK) {
        err = reals_part(&reals, all, merge->groups, part);
    }
    free(all);
    reals_fini(&reals);
    return err;
}

/* Columns of all tables, one after the other. */
static granary_err
values_concat(const struct merge *merge, size_t p, struct gr_column *ret_column)
{
    granary_dtype dtype = merge->plan->dtypes[merge->plan->parts[p].x];
    struct gr_run *runs = calloc(merge->count + 1, sizeof *runs);
    granary_err err;

    if (runs == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t t = 0; t < merge->count; t++) {
        const granary_column *column = &merge->tables[t].parts[p].values.view;

        runs[t] = (struct gr_run){column, 0, column->rows};
    }
    err = gr_column_concat(runs, merge->count, dtype, ret_column);
    free(runs);
    return err;
}

/* Where the entries of each group begin when those of all tables are put together. Errors: EFULL · ENOMEM */
static granary_err
lists_starts(const struct merge *merge, size_t p, uint32_t **ret_starts)
{
    uint32_t *starts = calloc(merge->groups + 1, sizeof *starts);
    uint64_t total = 0;

    if (starts == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t t = 0; t < merge->count; t++) {
        const struct group_part *from = &merge->tables[t].parts[p];

        for (size_t i = 0; i < merge->tables[t].groups; i++) {
            starts[merge->ids[t][i]] += from->starts[i + 1] - from->starts[i];
        }
        total += (uint64_t)from->values.view.rows;
    }
    if (total >= UINT32_MAX) {
        free(starts);
        return gr_fail(GRANARY_EFULL, "groupby: %llu values are more than one part can hold",
                       (unsigned long long)total);
    }
    for (size_t g = 0, at = 0; g <= merge->groups; g++) {
        size_t count = starts[g];

        starts[g] = (uint32_t)at;
        at += count;
    }
    *ret_starts = starts;
    return GRANARY_OK;
}

/* Entries of all tables group by group, those of fixed width: in runs. */
static granary_err
lists_copy(const struct merge *merge, size_t p, granary_dtype dtype, struct group_part *part, uint32_t *at)
{
    size_t size = gr_dtype_size(dtype);
    granary_err err = gr_column_alloc_unset(dtype, part->starts[merge->groups], 0, false, &part->values);

    for (size_t t = 0; t < merge->count && err == GRANARY_OK; t++) {
        const struct group_part *from = &merge->tables[t].parts[p];
        const char *values = from->values.view.values;
        char *to = (char *)(uintptr_t)part->values.view.values;

        for (size_t i = 0; i < merge->tables[t].groups; i++) {
            uint32_t count = from->starts[i + 1] - from->starts[i];

            if (count > 0) {
                memcpy(to + at[merge->ids[t][i]] * size, values + from->starts[i] * size, count * size);
                at[merge->ids[t][i]] += count;
            }
        }
    }
    return err;
}

static granary_err
lists_take(const struct merge *merge, size_t p, struct group_part *part, uint32_t *at)
{
    int64_t *rows = malloc(((size_t)part->starts[merge->groups] + 1) * sizeof *rows);
    struct gr_column all = {0};
    int64_t row = 0;
    granary_err err = rows == NULL ? gr_no_memory("groupby") : values_concat(merge, p, &all);

    for (size_t t = 0; t < merge->count && err == GRANARY_OK; t++) {
        const struct group_part *from = &merge->tables[t].parts[p];

        for (size_t i = 0; i < merge->tables[t].groups; i++) {
            for (uint32_t e = from->starts[i]; e < from->starts[i + 1]; e++) {
                rows[at[merge->ids[t][i]]++] = row++;
            }
        }
    }
    if (err == GRANARY_OK) {
        err = gr_column_take(&all.view, rows, part->starts[merge->groups], &part->values);
    }
    gr_column_free(&all);
    free(rows);
    return err;
}

/* Lists of all tables, in their order, and what is kept of them. */
static granary_err
merge_list(const struct merge *merge, size_t p, struct group_part *part)
{
    const struct group_part_spec *spec = &merge->plan->parts[p];
    granary_dtype dtype = merge->plan->dtypes[spec->x];
    bool whole =
        spec->measure != GROUP_ALL && gr_dtype_size(dtype) > 0 && dtype != GRANARY_BOOL && !gr_dtype_is_text(dtype);
    uint32_t *at = malloc((merge->groups + 1) * sizeof *at);
    granary_err err = at == NULL ? gr_no_memory("groupby") : lists_starts(merge, p, &part->starts);

    if (err == GRANARY_OK) {
        memcpy(at, part->starts, (merge->groups + 1) * sizeof *at);
        err = whole ? lists_copy(merge, p, dtype, part, at) : lists_take(merge, p, part, at);
    }
    free(at);
    return err == GRANARY_OK ? group_list_prune(spec, dtype, merge->groups, part) : err;
}

/* Rows of all tables in which y is best: x is taken of these. */
static granary_err
merge_args(const struct merge *merge, size_t p, struct group_part *part)
{
    const struct group_part_spec *spec = &merge->plan->parts[p];
    bool least = spec->measure == GROUP_ARG_LEAST;
    int64_t *best = malloc((merge->groups + 1) * sizeof *best);
    struct gr_column values = {0};
    struct gr_column by = {0};
    int64_t row = 0;
    granary_err err = best == NULL ? gr_no_memory("groupby") : values_concat(merge, p, &values);

    err = err == GRANARY_OK ? values_concat(merge, group_plan_beside(merge->plan, spec), &by) : err;
    for (size_t g = 0; g < merge->groups && err == GRANARY_OK; g++) {
        best[g] = -1;
    }
    for (size_t t = 0; t < merge->count && err == GRANARY_OK; t++) {
        for (size_t i = 0; i < merge->tables[t].groups; i++, row++) {
            int64_t *leader = &best[merge->ids[t][i]];
            int order;

            if (by.view.dtype == GRANARY_NULLTYPE || gr_is_null(&by.view, row)) {
                continue;
            }
            order = *leader < 0 ? 0 : select_compare(&by.view, row, *leader);
            *leader = *leader < 0 || (least ? order < 0 : order > 0) ? row : *leader;
        }
    }
    if (err == GRANARY_OK) {
        err = gr_column_take(&values.view, best, (int64_t)merge->groups, &part->values);
    }
    gr_column_free(&values);
    gr_column_free(&by);
    free(best);
    return err;
}

/* Each group's values compete, in the order of the tables. */
static granary_err
merge_values(const struct merge *merge, size_t p, struct group_part *part)
{
    enum group_measure measure = merge->plan->parts[p].measure;
    int64_t *best = malloc((merge->groups + 1) * sizeof *best);
    struct gr_column all = {0};
    int64_t row = 0;
    granary_err err = best == NULL ? gr_no_memory("groupby") : values_concat(merge, p, &all);

    for (size_t g = 0; g < merge->groups && err == GRANARY_OK; g++) {
        best[g] = -1;
    }
    for (size_t t = 0; t < merge->count && err == GRANARY_OK; t++) {
        for (size_t i = 0; i < merge->tables[t].groups; i++, row++) {
            int64_t *leader = &best[merge->ids[t][i]];
            bool wins = *leader < 0 || measure == GROUP_LAST;

            if (all.view.dtype == GRANARY_NULLTYPE || gr_is_null(&all.view, row)) {
                continue;
            }
            if (!wins && measure != GROUP_FIRST) {
                int order = select_compare(&all.view, row, *leader);

                wins = measure == GROUP_LEAST ? order < 0 : order > 0;
            }
            *leader = wins ? row : *leader;
        }
    }
    if (err == GRANARY_OK) {
        err = gr_column_take(&all.view, best, (int64_t)merge->groups, &part->values);
    }
    gr_column_free(&all);
    free(best);
    return err;
}

granary_err
group_merge(const struct group_plan *plan, struct group_table *tables, size_t count, struct group_table *ret_table)
{
    struct merge merge = {.plan = plan, .tables = tables, .count = count};
    struct group_table table = {0};
    granary_err err = GRANARY_OK;

    merge.ids = calloc(count + 1, sizeof(uint32_t *));
    table.parts = calloc(plan->part_count + 1, sizeof *table.parts);
    table.part_count = plan->part_count;
    if (merge.ids == NULL || table.parts == NULL) {
        err = gr_no_memory("groupby");
    }
    if (err == GRANARY_OK) {
        err = plan->keys->n_strings == 0 ? keys_none(&merge, &table.keys) : keys_merge(&merge, &table.keys);
    }
    table.groups = merge.groups;
    for (size_t p = 0; p < plan->part_count && err == GRANARY_OK; p++) {
        switch (plan->parts[p].kind) {
        case GROUP_COUNT:
            err = merge_counts(&merge, p, &table.parts[p]);
            break;
        case GROUP_INT:
            err = merge_ints(&merge, p, &table.parts[p]);
            break;
        case GROUP_REAL:
            err = merge_reals(&merge, p, &table.parts[p]);
            break;
        case GROUP_VALUE:
            err = group_is_arg(plan->parts[p].measure) ? merge_args(&merge, p, &table.parts[p])
                                                       : merge_values(&merge, p, &table.parts[p]);
            break;
        case GROUP_LIST:
            err = merge_list(&merge, p, &table.parts[p]);
            break;
        }
    }
    for (size_t t = 0; merge.ids != NULL && t < count; t++) {
        free(merge.ids[t]);
    }
    free(merge.ids);
    free(merge.first_ids);
    if (err != GRANARY_OK) {
        group_table_fini(&table);
        return err;
    }
    *ret_table = table;
    return GRANARY_OK;
}
