#include "kernel/dealt.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/scratch.h"

static granary_err
out_of_memory(const struct gr_kernel_call *call)
{
    return gr_fail(GRANARY_ENOMEM, "%s: out of memory", call->op->op);
}

granary_err
dealt_parts(const struct gr_kernel_call *call, int64_t *ret_parts)
{
    int64_t parts = gr_attr_int(call->op->attrs, call->op->n_attrs, "parts", 0);

    if (parts < 1 || parts > DEALT_PARTS_MAX) {
        return gr_fail(GRANARY_EINVAL, "%s: 'parts' must be from 1 to %d", call->op->op, DEALT_PARTS_MAX);
    }
    *ret_parts = parts;
    return GRANARY_OK;
}

granary_err
dealt_order(const uint16_t *part_of, int64_t rows, int64_t parts, int64_t *ends, int64_t **ret_indices)
{
    int64_t *indices = scratch_alloc((size_t)(rows + 1) * sizeof *indices);
    int64_t at = 0;

    if (indices == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory for %lld rows", (long long)rows);
    }
    memset(ends, 0, (size_t)(parts + 1) * sizeof *ends);
    for (int64_t row = 0; row < rows; row++) {
        ends[part_of[row] + 1]++;
    }
    for (int64_t p = 1; p <= parts; p++) {
        int64_t many = ends[p];

        ends[p] = at; /* the beginning, until rows were put there */
        at += many;
    }
    for (int64_t row = 0; row < rows; row++) {
        indices[ends[part_of[row] + 1]++] = row;
    }
    *ret_indices = indices;
    return GRANARY_OK;
}

granary_err
dealt_yield_positions(struct gr_kernel_call *call, size_t i, int64_t *positions, size_t count)
{
    if (i >= call->output_count) {
        free(positions);
        return gr_fail(GRANARY_EINVAL, "%s: output %zu is missing", call->op->op, i);
    }
    call->outputs[i] = (struct gr_value){
        .kind = GR_VALUE_BYTES, .bytes = positions, .bytes_size = count * sizeof *positions, .owned_bytes = positions};
    return GRANARY_OK;
}

granary_err
dealt_yield(struct gr_kernel_call *call, const granary_frame *frame, const uint16_t *part_of, int64_t parts)
{
    int64_t *ends = gr_data_alloc((size_t)(parts + 1) * sizeof *ends);
    int64_t *indices = NULL;
    granary_frame *dealt = NULL;
    granary_err err = ends == NULL ? out_of_memory(call) : dealt_order(part_of, frame->rows, parts, ends, &indices);

    if (err == GRANARY_OK) {
        err = gr_frame_take(frame, indices, frame->rows, &dealt);
    }
    scratch_free(indices);
    if (err == GRANARY_OK) {
        err = call_yield(call, 0, dealt);
    }
    if (err != GRANARY_OK) {
        free(ends);
        return err;
    }
    return dealt_yield_positions(call, 1, ends, (size_t)parts + 1);
}

/* ---- a part of all ---- */

/* Part `part` of a frame of so many rows: from which row to which. */
static granary_err
part_bounds(const struct gr_kernel_call *call, size_t i, int64_t part, int64_t rows, int64_t *ret_from, int64_t *ret_to)
{
    const struct gr_value *value = &call->inputs[i];
    const int64_t *ends = value->bytes;

    if (value->kind != GR_VALUE_BYTES) {
        return gr_fail(GRANARY_ETYPE, "%s: input %zu is no list of positions", call->op->op, i);
    }
    if (part < 0 || (uint64_t)part >= value->bytes_size / sizeof *ends ||
        (uint64_t)part + 1 >= value->bytes_size / sizeof *ends || ends[part] < 0 || ends[part] > ends[part + 1] ||
        ends[part + 1] > rows) {
        return gr_fail(GRANARY_EINVAL, "%s: part %lld of input %zu lies outside", call->op->op, (long long)part, i - 1);
    }
    *ret_from = ends[part];
    *ret_to = ends[part + 1];
    return GRANARY_OK;
}

/* Column c of all pieces; runs say which rows. */
static granary_err
column_joined(const struct gr_kernel_call *call, const granary_frame **frames, size_t count, size_t c,
              struct gr_run *runs, struct gr_column *ret_column)
{
    const granary_column *first = &frames[0]->columns[c].view;
    granary_dtype dtype = first->dtype;

    for (size_t i = 0; i < count; i++) {
        const granary_column *column = c < frames[i]->count ? &frames[i]->columns[c].view : NULL;

        if (column == NULL || strcmp(column->name, first->name) != 0 ||
            (column->dtype != dtype && column->dtype != GRANARY_NULLTYPE && dtype != GRANARY_NULLTYPE)) {
            return gr_fail(GRANARY_ETYPE, "%s: column '%s' is not the same in all pieces", call->op->op, first->name);
        }
        dtype = dtype == GRANARY_NULLTYPE ? column->dtype : dtype;
        runs[i].column = column;
    }
    return gr_column_concat(runs, count, dtype, ret_column);
}

granary_err
dealt_join(const struct gr_kernel_call *call, size_t first, int64_t part, granary_frame **ret_frame,
           int64_t **ret_starts)
{
    size_t count = call->input_count > first ? (call->input_count - first) / 2 : 0;
    const granary_frame **frames = calloc(count + 1, sizeof *frames);
    struct gr_run *runs = calloc(count + 1, sizeof *runs);
    int64_t *starts = gr_data_alloc((count + 1) * sizeof *starts);
    granary_frame *joined = NULL;
    granary_err err = frames == NULL || runs == NULL || starts == NULL ? out_of_memory(call) : GRANARY_OK;

    if (err == GRANARY_OK && (count == 0 || call->input_count != first + 2 * count)) {
        err = gr_fail(GRANARY_EINVAL, "%s: it takes pairs of inputs, a frame and its positions", call->op->op);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        int64_t from;
        int64_t to;

        err = call_frame_encoded(call, first + 2 * i, &frames[i]);
        if (err == GRANARY_OK) {
            err = part_bounds(call, first + 2 * i + 1, part, frames[i]->rows, &from, &to);
        }
        if (err == GRANARY_OK) {
            runs[i] = (struct gr_run){.from = from, .rows = to - from};
            starts[i + 1] = starts[i] + to - from;
        }
    }
    if (err == GRANARY_OK && (joined = gr_frame_create(frames[0]->count, starts[count])) == NULL) {
        err = out_of_memory(call);
    }
    for (size_t c = 0; err == GRANARY_OK && c < joined->count; c++) {
        struct gr_column column;

        err = column_joined(call, frames, count, c, runs, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(joined, c, frames[0]->columns[c].view.name, &column);
        }
    }
    free(frames);
    free(runs);
    if (err != GRANARY_OK || ret_starts == NULL) {
        free(starts);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(joined);
        return err;
    }
    if (ret_starts != NULL) {
        *ret_starts = starts;
    }
    *ret_frame = joined;
    return GRANARY_OK;
}
