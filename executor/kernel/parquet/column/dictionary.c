/* The dictionary page of a chunk, whose entries become ours once. */
#include <stdlib.h>

#include "base/error.h"
#include "data/value/utf8.h"
#include "kernel/parquet/column/column.h"
#include "kernel/parquet/column/fixed.h"
#include "kernel/parquet/values.h"

void
dictionary_free(struct dictionary *dictionary)
{
    free(dictionary->values);
    gr_column_free(&dictionary->entries);
    *dictionary = (struct dictionary){.count = 0};
}

/* Valid as a whole, and no string begins within a character. */
granary_err
text_check(granary_dtype dtype, const char *text, const int32_t *offsets, int64_t count)
{
    size_t size = (size_t)offsets[count];
    bool bad = false;

    if (size == 0 || dtype == GRANARY_BINARY) {
        return GRANARY_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        bad |= (size_t)offsets[i] < size && ((uint8_t)text[offsets[i]] & 0xc0) == 0x80;
    }
    return bad || utf8_first_invalid(text, size) != NULL ? gr_fail(GRANARY_ECORRUPT, "it has text that is not UTF-8")
                                                         : GRANARY_OK;
}

static granary_err
read_texts(struct column *column, const struct page *page)
{
    struct dictionary *dictionary = &column->dictionary;
    struct texts *texts = &column->texts;
    uint64_t bytes = 0;
    int32_t *offsets;
    char *text;
    granary_err err = text_views(column, GR_PARQUET_PLAIN, page);

    for (size_t i = 0; err == GRANARY_OK && i < texts->count; i++) {
        bytes += texts->views[i].size;
    }
    if (err == GRANARY_OK && column->leaf->form == GR_PARQUET_DECIMAL) {
        dictionary->values = gr_data_alloc((texts->count + 1) * gr_dtype_size(column->leaf->dtype));
        dictionary->count = texts->count;
        return dictionary->values == NULL
                   ? gr_fail(GRANARY_ENOMEM, "out of memory for a dictionary")
                   : fixed_convert_texts(column->leaf, texts->views, texts->count, dictionary->values);
    }
    err = err == GRANARY_OK ? gr_column_alloc_unset(column->leaf->dtype, (int64_t)texts->count, (int64_t)bytes, false,
                                                    &dictionary->entries)
                            : err;
    if (err != GRANARY_OK) {
        return err;
    }
    offsets = (int32_t *)(uintptr_t)dictionary->entries.view.offsets;
    text = (char *)(uintptr_t)dictionary->entries.view.values;
    offsets[0] = 0;
    for (size_t i = 0; i < texts->count; i++) {
        if (texts->views[i].size > 0) {
            memcpy(text + offsets[i], texts->views[i].at, texts->views[i].size);
        }
        offsets[i + 1] = offsets[i] + (int32_t)texts->views[i].size;
    }
    dictionary->count = texts->count;
    gr_column_settle(&dictionary->entries);
    return text_check(column->leaf->dtype, text, offsets, (int64_t)texts->count);
}

static granary_err
read_fixed(struct column *column, const struct page *page)
{
    struct dictionary *dictionary = &column->dictionary;
    size_t width = values_width(column->leaf);
    size_t count = page->body_size / width;

    count = count < page->head.values ? count : page->head.values;
    dictionary->values = gr_data_alloc((count + 1) * gr_dtype_size(column->leaf->dtype));
    if (dictionary->values == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory for a dictionary");
    }
    dictionary->count = count;
    if (!fixed_is_same(column->leaf)) {
        return fixed_convert(column->leaf, page->body, count, dictionary->values);
    }
    memcpy(dictionary->values, page->body, count * width);
    return GRANARY_OK;
}

granary_err
dictionary_read(struct column *column, const struct page *page)
{
    if (column->dictionary.values != NULL || column->dictionary.entries.view.offsets != NULL || column->at > 0) {
        return gr_fail(GRANARY_ECORRUPT, "it has a second dictionary");
    }
    if (page->head.encoding != GR_PARQUET_PLAIN && page->head.encoding != GR_PARQUET_PLAIN_DICTIONARY) {
        return gr_fail(GRANARY_EUNSUPPORTED, "its dictionary is in an encoding that is not supported (%d)",
                       (int)page->head.encoding);
    }
    if (column->leaf->form == GR_PARQUET_BOOL) {
        return gr_fail(GRANARY_EUNSUPPORTED, "bools with a dictionary are not supported");
    }
    return column->leaf->physical == GR_PARQUET_BYTES || column->leaf->form == GR_PARQUET_TEXT
               ? read_texts(column, page)
               : read_fixed(column, page);
}
