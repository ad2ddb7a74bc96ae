/*
 * window_next: functions that look back only, chunk after chunk. What they know goes from one chunk to the next: states
 * (struct window_state, one a function), and the last rows of values, filled up with nulls at the front.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/window/frame.h"

/* What came before: of the first chunk nothing. */
static granary_err
states_read(const struct gr_kernel_call *call, size_t count, struct window_state *states,
            const granary_frame **ret_tails)
{
    const struct gr_value *value = call->input_count > 2 ? &call->inputs[2] : NULL;
    granary_err err;

    memset(states, 0, count * sizeof *states);
    *ret_tails = NULL;
    if (value == NULL) {
        return GRANARY_OK;
    }
    if (value->kind != GR_VALUE_BYTES || value->bytes_size != count * sizeof *states) {
        return gr_fail(GRANARY_ETYPE, "window_next: input 2 is not what the chunk before has handed on");
    }
    memcpy(states, value->bytes, value->bytes_size);
    err = call_frame_encoded(call, 1, ret_tails);
    if (err == GRANARY_OK && (*ret_tails)->count != count) {
        err = gr_fail(GRANARY_ETYPE, "window_next: input 1 is not what the chunk before has handed on");
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (states[i].tail < 0 || states[i].tail > (*ret_tails)->rows) {
            err = gr_fail(GRANARY_EINVAL, "window_next: more rows of before than there are");
        }
    }
    return err;
}

/* The rows of before and those of the chunk, one after the other. */
static granary_err
value_extended(const granary_column *tail, int64_t rows, const granary_column *value, struct gr_column *ret_column)
{
    struct gr_run runs[2] = {{tail, tail->rows - rows, rows}, {value, 0, value->rows}};

    return gr_column_concat(runs, 2, value->dtype, ret_column);
}

/* The rows that the next chunk wants to see, with nulls in front. */
static granary_err
tail_taken(const struct gr_window *window, struct window_state *state, const granary_column *value, int64_t room,
           struct gr_column *ret_column)
{
    int64_t *indices = malloc((size_t)(room + 1) * sizeof *indices);
    int64_t wanted = gr_window_history(window);
    granary_err err;

    if (indices == NULL) {
        return gr_no_memory("window_next");
    }
    memset(indices, 0xff, (size_t)(room + 1) * sizeof *indices);
    state->tail = wanted >= 0 ? (wanted < value->rows ? wanted : value->rows) : state->chosen > 0;
    for (int64_t i = 0; i < state->tail; i++) {
        indices[room - state->tail + i] = wanted >= 0 ? value->rows - state->tail + i : state->chosen - 1;
    }
    err = gr_column_take(value, indices, room, ret_column);
    free(indices);
    return err;
}

/* One function of a chunk, and its part of what is handed on. */
static granary_err
compute_next(const struct gr_window *window, const granary_column *value, const granary_column *tail, int64_t rows,
             int64_t room, struct window_state *state, struct gr_column *ret_column, struct gr_column *ret_tail)
{
    struct gr_column extended = {.view = value != NULL ? *value : (granary_column){0}};
    struct window_rows all = {.count = rows, .partitions = 1};
    granary_err err =
        value != NULL && state->tail > 0 ? value_extended(tail, state->tail, value, &extended) : GRANARY_OK;

    if (err != GRANARY_OK) {
        return err;
    }
    all.history = value != NULL ? state->tail : 0;
    all.count += all.history;
    all.ends = &all.count;
    all.partitions = all.count > 0;
    err = window_compute(window, &(struct window_columns){.value = value != NULL ? &extended.view : NULL}, &all, state,
                         ret_column);
    state->rows += rows;
    if (err == GRANARY_OK) {
        err = value != NULL ? tail_taken(window, state, &extended.view, room, ret_tail)
                            : gr_column_alloc(GRANARY_NULLTYPE, room, 0, false, ret_tail);
        if (err != GRANARY_OK) {
            gr_column_free(ret_column);
        }
    }
    gr_column_free(&extended);
    return err;
}

static int64_t
tail_room(const struct window_plan *plan)
{
    int64_t room = 1;

    for (size_t i = 0; i < plan->count; i++) {
        int64_t wanted = gr_window_history(&plan->windows[i]);

        room = wanted > room ? wanted : room;
    }
    return room;
}

/* *takes* the states. */
static granary_err
hand_on(struct gr_kernel_call *call, granary_frame *results, const granary_frame *frame, granary_frame *tails,
        struct window_state *states, size_t count)
{
    granary_frame *made = NULL;
    granary_err err = window_assign(frame, results, &made);

    err = call_yield(call, 0, made, err);
    err = call_yield(call, 1, tails, err);
    if (err == GRANARY_OK && call->output_count < 3) {
        err = gr_fail(GRANARY_EINVAL, "window_next: output 2 is missing");
    }
    if (err != GRANARY_OK) {
        free(states);
        return err;
    }
    call_yield_bytes(call, 2, states, count * sizeof *states);
    return GRANARY_OK;
}

granary_err
kernel_window_next(struct gr_kernel_call *call, const struct gr_chunk_window_next *params)
{
    const granary_frame *frame;
    const granary_frame *before = NULL;
    granary_frame *needs = NULL;
    granary_frame *results = NULL;
    granary_frame *tails = NULL;
    struct window_state *states = NULL;
    struct window_plan plan = {0};
    int64_t room = 0;
    size_t count;
    granary_err err = call_frame_encoded(call, 0, &frame);

    if (err == GRANARY_OK) {
        err = window_plan_init(&(struct gr_window_params){.columns = params->columns, .dropna = true}, &plan);
    }
    if (err == GRANARY_OK) {
        room = tail_room(&plan);
        states = gr_data_alloc((plan.count + 1) * sizeof *states);
        results = gr_frame_create(plan.count, frame->rows);
        tails = gr_frame_create(plan.count, room);
        err = states == NULL || results == NULL || tails == NULL ? gr_no_memory("window_next")
                                                                 : states_read(call, plan.count, states, &before);
    }
    if (err == GRANARY_OK) {
        err = window_needs(&plan, frame, &needs);
    }
    for (size_t i = 0; i < plan.count && err == GRANARY_OK; i++) {
        struct window_columns columns;
        struct gr_column column;
        struct gr_column tail;

        window_columns_at(&plan, i, needs, &columns);
        err = compute_next(&plan.windows[i], columns.value, before != NULL ? &before->columns[i].view : NULL,
                           frame->rows, room, &states[i], &column, &tail);
        if (err == GRANARY_OK && (err = gr_frame_set(results, i, plan.windows[i].name, &column)) != GRANARY_OK) {
            gr_column_free(&tail);
        } else if (err == GRANARY_OK) {
            err = gr_frame_set(tails, i, plan.windows[i].name, &tail);
        }
    }
    gr_frame_destroy(needs);
    count = plan.count;
    window_plan_fini(&plan);
    if (err != GRANARY_OK) {
        gr_frame_destroy(results);
        gr_frame_destroy(tails);
        free(states);
        return err;
    }
    return hand_on(call, results, frame, tails, states, count);
}
