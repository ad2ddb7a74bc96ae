/* PLAIN, DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY: see text.h. */
#include "kernel/parquet/column/text.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/parquet/delta.h"
#include "parquet/parquet.h"

#define COUNT_MOST ((size_t)1 << 26) /* of a page */
#define BYTES_MOST ((size_t)INT32_MAX)

void
texts_free(struct texts *texts)
{
    free(texts->views);
    free(texts->bytes);
    free(texts->forms);
    *texts = (struct texts){.count = 0};
}

static granary_err
no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory for the values of a page");
}

static granary_err
damaged(void)
{
    return gr_fail(GRANARY_ECORRUPT, "a page has values of impossible lengths");
}

static granary_err
make_room(struct texts *texts, size_t count)
{
    if (count > COUNT_MOST) {
        return gr_fail(GRANARY_EUNSUPPORTED, "a page has more than %zu texts", COUNT_MOST);
    }
    if (count > texts->room) {
        free(texts->views);
        texts->views = malloc(count * sizeof *texts->views);
        texts->room = texts->views == NULL ? 0 : count;
    }
    return count > 0 && texts->views == NULL ? no_memory() : GRANARY_OK;
}

static granary_err
read_plain(struct texts *texts, const uint8_t *bytes, size_t size, size_t most)
{
    size_t room = size / 4 < most ? size / 4 : most;
    granary_err err = make_room(texts, room);
    size_t at = 0;

    while (err == GRANARY_OK && texts->count < room && size - at >= 4) {
        uint32_t length;

        memcpy(&length, bytes + at, sizeof length);
        at += sizeof length;
        if (length > size - at) {
            return damaged();
        }
        texts->views[texts->count++] = (struct text_view){.at = bytes + at, .size = length};
        at += length;
    }
    return err;
}

/* Lengths, all of them, as a new array. */
static granary_err
read_lengths(struct delta *delta, const uint8_t *bytes, size_t size, size_t most, int64_t **ret_lengths,
             size_t *ret_count)
{
    size_t count;
    int64_t *lengths;

    if (!delta_open(delta, bytes, size) || delta->left > most) {
        return damaged();
    }
    count = (size_t)delta->left;
    if (count > COUNT_MOST) {
        return gr_fail(GRANARY_EUNSUPPORTED, "a page has more than %zu texts", COUNT_MOST);
    }
    lengths = malloc((count + 1) * sizeof *lengths);
    if (lengths == NULL) {
        return no_memory();
    }
    if (!delta_take(delta, lengths, count)) {
        free(lengths);
        return damaged();
    }
    *ret_lengths = lengths;
    *ret_count = count;
    return GRANARY_OK;
}

static granary_err
read_delta_lengths(struct texts *texts, const uint8_t *bytes, size_t size, size_t most)
{
    struct delta delta;
    int64_t *lengths = NULL;
    size_t count = 0;
    granary_err err = read_lengths(&delta, bytes, size, most, &lengths, &count);
    const uint8_t *at = err == GRANARY_OK ? delta_end(&delta) : bytes;

    err = err == GRANARY_OK ? make_room(texts, count) : err;
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        if (lengths[i] < 0 || lengths[i] > bytes + size - at) {
            err = damaged();
        } else {
            texts->views[texts->count++] = (struct text_view){.at = at, .size = (uint32_t)lengths[i]};
            at += lengths[i];
        }
    }
    free(lengths);
    return err;
}

/* So many bytes of the value before, and then the suffix. */
static granary_err
join(struct texts *texts, const int64_t *prefixes)
{
    size_t total = 0;
    size_t at = 0;
    uint32_t before = 0;

    for (size_t i = 0; i < texts->count; i++) {
        if (prefixes[i] < 0 || prefixes[i] > before) {
            return damaged();
        }
        total += (size_t)prefixes[i] + texts->views[i].size;
        if (total > BYTES_MOST) {
            return gr_fail(GRANARY_EFULL, "a page has more than 2 GiB of text");
        }
        before = (uint32_t)prefixes[i] + texts->views[i].size;
    }
    if (total > texts->bytes_room) {
        free(texts->bytes);
        texts->bytes = malloc(total);
        texts->bytes_room = texts->bytes == NULL ? 0 : total;
        if (texts->bytes == NULL) {
            return no_memory();
        }
    }
    for (size_t i = 0; i < texts->count; i++) {
        struct text_view *view = &texts->views[i];
        uint8_t *to = texts->bytes + at;
        size_t prefix = (size_t)prefixes[i];

        if (prefix > 0) {
            memcpy(to, texts->views[i - 1].at, prefix);
        }
        if (view->size > 0) {
            memcpy(to + prefix, view->at, view->size);
        }
        *view = (struct text_view){.at = to, .size = (uint32_t)prefix + view->size};
        at += view->size;
    }
    return GRANARY_OK;
}

static granary_err
read_delta(struct texts *texts, const uint8_t *bytes, size_t size, size_t most)
{
    struct delta delta;
    int64_t *prefixes = NULL;
    size_t count = 0;
    granary_err err = read_lengths(&delta, bytes, size, most, &prefixes, &count);

    if (err == GRANARY_OK) {
        const uint8_t *suffixes = delta_end(&delta);

        err = read_delta_lengths(texts, suffixes, (size_t)(bytes + size - suffixes), most);
    }
    if (err == GRANARY_OK) {
        err = texts->count == count ? join(texts, prefixes) : damaged();
    }
    free(prefixes);
    return err;
}

/* Room for so many bytes, which has nothing in it. */
static bool
bytes_room(uint8_t **bytes, size_t *room, size_t size)
{
    if (size > *room) {
        free(*bytes);
        *bytes = malloc(size);
        *room = *bytes == NULL ? 0 : size;
    }
    return size == 0 || *bytes != NULL;
}

granary_err
texts_read_fixed(struct texts *texts, int32_t encoding, const uint8_t *bytes, size_t size, size_t most, size_t width)
{
    size_t all = size / width;
    size_t count = all < most ? all : most;
    granary_err err;

    if (encoding == GR_PARQUET_DELTA_BYTES) {
        err = texts_read(texts, encoding, bytes, size, most);
        for (size_t i = 0; err == GRANARY_OK && i < texts->count; i++) {
            err = texts->views[i].size == width ? GRANARY_OK : damaged();
        }
        return err;
    }
    texts->count = 0;
    if (encoding != GR_PARQUET_PLAIN && encoding != GR_PARQUET_BYTE_STREAM_SPLIT) {
        return gr_fail(GRANARY_EUNSUPPORTED, "its values are in an encoding that is not supported (%d)", (int)encoding);
    }
    err = make_room(texts, count);
    if (err == GRANARY_OK && encoding == GR_PARQUET_BYTE_STREAM_SPLIT) { /* all first bytes, all second ones, ... */
        if (!bytes_room(&texts->bytes, &texts->bytes_room, count * width)) {
            return no_memory();
        }
        for (size_t i = 0; i < count * width; i++) {
            texts->bytes[i] = bytes[i % width * all + i / width];
        }
        bytes = texts->bytes;
    }
    for (; err == GRANARY_OK && texts->count < count; texts->count++) {
        texts->views[texts->count] = (struct text_view){.at = bytes + texts->count * width, .size = (uint32_t)width};
    }
    return err;
}

granary_err
texts_as_uuids(struct texts *texts)
{
    enum { FORM = 36 };
    static const char digits[] = "0123456789abcdef";

    if (!bytes_room(&texts->forms, &texts->forms_room, texts->count * FORM)) {
        return no_memory();
    }
    for (size_t i = 0; i < texts->count; i++) {
        uint8_t *form = texts->forms + i * FORM;
        uint8_t *to = form;

        for (size_t k = 0; k < 16; k++) {
            if (k == 4 || k == 6 || k == 8 || k == 10) {
                *to++ = '-';
            }
            *to++ = (uint8_t)digits[texts->views[i].at[k] >> 4];
            *to++ = (uint8_t)digits[texts->views[i].at[k] & 15];
        }
        texts->views[i] = (struct text_view){.at = form, .size = FORM};
    }
    return GRANARY_OK;
}

granary_err
texts_read(struct texts *texts, int32_t encoding, const uint8_t *bytes, size_t size, size_t most)
{
    texts->count = 0;
    switch (encoding) {
    case GR_PARQUET_PLAIN:
        return read_plain(texts, bytes, size, most);
    case GR_PARQUET_DELTA_LENGTH_BYTES:
        return read_delta_lengths(texts, bytes, size, most);
    case GR_PARQUET_DELTA_BYTES:
        return read_delta(texts, bytes, size, most);
    default:
        return gr_fail(GRANARY_EUNSUPPORTED, "its values are in an encoding that is not supported (%d)", (int)encoding);
    }
}
