/*
 * Tables that change: a snapshot for a graph that reads one, and rows appended. Both may be run again: the snapshot is
 * there then, and a write of that token, too.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph/graph.h"
#include "kernel/core/frame_call.h"
#include "mutable/handles.h"
#include "mutable/source.h"

granary_err
kernel_snapshot(struct gr_kernel_call *call, const struct gr_chunk_snapshot *params)
{
    struct source source = {.name = params->name, .time = params->time};
    granary_id *parts = NULL;
    size_t count = 0;
    granary_err err = granary_id_parse(params->snapshot, strlen(params->snapshot), &source.snapshot);

    if (err == GRANARY_OK && params->version != NULL) {
        err = granary_id_parse(params->version, strlen(params->version), &source.table);
    }
    err = err == GRANARY_OK ? source_parts(call->client, &source, &parts, &count) : err;
    if (err == GRANARY_OK) {
        gr_buf_add(call->answer, parts, count * sizeof *parts);
    }
    free(parts);
    return err;
}

/* One row: table, rows, time. */
static granary_err
appended_row(struct gr_kernel_call *call, const char *name, int64_t rows, int64_t time)
{
    const size_t length = strlen(name);
    granary_frame *frame = gr_frame_create(3, 1);
    struct gr_column column;
    granary_err err = frame == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    err = err == GRANARY_OK ? gr_column_alloc(GRANARY_STRING, 1, (int64_t)length, false, &column) : err;
    if (err == GRANARY_OK) {
        memcpy((char *)(uintptr_t)column.view.values, name, length);
        ((int32_t *)(uintptr_t)column.view.offsets)[1] = (int32_t)length;
        err = gr_frame_set(frame, 0, "table", &column);
    }
    err = err == GRANARY_OK ? gr_column_alloc(GRANARY_INT64, 1, 0, false, &column) : err;
    if (err == GRANARY_OK) {
        *(int64_t *)(uintptr_t)column.view.values = rows;
        err = gr_frame_set(frame, 1, "rows", &column);
    }
    err = err == GRANARY_OK ? gr_column_alloc(GRANARY_INT64, 1, 0, false, &column) : err;
    if (err == GRANARY_OK) {
        *(int64_t *)(uintptr_t)column.view.values = time;
        err = gr_frame_set(frame, 2, "time", &column);
    }
    return call_yield(call, 0, frame, err);
}

granary_err
kernel_append_to(struct gr_kernel_call *call, const struct gr_chunk_append_to *params)
{
    const granary_write_options options = {.token = (uint64_t)params->token};
    const granary_frame **frames;
    granary_mutable *table = NULL;
    int64_t rows = 0, time = 0;
    granary_err err = call_frames_encoded(call, &frames);

    if (err != GRANARY_OK) {
        return err;
    }
    err = handles_take(call->client, params->name, &table);
    err = err == GRANARY_OK ? source_append(table, frames, call->input_count, &options, &time) : err;
    handles_give(table);
    for (size_t i = 0; i < call->input_count; i++) {
        rows += frames[i]->rows;
    }
    free(frames);
    return err == GRANARY_OK ? appended_row(call, params->name, rows, time) : err;
}
