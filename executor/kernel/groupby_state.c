#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/groupby.h"
#include "kernel/hash.h"

enum group_sum
group_sum_kind(enum gr_aggregate_function function, granary_dtype dtype)
{
    if (function != GR_AGGREGATE_SUM && function != GR_AGGREGATE_MEAN) {
        return GROUP_SUM_NONE;
    }
    return dtype == GRANARY_FLOAT64 ? GROUP_SUM_DOUBLE : GROUP_SUM_INT;
}

bool
group_counts(enum gr_aggregate_function function)
{
    return function == GR_AGGREGATE_SIZE || function == GR_AGGREGATE_COUNT || function == GR_AGGREGATE_MEAN;
}

void
group_state_fini(struct group_state *state)
{
    for (size_t i = 0; state->sums != NULL && i < state->sum_count; i++) {
        exact_sum_fini(&state->sums[i]);
    }
    free(state->counts);
    free(state->ints);
    free(state->sums);
    free(state->pair_groups);
    gr_column_free(&state->best);
    gr_column_free(&state->pair_values);
    *state = (struct group_state){0};
}

/* Zeroed members as function and dtype need them. */
static granary_err
state_alloc(struct group_state *state, size_t groups)
{
    size_t room = groups > 0 ? groups : 1;
    enum group_sum kind = group_sum_kind(state->function, state->dtype);
    bool failed = false;

    if (group_counts(state->function)) {
        failed = (state->counts = calloc(room, sizeof *state->counts)) == NULL;
    }
    if (kind == GROUP_SUM_INT) {
        failed = failed || (state->ints = calloc(room, sizeof *state->ints)) == NULL;
    } else if (kind == GROUP_SUM_DOUBLE) {
        failed = failed || (state->sums = calloc(room, sizeof *state->sums)) == NULL;
        state->sum_count = state->sums != NULL ? groups : 0;
    }
    return failed ? gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu groups", groups) : GRANARY_OK;
}

/* Whether a row has a value that counts: neither null nor NaN. */
static inline bool
value_there(const granary_column *column, int64_t row)
{
    if (column->dtype == GRANARY_NULLTYPE || gr_is_null(column, row)) {
        return false;
    }
    if (column->dtype == GRANARY_FLOAT64) {
        return !isnan(((const double *)column->values)[row]);
    }
    if (column->dtype == GRANARY_FLOAT32) {
        return !isnan(((const float *)column->values)[row]);
    }
    return true;
}

static void
map_counts(int64_t *counts, const granary_column *column, const uint32_t *ids, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++) {
        if (ids[row] != GROUP_NONE && (column == NULL || value_there(column, row))) {
            counts[ids[row]]++;
        }
    }
}

static void
map_ints(__int128 *ints, const granary_column *column, const uint32_t *ids, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++) {
        if (ids[row] != GROUP_NONE && value_there(column, row)) {
            ints[ids[row]] += column->dtype == GRANARY_BOOL ? (int64_t)gr_bit(column->values, row)
                                                            : ((const int64_t *)column->values)[row];
        }
    }
}

static granary_err
sums_check(const struct exact_sum *sums, size_t groups)
{
    for (size_t i = 0; i < groups; i++) {
        if (!exact_sum_ok(&sums[i])) {
            return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for sums");
        }
    }
    return GRANARY_OK;
}

static granary_err
map_sums(struct group_state *state, const granary_column *column, const uint32_t *ids, int64_t rows)
{
    const double *values = column->values;

    for (int64_t row = 0; row < rows; row++) {
        if (ids[row] != GROUP_NONE && value_there(column, row)) {
            exact_sum_add(&state->sums[ids[row]], values[row]);
        }
    }
    return sums_check(state->sums, state->sum_count);
}

/* ---- min, max ---- */

static bool
double_less(double a, double b)
{
    return a < b || (a == b && signbit(a) && !signbit(b));
}

static bool
text_less(const granary_column *column, int64_t a, int64_t b)
{
    const int32_t *offsets = column->offsets;
    size_t size_a = (size_t)(offsets[a + 1] - offsets[a]);
    size_t size_b = (size_t)(offsets[b + 1] - offsets[b]);
    size_t size = size_a < size_b ? size_a : size_b;
    int order = 0;

    if (size > 0) {
        order = memcmp((const char *)column->values + offsets[a], (const char *)column->values + offsets[b], size);
    }
    return order != 0 ? order < 0 : size_a < size_b;
}

/* Whether the value of row a is less than that of row b; both are there. */
static inline bool
value_less(const granary_column *column, int64_t a, int64_t b)
{
    switch (column->dtype) {
    case GRANARY_FLOAT64:
        return double_less(((const double *)column->values)[a], ((const double *)column->values)[b]);
    case GRANARY_FLOAT32:
        return double_less((double)((const float *)column->values)[a], (double)((const float *)column->values)[b]);
    case GRANARY_STRING:
        return text_less(column, a, b);
    case GRANARY_BOOL:
        return !gr_bit(column->values, a) && gr_bit(column->values, b);
    case GRANARY_DATE:
    case GRANARY_INT32:
        return ((const int32_t *)column->values)[a] < ((const int32_t *)column->values)[b];
    default:
        return ((const int64_t *)column->values)[a] < ((const int64_t *)column->values)[b];
    }
}

static granary_err
map_best(struct group_state *state, const granary_column *column, const uint32_t *ids, int64_t rows, size_t groups)
{
    int64_t *best = malloc((groups > 0 ? groups : 1) * sizeof *best);
    bool least = state->function == GR_AGGREGATE_MIN;
    granary_err err;

    if (best == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu groups", groups);
    }
    for (size_t i = 0; i < groups; i++) {
        best[i] = -1;
    }
    for (int64_t row = 0; row < rows; row++) {
        int64_t *leader;

        if (ids[row] == GROUP_NONE || !value_there(column, row)) {
            continue;
        }
        leader = &best[ids[row]];
        if (*leader < 0 || (least ? value_less(column, row, *leader) : value_less(column, *leader, row))) {
            *leader = row;
        }
    }
    err = gr_column_take(column, best, (int64_t)groups, &state->best);
    free(best);
    return err;
}

/* ---- nunique ---- */

/* The different pairs of group and value. */
static granary_err
map_pairs(struct group_state *state, const granary_column *column, const uint32_t *ids, int64_t rows)
{
    struct gr_column groups = {0};
    struct key_set keys = {0};
    struct grouping grouping = {0};
    granary_err err = gr_column_alloc(GRANARY_INT64, rows, 0, true, &groups);

    if (err != GRANARY_OK) {
        return err;
    }
    for (int64_t row = 0; row < rows; row++) {
        if (ids[row] != GROUP_NONE && value_there(column, row)) {
            ((int64_t *)(uintptr_t)groups.view.values)[row] = ids[row];
            gr_bit_set((uint8_t *)(uintptr_t)groups.view.validity, row);
        }
    }
    err = key_set_init((const granary_column *[]){&groups.view, column}, 2, rows, &keys);
    if (err == GRANARY_OK) {
        err = grouping_build(&keys, &grouping);
    }
    if (err == GRANARY_OK) {
        state->pair_count = grouping.groups;
        state->pair_groups = malloc((grouping.groups + 1) * sizeof *state->pair_groups);
        err = state->pair_groups == NULL
                  ? gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu values", grouping.groups)
                  : gr_column_take(column, grouping.first_rows, (int64_t)grouping.groups, &state->pair_values);
    }
    for (size_t i = 0; err == GRANARY_OK && i < grouping.groups; i++) {
        state->pair_groups[i] = ids[grouping.first_rows[i]];
    }
    grouping_fini(&grouping);
    key_set_fini(&keys);
    gr_column_free(&groups);
    return err;
}

granary_err
group_state_map(struct group_state *state, const granary_column *column, const uint32_t *ids, int64_t rows,
                size_t groups)
{
    granary_err err = state_alloc(state, groups);

    if (err != GRANARY_OK) {
        return err;
    }
    if (state->counts != NULL) {
        map_counts(state->counts, column, ids, rows);
    }
    if (state->ints != NULL && state->dtype != GRANARY_NULLTYPE) {
        map_ints(state->ints, column, ids, rows);
    }
    if (state->sums != NULL) {
        return map_sums(state, column, ids, rows);
    }
    switch (state->function) {
    case GR_AGGREGATE_MIN:
    case GR_AGGREGATE_MAX:
        return map_best(state, column, ids, rows, groups);
    case GR_AGGREGATE_NUNIQUE:
        return map_pairs(state, column, ids, rows);
    default:
        return GRANARY_OK;
    }
}

/* ---- merging ---- */

static granary_err
merge_numbers(struct group_state *state, const struct group_table *tables, size_t count, size_t which,
              const uint32_t *ids)
{
    for (size_t t = 0; t < count; ids += tables[t++].groups) {
        const struct group_state *part = &tables[t].states[which];

        for (size_t i = 0; i < tables[t].groups; i++) {
            if (ids[i] == GROUP_NONE) {
                continue;
            }
            if (state->counts != NULL) {
                state->counts[ids[i]] += part->counts[i];
            }
            if (state->ints != NULL) {
                state->ints[ids[i]] += part->ints[i];
            }
            if (state->sums != NULL) {
                exact_sum_merge(&state->sums[ids[i]], &part->sums[i]);
            }
        }
    }
    return sums_check(state->sums, state->sum_count);
}

/* The winners of all tables compete as the rows of one column. */
static granary_err
merge_best(struct group_state *state, const struct group_table *tables, size_t count, size_t which, const uint32_t *ids,
           size_t groups)
{
    struct gr_run *runs = calloc(count, sizeof *runs);
    struct gr_column all = {0};
    granary_err err;

    if (runs == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu tables", count);
    }
    for (size_t t = 0; t < count; t++) {
        runs[t] = (struct gr_run){&tables[t].states[which].best.view, 0, (int64_t)tables[t].groups};
    }
    err = gr_column_concat(runs, count, state->dtype, &all);
    if (err == GRANARY_OK) {
        err = map_best(state, &all.view, ids, all.view.rows, groups);
    }
    gr_column_free(&all);
    free(runs);
    return err;
}

/* Pairs of all tables, with the groups that theirs became, are made different again. */
static granary_err
merge_pairs(struct group_state *state, const struct group_table *tables, size_t count, size_t which,
            const uint32_t *ids)
{
    struct gr_run *runs = calloc(count, sizeof *runs);
    struct gr_column all = {0};
    uint32_t *pair_ids = NULL;
    size_t at = 0;
    size_t total = 0;
    granary_err err = GRANARY_ENOMEM;

    for (size_t t = 0; t < count; t++) {
        total += tables[t].states[which].pair_count;
    }
    pair_ids = malloc((total + 1) * sizeof *pair_ids);
    if (runs == NULL || pair_ids == NULL) {
        gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu values", total);
        goto out;
    }
    for (size_t t = 0; t < count; ids += tables[t++].groups) {
        const struct group_state *part = &tables[t].states[which];

        runs[t] = (struct gr_run){&part->pair_values.view, 0, (int64_t)part->pair_count};
        for (size_t i = 0; i < part->pair_count; i++) {
            pair_ids[at++] = ids[part->pair_groups[i]];
        }
    }
    err = gr_column_concat(runs, count, state->dtype, &all);
    if (err == GRANARY_OK) {
        err = map_pairs(state, &all.view, pair_ids, all.view.rows);
    }

out:
    gr_column_free(&all);
    free(pair_ids);
    free(runs);
    return err;
}

granary_err
group_state_merge(struct group_state *state, const struct group_table *tables, size_t count, size_t which,
                  const uint32_t *ids, size_t groups)
{
    granary_err err = state_alloc(state, groups);

    if (err != GRANARY_OK) {
        return err;
    }
    switch (state->function) {
    case GR_AGGREGATE_MIN:
    case GR_AGGREGATE_MAX:
        return merge_best(state, tables, count, which, ids, groups);
    case GR_AGGREGATE_NUNIQUE:
        return merge_pairs(state, tables, count, which, ids);
    default:
        return merge_numbers(state, tables, count, which, ids);
    }
}
