/* Values of fixed size, and bools, from pages into their column. */
#include "base/error.h"
#include "contract/int128.h"
#include "kernel/parquet/column.h"
#include "kernel/parquet/fixed.h"
#include "kernel/parquet/values.h"

/* ---- codes ---- */

static granary_err
outside(void)
{
    return gr_fail(GRANARY_ECORRUPT, "a code is outside of the dictionary");
}

/* Entries of some codes, which were checked. */
static void
gather(const uint8_t *entries, size_t width, const uint32_t *codes, size_t count, uint8_t *to)
{
#define GATHER(type)                                                                                                   \
    for (size_t i = 0; i < count; i++) {                                                                               \
        ((type *)(void *)to)[i] = ((const type *)(const void *)entries)[codes[i]];                                     \
    }
    if (width == 16) {
        GATHER(gr_uint128)
    } else if (width == 8) {
        GATHER(uint64_t)
    } else if (width == 4) {
        GATHER(uint32_t)
    } else {
        for (size_t i = 0; i < count; i++) {
            memcpy(to + i * width, entries + codes[i] * width, width);
        }
    }
#undef GATHER
}

static uint32_t
most_of(const uint32_t *codes, size_t count)
{
    uint32_t most = 0;

    for (size_t i = 0; i < count; i++) {
        most = codes[i] > most ? codes[i] : most;
    }
    return most;
}

static granary_err
take_codes(const struct dictionary *dictionary, size_t width, const struct part *part, uint8_t *to)
{
    struct hybrid codes;
    granary_err err = page_codes(part, &codes);

    for (int64_t i = 0; err == GRANARY_OK && i < part->there; i += COLUMN_BLOCK) {
        uint32_t block[COLUMN_BLOCK];
        size_t count = part->there - i < COLUMN_BLOCK ? (size_t)(part->there - i) : COLUMN_BLOCK;

        if (!hybrid_take(&codes, block, count)) {
            err = gr_fail(GRANARY_ECORRUPT, "a page has fewer codes than it says");
        } else if (most_of(block, count) >= dictionary->count) {
            err = outside();
        } else {
            gather(dictionary->values, width, block, count, to + (size_t)i * width);
        }
    }
    return err;
}

/* ---- values ---- */

/* Decimals of variable length. */
static granary_err
take_texts(struct column *column, const struct part *part, void *to)
{
    const struct page *page = part->page;
    granary_err err = texts_read(&column->texts, page->head.encoding, page->body, page->body_size, page->head.values);

    if (err == GRANARY_OK && (uint64_t)(part->passed + part->there) > column->texts.count) {
        err = gr_fail(GRANARY_ECORRUPT, "a page has fewer values than it says");
    }
    return err == GRANARY_OK
               ? fixed_convert_texts(column->leaf, column->texts.views + part->passed, (size_t)part->there, to)
               : err;
}

static granary_err
take_values(struct column *column, size_t width, const struct part *part, uint8_t *to)
{
    const struct page *page = part->page;
    struct values values;
    granary_err err = values_open(&values, column->leaf, page->head.encoding, page->body, page->body_size,
                                  page->head.values, &column->texts);

    err = err == GRANARY_OK ? values_skip(&values, (uint64_t)part->passed) : err;
    if (err == GRANARY_OK && fixed_is_same(column->leaf)) {
        return values_take(&values, to, (size_t)part->there);
    }
    for (int64_t i = 0; err == GRANARY_OK && i < part->there; i += COLUMN_BLOCK) {
        size_t count = part->there - i < COLUMN_BLOCK ? (size_t)(part->there - i) : COLUMN_BLOCK;
        const uint8_t *from;

        err = values_look(&values, column->block, count, &from);
        err = err == GRANARY_OK ? fixed_convert(column->leaf, from, count, to + (size_t)i * width) : err;
    }
    return err;
}

/* ---- bools ---- */

static granary_err
take_bools(struct column *column, const struct part *part)
{
    const struct page *page = part->page;
    const uint8_t *validity = column->made.view.validity;
    uint8_t *bits = (uint8_t *)(uintptr_t)column->made.view.values;
    struct values values;
    int64_t left = part->there;
    size_t at = COLUMN_BLOCK;
    granary_err err = part->there == 0 && page->body_size == 0
                          ? GRANARY_OK
                          : values_open(&values, column->leaf, page->head.encoding, page->body, page->body_size,
                                        page->head.values, &column->texts);

    if (err == GRANARY_OK && part->there == 0) {
        return GRANARY_OK;
    }
    err = err == GRANARY_OK ? values_skip(&values, (uint64_t)part->passed) : err;
    for (int64_t i = column->made_at; err == GRANARY_OK && i < column->made_at + part->rows; i++) {
        if (validity != NULL && !gr_bit(validity, i)) {
            continue;
        }
        if (at == COLUMN_BLOCK) {
            size_t count = left < COLUMN_BLOCK ? (size_t)left : COLUMN_BLOCK;

            err = values_take(&values, column->block, count);
            left -= (int64_t)count;
            at = 0;
        }
        if (err == GRANARY_OK && column->block[at++] != 0) {
            gr_bit_set(bits, i);
        }
    }
    return err;
}

granary_err
fixed_take(struct column *column, const struct part *part)
{
    size_t width = gr_dtype_size(column->leaf->dtype);
    uint8_t *to = (uint8_t *)(uintptr_t)column->made.view.values + (size_t)column->made_at * width;
    granary_err err = GRANARY_OK;

    if (column->leaf->form == GR_PARQUET_BOOL) {
        return take_bools(column, part);
    }
    if (part->there > 0) {
        err = page_is_codes(part->page)                    ? take_codes(&column->dictionary, width, part, to)
              : column->leaf->physical == GR_PARQUET_BYTES ? take_texts(column, part, to)
                                                           : take_values(column, width, part, to);
    }
    if (err == GRANARY_OK) {
        spread(to, width, part->rows, part->there, column->made.view.validity, column->made_at);
    }
    return err;
}
