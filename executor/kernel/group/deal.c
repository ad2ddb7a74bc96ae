#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/group/table.h"

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
}

granary_err
group_table_deal(const struct group_table *table, size_t parts, int64_t **ret_order, size_t **ret_starts)
{
    size_t groups = table->groups;
    uint64_t *hashes = malloc((groups + 1) * sizeof *hashes);
    int64_t *order = malloc((groups + 1) * sizeof *order);
    size_t *starts = calloc(parts + 2, sizeof *starts);

    if (hashes == NULL || order == NULL || starts == NULL) {
        free(hashes);
        free(order);
        free(starts);
        return out_of_memory();
    }
    group_keys_hashes(table->keys, hashes);
    for (size_t g = 0; g < groups; g++) {
        hashes[g] = (hashes[g] >> 32) * parts >> 32; /* from here on the part */
        starts[hashes[g] + 2]++;
    }
    for (size_t p = 0; p < parts; p++) {
        starts[p + 2] += starts[p + 1];
    }
    for (size_t g = 0; g < groups; g++) { /* starts[p + 1] moves from where p begins to where it ends */
        order[starts[hashes[g] + 1]++] = (int64_t)g;
    }
    free(hashes);
    *ret_order = order;
    *ret_starts = starts;
    return GRANARY_OK;
}

static granary_err
take_reals(const struct group_part *from, const int64_t *places, struct group_part *part)
{
    size_t count = 0;

    if (from->other_count == 0) {
        return GRANARY_OK;
    }
    part->others = calloc(from->other_count, sizeof *part->others);
    part->more = calloc(from->other_count, sizeof *part->more);
    if (part->others == NULL || part->more == NULL) {
        return out_of_memory();
    }
    for (size_t i = 0; i < from->other_count; i++) { /* groups keep their order */
        if (places[from->others[i]] >= 0) {
            part->others[count] = (uint32_t)places[from->others[i]];
            exact_sum_merge(&part->more[count++], &from->more[i]);
            part->other_count = count;
        }
    }
    return GRANARY_OK;
}

static granary_err
take_list(const struct group_part *from, const int64_t *places, struct group_part *part)
{
    int64_t *rows = malloc(((size_t)from->values.view.rows + 1) * sizeof *rows);
    size_t count = 0;
    granary_err err;

    part->owners = malloc(((size_t)from->values.view.rows + 1) * sizeof *part->owners);
    if (rows == NULL || part->owners == NULL) {
        free(rows);
        return out_of_memory();
    }
    for (int64_t i = 0; i < from->values.view.rows; i++) {
        if (places[from->owners[i]] >= 0) {
            part->owners[count] = (uint32_t)places[from->owners[i]];
            rows[count++] = i;
        }
    }
    err = gr_column_take(&from->values.view, rows, (int64_t)count, &part->values);
    free(rows);
    return err;
}

static granary_err
take_part(enum group_kind kind, const struct group_part *from, const int64_t *groups, size_t count,
          const int64_t *places, struct group_part *part)
{
    switch (kind) {
    case GROUP_COUNT:
        part->counts = malloc((count + 1) * sizeof *part->counts);
        for (size_t i = 0; part->counts != NULL && i < count; i++) {
            part->counts[i] = from->counts[groups[i]];
        }
        return part->counts == NULL ? out_of_memory() : GRANARY_OK;
    case GROUP_INT:
    case GROUP_REAL:
        part->unit = from->unit;
        part->ints = malloc((count + 1) * sizeof *part->ints);
        for (size_t i = 0; part->ints != NULL && i < count; i++) {
            part->ints[i] = from->ints[groups[i]];
        }
        return part->ints == NULL ? out_of_memory() : take_reals(from, places, part);
    case GROUP_VALUE:
        return gr_column_take(&from->values.view, groups, (int64_t)count, &part->values);
    case GROUP_LIST:
        return take_list(from, places, part);
    }
    return GRANARY_OK;
}

granary_err
group_table_take(const struct group_plan *plan, const struct group_table *table, const int64_t *groups, size_t count,
                 struct group_table *ret_table)
{
    struct group_table taken = {.groups = count, .part_count = table->part_count};
    int64_t *places = malloc((table->groups + 1) * sizeof *places); /* of the groups among those taken; -1: not taken */
    granary_err err = GRANARY_OK;

    taken.parts = calloc(table->part_count + 1, sizeof *taken.parts);
    taken.keys = gr_frame_create(table->keys->count, (int64_t)count);
    if (places == NULL || taken.parts == NULL || taken.keys == NULL) {
        err = out_of_memory();
    }
    for (size_t g = 0; g < table->groups && err == GRANARY_OK; g++) {
        places[g] = -1;
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        places[groups[i]] = (int64_t)i;
    }
    for (size_t k = 0; k < table->keys->count && err == GRANARY_OK; k++) {
        struct gr_column column;

        err = gr_column_take(&table->keys->columns[k].view, groups, (int64_t)count, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(taken.keys, k, table->keys->columns[k].view.name, &column);
        }
    }
    for (size_t p = 0; p < table->part_count && err == GRANARY_OK; p++) {
        err = take_part(plan->parts[p].kind, &table->parts[p], groups, count, places, &taken.parts[p]);
    }
    free(places);
    if (err != GRANARY_OK) {
        group_table_fini(&taken);
        return err;
    }
    *ret_table = taken;
    return GRANARY_OK;
}
