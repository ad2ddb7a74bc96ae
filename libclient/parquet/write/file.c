/*
 * The file: row groups as they come, then the page index, then the footer. Notes of row groups are believed in what
 * they say of values, and not in how long they are.
 *
 * The footer annotates durations as what they are stored as, int64: the format has no such type. So their positions
 * stand among the file's key-value pairs (GR_PARQUET_DURATIONS).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "parquet/write/note.h"
#include "parquet/write/private.h"
#include "parquet/write/thrift_out.h"

static const char magic[4] = {'P', 'A', 'R', '1'};

/* A column of a row group. */
struct written {
    struct put_chunk facts;
    const uint8_t *min, *max;
    const uint8_t *pages; /* struct put_page, at any alignment */
    const uint8_t *index;
    int64_t index_at;
    int64_t places_at;
    int64_t places_size;
};

struct group {
    int64_t at;
    int64_t rows;
    int64_t size;
    struct written *chunks;
};

struct field {
    char *name;
    granary_dtype dtype;
};

struct gr_parquet_writer {
    gr_parquet_sink *sink;
    void *own;
    int64_t at; /* bytes that were written */
    int64_t rows;
    struct field *fields;
    size_t field_count;
    struct group *groups;
    size_t group_count;
    size_t group_room;
    uint8_t **notes;
    size_t note_count;
    size_t note_room;
    struct gr_buf end; /* page index and footer */
};

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
    err = take_fields(writer, &in, head.columns);
    for (uint32_t g = 0; err == GRANARY_OK && g < head.groups; g++) {
        err = take_group(writer, &in, at);
        at += err == GRANARY_OK ? writer->groups[writer->group_count - 1].size : 0;
    }
    if (err == GRANARY_OK && at - writer->at != (int64_t)size) {
        err = fail_note();
    }
    return err == GRANARY_OK ? give(writer, bytes, size) : err;
}

/* ---- the page index ---- */

static void
put_places(struct gr_buf *out, const struct group *group, const struct written *chunk)
{
    struct thrift_out places = {.buf = out};

    thrift_put_list(&places, 1, THRIFT_STRUCT, chunk->facts.pages);
    for (size_t i = 0; i < chunk->facts.pages; i++) {
        struct put_page page;

        memcpy(&page, chunk->pages + i * sizeof page, sizeof page);
        thrift_begin(&places);
        thrift_put_int(&places, 1, THRIFT_I64, group->at + page.at);
        thrift_put_int(&places, 2, THRIFT_I32, page.size);
        thrift_put_int(&places, 3, THRIFT_I64, page.first_row);
        thrift_end(&places);
    }
    gr_buf_add(out, "", 1);
}

static void
put_page_index(struct gr_parquet_writer *writer)
{
    struct gr_buf *out = &writer->end;

    for (size_t g = 0; g < writer->group_count; g++) {
        for (size_t i = 0; i < writer->field_count; i++) {
            struct written *chunk = &writer->groups[g].chunks[i];

            chunk->index_at = writer->at + (int64_t)out->size;
            gr_buf_add(out, chunk->index, chunk->facts.index_size);
        }
    }
    for (size_t g = 0; g < writer->group_count; g++) {
        for (size_t i = 0; i < writer->field_count; i++) {
            struct written *chunk = &writer->groups[g].chunks[i];

            chunk->places_at = writer->at + (int64_t)out->size;
            put_places(out, &writer->groups[g], chunk);
            chunk->places_size = writer->at + (int64_t)out->size - chunk->places_at;
        }
    }
}

/* ---- the footer ---- */

static void
put_logical(struct thrift_out *out, const struct field *field, const struct put_type *type)
{
    thrift_put_struct(out, 10);
    switch ((unsigned)field->dtype & 0xffU) {
    case GRANARY_STRING:
        thrift_put_struct(out, 1);
        break;
    case GRANARY_DECIMAL:
        thrift_put_struct(out, 5);
        thrift_put_int(out, 1, THRIFT_I32, (int64_t)((unsigned)field->dtype >> 8));
        thrift_put_int(out, 2, THRIFT_I32, GRANARY_DECIMAL_DIGITS);
        break;
    case GRANARY_DATE:
        thrift_put_struct(out, 6);
        break;
    case GRANARY_TIMESTAMP:
        thrift_put_struct(out, 8);
        thrift_put_bool(out, 1, false); /* not of a place in time: no zone */
        thrift_put_struct(out, 2);
        thrift_put_struct(out, 2); /* microseconds */
        thrift_end(out);
        thrift_end(out);
        break;
    case GRANARY_NULLTYPE:
        thrift_put_struct(out, 11);
        break;
    default:
        thrift_put_struct(out, 10);
        thrift_put_int(out, 1, THRIFT_I8, type->bits);
        thrift_put_bool(out, 2, type->is_signed);
    }
    thrift_end(out);
    thrift_end(out);
}

static void
put_field(struct thrift_out *out, const struct field *field)
{
    struct put_type type = {.kind = PUT_NULLS};
    unsigned kind = (unsigned)field->dtype & 0xffU;

    (void)put_type_of(field->dtype, &type);
    thrift_begin(out);
    thrift_put_int(out, 1, THRIFT_I32, type.physical);
    if (type.physical == GR_PARQUET_FIXED) {
        thrift_put_int(out, 2, THRIFT_I32, 16);
    }
    thrift_put_int(out, 3, THRIFT_I32, 1); /* optional */
    thrift_put_text(out, 4, field->name);
    if (type.converted >= 0) {
        thrift_put_int(out, 6, THRIFT_I32, type.converted);
    }
    if (kind == GRANARY_DECIMAL) {
        thrift_put_int(out, 7, THRIFT_I32, (int64_t)((unsigned)field->dtype >> 8));
        thrift_put_int(out, 8, THRIFT_I32, GRANARY_DECIMAL_DIGITS);
    }
    if (type.converted >= 0 || kind == GRANARY_TIMESTAMP || kind == GRANARY_NULLTYPE) {
        put_logical(out, field, &type);
    }
    thrift_end(out);
}

static void
put_schema(struct thrift_out *out, const struct gr_parquet_writer *writer)
{
    thrift_put_list(out, 2, THRIFT_STRUCT, writer->field_count + 1);
    thrift_begin(out);
    thrift_put_text(out, 4, "schema");
    thrift_put_int(out, 5, THRIFT_I32, (int64_t)writer->field_count);
    thrift_end(out);
    for (size_t i = 0; i < writer->field_count; i++) {
        put_field(out, &writer->fields[i]);
    }
}

static void
put_statistics(struct thrift_out *out, const struct written *chunk)
{
    const struct put_chunk *facts = &chunk->facts;

    thrift_put_struct(out, 12);
    thrift_put_int(out, 3, THRIFT_I64, facts->nulls);
    if (facts->has_bounds) {
        thrift_put_binary(out, 5, chunk->max, facts->max_size);
        thrift_put_binary(out, 6, chunk->min, facts->min_size);
        thrift_put_bool(out, 7, facts->max_exact);
        thrift_put_bool(out, 8, facts->min_exact);
    }
    if (facts->nans >= 0) {
        thrift_put_int(out, 9, THRIFT_I64, facts->nans);
    }
    thrift_end(out);
}

static void
put_page_counts(struct thrift_out *out, const struct put_chunk *facts)
{
    bool coded = facts->dictionary_at >= 0;

    thrift_put_list(out, 13, THRIFT_STRUCT, coded ? 2 : 1);
    if (coded) {
        thrift_begin(out);
        thrift_put_int(out, 1, THRIFT_I32, GR_PARQUET_PAGE_DICTIONARY);
        thrift_put_int(out, 2, THRIFT_I32, GR_PARQUET_PLAIN);
        thrift_put_int(out, 3, THRIFT_I32, 1);
        thrift_end(out);
    }
    thrift_begin(out);
    thrift_put_int(out, 1, THRIFT_I32, GR_PARQUET_PAGE_DATA);
    thrift_put_int(out, 2, THRIFT_I32, coded ? GR_PARQUET_RLE_DICTIONARY : GR_PARQUET_PLAIN);
    thrift_put_int(out, 3, THRIFT_I32, facts->pages);
    thrift_end(out);
}

static void
put_meta(struct thrift_out *out, const struct group *group, const struct written *chunk, const struct field *field)
{
    const struct put_chunk *facts = &chunk->facts;
    bool coded = facts->dictionary_at >= 0;
    struct put_type type = {.kind = PUT_NULLS};

    (void)put_type_of(field->dtype, &type);
    thrift_put_struct(out, 3);
    thrift_put_int(out, 1, THRIFT_I32, type.physical);
    thrift_put_list(out, 2, THRIFT_I32, coded ? 3 : 2);
    thrift_element_put_int(out, GR_PARQUET_PLAIN);
    thrift_element_put_int(out, GR_PARQUET_RLE);
    if (coded) {
        thrift_element_put_int(out, GR_PARQUET_RLE_DICTIONARY);
    }
    thrift_put_list(out, 3, THRIFT_BINARY, 1);
    thrift_element_put_binary(out, field->name, strlen(field->name));
    thrift_put_int(out, 4, THRIFT_I32, facts->codec);
    thrift_put_int(out, 5, THRIFT_I64, facts->values);
    thrift_put_int(out, 6, THRIFT_I64, facts->raw_size);
    thrift_put_int(out, 7, THRIFT_I64, facts->size);
    thrift_put_int(out, 9, THRIFT_I64, group->at + facts->data_at);
    if (coded) {
        thrift_put_int(out, 11, THRIFT_I64, group->at + facts->dictionary_at);
    }
    put_statistics(out, chunk);
    put_page_counts(out, facts);
    thrift_end(out);
}

static void
put_chunk(struct thrift_out *out, const struct group *group, const struct written *chunk, const struct field *field)
{
    thrift_begin(out);
    thrift_put_int(out, 2, THRIFT_I64, 0); /* what it says stands here, not elsewhere */
    put_meta(out, group, chunk, field);
    thrift_put_int(out, 4, THRIFT_I64, chunk->places_at);
    thrift_put_int(out, 5, THRIFT_I32, chunk->places_size);
    if (chunk->facts.index_size > 0) {
        thrift_put_int(out, 6, THRIFT_I64, chunk->index_at);
        thrift_put_int(out, 7, THRIFT_I32, chunk->facts.index_size);
    }
    thrift_end(out);
}

static void
put_groups(struct thrift_out *out, const struct gr_parquet_writer *writer)
{
    thrift_put_list(out, 4, THRIFT_STRUCT, writer->group_count);
    for (size_t g = 0; g < writer->group_count; g++) {
        const struct group *group = &writer->groups[g];
        int64_t raw_size = 0;

        thrift_begin(out);
        thrift_put_list(out, 1, THRIFT_STRUCT, writer->field_count);
        for (size_t i = 0; i < writer->field_count; i++) {
            put_chunk(out, group, &group->chunks[i], &writer->fields[i]);
            raw_size += group->chunks[i].facts.raw_size;
        }
        thrift_put_int(out, 2, THRIFT_I64, raw_size);
        thrift_put_int(out, 3, THRIFT_I64, group->rows);
        thrift_put_int(out, 5, THRIFT_I64, group->at);
        thrift_put_int(out, 6, THRIFT_I64, group->size);
        thrift_end(out);
    }
}

static void
put_durations(struct thrift_out *out, const struct gr_parquet_writer *writer)
{
    struct gr_buf positions = {0};

    for (size_t i = 0; i < writer->field_count; i++) {
        if (writer->fields[i].dtype == GRANARY_DURATION) {
            gr_buf_addf(&positions, positions.size > 0 ? " %zu" : "%zu", i);
        }
    }
    if (positions.size > 0) {
        thrift_put_list(out, 5, THRIFT_STRUCT, 1);
        thrift_begin(out);
        thrift_put_text(out, 1, GR_PARQUET_DURATIONS);
        thrift_put_binary(out, 2, positions.bytes, positions.size);
        thrift_end(out);
    }
    out->buf->failed = out->buf->failed || positions.failed;
    gr_buf_free(&positions);
}

static void
put_footer(struct gr_parquet_writer *writer)
{
    struct thrift_out out = {.buf = &writer->end};
    char maker[64];

    thrift_put_int(&out, 1, THRIFT_I32, 2);
    put_schema(&out, writer);
    thrift_put_int(&out, 3, THRIFT_I64, writer->rows);
    put_groups(&out, writer);
    put_durations(&out, writer);
    (void)snprintf(maker, sizeof maker, "granary version %s", granary_version());
    thrift_put_text(&out, 6, maker);
    thrift_put_list(&out, 7, THRIFT_STRUCT, writer->field_count);
    for (size_t i = 0; i < writer->field_count; i++) { /* bounds are ordered as the type is */
        thrift_begin(&out);
        thrift_put_struct(&out, 1);
        thrift_end(&out);
        thrift_end(&out);
    }
    gr_buf_add(&writer->end, "", 1);
}

granary_err
gr_parquet_writer_finish(struct gr_parquet_writer *writer)
{
    size_t begin;
    uint32_t size;

    put_page_index(writer);
    begin = writer->end.size;
    put_footer(writer);
    if (!gr_buf_ok(&writer->end) || writer->end.size - begin > INT32_MAX) {
        return gr_buf_ok(&writer->end) ? gr_fail(GRANARY_EFULL, "the footer would have more than 2 GiB")
                                       : put_no_memory();
    }
    size = (uint32_t)(writer->end.size - begin);
    gr_buf_add(&writer->end, &size, sizeof size);
    gr_buf_add(&writer->end, magic, sizeof magic);
    return gr_buf_ok(&writer->end) ? give(writer, writer->end.bytes, writer->end.size) : put_no_memory();
}
