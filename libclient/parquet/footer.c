/* The footer: file, row groups and column chunks. */
#include <string.h>

#include "base/error.h"
#include "parquet/private.h"

#define ROWS_MOST ((int64_t)1 << 48) /* of a row group: sums of them stay numbers */

granary_err
parquet_no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory for the footer of a Parquet file");
}

granary_err
parquet_corrupt(const struct thrift_in *in, const char *where)
{
    return gr_fail(GRANARY_ECORRUPT, "%s is damaged at byte %zu: %s", where, in->at,
                   in->why != NULL ? in->why : "it says what cannot be");
}

/* ---- statistics ---- */

static struct gr_parquet_bytes
read_bound(struct thrift_in *in, const struct thrift_field *field)
{
    struct thrift_bytes bytes = thrift_binary(in, field);

    return (struct gr_parquet_bytes){.bytes = bytes.bytes, .size = (uint32_t)bytes.size};
}

static void
read_stats(struct thrift_in *in, struct gr_parquet_stats *stats)
{
    struct thrift_field field = {.id = 0};
    struct gr_parquet_bytes old_min = {.size = 0};
    struct gr_parquet_bytes old_max = {.size = 0};

    while (thrift_next(in, &field)) {
        switch (field.id) {
        case 1:
            old_max = read_bound(in, &field);
            break;
        case 2:
            old_min = read_bound(in, &field);
            break;
        case 3:
            stats->nulls = thrift_int(in, &field);
            break;
        case 5:
            stats->max = read_bound(in, &field);
            break;
        case 6:
            stats->min = read_bound(in, &field);
            break;
        case 9:
            stats->nans = thrift_int(in, &field);
            break;
        default:
            thrift_skip(in, &field);
        }
    }
    if (stats->min.bytes == NULL && stats->max.bytes == NULL) {
        stats->min = old_min;
        stats->max = old_max;
        stats->deprecated = true;
    }
}

/* ---- column chunks ---- */

static bool
is_code(int64_t encoding)
{
    return encoding == GR_PARQUET_PLAIN_DICTIONARY || encoding == GR_PARQUET_RLE_DICTIONARY;
}

/* All encodings together. PLAIN may be that of the dictionary alone, and is taken for that of values. */
static bool
read_encodings(struct thrift_in *in, const struct thrift_field *field)
{
    struct thrift_list list = thrift_list(in, field, THRIFT_I64);
    bool codes = false;
    bool others = false;

    for (size_t i = 0; i < list.count && !in->bad; i++) {
        int64_t encoding = thrift_element_int(in, &list);

        codes = codes || is_code(encoding);
        others = others || (!is_code(encoding) && encoding != GR_PARQUET_RLE && encoding != GR_PARQUET_BIT_PACKED);
    }
    return codes && !others;
}

/* How many pages there are of each type and encoding. */
static int64_t
read_data_pages(struct thrift_in *in, const struct thrift_field *field, bool *ret_coded)
{
    struct thrift_list list = thrift_list(in, field, THRIFT_STRUCT);
    int64_t pages = 0;
    bool others = false;

    for (size_t i = 0; i < list.count && !in->bad; i++) {
        struct thrift_field inner = {.id = 0};
        int64_t type = -1;
        int64_t encoding = -1;
        int64_t count = 0;

        while (thrift_next(in, &inner)) {
            if (inner.id == 1) {
                type = thrift_int(in, &inner);
            } else if (inner.id == 2) {
                encoding = thrift_int(in, &inner);
            } else if (inner.id == 3) {
                count = thrift_int(in, &inner);
            } else {
                thrift_skip(in, &inner);
            }
        }
        if ((type == GR_PARQUET_PAGE_DATA || type == GR_PARQUET_PAGE_DATA_V2) && count > 0 && count < INT32_MAX) {
            pages += count;
            others = others || !is_code(encoding);
        }
    }
    *ret_coded = pages > 0 && !others;
    return pages > 0 && pages < INT32_MAX ? pages : -1;
}

/* Before there were Bloom filters, some writers had something else in their fields. */
static int64_t
read_bloom(struct thrift_in *in, const struct thrift_field *field)
{
    if (field->type == THRIFT_I32 || field->type == THRIFT_I64) {
        return thrift_int(in, field);
    }
    thrift_skip(in, field);
    return 0;
}

struct chunk_place {
    int64_t data_at;
    int64_t dictionary_at;
    int64_t physical;
};

static void
read_meta(struct thrift_in *in, struct gr_parquet_chunk *chunk, struct chunk_place *place)
{
    struct thrift_field field = {.id = 0};

    while (thrift_next(in, &field)) {
        switch (field.id) {
        case 1:
            place->physical = thrift_int(in, &field);
            break;
        case 2:
            chunk->is_coded = read_encodings(in, &field);
            break;
        case 4:
            chunk->codec = (int32_t)thrift_int(in, &field);
            break;
        case 5:
            chunk->values = thrift_int(in, &field);
            break;
        case 6:
            chunk->raw_size = thrift_int(in, &field);
            break;
        case 7:
            chunk->size = thrift_int(in, &field);
            break;
        case 9:
            place->data_at = thrift_int(in, &field);
            break;
        case 11:
            place->dictionary_at = thrift_int(in, &field);
            break;
        case 12:
            if (thrift_struct(in, &field)) {
                read_stats(in, &chunk->stats);
            }
            break;
        case 13:
            chunk->data_pages = (int32_t)read_data_pages(in, &field, &chunk->is_coded);
            break;
        case 14:
            chunk->bloom_at = read_bloom(in, &field);
            break;
        case 15:
            chunk->bloom_size = read_bloom(in, &field);
            break;
        default:
            thrift_skip(in, &field);
        }
    }
}

static void
read_chunk(struct thrift_in *in, struct gr_parquet_chunk *chunk, struct chunk_place *place)
{
    struct thrift_field field = {.id = 0};
    bool any = false;

    while (thrift_next(in, &field)) {
        switch (field.id) {
        case 1:
            chunk->elsewhere = thrift_binary(in, &field).size > 0;
            break;
        case 3:
            if (thrift_struct(in, &field)) {
                read_meta(in, chunk, place);
                any = true;
            }
            break;
        case 4:
            chunk->offset_index_at = thrift_int(in, &field);
            break;
        case 5:
            chunk->offset_index_size = (int32_t)thrift_int(in, &field);
            break;
        case 6:
            chunk->column_index_at = thrift_int(in, &field);
            break;
        case 7:
            chunk->column_index_size = (int32_t)thrift_int(in, &field);
            break;
        case 8:
            chunk->encrypted = true;
            thrift_skip(in, &field);
            break;
        default:
            thrift_skip(in, &field);
        }
    }
    chunk->encrypted = chunk->encrypted || !any;
}

/* Whether so many bytes from there on are within the file. */
static bool
is_within(const struct gr_parquet *file, int64_t at, int64_t size)
{
    return at >= 0 && size >= 0 && (uint64_t)at <= file->file_size && (uint64_t)size <= file->file_size - (uint64_t)at;
}

static granary_err
settle_chunk(const struct gr_parquet *file, size_t group, size_t leaf, const struct chunk_place *place,
             struct gr_parquet_chunk *chunk)
{
    chunk->has_dictionary = place->dictionary_at > 0 && place->dictionary_at < place->data_at;
    chunk->at = chunk->has_dictionary ? place->dictionary_at : place->data_at;
    if (chunk->encrypted || chunk->elsewhere) { /* refused when it is wanted */
        return GRANARY_OK;
    }
    if (place->physical != (int64_t)file->leaves[leaf].physical) {
        return gr_fail(GRANARY_ECORRUPT, "row group %zu: column %zu has another type than in the schema", group, leaf);
    }
    if (!is_within(file, chunk->at, chunk->size) || chunk->values < 0 || chunk->raw_size < 0) {
        return gr_fail(GRANARY_ECORRUPT, "row group %zu: column %zu ends behind the end of the file", group, leaf);
    }
    if (!is_within(file, chunk->offset_index_at, chunk->offset_index_size) || chunk->offset_index_at == 0 ||
        !is_within(file, chunk->column_index_at, chunk->column_index_size)) { /* what is not there is not used */
        chunk->offset_index_size = 0;
        chunk->column_index_size = 0;
    }
    if (chunk->column_index_at == 0) {
        chunk->column_index_size = 0;
    }
    return GRANARY_OK;
}

/* ---- row groups ---- */

static granary_err
read_chunks(struct gr_parquet *file, struct thrift_in *in, const struct thrift_field *field,
            struct gr_parquet_group *group)
{
    struct thrift_list list = thrift_list(in, field, THRIFT_STRUCT);

    if (!in->bad && (list.count != file->leaf_count || group->chunks != NULL)) {
        return gr_fail(GRANARY_ECORRUPT, "row group %zu has %zu columns and the schema %zu", file->group_count,
                       list.count, file->leaf_count);
    }
    group->chunks = gr_region_zalloc(file->memory, list.count + 1, sizeof *group->chunks);
    if (group->chunks == NULL) {
        return parquet_no_memory();
    }
    for (size_t i = 0; i < list.count && !in->bad; i++) {
        struct gr_parquet_chunk *chunk = &group->chunks[i];
        struct chunk_place place = {.physical = -1};
        granary_err err;

        *chunk = (struct gr_parquet_chunk){.data_pages = -1, .entries = -1, .stats = {.nulls = -1, .nans = -1}};
        read_chunk(in, chunk, &place);
        err = in->bad ? GRANARY_OK : settle_chunk(file, file->group_count, i, &place, chunk);
        if (err != GRANARY_OK) {
            return err;
        }
    }
    return GRANARY_OK;
}

static granary_err
read_group(struct gr_parquet *file, struct thrift_in *in, struct gr_parquet_group *group)
{
    struct thrift_field field = {.id = 0};
    granary_err err = GRANARY_OK;

    *group = (struct gr_parquet_group){.rows = -1};
    while (err == GRANARY_OK && thrift_next(in, &field)) {
        if (field.id == 1) {
            err = read_chunks(file, in, &field, group);
        } else if (field.id == 3) {
            group->rows = thrift_int(in, &field);
        } else {
            thrift_skip(in, &field);
        }
    }
    if (err == GRANARY_OK && !in->bad && (group->rows < 0 || group->rows > ROWS_MOST || group->chunks == NULL)) {
        err = gr_fail(GRANARY_ECORRUPT, "row group %zu says nothing of its rows or columns", file->group_count);
    }
    for (size_t i = 0; err == GRANARY_OK && !in->bad && i < file->leaf_count; i++) {
        const struct gr_parquet_chunk *chunk = &group->chunks[i];

        if (file->leaves[i].repeats == 0 && !chunk->encrypted && !chunk->elsewhere && chunk->values != group->rows) {
            err = gr_fail(GRANARY_ECORRUPT, "row group %zu: column %zu has %lld values for %lld rows",
                          file->group_count, i, (long long)chunk->values, (long long)group->rows);
        }
    }
    return err;
}

static granary_err
read_groups(struct gr_parquet *file, struct thrift_in *in, const struct thrift_field *field)
{
    struct thrift_list list = thrift_list(in, field, THRIFT_STRUCT);
    size_t room = 0;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < list.count && !in->bad; i++) {
        if (i == room) {
            struct gr_parquet_group *more;

            room = room == 0 ? 16 : room * 2;
            more = gr_region_alloc(file->memory, room * sizeof *more);
            if (more == NULL) {
                return parquet_no_memory();
            }
            if (i > 0) {
                memcpy(more, file->groups, i * sizeof *more);
            }
            file->groups = more;
        }
        err = read_group(file, in, &file->groups[i]);
        file->rows += err == GRANARY_OK && !in->bad ? file->groups[i].rows : 0;
        if (file->rows > ROWS_MOST) {
            err = gr_fail(GRANARY_EUNSUPPORTED, "it claims more than 2^48 rows");
        }
        file->group_count = i + 1;
    }
    return err;
}

/* ---- key-value pairs ---- */

/* Columns that granary has written as int64, and that are durations. */
static void
set_durations(struct gr_parquet *file, struct thrift_bytes positions)
{
    size_t leaf = 0;
    bool any = false;

    for (size_t i = 0; i <= positions.size; i++) {
        if (i < positions.size && positions.bytes[i] >= '0' && positions.bytes[i] <= '9') {
            leaf = leaf < file->leaf_count ? leaf * 10 + (positions.bytes[i] - '0') : leaf;
            any = true;
            continue;
        }
        if (any && leaf < file->leaf_count && file->leaves[leaf].dtype == GRANARY_INT64) {
            file->leaves[leaf].dtype = GRANARY_DURATION;
        }
        leaf = 0;
        any = false;
    }
}

static void
read_pairs(struct gr_parquet *file, struct thrift_in *in, const struct thrift_field *field)
{
    struct thrift_list list = thrift_list(in, field, THRIFT_STRUCT);

    for (size_t i = 0; i < list.count && !in->bad; i++) {
        struct thrift_field inner = {.id = 0};
        struct thrift_bytes key = {.size = 0};
        struct thrift_bytes value = {.size = 0};

        while (thrift_next(in, &inner)) {
            if (inner.id == 1) {
                key = thrift_binary(in, &inner);
            } else if (inner.id == 2) {
                value = thrift_binary(in, &inner);
            } else {
                thrift_skip(in, &inner);
            }
        }
        if (key.size == strlen(GR_PARQUET_DURATIONS) && memcmp(key.bytes, GR_PARQUET_DURATIONS, key.size) == 0) {
            set_durations(file, value);
        }
    }
}

/* ---- the file ---- */

/* How bounds are ordered, by leaf: field 1 is the order of the type, field 2 IEEE 754's total order. */
static void
read_orders(struct gr_parquet *file, struct thrift_in *in, const struct thrift_field *field)
{
    struct thrift_list list = thrift_list(in, field, THRIFT_STRUCT);

    for (size_t i = 0; i < list.count && !in->bad; i++) {
        struct thrift_field inner = {.id = 0};

        while (thrift_next(in, &inner)) {
            if (i < file->leaf_count) {
                file->leaves[i].typed_order = inner.id == 1 || inner.id == 2;
            }
            thrift_skip(in, &inner);
        }
    }
}

granary_err
parquet_read_footer(struct gr_parquet *file, size_t size)
{
    struct thrift_in in = {.bytes = file->bytes, .size = size};
    struct thrift_field field = {.id = 0};
    struct parquet_elements elements = {.count = 0};
    bool has_schema = false;
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && thrift_next(&in, &field)) {
        if (field.id == 2 && !has_schema) {
            err = parquet_read_schema(file, &in, &field, &elements);
            err = err == GRANARY_OK ? parquet_set_columns(file, &elements) : err;
            has_schema = true;
        } else if (field.id == 4 && has_schema && file->groups == NULL) {
            err = read_groups(file, &in, &field);
        } else if (field.id == 5 && has_schema) {
            read_pairs(file, &in, &field);
        } else if (field.id == 7 && has_schema) {
            read_orders(file, &in, &field);
        } else if (field.id == 8) {
            err = gr_fail(GRANARY_EUNSUPPORTED, "it is encrypted, which cannot be read");
        } else {
            thrift_skip(&in, &field);
        }
    }
    if (err == GRANARY_OK && in.bad) {
        err = parquet_corrupt(&in, "its footer");
    }
    return err == GRANARY_OK && !has_schema ? gr_fail(GRANARY_ECORRUPT, "its footer has no schema") : err;
}
