/* granary/call.h: a frame made column by column, and tensors and bytes made in place. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"
#include "executor/user/call.h"

/* ---- bytes and tensors ---- */

size_t
granary_call_outputs(const granary_call *call)
{
    return call->op->op->n_outputs;
}

/* What the store refuses is no fault of the function. */
static granary_err
note_store(granary_call *call, granary_err err)
{
    if (err != GRANARY_OK && err != GRANARY_EINVAL) {
        call->store_err = err;
        (void)call_failed(call, err);
    }
    return err;
}

granary_err
granary_call_output(granary_call *call, size_t i, uint64_t size, void **ret_data)
{
    granary_err err;

    if (i >= granary_call_outputs(call)) {
        return gr_fail(GRANARY_EINVAL, "function '%s' gives output %zu: it has %zu", call->context.function, i,
                       granary_call_outputs(call));
    }
    if (call->outputs[i].given || (i == 0 && call->frame_begun) || call->go_on) {
        return gr_fail(GRANARY_EINVAL, "function '%s' gives output %zu twice", call->context.function, i);
    }
    err = note_store(call, output_create(call->op, &call->outputs[i], size));
    if (err == GRANARY_OK) {
        *ret_data = output_data(&call->outputs[i]);
    }
    return err;
}

granary_err
granary_call_output_tensor(granary_call *call, size_t i, granary_dtype dtype, int dims, const int64_t *shape,
                           void **ret_values)
{
    granary_tensor tensor;
    void *data;
    granary_err err = gr_npy_plan(dtype, dims, shape, &tensor);

    if (err == GRANARY_OK) {
        err = granary_call_output(call, i, gr_npy_measure(&tensor), &data);
    }
    if (err == GRANARY_OK) {
        *ret_values = gr_npy_begin(&tensor, data);
    }
    return err;
}

/* ---- frames ---- */

/* The first output is a frame from now on. Errors: ESTATE · EINVAL there is no input · as granary_call_frame() */
static granary_err
begin_frame(granary_call *call)
{
    const granary_frame *first;
    granary_err err;

    if (call->frame_begun) {
        return GRANARY_OK;
    }
    if (granary_call_outputs(call) == 0 || call->outputs[0].given || call->go_on) {
        return gr_fail(GRANARY_ESTATE, "function '%s': its first output is there already, or it has none",
                       call->context.function);
    }
    if (granary_call_inputs(call) == 0) {
        return gr_fail(GRANARY_EINVAL,
                       "function '%s' has no input whose rows a new column could have: say how many "
                       "with granary_call_set_rows()",
                       call->context.function);
    }
    err = call_frame_of(call, 0, &first);
    if (err == GRANARY_OK) {
        call->rows = granary_frame_rows(first);
        call->frame_begun = true;
    }
    return err;
}

/* A place for one more column. Errors: as begin_frame() · EINVAL the name is taken · ESTATE · ENOMEM */
static granary_err
add_column(granary_call *call, const char *name, struct new_column **ret_column)
{
    struct new_column *grown;
    granary_err err = begin_frame(call);

    if (err != GRANARY_OK) {
        return err;
    }
    if (call->kept != NULL) {
        return gr_fail(GRANARY_ESTATE, "column '%s': granary_call_keep_rows() comes after all new columns", name);
    }
    for (size_t i = 0; i < call->column_count; i++) {
        if (strcmp(call->columns[i].name, name) == 0) {
            return gr_fail(GRANARY_EINVAL, "column '%s' is given twice", name);
        }
    }
    grown = realloc(call->columns, (call->column_count + 1) * sizeof *grown);
    if (grown == NULL) {
        return gr_fail(GRANARY_ENOMEM, "column '%s': out of memory", name);
    }
    call->columns = grown;
    grown[call->column_count] = (struct new_column){.name = strdup(name)};
    if (grown[call->column_count].name == NULL) {
        return gr_fail(GRANARY_ENOMEM, "column '%s': out of memory", name);
    }
    *ret_column = &grown[call->column_count];
    return GRANARY_OK;
}

static granary_err
fill_column(granary_call *call, struct new_column *column, granary_dtype dtype, int64_t text_bytes)
{
    granary_err err = gr_column_alloc(dtype, call->rows, text_bytes, false, &column->column);

    if (err != GRANARY_OK) {
        err = gr_fail_in(err, "column '%s'", column->name);
        free(column->name);
        return err;
    }
    call->column_count++;
    return GRANARY_OK;
}

void *
granary_call_new_column(granary_call *call, const char *name, granary_dtype dtype)
{
    struct new_column *column;
    granary_err err;

    if (gr_dtype_is_text(dtype) || gr_dtype_size(dtype) == 0) {
        (void)granary_call_fail(call, GRANARY_EINVAL, "column '%s': room for values of %s cannot be given%s", name,
                                granary_dtype_name(dtype),
                                dtype == GRANARY_STRING ? ": use granary_call_new_strings()" : "");
        return NULL;
    }
    err = add_column(call, name, &column);
    if (err == GRANARY_OK) {
        err = fill_column(call, column, dtype, 0);
    }
    if (err != GRANARY_OK) {
        call->store_err = err == GRANARY_ENOMEM ? err : call->store_err;
        (void)call_failed(call, err);
        return NULL;
    }
    return (void *)(uintptr_t)column->column.view.values;
}

static bool
is_text(const char *text, size_t length)
{
    uint32_t character;
    size_t step = 1;

    for (; length > 0 && step > 0; text += step, length -= step) {
        step = gr_utf8_decode(text, length, &character);
    }
    return length == 0;
}

static granary_err
check_text(const granary_call *call, const char *name, const int32_t *offsets, const char *bytes)
{
    for (int64_t i = 0; i < call->rows; i++) {
        if (offsets[i] < 0 || offsets[i + 1] < offsets[i]) {
            return gr_fail(GRANARY_EINVAL, "column '%s': the offsets of row %lld go backwards", name, (long long)i);
        }
        if (!is_text(bytes + offsets[i], (size_t)(offsets[i + 1] - offsets[i]))) {
            return gr_fail(GRANARY_EINVAL, "column '%s': the text of row %lld is not UTF-8", name, (long long)i);
        }
    }
    return GRANARY_OK;
}

granary_err
granary_call_new_strings(granary_call *call, const char *name, const int32_t *offsets, const char *bytes)
{
    struct new_column *column;
    granary_err err = add_column(call, name, &column);
    int32_t *to;

    if (err != GRANARY_OK) {
        return err;
    }
    err = check_text(call, name, offsets, bytes);
    if (err != GRANARY_OK) {
        free(column->name);
        return err;
    }
    err = fill_column(call, column, GRANARY_STRING, (int64_t)offsets[call->rows] - offsets[0]);
    if (err != GRANARY_OK) {
        return err;
    }
    to = (int32_t *)(uintptr_t)column->column.view.offsets;
    for (int64_t i = 0; i <= call->rows; i++) {
        to[i] = offsets[i] - offsets[0];
    }
    if (to[call->rows] > 0) {
        memcpy((void *)(uintptr_t)column->column.view.values, bytes + offsets[0], (size_t)to[call->rows]);
    }
    return GRANARY_OK;
}

granary_err
granary_call_set_rows(granary_call *call, int64_t rows)
{
    if (call->frame_begun || granary_call_outputs(call) == 0 || call->outputs[0].given || call->go_on) {
        return gr_fail(GRANARY_ESTATE, "function '%s': the rows are to be set before the first column is given",
                       call->context.function);
    }
    if (rows < 0) {
        return gr_fail(GRANARY_EINVAL, "function '%s': a frame of %lld rows", call->context.function, (long long)rows);
    }
    call->rows = rows;
    call->rows_set = true;
    call->frame_begun = true;
    return GRANARY_OK;
}

granary_err
granary_call_keep_rows(granary_call *call, const uint8_t *keep)
{
    granary_err err = begin_frame(call);

    if (err != GRANARY_OK) {
        return err;
    }
    if (call->kept != NULL) {
        return gr_fail(GRANARY_ESTATE, "function '%s' chooses rows twice", call->context.function);
    }
    call->kept = malloc(((size_t)call->rows + 1) * sizeof *call->kept);
    if (call->kept == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%lld rows: out of memory", (long long)call->rows);
    }
    for (int64_t i = 0; i < call->rows; i++) {
        call->kept[call->kept_count] = i;
        call->kept_count += keep[i] != 0;
    }
    return GRANARY_OK;
}

/* The columns it borrows: of the value itself when the input never was an object, for that lives longer. */
static const granary_frame *
borrowed_columns(const granary_call *call)
{
    const struct gr_value *value = call->op->op->n_inputs == 0 ? NULL : call->op->inputs[0].value;

    if (call->rows_set) {
        return NULL;
    }
    return value != NULL && value->kind == GR_VALUE_FRAME ? value->frame : call->inputs[0].frame;
}

static struct new_column *
find_new(const granary_call *call, const char *name)
{
    for (size_t i = 0; i < call->column_count; i++) {
        if (call->columns[i].name != NULL && strcmp(call->columns[i].name, name) == 0) {
            return &call->columns[i];
        }
    }
    return NULL;
}

/* *Takes* the column. */
static granary_err
put_new(granary_frame *frame, size_t position, struct new_column *column)
{
    granary_err err;

    gr_column_finish(&column->column);
    err = gr_frame_set(frame, position, column->name, &column->column);
    column->column = (struct gr_column){.owned = false};
    free(column->name);
    column->name = NULL;
    return err;
}

granary_err
call_frame_finish(granary_call *call, struct gr_value *ret_value)
{
    const granary_frame *old = borrowed_columns(call);
    size_t old_count = old == NULL ? 0 : old->count;
    size_t count = old_count;
    bool converted = false;
    granary_frame *frame;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < call->column_count; i++) {
        count += old == NULL || gr_frame_find(old, call->columns[i].name) < 0;
    }
    frame = gr_frame_create(count, call->rows);
    if (frame == NULL) {
        return gr_fail(GRANARY_ENOMEM, "a frame of %zu columns: out of memory", count);
    }
    for (size_t i = 0; err == GRANARY_OK && i < old_count; i++) {
        const granary_column *column = &old->columns[i].view;
        struct new_column *instead = find_new(call, column->name);

        err = instead != NULL ? put_new(frame, i, instead) : gr_frame_set_borrowed(frame, i, column->name, column);
    }
    count = old_count;
    for (size_t i = 0; err == GRANARY_OK && i < call->column_count; i++) {
        if (call->columns[i].name != NULL) {
            err = put_new(frame, count++, &call->columns[i]);
        }
    }
    /* What was converted for reading goes with the call. */
    for (size_t i = 0; i < old_count && call->op->inputs[0].value == NULL; i++) {
        converted = converted || old->columns[i].owned;
    }
    if (err == GRANARY_OK && (call->kept != NULL || converted)) {
        granary_frame *all = frame;

        err = call->kept != NULL ? gr_frame_take(all, call->kept, call->kept_count, &frame)
                                 : gr_frame_slice(all, 0, call->rows, &frame);
        gr_frame_destroy(all);
        if (err != GRANARY_OK) {
            return err;
        }
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    *ret_value = (struct gr_value){.kind = GR_VALUE_FRAME, .frame = frame};
    return GRANARY_OK;
}

void
call_frame_free(granary_call *call)
{
    for (size_t i = 0; i < call->column_count; i++) {
        free(call->columns[i].name);
        gr_column_free(&call->columns[i].column);
    }
    free(call->columns);
    free(call->kept);
}
