/* Columns of a caller: every promise that readers of frames rely on is looked at, before anything is made of them. */
#include "data/caller.h"

#include <string.h>

#include "base/error.h"
#include "data/value/utf8.h"

#define DAY_US INT64_C(86400000000)

/* ---- checks ---- */

static granary_err
fail_column(const granary_column *column, const char *what)
{
    return gr_fail(GRANARY_EINVAL, "column '%s': %s", column->name, what);
}

/* A plain string column: rows strings, one behind the other. */
static granary_err
check_text(const granary_column *column, const granary_column *text, int64_t rows)
{
    const char *values = text->values;

    if (rows == 0) {
        return GRANARY_OK;
    }
    if (text->offsets == NULL || text->offsets[0] < 0) {
        return fail_column(column, "string offsets are missing, or begin below 0");
    }
    for (int64_t i = 0; i < rows; i++) {
        if (text->offsets[i + 1] < text->offsets[i]) {
            return gr_fail(GRANARY_EINVAL, "column '%s': the offsets of row %lld go backwards", column->name,
                           (long long)i);
        }
    }
    if (text->offsets[rows] == text->offsets[0]) {
        return GRANARY_OK;
    }
    if (values == NULL) {
        return fail_column(column, "its text is missing");
    }
    for (int64_t i = 0; column->dtype == GRANARY_STRING && i < rows;
         i++) { /* string by string: two halves of a character are no character */
        int32_t begin = text->offsets[i];

        if ((text->validity == NULL || gr_bit(text->validity, i)) &&
            utf8_first_invalid(values + begin, (size_t)(text->offsets[i + 1] - begin)) != NULL) {
            return gr_fail(GRANARY_EINVAL, "column '%s': the text of row %lld is not UTF-8", column->name,
                           (long long)i);
        }
    }
    return GRANARY_OK;
}

static granary_err
check_codes(const granary_column *column, int64_t rows)
{
    const granary_column *entries = column->dictionary;
    const char *codes = column->values;
    granary_err err;

    if (!gr_dtype_is_text(entries->dtype) || entries->dtype != column->dtype || entries->dictionary != NULL ||
        entries->validity != NULL || entries->rows < 0 || entries->rows > INT32_MAX) {
        return fail_column(column, "its dictionary must be a plain column of its dtype without nulls");
    }
    err = check_text(column, entries, entries->rows);
    if (err == GRANARY_OK && entries->rows > 0 && !gr_column_is_distinct(entries)) {
        err = fail_column(column, "its dictionary has a value twice");
    }
    for (int64_t i = 0; err == GRANARY_OK && i < rows; i++) {
        int32_t code;

        memcpy(&code, codes + (size_t)i * sizeof code, sizeof code);
        if ((column->validity == NULL || gr_bit(column->validity, i)) && (code < 0 || code >= entries->rows)) {
            err = gr_fail(GRANARY_EINVAL, "column '%s': row %lld is not in its dictionary of %lld values", column->name,
                          (long long)i, (long long)entries->rows);
        }
    }
    return err;
}

/* Each within a day. */
static granary_err
check_times(const granary_column *column, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t value;

        memcpy(&value, (const char *)column->values + (size_t)i * sizeof value, sizeof value);
        if ((column->validity == NULL || gr_bit(column->validity, i)) && (value < 0 || value >= DAY_US)) {
            return gr_fail(GRANARY_EINVAL, "column '%s': the time in row %lld is not within a day", column->name,
                           (long long)i);
        }
    }
    return GRANARY_OK;
}

/* Offsets that lead to items, and those themselves, of which the message names the column. */
static granary_err
check_list(const granary_column *column, int64_t rows)
{
    const granary_column *items = column->values;
    granary_column named;

    if (items == NULL || items->dtype != GRANARY_LIST_ITEM(column->dtype) || items->rows < 0 ||
        items->dictionary != NULL) {
        return fail_column(column, "its items must be a plain column of the dtype that its own tells");
    }
    if (rows > 0 && column->offsets == NULL) {
        return fail_column(column, "the offsets of its lists are missing");
    }
    for (int64_t i = 0; i <= rows && rows > 0; i++) {
        if (column->offsets[i] < (i == 0 ? 0 : column->offsets[i - 1]) || column->offsets[i] > items->rows) {
            return gr_fail(GRANARY_EINVAL, "column '%s': the offset of row %lld leads outside its %lld items, or back",
                           column->name, (long long)i, (long long)items->rows);
        }
    }
    named = *items;
    named.name = column->name;
    return gr_caller_check_values(&named, items->rows);
}

granary_err
gr_caller_check_values(const granary_column *column, int64_t rows)
{
    if (column->dictionary != NULL && !gr_dtype_is_text(column->dtype)) {
        return fail_column(column, "only strings and binaries have a dictionary");
    }
    if (column->dtype == GRANARY_NULLTYPE) {
        return GRANARY_OK;
    }
    if (gr_dtype_is_text(column->dtype) && column->dictionary == NULL) {
        return check_text(column, column, rows);
    }
    if (gr_dtype_is_list(column->dtype)) {
        return check_list(column, rows);
    }
    if (rows > 0 && column->values == NULL) {
        return fail_column(column, "its values are missing");
    }
    if (column->dtype == GRANARY_TIME) {
        return check_times(column, rows);
    }
    return column->dictionary != NULL ? check_codes(column, rows) : GRANARY_OK;
}

/* A column of which nothing is known; position is for the message. */
static granary_err
caller_check_column(const granary_column *column, size_t position, int64_t rows)
{
    if (column->name == NULL || utf8_first_invalid(column->name, strlen(column->name)) != NULL) {
        return gr_fail(GRANARY_EINVAL, "column %zu: its name is missing, or not UTF-8", position);
    }
    if (!gr_dtype_is(column->dtype)) {
        return gr_fail(GRANARY_EINVAL, "column '%s': dtype %u is none", column->name, (unsigned)column->dtype);
    }
    return gr_caller_check_values(column, rows);
}

/* ---- frames ---- */

static bool
is_aligned(const void *at, size_t size)
{
    return size <= 1 || (uintptr_t)at % size == 0;
}

/* The lists and their items, copied: nothing of them lies under nulls, nor outside of the rows. */
static granary_err
set_list(granary_frame *frame, size_t position, const char *name, const granary_column *lists)
{
    granary_column items = *gr_list_items(lists);
    const struct gr_run all = {&items, 0, items.rows};
    granary_column view = *lists;
    struct gr_column aligned = {.owned = false};
    struct gr_column copy;
    granary_err err = gr_column_concat(&all, 1, items.dtype, &aligned);

    if (err == GRANARY_OK) {
        gr_column_finish(&aligned);
        view.values = &aligned.view;
        err = gr_list_compact(&view, &copy);
    }
    gr_column_free(&aligned);
    return err == GRANARY_OK ? gr_frame_set(frame, position, name, &copy) : gr_fail_in(err, "column '%s'", name);
}

/* Borrowed as it is, or a copy that is aligned and zero under nulls. */
static granary_err
set_column(granary_frame *frame, size_t position, const granary_column *column)
{
    granary_column view = *column;
    const struct gr_run run = {&view, 0, frame->rows};
    struct gr_column copy;
    granary_err err;

    view.rows = frame->rows;
    view.null_count = 0;
    if (view.dtype == GRANARY_NULLTYPE) {
        view = (granary_column){.dtype = GRANARY_NULLTYPE, .rows = frame->rows, .null_count = frame->rows};
        return gr_frame_set_borrowed(frame, position, column->name, &view);
    }
    if (gr_dtype_is_list(view.dtype)) {
        return set_list(frame, position, column->name, &view);
    }
    if (view.validity == NULL && is_aligned(view.values, gr_value_size(&view))) {
        return gr_frame_set_borrowed(frame, position, column->name, &view);
    }
    err = gr_column_concat(&run, 1, view.dtype, &copy);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "column '%s'", column->name);
    }
    gr_column_finish(&copy);
    return gr_frame_set(frame, position, column->name, &copy);
}

granary_err
gr_caller_frame(const granary_column *columns, size_t count, int64_t rows, granary_frame **ret_frame)
{
    granary_frame *frame = gr_frame_create(count, rows);
    granary_err err = frame == NULL ? gr_fail(GRANARY_ENOMEM, "frame: out of memory") : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = caller_check_column(&columns[i], i, rows);
        if (err == GRANARY_OK && gr_frame_find(frame, columns[i].name) >= 0) {
            err = fail_column(&columns[i], "it is there twice");
        }
        err = err == GRANARY_OK ? set_column(frame, i, &columns[i]) : err;
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return GRANARY_OK;
}
