/*
 * The file: row groups as they come, and then its end (footer.c). Notes of row groups are believed in what they say of
 * values, and not in how long they are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
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
    free(writer->wide);
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

/* What row groups are asked for. */
enum purpose { LOOK, COMPARE, ADD };

static bool
is_decimal(granary_dtype dtype)
{
    return ((unsigned)put_item_dtype(dtype) & 0xffU) == GRANARY_DECIMAL;
}

struct put_type
field_type(const struct field *field)
{
    struct put_type type = {.kind = PUT_NULLS};

    (void)put_type_of(field->dtype, &type);
    if (type.kind == PUT_DECIMAL && !field->wide) {
        put_type_narrow(&type);
    }
    return type;
}

static granary_err
first_field(struct field *field, const uint8_t *name, const struct note_column *facts)
{
    field->dtype = (granary_dtype)facts->dtype;
    field->wide = facts->wide != 0;
    field->name = strndup((const char *)name, facts->size);
    return field->name == NULL ? put_no_memory() : GRANARY_OK;
}

/* A column of what is added, beside the file's. */
static granary_err
match_field(const struct field *field, const uint8_t *name, const struct note_column *facts)
{
    granary_dtype dtype = (granary_dtype)facts->dtype;

    if (strlen(field->name) != facts->size || memcmp(field->name, name, facts->size) != 0) {
        return gr_fail(GRANARY_ETYPE, "a chunk has column '%.*s' where another has '%s'", (int)facts->size,
                       (const char *)name, field->name);
    }
    if (dtype != field->dtype && (put_item_dtype(dtype) != dtype || put_item_dtype(field->dtype) != field->dtype)) {
        return gr_fail(GRANARY_ETYPE, "column '%s' is %s in one chunk and %s in another: cast it in the graph",
                       field->name, granary_dtype_name(dtype), granary_dtype_name(field->dtype));
    }
    return dtype == GRANARY_NULLTYPE || field->dtype == GRANARY_NULLTYPE || dtype == field->dtype
               ? GRANARY_OK
               : gr_fail(GRANARY_ETYPE, "column '%s' is %s in one chunk and %s in another", field->name,
                         granary_dtype_name(dtype), granary_dtype_name(field->dtype));
}

/* How wide decimals are, in what is added and in the file. */
static bool
fit_width(struct field *field, const struct note_column *facts, enum purpose purpose)
{
    bool wide = facts->wide != 0;

    if (!is_decimal((granary_dtype)facts->dtype)) {
        return true;
    }
    if (purpose == LOOK || field->dtype == GRANARY_NULLTYPE) {
        field->wide = field->wide || wide;
    }
    return purpose == LOOK || field->wide == wide;
}

/* *ret_fits: see gr_parquet_writer_fits(). */
static granary_err
take_fields(struct gr_parquet_writer *writer, struct cursor *in, enum purpose purpose, bool *ret_fits)
{
    bool first = writer->fields == NULL;
    struct note_head head;
    granary_err err = GRANARY_OK;

    *ret_fits = true;
    take_into(in, &head, sizeof head);
    if (in->bad || head.columns > in->left) {
        return fail_note();
    }
    if (first) {
        writer->fields = calloc((size_t)head.columns + 1, sizeof *writer->fields);
        writer->field_count = writer->fields == NULL ? 0 : head.columns;
        err = writer->fields == NULL ? put_no_memory() : GRANARY_OK;
    } else if (head.columns != writer->field_count) {
        err = gr_fail(GRANARY_ETYPE, "a chunk has %u columns where another has %zu", (unsigned)head.columns,
                      writer->field_count);
    }
    for (uint32_t i = 0; err == GRANARY_OK && i < head.columns; i++) {
        struct field *field = &writer->fields[i];
        struct note_column facts;
        const uint8_t *name;
        struct put_type type;

        take_into(in, &facts, sizeof facts);
        name = take(in, facts.size);
        err = name == NULL ? fail_note() : put_type_of((granary_dtype)facts.dtype, &type);
        if (err == GRANARY_OK) {
            err = first ? first_field(field, name, &facts) : match_field(field, name, &facts);
        }
        if (err == GRANARY_OK) {
            *ret_fits = fit_width(field, &facts, purpose) && *ret_fits;
            field->dtype = field->dtype == GRANARY_NULLTYPE ? (granary_dtype)facts.dtype : field->dtype;
        }
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
    *group = (struct group){.at = at, .rows = facts.rows, .size = facts.size, .blooms = facts.blooms};
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
    return in->bad || facts.size < 0 || facts.rows < 0 || facts.blooms < 0 ? fail_note() : GRANARY_OK;
}

/* The note, in what gr_parquet_put_groups() made; *ret_size: of the pages before it. */
static granary_err
find_note(const void *bytes, size_t size, struct cursor *ret_note, size_t *ret_size)
{
    struct note_end end = {.size = 0};

    if (size >= sizeof end) {
        memcpy(&end, (const uint8_t *)bytes + size - sizeof end, sizeof end);
    }
    if (end.magic != NOTE_MAGIC || end.size > size - sizeof end) {
        return fail_note();
    }
    *ret_size = size - sizeof end - (size_t)end.size;
    *ret_note = (struct cursor){.at = (const uint8_t *)bytes + *ret_size, .left = (size_t)end.size};
    return GRANARY_OK;
}

granary_err
gr_parquet_writer_look(struct gr_parquet_writer *writer, const void *bytes, size_t size)
{
    struct cursor in;
    bool fits;
    granary_err err = find_note(bytes, size, &in, &size);

    return err == GRANARY_OK ? take_fields(writer, &in, LOOK, &fits) : err;
}

granary_err
gr_parquet_writer_fits(struct gr_parquet_writer *writer, const void *bytes, size_t size, bool *ret_fits,
                       const bool **ret_wide)
{
    struct cursor in;
    granary_err err = find_note(bytes, size, &in, &size);

    err = err == GRANARY_OK ? take_fields(writer, &in, COMPARE, ret_fits) : err;
    if (err == GRANARY_OK && writer->wide == NULL) {
        writer->wide = calloc(writer->field_count + 1, sizeof *writer->wide);
        err = writer->wide == NULL ? put_no_memory() : GRANARY_OK;
    }
    for (size_t i = 0; err == GRANARY_OK && i < writer->field_count; i++) {
        writer->wide[i] = writer->fields[i].wide;
    }
    *ret_wide = writer->wide;
    return err;
}

/* The note is kept: the footer is made of it. */
static granary_err
keep_note(struct gr_parquet_writer *writer, struct cursor *note)
{
    uint8_t *copy = NULL;

    if (!gr_grow(&writer->notes, &writer->note_room, writer->note_count, sizeof *writer->notes)) {
        return put_no_memory();
    }
    copy = malloc(note->left + 1);
    if (copy == NULL) {
        return put_no_memory();
    }
    writer->notes[writer->note_count++] = copy;
    memcpy(copy, note->at, note->left);
    note->at = copy;
    return GRANARY_OK;
}

granary_err
gr_parquet_writer_add(struct gr_parquet_writer *writer, const void *bytes, size_t size)
{
    struct note_head head = {.groups = 0};
    struct cursor in;
    int64_t at = writer->at;
    bool fits = true;
    granary_err err = find_note(bytes, size, &in, &size);

    err = err == GRANARY_OK ? keep_note(writer, &in) : err;
    if (err == GRANARY_OK && in.left >= sizeof head) {
        memcpy(&head, in.at, sizeof head);
    }
    err = err == GRANARY_OK ? take_fields(writer, &in, ADD, &fits) : err;
    if (err == GRANARY_OK && !fits) {
        err = gr_fail(GRANARY_ETYPE, "a chunk has decimals of another width than the file");
    }
    for (uint32_t g = 0; err == GRANARY_OK && g < head.groups; g++) {
        err = take_group(writer, &in, at);
        if (err == GRANARY_OK) {
            const struct group *group = &writer->groups[writer->group_count - 1];

            at += group->size + group->blooms;
        }
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
