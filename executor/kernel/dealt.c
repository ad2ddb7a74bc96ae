#include "kernel/dealt.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/packed.h"
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

/* *Takes* the frames, of which some may be missing after an error, but for those behind the first `parts`. */
static granary_err
yield_packed(struct gr_kernel_call *call, granary_frame **frames, int64_t parts, size_t more, granary_err err)
{
    void *bytes = NULL;
    uint64_t size = 0;

    if (err == GRANARY_OK && call->output_count != 1) {
        err = gr_fail(GRANARY_EINVAL, "%s: it has one output", call->op->op);
    }
    if (err == GRANARY_OK) {
        err = gr_packed_write((const granary_frame *const *)frames, (size_t)parts + more, &bytes, &size);
    }
    if (err == GRANARY_OK) {
        call->outputs[0] =
            (struct gr_value){.kind = GR_VALUE_BYTES, .bytes = bytes, .bytes_size = size, .owned_bytes = bytes};
    }
    for (int64_t p = 0; frames != NULL && p < parts; p++) {
        gr_frame_destroy(frames[p]);
    }
    free(frames);
    return err;
}

granary_err
dealt_yield_with(struct gr_kernel_call *call, const granary_frame *frame, const uint16_t *part_of, int64_t parts,
                 granary_frame *const *more, size_t more_count)
{
    int64_t *ends = malloc((size_t)(parts + 1) * sizeof *ends);
    granary_frame **frames = calloc((size_t)parts + more_count + 1, sizeof *frames);
    int64_t *indices = NULL;
    granary_err err =
        ends == NULL || frames == NULL ? out_of_memory(call) : dealt_order(part_of, frame->rows, parts, ends, &indices);

    for (int64_t p = 0; p < parts && err == GRANARY_OK; p++) {
        err = gr_frame_take(frame, indices + ends[p], ends[p + 1] - ends[p], &frames[p]);
    }
    if (err == GRANARY_OK && more_count > 0) {
        memcpy(frames + parts, more, more_count * sizeof *more);
    }
    scratch_free(indices);
    free(ends);
    return yield_packed(call, frames, parts, more_count, err);
}

granary_err
dealt_yield(struct gr_kernel_call *call, const granary_frame *frame, const uint16_t *part_of, int64_t parts)
{
    return dealt_yield_with(call, frame, part_of, parts, NULL, 0);
}

granary_err
dealt_yield_stretches(struct gr_kernel_call *call, const granary_frame *frame, const int64_t *starts, int64_t parts)
{
    granary_frame **frames = calloc((size_t)parts + 1, sizeof *frames);
    granary_err err = frames == NULL ? out_of_memory(call) : GRANARY_OK;

    for (int64_t p = 0; p < parts && err == GRANARY_OK; p++) {
        err = gr_frame_slice(frame, starts[p], starts[p + 1] - starts[p], &frames[p]);
    }
    return yield_packed(call, frames, parts, 0, err);
}

granary_err
dealt_join(const struct gr_kernel_call *call, size_t first, granary_frame **ret_frame, int64_t **ret_starts)
{
    size_t count = call->input_count > first ? call->input_count - first : 0;
    const granary_frame **frames = NULL;
    int64_t *starts = calloc(count + 1, sizeof *starts);
    granary_err err = starts == NULL ? out_of_memory(call) : GRANARY_OK;

    if (err == GRANARY_OK && count == 0) {
        err = gr_fail(GRANARY_EINVAL, "%s: it has no part to work on", call->op->op);
    }
    if (err == GRANARY_OK) {
        err = call_frames_encoded(call, &frames);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        starts[i + 1] = starts[i] + frames[first + i]->rows;
    }
    if (err == GRANARY_OK) {
        err = gr_frame_concat(frames + first, count, ret_frame);
    }
    free(frames);
    if (err != GRANARY_OK || ret_starts == NULL) {
        free(starts);
    } else {
        *ret_starts = starts;
    }
    return err;
}
