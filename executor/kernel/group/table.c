#include "kernel/group/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/group/keys.h"
#include "kernel/group/select.h"
#include "kernel/group/texts.h"

void
group_part_fini(struct group_part *part)
{
    for (size_t i = 0; part->more != NULL && i < part->other_count; i++) {
        exact_sum_fini(&part->more[i]);
    }
    if (!part->borrowed) {
        free(part->counts);
        free(part->ints);
        free(part->owners);
    }
    free(part->others);
    free(part->more);
    gr_column_free(&part->values);
    *part = (struct group_part){0};
}

void
group_table_fini(struct group_table *table)
{
    for (size_t p = 0; table->parts != NULL && p < table->part_count; p++) {
        group_part_fini(&table->parts[p]);
    }
    free(table->parts);
    gr_frame_destroy(table->keys);
    for (size_t i = 0; i < table->file_count; i++) {
        gr_frame_destroy(table->files[i]);
    }
    free(table->files);
    *table = (struct group_table){0};
}

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
}

static double
real_at(const granary_column *column, int64_t i)
{
    return column->dtype == GRANARY_FLOAT32 ? (double)((const float *)column->values)[i]
                                            : ((const double *)column->values)[i];
}

granary_err
group_list_index(const struct group_part *list, size_t groups, size_t **ret_starts, uint32_t **ret_order)
{
    size_t count = (size_t)list->values.view.rows;
    size_t *starts = calloc(groups + 2, sizeof *starts);
    uint32_t *order = malloc(count * sizeof *order + 1);

    if (starts == NULL || order == NULL) {
        free(starts);
        free(order);
        return out_of_memory();
    }
    for (size_t i = 0; i < count; i++) {
        starts[list->owners[i] + 2]++;
    }
    for (size_t g = 0; g < groups; g++) {
        starts[g + 2] += starts[g + 1];
    }
    for (size_t i = 0; i < count; i++) { /* starts[g + 1] moves from where g begins to where it ends */
        order[starts[list->owners[i] + 1]++] = (uint32_t)i;
    }
    *ret_starts = starts;
    *ret_order = order;
    return GRANARY_OK;
}

/* Entries at `kept`, as what the list becomes. */
static granary_err
list_keep(struct group_part *list, const int64_t *kept, size_t count)
{
    uint32_t *owners = malloc(count * sizeof *owners + 1);
    struct gr_column values = {0};
    granary_err err =
        owners == NULL ? out_of_memory() : gr_column_take(&list->values.view, kept, (int64_t)count, &values);

    if (err != GRANARY_OK) {
        free(owners);
        return err;
    }
    for (size_t i = 0; i < count; i++) {
        owners[i] = list->owners[kept[i]];
    }
    gr_column_free(&list->values);
    if (!list->borrowed) {
        free(list->owners);
    }
    list->borrowed = false;
    list->values = values;
    list->owners = owners;
    return GRANARY_OK;
}

/* ---- different values ---- */

/* Owner and value of each entry as a frame with two columns, borrowed; the first is made of numbers that are owned. */
static granary_err
pairs_frame(const struct group_part *list, granary_frame **ret_frame)
{
    int64_t count = list->values.view.rows;
    granary_frame *frame = gr_frame_create(2, count);
    struct gr_column owners;
    granary_err err = frame == NULL ? out_of_memory() : gr_column_alloc(GRANARY_INT64, count, 0, false, &owners);

    if (err == GRANARY_OK) {
        for (int64_t i = 0; i < count; i++) {
            ((int64_t *)(uintptr_t)owners.view.values)[i] = list->owners[i];
        }
        err = gr_frame_set(frame, 0, "owner", &owners);
    }
    if (err == GRANARY_OK) {
        err = gr_frame_set_borrowed(frame, 1, "value", &list->values.view);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

/* The first row of each pair. */
static granary_err
first_pairs(struct rows *rows, int64_t count, int64_t *kept, size_t *ret_count)
{
    struct group_keys *keys = NULL;
    uint8_t *seen = NULL;
    uint32_t seen_room = 0;
    uint32_t ids[ROWS_BLOCK];
    struct rows_block block = {.count = 1};
    granary_err err = group_keys_create(&rows, 1, 2, count, false, &keys);

    *ret_count = 0;
    while (err == GRANARY_OK && (err = rows_next(rows, &block)) == GRANARY_OK && block.count > 0) {
        err = group_keys_find(keys, 0, block.count, ids);
        if (err == GRANARY_OK && group_keys_room(keys) > seen_room) {
            uint32_t room = group_keys_room(keys) * 2;
            uint8_t *grown = realloc(seen, room);

            if (grown == NULL) {
                err = out_of_memory();
                break;
            }
            memset(grown + seen_room, 0, room - seen_room);
            seen = grown;
            seen_room = room;
        }
        for (int64_t i = 0; i < block.count && err == GRANARY_OK; i++) {
            if (ids[i] != GROUP_NONE_ID && !seen[ids[i]]) {
                seen[ids[i]] = 1;
                kept[(*ret_count)++] = block.from + i;
            }
        }
    }
    free(seen);
    group_keys_destroy(keys);
    return err;
}

static granary_err
prune_distinct(struct group_part *list)
{
    static const char *const names[] = {"owner", "value"};
    struct rows_spec spec = {.wanted = names, .wanted_count = 2};
    int64_t *kept = malloc((size_t)list->values.view.rows * sizeof *kept + 1);
    granary_frame *frame = NULL;
    struct rows *rows = NULL;
    size_t count = 0;
    granary_err err = kept == NULL ? out_of_memory() : pairs_frame(list, &frame);

    if (err == GRANARY_OK) {
        err = rows_open(frame, &spec, &rows);
    }
    if (err == GRANARY_OK) {
        err = first_pairs(rows, list->values.view.rows, kept, &count);
    }
    rows_close(rows);
    gr_frame_destroy(frame);
    if (err == GRANARY_OK) {
        err = list_keep(list, kept, count);
    }
    free(kept);
    return err;
}

/* ---- the first n ---- */

static int
text_compare(const granary_column *column, int64_t a, int64_t b)
{
    const int32_t *offsets = column->offsets;
    size_t size_a = (size_t)(offsets[a + 1] - offsets[a]);
    size_t size_b = (size_t)(offsets[b + 1] - offsets[b]);
    size_t size = size_a < size_b ? size_a : size_b;
    const char *bytes = column->values;
    int order = size > 0 ? memcmp(bytes + offsets[a], bytes + offsets[b], size) : 0;

    return order != 0 ? order : (size_a > size_b) - (size_a < size_b);
}

static bool
is_unsigned(granary_dtype dtype)
{
    return dtype == GRANARY_UINT64 || dtype == GRANARY_UINT32 || dtype == GRANARY_UINT16 || dtype == GRANARY_UINT8;
}

int
group_value_compare(const granary_column *column, int64_t a, int64_t b)
{
    size_t size = gr_dtype_size(column->dtype);
    int64_t x = 0;
    int64_t y = 0;

    if (column->dtype == GRANARY_STRING) {
        return text_compare(column, a, b);
    }
    if (column->dtype == GRANARY_BOOL) {
        return (int)gr_bit(column->values, a) - (int)gr_bit(column->values, b);
    }
    if (size == 16) {
        const __int128 *wide = column->values;

        return (wide[a] > wide[b]) - (wide[a] < wide[b]);
    }
    if (group_is_real(column->dtype)) {
        double v = real_at(column, a);
        double w = real_at(column, b);

        memcpy(&x, &v, sizeof x);
        memcpy(&y, &w, sizeof y);
        x ^= (int64_t)((uint64_t)(x >> 63) >> 1); /* integers that compare as the doubles do */
        y ^= (int64_t)((uint64_t)(y >> 63) >> 1);
        return (x > y) - (x < y);
    }
    memcpy(&x, (const char *)column->values + (size_t)a * size, size);
    memcpy(&y, (const char *)column->values + (size_t)b * size, size);
    if (is_unsigned(column->dtype)) {
        return ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    }
    x = (int64_t)((uint64_t)x << (64 - 8 * size)) >> (64 - 8 * size);
    y = (int64_t)((uint64_t)y << (64 - 8 * size)) >> (64 - 8 * size);
    return (x > y) - (x < y);
}

struct best_order {
    const granary_column *column;
    bool top;
};

/* The best first; then the earlier row. */
static int
best_compare(const void *a, const void *b, void *context)
{
    const struct best_order *best = context;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    int order = group_value_compare(best->column, x, y);

    order = best->top ? -order : order;
    return order != 0 ? order : (x > y) - (x < y);
}

static granary_err
prune_best(const struct group_part_spec *spec, size_t groups, struct group_part *list)
{
    struct best_order best = {&list->values.view, spec->measure == GROUP_TOP};
    int64_t *kept = malloc((size_t)list->values.view.rows * sizeof *kept + 1);
    uint32_t *order = NULL;
    size_t *starts = NULL;
    size_t count = 0;
    granary_err err = kept == NULL ? out_of_memory() : group_list_index(list, groups, &starts, &order);

    for (size_t g = 0; g < groups && err == GRANARY_OK; g++) {
        size_t many = starts[g + 1] - starts[g];

        qsort_r(order + starts[g], many, sizeof *order, best_compare, &best);
        for (size_t i = 0; i < many && i < (size_t)spec->n; i++) {
            kept[count++] = order[starts[g] + i];
        }
    }
    if (err == GRANARY_OK) {
        err = list_keep(list, kept, count);
    }
    free(kept);
    free(order);
    free(starts);
    return err;
}

granary_err
group_list_prune(const struct group_part_spec *spec, granary_dtype dtype, size_t groups, struct group_part *list)
{
    if (dtype == GRANARY_NULLTYPE) {
        return GRANARY_OK;
    }
    switch (spec->measure) {
    case GROUP_DISTINCT:
        return prune_distinct(list);
    case GROUP_TOP:
    case GROUP_BOTTOM:
        return prune_best(spec, groups, list);
    default:
        return GRANARY_OK;
    }
}
