/*
 * Arrow IPC files read: footer, schema, dictionaries, record batches. Everything in the file is hostile until it was
 * checked: Flatbuffers by flat.c, blocks and buffers here, values in arrow_decode.c. What is made of a file is bounded
 * by the file's size, but for dictionary-encoded text, which 2 GiB a column bound.
 */
#include "data/arrow_read.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/arrow.h"
#include "data/directory.h"
#include "data/flat.h"

/* A batch of nulls alone has any length; this keeps sums of lengths far from overflow. */
#define ROWS_MAX ((int64_t)1 << 40)

struct dictionary {
    int64_t id;
    bool filled;
    struct gr_column values;       /* STRING */
    struct gr_dictionary *entries; /* of the values when those may be one of ours, which borrows them; else NULL */
};

struct file {
    const uint8_t *bytes;
    uint64_t size;
    struct flat_in footer;
    uint64_t footer_at;
    size_t field_count;
    struct arrow_field *fields;
    struct dictionary *dictionaries; /* one a field; those of fields without one stay empty */
    uint64_t budget;                 /* bytes that blocks may still claim: they do not overlap */
    /* of a file that is read in parts */
    int fd;             /* -1: all bytes are there; else they are when file_fetch() has brought them */
    const bool *wanted; /* by field; NULL: all */
};

/* One message with its body. */
struct message {
    struct flat_in in;
    struct flat_table header;
    enum arrow_header kind;
    uint64_t at; /* of its Flatbuffers in the file */
    const uint8_t *body;
    uint64_t body_size;
};

/* The columns of a batch, taken one after the other. */
struct cursor {
    const struct file *file;
    struct message *message;
    struct flat_vector nodes;
    struct flat_vector buffers;
    size_t node;
    size_t buffer;
    uint64_t budget;
};

static granary_err
fail_at(uint64_t at, const char *what)
{
    return gr_fail(GRANARY_ECORRUPT, "Arrow file: %s at byte %llu", what, (unsigned long long)at);
}

static granary_err
fail_flat(const struct flat_in *in, uint64_t at)
{
    return fail_at(at + in->bad_at, "damaged metadata");
}

/* Bytes that are within the file are needed. */
static granary_err
file_fetch(const struct file *file, uint64_t at, uint64_t size)
{
    granary_err err = file->fd < 0 || size == 0
                          ? GRANARY_OK
                          : gr_pread_all(file->fd, (uint8_t *)(uintptr_t)file->bytes + at, size, (int64_t)at);

    return err == GRANARY_OK ? err : gr_fail_in(err, "Arrow file: byte %llu", (unsigned long long)at);
}

static bool
is_wanted(const struct file *file, size_t field)
{
    return file->wanted == NULL || file->wanted[field];
}

/* ---- schema ---- */

static granary_err
schema_read(struct file *file, struct flat_table schema)
{
    struct flat_in *in = &file->footer;
    struct flat_vector fields = flat_vector(in, schema, SCHEMA_FIELDS, 4);
    size_t names = 0;
    granary_err err = GRANARY_OK;

    if (flat_uint(in, schema, SCHEMA_ENDIANNESS, 2, 0) != 0) {
        return gr_fail(GRANARY_EUNSUPPORTED, "Arrow file: big-endian data is not supported");
    }
    file->fields = calloc(fields.count + 1, sizeof *file->fields);
    file->dictionaries = calloc(fields.count + 1, sizeof *file->dictionaries);
    if (file->fields == NULL || file->dictionaries == NULL) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    file->field_count = fields.count;
    for (size_t i = 0; err == GRANARY_OK && !in->bad && i < fields.count; i++) {
        err = arrow_field_read(in, flat_element_table(in, fields, i), &file->fields[i]);
        file->dictionaries[i].id = file->fields[i].dictionary_id;
        names += file->fields[i].name == NULL ? 0 : strlen(file->fields[i].name);
        if (names > in->size) { /* one long name told many times would be a bomb */
            return fail_at(file->footer_at, "column names that overlap");
        }
    }
    return in->bad ? fail_flat(in, file->footer_at) : err;
}

static struct arrow_block
block_at(const struct file *file, struct flat_vector blocks, size_t i)
{
    struct arrow_block block;

    memcpy(&block, file->footer.bytes + blocks.at + i * sizeof block, sizeof block);
    return block;
}

/* ---- messages ---- */

/* Message of a block: its metadata, and its body within the file. */
static granary_err
message_open(struct file *file, const struct arrow_block *block, struct message *message)
{
    uint64_t offset = (uint64_t)block->offset;
    uint64_t length = (uint64_t)block->metadata_length;
    uint64_t prefix = 4;
    struct flat_table root;
    uint32_t first;
    granary_err err;

    if (block->offset < 0 || block->metadata_length < 8 || block->body_length < 0 || offset > file->size ||
        length > file->size - offset || (uint64_t)block->body_length > file->size - offset - length) {
        return fail_at(offset, "a block that is not within the file, said to be");
    }
    if (length + (uint64_t)block->body_length > file->budget) {
        return fail_at(offset, "blocks that overlap");
    }
    file->budget -= length + (uint64_t)block->body_length;
    err = file_fetch(file, offset, length);
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy(&first, file->bytes + offset, sizeof first);
    prefix = first == ARROW_CONTINUATION ? 8 : 4; /* files from before Arrow 0.15 have no continuation mark */
    *message = (struct message){.in = {.bytes = file->bytes + offset + prefix, .size = length - prefix},
                                .at = offset + prefix,
                                .body = file->bytes + offset + length,
                                .body_size = (uint64_t)block->body_length};
    root = flat_root(&message->in);
    message->kind = (enum arrow_header)flat_uint(&message->in, root, MESSAGE_HEADER_TYPE, 1, 0);
    message->header = flat_table(&message->in, root, MESSAGE_HEADER);
    if (message->in.bad || message->header.at == 0) {
        return fail_flat(&message->in, message->at);
    }
    return GRANARY_OK;
}

/* Begin with the columns of a batch; *ret_rows: how many rows each has. */
static granary_err
cursor_open(const struct file *file, struct message *message, struct flat_table batch, struct cursor *cursor,
            int64_t *ret_rows)
{
    struct flat_in *in = &message->in;

    if (flat_table(in, batch, BATCH_COMPRESSION).at != 0) {
        return gr_fail(GRANARY_EUNSUPPORTED, "Arrow file: compressed record batches are not supported; write it "
                                             "without compression");
    }
    *cursor = (struct cursor){.file = file,
                              .message = message,
                              .nodes = flat_vector(in, batch, BATCH_NODES, sizeof(struct arrow_node)),
                              .buffers = flat_vector(in, batch, BATCH_BUFFERS, sizeof(struct arrow_buffer)),
                              .budget = message->body_size};
    *ret_rows = (int64_t)flat_uint(in, batch, BATCH_LENGTH, 8, 0);
    if (in->bad || *ret_rows < 0 || *ret_rows > ROWS_MAX) {
        return fail_flat(in, message->at);
    }
    return GRANARY_OK;
}

static granary_err
next_buffer(struct cursor *cursor, bool fetch, const uint8_t **ret_bytes, uint64_t *ret_size)
{
    struct message *message = cursor->message;
    struct arrow_buffer buffer;
    uint64_t offset;
    uint64_t length;

    if (cursor->buffer >= cursor->buffers.count) {
        return fail_at(message->at, "a batch with too few buffers");
    }
    memcpy(&buffer, message->in.bytes + cursor->buffers.at + cursor->buffer * sizeof buffer, sizeof buffer);
    cursor->buffer++;
    offset = (uint64_t)buffer.offset;
    length = (uint64_t)buffer.length;
    if (buffer.offset < 0 || buffer.length < 0 || offset > message->body_size || length > message->body_size - offset ||
        length > cursor->budget) {
        return fail_at(message->at, "a batch whose buffers are not within it");
    }
    cursor->budget -= length;
    *ret_bytes = message->body + offset;
    *ret_size = length;
    return fetch ? file_fetch(cursor->file, (uint64_t)(message->body - cursor->file->bytes) + offset, length)
                 : GRANARY_OK;
}

/* The next column's buffers; fetch: what is in them is wanted. */
static granary_err
next_piece(struct cursor *cursor, const struct arrow_field *field, bool is_index, bool fetch, int64_t rows,
           struct arrow_piece *ret_piece)
{
    struct arrow_piece piece = {.rows = rows};
    bool text = !is_index && (field->layout == LAYOUT_TEXT || field->layout == LAYOUT_LARGE_TEXT);
    struct arrow_node node;
    granary_err err = GRANARY_OK;

    if (cursor->node >= cursor->nodes.count) {
        return fail_at(cursor->message->at, "a batch with too few columns");
    }
    memcpy(&node, cursor->message->in.bytes + cursor->nodes.at + cursor->node * sizeof node, sizeof node);
    cursor->node++;
    if (node.length != rows || node.null_count < 0 || node.null_count > rows) {
        return fail_at(cursor->message->at, "a column of another length than its batch");
    }
    piece.null_count = node.null_count;
    if (is_index || field->layout != LAYOUT_NULL) {
        err = next_buffer(cursor, fetch, &piece.validity, &piece.validity_size);
        if (err == GRANARY_OK && text) {
            err = next_buffer(cursor, fetch, &piece.offsets, &piece.offsets_size);
        }
        if (err == GRANARY_OK) {
            err = next_buffer(cursor, fetch, &piece.values, &piece.values_size);
        }
    }
    *ret_piece = piece;
    return err;
}

/* ---- dictionaries ---- */

/* Append a delta to what the dictionary has; *takes* more. */
static granary_err
dictionary_extend(struct dictionary *dictionary, struct gr_column *more)
{
    const struct gr_run runs[2] = {{&dictionary->values.view, 0, dictionary->values.view.rows},
                                   {&more->view, 0, more->view.rows}};
    struct gr_column both;
    granary_err err = gr_column_concat(runs, 2, GRANARY_STRING, &both);

    gr_column_free(more);
    if (err == GRANARY_OK) {
        gr_column_free(&dictionary->values);
        dictionary->values = both;
    }
    return err;
}

static granary_err
dictionary_read(struct file *file, const struct arrow_block *block)
{
    struct message message;
    struct cursor cursor;
    struct arrow_piece piece;
    struct gr_column values;
    bool delta;
    int64_t rows;
    int64_t id;
    size_t i = 0;
    granary_err err = message_open(file, block, &message);

    if (err != GRANARY_OK) {
        return err;
    }
    if (message.kind != HEADER_DICTIONARY) {
        return fail_at(message.at, "no dictionary");
    }
    id = (int64_t)flat_uint(&message.in, message.header, DICTIONARY_BATCH_ID, 8, 0);
    delta = flat_uint(&message.in, message.header, DICTIONARY_BATCH_IS_DELTA, 1, 0) != 0;
    while (i < file->field_count && (!file->fields[i].dictionary || file->fields[i].dictionary_id != id)) {
        i++;
    }
    while (i < file->field_count && !is_wanted(file, i)) { /* or another field that shares it */
        do {
            i++;
        } while (i < file->field_count && (!file->fields[i].dictionary || file->fields[i].dictionary_id != id));
    }
    if (i == file->field_count) {
        return GRANARY_OK; /* nobody uses it */
    }
    err = cursor_open(file, &message, flat_table(&message.in, message.header, DICTIONARY_BATCH_DATA), &cursor, &rows);
    if (err == GRANARY_OK) {
        err = next_piece(&cursor, &file->fields[i], false, true, rows, &piece);
    }
    if (err == GRANARY_OK) {
        err = arrow_decode(&file->fields[i], &piece, NULL, &values);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (delta && file->dictionaries[i].filled) {
        return dictionary_extend(&file->dictionaries[i], &values);
    }
    if (file->dictionaries[i].filled) { /* which batches mean which one, the format leaves open */
        gr_column_free(&values);
        return gr_fail(GRANARY_EUNSUPPORTED, "column '%s': its dictionary is replaced within the file",
                       file->fields[i].name);
    }
    file->dictionaries[i].values = values;
    file->dictionaries[i].filled = true;
    return GRANARY_OK;
}

/* Copy what is borrowed. */
static granary_err
column_own(struct gr_column *column)
{
    const struct gr_run run = {&column->view, 0, column->view.rows};
    struct gr_column copy;
    granary_err err = GRANARY_OK;

    if (!column->owned) {
        err = gr_column_concat(&run, 1, column->view.dtype, &copy);
        if (err == GRANARY_OK) {
            gr_column_free(column);
            *column = copy;
        }
    }
    return err;
}

/* When all dictionaries are there: those that are distinct texts stay dictionaries. */
static granary_err
dictionaries_settle(struct file *file)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < file->field_count; i++) {
        struct dictionary *dictionary = &file->dictionaries[i];
        const granary_column *values = &dictionary->values.view;

        if (dictionary->filled && file->fd >= 0) {
            err = column_own(&dictionary->values); /* what is made of it outlives the file's bytes */
        }
        if (err == GRANARY_OK && dictionary->filled && values->rows > 0 && values->validity == NULL &&
            gr_column_is_distinct(values)) {
            err = gr_dictionary_create(&dictionary->values, &dictionary->entries);
        }
    }
    return err;
}

/* The dictionary of a field: fields may share one, which the first of them has. false: there is none. */
static bool
dictionary_of(const struct file *file, const struct arrow_field *field, struct arrow_dictionary *ret_dictionary)
{
    for (size_t i = 0; i < file->field_count; i++) {
        const struct dictionary *dictionary = &file->dictionaries[i];

        if (dictionary->filled && dictionary->id == field->dictionary_id) {
            ret_dictionary->entries = dictionary->entries;
            ret_dictionary->values =
                dictionary->entries == NULL ? &dictionary->values.view : gr_dictionary_entries(dictionary->entries);
            return true;
        }
    }
    return false;
}

/* ---- batches ---- */

static size_t
wanted_count(const struct file *file)
{
    size_t count = 0;

    for (size_t i = 0; i < file->field_count; i++) {
        count += is_wanted(file, i);
    }
    return count;
}

static granary_err
batch_read(struct file *file, const struct arrow_block *block, granary_frame **ret_frame)
{
    struct message message;
    struct cursor cursor;
    granary_frame *frame = NULL;
    size_t position = 0;
    int64_t rows;
    granary_err err = message_open(file, block, &message);

    if (err == GRANARY_OK && message.kind != HEADER_BATCH) {
        err = fail_at(message.at, "no record batch");
    }
    if (err == GRANARY_OK) {
        err = cursor_open(file, &message, message.header, &cursor, &rows);
    }
    if (err == GRANARY_OK && (frame = gr_frame_create(wanted_count(file), rows)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    for (size_t i = 0; err == GRANARY_OK && i < file->field_count; i++) {
        const struct arrow_field *field = &file->fields[i];
        bool wanted = is_wanted(file, i);
        struct arrow_dictionary dictionary;
        bool encoded = wanted && field->dictionary && dictionary_of(file, field, &dictionary);
        struct arrow_piece piece;
        struct gr_column column;

        if (wanted && field->dictionary && !encoded && rows > 0) {
            err = gr_fail(GRANARY_ECORRUPT, "column '%s': its dictionary is missing", field->name);
            break;
        }
        err = next_piece(&cursor, field, field->dictionary, wanted, rows, &piece);
        if (!wanted) {
            continue;
        }
        if (err == GRANARY_OK) {
            err = arrow_decode(field, &piece, encoded ? &dictionary : NULL, &column);
        }
        if (err == GRANARY_OK && file->fd >= 0 && (err = column_own(&column)) != GRANARY_OK) {
            gr_column_free(&column);
        }
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, position++, field->name, &column);
        }
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

/* A frame without rows, for no batches. */
static granary_err
empty_frame(const struct file *file, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(wanted_count(file), 0);
    granary_err err = frame == NULL ? gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory") : GRANARY_OK;
    size_t position = 0;

    for (size_t i = 0; err == GRANARY_OK && i < file->field_count; i++) {
        struct gr_column column;

        if (!is_wanted(file, i)) {
            continue;
        }
        err = gr_column_alloc(file->fields[i].dtype, 0, 0, false, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, position++, file->fields[i].name, &column);
        }
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}

/* Batches [first, first + count). */
static granary_err
batches_read(struct file *file, struct flat_vector blocks, size_t first, size_t count, granary_frame **ret_frame)
{
    granary_frame **frames;
    size_t have = 0;
    granary_err err = GRANARY_OK;

    if (count == 0) {
        return empty_frame(file, ret_frame);
    }
    frames = calloc(count, sizeof(granary_frame *));
    if (frames == NULL) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    while (err == GRANARY_OK && have < count) {
        struct arrow_block block = block_at(file, blocks, first + have);

        err = batch_read(file, &block, &frames[have]);
        have += err == GRANARY_OK;
    }
    if (err == GRANARY_OK && have == 1) {
        *ret_frame = frames[0];
        have = 0;
    } else if (err == GRANARY_OK) {
        err = gr_frame_concat((const granary_frame *const *)frames, have, ret_frame);
    }
    for (size_t i = 0; i < have; i++) {
        gr_frame_destroy(frames[i]);
    }
    free(frames);
    return err;
}

/* ---- file ---- */

/* Find the footer. */
static granary_err
file_open(struct file *file, const void *data, uint64_t data_size, int fd)
{
    uint64_t tail = sizeof(uint32_t) + ARROW_MAGIC_SIZE;
    const uint8_t *bytes = data;
    uint32_t footer_size;
    granary_err err;

    *file = (struct file){.bytes = bytes, .size = data_size, .budget = data_size, .fd = fd};
    err = file_fetch(file, 0, data_size < 8 ? 0 : 8);
    if (err == GRANARY_OK && (data_size < 8 || memcmp(bytes, ARROW_MAGIC, ARROW_MAGIC_SIZE) != 0)) {
        return gr_fail(GRANARY_ETYPE, "not an Arrow file: it does not begin with ARROW1");
    }
    if (err == GRANARY_OK) {
        err = file_fetch(file, data_size < tail ? 0 : data_size - tail, data_size < tail ? 0 : tail);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (data_size < 8 + tail || memcmp(bytes + data_size - ARROW_MAGIC_SIZE, ARROW_MAGIC, ARROW_MAGIC_SIZE) != 0) {
        return gr_fail(GRANARY_ECORRUPT, "Arrow file: it is cut short at byte %llu", (unsigned long long)data_size);
    }
    memcpy(&footer_size, bytes + data_size - tail, sizeof footer_size);
    if (footer_size > data_size - 8 - tail) {
        return fail_at(data_size - tail, "a footer longer than the file");
    }
    file->footer_at = data_size - tail - footer_size;
    file->footer = (struct flat_in){.bytes = bytes + file->footer_at, .size = footer_size};
    return file_fetch(file, file->footer_at, footer_size);
}

static void
dictionaries_free(struct file *file)
{
    for (size_t i = 0; file->dictionaries != NULL && i < file->field_count; i++) {
        struct dictionary *dictionary = &file->dictionaries[i];

        gr_column_free(&dictionary->values);
        gr_dictionary_unref(dictionary->entries);
        dictionary->values = (struct gr_column){.owned = false};
        dictionary->entries = NULL;
        dictionary->filled = false;
    }
}

static void
file_close(struct file *file)
{
    dictionaries_free(file);
    free(file->dictionaries);
    free(file->fields);
}

/* What the footer tells. */
struct footer {
    struct flat_vector dictionaries;
    struct flat_vector batches;
};

static granary_err
footer_read(struct file *file, struct footer *ret_footer)
{
    struct flat_in *in = &file->footer;
    struct flat_table root = flat_root(in);
    uint64_t version = flat_uint(in, root, FOOTER_VERSION, 2, 0);

    ret_footer->dictionaries = flat_vector(in, root, FOOTER_DICTIONARIES, sizeof(struct arrow_block));
    ret_footer->batches = flat_vector(in, root, FOOTER_BATCHES, sizeof(struct arrow_block));
    if (!in->bad && (version < ARROW_V4 || version > ARROW_V5)) {
        return gr_fail(GRANARY_EUNSUPPORTED, "Arrow file: metadata version %llu, only V4 and V5 are supported",
                       (unsigned long long)version + 1);
    }
    return schema_read(file, flat_table(in, root, FOOTER_SCHEMA));
}

static granary_err
dictionaries_read(struct file *file, const struct footer *footer)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < footer->dictionaries.count; i++) {
        struct arrow_block block = block_at(file, footer->dictionaries, i);

        err = dictionary_read(file, &block);
    }
    return err == GRANARY_OK ? dictionaries_settle(file) : err;
}

granary_err
gr_arrow_read(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size, granary_frame **ret_frame)
{
    struct footer footer;
    struct file file;
    granary_err err;

    if (gr_directory_is(meta, meta_size)) {
        return gr_directory_read(data, data_size, meta, meta_size, ret_frame);
    }
    err = file_open(&file, data, data_size, -1);
    if (err != GRANARY_OK) {
        return err;
    }
    err = footer_read(&file, &footer);
    if (err == GRANARY_OK) {
        err = dictionaries_read(&file, &footer);
    }
    if (err == GRANARY_OK) {
        err = batches_read(&file, footer.batches, 0, footer.batches.count, ret_frame);
    }
    file_close(&file);
    return err;
}

/* ---- a file on disk, in parts ---- */

struct gr_arrow_file {
    struct file file; /* its bytes: address space as large as the file, of which what was fetched is there */
    struct footer footer;
    struct gr_arrow_batch *batches;
};

/* How many rows each batch has; its columns stay where they are. */
static granary_err
batches_look(struct gr_arrow_file *file)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < file->footer.batches.count; i++) {
        struct arrow_block block = block_at(&file->file, file->footer.batches, i);
        struct message message;
        struct cursor cursor;

        err = message_open(&file->file, &block, &message);
        if (err == GRANARY_OK && message.kind != HEADER_BATCH) {
            err = fail_at(message.at, "no record batch");
        }
        if (err == GRANARY_OK) {
            err = cursor_open(&file->file, &message, message.header, &cursor, &file->batches[i].rows);
            file->batches[i].bytes = message.body_size;
        }
    }
    return err;
}

static granary_err
file_map(const char *path, struct gr_arrow_file *file)
{
    struct stat info;
    void *bytes;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe must not hold us up */

    file->file.fd = fd;
    if (fd < 0 || fstat(fd, &info) < 0) {
        return gr_fail_errno("%s", path);
    }
    if (!S_ISREG(info.st_mode)) {
        return gr_fail(GRANARY_EINVAL, "%s: is no regular file", path);
    }
    bytes = mmap(NULL, (size_t)info.st_size + 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
    if (bytes == MAP_FAILED) {
        return gr_fail(GRANARY_ENOMEM, "%s: no address space for %lld bytes", path, (long long)info.st_size);
    }
    file->file.bytes = bytes;
    file->file.size = (uint64_t)info.st_size;
    return GRANARY_OK;
}

granary_err
gr_arrow_file_open(const char *path, struct gr_arrow_file **ret_file)
{
    struct gr_arrow_file *file = calloc(1, sizeof *file);
    granary_err err = file == NULL ? gr_fail(GRANARY_ENOMEM, "%s: out of memory", path) : file_map(path, file);

    if (err == GRANARY_OK) {
        err = file_open(&file->file, file->file.bytes, file->file.size, file->file.fd);
        err = err == GRANARY_OK ? footer_read(&file->file, &file->footer) : err;
        if (err == GRANARY_OK) {
            file->batches = calloc(file->footer.batches.count + 1, sizeof *file->batches);
            err = file->batches == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : batches_look(file);
        }
        err = err == GRANARY_OK ? err : gr_fail_in(err, "%s", path);
    }
    if (err != GRANARY_OK) {
        gr_arrow_file_close(file);
        return err;
    }
    *ret_file = file;
    return GRANARY_OK;
}

void
gr_arrow_file_close(struct gr_arrow_file *file)
{
    if (file == NULL) {
        return;
    }
    file_close(&file->file);
    if (file->file.bytes != NULL) {
        (void)munmap((void *)(uintptr_t)file->file.bytes, file->file.size + 64);
    }
    gr_fd_close(&file->file.fd);
    free(file->batches);
    free(file);
}

size_t
gr_arrow_file_columns(const struct gr_arrow_file *file)
{
    return file->file.field_count;
}

const char *
gr_arrow_file_column(const struct gr_arrow_file *file, size_t position, granary_dtype *ret_dtype)
{
    *ret_dtype = file->file.fields[position].dtype;
    return file->file.fields[position].name;
}

const struct gr_arrow_batch *
gr_arrow_file_batches(const struct gr_arrow_file *file, size_t *ret_count)
{
    *ret_count = file->footer.batches.count;
    return file->batches;
}

granary_err
gr_arrow_file_read(struct gr_arrow_file *file, const bool *wanted, size_t first, size_t count,
                   granary_frame **ret_frame)
{
    granary_err err;

    if (first > file->footer.batches.count || count > file->footer.batches.count - first) {
        return gr_fail(GRANARY_EINVAL, "Arrow file: batches %zu to %zu of %zu", first, first + count,
                       file->footer.batches.count);
    }
    file->file.wanted = wanted;
    file->file.budget = file->file.size;
    err = dictionaries_read(&file->file, &file->footer);
    if (err == GRANARY_OK) {
        err = batches_read(&file->file, file->footer.batches, first, count, ret_frame);
    }
    dictionaries_free(&file->file);
    return err;
}
