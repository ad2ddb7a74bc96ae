/*
 * String keys of a result. Chunks may have had other dictionaries, or none, by how they were cut; a result must not
 * depend on that. It has a dictionary when that pays, of just the strings it has, in the order in which they first
 * come.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/keys/keys.h"

static bool
codes_pay(int64_t strings, int64_t rows)
{
    return strings <= rows / 4;
}

/* New numbers for the codes of a column, in the order in which they first come; *ret_first: the old ones by new. */
static granary_err
renumber(const granary_column *column, int32_t *codes, int64_t **ret_first, int64_t *ret_count)
{
    const int32_t *old = column->values;
    int32_t *new = calloc((size_t)column->dictionary->rows + 1, sizeof *new);
    int64_t *first = malloc(((size_t)column->dictionary->rows + 1) * sizeof *first);
    int64_t count = 0;

    if (new == NULL || first == NULL) {
        free(new);
        free(first);
        return gr_no_memory("groupby");
    }
    for (int64_t i = 0; i < column->rows; i++) {
        if (gr_is_null(column, i)) {
            continue;
        }
        if (new[old[i]] == 0) {
            first[count] = old[i];
            new[old[i]] = (int32_t)++count;
        }
        codes[i] = new[old[i]] - 1;
    }
    free(new);
    *ret_first = first;
    *ret_count = count;
    return GRANARY_OK;
}

/* A column with a dictionary of no more than it needs, or plain. */
static granary_err
key_renumber(const granary_column *column, struct gr_column *ret_column)
{
    struct gr_dictionary *dictionary = NULL;
    struct gr_column codes = {0};
    struct gr_column entries;
    int64_t *first = NULL;
    int64_t count = 0;
    granary_err err = gr_column_alloc(GRANARY_INT32, column->rows, 0, column->validity != NULL, &codes);

    if (err == GRANARY_OK) {
        err = renumber(column, (int32_t *)(uintptr_t)codes.view.values, &first, &count);
    }
    if (err == GRANARY_OK && !codes_pay(count, column->rows)) {
        err = gr_column_decode(column, ret_column);
    } else if (err == GRANARY_OK && (err = gr_column_take(column->dictionary, first, count, &entries)) == GRANARY_OK &&
               (err = gr_dictionary_create(&entries, &dictionary)) == GRANARY_OK) {
        if (column->validity != NULL) {
            memcpy((void *)(uintptr_t)codes.view.validity, column->validity, (size_t)gr_bitmap_bytes(column->rows));
        }
        gr_column_finish(&codes);
        gr_column_set_dictionary(&codes, dictionary);
        *ret_column = codes;
        codes = (struct gr_column){0};
    }
    free(first);
    gr_column_free(&codes);
    return err;
}

granary_err
group_key_encode(struct gr_column *column)
{
    struct gr_column made;
    bool changed = true;
    granary_err err;

    if (!gr_dtype_is_text(column->view.dtype)) {
        return GRANARY_OK;
    }
    err = column->view.dictionary != NULL ? key_renumber(&column->view, &made)
                                          : gr_column_encode(&column->view, &changed, &made);
    if (err == GRANARY_OK && changed) {
        gr_column_free(column);
        *column = made;
    }
    return err;
}
