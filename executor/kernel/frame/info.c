/* info: what values are, for the planner. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/layout/directory.h"
#include "kernel/core/call.h"

static uint64_t
column_bytes(const granary_column *column)
{
    uint64_t rows = (uint64_t)column->rows;
    uint64_t bytes = column->validity != NULL ? rows / 8 : 0;

    if (column->dictionary != NULL) {
        return bytes + 4 * rows + column_bytes(column->dictionary);
    }
    if (gr_dtype_is_text(column->dtype)) {
        return bytes + 4 * rows + (column->offsets != NULL && rows > 0 ? (uint64_t)column->offsets[rows] : 0);
    }
    return bytes + (column->dtype == GRANARY_BOOL ? rows / 8 : rows * gr_dtype_size(column->dtype));
}

/* The directory of a frame that has none yet: what is asked for was mostly made a moment ago, and lies in caches. */
static void *
directory_of(const granary_frame *frame)
{
    static const struct gr_directory_column nowhere;
    void *meta = malloc(gr_directory_size(frame));

    if (meta != NULL) {
        gr_directory_begin(frame, 0, meta);
    }
    for (size_t c = 0; meta != NULL && c < frame->count; c++) {
        gr_directory_put(frame, c, &nowhere, true, meta);
    }
    return meta;
}

static granary_err
column_info(const granary_column *column, const struct gr_column_stats *stats, Granary__ColumnInfo **ret_info)
{
    Granary__ColumnInfo *info = malloc(sizeof *info);

    if (info == NULL) {
        return gr_no_memory("an answer");
    }
    granary__column_info__init(info);
    *ret_info = info;
    info->name = strdup(column->name);
    info->dtype = (uint32_t)column->dtype;
    info->nulls = stats->nulls;
    info->distinct = (uint64_t)stats->distinct;
    info->bytes = stats->bytes > 0 ? stats->bytes : column_bytes(column);
    info->zone = stats->has_zone;
    info->nan = stats->has_nan;
    memcpy(&info->min, &stats->min, sizeof info->min);
    memcpy(&info->max, &stats->max, sizeof info->max);
    return info->name == NULL ? gr_no_memory("an answer") : GRANARY_OK;
}

/* Find out what is known of the columns, so that who writes the frame need not do it again. */
static granary_err
learn_stats(granary_frame *frame)
{
    void *meta = directory_of(frame);

    frame->stats = meta == NULL ? NULL : calloc(frame->count + 1, sizeof *frame->stats);
    for (size_t c = 0; frame->stats != NULL && c < frame->count; c++) {
        struct gr_directory_column entry;

        gr_directory_get(meta, c, &entry);
        frame->stats[c] = gr_directory_stats(&entry);
    }
    free(meta);
    return frame->stats == NULL ? gr_no_memory("an answer") : GRANARY_OK;
}

static granary_err
frame_info(granary_frame *frame, Granary__FrameInfo *info)
{
    granary_err err = frame->count == 0 || frame->stats != NULL ? GRANARY_OK : learn_stats(frame);

    info->rows = frame->rows;
    info->columns = calloc(frame->count + 1, sizeof(Granary__ColumnInfo *));
    if (err == GRANARY_OK && info->columns == NULL) {
        err = gr_no_memory("an answer");
    }
    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        err = column_info(&frame->columns[c].view, &frame->stats[c], &info->columns[c]);
        info->n_columns += info->columns[c] != NULL;
        info->bytes += err == GRANARY_OK ? info->columns[c]->bytes : 0;
    }
    return err;
}

static granary_err
tensor_info(const granary_tensor *tensor, Granary__FrameInfo *info)
{
    info->is_tensor = true;
    info->rows = -1;
    info->dtype = (uint32_t)tensor->dtype;
    info->bytes = gr_dtype_size(tensor->dtype);
    info->shape = malloc(((size_t)tensor->dims + 1) * sizeof *info->shape);
    if (info->shape == NULL) {
        return gr_no_memory("an answer");
    }
    for (int d = 0; d < tensor->dims; d++) {
        info->shape[info->n_shape++] = tensor->shape[d];
        info->bytes *= (uint64_t)tensor->shape[d];
    }
    return GRANARY_OK;
}

static granary_err
value_info(const struct gr_value *value, Granary__FrameInfo **ret_info)
{
    Granary__FrameInfo *info = malloc(sizeof *info);

    if (info == NULL) {
        return gr_no_memory("an answer");
    }
    granary__frame_info__init(info);
    *ret_info = info;
    switch (value->kind) {
    case GR_VALUE_FRAME:
        return frame_info(value->frame, info);
    case GR_VALUE_TENSOR:
        return tensor_info(&value->tensor.view, info);
    default:
        info->rows = -1;
        info->bytes = value->bytes_size;
        return GRANARY_OK;
    }
}

granary_err
kernel_info(struct gr_kernel_call *call, const struct gr_chunk_info *params)
{
    bool check = params->check;
    Granary__FrameInfos *infos = malloc(sizeof *infos);
    granary_err err = infos == NULL ? gr_no_memory("an answer") : GRANARY_OK;
    void *packed;

    if (err != GRANARY_OK) {
        return err;
    }
    granary__frame_infos__init(infos);
    infos->frames = calloc(call->input_count + 1, sizeof(Granary__FrameInfo *));
    for (size_t i = 0; err == GRANARY_OK && i < call->input_count; i++) {
        if (check && call->inputs[i].kind == GR_VALUE_FRAME) {
            err = gr_frame_check(call->inputs[i].frame);
        }
        if (err == GRANARY_OK) {
            err = infos->frames == NULL ? gr_no_memory("an answer") : value_info(&call->inputs[i], &infos->frames[i]);
        }
        infos->n_frames += infos->frames != NULL && infos->frames[i] != NULL;
    }
    if (err == GRANARY_OK) {
        packed = gr_buf_grow(call->answer, granary__frame_infos__get_packed_size(infos));
        if (packed == NULL) {
            err = gr_no_memory("an answer");
        } else {
            (void)granary__frame_infos__pack(infos, packed);
        }
    }
    granary__frame_infos__free_unpacked(infos, NULL);
    return err;
}
