/*
 * Rows dealt out by counting: how many rows each part has, where each part begins, then every row to its place (a
 * counting sort, stable). Parts are packed as frames into one object.
 */
#include "kernel/core/dealt.h"
#include "contract/int128.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/layout/packed.h"
#include "kernel/core/scratch.h"

granary_err
dealt_parts(int64_t parts)
{
    return parts >= 1 && parts <= DEALT_PARTS_MAX
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "'parts' must be from 1 to %d", DEALT_PARTS_MAX);
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
        call_yield_bytes(call, 0, bytes, size);
    }
    for (int64_t p = 0; frames != NULL && p < parts; p++) {
        gr_frame_destroy(frames[p]);
    }
    free(frames);
    return err;
}

/* A column whose rows can be written one by one where they go: a value has its bytes to itself, and none is missing. */
static bool
scatters(const granary_column *column)
{
    return column->dictionary == NULL && column->null_count == 0 && gr_dtype_size(column->dtype) > 0;
}

#define SCATTER(type)                                                                                                  \
    for (int64_t row = 0; row < column->rows; row++) {                                                                 \
        ((type *)out)[at[part_of[row]]++] = ((const type *)column->values)[row];                                       \
    }                                                                                                                  \
    break

/* Read once from the beginning to the end, written at as many places as there are parts; `at`: where each begins. */
static void
scatter(const granary_column *column, const uint16_t *part_of, int64_t *at, void *out)
{
    switch (gr_dtype_size(column->dtype)) {
    case 1:
        SCATTER(uint8_t);
    case 2:
        SCATTER(uint16_t);
    case 4:
        SCATTER(uint32_t);
    case 8:
        SCATTER(uint64_t);
    default:
        SCATTER(gr_uint128);
    }
}

/* Where the rows of each part begin, and the end. */
static void
count_rows(const uint16_t *part_of, int64_t rows, int64_t parts, int64_t *starts)
{
    memset(starts, 0, (size_t)(parts + 1) * sizeof *starts);
    for (int64_t row = 0; row < rows; row++) {
        starts[part_of[row] + 1]++;
    }
    for (int64_t p = 0; p < parts; p++) {
        starts[p + 1] += starts[p];
    }
}

/* A frame at work: its columns with the rows part after part, where they scatter. */
struct dealing {
    const granary_frame *frame;
    int64_t parts;
    int64_t *starts;
    int64_t *at;
    int64_t *indices; /* of the rows, part after part; NULL when no column needs them */
    char **scattered; /* by column; kept memory, or NULL */
};

static granary_err
dealing_start(const struct gr_kernel_call *call, const uint16_t *part_of, struct dealing *d)
{
    const granary_frame *frame = d->frame;
    bool all = true;
    granary_err err = GRANARY_OK;

    d->starts = malloc((size_t)(d->parts + 1) * sizeof *d->starts);
    d->at = malloc((size_t)(d->parts + 1) * sizeof *d->at);
    d->scattered = calloc(frame->count + 1, sizeof *d->scattered);
    if (d->starts == NULL || d->at == NULL || d->scattered == NULL) {
        return gr_no_memory(call->op->op);
    }
    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        const granary_column *column = &frame->columns[c].view;

        if (!scatters(column)) {
            all = false;
            continue;
        }
        d->scattered[c] = scratch_alloc((size_t)frame->rows * gr_dtype_size(column->dtype) + 1);
        err = d->scattered[c] == NULL ? gr_no_memory(call->op->op) : GRANARY_OK;
    }
    if (err == GRANARY_OK && !all) {
        err = dealt_order(part_of, frame->rows, d->parts, d->starts, &d->indices);
    }
    if (err == GRANARY_OK) {
        count_rows(part_of, frame->rows, d->parts, d->starts);
    }
    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        if (d->scattered[c] != NULL) {
            memcpy(d->at, d->starts, (size_t)(d->parts + 1) * sizeof *d->at);
            scatter(&frame->columns[c].view, part_of, d->at, d->scattered[c]);
        }
    }
    return err;
}

static void
dealing_end(struct dealing *d)
{
    for (size_t c = 0; d->scattered != NULL && c < d->frame->count; c++) {
        scratch_free(d->scattered[c]);
    }
    scratch_free(d->indices);
    free(d->scattered);
    free(d->at);
    free(d->starts);
}

/* The rows of a part; what was scattered is borrowed. */
static granary_err
dealing_part(const struct dealing *d, int64_t part, granary_frame **ret_frame)
{
    int64_t from = d->starts[part];
    int64_t rows = d->starts[part + 1] - from;
    granary_frame *frame = gr_frame_create(d->frame->count, rows);
    granary_err err = GRANARY_OK;

    for (size_t c = 0; c < d->frame->count && err == GRANARY_OK; c++) {
        granary_column view = d->frame->columns[c].view;

        if (d->scattered[c] != NULL) {
            view.rows = rows;
            view.values = d->scattered[c] + (size_t)from * gr_dtype_size(view.dtype);
            view.validity = NULL;
            err = gr_frame_set_borrowed(frame, c, view.name, &view);
        } else {
            struct gr_column column;

            err = gr_column_take(&view, d->indices + from, rows, &column);
            err = err == GRANARY_OK ? gr_frame_set(frame, c, view.name, &column) : err;
        }
    }
    return gr_frame_give(frame, err, ret_frame);
}

granary_err
dealt_yield_with(struct gr_kernel_call *call, const granary_frame *frame, const uint16_t *part_of, int64_t parts,
                 granary_frame *const *more, size_t more_count)
{
    granary_frame **frames = calloc((size_t)parts + more_count + 1, sizeof *frames);
    struct dealing dealing = {.frame = frame, .parts = parts};
    granary_err err = frames == NULL ? gr_no_memory(call->op->op) : dealing_start(call, part_of, &dealing);

    for (int64_t p = 0; p < parts && err == GRANARY_OK; p++) {
        err = dealing_part(&dealing, p, &frames[p]);
    }
    if (err == GRANARY_OK && more_count > 0) {
        memcpy(frames + parts, more, more_count * sizeof *more);
    }
    err = yield_packed(call, frames, parts, more_count, err);
    dealing_end(&dealing);
    return err;
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
    granary_err err = frames == NULL ? gr_no_memory(call->op->op) : GRANARY_OK;

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
    granary_err err = starts == NULL ? gr_no_memory(call->op->op) : GRANARY_OK;

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
