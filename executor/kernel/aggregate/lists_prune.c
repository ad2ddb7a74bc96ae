/* Lists of groups: each value once, or the n largest or smallest. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/dtype_class.h"
#include "kernel/aggregate/lists.h"
#include "kernel/aggregate/table.h"
#include "kernel/core/select.h"
#include "kernel/keys/keys.h"

enum { INSERTED_MOST = 32 }; /* entries of a group; more are sorted */

/* Entries at `kept`, group by group, as what the list becomes. */
static granary_err
list_keep(size_t groups, struct group_part *list, const int64_t *kept, size_t count)
{
    uint32_t *starts = malloc((groups + 1) * sizeof *starts);
    struct gr_column values = {0};
    size_t at = 0;
    granary_err err =
        starts == NULL ? gr_no_memory("groupby") : gr_column_take(&list->values.view, kept, (int64_t)count, &values);

    if (err != GRANARY_OK) {
        free(starts);
        return err;
    }
    for (size_t g = 0; g < groups; g++) {
        starts[g] = (uint32_t)at;
        while (at < count && kept[at] < list->starts[g + 1]) {
            at++;
        }
    }
    starts[groups] = (uint32_t)at;
    gr_column_free(&list->values);
    if (!list->borrowed) {
        free(list->starts);
    }
    list->borrowed = false;
    list->values = values;
    list->starts = starts;
    return GRANARY_OK;
}

/* ---- different values ---- */

/* Owner and value of each entry as a frame with two columns, borrowed; the first is made of numbers that are owned. */
static granary_err
pairs_frame(const struct group_part *list, size_t groups, granary_frame **ret_frame)
{
    int64_t count = list->values.view.rows;
    granary_frame *frame = gr_frame_create(2, count);
    struct gr_column owners;
    granary_err err = gr_column_alloc(GRANARY_INT64, count, 0, false, &owners);

    if (err == GRANARY_OK) {
        for (size_t g = 0; g < groups; g++) {
            for (size_t i = list->starts[g]; i < list->starts[g + 1]; i++) {
                ((int64_t *)(uintptr_t)owners.view.values)[i] = (int64_t)g;
            }
        }
        err = gr_frame_set(frame, 0, "owner", &owners);
    }
    if (err == GRANARY_OK) {
        err = gr_frame_set_borrowed(frame, 1, "value", &list->values.view);
    }
    return gr_frame_give(frame, err, ret_frame);
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
                err = gr_no_memory("groupby");
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

/* Moments and durations of 64 bits. */
static bool
is_clock(granary_dtype dtype)
{
    enum gr_dtype_class class = gr_dtype_class(dtype);

    return (class == GR_CLASS_MOMENT && dtype != GRANARY_DATE) || class == GR_CLASS_DURATION;
}

/*
 * Integers of 64 bits that lie near each other, as one group's: the first row of each. false: they are none, and kept is
 * not set.
 */
static bool
first_near(const granary_column *column, int64_t *kept, size_t *ret_count)
{
    granary_dtype kind = gr_dtype_kind(column->dtype);
    /* A uint64_t beyond these is far from the others, at worst. */
    bool integers = kind == GRANARY_INT64 || kind == GRANARY_UINT64 || is_clock(kind);
    const int64_t *values = column->values;
    int64_t least = INT64_MAX;
    int64_t most = INT64_MIN;
    uint64_t *seen;
    size_t count = 0;

    if (!integers || column->null_count > 0 || column->rows == 0) {
        return false;
    }
    for (int64_t i = 0; i < column->rows; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    if ((uint64_t)most - (uint64_t)least >= GROUP_NEAR) {
        return false;
    }
    seen = calloc(((uint64_t)most - (uint64_t)least) / 64 + 1, sizeof *seen);
    if (seen == NULL) {
        return false;
    }
    for (int64_t i = 0; i < column->rows; i++) {
        uint64_t distance = (uint64_t)values[i] - (uint64_t)least;
        uint64_t word = seen[distance / 64];

        kept[count] = i;
        count += !(word >> distance % 64 & 1);
        seen[distance / 64] = word | (uint64_t)1 << distance % 64;
    }
    free(seen);
    *ret_count = count;
    return true;
}

static granary_err
prune_pairs(size_t groups, const struct group_part *list, int64_t *kept, size_t *ret_count)
{
    static const char *const names[] = {"owner", "value"};
    struct rows_spec spec = {.wanted = names, .wanted_count = 2};
    granary_frame *frame = NULL;
    struct rows *rows = NULL;
    granary_err err = pairs_frame(list, groups, &frame);

    if (err == GRANARY_OK) {
        err = rows_open(frame, &spec, &rows);
    }
    if (err == GRANARY_OK) {
        err = first_pairs(rows, list->values.view.rows, kept, ret_count);
    }
    rows_close(rows);
    gr_frame_destroy(frame);
    return err;
}

static granary_err
prune_distinct(size_t groups, struct group_part *list)
{
    int64_t *kept = malloc((size_t)list->values.view.rows * sizeof *kept + 1);
    size_t count = 0;
    granary_err err = kept == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    if (err == GRANARY_OK && (groups != 1 || !first_near(&list->values.view, kept, &count))) {
        err = prune_pairs(groups, list, kept, &count);
    }
    if (err == GRANARY_OK && count < (size_t)list->values.view.rows) {
        err = list_keep(groups, list, kept, count);
    }
    free(kept);
    return err;
}

/* ---- the first n ---- */

struct best_order {
    const granary_column *column;
    bool top;
};

/* The best first; then the earlier row. */
static int
best_compare(const void *a, const void *b, void *context)
{
    const struct best_order *best = context;
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    int order = select_compare(best->column, x, y);

    order = best->top ? -order : order;
    return order != 0 ? order : (x > y) - (x < y);
}

/* Numbers of 64 bits in the order of the values, the best above the others. false: the dtype has none. */
static bool
best_numbers(const granary_column *column, bool top, int64_t **ret_numbers)
{
    const int64_t *values = column->values;
    bool real = column->dtype == GRANARY_FLOAT64;
    int64_t *numbers;

    *ret_numbers = NULL;
    if (!real && column->dtype != GRANARY_INT64 && !is_clock(column->dtype)) {
        return true;
    }
    numbers = malloc((size_t)column->rows * sizeof *numbers + 1);
    for (int64_t i = 0; numbers != NULL && i < column->rows; i++) {
        int64_t number = real ? values[i] ^ (int64_t)((uint64_t)(values[i] >> 63) >> 1) : values[i];

        numbers[i] = top ? number : ~number;
    }
    *ret_numbers = numbers;
    return numbers != NULL;
}

/* The n best of a few entries, the first of equal ones before the others. */
static size_t
best_insert(const int64_t *numbers, size_t begin, size_t end, size_t n, int64_t *kept)
{
    size_t count = 0;

    for (size_t i = begin; i < end; i++) {
        size_t place;

        if (count == n && (n == 0 || numbers[i] <= numbers[kept[n - 1]])) {
            continue;
        }
        place = count < n ? count++ : n - 1;
        while (place > 0 && numbers[kept[place - 1]] < numbers[i]) {
            kept[place] = kept[place - 1];
            place--;
        }
        kept[place] = (int64_t)i;
    }
    return count;
}

static granary_err
prune_best(const struct group_part_spec *spec, size_t groups, struct group_part *list)
{
    struct best_order best = {&list->values.view, spec->measure == GROUP_TOP};
    int64_t *kept = malloc((size_t)list->values.view.rows * sizeof *kept + 1);
    int64_t *numbers = NULL;
    size_t count = 0;
    granary_err err =
        kept == NULL || !best_numbers(best.column, best.top, &numbers) ? gr_no_memory("groupby") : GRANARY_OK;

    for (size_t g = 0; g < groups && err == GRANARY_OK; g++) {
        size_t begin = list->starts[g];
        size_t end = list->starts[g + 1];
        size_t many = end - begin;

        if (numbers != NULL && many <= INSERTED_MOST) {
            count += best_insert(numbers, begin, end, (size_t)spec->n, kept + count);
            continue;
        }
        for (size_t i = 0; i < many; i++) {
            kept[count + i] = (int64_t)(begin + i);
        }
        qsort_r(kept + count, many, sizeof *kept, best_compare, &best);
        count += many < (size_t)spec->n ? many : (size_t)spec->n;
    }
    if (err == GRANARY_OK) {
        err = list_keep(groups, list, kept, count);
    }
    free(kept);
    free(numbers);
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
        return prune_distinct(groups, list);
    case GROUP_TOP:
    case GROUP_BOTTOM:
        return prune_best(spec, groups, list);
    default:
        return GRANARY_OK;
    }
}
