/* Text from pages into its column: as codes, or plain. */
#include <stdlib.h>

#include "base/error.h"
#include "base/memory/grow.h"
#include "kernel/parquet/column/column.h"

void
text_free(struct text_group *text)
{
    gr_column_free(&text->codes);
    free(text->offsets);
    gr_buf_free(&text->bytes);
    *text = (struct text_group){.plain = false};
}

granary_err
text_views(struct column *column, int32_t encoding, const struct page *page)
{
    const struct gr_parquet_leaf *leaf = column->leaf;
    granary_err err;

    if (leaf->physical == GR_PARQUET_BYTES) {
        return texts_read(&column->texts, encoding, page->body, page->body_size, page->head.values);
    }
    err = texts_read_fixed(&column->texts, encoding, page->body, page->body_size, page->head.values,
                           (size_t)leaf->length);
    return err == GRANARY_OK && leaf->dtype == GRANARY_STRING ? texts_as_uuids(&column->texts) : err;
}

granary_err
text_begin(struct column *column, int64_t rows)
{
    text_free(&column->text);
    return gr_column_alloc_unset(GRANARY_INT32, rows, 0, column->leaf->levels > 0, &column->text.codes);
}

/* ---- plain ---- */

static granary_err
no_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory for text");
}

static granary_err
too_much(void)
{
    return gr_fail(GRANARY_EFULL, "a row group has more than 2 GiB of text; write smaller row groups");
}

static granary_err
put_text(struct text_group *text, int64_t row, const void *bytes, size_t size)
{
    if (size > (size_t)INT32_MAX - text->bytes.size) {
        return too_much();
    }
    if (size > 0) {
        gr_buf_add(&text->bytes, bytes, size);
    }
    text->offsets[row + 1] = (int32_t)text->bytes.size;
    return gr_buf_ok(&text->bytes) ? GRANARY_OK : no_memory();
}

static granary_err
put_code(struct column *column, int64_t row, uint32_t code)
{
    const granary_column *entries = &column->dictionary.entries.view;
    size_t size;
    const char *bytes;

    if (code >= column->dictionary.count) {
        return gr_fail(GRANARY_ECORRUPT, "a code is outside of the dictionary");
    }
    bytes = gr_text_at(entries, code, &size);
    return put_text(&column->text, row, bytes, size);
}

static bool
has_value(const struct column *column, int64_t row)
{
    const uint8_t *validity = column->text.codes.view.validity;

    return validity == NULL || gr_bit(validity, row);
}

/* From now on it is plain, and so are the rows that are there. */
static granary_err
become_plain(struct column *column)
{
    struct text_group *text = &column->text;
    const int32_t *codes = text->codes.view.values;
    granary_err err = GRANARY_OK;

    text->offsets = malloc(((size_t)text->codes.view.rows + 1) * sizeof *text->offsets);
    if (text->offsets == NULL) {
        return no_memory();
    }
    text->plain = true;
    text->offsets[0] = 0;
    for (int64_t i = 0; err == GRANARY_OK && i < column->at; i++) {
        err = has_value(column, i) ? put_code(column, i, (uint32_t)codes[i]) : put_text(text, i, NULL, 0);
    }
    return err;
}

/* Values of a page that are none of the dictionary. */
static granary_err
take_views(struct column *column, const struct part *part)
{
    const struct page *page = part->page;
    struct text_group *text = &column->text;
    const struct text_view *view;
    int32_t at = (int32_t)text->bytes.size;
    int64_t next = 0;
    uint64_t bytes = 0;
    char *to;
    granary_err err = text_views(column, page->head.encoding, page);

    if (err == GRANARY_OK && part_values(part) > column->texts.count) {
        err = gr_fail(GRANARY_ECORRUPT, "a page has fewer values than it says");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    view = column->texts.views + part->passed;
    for (int64_t i = 0; i < part->there; i++) {
        bytes += view[part->picks != NULL ? part->picks[i] : i].size;
    }
    if (bytes > (uint64_t)INT32_MAX - text->bytes.size) {
        return too_much();
    }
    to = gr_buf_grow(&text->bytes, (size_t)bytes);
    if (to == NULL) {
        return no_memory();
    }
    for (int64_t i = column->at; i < column->at + part->rows; i++) {
        if (has_value(column, i)) {
            const struct text_view *value = &view[part->picks != NULL ? part->picks[next] : next];

            memcpy(to, value->at, value->size);
            to += value->size;
            at += (int32_t)value->size;
            next++;
        }
        text->offsets[i + 1] = at;
    }
    return GRANARY_OK;
}

/* Codes of a page behind one that had none. */
static granary_err
take_codes_plain(struct column *column, const struct part *part)
{
    struct hybrid codes;
    uint32_t passed = 0;
    int64_t next = 0;
    granary_err err = page_codes(part, &codes);

    for (int64_t i = column->at; err == GRANARY_OK && i < column->at + part->rows; i++) {
        uint32_t skip = 0;
        uint32_t code;

        if (!has_value(column, i)) {
            column->text.offsets[i + 1] = (int32_t)column->text.bytes.size;
            continue;
        }
        if (part->picks != NULL) {
            skip = part->picks[next] - passed;
            passed = part->picks[next++] + 1;
        }
        if (hybrid_skip(&codes, skip) && hybrid_take(&codes, &code, 1)) {
            err = put_code(column, i, code);
        } else {
            err = gr_fail(GRANARY_ECORRUPT, "a page has fewer codes than it says");
        }
    }
    return err;
}

/* ---- codes ---- */

static bool
take_picked_codes(struct hybrid *codes, const struct part *part, uint32_t *to)
{
    struct pick_walk walk = part_walk(part);
    bool good = true;

    while (good && pick_walk_next(&walk)) {
        good = pick_codes(codes, &walk, to + walk.begin);
    }
    return good;
}

static granary_err
take_codes(struct column *column, const struct part *part)
{
    int32_t *to = (int32_t *)(uintptr_t)column->text.codes.view.values + column->at;
    struct hybrid codes;
    uint32_t most = 0;
    granary_err err = page_codes(part, &codes);

    if (err == GRANARY_OK && !(part->picks != NULL ? take_picked_codes(&codes, part, (uint32_t *)to)
                                                   : hybrid_take(&codes, (uint32_t *)to, (size_t)part->there))) {
        err = gr_fail(GRANARY_ECORRUPT, "a page has fewer codes than it says");
    }
    for (int64_t i = 0; err == GRANARY_OK && i < part->there; i++) {
        most = (uint32_t)to[i] > most ? (uint32_t)to[i] : most;
    }
    if (err == GRANARY_OK && part->there > 0 && most >= column->dictionary.count) {
        err = gr_fail(GRANARY_ECORRUPT, "a code is outside of the dictionary");
    }
    if (err == GRANARY_OK) {
        spread(to, sizeof *to, part->rows, part->there, column->text.codes.view.validity, column->at);
    }
    return err;
}

granary_err
text_take(struct column *column, const struct part *part)
{
    int32_t *codes = (int32_t *)(uintptr_t)column->text.codes.view.values;
    granary_err err = GRANARY_OK;

    if (part->there == 0 && !column->text.plain) { /* whatever the encoding is */
        memset(codes + column->at, 0, (size_t)part->rows * sizeof *codes);
        return GRANARY_OK;
    }
    if (!page_is_codes(part->page) && !column->text.plain) {
        err = become_plain(column);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    return !page_is_codes(part->page) ? take_views(column, part)
           : column->text.plain       ? take_codes_plain(column, part)
                                      : take_codes(column, part);
}

/* ---- the end of a row group ---- */

static granary_err
end_plain(const struct text_group *text, granary_dtype dtype, int64_t rows, struct gr_column *ret_column)
{
    const uint8_t *validity = text->codes.view.validity;
    granary_err err = text_check(dtype, text->bytes.bytes != NULL ? text->bytes.bytes : "", text->offsets, rows);

    err = err == GRANARY_OK
              ? gr_column_alloc_unset(dtype, rows, (int64_t)text->bytes.size, validity != NULL, ret_column)
              : err;
    if (err != GRANARY_OK) {
        return err;
    }
    memcpy((void *)(uintptr_t)ret_column->view.offsets, text->offsets, ((size_t)rows + 1) * sizeof *text->offsets);
    if (text->bytes.size > 0) {
        memcpy((void *)(uintptr_t)ret_column->view.values, text->bytes.bytes, text->bytes.size);
    }
    if (validity != NULL) {
        memcpy((void *)(uintptr_t)ret_column->view.validity, validity, (size_t)gr_bitmap_bytes(rows));
    }
    gr_column_settle(ret_column);
    return GRANARY_OK;
}

/* The dictionary is larger than it is worth, or has a value twice. */
static granary_err
end_taken(const struct column *column, int64_t rows, struct gr_column *ret_column)
{
    const int32_t *codes = column->text.codes.view.values;
    int64_t *indices = malloc(((size_t)rows + 1) * sizeof *indices);
    struct gr_column entries = {.view = {.dtype = column->leaf->dtype}};
    static const int32_t no_offsets[1];
    granary_err err;

    if (indices == NULL) {
        return no_memory();
    }
    entries.view.offsets = no_offsets;
    for (int64_t i = 0; i < rows; i++) {
        indices[i] = has_value(column, i) ? codes[i] : -1;
    }
    err = gr_column_take(column->dictionary.count > 0 ? &column->dictionary.entries.view : &entries.view, indices, rows,
                         ret_column);
    free(indices);
    return err;
}

static granary_err
end_codes(struct column *column, int64_t rows, struct gr_column *ret_column)
{
    struct gr_dictionary *dictionary = NULL;
    granary_err err;

    if (column->plain || rows == 0 || !gr_dictionary_pays((int64_t)column->dictionary.count, rows) ||
        column->dictionary.count == 0 || !gr_column_is_distinct(&column->dictionary.entries.view)) {
        return end_taken(column, rows, ret_column);
    }
    err = gr_dictionary_create(&column->dictionary.entries, &dictionary);
    column->dictionary = (struct dictionary){.count = 0};
    if (err == GRANARY_OK) {
        gr_column_settle(&column->text.codes);
        gr_column_set_dictionary(&column->text.codes, dictionary);
        *ret_column = column->text.codes;
        column->text.codes = (struct gr_column){.owned = false};
    }
    return err;
}

granary_err
text_end(struct column *column, int64_t rows)
{
    struct gr_column part;
    granary_err err = column->text.plain ? end_plain(&column->text, column->leaf->dtype, rows, &part)
                                         : end_codes(column, rows, &part);

    err = err == GRANARY_OK ? column_add_part(column, &part) : err;
    text_free(&column->text);
    return err;
}
