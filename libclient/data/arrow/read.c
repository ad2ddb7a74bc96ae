/*
 * Arrow IPC files read: footer, schema, dictionaries, record batches. Everything in the file is hostile until it was
 * checked: Flatbuffers by flat.c, blocks and buffers here, values in decode.c. What is made of a file is bounded
 * by the file's size (of compressed buffers as many times that as the codec can pack), but for dictionary-encoded text, which 2 GiB a column
 * bound.
 */
#include "data/arrow/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/buf.h"
#include "data/arrow/arrow.h"
#include "data/arrow/streamed.h"
#include "data/layout/directory.h"
#include "data/layout/flat.h"

/* How much larger compressed batches are taken to be, where chunks are cut before anything is read. */
#define INFLATION 2

enum { NAMES_TOLD = 8 }; /* of columns, in a message */

static bool
is_wanted(const struct arrow_in *file, size_t field)
{
    return file->wanted == NULL || file->wanted[field];
}

/* ---- schema ---- */

static granary_err
schema_read(struct arrow_in *file, enum arrow_version version, struct flat_table table)
{
    struct flat_in *in = &file->footer;
    struct arrow_schema schema = {.in = in, .version = version};
    struct flat_vector fields = flat_vector(in, table, SCHEMA_FIELDS, 4);
    struct arrow_fields all = {.count = 0};
    granary_err err = GRANARY_OK;

    if (flat_uint(in, table, SCHEMA_ENDIANNESS, 2, 0) != 0) {
        return gr_fail(GRANARY_EUNSUPPORTED, "Arrow file: its data is big-endian; write it as little-endian");
    }
    for (size_t i = 0; err == GRANARY_OK && !in->bad && i < fields.count; i++) {
        err = arrow_fields_add(&schema, flat_element_table(in, fields, i), &all);
    }
    file->fields = all.fields;
    file->field_count = all.count;
    file->dictionaries = calloc(all.count + 1, sizeof *file->dictionaries);
    if (file->dictionaries == NULL) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    for (size_t i = 0; i < all.count; i++) {
        file->dictionaries[i].id = file->fields[i].dictionary_id;
    }
    return in->bad ? arrow_fail_flat(in, file->footer_at) : err;
}

static struct arrow_block
block_at(const struct arrow_in *file, struct flat_vector blocks, size_t i)
{
    struct arrow_block block;

    memcpy(&block, file->footer.bytes + blocks.at + i * sizeof block, sizeof block);
    return block;
}

/* ---- columns ---- */

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

/* The column of a piece, with the dictionary of its field if it has one; it outlives the cursor. */
static granary_err
piece_decode(const struct arrow_cursor *cursor, const struct arrow_field *field, const struct arrow_piece *piece,
             const struct arrow_dictionary *dictionary, struct gr_column *ret_column)
{
    struct gr_column column;
    granary_err err = arrow_decode(field, piece, dictionary, &column);

    if (err == GRANARY_OK && (cursor->file->fd >= 0 || cursor->compressed)) {
        err = column_own(&column);
        if (err != GRANARY_OK) {
            gr_column_free(&column);
        }
    }
    if (err == GRANARY_OK) {
        *ret_column = column;
    }
    return err;
}

/* ---- dictionaries ---- */

/* Append a delta to what the dictionary has; *takes* more. */
static granary_err
dictionary_extend(struct arrow_in_dictionary *dictionary, struct gr_column *more)
{
    const struct gr_run runs[2] = {{&dictionary->values.view, 0, dictionary->values.view.rows},
                                   {&more->view, 0, more->view.rows}};
    struct gr_column both;
    granary_err err = gr_column_concat(runs, 2, more->view.dtype, &both);

    gr_column_free(more);
    if (err == GRANARY_OK) {
        gr_column_free(&dictionary->values);
        dictionary->values = both;
    }
    return err;
}

static granary_err
dictionary_read(struct arrow_in *file, const struct arrow_block *block)
{
    struct arrow_message message;
    struct arrow_cursor cursor = {0};
    struct arrow_field field = {.depth = 0};
    struct arrow_piece piece;
    struct gr_column values;
    bool delta;
    int64_t rows;
    int64_t id;
    size_t i = 0;
    granary_err err = arrow_message_open(file, block, &message);

    if (err != GRANARY_OK) {
        return err;
    }
    if (message.kind != HEADER_DICTIONARY) {
        return arrow_fail_at(message.at, "no dictionary");
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
    err = arrow_cursor_open(file, &message, flat_table(&message.in, message.header, DICTIONARY_BATCH_DATA), &cursor,
                            &rows);
    field = i < file->field_count ? file->fields[i] : field;
    field.depth = field.opens = 0; /* the structs are around the indices */
    if (err == GRANARY_OK) {
        err = arrow_next_piece(&cursor, &field, false, true, rows, &piece);
    }
    if (err == GRANARY_OK) {
        err = piece_decode(&cursor, &field, &piece, NULL, &values);
    }
    arrow_cursor_close(&cursor);
    if (err != GRANARY_OK) {
        return err;
    }
    if (delta && file->dictionaries[i].filled) {
        return dictionary_extend(&file->dictionaries[i], &values);
    }
    if (file->dictionaries[i].filled) { /* which batches mean which one, the format leaves open */
        gr_column_free(&values);
        return gr_fail(GRANARY_EUNSUPPORTED,
                       "column '%s': its dictionary is replaced within the file, which the format "
                       "has for streams only",
                       file->fields[i].name);
    }
    file->dictionaries[i].values = values;
    file->dictionaries[i].filled = true;
    return GRANARY_OK;
}

/* When all dictionaries are there: those that are distinct texts stay dictionaries. */
static granary_err
dictionaries_settle(struct arrow_in *file)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < file->field_count; i++) {
        struct arrow_in_dictionary *dictionary = &file->dictionaries[i];
        const granary_column *values = &dictionary->values.view;

        if (dictionary->filled && file->fd >= 0) {
            err = column_own(&dictionary->values); /* what is made of it outlives the file's bytes */
        }
        if (err == GRANARY_OK && dictionary->filled && gr_dtype_is_text(values->dtype) && values->rows > 0 &&
            values->validity == NULL && gr_column_is_distinct(values)) {
            err = gr_dictionary_create(&dictionary->values, &dictionary->entries);
        }
    }
    return err;
}

/* The dictionary of a field: fields may share one, which the first of them has. false: there is none. */
static bool
dictionary_of(const struct arrow_in *file, const struct arrow_field *field, struct arrow_dictionary *ret_dictionary)
{
    for (size_t i = 0; i < file->field_count; i++) {
        const struct arrow_in_dictionary *dictionary = &file->dictionaries[i];

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
wanted_count(const struct arrow_in *file)
{
    size_t count = 0;

    for (size_t i = 0; i < file->field_count; i++) {
        count += is_wanted(file, i);
    }
    return count;
}

static granary_err
batch_read(struct arrow_in *file, const struct arrow_block *block, granary_frame **ret_frame)
{
    struct arrow_message message;
    struct arrow_cursor cursor = {0};
    granary_frame *frame = NULL;
    size_t position = 0;
    int64_t rows;
    granary_err err = arrow_message_open(file, block, &message);

    if (err == GRANARY_OK && message.kind != HEADER_BATCH) {
        err = arrow_fail_at(message.at, "no record batch");
    }
    if (err == GRANARY_OK) {
        err = arrow_cursor_open(file, &message, message.header, &cursor, &rows);
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
        err = arrow_next_piece(&cursor, field, field->dictionary, wanted, rows, &piece);
        if (!wanted) {
            continue;
        }
        if (err == GRANARY_OK) {
            err = piece_decode(&cursor, field, &piece, encoded ? &dictionary : NULL, &column);
        }
        if (err == GRANARY_OK) {
            err = gr_frame_set(frame, position++, field->name, &column);
        }
    }
    arrow_cursor_close(&cursor);
    return gr_frame_give(frame, err, ret_frame);
}

/* A frame without rows, for no batches. */
static granary_err
empty_frame(const struct arrow_in *file, granary_frame **ret_frame)
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
    return gr_frame_give(frame, err, ret_frame);
}

granary_err
arrow_in_batches(struct arrow_in *file, struct flat_vector blocks, size_t first, size_t count,
                 granary_frame **ret_frame)
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

granary_err
arrow_in_look(struct arrow_in *file, struct flat_vector blocks, size_t i, int64_t *ret_rows, uint64_t *ret_bytes)
{
    struct arrow_block block = block_at(file, blocks, i);
    struct arrow_message message;
    struct arrow_cursor cursor = {0};
    granary_err err = arrow_message_open(file, &block, &message);

    if (err == GRANARY_OK && message.kind != HEADER_BATCH) {
        err = arrow_fail_at(message.at, "no record batch");
    }
    if (err == GRANARY_OK) {
        err = arrow_cursor_open(file, &message, message.header, &cursor, ret_rows);
        *ret_bytes = message.body_size * (cursor.compressed ? INFLATION : 1);
    }
    return err;
}

/* ---- file ---- */

struct passage {
    const struct arrow_in *file;
    uint64_t at;
};

static granary_err
read_passage(void *source, void *to, size_t size, size_t *ret_got)
{
    struct passage *passage = source;
    uint64_t left = passage->file->size - passage->at;
    size_t got = size < left ? size : (size_t)left;
    granary_err err = to == NULL ? GRANARY_OK : arrow_fetch(passage->file, passage->at, got);

    if (err == GRANARY_OK && to != NULL) {
        memcpy(to, passage->file->bytes + passage->at, got);
    }
    passage->at += got;
    *ret_got = got;
    return err;
}

/* A stream's messages are those of a file. */
static granary_err
stream_open(struct arrow_in *file)
{
    struct passage passage = {.file = file};
    granary_err err = gr_arrow_stream_footer(read_passage, &passage, &file->made);

    if (err != GRANARY_OK) {
        gr_buf_free(&file->made);
        return err;
    }
    file->footer_at = file->size;
    file->footer = (struct flat_in){.bytes = (const uint8_t *)file->made.bytes, .size = file->made.size};
    return GRANARY_OK;
}

granary_err
arrow_in_open(struct arrow_in *file, const void *data, uint64_t data_size, int fd)
{
    uint64_t tail = sizeof(uint32_t) + ARROW_MAGIC_SIZE;
    const uint8_t *bytes = data;
    uint32_t footer_size;
    granary_err err;

    *file = (struct arrow_in){.bytes = bytes, .size = data_size, .budget = data_size, .fd = fd};
    err = arrow_fetch(file, 0, data_size < 8 ? 0 : 8);
    if (err == GRANARY_OK && data_size >= 8 && gr_arrow_is_streamed(bytes, 8)) {
        return stream_open(file);
    }
    if (err == GRANARY_OK && (data_size < 8 || memcmp(bytes, ARROW_MAGIC, ARROW_MAGIC_SIZE) != 0)) {
        return gr_fail(GRANARY_ETYPE, "not an Arrow file: it does not begin with ARROW1");
    }
    if (err == GRANARY_OK) {
        err = arrow_fetch(file, data_size < tail ? 0 : data_size - tail, data_size < tail ? 0 : tail);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    if (data_size < 8 + tail || memcmp(bytes + data_size - ARROW_MAGIC_SIZE, ARROW_MAGIC, ARROW_MAGIC_SIZE) != 0) {
        return gr_fail(GRANARY_ECORRUPT, "Arrow file: it is cut short at byte %llu", (unsigned long long)data_size);
    }
    memcpy(&footer_size, bytes + data_size - tail, sizeof footer_size);
    if (footer_size > data_size - 8 - tail) {
        return arrow_fail_at(data_size - tail, "a footer longer than the file");
    }
    file->footer_at = data_size - tail - footer_size;
    file->footer = (struct flat_in){.bytes = bytes + file->footer_at, .size = footer_size};
    return arrow_fetch(file, file->footer_at, footer_size);
}

void
arrow_in_dictionaries_free(struct arrow_in *file)
{
    for (size_t i = 0; file->dictionaries != NULL && i < file->field_count; i++) {
        struct arrow_in_dictionary *dictionary = &file->dictionaries[i];

        gr_column_free(&dictionary->values);
        gr_dictionary_unref(dictionary->entries);
        dictionary->values = (struct gr_column){.owned = false};
        dictionary->entries = NULL;
        dictionary->filled = false;
    }
}

void
arrow_in_close(struct arrow_in *file)
{
    arrow_in_dictionaries_free(file);
    free(file->dictionaries);
    arrow_fields_free(file->fields, file->field_count);
    gr_buf_free(&file->made);
}

granary_err
arrow_in_footer(struct arrow_in *file, struct arrow_footer *ret_footer)
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
    return schema_read(file, (enum arrow_version)version, flat_table(in, root, FOOTER_SCHEMA));
}

/* Names in a message: a few, and that there are more. */
static void
add_name(struct gr_buf *out, size_t count, const struct arrow_field *field)
{
    if (count < NAMES_TOLD) {
        gr_buf_addf(out, "%s'%.60s'", count > 0 ? ", " : "", field->name);
        if (field->layout == LAYOUT_OTHER) {
            gr_buf_addf(out, " (%s)", field->other);
        }
    } else if (count == NAMES_TOLD) {
        gr_buf_addf(out, ", ...");
    }
}

granary_err
arrow_in_check(const struct arrow_in *file)
{
    struct gr_buf refused = {0};
    struct gr_buf others = {0};
    size_t refused_count = 0;
    size_t other_count = 0;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < file->field_count; i++) {
        const struct arrow_field *field = &file->fields[i];

        if (field->layout != LAYOUT_OTHER) {
            add_name(&others, other_count++, field);
        } else if (is_wanted(file, i)) {
            add_name(&refused, refused_count++, field);
        }
    }
    if (refused_count > 0) {
        err = !gr_buf_ok(&refused) || !gr_buf_ok(&others)
                  ? gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory")
                  : gr_fail(GRANARY_EUNSUPPORTED, "%s %s %s not supported; %s%s%s",
                            refused_count > 1 ? "columns" : "column", refused.bytes,
                            refused_count > 1 ? "are of Arrow types that are" : "is of an Arrow type that is",
                            other_count > 0 ? "select other columns (" : "write them as other types",
                            other_count > 0 ? others.bytes : "",
                            other_count > 0 ? "), as granary sql --keep NAME \"SELECT ... FROM 'FILE'\" does" : "");
    }
    gr_buf_free(&refused);
    gr_buf_free(&others);
    return err;
}

granary_err
arrow_in_dictionaries(struct arrow_in *file, const struct arrow_footer *footer)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < footer->dictionaries.count; i++) {
        struct arrow_block block = block_at(file, footer->dictionaries, i);

        err = dictionary_read(file, &block);
    }
    return err == GRANARY_OK ? dictionaries_settle(file) : err;
}

/* Which columns are to be read. */
struct choice {
    bool all;
    const char *const *names; /* else those that can be, and these */
    size_t count;
};

static bool
is_chosen(const struct choice *choice, const struct arrow_field *field)
{
    bool chosen = field->layout != LAYOUT_OTHER;

    for (size_t i = 0; i < choice->count && !chosen; i++) {
        chosen = strcmp(choice->names[i], field->name) == 0;
    }
    return chosen;
}

/* Columns that are wanted, in *ret_wanted, the caller's; NULL: all, as of a file of which none is. */
static granary_err
choose(const struct choice *choice, const struct arrow_in *file, bool **ret_wanted)
{
    bool *wanted = choice->all ? NULL : calloc(file->field_count + 1, sizeof *wanted);
    bool any = false;

    if (wanted == NULL && !choice->all) {
        return gr_fail(GRANARY_ENOMEM, "Arrow file: out of memory");
    }
    for (size_t i = 0; i < file->field_count && wanted != NULL; i++) {
        wanted[i] = is_chosen(choice, &file->fields[i]);
        any = any || wanted[i];
    }
    if (!any) {
        free(wanted);
        wanted = NULL;
    }
    *ret_wanted = wanted;
    return GRANARY_OK;
}

static granary_err
read_chosen(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size, const struct choice *choice,
            granary_frame **ret_frame)
{
    struct arrow_footer footer;
    struct arrow_in file;
    bool *wanted = NULL;
    granary_err err;

    if (gr_directory_is(meta, meta_size)) {
        return gr_directory_read(data, data_size, meta, meta_size, ret_frame);
    }
    err = arrow_in_open(&file, data, data_size, -1);
    if (err != GRANARY_OK) {
        return err;
    }
    err = arrow_in_footer(&file, &footer);
    if (err == GRANARY_OK) {
        err = choose(choice, &file, &wanted);
    }
    if (err == GRANARY_OK) {
        file.wanted = wanted;
        err = arrow_in_check(&file);
    }
    if (err == GRANARY_OK) {
        err = arrow_in_dictionaries(&file, &footer);
    }
    if (err == GRANARY_OK) {
        err = arrow_in_batches(&file, footer.batches, 0, footer.batches.count, ret_frame);
    }
    arrow_in_close(&file);
    free(wanted);
    return err;
}

granary_err
gr_arrow_read(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size, granary_frame **ret_frame)
{
    return read_chosen(data, data_size, meta, meta_size, &(struct choice){.all = true}, ret_frame);
}

granary_err
gr_arrow_read_columns(const void *data, uint64_t data_size, const void *meta, uint64_t meta_size,
                      const char *const *names, size_t count, granary_frame **ret_frame)
{
    return read_chosen(data, data_size, meta, meta_size, &(struct choice){.names = names, .count = count}, ret_frame);
}
