/* Inputs, attributes and outputs of a call that works on frames, checked once for all kernels. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/text/packing.h"
#include "kernel/core/frame_call.h"

granary_err
call_frame_encoded(const struct gr_kernel_call *call, size_t i, const granary_frame **ret_frame)
{
    if (i >= call->input_count) {
        return gr_fail(GRANARY_EINVAL, "%s: input %zu is missing", call->op->op, i);
    }
    if (call->inputs[i].kind != GR_VALUE_FRAME) {
        return gr_fail(GRANARY_ETYPE, "%s: input %zu is no frame", call->op->op, i);
    }
    *ret_frame = call->inputs[i].frame;
    return GRANARY_OK;
}

granary_err
call_frame(const struct gr_kernel_call *call, size_t i, const granary_frame **ret_frame)
{
    granary_err err = call_frame_encoded(call, i, ret_frame);

    return err == GRANARY_OK ? gr_frame_plain(*ret_frame, ret_frame) : err;
}

typedef granary_err get_frame(const struct gr_kernel_call *call, size_t i, const granary_frame **ret_frame);

static granary_err
get_frames(const struct gr_kernel_call *call, get_frame *get, const granary_frame ***ret_frames)
{
    const granary_frame **frames;
    const granary_frame *first;
    granary_err err = get(call, 0, &first); /* at least one */

    if (err != GRANARY_OK) {
        return err;
    }
    frames = calloc(call->input_count, sizeof *frames);
    if (frames == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%s: out of memory for %zu inputs", call->op->op, call->input_count);
    }
    for (size_t i = 0; i < call->input_count; i++) {
        err = get(call, i, &frames[i]);
        if (err != GRANARY_OK) {
            free(frames);
            return err;
        }
    }
    *ret_frames = frames;
    return GRANARY_OK;
}

granary_err
call_frames_encoded(const struct gr_kernel_call *call, const granary_frame ***ret_frames)
{
    return get_frames(call, call_frame_encoded, ret_frames);
}

granary_err
call_frames_joined(const struct gr_kernel_call *call, const granary_frame **ret_frame, granary_frame **ret_owned)
{
    const granary_frame **frames;
    granary_err err = call_frames_encoded(call, &frames);

    *ret_owned = NULL;
    if (err != GRANARY_OK) {
        return err;
    }
    if (call->input_count > 1) {
        err = gr_frame_concat(frames, call->input_count, ret_owned);
    }
    *ret_frame = *ret_owned != NULL ? *ret_owned : frames[0];
    free(frames);
    return err;
}

granary_err
frame_columns(const granary_frame *frame, char *const *names, size_t count, const granary_column ***ret_columns)
{
    const granary_column **columns = calloc(count > 0 ? count : 1, sizeof *columns);

    if (columns == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory for %zu columns", count);
    }
    for (size_t i = 0; i < count; i++) {
        int position = gr_frame_find(frame, names[i]);

        if (position < 0) {
            free(columns);
            return gr_fail(GRANARY_ENOENT, "there is no column '%s'", names[i]);
        }
        columns[i] = &frame->columns[position].view;
    }
    *ret_columns = columns;
    return GRANARY_OK;
}

granary_err
call_go_on(const struct gr_kernel_call *call)
{
    return call->stopped != NULL && call->stopped(call) ? gr_fail(GRANARY_ECANCELLED, "it was stopped") : GRANARY_OK;
}

granary_err
call_yield(struct gr_kernel_call *call, size_t i, granary_frame *frame, granary_err err)
{
    if (err == GRANARY_OK && i >= call->output_count) {
        err = gr_fail(GRANARY_EINVAL, "%s: output %zu is missing", call->op->op, i);
    }
    if (err == GRANARY_OK && frame == NULL) {
        err = gr_no_memory(call->op->op);
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(frame);
        return err;
    }
    call->outputs[i].kind = GR_VALUE_FRAME;
    call->outputs[i].frame = frame;
    return GRANARY_OK;
}

granary_err
call_yield_text(struct gr_kernel_call *call, size_t i, struct gr_buf *text, int64_t rows)
{
    granary_err err = i >= call->output_count ? gr_fail(GRANARY_EINVAL, "%s: output %zu is missing", call->op->op, i)
                      : !gr_buf_ok(text)
                          ? gr_fail(GRANARY_ENOMEM, "no memory for the text of %lld rows", (long long)rows)
                          : GRANARY_OK;

    if (err != GRANARY_OK) {
        gr_buf_free(text);
        return err;
    }
    call_yield_bytes(call, i, text->bytes, text->size);
    return GRANARY_OK;
}

granary_err
call_yield_packed(struct gr_kernel_call *call, size_t i, struct gr_buf *text, int64_t rows, const char *packing)
{
    enum gr_packing kind = GR_PACKING_NONE;
    struct gr_buf packed = {0};
    granary_err err = gr_packing_parse(packing, &kind)
                          ? GRANARY_OK
                          : gr_fail(GRANARY_EINVAL, "%s: no packing '%s'", call->op->op, packing);

    if (err == GRANARY_OK && (kind == GR_PACKING_NONE || !gr_buf_ok(text))) {
        return call_yield_text(call, i, text, rows);
    }
    err = err == GRANARY_OK ? gr_pack_text(kind, text->bytes, text->size, &packed) : err;
    gr_buf_free(text);
    if (err != GRANARY_OK) {
        gr_buf_free(&packed);
        return err;
    }
    return call_yield_text(call, i, &packed, rows);
}

granary_err
call_yield_row(struct gr_kernel_call *call, size_t i, const char *name, const char *text,
               const struct call_number *numbers, size_t count)
{
    const size_t length = strlen(text);
    granary_frame *frame = gr_frame_create(count + 1, 1);
    struct gr_column column;
    granary_err err = frame == NULL ? gr_fail(GRANARY_ENOMEM, "out of memory") : GRANARY_OK;

    err = err == GRANARY_OK ? gr_column_alloc(GRANARY_STRING, 1, (int64_t)length, false, &column) : err;
    if (err == GRANARY_OK) {
        memcpy((char *)(uintptr_t)column.view.values, text, length);
        ((int32_t *)(uintptr_t)column.view.offsets)[1] = (int32_t)length;
        err = gr_frame_set(frame, 0, name, &column);
    }
    for (size_t n = 0; err == GRANARY_OK && n < count; n++) {
        err = gr_column_alloc(GRANARY_INT64, 1, 0, false, &column);
        if (err == GRANARY_OK) {
            *(int64_t *)(uintptr_t)column.view.values = numbers[n].value;
            err = gr_frame_set(frame, n + 1, numbers[n].name, &column);
        }
    }
    return call_yield(call, i, frame, err);
}

granary_err
frame_borrow(const granary_frame *frame, granary_frame **ret_frame)
{
    granary_frame *borrowed = gr_frame_create(frame->count, frame->rows);
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < frame->count && err == GRANARY_OK; i++) {
        err = gr_frame_set_borrowed(borrowed, i, frame->columns[i].view.name, &frame->columns[i].view);
    }
    return gr_frame_give(borrowed, err, ret_frame);
}

granary_err
frame_take_columns(const granary_frame *frame, char *const *names, size_t count, const int64_t *indices, int64_t rows,
                   granary_frame **ret_frame)
{
    const granary_column **columns;
    granary_frame *taken = NULL;
    granary_err err = frame_columns(frame, names, count, &columns);

    if (err != GRANARY_OK) {
        return err;
    }
    taken = gr_frame_create(count, rows);
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        struct gr_column column;

        err = gr_column_take(columns[i], indices, rows, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(taken, i, names[i], &column);
        }
    }
    free(columns);
    return gr_frame_give(taken, err, ret_frame);
}
