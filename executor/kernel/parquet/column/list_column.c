/*
 * Columns of lists. Two levels stand before the values of a page: repetition 0 begins a row, 1 goes on with its list; the
 * definition says whether there is an item, and a value of it. Items are read as a column of their own, a page at a time;
 * a row may go on in the next page.
 */
#include <stdlib.h>

#include "base/error.h"
#include "data/place.h"
#include "kernel/parquet/column/column.h"

#define BLOCK 512

granary_err
list_column_open(struct list_column *lists, const struct gr_parquet_leaf *leaf, int64_t rows)
{
    granary_err err;

    *lists = (struct list_column){.leaf = leaf, .rows = rows};
    err = column_open(&lists->items, leaf, 0);
    lists->items.plain = true;
    lists->offsets = malloc(((size_t)rows + 1) * sizeof *lists->offsets);
    lists->validity = gr_data_alloc((size_t)gr_bitmap_bytes(rows));
    if (err == GRANARY_OK && (lists->offsets == NULL || lists->validity == NULL)) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory for %lld lists", (long long)rows);
    }
    if (err == GRANARY_OK) {
        lists->offsets[0] = 0;
    }
    return err;
}

void
list_column_close(struct list_column *lists)
{
    column_close(&lists->items);
    free(lists->offsets);
    free(lists->validity);
}

/* ---- levels ---- */

/* The levels of a page, block by block. */
struct reader {
    struct hybrid repeats;
    struct hybrid levels;
    uint32_t left;
    uint32_t repeat[BLOCK];
    uint32_t level[BLOCK];
    size_t count; /* of the block */
};

static void
reader_open(struct reader *reader, const struct page *page, const struct gr_parquet_leaf *leaf)
{
    reader->left = page->head.values;
    hybrid_open(&reader->repeats, page->repeats, page->repeats_size, bits_for(leaf->repeats));
    hybrid_open(&reader->levels, page->levels, page->levels_size, bits_for(leaf->levels));
}

/* false: there are fewer levels than the page says; count 0: there are no more. */
static bool
reader_next(struct reader *reader)
{
    reader->count = reader->left < BLOCK ? reader->left : BLOCK;
    reader->left -= (uint32_t)reader->count;
    return reader->count == 0 || (hybrid_take(&reader->repeats, reader->repeat, reader->count) &&
                                  hybrid_take(&reader->levels, reader->level, reader->count));
}

/* Where a row group is, and what of it is wanted. */
struct walk {
    int64_t row; /* of the group, that began last; -1: none did */
    int64_t from;
    int64_t end;
    int64_t group_rows;
};

/* What a page has of the rows that are wanted. */
struct found {
    int64_t passed; /* values before */
    int64_t items;
    int64_t there; /* values of these */
};

static granary_err
too_few_levels(void)
{
    return gr_fail(GRANARY_ECORRUPT, "a page has fewer levels than it says");
}

/* Count, and, when bits is there, note rows and which items have a value. */
static granary_err
take_levels(struct list_column *lists, struct walk *walk, const struct page *page, uint8_t *bits,
            struct found *ret_found)
{
    const struct gr_parquet_leaf *leaf = lists->leaf;
    struct found found = {0};
    struct reader reader;

    reader_open(&reader, page, leaf);
    do {
        if (!reader_next(&reader)) {
            return too_few_levels();
        }
        for (size_t i = 0; i < reader.count; i++) {
            bool wanted;

            if (reader.repeat[i] > leaf->repeats || reader.level[i] > leaf->levels ||
                (reader.repeat[i] > 0 && (walk->row < 0 || reader.level[i] < leaf->items))) {
                return gr_fail(GRANARY_ECORRUPT, "a page has levels that cannot be");
            }
            if (reader.repeat[i] == 0 && ++walk->row >= walk->group_rows) {
                return gr_fail(GRANARY_ECORRUPT, "its pages have another number of rows than the row group");
            }
            wanted = walk->row >= walk->from && walk->row < walk->end;
            if (bits != NULL && reader.repeat[i] == 0 && wanted) {
                if (reader.level[i] + 1 >= leaf->items) {
                    gr_bit_set(lists->validity, lists->at);
                }
                lists->at++;
                lists->offsets[lists->at] = (int32_t)lists->have;
            }
            if (reader.level[i] >= leaf->items && wanted) {
                if (bits != NULL) {
                    if (reader.level[i] == leaf->levels) {
                        gr_bit_set(bits, found.items);
                    }
                    lists->have++;
                    lists->offsets[lists->at] = (int32_t)lists->have;
                }
                found.items++;
                found.there += reader.level[i] == leaf->levels;
            }
            found.passed += walk->row < walk->from && reader.level[i] == leaf->levels;
        }
    } while (reader.count > 0);
    *ret_found = found;
    return GRANARY_OK;
}

/* ---- pages ---- */

/* The items of a page. */
static granary_err
take_page(struct list_column *lists, struct walk *walk, const struct page *page)
{
    struct column *items = &lists->items;
    bool is_text = lists->leaf->form == GR_PARQUET_TEXT;
    struct walk before = *walk;
    struct found found;
    struct part part = {.page = page};
    granary_err err = take_levels(lists, &before, page, NULL, &found);

    if (err == GRANARY_OK && found.items > INT32_MAX - lists->have) {
        err = gr_fail(GRANARY_EFULL, "its lists have over %d items; write smaller row groups", INT32_MAX);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    gr_column_free(&items->made);
    err = is_text ? text_begin(items, found.items)
                  : gr_column_alloc(lists->leaf->dtype, found.items, 0, true, &items->made);
    if (err == GRANARY_OK) {
        const granary_column *made = is_text ? &items->text.codes.view : &items->made.view;

        err = take_levels(lists, walk, page, (uint8_t *)(uintptr_t)made->validity, &found);
    }
    items->at = 0;
    items->made_at = 0;
    part.passed = found.passed;
    part.rows = found.items;
    part.there = found.there;
    if (err == GRANARY_OK) {
        err = is_text ? text_take(items, &part) : fixed_take(items, &part);
    }
    if (err == GRANARY_OK && is_text) {
        items->at = found.items;
        err = text_end(items, found.items);
    } else if (err == GRANARY_OK) {
        gr_column_settle(&items->made);
        err = column_add_part(items, &items->made);
        items->made = (struct gr_column){.owned = false};
    }
    return err;
}

granary_err
list_column_add(struct list_column *lists, struct pages *pages, int64_t group_rows, int64_t from, int64_t rows)
{
    struct walk walk = {.row = -1, .from = from, .end = from + rows, .group_rows = group_rows};
    bool any = true;
    granary_err err = GRANARY_OK;

    dictionary_free(&lists->items.dictionary);
    lists->items.at = 0; /* a dictionary comes before all pages of its row group */
    pages->full = lists->leaf->levels;
    pages->repeats = true;
    while (err == GRANARY_OK && rows > 0) {
        struct gr_parquet_page head;
        struct page page;

        err = pages_peek(pages, &head, &any);
        if (err != GRANARY_OK || !any || walk.row >= walk.end) {
            break;
        }
        if (head.type == GR_PARQUET_PAGE_INDEX) {
            pages_pass(pages, &head);
            continue;
        }
        err = pages_open(pages, &head, &page);
        if (err == GRANARY_OK) {
            err = head.type == GR_PARQUET_PAGE_DICTIONARY ? dictionary_read(&lists->items, &page)
                                                          : take_page(lists, &walk, &page);
        }
    }
    if (err == GRANARY_OK && rows > 0 && walk.row + 1 < walk.end) {
        err = gr_fail(GRANARY_ECORRUPT, "its pages have another number of rows than the row group");
    }
    return err;
}

granary_err
list_column_finish(struct list_column *lists, struct gr_column *ret_column)
{
    struct gr_column items = {.owned = false};
    struct gr_column column = {.owned = false};
    granary_err err = lists->at == lists->rows ? GRANARY_OK
                                               : gr_fail(GRANARY_ECORRUPT, "it has %lld lists, not %lld",
                                                         (long long)lists->at, (long long)lists->rows);

    if (err == GRANARY_OK) {
        err = lists->items.part_count == 0 ? gr_column_alloc(lists->leaf->dtype, 0, 0, false, &items)
                                           : column_finish(&lists->items, &items);
    }
    err = err == GRANARY_OK ? gr_list_create(&items, lists->rows, true, &column) : err;
    if (err == GRANARY_OK) {
        memcpy((void *)(uintptr_t)column.view.offsets, lists->offsets,
               ((size_t)lists->rows + 1) * sizeof *lists->offsets);
        memcpy((void *)(uintptr_t)column.view.validity, lists->validity, (size_t)gr_bitmap_bytes(lists->rows));
        gr_column_settle(&column);
        *ret_column = column;
    }
    return err;
}
