/* Pages: found by their heads, checked against their sum, unpacked, and cut into levels and values. */
#include "kernel/parquet/pages.h"

#include <stdlib.h>

#include "base/error.h"
#include "kernel/parquet/codec.h"

void
pages_free(struct pages *pages)
{
    free(pages->raw);
    pages->raw = NULL;
    for (int i = 0; i < 2; i++) {
        free(pages->runs[i]);
        pages->runs[i] = NULL;
    }
}

granary_err
pages_peek(const struct pages *pages, struct gr_parquet_page *ret_head, bool *ret_any)
{
    *ret_any = pages->at < pages->size;
    return *ret_any ? gr_parquet_page_read(pages->bytes + pages->at, pages->size - pages->at, ret_head) : GRANARY_OK;
}

void
pages_pass(struct pages *pages, const struct gr_parquet_page *head)
{
    pages->at += head->head + head->size;
}

static granary_err
make_room(struct pages *pages, size_t size)
{
    if (size + PAGE_SLACK > pages->raw_room) {
        free(pages->raw);
        pages->raw_room = size + size / 4 + PAGE_SLACK;
        pages->raw = malloc(pages->raw_room);
        if (pages->raw == NULL) {
            pages->raw_room = 0;
            return gr_fail(GRANARY_ENOMEM, "out of memory for a page of %zu bytes", size);
        }
    }
    return GRANARY_OK;
}

/* The part of a page that is compressed; *ret_raw has it. */
static granary_err
unpack(struct pages *pages, const uint8_t *bytes, size_t size, size_t raw_size, const uint8_t **ret_raw)
{
    granary_err err;

    if (pages->codec == GR_PARQUET_RAW) {
        *ret_raw = bytes;
        return size == raw_size ? GRANARY_OK : gr_fail(GRANARY_ECORRUPT, "a page has another size than its head says");
    }
    err = make_room(pages, raw_size);
    if (err == GRANARY_OK) {
        err = codec_unpack(pages->codec, bytes, size, pages->raw, raw_size);
        memset(pages->raw + raw_size, 0, PAGE_SLACK);
        *ret_raw = pages->raw;
    }
    return err;
}

/* Levels stand before the values, behind their size. */
static granary_err
cut_levels(struct page *page, const uint8_t **ret_levels, size_t *ret_size)
{
    uint32_t size;

    if (page->body_size < sizeof size) {
        return gr_fail(GRANARY_ECORRUPT, "a page is shorter than its levels");
    }
    memcpy(&size, page->body, sizeof size);
    if (size > page->body_size - sizeof size) {
        return gr_fail(GRANARY_ECORRUPT, "a page is shorter than its levels");
    }
    *ret_levels = page->body + sizeof size;
    *ret_size = size;
    page->body = *ret_levels + size;
    page->body_size -= sizeof size + size;
    return GRANARY_OK;
}

/* Levels as old files have them: numbers one behind another, from the highest bit of each byte on, without their size. They
 * become one run, as of others. */
static granary_err
turn_levels(struct page *page, unsigned bits, uint8_t **run, const uint8_t **ret_levels, size_t *ret_size)
{
    uint64_t all = (uint64_t)page->head.values * bits;
    uint64_t groups = ((uint64_t)page->head.values + 7) / 8;
    size_t at = 0;
    uint8_t *out;

    if ((all + 7) / 8 > page->body_size) {
        return gr_fail(GRANARY_ECORRUPT, "a page is shorter than its levels");
    }
    free(*run);
    *run = out = calloc((size_t)(groups * bits) + 10 + PAGE_SLACK, 1);
    if (out == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory for the levels of a page");
    }
    for (uint64_t head = groups << 1 | 1; head > 0; head >>= 7) {
        out[at++] = (uint8_t)((head & 0x7f) | (head > 0x7f ? 0x80 : 0));
    }
    for (uint64_t i = 0; i < all; i++) {
        uint64_t to = i / bits * bits + (bits - 1 - i % bits); /* the highest bit of a number comes first */
        unsigned bit = page->body[i / 8] >> (7 - i % 8) & 1;

        out[at + to / 8] = (uint8_t)(out[at + to / 8] | bit << (to % 8));
    }
    *ret_levels = out;
    *ret_size = at + (size_t)(groups * bits);
    page->body += (all + 7) / 8;
    page->body_size -= (size_t)((all + 7) / 8);
    return GRANARY_OK;
}

static granary_err
take_levels(struct page *page, int32_t encoding, unsigned bits, uint8_t **run, const uint8_t **ret_levels,
            size_t *ret_size)
{
    switch (encoding) {
    case GR_PARQUET_RLE:
        return cut_levels(page, ret_levels, ret_size);
    case GR_PARQUET_BIT_PACKED:
        return turn_levels(page, bits, run, ret_levels, ret_size);
    default:
        return gr_fail(GRANARY_EUNSUPPORTED, "its nulls are in an encoding that is not supported (%d)", (int)encoding);
    }
}

static granary_err
cut_v1(struct pages *pages, struct page *page)
{
    const struct gr_parquet_page *head = &page->head;
    granary_err err = GRANARY_OK;

    if (pages->full == 0 || head->type == GR_PARQUET_PAGE_DICTIONARY) {
        return GRANARY_OK;
    }
    if (pages->repeats) {
        err =
            take_levels(page, head->repeat_encoding, bits_for(1), &pages->runs[0], &page->repeats, &page->repeats_size);
    }
    return err == GRANARY_OK ? take_levels(page, head->level_encoding, bits_for(pages->full), &pages->runs[1],
                                           &page->levels, &page->levels_size)
                             : err;
}

static granary_err
open_v2(struct pages *pages, const uint8_t *bytes, struct page *page)
{
    const struct gr_parquet_page *head = &page->head;
    size_t before = (size_t)head->levels_size + head->repeats_size;

    page->repeats = bytes;
    page->repeats_size = head->repeats_size;
    page->levels = bytes + head->repeats_size;
    page->levels_size = head->levels_size;
    page->body_size = head->raw_size - before;
    if (!head->compressed || page->body_size == 0) {
        page->body = bytes + before;
        return head->size - before >= page->body_size
                   ? GRANARY_OK
                   : gr_fail(GRANARY_ECORRUPT, "a page has fewer bytes than it says");
    }
    return unpack(pages, bytes + before, head->size - before, page->body_size, &page->body);
}

granary_err
pages_open(struct pages *pages, const struct gr_parquet_page *head, struct page *ret_page)
{
    const uint8_t *bytes = pages->bytes + pages->at + head->head;
    struct page page = {.head = *head};
    granary_err err = GRANARY_OK;

    if (head->has_crc && codec_crc(bytes, head->size) != head->crc) {
        return gr_fail(GRANARY_ECORRUPT, "a page has another checksum than when it was written");
    }
    if (head->type == GR_PARQUET_PAGE_DATA_V2) {
        err = open_v2(pages, bytes, &page);
    } else {
        page.body_size = head->raw_size;
        err = unpack(pages, bytes, head->size, head->raw_size, &page.body);
        err = err == GRANARY_OK ? cut_v1(pages, &page) : err;
    }
    if (err == GRANARY_OK) {
        pages_pass(pages, head);
        *ret_page = page;
    }
    return err;
}
