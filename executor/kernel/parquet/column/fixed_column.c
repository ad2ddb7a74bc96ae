/* Values of fixed size, and bools, from pages into their column. */
#include "base/error.h"
#include "contract/int128.h"
#include "kernel/parquet/column/column.h"
#include "kernel/parquet/column/fixed.h"
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
    struct pick_walk walk = part_walk(part);
    struct hybrid codes;
    granary_err err = page_codes(part, &codes);

    for (int64_t i = 0, count; err == GRANARY_OK && i < part->there; i += count) {
        uint32_t block[COLUMN_BLOCK];
        bool good;

        if (part->picks != NULL) {
            (void)pick_walk_next(&walk);
            count = (int64_t)(walk.end - walk.begin);
            good = pick_codes(&codes, &walk, block);
        } else {
            count = part->there - i < COLUMN_BLOCK ? part->there - i : COLUMN_BLOCK;
            good = hybrid_take(&codes, block, (size_t)count);
        }
        if (!good) {
            err = gr_fail(GRANARY_ECORRUPT, "a page has fewer codes than it says");
        } else if (most_of(block, (size_t)count) >= dictionary->count) {
            err = outside();
        } else {
            gather(dictionary->values, width, block, (size_t)count, to + (size_t)i * width);
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
    struct text_view *views;
    granary_err err = texts_read(&column->texts, page->head.encoding, page->body, page->body_size, page->head.values);

    if (err == GRANARY_OK && part_values(part) > column->texts.count) {
        err = gr_fail(GRANARY_ECORRUPT, "a page has fewer values than it says");
    }
    views = column->texts.views;
    for (int64_t i = 0; err == GRANARY_OK && part->picks != NULL && i < part->there; i++) {
        views[i] = views[part->picks[i]];
    }
    return err == GRANARY_OK ? fixed_convert_texts(column->leaf, views + part->passed, (size_t)part->there, to) : err;
}

/* Values of a block, as they lie in the page, that stand at some positions. */
static void
pick_raw(const uint8_t *from, size_t width, const struct pick_walk *walk, uint8_t *to)
{
    const uint32_t *at = &walk->at[walk->begin];
    size_t count = walk->end - walk->begin;

#define PICK(bytes)                                                                                                    \
    for (size_t i = 0; i < count; i++) {                                                                               \
        memcpy(to + i * (bytes), from + (size_t)(at[i] - walk->first) * (bytes), bytes);                               \
    }
    switch (width) {
    case 4:
        PICK(4)
        break;
    case 8:
        PICK(8)
        break;
    case 16:
        PICK(16)
        break;
    default:
        PICK(width)
    }
#undef PICK
}

/* size: bytes of a value of ours. */
static granary_err
take_picked_values(struct column *column, size_t size, const struct part *part, struct values *values, uint8_t *to)
{
    struct pick_walk walk = part_walk(part);
    granary_err err = GRANARY_OK;

    while (err == GRANARY_OK && pick_walk_next(&walk)) {
        uint8_t *dst = to + walk.begin * size;
        bool is_same = fixed_is_same(column->leaf);
        const uint8_t *from;

        err = values_skip(values, walk.skip);
        err = err == GRANARY_OK ? values_look(values, column->block, walk.values, &from) : err;
        if (err == GRANARY_OK) {
            pick_raw(from, values->width, &walk, is_same ? dst : column->picked);
            err = is_same ? GRANARY_OK : fixed_convert(column->leaf, column->picked, walk.end - walk.begin, dst);
        }
    }
    return err;
}

/* size: bytes of a value of ours. */
static granary_err
take_values(struct column *column, size_t size, const struct part *part, uint8_t *to)
{
    const struct page *page = part->page;
    struct values values;
    granary_err err = values_open(&values, column->leaf, page->head.encoding, page->body, page->body_size,
                                  page->head.values, &column->texts);

    if (err == GRANARY_OK && part->picks != NULL) {
        return take_picked_values(column, size, part, &values, to);
    }
    err = err == GRANARY_OK ? values_skip(&values, (uint64_t)part->passed) : err;
    if (err == GRANARY_OK && fixed_is_same(column->leaf)) {
        return values_take(&values, to, (size_t)part->there);
    }
    for (int64_t i = 0; err == GRANARY_OK && i < part->there; i += COLUMN_BLOCK) {
        size_t count = part->there - i < COLUMN_BLOCK ? (size_t)(part->there - i) : COLUMN_BLOCK;
        const uint8_t *from;

        err = values_look(&values, column->block, count, &from);
        err = err == GRANARY_OK ? fixed_convert(column->leaf, from, count, to + (size_t)i * size) : err;
    }
    return err;
}

/* ---- bools ---- */

/* The next ones, as bytes in column->block. */
static granary_err
next_bools(struct column *column, const struct part *part, struct values *values, struct pick_walk *walk, int64_t left,
           size_t *ret_count)
{
    granary_err err;

    if (part->picks == NULL) {
        *ret_count = left < COLUMN_BLOCK ? (size_t)left : COLUMN_BLOCK;
        return values_take(values, column->block, *ret_count);
    }
    (void)pick_walk_next(walk);
    *ret_count = walk->end - walk->begin;
    err = values_skip(values, walk->skip);
    err = err == GRANARY_OK ? values_take(values, column->block, walk->values) : err;
    for (size_t i = 0; err == GRANARY_OK && i < *ret_count; i++) {
        column->block[i] = column->block[walk->at[walk->begin + i] - walk->first];
    }
    return err;
}

static granary_err
take_bools(struct column *column, const struct part *part)
{
    const struct page *page = part->page;
    const uint8_t *validity = column->made.view.validity;
    uint8_t *bits = (uint8_t *)(uintptr_t)column->made.view.values;
    struct pick_walk walk = part_walk(part);
    struct values values;
    int64_t left = part->there;
    size_t count = 0;
    size_t at = 0;
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
        if (at == count) {
            err = next_bools(column, part, &values, &walk, left, &count);
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
