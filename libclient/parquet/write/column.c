/* A column of a row group: a dictionary's page perhaps, data pages, and what the footer and the page index tell of them. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "data/value/bits.h"
#include "parquet/write/private.h"
#include "parquet/write/thrift_out.h"

#define SMALL_DICTIONARY 16                  /* values for each of its entries, at least */
#define RANKED_MOST      ((uint32_t)1 << 17) /* entries of text: to order more takes longer than to compare values */

/* Bounds of a page, within those of all pages. */
struct page_bounds {
    size_t min_at, min_size;
    size_t max_at, max_size;
    int64_t nulls;
    int64_t nans;
    bool all_null;
    bool known;
};

struct writing {
    struct put_scratch *scratch;
    struct put_dense dense;
    struct put_dictionary dictionary;
    unsigned bits; /* of a code */
    struct put_chunk chunk;
    struct put_page *pages;
    struct page_bounds *bounds;
    size_t page_room;
    size_t bounds_room;
    struct put_bounds all;
    size_t begin; /* of the row group in out */
    struct gr_buf *out;
    /* Lists, of which the dense values are the items; NULL: it has none. */
    const granary_column *lists;
    int64_t first_row; /* of the column */
    int64_t row_count;
    int64_t entries;  /* that were written: items, and a place for each list without any */
    uint32_t *levels; /* scratch */
    size_t level_room;
};

/* ---- pages ---- */

static granary_err
pack(struct writing *writing, const void **ret_bytes, size_t *ret_size)
{
    const struct gr_parquet_packer *packer = writing->scratch->packer;
    const struct gr_buf *raw = &writing->scratch->raw;
    struct gr_buf *packed = &writing->scratch->packed;
    size_t most;
    void *room;

    *ret_bytes = raw->bytes;
    *ret_size = raw->size;
    if (writing->chunk.codec == GR_PARQUET_RAW || raw->size == 0) {
        return GRANARY_OK;
    }
    most = packer->most(raw->size);
    packed->size = 0;
    room = gr_buf_grow(packed, most);
    if (room == NULL) {
        return put_no_memory();
    }
    *ret_bytes = room;
    *ret_size = packer->pack(packer->own, (const uint8_t *)raw->bytes, raw->size, room, most);
    return *ret_size == 0 ? gr_fail(GRANARY_ENOMEM, "a page of %zu bytes cannot be compressed", raw->size) : GRANARY_OK;
}

/* The page that is in scratch, behind a header. */
static granary_err
add_page(struct writing *writing, enum gr_parquet_page_type type, int64_t values, enum gr_parquet_encoding encoding)
{
    const struct gr_buf *raw = &writing->scratch->raw;
    struct thrift_out head = {.buf = writing->out};
    size_t begin = writing->out->size;
    const void *bytes;
    size_t size;
    granary_err err;

    if (!gr_buf_ok(raw)) {
        return put_no_memory();
    }
    if (raw->size > INT32_MAX - 65536) {
        return gr_fail(GRANARY_EFULL, "a page of %zu bytes, and none may have 2 GiB", raw->size);
    }
    err = pack(writing, &bytes, &size);
    if (err != GRANARY_OK) {
        return err;
    }
    thrift_put_int(&head, 1, THRIFT_I32, type);
    thrift_put_int(&head, 2, THRIFT_I32, (int64_t)raw->size);
    thrift_put_int(&head, 3, THRIFT_I32, (int64_t)size);
    thrift_put_struct(&head, type == GR_PARQUET_PAGE_DICTIONARY ? 7 : 5);
    thrift_put_int(&head, 1, THRIFT_I32, values);
    thrift_put_int(&head, 2, THRIFT_I32, encoding);
    if (type == GR_PARQUET_PAGE_DATA) {
        thrift_put_int(&head, 3, THRIFT_I32, GR_PARQUET_RLE);
        thrift_put_int(&head, 4, THRIFT_I32, GR_PARQUET_RLE);
    }
    thrift_end(&head);
    gr_buf_add(writing->out, "", 1); /* the end of the header */
    writing->chunk.raw_size += (int64_t)(writing->out->size - begin + raw->size);
    gr_buf_add(writing->out, bytes, size);
    writing->chunk.size += (int64_t)(writing->out->size - begin);
    return gr_buf_ok(writing->out) ? GRANARY_OK : put_no_memory();
}

static granary_err
add_dictionary(struct writing *writing)
{
    const struct put_dictionary *dictionary = &writing->dictionary;
    struct gr_buf *raw = &writing->scratch->raw;

    writing->chunk.dictionary_at = (int64_t)(writing->out->size - writing->begin);
    raw->size = 0;
    for (uint32_t i = 0; i < dictionary->count; i++) {
        put_plain(&writing->dense, dictionary->firsts[i], dictionary->firsts[i] + (int64_t)1, raw);
    }
    return add_page(writing, GR_PARQUET_PAGE_DICTIONARY, dictionary->count, GR_PARQUET_PLAIN);
}

/* How many rows a page has that begins with that row: fewer when its text is long. */
static int64_t
page_rows(const struct writing *writing, int64_t row, int64_t value)
{
    const struct put_dense *dense = &writing->dense;
    int64_t most = dense->rows - row < PUT_PAGE_ROWS ? dense->rows - row : PUT_PAGE_ROWS;
    int64_t bytes = 0;
    int64_t i = 0;

    if (!put_is_text(dense->kind) || writing->dictionary.count > 0) {
        return most;
    }
    for (; i < most && (bytes < PUT_PAGE_BYTES || i % 8 != 0); i++) {
        if (dense->validity == NULL || put_bit(dense->validity, row + i)) {
            bytes += (int64_t)put_dense_text(dense, value++).size + 4;
        }
    }
    return i;
}

static void
note_bounds(struct writing *writing, struct page_bounds *page, int64_t from, int64_t to)
{
    struct gr_buf *out = &writing->scratch->bounds;
    struct put_bounds bounds = put_bounds_of(&writing->dense, &writing->dictionary, from, to);

    page->known = bounds.known;
    page->nans = bounds.nans;
    page->min_at = out->size;
    if (bounds.known) {
        (void)put_bound_add(writing->dense.kind, &bounds.min, false, out);
        page->min_size = out->size - page->min_at;
        page->max_at = out->size;
        (void)put_bound_add(writing->dense.kind, &bounds.max, true, out);
        page->max_size = out->size - page->max_at;
    }
    put_bounds_join(writing->dense.kind, &writing->all, &bounds);
}

/* The values of a page, or their codes, behind what is in scratch. */
static void
put_values(struct writing *writing, int64_t from, int64_t to)
{
    struct gr_buf *raw = &writing->scratch->raw;
    uint8_t bits = (uint8_t)writing->bits;

    if (writing->dictionary.count > 0) {
        gr_buf_add(raw, &bits, 1);
        put_codes(writing->dictionary.codes + from, to - from, bits, raw);
    } else {
        put_plain(&writing->dense, from, to, raw);
    }
}

/*
 * Whether pages get so much smaller that it is worth the time of all who read them: by a quarter. The first values tell,
 * unless the dictionary is a good part of the whole.
 */
static granary_err
choose_codec(struct writing *writing)
{
    struct gr_buf *raw = &writing->scratch->raw;
    int64_t sample = writing->dense.count < PUT_PAGE_ROWS ? writing->dense.count : PUT_PAGE_ROWS;
    const void *bytes;
    size_t size;
    granary_err err;

    if (writing->scratch->packer->always || writing->chunk.codec == GR_PARQUET_RAW ||
        writing->dictionary.count > writing->dense.count / SMALL_DICTIONARY) {
        return GRANARY_OK;
    }
    raw->size = 0;
    put_values(writing, 0, sample);
    err = gr_buf_ok(raw) ? pack(writing, &bytes, &size) : put_no_memory();
    if (err == GRANARY_OK && size > raw->size / 4 * 3) {
        writing->chunk.codec = GR_PARQUET_RAW;
    }
    return err;
}

/* A page whose levels are in scratch already: of so many rows or items. */
static granary_err
add_values(struct writing *writing, int64_t row, int64_t rows, int64_t from, int64_t to)
{
    size_t number = writing->chunk.pages;
    size_t begin = writing->out->size;
    bool coded = writing->dictionary.count > 0;
    granary_err err;

    if (!gr_grow(&writing->pages, &writing->page_room, number, sizeof *writing->pages) ||
        !gr_grow(&writing->bounds, &writing->bounds_room, number, sizeof *writing->bounds)) {
        return put_no_memory();
    }
    put_values(writing, from, to);
    err = add_page(writing, GR_PARQUET_PAGE_DATA, rows, coded ? GR_PARQUET_RLE_DICTIONARY : GR_PARQUET_PLAIN);
    writing->pages[number] = (struct put_page){
        .at = (int64_t)(begin - writing->begin), .first_row = row, .size = (int64_t)(writing->out->size - begin)};
    writing->bounds[number] = (struct page_bounds){.nulls = rows - (to - from), .all_null = from == to};
    note_bounds(writing, &writing->bounds[number], from, to);
    writing->chunk.pages++;
    return err;
}

static granary_err
add_data(struct writing *writing, int64_t row, int64_t rows, int64_t from, int64_t to)
{
    writing->scratch->raw.size = 0;
    put_levels(writing->dense.validity, row, rows, &writing->scratch->raw);
    return add_values(writing, row, rows, from, to);
}

/* ---- pages of lists ---- */

/* Definition levels, as the footer has the groups. */
enum { LEVEL_NULL, LEVEL_EMPTY, LEVEL_NULL_ITEM, LEVEL_VALUE };

static int64_t
items_in(const struct writing *writing, int64_t row)
{
    const granary_column *lists = writing->lists;
    int64_t at = writing->first_row + row;

    return lists->validity != NULL && !put_bit(lists->validity, at) ? 0 : lists->offsets[at + 1] - lists->offsets[at];
}

/* How many rows go into the next page, and how many items they have. */
static int64_t
list_page_rows(const struct writing *writing, int64_t row, int64_t *ret_entries)
{
    int64_t begin = row;
    int64_t entries = 0;

    do {
        int64_t items = items_in(writing, row++);

        entries += items > 0 ? items : 1;
    } while (row < writing->row_count && entries < PUT_PAGE_ROWS);
    *ret_entries = entries;
    return row - begin;
}

/* Rows whose items begin with that one among the dense rows. */
static granary_err
add_list_page(struct writing *writing, int64_t row, int64_t rows, int64_t entries, int64_t *item, int64_t *value)
{
    const struct put_dense *dense = &writing->dense;
    struct gr_buf *raw = &writing->scratch->raw;
    int64_t from = *value;
    uint32_t *repeats;
    uint32_t *levels;
    int64_t at = 0;

    if ((size_t)entries > writing->level_room) {
        free(writing->levels);
        writing->level_room = (size_t)entries + (size_t)entries / 4;
        writing->levels = malloc(2 * writing->level_room * sizeof *writing->levels);
        if (writing->levels == NULL) {
            writing->level_room = 0;
            return put_no_memory();
        }
    }
    repeats = writing->levels;
    levels = writing->levels + entries;
    for (int64_t i = row; i < row + rows; i++) {
        const uint8_t *validity = writing->lists->validity;
        int64_t items = items_in(writing, i);

        if (items == 0) {
            repeats[at] = 0;
            levels[at++] = validity != NULL && !put_bit(validity, writing->first_row + i) ? LEVEL_NULL : LEVEL_EMPTY;
        }
        for (int64_t k = 0; k < items; k++, (*item)++) {
            bool there = dense->validity == NULL || put_bit(dense->validity, *item);

            repeats[at] = k > 0;
            levels[at++] = there ? LEVEL_VALUE : LEVEL_NULL_ITEM;
            *value += there;
        }
    }
    raw->size = 0;
    put_long_levels(repeats, at, put_bits_for(1), raw);
    put_long_levels(levels, at, put_bits_for(LEVEL_VALUE), raw);
    writing->entries += at;
    return add_values(writing, row, at, from, *value);
}

static granary_err
add_list_pages(struct writing *writing)
{
    int64_t item = 0;
    int64_t value = 0;
    granary_err err = writing->dictionary.count > 0 ? add_dictionary(writing) : GRANARY_OK;

    writing->chunk.data_at = (int64_t)(writing->out->size - writing->begin);
    for (int64_t row = 0; err == GRANARY_OK && row < writing->row_count;) {
        int64_t entries = 0;
        int64_t rows = list_page_rows(writing, row, &entries);

        err = add_list_page(writing, row, rows, entries, &item, &value);
        row += rows;
    }
    return err;
}

/* ---- pages of values ---- */

static granary_err
add_pages(struct writing *writing)
{
    const struct put_dense *dense = &writing->dense;
    int64_t value = 0;
    granary_err err = writing->dictionary.count > 0 ? add_dictionary(writing) : GRANARY_OK;

    writing->chunk.data_at = (int64_t)(writing->out->size - writing->begin);
    for (int64_t row = 0; err == GRANARY_OK && row < dense->rows;) {
        int64_t rows = page_rows(writing, row, value);
        int64_t there = dense->validity == NULL ? rows : bits_count(dense->validity + row / 8, rows);

        err = add_data(writing, row, rows, value, value + there);
        row += rows;
        value += there;
    }
    return err;
}

/* ---- what is told ---- */

static int64_t
boundary_order(const struct writing *writing)
{
    const uint8_t *bytes = (const uint8_t *)writing->scratch->bounds.bytes;
    const struct page_bounds *before = NULL;
    bool rising = true;
    bool falling = true;

    for (size_t i = 0; i < writing->chunk.pages; i++) {
        const struct page_bounds *page = &writing->bounds[i];
        int min;
        int max;

        if (page->all_null) {
            continue;
        }
        if (before != NULL) {
            min = put_bounds_compare(writing->dense.kind, bytes + before->min_at, before->min_size,
                                     bytes + page->min_at, page->min_size);
            max = put_bounds_compare(writing->dense.kind, bytes + before->max_at, before->max_size,
                                     bytes + page->max_at, page->max_size);
            rising = rising && min <= 0 && max <= 0;
            falling = falling && min >= 0 && max >= 0;
        }
        before = page;
    }
    return rising ? 1 : falling ? 2 : 0;
}

/* The column index; none when a page has nothing but NaN, of which there are no bounds. */
static void
note_index(struct writing *writing, struct gr_buf *out)
{
    /* Without a bound there may be no bytes, but a place that is not null. */
    const char *bytes = writing->scratch->bounds.bytes != NULL ? writing->scratch->bounds.bytes : "";
    size_t count = writing->chunk.pages;
    struct thrift_out index = {.buf = out};

    for (size_t i = 0; i < count; i++) {
        if (!writing->bounds[i].known && !writing->bounds[i].all_null) {
            return;
        }
    }
    thrift_put_list(&index, 1, THRIFT_TRUE, count);
    for (size_t i = 0; i < count; i++) {
        thrift_element_put_bool(&index, writing->bounds[i].all_null);
    }
    thrift_put_list(&index, 2, THRIFT_BINARY, count);
    for (size_t i = 0; i < count; i++) {
        thrift_element_put_binary(&index, bytes + writing->bounds[i].min_at, writing->bounds[i].min_size);
    }
    thrift_put_list(&index, 3, THRIFT_BINARY, count);
    for (size_t i = 0; i < count; i++) {
        thrift_element_put_binary(&index, bytes + writing->bounds[i].max_at, writing->bounds[i].max_size);
    }
    thrift_put_int(&index, 4, THRIFT_I32, boundary_order(writing));
    thrift_put_list(&index, 5, THRIFT_I64, count);
    for (size_t i = 0; i < count; i++) {
        thrift_element_put_int(&index, writing->bounds[i].nulls);
    }
    if (writing->chunk.nans >= 0) {
        thrift_put_list(&index, 8, THRIFT_I64, count);
        for (size_t i = 0; i < count; i++) {
            thrift_element_put_int(&index, writing->bounds[i].nans);
        }
    }
    gr_buf_add(out, "", 1);
}

/* Behind its fixed part: bounds, pages, the column index. */
static void
note_chunk(struct writing *writing)
{
    struct put_chunk *chunk = &writing->chunk;
    struct gr_buf *note = &writing->scratch->note;
    enum put_kind kind = writing->dense.kind;
    size_t head = note->size;
    size_t at;

    if (gr_buf_grow(note, sizeof *chunk) == NULL) {
        return;
    }
    chunk->values = writing->lists != NULL ? writing->entries : writing->dense.rows;
    chunk->nulls = chunk->values - writing->dense.count;
    chunk->nans = kind == PUT_F32 || kind == PUT_F64 ? writing->all.nans : -1;
    chunk->has_bounds = writing->all.known;
    if (chunk->has_bounds) {
        at = note->size;
        chunk->min_exact = put_bound_add(kind, &writing->all.min, false, note);
        chunk->min_size = (uint32_t)(note->size - at);
        at = note->size;
        chunk->max_exact = put_bound_add(kind, &writing->all.max, true, note);
        chunk->max_size = (uint32_t)(note->size - at);
    }
    gr_buf_add(note, writing->pages, chunk->pages * sizeof *writing->pages);
    at = note->size;
    note_index(writing, note);
    chunk->index_size = (uint32_t)(note->size - at);
    if (gr_buf_ok(note)) {
        memcpy(note->bytes + head, chunk, sizeof *chunk);
    }
}

granary_err
put_column(struct put_scratch *scratch, const granary_column *column, const struct put_type *type,
           enum put_bloom_wish bloom, int64_t from, int64_t rows, size_t begin, struct gr_buf *out)
{
    struct writing writing = {.scratch = scratch,
                              .chunk = {.dictionary_at = -1, .codec = scratch->packer->codec},
                              .begin = begin,
                              .out = out};
    granary_err err;

    if (type->is_list) {
        int64_t first = rows > 0 ? column->offsets[from] : 0;
        int64_t end = rows > 0 ? column->offsets[from + rows] : 0;

        writing.lists = column;
        writing.first_row = from;
        writing.row_count = rows;
        err = put_dense_make(column->values, type->kind, first, end - first, &writing.dense);
    } else {
        err = put_dense_make(column, type->kind, from, rows, &writing.dense);
    }
    scratch->bounds.size = 0;
    if (err == GRANARY_OK) {
        err = put_dictionary_make(&writing.dense, &writing.dictionary);
    }
    if (err == GRANARY_OK && writing.dictionary.count > 0) {
        unsigned bits = put_bits_for(writing.dictionary.count - 1);

        writing.bits = bits > 0 ? bits : 1;
        err = put_is_text(type->kind) && writing.dictionary.count <= RANKED_MOST
                  ? put_dictionary_rank(&writing.dense, &writing.dictionary)
                  : GRANARY_OK;
    }
    err = err == GRANARY_OK ? choose_codec(&writing) : err;
    if (err == GRANARY_OK) {
        err = type->is_list ? add_list_pages(&writing) : add_pages(&writing);
    }
    if (err == GRANARY_OK && !type->is_list) {
        writing.chunk.bloom_at = (int64_t)scratch->blooms.size;
        err = put_bloom(&writing.dense, &writing.dictionary, bloom, &scratch->blooms);
        writing.chunk.bloom_size = (uint32_t)(scratch->blooms.size - (size_t)writing.chunk.bloom_at);
    }
    if (err == GRANARY_OK) {
        note_chunk(&writing);
        err = gr_buf_ok(&scratch->note) && gr_buf_ok(&scratch->bounds) ? GRANARY_OK : put_no_memory();
    }
    put_dense_free(&writing.dense);
    put_dictionary_free(&writing.dictionary);
    free(writing.pages);
    free(writing.bounds);
    free(writing.levels);
    return err;
}
