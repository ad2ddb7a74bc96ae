/* Frames: a row of columns with names, and the public functions to read them. */
#include "data/frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/dtypes.h"
#include "data/arrow/arrow.h"

static const struct {
    const char *name; /* NULL: no dtype has that number */
    const char *list; /* of a list of such values */
    size_t size;
} dtypes[] = {
#define ROW(name, type, bytes, class, text, ...) [GRANARY_##name] = {text, "list(" text ")", bytes},
    GR_DTYPES(ROW)
#undef ROW
};
#define DTYPES (sizeof dtypes / sizeof dtypes[0])

/* clang-format off */
#define DECIMALS(X)                                                                                                    \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19)       \
    X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38)
/* clang-format on */

static const char *const decimals[] = {
#define NAME(scale) "decimal(" #scale ")",
    DECIMALS(NAME)
#undef NAME
};
static const char *const lists_of_decimals[] = {
#define NAME(scale) "list(decimal(" #scale "))",
    DECIMALS(NAME)
#undef NAME
};
_Static_assert(sizeof decimals / sizeof decimals[0] == GRANARY_DECIMAL_SCALE_MOST + 1, "one a scale");

/* Whether it is of tensors only. */
static bool
is_tensors(unsigned number)
{
    return number == GRANARY_COMPLEX64 || number == GRANARY_COMPLEX128;
}

static bool
is_scalar(unsigned number)
{
    unsigned kind = number & 0xffu;

    return kind < DTYPES && dtypes[kind].name != NULL && kind != GRANARY_LIST && !is_tensors(kind) &&
           (kind == GRANARY_DECIMAL ? number >> 8 <= GRANARY_DECIMAL_SCALE_MOST : number == kind);
}

bool
gr_dtype_is(unsigned number)
{
    return (number & 0xffu) == GRANARY_LIST ? number >> 8 != GRANARY_NULLTYPE && is_scalar(number >> 8)
                                            : is_scalar(number);
}

const char *
granary_dtype_name(granary_dtype dtype)
{
    granary_dtype item = GRANARY_LIST_ITEM(dtype);

    if (!gr_dtype_is(dtype) && !is_tensors(dtype)) {
        return dtype == GR_DTYPE_OTHER ? "an unsupported type" : "?";
    }
    switch (gr_dtype_kind(dtype)) {
    case GRANARY_DECIMAL:
        return decimals[gr_dtype_scale(dtype)];
    case GRANARY_LIST:
        return gr_dtype_kind(item) == GRANARY_DECIMAL ? lists_of_decimals[gr_dtype_scale(item)] : dtypes[item].list;
    default:
        return dtypes[dtype].name;
    }
}

size_t
gr_dtype_size(granary_dtype dtype)
{
    return gr_dtype_kind(dtype) < DTYPES ? dtypes[gr_dtype_kind(dtype)].size : 0;
}

granary_dtype
gr_dtype_parse(const char *name)
{
    for (unsigned number = 1; number < DTYPES; number++) {
        if (is_scalar(number) && number != GRANARY_DECIMAL && strcmp(name, dtypes[number].name) == 0) {
            return (granary_dtype)number;
        }
        if (is_scalar(number) && number != GRANARY_DECIMAL && strcmp(name, dtypes[number].list) == 0) {
            return GRANARY_LIST(number);
        }
    }
    for (int scale = 0; scale <= GRANARY_DECIMAL_SCALE_MOST; scale++) {
        if (strcmp(name, decimals[scale]) == 0) {
            return GRANARY_DECIMAL(scale);
        }
        if (strcmp(name, lists_of_decimals[scale]) == 0) {
            return GRANARY_LIST(GRANARY_DECIMAL(scale));
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
        gr_names_free(&frame->names);
        free(frame->stats);
        if (frame->late != NULL) {
            frame->late->destroy(frame->late);
        }
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
    if (position == frame->names.count) {
        gr_names_add(&frame->names, GR_NAMED(frame->columns, view.name, position + 1));
    } else {
        gr_names_free(&frame->names);
    }
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
    return gr_names_find(&frame->names, GR_NAMED(frame->columns, view.name, frame->count), name);
}

granary_err
gr_frame_take(const granary_frame *frame, const int64_t *indices, int64_t count, granary_frame **ret_frame)
{
    granary_frame *taken = gr_frame_create(frame->count, count);
    granary_err err = GRANARY_OK;

    for (size_t i = 0; taken != NULL && err == GRANARY_OK && i < frame->count; i++) {
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

const granary_column *
granary_column_items(const granary_column *column)
{
    return gr_dtype_is_list(column->dtype) ? gr_list_items(column) : NULL;
}

const char *
granary_column_text(const granary_column *column, int64_t row, size_t *ret_length)
{
    *ret_length = 0;
    return !gr_dtype_is_text(column->dtype) || gr_is_null(column, row) ? NULL : gr_text_at(column, row, ret_length);
}
