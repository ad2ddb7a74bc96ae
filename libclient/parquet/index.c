/* The page index. */
#include <stdlib.h>

#include "base/error.h"
#include "parquet/private.h"

/* ---- where pages are ---- */

static void
read_place(struct thrift_in *in, struct gr_parquet_place *place)
{
    struct thrift_field field = {.id = 0};

    *place = (struct gr_parquet_place){.at = -1, .first_row = -1};
    while (thrift_next(in, &field)) {
        int64_t value;

        if (field.id < 1 || field.id > 3) {
            thrift_skip(in, &field);
            continue;
        }
        value = thrift_int(in, &field);
        if (field.id == 1) {
            place->at = value;
        } else if (field.id == 3) {
            place->first_row = value;
        } else if (value > 0 && value <= INT32_MAX) {
            place->size = (uint32_t)value;
        }
    }
}

/* Pages follow one another within the chunk, and so do their rows. */
static bool
places_fit(const struct gr_parquet_place *places, size_t count, const struct gr_parquet_chunk *chunk, int64_t rows)
{
    int64_t end = chunk->at;

    for (size_t i = 0; i < count; i++) {
        if (places[i].at < end || places[i].size == 0 || places[i].at > chunk->at + chunk->size ||
            (int64_t)places[i].size > chunk->at + chunk->size - places[i].at || places[i].first_row > rows ||
            places[i].first_row < (i == 0 ? 0 : places[i - 1].first_row)) {
            return false;
        }
        end = places[i].at + places[i].size;
    }
    return count > 0 && places[0].first_row == 0;
}

granary_err
gr_parquet_offset_index(const uint8_t *bytes, size_t size, const struct gr_parquet_chunk *chunk, int64_t rows,
                        struct gr_parquet_place **ret_places, size_t *ret_count)
{
    struct thrift_in in = {.bytes = bytes, .size = size};
    struct thrift_field field = {.id = 0};
    struct gr_parquet_place *places = NULL;
    size_t count = 0;

    while (thrift_next(&in, &field)) {
        struct thrift_list list;

        if (field.id != 1 || places != NULL) {
            thrift_skip(&in, &field);
            continue;
        }
        list = thrift_list(&in, &field, THRIFT_STRUCT);
        places = calloc(list.count + 1, sizeof *places);
        if (places == NULL) {
            return parquet_no_memory();
        }
        for (; count < list.count && !in.bad; count++) {
            read_place(&in, &places[count]);
        }
    }
    if (in.bad || !places_fit(places, count, chunk, rows)) {
        free(places);
        return parquet_corrupt(&in, "a page index");
    }
    *ret_places = places;
    *ret_count = count;
    return GRANARY_OK;
}

/* ---- statistics of pages ---- */

struct page_stats {
    struct gr_parquet_stats *stats;
    bool *all_null;
    size_t count;
    unsigned seen; /* lists that were there */
};

static void
read_stats_list(struct thrift_in *in, const struct thrift_field *field, struct page_stats *pages)
{
    enum thrift_type type = field->id == 1                     ? THRIFT_TRUE
                            : field->id == 5 || field->id == 8 ? THRIFT_I64
                                                               : THRIFT_BINARY;
    struct thrift_list list = thrift_list(in, field, type);

    if (list.count != pages->count) {
        (void)thrift_fail(in, "it is of another number of pages");
        return;
    }
    pages->seen |= 1u << field->id;
    for (size_t i = 0; i < list.count && !in->bad; i++) {
        if (field->id == 1) {
            pages->all_null[i] = thrift_element_bool(in);
        } else if (field->id == 5) {
            pages->stats[i].nulls = thrift_element_int(in, &list);
        } else if (field->id == 8) {
            pages->stats[i].nans = thrift_element_int(in, &list);
        } else {
            struct thrift_bytes bytes = thrift_element_binary(in);
            struct gr_parquet_bytes *bound = field->id == 2 ? &pages->stats[i].min : &pages->stats[i].max;

            *bound = (struct gr_parquet_bytes){.bytes = bytes.bytes, .size = (uint32_t)bytes.size};
        }
    }
}

granary_err
gr_parquet_column_index(const uint8_t *bytes, size_t size, size_t count, struct gr_parquet_stats **ret_stats,
                        bool **ret_all_null)
{
    struct thrift_in in = {.bytes = bytes, .size = size};
    struct thrift_field field = {.id = 0};
    struct page_stats pages = {.count = count};

    pages.stats = calloc(count + 1, sizeof *pages.stats);
    pages.all_null = calloc(count + 1, sizeof *pages.all_null);
    if (pages.stats == NULL || pages.all_null == NULL) {
        free(pages.stats);
        free(pages.all_null);
        return parquet_no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        pages.stats[i] = (struct gr_parquet_stats){.nulls = -1, .nans = -1};
    }
    while (thrift_next(&in, &field)) {
        if ((field.id >= 1 && field.id <= 3) || field.id == 5 || field.id == 8) {
            read_stats_list(&in, &field, &pages);
        } else {
            thrift_skip(&in, &field);
        }
    }
    if (in.bad || (pages.seen & 0xe) != 0xe) {
        free(pages.stats);
        free(pages.all_null);
        return parquet_corrupt(&in, "a page index");
    }
    *ret_stats = pages.stats;
    *ret_all_null = pages.all_null;
    return GRANARY_OK;
}
