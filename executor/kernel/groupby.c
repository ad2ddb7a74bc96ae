#include "kernel/groupby.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/frame_call.h"
#include "kernel/hash.h"
#include "kernel/sort/sort.h"

void
group_table_fini(struct group_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        group_state_fini(&table->states[i]);
    }
    free(table->states);
    gr_frame_destroy(table->keys);
    for (size_t i = 0; i < table->file_count; i++) {
        gr_frame_destroy(table->files[i]);
    }
    free(table->files);
    *table = (struct group_table){0};
}

/* What the three kernels read from the call. */
struct plan {
    const Granary__Attr *keys;
    struct gr_aggregate *aggregates;
    size_t count;
};

static granary_err
plan_init(const struct gr_kernel_call *call, struct plan *ret_plan)
{
    const Granary__Attr *aggregate;
    struct plan plan = {0};
    granary_err err = call_attr(call, "keys", GRANARY__ATTR__KIND__STRINGS, &plan.keys);

    if (err == GRANARY_OK) {
        err = call_attr(call, "aggregate", GRANARY__ATTR__KIND__MAP, &aggregate);
    }
    if (err == GRANARY_OK) {
        err = gr_aggregates_parse(aggregate, &plan.aggregates, &plan.count);
    }
    if (err == GRANARY_OK) {
        *ret_plan = plan;
    }
    return err;
}

static void
plan_fini(struct plan *plan)
{
    gr_aggregates_free(plan->aggregates, plan->count);
}

/* Equal keys look the same in every chunk: one zero, one NaN. */
static void
keys_settle(granary_frame *keys)
{
    for (size_t k = 0; k < keys->count; k++) {
        const granary_column *column = &keys->columns[k].view;

        for (int64_t i = 0; i < keys->rows; i++) {
            if (column->dtype == GRANARY_FLOAT64) {
                double *value = (double *)(uintptr_t)column->values + i;

                *value = isnan(*value) ? NAN : *value + 0.0;
            } else if (column->dtype == GRANARY_FLOAT32) {
                float *value = (float *)(uintptr_t)column->values + i;

                *value = isnan(*value) ? NAN : *value + 0.0f;
            }
        }
    }
}

/* Number the rows of some columns by key; keys and grouping are to be given back, whatever is returned. */
static granary_err
columns_group(const granary_frame *frame, char *const *names, size_t count, struct key_set *keys,
              struct grouping *grouping)
{
    const granary_column **columns;
    granary_err err = frame_columns(frame, names, count, &columns);

    if (err != GRANARY_OK) {
        return err;
    }
    err = key_set_init(columns, count, frame->rows, keys);
    free(columns);
    return err == GRANARY_OK ? grouping_build(keys, grouping) : err;
}

/* A table without states yet: the keys of the groups found in a frame. */
static granary_err
table_begin(struct group_table *table, const granary_frame *frame, const struct plan *plan,
            const struct grouping *grouping)
{
    granary_err err;

    table->groups = grouping->groups;
    table->states = calloc(plan->count + 1, sizeof *table->states);
    if (table->states == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
    }
    err = frame_take_columns(frame, plan->keys->strings, plan->keys->n_strings, grouping->first_rows,
                             (int64_t)grouping->groups, &table->keys);
    if (err == GRANARY_OK) {
        keys_settle(table->keys);
    }
    return err;
}

/* The column of an aggregate, checked to be of a dtype it takes; NULL for size. */
static granary_err
aggregate_column(const struct gr_aggregate *aggregate, const granary_frame *frame, const granary_column **ret_column)
{
    granary_dtype result;
    granary_err err;
    int position;

    *ret_column = NULL;
    if (aggregate->function == GR_AGGREGATE_SIZE) {
        return GRANARY_OK;
    }
    position = gr_frame_find(frame, aggregate->column);
    if (position < 0) {
        return gr_fail(GRANARY_ENOENT, "aggregate '%s': there is no column '%s'", aggregate->name, aggregate->column);
    }
    *ret_column = &frame->columns[position].view;
    err = gr_aggregate_dtype(aggregate->function, (*ret_column)->dtype, &result);
    return err == GRANARY_OK ? GRANARY_OK : gr_fail_in(err, "aggregate '%s'", aggregate->name);
}

static granary_err
table_map(const granary_frame *frame, const struct plan *plan, struct group_table *ret_table)
{
    struct group_table table = {0};
    struct key_set keys = {0};
    struct grouping grouping = {0};
    granary_err err = columns_group(frame, plan->keys->strings, plan->keys->n_strings, &keys, &grouping);

    if (err == GRANARY_OK) {
        err = table_begin(&table, frame, plan, &grouping);
    }
    for (size_t i = 0; i < plan->count && err == GRANARY_OK; i++) {
        struct group_state *state = &table.states[table.count++];
        const granary_column *column;

        err = aggregate_column(&plan->aggregates[i], frame, &column);
        if (err == GRANARY_OK && column != NULL) {
            err = column_is_known(column, "aggregated");
        }
        if (err == GRANARY_OK) {
            state->function = plan->aggregates[i].function;
            state->dtype = column != NULL ? column->dtype : GRANARY_NULLTYPE;
            err = group_state_map(state, column, grouping.ids, frame->rows, table.groups);
        }
    }
    grouping_fini(&grouping);
    key_set_fini(&keys);
    if (err != GRANARY_OK) {
        group_table_fini(&table);
        return err;
    }
    *ret_table = table;
    return GRANARY_OK;
}

/* All tables must hold the same dtypes. */
static granary_err
tables_agree(const struct group_table *tables, size_t count, const struct plan *plan)
{
    for (size_t t = 1; t < count; t++) {
        for (size_t i = 0; i < plan->count; i++) {
            granary_dtype first = tables[0].states[i].dtype;
            granary_dtype other = tables[t].states[i].dtype;

            if (first != other) {
                return gr_fail(GRANARY_ETYPE, "aggregate '%s': the column is %s in one chunk and %s in another",
                               plan->aggregates[i].name, granary_dtype_name(first), granary_dtype_name(other));
            }
        }
    }
    return GRANARY_OK;
}

static granary_err
keys_concat(const struct group_table *tables, size_t count, granary_frame **ret_frame)
{
    const granary_frame **parts = calloc(count, sizeof *parts);
    granary_err err;

    if (parts == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
    }
    for (size_t t = 0; t < count; t++) {
        parts[t] = tables[t].keys;
    }
    err = gr_frame_concat(parts, count, ret_frame);
    free(parts);
    return err;
}

static granary_err
tables_merge(const struct group_table *tables, size_t count, const struct plan *plan, struct group_table *ret_table)
{
    struct group_table table = {0};
    struct key_set keys = {0};
    struct grouping grouping = {0};
    granary_frame *all = NULL;
    granary_err err = tables_agree(tables, count, plan);

    if (err == GRANARY_OK) {
        err = keys_concat(tables, count, &all);
    }
    if (err == GRANARY_OK) {
        err = columns_group(all, plan->keys->strings, plan->keys->n_strings, &keys, &grouping);
    }
    if (err == GRANARY_OK) {
        err = table_begin(&table, all, plan, &grouping);
    }
    for (size_t i = 0; i < plan->count && err == GRANARY_OK; i++) {
        struct group_state *state = &table.states[table.count++];

        state->function = plan->aggregates[i].function;
        state->dtype = tables[0].states[i].dtype;
        err = group_state_merge(state, tables, count, i, grouping.ids, table.groups);
    }
    grouping_fini(&grouping);
    key_set_fini(&keys);
    gr_frame_destroy(all);
    if (err != GRANARY_OK) {
        group_table_fini(&table);
        return err;
    }
    *ret_table = table;
    return GRANARY_OK;
}

/* The inputs of a call, merged. */
static granary_err
inputs_merge(const struct gr_kernel_call *call, const struct plan *plan, struct group_table *ret_table)
{
    struct group_table *tables = calloc(call->input_count + 1, sizeof *tables);
    size_t count = 0;
    granary_err err = GRANARY_OK;

    if (tables == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu partial results", call->input_count);
    }
    if (call->input_count == 0) {
        err = gr_fail(GRANARY_EINVAL, "%s: there is no input", call->op->op);
    }
    while (count < call->input_count && err == GRANARY_OK) {
        const struct gr_value *input = &call->inputs[count];

        err = input->kind != GR_VALUE_BYTES
                  ? gr_fail(GRANARY_ETYPE, "%s: input %zu is no partial result", call->op->op, count)
                  : group_table_read(input->bytes, input->bytes_size, plan->keys->n_strings, plan->aggregates,
                                     plan->count, &tables[count]);
        count += err == GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = tables_merge(tables, count, plan, ret_table);
    }
    for (size_t t = 0; t < count; t++) {
        group_table_fini(&tables[t]);
    }
    free(tables);
    return err;
}

static granary_err
yield_table(struct gr_kernel_call *call, const struct group_table *table)
{
    void *bytes;
    uint64_t size;
    granary_err err;

    if (call->output_count < 1) {
        return gr_fail(GRANARY_EINVAL, "%s: output 0 is missing", call->op->op);
    }
    err = group_table_write(table, &bytes, &size);
    if (err == GRANARY_OK) {
        call->outputs[0] =
            (struct gr_value){.kind = GR_VALUE_BYTES, .bytes = bytes, .bytes_size = size, .owned_bytes = bytes};
    }
    return err;
}

granary_err
kernel_groupby_map(struct gr_kernel_call *call)
{
    const granary_frame *frame;
    struct group_table table;
    struct plan plan;
    granary_err err = call_frame(call, 0, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    err = plan_init(call, &plan);
    if (err != GRANARY_OK) {
        return err;
    }
    err = table_map(frame, &plan, &table);
    if (err == GRANARY_OK) {
        err = yield_table(call, &table);
        group_table_fini(&table);
    }
    plan_fini(&plan);
    return err;
}

granary_err
kernel_groupby_merge(struct gr_kernel_call *call)
{
    struct group_table table;
    struct plan plan;
    granary_err err = plan_init(call, &plan);

    if (err != GRANARY_OK) {
        return err;
    }
    err = inputs_merge(call, &plan, &table);
    if (err == GRANARY_OK) {
        err = yield_table(call, &table);
        group_table_fini(&table);
    }
    plan_fini(&plan);
    return err;
}

/* ---- the result ---- */

static granary_err
result_int(const struct group_state *state, const struct gr_aggregate *aggregate, int64_t group, int64_t *ret_value)
{
    if (state->function != GR_AGGREGATE_SUM) {
        *ret_value = state->counts[group];
        return GRANARY_OK;
    }
    if (state->ints[group] < INT64_MIN || state->ints[group] > INT64_MAX) {
        return gr_fail(GRANARY_EFAILED,
                       "aggregate '%s': a sum of column '%s' exceeds int64; convert it, as in assign: `x` * 1.0",
                       aggregate->name, aggregate->column);
    }
    *ret_value = (int64_t)state->ints[group];
    return GRANARY_OK;
}

/* The mean is null where there was no value. */
static bool
result_double(const struct group_state *state, int64_t group, double *ret_value)
{
    double sum = state->sums != NULL ? exact_sum_value(&state->sums[group]) : (double)state->ints[group];

    if (state->function == GR_AGGREGATE_SUM) {
        *ret_value = sum;
        return true;
    }
    if (state->counts[group] == 0) {
        return false;
    }
    *ret_value = sum / (double)state->counts[group];
    return true;
}

static granary_err
result_numbers(const struct group_state *state, const struct gr_aggregate *aggregate, granary_dtype dtype,
               const int64_t *order, int64_t groups, struct gr_column *ret_column)
{
    struct gr_column column;
    granary_err err = gr_column_alloc(dtype, groups, 0, true, &column);

    if (err != GRANARY_OK) {
        return err;
    }
    for (int64_t i = 0; i < groups && err == GRANARY_OK; i++) {
        void *value = (char *)(uintptr_t)column.view.values + i * 8;
        bool there = true;

        if (dtype == GRANARY_FLOAT64) {
            there = result_double(state, order[i], value);
        } else {
            err = result_int(state, aggregate, order[i], value);
        }
        if (there) {
            gr_bit_set((uint8_t *)(uintptr_t)column.view.validity, i);
        }
    }
    if (err != GRANARY_OK) {
        gr_column_free(&column);
        return err;
    }
    gr_column_finish(&column);
    *ret_column = column;
    return GRANARY_OK;
}

/* How many pairs each group has. */
static granary_err
count_pairs(struct group_state *state, size_t groups)
{
    state->counts = calloc(groups + 1, sizeof *state->counts);
    if (state->counts == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu groups", groups);
    }
    for (size_t i = 0; i < state->pair_count; i++) {
        state->counts[state->pair_groups[i]]++;
    }
    return GRANARY_OK;
}

static granary_err
result_column(struct group_state *state, const struct gr_aggregate *aggregate, const int64_t *order, size_t groups,
              struct gr_column *ret_column)
{
    granary_dtype dtype;
    granary_err err = gr_aggregate_dtype(state->function, state->dtype, &dtype);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "aggregate '%s'", aggregate->name);
    }
    if (state->function == GR_AGGREGATE_MIN || state->function == GR_AGGREGATE_MAX) {
        return gr_column_take(&state->best.view, order, (int64_t)groups, ret_column);
    }
    if (state->function == GR_AGGREGATE_NUNIQUE) {
        err = count_pairs(state, groups);
    }
    return err == GRANARY_OK ? result_numbers(state, aggregate, dtype, order, (int64_t)groups, ret_column) : err;
}

static granary_err
table_order(const struct group_table *table, int64_t **ret_order)
{
    struct sort_key *keys = calloc(table->keys->count, sizeof *keys);
    int64_t count;
    granary_err err;

    if (keys == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
    }
    for (size_t i = 0; i < table->keys->count; i++) {
        keys[i].column = &table->keys->columns[i].view;
    }
    err = sort_rows(keys, table->keys->count, (int64_t)table->groups, SORT_NO_LIMIT, ret_order, &count);
    free(keys);
    return err;
}

static granary_err
table_result(const struct group_table *table, const struct plan *plan, granary_frame **ret_frame)
{
    size_t key_count = table->keys->count;
    granary_frame *frame = gr_frame_create(key_count + plan->count, (int64_t)table->groups);
    int64_t *order = NULL;
    granary_err err = frame != NULL ? table_order(table, &order) : gr_fail(GRANARY_ENOMEM, "groupby: out of memory");

    for (size_t i = 0; i < key_count + plan->count && err == GRANARY_OK; i++) {
        struct gr_column column;
        const char *name;

        if (i < key_count) {
            name = plan->keys->strings[i];
            err = gr_column_take(&table->keys->columns[i].view, order, (int64_t)table->groups, &column);
        } else {
            const struct gr_aggregate *aggregate = &plan->aggregates[i - key_count];

            name = aggregate->name;
            err = result_column(&table->states[i - key_count], aggregate, order, table->groups, &column);
        }
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, i, name, &column);
        }
    }
    free(order);
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

granary_err
kernel_groupby_final(struct gr_kernel_call *call)
{
    granary_frame *frame = NULL;
    struct group_table table;
    struct plan plan;
    granary_err err = plan_init(call, &plan);

    if (err != GRANARY_OK) {
        return err;
    }
    err = inputs_merge(call, &plan, &table);
    if (err == GRANARY_OK) {
        err = table_result(&table, &plan, &frame);
        group_table_fini(&table);
    }
    plan_fini(&plan);
    return err == GRANARY_OK ? call_yield(call, 0, frame) : err;
}
