/* Values of fixed size: see values.h. */
#include "kernel/parquet/values.h"

#include "base/error.h"

#define BLOCK 512

size_t
values_width(const struct gr_parquet_leaf *leaf)
{
    switch (leaf->physical) {
    case GR_PARQUET_BOOLEAN:
        return 1;
    case GR_PARQUET_INT32:
    case GR_PARQUET_FLOAT:
        return 4;
    case GR_PARQUET_INT64:
    case GR_PARQUET_DOUBLE:
        return 8;
    case GR_PARQUET_INT96:
        return 12;
    default:
        return (size_t)leaf->length;
    }
}

static granary_err
too_few(void)
{
    return gr_fail(GRANARY_ECORRUPT, "a page has fewer values than it says");
}

static granary_err
open_bools(struct values *values)
{
    uint32_t size;

    if (values->encoding == GR_PARQUET_PLAIN) {
        hybrid_open(&values->hybrid, values->bytes, values->size, 1);
        values->hybrid.packed = true;
        values->hybrid.run = values->bytes;
        values->hybrid.left = (uint64_t)values->size * 8;
        values->hybrid.at = values->hybrid.end;
        return GRANARY_OK;
    }
    if (values->size < sizeof size) {
        return too_few();
    }
    memcpy(&size, values->bytes, sizeof size);
    if (size > values->size - sizeof size) {
        return too_few();
    }
    hybrid_open(&values->hybrid, values->bytes + sizeof size, size, 1);
    return GRANARY_OK;
}

static granary_err
open_texts(struct values *values, uint64_t count)
{
    granary_err err = texts_read(values->texts, values->encoding, values->bytes, values->size, (size_t)count);

    for (size_t i = 0; err == GRANARY_OK && i < values->texts->count; i++) {
        if (values->texts->views[i].size != values->width) {
            err = gr_fail(GRANARY_ECORRUPT, "a page has values of another length than the column");
        }
    }
    values->count = err == GRANARY_OK ? values->texts->count : 0;
    return err;
}

static bool
is_integer(const struct values *values)
{
    return values->physical == GR_PARQUET_INT32 || values->physical == GR_PARQUET_INT64;
}

granary_err
values_open(struct values *values, const struct gr_parquet_leaf *leaf, int32_t encoding, const uint8_t *bytes,
            size_t size, uint64_t count, struct texts *texts)
{
    *values = (struct values){.physical = leaf->physical,
                              .encoding = encoding,
                              .width = values_width(leaf),
                              .bytes = bytes,
                              .size = size,
                              .count = values_width(leaf) > 0 ? size / values_width(leaf) : 0,
                              .texts = texts};
    if (leaf->physical == GR_PARQUET_BOOLEAN && (encoding == GR_PARQUET_PLAIN || encoding == GR_PARQUET_RLE)) {
        return open_bools(values);
    }
    if (encoding == GR_PARQUET_PLAIN) {
        return GRANARY_OK;
    }
    if (encoding == GR_PARQUET_BYTE_STREAM_SPLIT && leaf->physical != GR_PARQUET_BOOLEAN &&
        leaf->physical != GR_PARQUET_INT96) {
        return size % values->width == 0 ? GRANARY_OK : gr_fail(GRANARY_ECORRUPT, "a page ends within a value");
    }
    if (encoding == GR_PARQUET_DELTA_BINARY_PACKED && is_integer(values)) {
        return delta_open(&values->delta, bytes, size) ? GRANARY_OK
                                                       : gr_fail(GRANARY_ECORRUPT, "a page of differences is damaged");
    }
    if (encoding == GR_PARQUET_DELTA_BYTES && leaf->physical == GR_PARQUET_FIXED) {
        return open_texts(values, count);
    }
    return gr_fail(GRANARY_EUNSUPPORTED, "its values are in an encoding that is not supported (%d)", (int)encoding);
}

/* ---- by encoding ---- */

static bool
take_bools(struct values *values, uint8_t *to, size_t count)
{
    for (size_t i = 0; i < count; i += BLOCK) {
        uint32_t numbers[BLOCK];
        size_t block = count - i < BLOCK ? count - i : BLOCK;

        if (!hybrid_take(&values->hybrid, numbers, block)) {
            return false;
        }
        for (size_t k = 0; k < block; k++) {
            to[i + k] = (uint8_t)numbers[k];
        }
    }
    return true;
}

static bool
take_delta(struct values *values, uint8_t *to, size_t count)
{
    if (values->width == 8) { /* to is aligned for what it holds */
        return delta_take(&values->delta, (int64_t *)(void *)to, count);
    }
    for (size_t i = 0; i < count; i += BLOCK) {
        int64_t numbers[BLOCK];
        size_t block = count - i < BLOCK ? count - i : BLOCK;

        if (!delta_take(&values->delta, numbers, block)) {
            return false;
        }
        for (size_t k = 0; k < block; k++) {
            int32_t narrow = (int32_t)numbers[k];

            memcpy(to + (i + k) * sizeof narrow, &narrow, sizeof narrow);
        }
    }
    return true;
}

/* The first bytes of all values stand together, then the second ones, ... */
static void
take_split(struct values *values, uint8_t *to, size_t count)
{
    for (size_t b = 0; b < values->width; b++) {
        const uint8_t *from = values->bytes + b * values->count + values->at;

        for (size_t i = 0; i < count; i++) {
            to[i * values->width + b] = from[i];
        }
    }
}

granary_err
values_take(struct values *values, uint8_t *to, size_t count)
{
    if (values->physical == GR_PARQUET_BOOLEAN) {
        return take_bools(values, to, count) ? GRANARY_OK : too_few();
    }
    if (values->encoding == GR_PARQUET_DELTA_BINARY_PACKED) {
        return take_delta(values, to, count) ? GRANARY_OK : too_few();
    }
    if (count > values->count - values->at) {
        return too_few();
    }
    if (values->encoding == GR_PARQUET_BYTE_STREAM_SPLIT) {
        take_split(values, to, count);
    } else if (values->encoding == GR_PARQUET_DELTA_BYTES) {
        for (size_t i = 0; i < count; i++) {
            memcpy(to + i * values->width, values->texts->views[values->at + i].at, values->width);
        }
    } else if (count > 0) {
        memcpy(to, values->bytes + values->at * values->width, count * values->width);
    }
    values->at += count;
    return GRANARY_OK;
}

granary_err
values_look(struct values *values, uint8_t *scratch, size_t count, const uint8_t **ret_values)
{
    *ret_values = scratch;
    if (values->encoding != GR_PARQUET_PLAIN || values->physical == GR_PARQUET_BOOLEAN) {
        return values_take(values, scratch, count);
    }
    *ret_values = values->bytes + values->at * values->width;
    return values_skip(values, count);
}

granary_err
values_skip(struct values *values, uint64_t count)
{
    if (values->physical == GR_PARQUET_BOOLEAN) {
        return hybrid_skip(&values->hybrid, count) ? GRANARY_OK : too_few();
    }
    if (values->encoding == GR_PARQUET_DELTA_BINARY_PACKED) {
        while (count > 0) {
            int64_t nowhere[BLOCK];
            size_t block = count < BLOCK ? (size_t)count : BLOCK;

            if (!delta_take(&values->delta, nowhere, block)) {
                return too_few();
            }
            count -= block;
        }
        return GRANARY_OK;
    }
    if (count > values->count - values->at) {
        return too_few();
    }
    values->at += count;
    return GRANARY_OK;
}
