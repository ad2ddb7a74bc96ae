/* select, filter, assign, concat. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/eval.h"
#include "kernel/frame_call.h"

granary_err
kernel_select(struct gr_kernel_call *call)
{
    const Granary__Attr *names;
    const granary_frame *frame;
    const granary_column **columns;
    granary_frame *selected = NULL;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = call_attr(call, "columns", GRANARY__ATTR__KIND__STRINGS, &names);
    }
    if (err == GRANARY_OK) {
        err = frame_columns(frame, names->strings, names->n_strings, &columns);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    selected = gr_frame_create(names->n_strings, frame->rows);
    if (selected == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "select: out of memory for %zu columns", names->n_strings);
    }
    for (size_t i = 0; i < names->n_strings && err == GRANARY_OK; i++) {
        err = gr_frame_set_borrowed(selected, i, names->strings[i], columns[i]);
    }
    free(columns);
    if (err != GRANARY_OK) {
        gr_frame_destroy(selected);
        return err;
    }
    return call_yield(call, 0, selected);
}

/* Numbers of the rows for which the expression is true; *ret_indices has room for all and is to be freed. */
static granary_err
rows_where(const char *text, const granary_frame *frame, int64_t **ret_indices, int64_t *ret_count)
{
    struct eval *eval;
    int64_t *indices = NULL;
    int64_t count = 0;
    granary_err err = eval_create(text, frame, &eval);

    if (err != GRANARY_OK) {
        return err;
    }
    if (eval_dtype(eval) != GRANARY_BOOL && eval_dtype(eval) != GRANARY_NULLTYPE) {
        err = gr_fail(GRANARY_ETYPE, "expression `%s` is %s: a condition must be bool", text,
                      granary_dtype_name(eval_dtype(eval)));
        eval_destroy(eval);
        return err;
    }
    indices = malloc((size_t)(frame->rows > 0 ? frame->rows : 1) * sizeof *indices);
    if (indices == NULL) {
        eval_destroy(eval);
        return gr_fail(GRANARY_ENOMEM, "filter: out of memory for %lld rows", (long long)frame->rows);
    }
    for (int64_t from = 0; from < frame->rows && err == GRANARY_OK; from += EVAL_BLOCK) {
        int64_t n = frame->rows - from < EVAL_BLOCK ? frame->rows - from : EVAL_BLOCK;
        const uint8_t *truth;

        err = eval_truth(eval, from, n, &truth);
        for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
            indices[count] = from + i; /* overwritten by the next one unless it counts */
            count += truth[i];
        }
    }
    eval_destroy(eval);
    if (err != GRANARY_OK) {
        free(indices);
        return err;
    }
    *ret_indices = indices;
    *ret_count = count;
    return GRANARY_OK;
}

granary_err
kernel_filter(struct gr_kernel_call *call)
{
    const Granary__Attr *where;
    const granary_frame *frame;
    granary_frame *kept = NULL;
    int64_t *indices = NULL;
    int64_t count = 0;
    granary_err err = call_frame(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = call_attr(call, "where", GRANARY__ATTR__KIND__STRING, &where);
    }
    if (err == GRANARY_OK) {
        err = rows_where(where->strings[0], frame, &indices, &count);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    err = count == frame->rows ? frame_borrow(frame, &kept) : gr_frame_take(frame, indices, count, &kept);
    free(indices);
    return err == GRANARY_OK ? call_yield(call, 0, kept) : err;
}

/* The last entry of a name counts, as in a mapping. */
static const char *
entry_find(const Granary__Attr *map, const char *name)
{
    for (size_t i = map->n_keys; i > 0; i--) {
        if (strcmp(map->keys[i - 1], name) == 0) {
            return map->strings[i - 1];
        }
    }
    return NULL;
}

/* Whether entry i is the first of its name and no column of the frame has it: it comes after the frame's columns. */
static bool
entry_is_new(const Granary__Attr *map, size_t i, const granary_frame *frame)
{
    for (size_t j = 0; j < i; j++) {
        if (strcmp(map->keys[j], map->keys[i]) == 0) {
            return false;
        }
    }
    return gr_frame_find(frame, map->keys[i]) < 0;
}

static granary_err
column_assign(const granary_frame *frame, const char *text, granary_frame *target, size_t position, const char *name)
{
    struct gr_column column;
    granary_err err = eval_column(text, frame, &column);

    return err == GRANARY_OK ? gr_frame_set(target, position, name, &column) : gr_fail_in(err, "column '%s'", name);
}

granary_err
kernel_assign(struct gr_kernel_call *call)
{
    const Granary__Attr *map;
    const granary_frame *frame;
    granary_frame *assigned = NULL;
    size_t count;
    granary_err err = call_frame(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = call_attr(call, "columns", GRANARY__ATTR__KIND__MAP, &map);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    count = frame->count;
    for (size_t i = 0; i < map->n_keys; i++) {
        count += entry_is_new(map, i, frame);
    }
    assigned = gr_frame_create(count, frame->rows);
    if (assigned == NULL) {
        return gr_fail(GRANARY_ENOMEM, "assign: out of memory for %zu columns", count);
    }
    for (size_t i = 0; i < frame->count && err == GRANARY_OK; i++) {
        const granary_column *column = &frame->columns[i].view;
        const char *text = entry_find(map, column->name);

        err = text != NULL ? column_assign(frame, text, assigned, i, column->name)
                           : gr_frame_set_borrowed(assigned, i, column->name, column);
    }
    count = frame->count;
    for (size_t i = 0; i < map->n_keys && err == GRANARY_OK; i++) {
        if (entry_is_new(map, i, frame)) {
            err = column_assign(frame, entry_find(map, map->keys[i]), assigned, count++, map->keys[i]);
        }
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(assigned);
        return err;
    }
    return call_yield(call, 0, assigned);
}

/* The first limit rows of several frames; only the frames that give rows are copied. */
static granary_err
concat_limited(const granary_frame **frames, size_t count, int64_t limit, granary_frame **ret_frame)
{
    granary_frame *last = NULL;
    size_t used = 0;
    int64_t rows = 0;
    granary_err err = GRANARY_OK;

    while (used < count && (used == 0 || rows < limit)) {
        rows += frames[used++]->rows;
    }
    if (rows > limit) {
        const granary_frame *cut = frames[used - 1];

        err = gr_frame_slice(cut, 0, cut->rows - (rows - limit), &last);
        frames[used - 1] = last;
    }
    if (err == GRANARY_OK && used == 1 && last != NULL) {
        *ret_frame = last;
        return GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = used == 1 ? frame_borrow(frames[0], ret_frame) : gr_frame_concat(frames, used, ret_frame);
    }
    gr_frame_destroy(last);
    return err;
}

granary_err
kernel_concat(struct gr_kernel_call *call)
{
    int64_t limit = gr_attr_int(call->op->attrs, call->op->n_attrs, "limit", -1);
    const granary_frame **frames;
    granary_frame *all = NULL;
    granary_err err = call_frames_encoded(call, &frames);

    if (err != GRANARY_OK) {
        return err;
    }
    err = concat_limited(frames, call->input_count, limit < 0 ? INT64_MAX : limit, &all);
    free(frames);
    return err == GRANARY_OK ? call_yield(call, 0, all) : err;
}
