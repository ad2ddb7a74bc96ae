/* A column made of chunks: pages are found, and their levels read; values are the matter of fixed_column.c and
 * text_column.c. */
#include "kernel/parquet/column/column.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "kernel/parquet/values.h"

granary_err
column_open(struct column *column, const struct gr_parquet_leaf *leaf, int64_t rows)
{
    size_t width = values_width(leaf);

    *column = (struct column){.leaf = leaf, .rows = rows};
    if (leaf->form == GR_PARQUET_TEXT) {
        return GRANARY_OK;
    }
    column->block = malloc(COLUMN_BLOCK * (width + 1));
    column->picked = malloc(COLUMN_BLOCK * (width + 1));
    if (column->block == NULL || column->picked == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    if (leaf->form == GR_PARQUET_BOOL || leaf->form == GR_PARQUET_NULLS) { /* its bits are set one by one */
        return gr_column_alloc(leaf->dtype, rows, 0, leaf->levels > 0 && leaf->form == GR_PARQUET_BOOL, &column->made);
    }
    return gr_column_alloc_unset(leaf->dtype, rows, 0, leaf->levels > 0, &column->made);
}

void
column_close(struct column *column)
{
    gr_column_free(&column->made);
    for (size_t i = 0; i < column->part_count; i++) {
        gr_column_free(&column->parts[i]);
    }
    free(column->parts);
    dictionary_free(&column->dictionary);
    text_free(&column->text);
    texts_free(&column->texts);
    free(column->block);
    free(column->picked);
    free(column->at_picks);
}

void
spread(void *values, size_t width, int64_t rows, int64_t there, const uint8_t *validity, int64_t at)
{
    char *bytes = values;

    if (there == rows) {
        return;
    }
#define SPREAD(type)                                                                                                   \
    do {                                                                                                               \
        type *of = values;                                                                                             \
        for (int64_t i = rows - 1; i >= 0; i--) {                                                                      \
            bool is = gr_bit(validity, at + i);                                                                        \
            there -= is;                                                                                               \
            of[i] = is ? of[there] : 0;                                                                                \
        }                                                                                                              \
    } while (0)
    switch (width) {
    case 1:
        SPREAD(uint8_t);
        break;
    case 2:
        SPREAD(uint16_t);
        break;
    case 4:
        SPREAD(uint32_t);
        break;
    case 8:
        SPREAD(uint64_t);
        break;
    default:
        for (int64_t i = rows - 1; i >= 0; i--) {
            if (gr_bit(validity, at + i)) {
                there--;
                memmove(bytes + (size_t)i * width, bytes + (size_t)there * width, width);
            } else {
                memset(bytes + (size_t)i * width, 0, width);
            }
        }
    }
#undef SPREAD
}

granary_err
page_codes(const struct part *part, struct hybrid *ret_codes)
{
    const struct page *page = part->page;

    if (page->body_size == 0) { /* without a value, not even the width is there */
        hybrid_open(ret_codes, page->body, 0, 0);
        return part->passed + part->there == 0 ? GRANARY_OK : gr_fail(GRANARY_ECORRUPT, "a page of codes is empty");
    }
    if (page->body[0] > 32) {
        return gr_fail(GRANARY_ECORRUPT, "a page has codes of %d bits", page->body[0]);
    }
    hybrid_open(ret_codes, page->body + 1, page->body_size - 1, page->body[0]);
    return hybrid_skip(ret_codes, (uint64_t)part->passed)
               ? GRANARY_OK
               : gr_fail(GRANARY_ECORRUPT, "a page has fewer codes than it says");
}

bool
pick_codes(struct hybrid *codes, const struct pick_walk *walk, uint32_t *to)
{
    uint32_t block[PICKS_BLOCK];

    if (!hybrid_skip(codes, walk->skip) || !hybrid_take(codes, block, walk->values)) {
        return false;
    }
    for (size_t i = walk->begin; i < walk->end; i++) {
        to[i - walk->begin] = block[walk->at[i] - walk->first];
    }
    return true;
}

static uint8_t *
validity_of(const struct column *column, int64_t *ret_at)
{
    bool is_text = column->leaf->form == GR_PARQUET_TEXT;
    const struct gr_column *made = is_text ? &column->text.codes : &column->made;

    *ret_at = is_text ? column->at : column->made_at;
    return (uint8_t *)(uintptr_t)made->view.validity;
}

static granary_err
take_part(struct column *column, const struct part *part)
{
    granary_err err = column->leaf->form == GR_PARQUET_TEXT ? text_take(column, part) : fixed_take(column, part);

    column->at += part->rows;
    column->made_at += part->rows;
    return err;
}

static granary_err
too_few_levels(void)
{
    return gr_fail(GRANARY_ECORRUPT, "a page has fewer levels than rows");
}

/* Rows of a page, behind those that nobody wants. */
static granary_err
take_page(struct column *column, const struct page *page, int64_t skip, int64_t rows)
{
    int64_t at;
    uint8_t *validity = validity_of(column, &at);
    struct part part = {.page = page, .rows = rows};
    struct levels levels;

    levels_open(&levels, page->levels, page->levels_size, column->leaf->levels);
    part.passed = levels_take(&levels, skip, NULL, 0);
    part.there = part.passed < 0 ? -1 : levels_take(&levels, rows, validity, at);
    return part.there < 0 ? too_few_levels() : take_part(column, &part);
}

/* ---- rows that were picked ---- */

/* Rows of a page, in column->at_picks, become the values that are there; which rows they are is noted. */
static granary_err
pick_values(struct column *column, const struct page *page, size_t count, int64_t *ret_there)
{
    int64_t page_rows = (int64_t)page->head.values;
    uint32_t *picks = column->at_picks;
    int64_t at;
    uint8_t *validity = validity_of(column, &at);
    int64_t there = 0;
    int64_t before = 0; /* values of rows up to `row` */
    int64_t row = 0;
    struct levels levels;
    uint8_t *bits;

    levels_open(&levels, page->levels, page->levels_size, column->leaf->levels);
    there = levels_take(&levels, page_rows, NULL, 0);
    *ret_there = (int64_t)count;
    if (there == page_rows) {
        if (validity != NULL) {
            run_ones(validity, at, (int64_t)count);
        }
        return GRANARY_OK;
    }
    bits = there < 0 ? NULL : calloc((size_t)gr_bitmap_bytes(page_rows) + PAGE_SLACK, 1);
    if (bits == NULL) {
        return there < 0 ? too_few_levels()
                         : gr_fail(GRANARY_ENOMEM, "out of memory for %lld rows", (long long)page_rows);
    }
    levels_open(&levels, page->levels, page->levels_size, column->leaf->levels);
    (void)levels_take(&levels, page_rows, bits, 0);
    there = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t wanted = picks[i];

        before += count_ones(bits, row, wanted);
        row = wanted;
        if (gr_bit(bits, wanted)) {
            gr_bit_set(validity, at + (int64_t)i);
            picks[there++] = (uint32_t)before;
        }
    }
    free(bits);
    *ret_there = there;
    return GRANARY_OK;
}

static granary_err
take_picks(struct column *column, const struct page *page, size_t count)
{
    struct part part = {.page = page, .rows = (int64_t)count, .picks = column->at_picks};
    granary_err err = pick_values(column, page, count, &part.there);

    return err == GRANARY_OK ? take_part(column, &part) : err;
}

/* Picks [*at, ...) that a page of so many rows has, from row `row` of the group on, as positions in it. */
static granary_err
find_picks(struct column *column, const struct stretch *stretch, int64_t row, int64_t rows, int64_t *at,
           size_t *ret_count)
{
    const struct picks *picks = stretch->picks;
    int64_t end = *at;

    while (end < picks->count && stretch->from + picks->rows[end] < row + rows) {
        end++;
    }
    *ret_count = (size_t)(end - *at);
    if (*ret_count > column->picks_room) {
        free(column->at_picks);
        column->picks_room = *ret_count + *ret_count / 2;
        column->at_picks = malloc(column->picks_room * sizeof *column->at_picks);
        if (column->at_picks == NULL) {
            column->picks_room = 0;
            return gr_fail(GRANARY_ENOMEM, "out of memory for %zu rows", *ret_count);
        }
    }
    for (size_t i = 0; i < *ret_count; i++) {
        column->at_picks[i] = (uint32_t)(stretch->from + picks->rows[*at + (int64_t)i] - row);
    }
    *at = end;
    return GRANARY_OK;
}

/* ---- pages ---- */

static granary_err
too_few(void)
{
    return gr_fail(GRANARY_ECORRUPT, "its pages have another number of rows than the row group");
}

/* A page of values that begins with row `row` of the group; picked: how many picks were read. */
static granary_err
add_page(struct column *column, struct pages *pages, const struct gr_parquet_page *head, const struct stretch *stretch,
         int64_t row, int64_t *picked)
{
    int64_t end = stretch->from + stretch->rows;
    int64_t skip = stretch->from > row ? stretch->from - row : 0;
    int64_t rows = (int64_t)head->values - skip;
    size_t picks = 0;
    struct page page;
    granary_err err = GRANARY_OK;

    rows = rows < end - row - skip ? rows : end - row - skip;
    if (stretch->picks != NULL) {
        err = find_picks(column, stretch, row, (int64_t)head->values, picked, &picks);
    }
    if (err != GRANARY_OK || rows <= 0 || (stretch->picks != NULL && picks == 0)) {
        pages_pass(pages, head);
        return err;
    }
    err = pages_open(pages, head, &page);
    if (err == GRANARY_OK) {
        err = stretch->picks != NULL ? take_picks(column, &page, picks) : take_page(column, &page, skip, rows);
    }
    return err;
}

static granary_err
add_dictionary(struct column *column, struct pages *pages, const struct gr_parquet_page *head)
{
    struct page page;
    granary_err err = pages_open(pages, head, &page);

    return err == GRANARY_OK ? dictionary_read(column, &page) : err;
}

granary_err
column_add(struct column *column, struct pages *pages, const struct stretch *stretch)
{
    const struct picks *picks = stretch->picks;
    int64_t out = picks != NULL ? picks->count : stretch->rows;
    int64_t row = 0;
    int64_t picked = 0;
    bool any = true;
    granary_err err = GRANARY_OK;

    dictionary_free(&column->dictionary);
    column->at = 0;
    pages->full = column->leaf->levels;
    if (column->leaf->form == GR_PARQUET_TEXT) {
        err = text_begin(column, out);
    }
    while (err == GRANARY_OK && row < stretch->from + stretch->rows && (picks == NULL || picked < picks->count) &&
           column->leaf->form != GR_PARQUET_NULLS) {
        struct gr_parquet_page head;

        err = pages_peek(pages, &head, &any);
        if (err != GRANARY_OK || !any) {
            return err == GRANARY_OK ? too_few() : err;
        }
        if (head.type == GR_PARQUET_PAGE_DICTIONARY) {
            err = add_dictionary(column, pages, &head);
        } else if (head.type == GR_PARQUET_PAGE_INDEX) {
            pages_pass(pages, &head);
        } else if ((int64_t)head.values > stretch->group_rows - row) {
            err = too_few();
        } else {
            err = add_page(column, pages, &head, stretch, row, &picked);
            row += head.values;
        }
    }
    return err == GRANARY_OK && column->leaf->form == GR_PARQUET_TEXT ? text_end(column, out) : err;
}

granary_err
column_add_part(struct column *column, struct gr_column *part)
{
    if (!gr_grow(&column->parts, &column->part_room, column->part_count, sizeof *column->parts)) {
        gr_column_free(part);
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    column->parts[column->part_count++] = *part;
    return GRANARY_OK;
}

/* The parts, one behind the other. */
static granary_err
join_parts(struct column *column, granary_dtype dtype, struct gr_column *ret_column)
{
    struct gr_run *runs;
    granary_err err;

    if (column->part_count == 1) {
        *ret_column = column->parts[0];
        column->part_count = 0;
        return GRANARY_OK;
    }
    runs = calloc(column->part_count + 1, sizeof *runs);
    if (runs == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < column->part_count; i++) {
        runs[i] = (struct gr_run){.column = &column->parts[i].view, .rows = column->parts[i].view.rows};
    }
    err = gr_column_concat(runs, column->part_count, dtype, ret_column);
    free(runs);
    return err;
}

granary_err
column_finish(struct column *column, struct gr_column *ret_column)
{
    if (column->leaf->form != GR_PARQUET_TEXT && column->part_count == 0) {
        *ret_column = column->made;
        column->made = (struct gr_column){.owned = false};
        gr_column_settle(ret_column);
        return GRANARY_OK;
    }
    return join_parts(column, column->leaf->dtype, ret_column);
}
