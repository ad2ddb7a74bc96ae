/*
 * Tables that change: a snapshot for a graph that reads one, and rows appended. Both may be run again: the snapshot is
 * there then, and a write of that token, too.
 */
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
    if (err == GRANARY_OK) {
        const struct call_number numbers[] = {{"rows", rows}, {"time", time}};

        err = call_yield_row(call, 0, "table", params->name, numbers, sizeof numbers / sizeof numbers[0]);
    }
    return err;
}
