/*
 * The file: row groups as they come, and then its end (footer.c). Notes of row groups are believed in what they say of
 * values, and not in how long they are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "parquet/write/note.h"
#include "parquet/write/writer.h"

static const char magic[4] = {'P', 'A', 'R', '1'};

static granary_err
give(struct gr_parquet_writer *writer, const void *bytes, size_t size)
{
    writer->at += (int64_t)size;
    return size == 0 ? GRANARY_OK : writer->sink(writer->own, bytes, size);
}

granary_err
gr_parquet_writer_create(gr_parquet_sink *sink, void *own, struct gr_parquet_writer **ret_writer)
{
    struct gr_parquet_writer *writer = calloc(1, sizeof *writer);
    granary_err err;

    if (writer == NULL) {
        return put_no_memory();
    }
    writer->sink = sink;
    writer->own = own;
    err = give(writer, magic, sizeof magic);
    if (err != GRANARY_OK) {
        gr_parquet_writer_destroy(writer);
        return err;
    }
    *ret_writer = writer;
    return GRANARY_OK;
}

void
gr_parquet_writer_destroy(struct gr_parquet_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    for (size_t i = 0; i < writer->field_count; i++) {
        free(writer->fields[i].name);
    }
    for (size_t i = 0; i < writer->group_count; i++) {
        free(writer->groups[i].chunks);
    }
    for (size_t i = 0; i < writer->note_count; i++) {
        free(writer->notes[i]);
    }
    free(writer->fields);
    free(writer->groups);
    free(writer->notes);
    gr_buf_free(&writer->end);
    free(writer);
}

/* ---- notes ---- */

struct cursor {
    const uint8_t *at;
    size_t left;
    bool bad;
};

/* So many bytes; NULL when they are not there. */
static const uint8_t *
take(struct cursor *in, uint64_t size)
{
    const uint8_t *at = in->at;

    if (in->bad || size > in->left) {
        in->bad = true;
        return NULL;
    }
    in->at += size;
    in->left -= size;
    return at;
}

static void
take_into(struct cursor *in, void *out, size_t size)
{
    const uint8_t *bytes = take(in, size);

    if (bytes != NULL) {
        memcpy(out, bytes, size);
    } else {
        memset(out, 0, size);
    }
}

static granary_err
fail_note(void)
{
    return gr_fail(GRANARY_ECORRUPT, "the row groups of a Parquet file come without a note that fits them");
}

/* A column of what is added, beside the file's. */
static granary_err
match_field(struct field *field, const uint8_t *name, uint32_t size, granary_dtype dtype, bool first)
{
    if (first) {
        field->dtype = dtype;
        field->name = strndup((const char *)name, size);
        return field->name == NULL ? put_no_memory() : GRANARY_OK;
    }
    if (strlen(field->name) != size || memcmp(field->name, name, size) != 0) {
        return gr_fail(GRANARY_ETYPE, "a chunk has column '%.*s' where another has '%s'", (int)size, (const char *)name,
                       field->name);
    }
    if (dtype != field->dtype && (put_item_dtype(dtype) != dtype || put_item_dtype(field->dtype) != field->dtype)) {
        return gr_fail(GRANARY_ETYPE, "column '%s' is %s in one chunk and %s in another: cast it in the graph",
                       field->name, granary_dtype_name(dtype), granary_dtype_name(field->dtype));
    }
    field->dtype = field->dtype == GRANARY_NULLTYPE ? dtype : field->dtype;
    return dtype == GRANARY_NULLTYPE || dtype == field->dtype
               ? GRANARY_OK
               : gr_fail(GRANARY_ETYPE, "column '%s' is %s in one chunk and %s in another", field->name,
                         granary_dtype_name(dtype), granary_dtype_name(field->dtype));
}

static granary_err
take_fields(struct gr_parquet_writer *writer, struct cursor *in, uint32_t count)
{
    bool first = writer->fields == NULL;
    granary_err err = GRANARY_OK;

    if (first && count <= in->left) {
        writer->fields = calloc((size_t)count + 1, sizeof *writer->fields);
        writer->field_count = writer->fields == NULL ? 0 : count;
        err = writer->fields == NULL ? put_no_memory() : GRANARY_OK;
    } else if (count != writer->field_count) {
        err = gr_fail(GRANARY_ETYPE, "a chunk has %u columns where another has %zu", (unsigned)count,
                      writer->field_count);
    }
    for (uint32_t i = 0; err == GRANARY_OK && i < count; i++) {
        uint32_t facts[2];
        const uint8_t *name;
        struct put_type type;

        take_into(in, facts, sizeof facts);
        name = take(in, facts[1]);
        err = name == NULL ? fail_note() : put_type_of((granary_dtype)facts[0], &type);
        err = err == GRANARY_OK ? match_field(&writer->fields[i], name, facts[1], (granary_dtype)facts[0], first) : err;
    }
    return err;
}

static granary_err
take_group(struct gr_parquet_writer *writer, struct cursor *in, int64_t at)
{
    struct note_group facts;
    struct group *group;

    if (!gr_grow(&writer->groups, &writer->group_room, writer->group_count, sizeof *writer->groups)) {
        return put_no_memory();
    }
    take_into(in, &facts, sizeof facts);
    group = &writer->groups[writer->group_count];
    *group = (struct group){.at = at, .rows = facts.rows, .size = facts.size};
    group->chunks = calloc(writer->field_count + 1, sizeof *group->chunks);
    if (group->chunks == NULL) {
        return put_no_memory();
    }
    writer->group_count++;
    writer->rows += facts.rows;
    for (size_t i = 0; i < writer->field_count && !in->bad; i++) {
        struct written *chunk = &group->chunks[i];

        take_into(in, &chunk->facts, sizeof chunk->facts);
        chunk->min = take(in, chunk->facts.min_size);
        chunk->max = take(in, chunk->facts.max_size);
        chunk->pages = take(in, chunk->facts.pages * sizeof(struct put_page));
        chunk->index = take(in, chunk->facts.index_size);
    }
    return in->bad || facts.size < 0 || facts.rows < 0 ? fail_note() : GRANARY_OK;
}

granary_err
gr_parquet_writer_add(struct gr_parquet_writer *writer, const void *bytes, size_t size)
{
    struct note_end end = {.size = 0};
    struct note_head head;
    struct cursor in;
    int64_t at = writer->at;
    uint8_t *note;
    granary_err err;

    if (size >= sizeof end) {
        memcpy(&end, (const uint8_t *)bytes + size - sizeof end, sizeof end);
    }
    if (end.magic != NOTE_MAGIC || end.size > size - sizeof end) {
        return fail_note();
    }
    if (!gr_grow(&writer->notes, &writer->note_room, writer->note_count, sizeof *writer->notes)) {
        return put_no_memory();
    }
    note = malloc(end.size + 1);
    if (note == NULL) {
        return put_no_memory();
    }
    writer->notes[writer->note_count++] = note;
    size -= sizeof end + (size_t)end.size;
    memcpy(note, (const uint8_t *)bytes + size, (size_t)end.size);
    in = (struct cursor){.at = note, .left = (size_t)end.size};
    take_into(&in, &head, sizeof head);
    err = in.bad ? fail_note() : take_fields(writer, &in, head.columns);
    for (uint32_t g = 0; err == GRANARY_OK && g < head.groups; g++) {
        err = take_group(writer, &in, at);
        at += err == GRANARY_OK ? writer->groups[writer->group_count - 1].size : 0;
    }
    if (err == GRANARY_OK && (in.left > 0 || at - writer->at != (int64_t)size)) {
        err = fail_note();
    }
    return err == GRANARY_OK ? give(writer, bytes, size) : err;
}

/* ---- the end ---- */

granary_err
gr_parquet_writer_finish(struct gr_parquet_writer *writer)
{
    size_t begin;
    uint32_t size;

    writer_put_index(writer);
    begin = writer->end.size;
    writer_put_footer(writer);
    if (!gr_buf_ok(&writer->end) || writer->end.size - begin > INT32_MAX) {
        return gr_buf_ok(&writer->end) ? gr_fail(GRANARY_EFULL, "the footer would have more than 2 GiB")
                                       : put_no_memory();
    }
    size = (uint32_t)(writer->end.size - begin);
    gr_buf_add(&writer->end, &size, sizeof size);
    gr_buf_add(&writer->end, magic, sizeof magic);
    return gr_buf_ok(&writer->end) ? give(writer, writer->end.bytes, writer->end.size) : put_no_memory();
}
