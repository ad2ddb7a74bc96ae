/* Frames: a row of columns with names, and the public functions to read them. */
#include "data/frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/dtypes.h"
#include "data/arrow/arrow.h"

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
#define ROW(name, type, bytes, class, text, ...) [GRANARY_##name] = {text, bytes},
    GR_DTYPES(ROW)
#undef ROW
};
#define DTYPES (sizeof dtypes / sizeof dtypes[0])

#define ONE(...) +1
_Static_assert(0 GR_DTYPES(ONE) == DTYPES, "each dtype of granary/frame.h has one row");
#undef ONE

static const char *const decimals[GRANARY_DECIMAL_SCALE_MOST + 1] = {
    "decimal(0)",  "decimal(1)",  "decimal(2)",  "decimal(3)",  "decimal(4)",  "decimal(5)",  "decimal(6)",
    "decimal(7)",  "decimal(8)",  "decimal(9)",  "decimal(10)", "decimal(11)", "decimal(12)", "decimal(13)",
    "decimal(14)", "decimal(15)", "decimal(16)", "decimal(17)", "decimal(18)", "decimal(19)", "decimal(20)",
    "decimal(21)", "decimal(22)", "decimal(23)", "decimal(24)", "decimal(25)", "decimal(26)", "decimal(27)",
    "decimal(28)", "decimal(29)", "decimal(30)", "decimal(31)", "decimal(32)", "decimal(33)", "decimal(34)",
    "decimal(35)", "decimal(36)", "decimal(37)", "decimal(38)",
};

bool
gr_dtype_is(unsigned number)
{
    return (number < DTYPES && dtypes[number].name != NULL) ||
           ((number & 0xffu) == GRANARY_DECIMAL && number >> 8 <= GRANARY_DECIMAL_SCALE_MOST);
}

const char *
granary_dtype_name(granary_dtype dtype)
{
    if (!gr_dtype_is(dtype)) {
        return dtype == GR_DTYPE_OTHER ? "an unsupported type" : "?";
    }
    return gr_dtype_kind(dtype) == GRANARY_DECIMAL ? decimals[gr_dtype_scale(dtype)] : dtypes[dtype].name;
}

size_t
gr_dtype_size(granary_dtype dtype)
{
    return gr_dtype_kind(dtype) < DTYPES ? dtypes[gr_dtype_kind(dtype)].size : 0;
}

granary_dtype
gr_dtype_parse(const char *name)
{
    for (size_t i = 0; i < DTYPES; i++) {
        if (i != GRANARY_DECIMAL && dtypes[i].name != NULL && strcmp(name, dtypes[i].name) == 0) {
            return (granary_dtype)i;
        }
    }
    for (int scale = 0; scale <= GRANARY_DECIMAL_SCALE_MOST; scale++) {
        if (strcmp(name, decimals[scale]) == 0) {
            return GRANARY_DECIMAL(scale);
        }
    }
    return GRANARY_NULLTYPE;
}

granary_frame *
gr_frame_create(size_t count, int64_t rows)
{
    granary_frame *frame = calloc(1, sizeof *frame);

    if (frame == NULL) {
        return NULL;
    }
    frame->columns = calloc(count > 0 ? count : 1, sizeof *frame->columns);
    if (frame->columns == NULL) {
        free(frame);
        return NULL;
    }
    frame->rows = rows;
    frame->count = count;
    for (size_t i = 0; i < count; i++) {
        frame->columns[i].view.rows = rows;
    }
    return frame;
}

static void
drop_column(struct gr_column *column)
{
    free((void *)(uintptr_t)column->view.name);
    column->view.name = NULL;
    gr_column_free(column);
}

void
gr_frame_destroy(granary_frame *frame)
{
    if (frame != NULL) {
        for (size_t i = 0; i < frame->count; i++) {
            drop_column(&frame->columns[i]);
        }
        free(frame->columns);
        free(frame->stats);
        gr_frame_destroy(frame->plain); /* it borrows from this one, but its end touches nothing of it */
        free(frame);
    }
}

granary_err
gr_frame_give(granary_frame *frame, granary_err err, granary_frame **ret_frame)
{
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_frame = frame;
    return frame == NULL ? gr_no_memory("a frame") : GRANARY_OK;
}

const struct gr_column_stats *
gr_frame_stats(const granary_frame *frame, size_t position)
{
    return frame->stats == NULL || position >= frame->count ? NULL : &frame->stats[position];
}

granary_err
gr_frame_set(granary_frame *frame, size_t position, const char *name, struct gr_column *column)
{
    char *copy = frame == NULL ? NULL : strdup(name);

    if (copy == NULL) {
        gr_column_free(column);
        return gr_fail(GRANARY_ENOMEM, "column '%s': out of memory", name);
    }
    drop_column(&frame->columns[position]);
    frame->columns[position] = *column;
    frame->columns[position].view.name = copy;
    *column = (struct gr_column){.owned = false};
    return GRANARY_OK;
}

granary_err
gr_frame_set_borrowed(granary_frame *frame, size_t position, const char *name, const granary_column *column)
{
    struct gr_column borrowed = {.view = *column, .owned = false, .dictionary = gr_dictionary_hold(column->dictionary)};

    return gr_frame_set(frame, position, name, &borrowed);
}

granary_err
gr_frame_move(granary_frame *frame, size_t position, granary_frame *from, size_t from_position)
{
    struct gr_column column = from->columns[from_position];

    from->columns[from_position] = (struct gr_column){.view = {.name = column.view.name}};
    return gr_frame_set(frame, position, column.view.name, &column);
}

int
gr_frame_find(const granary_frame *frame, const char *name)
{
    for (size_t i = 0; i < frame->count; i++) {
        if (frame->columns[i].view.name != NULL && strcmp(frame->columns[i].view.name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

granary_err
gr_frame_take(const granary_frame *frame, const int64_t *indices, int64_t count, granary_frame **ret_frame)
{
    granary_frame *taken = gr_frame_create(frame->count, count);
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        struct gr_column out;

        err = gr_column_take(column, indices, count, &out);
        if (err == GRANARY_OK) {
            err = gr_frame_set(taken, i, column->name, &out);
        } else {
            (void)gr_fail_in(err, "column '%s'", column->name);
        }
    }
    return gr_frame_give(taken, err, ret_frame);
}

granary_err
gr_frame_slice(const granary_frame *frame, int64_t from, int64_t count, granary_frame **ret_frame)
{
    granary_frame *slice;
    granary_err err = GRANARY_OK;

    if (from < 0 || count < 0 || from > frame->rows - count) {
        return gr_fail(GRANARY_EINVAL, "%lld rows from row %lld of a frame of %lld", (long long)count, (long long)from,
                       (long long)frame->rows);
    }
    slice = gr_frame_create(frame->count, count);
    for (size_t i = 0; err == GRANARY_OK && i < frame->count; i++) {
        const granary_column *column = &frame->columns[i].view;
        const struct gr_run run = {column, from, count};
        struct gr_column out;

        err = gr_column_concat(&run, 1, column->dtype, &out);
        if (err == GRANARY_OK) {
            err = gr_frame_set(slice, i, column->name, &out);
        }
    }
    return gr_frame_give(slice, err, ret_frame);
}

/* Column `position` of every frame as runs; its dtype is that of the first that is not NULLTYPE. */
static granary_err
runs_of_column(const granary_frame *const *frames, size_t count, size_t position, struct gr_run *runs,
               granary_dtype *ret_dtype)
{
    const char *name = frames[0]->columns[position].view.name;
    granary_dtype dtype = GRANARY_NULLTYPE;

    for (size_t f = 0; f < count; f++) {
        const granary_column *column = &frames[f]->columns[position].view;

        if (strcmp(column->name, name) != 0) {
            return gr_fail(GRANARY_ETYPE, "column %zu is '%s' here and '%s' there: frames to be joined must agree",
                           position, name, column->name);
        }
        if (dtype == GRANARY_NULLTYPE) {
            dtype = column->dtype;
        }
        if (column->dtype != GRANARY_NULLTYPE && column->dtype != dtype) {
            return gr_fail(GRANARY_ETYPE, "column '%s' is %s here and %s there: frames to be joined must agree", name,
                           granary_dtype_name(dtype), granary_dtype_name(column->dtype));
        }
        runs[f] = (struct gr_run){column, 0, column->rows};
    }
    *ret_dtype = dtype;
    return GRANARY_OK;
}

granary_err
gr_frame_concat(const granary_frame *const *frames, size_t count, granary_frame **ret_frame)
{
    granary_frame *whole = NULL;
    struct gr_run *runs = NULL;
    granary_err err = GRANARY_OK;
    int64_t rows = 0;

    for (size_t f = 0; f < count; f++) {
        rows += frames[f]->rows;
        if (frames[f]->count != frames[0]->count) {
            return gr_fail(GRANARY_ETYPE, "%zu columns here and %zu there: frames to be joined must agree",
                           frames[0]->count, frames[f]->count);
        }
    }
    whole = gr_frame_create(count > 0 ? frames[0]->count : 0, rows);
    runs = calloc(count > 0 ? count : 1, sizeof *runs);
    if (whole == NULL || runs == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "frame: out of memory");
    }
    for (size_t i = 0; err == GRANARY_OK && i < whole->count; i++) {
        struct gr_column out;
        granary_dtype dtype;

        err = runs_of_column(frames, count, i, runs, &dtype);
        if (err == GRANARY_OK) {
            err = gr_column_concat(runs, count, dtype, &out);
            err = err == GRANARY_OK ? gr_frame_set(whole, i, frames[0]->columns[i].view.name, &out)
                                    : gr_fail_in(err, "column '%s'", frames[0]->columns[i].view.name);
        }
    }
    free(runs);
    return gr_frame_give(whole, err, ret_frame);
}

granary_err
granary_frame_open(const granary_view *view, granary_frame **ret_frame)
{
    return gr_arrow_read(view->data, view->data_size, view->meta, view->meta_size, ret_frame);
}

void
granary_frame_close(granary_frame *frame)
{
    gr_frame_destroy(frame);
}

int64_t
granary_frame_rows(const granary_frame *frame)
{
    return frame->rows;
}

size_t
granary_frame_columns(const granary_frame *frame)
{
    return frame->count;
}

const granary_column *
granary_frame_column(const granary_frame *frame, size_t position)
{
    return position < frame->count ? &frame->columns[position].view : NULL;
}

const granary_column *
granary_frame_column_named(const granary_frame *frame, const char *name)
{
    int position = gr_frame_find(frame, name);

    return position < 0 ? NULL : &frame->columns[position].view;
}

const char *
granary_column_text(const granary_column *column, int64_t row, size_t *ret_length)
{
    *ret_length = 0;
    return !gr_dtype_is_text(column->dtype) || gr_is_null(column, row) ? NULL : gr_text_at(column, row, ret_length);
}
