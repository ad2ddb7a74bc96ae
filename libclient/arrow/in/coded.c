/* Columns of arrays with a dictionary: codes of any width become ours, or the values themselves. */
#include <stdlib.h>
#include <string.h>

#include "arrow/in/in.h"
#include "base/error.h"
#include "data/caller.h"

/* A dictionary's rows, of which `entries` values may be meant. */
struct codes {
    const struct in_rows *rows;
    bool is_signed;
    int64_t entries;
};

/* The code of a row, -1 for a null. Errors: EINVAL it leads nowhere */
static inline granary_err
load_code(const struct codes *codes, int64_t i, int64_t *ret_code)
{
    const struct in_rows *rows = codes->rows;
    const size_t width = rows->type.width;
    const unsigned shift = 64u - 8u * (unsigned)width;
    uint64_t code = 0;

    *ret_code = -1;
    if (rows->validity != NULL && !gr_bit(rows->validity, i)) {
        return GRANARY_OK;
    }
    memcpy(&code, (const char *)rows->array->buffers[1] + (size_t)(rows->at + i) * width, width);
    if (codes->is_signed) {
        code = (uint64_t)((int64_t)(code << shift) >> shift);
    }
    if (code >= (uint64_t)codes->entries) {
        return gr_fail(GRANARY_EINVAL, "column '%s': row %lld is not in its dictionary of %lld values", rows->name,
                       (long long)i, (long long)codes->entries);
    }
    *ret_code = (int64_t)code;
    return GRANARY_OK;
}

/* The rows' values themselves. */
static granary_err
decoded_column(struct in_kept **kept, const struct codes *codes, const granary_column *values, granary_column *column)
{
    const int64_t count = codes->rows->rows;
    int64_t *positions = gr_data_alloc((size_t)count * sizeof *positions);
    struct gr_column taken;
    granary_err err = positions == NULL ? gr_no_memory("a column") : GRANARY_OK;

    for (int64_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = load_code(codes, i, &positions[i]);
    }
    if (err == GRANARY_OK) {
        err = gr_column_take(values, positions, count, &taken);
        if (err == GRANARY_EFULL) {
            err = gr_fail(GRANARY_EINVAL, "column '%s': more than 2 GiB of text in one batch: give it in smaller ones",
                          codes->rows->name);
        } else if (err != GRANARY_OK) {
            (void)gr_fail_in(err, "column '%s'", codes->rows->name);
        }
    }
    free(positions);
    if (err == GRANARY_OK && in_keep(kept, &taken) == NULL) {
        err = GRANARY_ENOMEM;
    }
    if (err == GRANARY_OK) {
        *column = taken.view;
    }
    return err;
}

/* Whether the codes are ours as they lie: 0 under nulls is ours alone. */
static const int32_t *
codes_in_place(const struct codes *codes)
{
    const struct in_rows *rows = codes->rows;
    const char *at = (const char *)rows->array->buffers[1] + (size_t)rows->at * rows->type.width;

    return codes->is_signed && rows->type.width == sizeof(int32_t) && rows->validity == NULL &&
                   (uintptr_t)at % sizeof(int32_t) == 0
               ? (const int32_t *)(const void *)at
               : NULL;
}

static granary_err
encoded_column(struct in_kept **kept, const struct codes *codes, const granary_column *values, granary_column *column)
{
    const struct in_rows *rows = codes->rows;
    struct gr_column none = {.owned = false};
    struct in_kept *one = in_keep(kept, &none);
    const int32_t *in_place = codes_in_place(codes);
    int32_t *copy = NULL;

    if (one != NULL && in_place == NULL) {
        copy = in_keep_bytes(kept, (size_t)rows->rows * sizeof *copy);
    }
    if (one == NULL || (in_place == NULL && copy == NULL)) {
        return GRANARY_ENOMEM;
    }
    for (int64_t i = 0; i < rows->rows; i++) {
        int64_t code;
        granary_err err = load_code(codes, i, &code);

        if (err != GRANARY_OK) {
            return err;
        }
        if (copy != NULL) {
            copy[i] = (int32_t)(code < 0 ? 0 : code);
        }
    }
    one->entries = *values;
    one->entries.name = "";
    *column = (granary_column){.dtype = values->dtype,
                               .rows = rows->rows,
                               .null_count = rows->nulls,
                               .validity = rows->validity,
                               .values = copy != NULL ? copy : in_place,
                               .dictionary = &one->entries};
    return GRANARY_OK;
}

/* Whether a dictionary can be ours: strings, each once, none null. */
static bool
may_be_ours(const granary_column *values)
{
    return gr_dtype_is_text(values->dtype) && values->validity == NULL && values->rows <= INT32_MAX &&
           (values->rows == 0 || gr_column_is_distinct(values));
}

granary_err
in_coded(struct in_kept **kept, const struct in_rows *rows, bool is_signed, const struct ArrowSchema *values_schema,
         granary_column *column)
{
    const struct ArrowArray *dictionary = rows->array->dictionary;
    struct codes codes = {.rows = rows, .is_signed = is_signed};
    granary_column values;
    granary_err err;

    if (dictionary == NULL) {
        return in_fail(rows->name, "its schema has a dictionary, and the array has none");
    }
    if (rows->array->buffers[1] == NULL) {
        return in_fail(rows->name, "its values are missing");
    }
    err = in_column(kept, rows->name, values_schema, dictionary, 0, dictionary->length, &values);
    err = err == GRANARY_OK ? gr_caller_check_values(&values, values.rows) : err;
    if (err != GRANARY_OK) {
        return err;
    }
    codes.entries = values.rows;
    return may_be_ours(&values) ? encoded_column(kept, &codes, &values, column)
                                : decoded_column(kept, &codes, &values, column);
}
