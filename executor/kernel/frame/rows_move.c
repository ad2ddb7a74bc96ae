/* slice, sample, explode: rows chosen by where they are, and made of the parts of a string. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "contract/int128.h"
#include "data/place.h"
#include "kernel/core/frame_call.h"
#include "kernel/core/scratch.h"

/* No name that a user can choose begins so. */
#define ORDER_COLUMN "\1order"

static granary_err
out_of_memory(const struct gr_kernel_call *call, int64_t rows)
{
    return gr_fail(GRANARY_ENOMEM, "%s: out of memory for %lld rows", call->op->op, (long long)rows);
}

granary_err
kernel_slice(struct gr_kernel_call *call, const struct gr_chunk_slice *params)
{
    int64_t from = params->from;
    int64_t count = params->count;
    int64_t step = params->step;
    const granary_frame *frame;
    granary_frame *cut = NULL;
    int64_t *indices = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    if (count < 0 || step == 0 || step == INT64_MIN || (count > 0 && (from < 0 || from >= frame->rows)) ||
        (count > 1 && (step > 0 ? (frame->rows - 1 - from) / step : from / -step) < count - 1)) {
        return gr_fail(GRANARY_EINVAL, "slice: %lld rows from %lld in steps of %lld lie outside of %lld rows",
                       (long long)count, (long long)from, (long long)step, (long long)frame->rows);
    }
    if (step != 1 || count != frame->rows) {
        gr_place_expect_rows(frame, count);
    }
    if (step == 1 && count == frame->rows) {
        err = frame_borrow(frame, &cut);
    } else if (step == 1) {
        err = gr_frame_slice(frame, count > 0 ? from : 0, count, &cut);
    } else if ((indices = scratch_alloc((size_t)(count + 1) * sizeof *indices)) == NULL) {
        err = out_of_memory(call, count);
    } else {
        for (int64_t i = 0; i < count; i++) {
            indices[i] = from + i * step;
        }
        err = gr_frame_take(frame, indices, count, &cut);
    }
    scratch_free(indices);
    return call_yield(call, 0, cut, err);
}

/* ---- sample ---- */

/* splitmix64 of a counter under a seed: what a row, or a draw, gets, however rows are cut. */
static uint64_t
number_drawn(uint64_t seed, uint64_t counter)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + counter + 1;

    for (int round = 0; round < 2; round++) {
        x = gr_mix64(x + 0x9e3779b97f4a7c15u);
    }
    return x;
}

struct drawing {
    int64_t first; /* row of the whole that is the chunk's first */
    int64_t rows;  /* of the chunk */
    int64_t total; /* of the whole */
    int64_t count; /* to be drawn from the whole */
    uint64_t seed;
    bool replace;
    int64_t *indices;
    uint64_t *order;
    int64_t drawn;
};

/* Rows with the smallest numbers are drawn, in the order of these; of a chunk those that can be among them. */
static void
draw_once(struct drawing *drawing)
{
    /* More than so many below this are as good as certain; what is left out wrongly would be seen by the count. */
    double share = (double)drawing->count / (double)drawing->total;
    bool all = share > 0.5 || drawing->count < 1000;
    uint64_t most = all ? UINT64_MAX : (uint64_t)(share * 1.5 * 0x1p64);

    for (int64_t row = 0; row < drawing->rows; row++) {
        uint64_t number = number_drawn(drawing->seed, (uint64_t)(drawing->first + row));

        if (number <= most) {
            drawing->order[drawing->drawn] = number;
            drawing->indices[drawing->drawn++] = row;
        }
    }
}

static void
draw_again(struct drawing *drawing)
{
    for (int64_t k = 0; k < drawing->count; k++) {
        uint64_t number = number_drawn(drawing->seed, (uint64_t)k);
        int64_t row = (int64_t)((gr_uint128)number * (uint64_t)drawing->total >> 64) - drawing->first;

        if (row >= 0 && row < drawing->rows) {
            drawing->order[drawing->drawn] = (uint64_t)k;
            drawing->indices[drawing->drawn++] = row;
        }
    }
}

/* The rows drawn, and a column that orders them. */
static granary_err
sample_made(const struct drawing *drawing, const granary_frame *frame, granary_frame **ret_sample)
{
    granary_frame *rows = NULL;
    granary_frame *sample = gr_frame_create(frame->count + 1, drawing->drawn);
    struct gr_column order;
    granary_err err = gr_frame_take(frame, drawing->indices, drawing->drawn, &rows);

    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        err = gr_frame_move(sample, c, rows, c);
    }
    if (err == GRANARY_OK) {
        err = gr_column_alloc(GRANARY_UINT64, drawing->drawn, 0, false, &order);
    }
    if (err == GRANARY_OK) {
        memcpy((void *)(uintptr_t)order.view.values, drawing->order, (size_t)drawing->drawn * sizeof *drawing->order);
        err = gr_frame_set(sample, frame->count, ORDER_COLUMN, &order);
    }
    gr_frame_destroy(rows);
    return gr_frame_give(sample, err, ret_sample);
}

granary_err
kernel_sample(struct gr_kernel_call *call, const struct gr_chunk_sample *params)
{
    const granary_frame *frame;
    granary_frame *sample = NULL;
    struct drawing drawing = {.first = params->first,
                              .total = params->total,
                              .count = params->count,
                              .seed = (uint64_t)params->seed,
                              .replace = params->replace};
    int64_t room;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    drawing.rows = frame->rows;
    if (drawing.first < 0 || drawing.count < 0 || drawing.total < drawing.rows ||
        drawing.first > drawing.total - drawing.rows) {
        return gr_fail(GRANARY_EINVAL, "sample: rows %lld to %lld of %lld", (long long)drawing.first,
                       (long long)(drawing.first + drawing.rows), (long long)drawing.total);
    }
    room = drawing.replace ? drawing.count : drawing.rows;
    if (room >= INT64_MAX / (int64_t)sizeof *drawing.indices) {
        return out_of_memory(call, room);
    }
    room++;
    drawing.indices = scratch_alloc((size_t)room * sizeof *drawing.indices);
    drawing.order = scratch_alloc((size_t)room * sizeof *drawing.order);
    if (drawing.indices == NULL || drawing.order == NULL) {
        err = out_of_memory(call, room);
    } else {
        if (drawing.replace) {
            draw_again(&drawing);
        } else {
            draw_once(&drawing);
        }
        err = sample_made(&drawing, frame, &sample);
    }
    scratch_free(drawing.indices);
    scratch_free(drawing.order);
    return call_yield(call, 0, sample, err);
}

/* ---- explode ---- */

/* How many parts separators cut a text into: one more than there are of them. */
static int64_t
parts_of(const char *text, size_t size, const char *separator, size_t width)
{
    int64_t parts = 1;

    for (const char *end = text + size, *at = text; size > 0 && (at = memmem(at, (size_t)(end - at), separator, width));
         at += width) {
        parts++;
    }
    return parts;
}

/* The parts of all texts, one after the other, and which row each comes from. */
static granary_err
texts_cut(const granary_column *column, const char *separator, struct gr_column *ret_parts, int64_t **ret_rows,
          int64_t *ret_count)
{
    size_t width = strlen(separator);
    int64_t count = 0;
    int64_t bytes = 0;
    struct gr_column parts;
    int64_t *rows;
    int32_t *offsets;
    int32_t at = 0;
    int64_t made = 0;
    granary_err err;

    for (int64_t row = 0; row < column->rows; row++) {
        size_t size = 0;
        const char *text = gr_is_null(column, row) ? "" : gr_text_at(column, row, &size);

        count += parts_of(text, size, separator, width);
        bytes += (int64_t)size;
    }
    rows = malloc((size_t)(count + 1) * sizeof *rows);
    if (rows == NULL) {
        return gr_fail(GRANARY_ENOMEM, "explode: out of memory for %lld rows", (long long)count);
    }
    err = gr_column_alloc(GRANARY_STRING, count, bytes, true, &parts);
    if (err != GRANARY_OK) {
        free(rows);
        return err;
    }
    offsets = (int32_t *)(uintptr_t)parts.view.offsets;
    for (int64_t row = 0; row < column->rows; row++) {
        bool null = gr_is_null(column, row);
        size_t left = 0;
        const char *text = null ? "" : gr_text_at(column, row, &left);

        for (bool more = true; more; made++) {
            const char *cut = left > 0 ? memmem(text, left, separator, width) : NULL;
            size_t size = cut != NULL ? (size_t)(cut - text) : left;

            if (size > 0) {
                memcpy((char *)(uintptr_t)parts.view.values + at, text, size);
            }
            at += (int32_t)size;
            offsets[made + 1] = at;
            rows[made] = row;
            if (!null) {
                gr_bit_set((uint8_t *)(uintptr_t)parts.view.validity, made);
            }
            more = cut != NULL;
            text = more ? cut + width : text;
            left -= more ? size + width : 0;
        }
    }
    gr_column_finish(&parts);
    *ret_parts = parts;
    *ret_rows = rows;
    *ret_count = count;
    return GRANARY_OK;
}

/* *Takes* the exploded columns, which stand in the places of those in `at`; rows: which row each new one is of. */
static granary_err
exploded_frame(const granary_frame *frame, struct gr_column *exploded, const int *at, size_t count, const int64_t *rows,
               int64_t row_count, granary_frame **ret_frame)
{
    granary_frame *made = gr_frame_create(frame->count, row_count);
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < count; i++) {
        err =
            err == GRANARY_OK ? gr_frame_set(made, (size_t)at[i], frame->columns[at[i]].view.name, &exploded[i]) : err;
        gr_column_free(&exploded[i]);
    }
    for (size_t c = 0; c < frame->count && err == GRANARY_OK; c++) {
        struct gr_column column;

        if (made->columns[c].view.name != NULL) {
            continue;
        }
        err = gr_column_take(&frame->columns[c].view, rows, row_count, &column);
        err = err == GRANARY_OK ? gr_frame_set(made, c, frame->columns[c].view.name, &column) : err;
    }
    return gr_frame_give(made, err, ret_frame);
}

static granary_err
explode_text(const granary_frame *frame, const char *name, const char *separator, granary_frame **ret_frame)
{
    int at = gr_frame_find(frame, name);
    struct gr_column parts;
    int64_t *rows = NULL;
    int64_t count = 0;
    granary_err err;

    if (at < 0 || frame->columns[at].view.dtype != GRANARY_STRING || separator[0] == '\0') {
        return gr_fail(GRANARY_ETYPE, "explode: there is no string column '%s', or no separator", name);
    }
    err = texts_cut(&frame->columns[at].view, separator, &parts, &rows, &count);
    if (err == GRANARY_OK) {
        err = exploded_frame(frame, &parts, &at, 1, rows, count, ret_frame);
    }
    free(rows);
    return err;
}

static int64_t
items_in(const granary_column *lists, int64_t row)
{
    return gr_is_null(lists, row) ? 0 : lists->offsets[row + 1] - lists->offsets[row];
}

/* How many rows there will be. Errors: EINVAL lists that go together are not equally long */
static granary_err
count_items(const granary_frame *frame, const int *at, size_t count, bool outer, int64_t *ret_rows)
{
    int64_t rows = 0;

    for (int64_t row = 0; row < frame->rows; row++) {
        int64_t items = items_in(&frame->columns[at[0]].view, row);

        for (size_t i = 1; i < count; i++) {
            const granary_column *other = &frame->columns[at[i]].view;

            if (items_in(other, row) != items) {
                return gr_fail(
                    GRANARY_EINVAL, "explode: a list of '%s' has %lld items, and that of '%s' in the same row has %lld",
                    frame->columns[at[0]].view.name, (long long)items, other->name, (long long)items_in(other, row));
            }
        }
        rows += items > 0 ? items : outer;
    }
    *ret_rows = rows;
    return GRANARY_OK;
}

/* Items of lists, one behind the other; where a list has none and a row all the same: null. */
static granary_err
take_items(const granary_column *lists, bool outer, int64_t rows, int64_t *indices, struct gr_column *ret_column)
{
    int64_t at = 0;

    for (int64_t row = 0; row < lists->rows; row++) {
        int64_t items = items_in(lists, row);

        for (int64_t i = 0; i < items; i++) {
            indices[at++] = lists->offsets[row] + i;
        }
        if (items == 0 && outer) {
            indices[at++] = -1;
        }
    }
    return gr_column_take(gr_list_items(lists), indices, rows, ret_column);
}

static granary_err
explode_lists(const granary_frame *frame, char *const *names, size_t count, bool outer, granary_frame **ret_frame)
{
    int *at = calloc(count + 1, sizeof *at);
    struct gr_column *exploded = calloc(count + 1, sizeof *exploded);
    int64_t *indices = NULL;
    int64_t rows = 0;
    int64_t made = 0;
    granary_err err = at == NULL || exploded == NULL ? gr_no_memory("explode") : GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        at[i] = gr_frame_find(frame, names[i]);
        if (at[i] < 0 || !gr_dtype_is_list(frame->columns[at[i]].view.dtype)) {
            err = gr_fail(GRANARY_ETYPE, "explode: there is no column '%s' of lists", names[i]);
        }
    }
    err = err == GRANARY_OK ? count_items(frame, at, count, outer, &rows) : err;
    if (err == GRANARY_OK && (indices = malloc((size_t)(rows + 1) * sizeof *indices)) == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "explode: out of memory for %lld rows", (long long)rows);
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        err = take_items(&frame->columns[at[i]].view, outer, rows, indices, &exploded[i]);
    }
    for (int64_t row = 0; err == GRANARY_OK && row < frame->rows; row++) {
        int64_t items = items_in(&frame->columns[at[0]].view, row);

        items = items > 0 ? items : outer;
        for (int64_t i = 0; i < items; i++) {
            indices[made++] = row;
        }
    }
    if (err == GRANARY_OK) {
        err = exploded_frame(frame, exploded, at, count, indices, rows, ret_frame);
    } else {
        for (size_t i = 0; exploded != NULL && i < count; i++) {
            gr_column_free(&exploded[i]);
        }
    }
    free(at);
    free(exploded);
    free(indices);
    return err;
}

granary_err
kernel_explode(struct gr_kernel_call *call, const struct gr_chunk_explode *params)
{
    char *column = (char *)(uintptr_t)params->column;
    const granary_frame *frame;
    granary_frame *made = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err != GRANARY_OK) {
        return err;
    }
    if (params->separator != NULL) {
        err = column == NULL ? gr_fail(GRANARY_EINVAL, "explode: no column is named")
                             : explode_text(frame, column, params->separator, &made);
    } else if (params->columns != NULL && params->columns->n_strings > 0) {
        err = explode_lists(frame, params->columns->strings, params->columns->n_strings, params->outer, &made);
    } else {
        err = column == NULL ? gr_fail(GRANARY_EINVAL, "explode: no column is named")
                             : explode_lists(frame, &column, 1, params->outer, &made);
    }
    return call_yield(call, 0, made, err);
}
