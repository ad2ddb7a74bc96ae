/* Messages of an Arrow file, and the columns of a batch one after the other: where their buffers are. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/arrow/read.h"
#include "data/value/bits.h"

/* A batch of nulls alone has any length; this keeps sums of lengths far from overflow. */
#define ROWS_MAX ((int64_t)1 << 40)

granary_err
arrow_fail_at(uint64_t at, const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "Arrow file: %s at byte %llu", what, (unsigned long long)at);
}

granary_err
arrow_fail_flat(const struct flat_in *in, uint64_t at)
{
    return arrow_fail_at(at + in->bad_at, "damaged metadata");
}

granary_err
arrow_fetch(const struct arrow_in *file, uint64_t at, uint64_t size)
{
    granary_err err = file->fd < 0 || size == 0
                          ? GRANARY_OK
                          : gr_pread_all(file->fd, (uint8_t *)(uintptr_t)file->bytes + at, size, (int64_t)at);

    return err == GRANARY_OK ? err : gr_fail_in(err, "Arrow file: byte %llu", (unsigned long long)at);
}

granary_err
arrow_message_open(struct arrow_in *file, const struct arrow_block *block, struct arrow_message *message)
{
    uint64_t offset = (uint64_t)block->offset;
    uint64_t length = (uint64_t)block->metadata_length;
    uint64_t prefix = 4;
    struct flat_table root;
    uint32_t first;
    granary_err err;

    if (block->offset < 0 || block->metadata_length < 8 || block->body_length < 0 || offset > file->size ||
        length > file->size - offset || (uint64_t)block->body_length > file->size - offset - length) {
        return arrow_fail_at(offset, "a block that is not within the file, said to be");
    }
    if (length + (uint64_t)block->body_length > file->budget) {
        return arrow_fail_at(offset, "blocks that overlap");
    }
    file->budget -= length + (uint64_t)block->body_length;
    err = arrow_fetch(file, offset, length);
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(&first, file->bytes + offset, sizeof first);
    prefix = first == ARROW_CONTINUATION ? 8 : 4; /* files from before Arrow 0.15 have no continuation mark */
    *message = (struct arrow_message){.in = {.bytes = file->bytes + offset + prefix, .size = length - prefix},
                                      .at = offset + prefix,
                                      .body = file->bytes + offset + length,
                                      .body_size = (uint64_t)block->body_length};
    root = flat_root(&message->in);
    message->kind = (enum arrow_header)flat_uint(&message->in, root, MESSAGE_HEADER_TYPE, 1, 0);
    message->header = flat_table(&message->in, root, MESSAGE_HEADER);
    if (message->in.bad || message->header.at == 0) {
        return arrow_fail_flat(&message->in, message->at);
    }
    return GRANARY_OK;
}

granary_err
arrow_cursor_open(const struct arrow_in *file, struct arrow_message *message, struct flat_table batch,
                  struct arrow_cursor *cursor, int64_t *ret_rows)
{
    struct flat_in *in = &message->in;

    struct flat_table compression = flat_table(in, batch, BATCH_COMPRESSION);
    bool compressed = compression.at != 0;

    uint64_t codec = flat_uint(in, compression, COMPRESSION_CODEC, 1, CODEC_LZ4_FRAME);

    if (compressed && (codec > CODEC_ZSTD || flat_uint(in, compression, COMPRESSION_METHOD, 1, 0) != 0)) {
        return gr_fail(GRANARY_EUNSUPPORTED,
                       "Arrow file: its record batches are compressed with a method that is not known; write it with "
                       "LZ4 or zstd, or without compression");
    }
    *cursor = (struct arrow_cursor){.file = file,
                                    .message = message,
                                    .compressed = compressed,
                                    .codec = (enum compression_codec)codec,
                                    .nodes = flat_vector(in, batch, BATCH_NODES, sizeof(struct arrow_node)),
                                    .buffers = flat_vector(in, batch, BATCH_BUFFERS, sizeof(struct arrow_buffer)),
                                    .variadic = flat_vector(in, batch, BATCH_VARIADIC, sizeof(int64_t)),
                                    .budget = message->body_size};
    *ret_rows = (int64_t)flat_uint(in, batch, BATCH_LENGTH, 8, 0);
    if (in->bad || *ret_rows < 0 || *ret_rows > ROWS_MAX) {
        return arrow_fail_flat(in, message->at);
    }
    return GRANARY_OK;
}

void
arrow_cursor_close(struct arrow_cursor *cursor)
{
    arrow_inflated_free(&cursor->inflated);
    free(cursor->parts);
    free(cursor->combined);
    cursor->parts = NULL;
    cursor->combined = NULL;
}

static granary_err
next_buffer(struct arrow_cursor *cursor, bool fetch, const uint8_t **ret_bytes, uint64_t *ret_size)
{
    struct arrow_message *message = cursor->message;
    struct arrow_buffer buffer;
    uint64_t offset;
    uint64_t length;
    granary_err err;

    if (cursor->buffer >= cursor->buffers.count) {
        return arrow_fail_at(message->at, "a batch with too few buffers");
    }
    memcpy(&buffer, message->in.bytes + cursor->buffers.at + cursor->buffer * sizeof buffer, sizeof buffer);
    cursor->buffer++;
    offset = (uint64_t)buffer.offset;
    length = (uint64_t)buffer.length;
    if (buffer.offset < 0 || buffer.length < 0 || offset > message->body_size || length > message->body_size - offset ||
        length > cursor->budget) {
        return arrow_fail_at(message->at, "a batch whose buffers are not within it");
    }
    cursor->budget -= length;
    *ret_bytes = message->body + offset;
    *ret_size = length;
    if (!fetch) {
        return GRANARY_OK;
    }
    err = arrow_fetch(cursor->file, (uint64_t)(message->body - cursor->file->bytes) + offset, length);
    if (err == GRANARY_OK && cursor->compressed) {
        err = arrow_inflate(&cursor->inflated, cursor->codec, ret_bytes, ret_size);
        err = err == GRANARY_OK ? err
                                : gr_fail_in(err, "Arrow file: buffer %zu of the batch at byte %llu",
                                             cursor->buffer - 1, (unsigned long long)message->at);
    }
    return err;
}

/* The text of a column of views: as many buffers as the batch says. */
static granary_err
next_parts(struct arrow_cursor *cursor, bool fetch, struct arrow_piece *piece)
{
    const struct arrow_message *message = cursor->message;
    int64_t count;
    granary_err err = GRANARY_OK;

    if (cursor->views >= cursor->variadic.count) {
        return arrow_fail_at(message->at, "a batch with too few counts of buffers");
    }
    memcpy(&count, message->in.bytes + cursor->variadic.at + cursor->views++ * sizeof count, sizeof count);
    if (count < 0 || (uint64_t)count > cursor->buffers.count - cursor->buffer) {
        return arrow_fail_at(message->at, "a batch with too few buffers");
    }
    free(cursor->parts);
    cursor->parts = calloc((size_t)count + 1, sizeof *cursor->parts);
    if (cursor->parts == NULL) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    for (int64_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = next_buffer(cursor, fetch, &cursor->parts[i].bytes, &cursor->parts[i].size);
    }
    piece->parts = cursor->parts;
    piece->part_count = (size_t)count;
    return err;
}

/* A column that is not read, with all columns in it. */
static granary_err
pass_over(struct arrow_cursor *cursor, const struct arrow_field *field)
{
    const struct arrow_message *message = cursor->message;
    uint64_t buffers = field->buffers;

    if (field->nodes > cursor->nodes.count - cursor->node) {
        return arrow_fail_at(message->at, "a batch with too few columns");
    }
    if (field->views > cursor->variadic.count - cursor->views) {
        return arrow_fail_at(message->at, "a batch with too few counts of buffers");
    }
    for (uint64_t i = 0; i < field->views; i++) {
        int64_t count;

        memcpy(&count, message->in.bytes + cursor->variadic.at + cursor->views++ * sizeof count, sizeof count);
        if (count < 0 || (uint64_t)count > cursor->buffers.count) {
            return arrow_fail_at(message->at, "a batch with too few buffers");
        }
        buffers += (uint64_t)count;
    }
    if (buffers > cursor->buffers.count - cursor->buffer) {
        return arrow_fail_at(message->at, "a batch with too few buffers");
    }
    cursor->node += field->nodes;
    cursor->buffer += buffers;
    return GRANARY_OK;
}

static granary_err
next_node(struct arrow_cursor *cursor, struct arrow_node *ret_node)
{
    if (cursor->node >= cursor->nodes.count) {
        return arrow_fail_at(cursor->message->at, "a batch with too few columns");
    }
    memcpy(ret_node, cursor->message->in.bytes + cursor->nodes.at + cursor->node * sizeof *ret_node, sizeof *ret_node);
    cursor->node++;
    return GRANARY_OK;
}

/* The ends of runs. */
static granary_err
next_ends(struct arrow_cursor *cursor, bool fetch, struct arrow_piece *piece)
{
    struct arrow_node node;
    const uint8_t *validity;
    uint64_t validity_size;
    granary_err err = next_node(cursor, &node);

    if (err == GRANARY_OK && (node.length < 0 || node.length > piece->rows || node.null_count != 0)) {
        err = arrow_fail_at(cursor->message->at, "more runs than rows");
    }
    if (err == GRANARY_OK) {
        err = next_buffer(cursor, false, &validity, &validity_size);
    }
    return err == GRANARY_OK ? next_buffer(cursor, fetch, &piece->values, &piece->values_size) : err;
}

/* rows -1: as many as it says. */
static granary_err
next_piece(struct arrow_cursor *cursor, const struct arrow_field *field, bool is_index, bool fetch, int64_t rows,
           struct arrow_piece *ret_piece)
{
    bool is_list = !is_index && arrow_is_list(field->layout);
    bool offsets = !is_index && (field->layout == LAYOUT_TEXT || field->layout == LAYOUT_LARGE_TEXT ||
                                 (is_list && field->layout != LAYOUT_FIXED_LIST));
    bool values = !is_list || field->layout == LAYOUT_LIST_VIEW || field->layout == LAYOUT_LARGE_LIST_VIEW; /* sizes */
    struct arrow_piece piece = {.rows = rows};
    struct arrow_node node;
    granary_err err = GRANARY_OK;

    err = next_node(cursor, &node);
    if (err != GRANARY_OK) {
        return err;
    }
    piece.rows = rows < 0 ? node.length : rows;
    if (node.length != piece.rows || node.length < 0 || node.length > ROWS_MAX || node.null_count < 0 ||
        node.null_count > piece.rows) {
        return arrow_fail_at(cursor->message->at, "a column of another length than its batch");
    }
    piece.null_count = node.null_count;
    if (!is_index && field->layout == LAYOUT_RUNS) {
        err = next_ends(cursor, fetch, &piece);
    } else if (is_index || field->layout != LAYOUT_NULL) {
        err = next_buffer(cursor, fetch, &piece.validity, &piece.validity_size);
        if (err == GRANARY_OK && offsets) {
            err = next_buffer(cursor, fetch, &piece.offsets, &piece.offsets_size);
        }
        if (err == GRANARY_OK && values) {
            err = next_buffer(cursor, fetch, &piece.values, &piece.values_size);
        }
        if (err == GRANARY_OK && !is_index && field->layout == LAYOUT_TEXT_VIEWS) {
            err = next_parts(cursor, fetch, &piece);
        }
    }
    *ret_piece = piece;
    return err;
}

/* A struct whose fields follow. */
static granary_err
next_struct(struct arrow_cursor *cursor, int64_t rows, const uint8_t **ret_validity)
{
    struct arrow_node node;
    const uint8_t *validity = NULL;
    uint64_t size = 0;
    granary_err err = next_node(cursor, &node);

    if (err == GRANARY_OK && (node.length != rows || node.null_count < 0 || node.null_count > rows)) {
        err = arrow_fail_at(cursor->message->at, "a column of another length than its batch");
    }
    if (err == GRANARY_OK) {
        err = next_buffer(cursor, true, &validity, &size);
    }
    if (err == GRANARY_OK && node.null_count > 0 && size < (uint64_t)gr_bitmap_bytes(rows)) {
        err = arrow_fail_at(cursor->message->at, "a struct whose validity buffer is too short");
    }
    *ret_validity = err == GRANARY_OK && node.null_count > 0 ? validity : NULL;
    return err;
}

/* What is in a struct that is null is null. */
static granary_err
leave_out_structs(struct arrow_cursor *cursor, const struct arrow_field *field, struct arrow_piece *piece)
{
    size_t size = (size_t)gr_bitmap_bytes(piece->rows);
    bool any = false;

    for (size_t d = 0; d < field->depth; d++) {
        any = any || cursor->structs[d] != NULL;
    }
    if (!any || size == 0 || (field->layout == LAYOUT_NULL && !field->dictionary)) {
        return GRANARY_OK;
    }
    if (piece->null_count > 0 && piece->validity_size < size) {
        return gr_fail(GRANARY_ECORRUPT, "column '%s': its validity buffer is too short", field->name);
    }
    free(cursor->combined);
    cursor->combined = malloc(size);
    if (cursor->combined == NULL) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    if (piece->null_count > 0) {
        memcpy(cursor->combined, piece->validity, size);
    } else {
        memset(cursor->combined, 0xff, size);
    }
    for (size_t d = 0; d < field->depth; d++) {
        for (size_t i = 0; cursor->structs[d] != NULL && i < size; i++) {
            cursor->combined[i] &= cursor->structs[d][i];
        }
    }
    piece->validity = cursor->combined;
    piece->validity_size = size;
    piece->null_count = piece->rows - bits_count(cursor->combined, piece->rows);
    return GRANARY_OK;
}

granary_err
arrow_next_piece(struct arrow_cursor *cursor, const struct arrow_field *field, bool is_index, bool fetch, int64_t rows,
                 struct arrow_piece *ret_piece)
{
    granary_err err = GRANARY_OK;

    for (size_t i = field->opens; i > 0 && err == GRANARY_OK; i--) {
        err = next_struct(cursor, rows, &cursor->structs[field->depth - i]);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (field->layout == LAYOUT_OTHER) {
        return pass_over(cursor, field);
    }
    err = next_piece(cursor, field, is_index, fetch, rows, ret_piece);
    if (err == GRANARY_OK && fetch) {
        err = leave_out_structs(cursor, field, ret_piece);
    }
    if (err == GRANARY_OK && !is_index && (arrow_is_list(field->layout) || field->layout == LAYOUT_RUNS)) {
        err = next_piece(cursor, field->item, false, fetch, -1, &cursor->items);
        ret_piece->items = &cursor->items;
    }
    return err;
}
