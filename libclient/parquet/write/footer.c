/*
 * What ends a file: the page index, and the footer.
 *
 * The footer annotates durations as what they are stored as, int64: the format has no such type. So their positions
 * stand among the file's key-value pairs (GR_PARQUET_DURATIONS).
 */
#include <stdio.h>
#include <string.h>

#include "parquet/write/thrift_out.h"
#include "parquet/write/writer.h"

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

void
writer_put_index(struct gr_parquet_writer *writer)
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

/* Of a decimal, as far as its values are known. */
static int64_t
digits_of(const struct put_type *type)
{
    return type->physical == GR_PARQUET_FIXED ? GRANARY_DECIMAL_DIGITS : PUT_NARROW;
}

static void
put_logical(struct thrift_out *out, granary_dtype dtype, const struct put_type *type)
{
    unsigned kind = (unsigned)dtype & 0xffU;

    thrift_put_struct(out, 10);
    switch (kind) {
    case GRANARY_STRING:
        thrift_put_struct(out, 1);
        break;
    case GRANARY_DECIMAL:
        thrift_put_struct(out, 5);
        thrift_put_int(out, 1, THRIFT_I32, (int64_t)((unsigned)dtype >> 8));
        thrift_put_int(out, 2, THRIFT_I32, digits_of(type));
        break;
    case GRANARY_DATE:
        thrift_put_struct(out, 6);
        break;
    case GRANARY_TIME:
    case GRANARY_TIMESTAMP:
    case GRANARY_TIMESTAMPTZ:
        thrift_put_struct(out, kind == GRANARY_TIME ? 7 : 8);
        thrift_put_bool(out, 1, kind == GRANARY_TIMESTAMPTZ); /* whether it is a place in time: of UTC */
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
put_leaf(struct thrift_out *out, const char *name, granary_dtype dtype, const struct put_type *type)
{
    unsigned kind = (unsigned)dtype & 0xffU;

    thrift_begin(out);
    thrift_put_int(out, 1, THRIFT_I32, type->physical);
    if (type->physical == GR_PARQUET_FIXED) {
        thrift_put_int(out, 2, THRIFT_I32, 16);
    }
    thrift_put_int(out, 3, THRIFT_I32, 1); /* optional */
    thrift_put_text(out, 4, name);
    if (type->converted >= 0) {
        thrift_put_int(out, 6, THRIFT_I32, type->converted);
    }
    if (kind == GRANARY_DECIMAL) {
        thrift_put_int(out, 7, THRIFT_I32, (int64_t)((unsigned)dtype >> 8));
        thrift_put_int(out, 8, THRIFT_I32, digits_of(type));
    }
    if (type->converted >= 0 || kind == GRANARY_TIMESTAMP || kind == GRANARY_NULLTYPE) {
        put_logical(out, dtype, type);
    }
    thrift_end(out);
}

/* Groups of a list's three levels: the list, and the one that is repeated. */
static void
put_group_element(struct thrift_out *out, const char *name, bool repeated)
{
    thrift_begin(out);
    thrift_put_int(out, 3, THRIFT_I32, repeated ? 2 : 1);
    thrift_put_text(out, 4, name);
    thrift_put_int(out, 5, THRIFT_I32, 1);
    if (!repeated) {
        thrift_put_int(out, 6, THRIFT_I32, 3);
        thrift_put_struct(out, 10);
        thrift_put_struct(out, 3);
        thrift_end(out);
        thrift_end(out);
    }
    thrift_end(out);
}

static void
put_field(struct thrift_out *out, const struct field *field)
{
    struct put_type type = field_type(field);

    if (type.is_list) {
        put_group_element(out, field->name, false);
        put_group_element(out, "list", true);
    }
    put_leaf(out, type.is_list ? "element" : field->name, put_item_dtype(field->dtype), &type);
}

static void
put_schema(struct thrift_out *out, const struct gr_parquet_writer *writer)
{
    size_t lists = 0;

    for (size_t i = 0; i < writer->field_count; i++) {
        lists += put_item_dtype(writer->fields[i].dtype) != writer->fields[i].dtype;
    }
    thrift_put_list(out, 2, THRIFT_STRUCT, writer->field_count + 2 * lists + 1);
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
    struct put_type type = field_type(field);

    thrift_put_struct(out, 3);
    thrift_put_int(out, 1, THRIFT_I32, type.physical);
    thrift_put_list(out, 2, THRIFT_I32, coded ? 3 : 2);
    thrift_element_put_int(out, GR_PARQUET_PLAIN);
    thrift_element_put_int(out, GR_PARQUET_RLE);
    if (coded) {
        thrift_element_put_int(out, GR_PARQUET_RLE_DICTIONARY);
    }
    thrift_put_list(out, 3, THRIFT_BINARY, type.is_list ? 3 : 1);
    thrift_element_put_binary(out, field->name, strlen(field->name));
    if (type.is_list) {
        thrift_element_put_binary(out, "list", 4);
        thrift_element_put_binary(out, "element", 7);
    }
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
    if (facts->bloom_size > 0) {
        thrift_put_int(out, 14, THRIFT_I64, group->at + group->size + facts->bloom_at);
        thrift_put_int(out, 15, THRIFT_I32, facts->bloom_size);
    }
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
        if (put_item_dtype(writer->fields[i].dtype) == GRANARY_DURATION) {
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

void
writer_put_footer(struct gr_parquet_writer *writer)
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
