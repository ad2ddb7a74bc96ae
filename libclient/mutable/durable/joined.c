/* Rows of chunks put together. */
#include "mutable/durable/joined.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "data/arrow/arrow.h"

bool
joined_continues(const struct joined *joined, const struct piece_entry *entry)
{
    return !joined_is_empty(joined) && entry->head.at == joined->chunk && entry->head.more <= joined->to &&
           entry->head.more >= joined->from;
}

static bool
columns_fit(const granary_frame *frame, const granary_frame *schema)
{
    bool fit = frame->count == schema->count;

    for (size_t i = 0; fit && i < frame->count; i++) {
        fit = frame->columns[i].view.dtype == schema->columns[i].view.dtype &&
              frame->columns[i].view.dictionary == NULL &&
              strcmp(frame->columns[i].view.name, schema->columns[i].view.name) == 0;
    }
    return fit;
}

/* The rows of an entry as the piece has them. */
static granary_err
rows_read(const struct piece_entry *entry, const granary_frame *schema, granary_frame **ret_frame)
{
    const struct gr_piece_entry *head = &entry->head;
    granary_frame *frame = NULL;
    granary_err err = gr_arrow_read(entry->data, head->data_size, entry->meta, head->meta_size, &frame);

    err = err == GRANARY_OK ? gr_frame_check(frame) : err;
    if (err == GRANARY_OK && (!columns_fit(frame, schema) || (uint64_t)frame->rows != head->count - head->more)) {
        err = gr_fail(GRANARY_ECORRUPT, "it has other rows than it tells of");
    }
    return gr_frame_give(frame, err, ret_frame);
}

granary_err
joined_add(struct joined *joined, const struct piece_entry *entry, const granary_frame *schema)
{
    const uint64_t from = joined_is_empty(joined) ? entry->head.more : joined->to;
    granary_frame *frame = NULL, *rows = NULL;
    granary_err err;

    if (entry->head.count <= from) {
        return GRANARY_OK;
    }
    err = rows_read(entry, schema, &frame);
    if (err == GRANARY_OK && !gr_grow(&joined->frames, &joined->room, joined->count, sizeof(granary_frame *))) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = err == GRANARY_OK
              ? gr_frame_slice(frame, (int64_t)(from - entry->head.more), (int64_t)(entry->head.count - from), &rows)
              : err;
    gr_frame_destroy(frame);
    if (err == GRANARY_OK) {
        joined->from = joined_is_empty(joined) ? from : joined->from;
        joined->chunk = entry->head.at;
        joined->to = entry->head.count;
        joined->frames[joined->count++] = rows;
    }
    return err;
}

granary_err
joined_frame(const struct joined *joined, granary_frame **ret_frame)
{
    return gr_frame_concat((const granary_frame *const *)joined->frames, joined->count, ret_frame);
}

void
joined_clear(struct joined *joined)
{
    for (size_t i = 0; i < joined->count; i++) {
        gr_frame_destroy(joined->frames[i]);
    }
    joined->count = 0;
}

void
joined_free(struct joined *joined)
{
    joined_clear(joined);
    free(joined->frames);
    *joined = (struct joined){.count = 0};
}
