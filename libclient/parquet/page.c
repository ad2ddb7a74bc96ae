/* Page headers. */
#include "base/error.h"
#include "parquet/private.h"

static uint32_t
read_count(struct thrift_in *in, const struct thrift_field *field)
{
    int64_t value = thrift_int(in, field);

    if (value < 0 || value > INT32_MAX) {
        (void)thrift_fail(in, "a size or count is negative");
        return 0;
    }
    return (uint32_t)value;
}

/* Of a dictionary, the first two fields are the same. */
static void
read_data_head(struct thrift_in *in, bool is_dictionary, struct gr_parquet_page *page)
{
    struct thrift_field field = {.id = 0};

    while (thrift_next(in, &field)) {
        if (field.id == 1) {
            page->values = read_count(in, &field);
        } else if (field.id == 2) {
            page->encoding = (int32_t)thrift_int(in, &field);
        } else if (field.id == 3 && !is_dictionary) {
            page->level_encoding = (int32_t)thrift_int(in, &field);
        } else if (field.id == 4 && !is_dictionary) {
            page->repeat_encoding = (int32_t)thrift_int(in, &field);
        } else {
            thrift_skip(in, &field);
        }
    }
}

static void
read_v2_head(struct thrift_in *in, struct gr_parquet_page *page)
{
    struct thrift_field field = {.id = 0};

    while (thrift_next(in, &field)) {
        switch (field.id) {
        case 1:
            page->values = read_count(in, &field);
            break;
        case 2:
            page->nulls = read_count(in, &field);
            break;
        case 3:
            page->rows = read_count(in, &field);
            break;
        case 4:
            page->encoding = (int32_t)thrift_int(in, &field);
            break;
        case 5:
            page->levels_size = read_count(in, &field);
            break;
        case 6:
            page->repeats_size = read_count(in, &field);
            break;
        case 7:
            page->compressed = thrift_bool(in, &field);
            break;
        default:
            thrift_skip(in, &field);
        }
    }
}

static void
read_head(struct thrift_in *in, struct gr_parquet_page *page, bool *ret_described)
{
    struct thrift_field field = {.id = 0};
    int64_t type = -1;

    while (thrift_next(in, &field)) {
        switch (field.id) {
        case 1:
            type = thrift_int(in, &field);
            break;
        case 2:
            page->raw_size = read_count(in, &field);
            break;
        case 3:
            page->size = read_count(in, &field);
            break;
        case 4:
            page->crc = (uint32_t)thrift_int(in, &field);
            page->has_crc = true;
            break;
        case 5:
        case 7:
            if (thrift_struct(in, &field)) {
                read_data_head(in, field.id == 7, page);
                *ret_described =
                    *ret_described || type == (field.id == 5 ? GR_PARQUET_PAGE_DATA : GR_PARQUET_PAGE_DICTIONARY);
            }
            break;
        case 8:
            if (thrift_struct(in, &field)) {
                read_v2_head(in, page);
                *ret_described = *ret_described || type == GR_PARQUET_PAGE_DATA_V2;
            }
            break;
        default:
            thrift_skip(in, &field);
        }
    }
    if (type < GR_PARQUET_PAGE_DATA || type > GR_PARQUET_PAGE_DATA_V2) {
        (void)thrift_fail(in, "a page is of no known type");
        return;
    }
    page->type = (enum gr_parquet_page_type)type;
}

granary_err
gr_parquet_page_read(const uint8_t *bytes, size_t size, struct gr_parquet_page *ret_page)
{
    return parquet_page_head(bytes, size, size, ret_page);
}

granary_err
parquet_page_head(const uint8_t *bytes, size_t there, size_t size, struct gr_parquet_page *ret_page)
{
    struct thrift_in in = {.bytes = bytes, .size = there};
    struct gr_parquet_page page = {
        .compressed = true, .encoding = -1, .level_encoding = GR_PARQUET_RLE, .repeat_encoding = GR_PARQUET_RLE};
    bool described = false;

    read_head(&in, &page, &described);
    page.head = in.at;
    if (!in.bad && page.type != GR_PARQUET_PAGE_INDEX && !described) {
        (void)thrift_fail(&in, "a page does not say what is in it");
    }
    if (!in.bad && page.size > size - page.head) {
        (void)thrift_fail(&in, "a page ends behind the end of its column");
    }
    if (!in.bad && page.type == GR_PARQUET_PAGE_DATA_V2 &&
        ((uint64_t)page.levels_size + page.repeats_size > page.size ||
         (uint64_t)page.levels_size + page.repeats_size > page.raw_size)) {
        (void)thrift_fail(&in, "a page has more levels than bytes");
    }
    if (in.bad) {
        return parquet_corrupt(&in, "a page header");
    }
    *ret_page = page;
    return GRANARY_OK;
}
