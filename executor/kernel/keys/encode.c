/*
 * String keys of a result. Which dictionary chunks had, or whether they had one, depends on how they were cut; a result
 * must not: it has one when that pays, of just the strings it has, in the order in which they first come.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/keys/keys.h"
#include "kernel/keys/texts.h"

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "groupby: out of memory");
}

static bool
pays(int64_t strings, int64_t rows)
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
        return out_of_memory();
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

/* The same of a plain column; it ends early when there are too many strings: *ret_count is then more than pays. */
static granary_err
number(const granary_column *column, int32_t *codes, int64_t **ret_first, int64_t *ret_count)
{
    struct texts texts = {0};
    int64_t *first = malloc(((size_t)column->rows + 1) * sizeof *first);
    granary_err err = first == NULL ? out_of_memory() : GRANARY_OK;

    for (int64_t i = 0; i < column->rows && err == GRANARY_OK && pays(texts.count, column->rows); i++) {
        uint32_t before = texts.count;
        uint32_t code = 0;
        int32_t begin = column->offsets[i];

        if (gr_is_null(column, i)) {
            continue;
        }
        err = texts_code(&texts, (const char *)column->values + begin, (size_t)(column->offsets[i + 1] - begin), &code);
        if (texts.count > before) {
            first[code] = i;
        }
        codes[i] = (int32_t)code;
    }
    *ret_count = texts.count;
    texts_fini(&texts);
    if (err != GRANARY_OK) {
        free(first);
        return err;
    }
    *ret_first = first;
    return GRANARY_OK;
}

granary_err
group_key_encode(struct gr_column *column)
{
    const granary_column *plain = column->view.dictionary != NULL ? column->view.dictionary : &column->view;
    struct gr_dictionary *dictionary = NULL;
    struct gr_column codes = {0};
    struct gr_column made = {0};
    int64_t *first = NULL;
    int64_t count = 0;
    granary_err err;

    if (column->view.dtype != GRANARY_STRING) {
        return GRANARY_OK;
    }
    err = gr_column_alloc(GRANARY_INT32, column->view.rows, 0, column->view.validity != NULL, &codes);
    if (err != GRANARY_OK) {
        return err;
    }
    err = column->view.dictionary != NULL
              ? renumber(&column->view, (int32_t *)(uintptr_t)codes.view.values, &first, &count)
              : number(&column->view, (int32_t *)(uintptr_t)codes.view.values, &first, &count);
    if (err == GRANARY_OK && pays(count, column->view.rows)) {
        if (column->view.validity != NULL) {
            memcpy((void *)(uintptr_t)codes.view.validity, column->view.validity,
                   (size_t)gr_bitmap_bytes(column->view.rows));
        }
        gr_column_finish(&codes);
        err = gr_column_take(plain, first, count, &made);
        if (err == GRANARY_OK) {
            err = gr_dictionary_create(&made, &dictionary);
        }
        if (err == GRANARY_OK) {
            gr_column_set_dictionary(&codes, dictionary);
            gr_column_free(column);
            *column = codes;
            codes = (struct gr_column){0};
        }
    } else if (err == GRANARY_OK && column->view.dictionary != NULL) {
        err = gr_column_decode(&column->view, &made);
        if (err == GRANARY_OK) {
            gr_column_free(column);
            *column = made;
        }
    }
    free(first);
    gr_column_free(&codes);
    return err;
}
