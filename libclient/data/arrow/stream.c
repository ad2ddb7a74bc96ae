/* Arrow files of several batches. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/arrow/layout.h"

struct gr_arrow_stream {
    gr_arrow_put *put;
    void *to;
    granary_frame *empty; /* the columns, without rows */
    struct arrow_block *blocks;
    size_t count;
    size_t room;
    uint64_t at; /* bytes that were put */
};

granary_err
gr_arrow_stream_create(gr_arrow_put *put, void *to, struct gr_arrow_stream **ret_stream)
{
    struct gr_arrow_stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    stream->put = put;
    stream->to = to;
    *ret_stream = stream;
    return GRANARY_OK;
}

void
gr_arrow_stream_destroy(struct gr_arrow_stream *stream)
{
    if (stream != NULL) {
        gr_frame_destroy(stream->empty);
        free(stream->blocks);
        free(stream);
    }
}

static granary_err
stream_put(struct gr_arrow_stream *stream, const void *bytes, uint64_t size)
{
    stream->at += size;
    return stream->put(stream->to, bytes, size);
}

static granary_err
check_columns(const granary_frame *first, const granary_frame *frame)
{
    bool same = first->count == frame->count;

    for (size_t i = 0; same && i < frame->count; i++) {
        const granary_column *a = &first->columns[i].view;
        const granary_column *b = &frame->columns[i].view;

        same = strcmp(a->name, b->name) == 0 && a->dtype == b->dtype && b->dictionary == NULL;
    }
    return same ? GRANARY_OK
                : gr_fail(GRANARY_ETYPE, "Arrow file: its record batches must have the same plain columns");
}

static granary_err
note_block(struct gr_arrow_stream *stream, struct arrow_block block)
{
    if (stream->count == stream->room) {
        size_t room = stream->room == 0 ? 16 : 2 * stream->room;
        struct arrow_block *grown = realloc(stream->blocks, room * sizeof *grown);

        if (grown == NULL) {
            return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
        }
        stream->blocks = grown;
        stream->room = room;
    }
    stream->blocks[stream->count++] = block;
    return GRANARY_OK;
}

/* The frame as a file of its own, of which the batch goes into this one. */
granary_err
gr_arrow_stream_add(struct gr_arrow_stream *stream, const granary_frame *frame)
{
    struct arrow_plan plan = arrow_plan_file(frame);
    struct arrow_block block = arrow_batch_block(&plan);
    uint64_t from = stream->count == 0 ? 0 : plan.batch; /* with what stands before the first one */
    uint64_t data_size, meta_size;
    char *data = NULL;
    granary_err err = gr_arrow_measure(frame, &data_size, &meta_size);

    if (err == GRANARY_OK && stream->empty == NULL) {
        err = gr_frame_slice(frame, 0, 0, &stream->empty);
    }
    if (err == GRANARY_OK) {
        err = check_columns(stream->empty, frame);
    }
    if (err == GRANARY_OK && (data = gr_data_alloc(data_size + meta_size)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory for %lld rows", (long long)frame->rows);
    }
    if (err == GRANARY_OK) {
        block.offset = (int64_t)(stream->at + plan.batch - from);
        err = note_block(stream, block);
    }
    if (err == GRANARY_OK) {
        gr_arrow_write(frame, data, data + data_size);
        err = stream_put(stream, data + from, plan.end - from);
    }
    free(data);
    return err;
}

granary_err
gr_arrow_stream_finish(struct gr_arrow_stream *stream)
{
    static const uint32_t end[2] = {ARROW_CONTINUATION, 0};
    struct arrow_plan plan = {.schema = 8};
    struct flat_out footer = {0};
    uint32_t size;
    granary_err err;

    arrow_put_footer(&footer, stream->empty, &plan, stream->blocks, stream->count);
    size = (uint32_t)footer.size;
    footer = (struct flat_out){.bytes = gr_data_alloc(size + sizeof size + ARROW_MAGIC_SIZE)};
    if (footer.bytes == NULL) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    arrow_put_footer(&footer, stream->empty, &plan, stream->blocks, stream->count);
    memcpy(footer.bytes + size, &size, sizeof size);
    memcpy(footer.bytes + size + sizeof size, ARROW_MAGIC, ARROW_MAGIC_SIZE);
    err = stream_put(stream, end, sizeof end);
    if (err == GRANARY_OK) {
        err = stream_put(stream, footer.bytes, size + sizeof size + ARROW_MAGIC_SIZE);
    }
    free(footer.bytes);
    return err;
}
