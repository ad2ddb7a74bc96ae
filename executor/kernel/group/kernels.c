/* groupby_map, groupby_merge, groupby_final. */
#include <stdlib.h>

#include "base/error.h"
#include "kernel/core/frame_call.h"
#include "kernel/group/tables.h"
#include "kernel/keys/keys.h"

static granary_err
yield_table(struct gr_kernel_call *call, size_t output, const struct group_plan *plan, const struct group_table *table,
            const bool *referred)
{
    void *bytes;
    uint64_t size;
    granary_err err;

    if (call->output_count <= output) {
        return gr_fail(GRANARY_EINVAL, "%s: output %zu is missing", call->op->op, output);
    }
    err = group_table_write(plan, table, referred, &bytes, &size);
    if (err == GRANARY_OK) {
        call_yield_bytes(call, output, bytes, size);
    }
    return err;
}

/* A table for each part. */
static granary_err
yield_parts(struct gr_kernel_call *call, size_t parts, const size_t *starts, const struct group_plan *plan,
            const struct group_table *table, const bool *referred)
{
    granary_err err = GRANARY_OK;

    for (size_t p = 0; p < parts && err == GRANARY_OK; p++) {
        struct group_table slice = {0};

        err = group_table_slice(plan, table, starts[p], starts[p + 1], &slice);
        if (err == GRANARY_OK) {
            err = yield_table(call, p, plan, &slice, referred);
        }
        group_table_fini(&slice);
    }
    return err;
}

/* By key: whether the reference has its dictionary. To be freed. Errors: ENOMEM */
static granary_err
dictionaries_refer(const struct group_table *table, const granary_frame *reference, bool **ret_referred)
{
    bool *referred = calloc(table->keys->count + 1, sizeof *referred);

    if (referred == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t k = 0; reference != NULL && k < table->keys->count; k++) {
        const granary_column *key = &table->keys->columns[k].view;
        const granary_column *there = granary_frame_column_named(reference, key->name);

        referred[k] = key->dictionary != NULL && there != NULL && there->dictionary != NULL &&
                      gr_dictionary_equals(key->dictionary, there->dictionary);
    }
    *ret_referred = referred;
    return GRANARY_OK;
}

granary_err
kernel_groupby_map(struct gr_kernel_call *call, const struct gr_chunk_groupby_map *params)
{
    const Granary__Attr *columns = params->columns;
    const char *where = params->where;
    int64_t parts = params->parts;
    size_t first = params->reference;
    const granary_frame **frames = NULL;
    struct group_table table = {0};
    bool *referred = NULL;
    size_t *starts = NULL;
    struct group_plan plan;
    granary_err err = group_plan_init(&params->group, &plan);

    if (err == GRANARY_OK && (parts < 1 || (size_t)parts > call->output_count || call->input_count <= first)) {
        group_plan_fini(&plan);
        err = gr_fail(GRANARY_EINVAL, "%s: %lld parts of %zu inputs for %zu outputs", call->op->op, (long long)parts,
                      call->input_count, call->output_count);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = call_frames_encoded(call, &frames);
    if (err == GRANARY_OK) {
        err = group_map(&plan, frames + first, call->input_count - first, where, columns, (size_t)parts, first > 0,
                        &table, &starts);
    }
    if (err == GRANARY_OK) {
        err = dictionaries_refer(&table, first > 0 ? frames[0] : NULL, &referred);
    }
    if (err == GRANARY_OK) {
        err = parts > 1 ? yield_parts(call, (size_t)parts, starts, &plan, &table, referred)
                        : yield_table(call, 0, &plan, &table, referred);
    }
    group_table_fini(&table);
    free(referred);
    free(starts);
    free(frames);
    group_plan_fini(&plan);
    return err;
}

/* The inputs of a call from that one on, merged; in front of it, a reference. */
static granary_err
inputs_merge(const struct gr_kernel_call *call, size_t first, struct group_plan *plan, struct group_table *ret_table)
{
    struct group_table *tables = calloc(call->input_count + 1, sizeof *tables);
    const granary_frame *reference = NULL;
    size_t count = 0;
    granary_err err = GRANARY_OK;

    if (tables == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %zu partial results", call->input_count);
    }
    if (call->input_count <= first) {
        err = gr_fail(GRANARY_EINVAL, "%s: there is no input", call->op->op);
    } else if (first > 0) {
        err = call_frame_encoded(call, 0, &reference);
    }
    while (count < call->input_count - first && err == GRANARY_OK) {
        const struct gr_value *input = &call->inputs[first + count];

        err = input->kind != GR_VALUE_BYTES
                  ? gr_fail(GRANARY_ETYPE, "%s: input %zu is no partial result of groupby", call->op->op, count)
                  : group_table_read(plan, count == 0, input->bytes, input->bytes_size, reference, &tables[count]);
        count += err == GRANARY_OK;
    }
    if (err == GRANARY_OK && count == 1) { /* its groups are different already */
        *ret_table = tables[0];
        tables[0] = (struct group_table){0};
    } else if (err == GRANARY_OK) {
        err = group_merge(plan, tables, count, ret_table);
    }
    for (size_t t = 0; t < count; t++) {
        group_table_fini(&tables[t]);
    }
    free(tables);
    return err;
}

granary_err
kernel_groupby_merge(struct gr_kernel_call *call, const struct gr_chunk_groupby_merge *params)
{
    struct group_table table;
    struct group_plan plan;
    granary_err err = group_plan_init(&params->group, &plan);

    if (err != GRANARY_OK) {
        return err;
    }
    err = inputs_merge(call, 0, &plan, &table);
    if (err == GRANARY_OK) {
        err = yield_table(call, 0, &plan, &table, NULL);
        group_table_fini(&table);
    }
    group_plan_fini(&plan);
    return err;
}

/* What the frame has must be what its readers were told. */
static granary_err
check_dtypes(const struct gr_kernel_call *call, const granary_frame *frame, const Granary__Attr *dtypes)
{
    granary_err err = GRANARY_OK;

    if (dtypes == NULL) {
        return GRANARY_OK;
    }
    if (dtypes->n_strings != frame->count) {
        return gr_fail(GRANARY_EINVAL, "%s: %zu dtypes for %zu columns", call->op->op, dtypes->n_strings, frame->count);
    }
    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        const granary_column *column = &frame->columns[c].view;

        if (column->dtype != gr_dtype_parse(dtypes->strings[c])) {
            err = gr_fail(
                GRANARY_ETYPE,
                "groupby: column '%.100s' of the partial results is %s, and not %s: they were made of other rows",
                column->name, granary_dtype_name(column->dtype), dtypes->strings[c]);
        }
    }
    return err;
}

granary_err
kernel_groupby_final(struct gr_kernel_call *call, const struct gr_chunk_groupby_final *params)
{
    granary_frame *frame = NULL;
    struct group_table table;
    struct group_plan plan;
    granary_err err = group_plan_init(&params->group, &plan);

    if (err != GRANARY_OK) {
        return err;
    }
    plan.by_hash = !params->sort;
    err = inputs_merge(call, params->reference, &plan, &table);
    if (err == GRANARY_OK) {
        table.ordered = table.ordered || params->any_order;
        err = group_result(&plan, &table, &frame);
        group_table_fini(&table);
    }
    if (err == GRANARY_OK) {
        err = check_dtypes(call, frame, params->dtypes);
    }
    group_plan_fini(&plan);
    return call_yield(call, 0, frame, err);
}
