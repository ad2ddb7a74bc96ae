/* sort: rows of one frame or of several, one after the other, in order. */
#include <stdlib.h>

#include "base/error.h"
#include "data/place.h"
#include "kernel/sort/order.h"

/* The frame is about to be put in order; few rows are copied as soon as made. */
static void
expect_sorted(const granary_frame *frame, int64_t limit)
{
    if (limit == SORT_NO_LIMIT) {
        gr_place_expect_rows(frame, frame->rows);
    }
}

/* Frames of numbers are put in order where they are brought together, which is then where they stay. */
static void
expect_numbers(const struct order *order, const granary_frame *const *frames, size_t count)
{
    size_t i = 0;

    while (i < count && order_is_numbers(order, frames[i])) {
        i++;
    }
    if (i == count) {
        gr_place_expect_all(frames, count);
    }
}

/* Rows of several frames, each cut to its first ones beforehand. */
static granary_err
frames_sorted(const granary_frame **frames, size_t count, const struct order *order, int64_t limit,
              granary_frame **ret_frame)
{
    granary_frame **firsts = calloc(count, sizeof *firsts);
    granary_frame *all = NULL;
    bool done = false;
    granary_err err =
        firsts == NULL ? gr_fail(GRANARY_ENOMEM, "sort: out of memory for %zu frames", count) : GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        if (limit != SORT_NO_LIMIT && frames[i]->rows > limit) {
            err = order_frame(order, frames[i], limit, &firsts[i]);
            frames[i] = err == GRANARY_OK ? firsts[i] : NULL;
        }
    }
    if (err == GRANARY_OK && limit == SORT_NO_LIMIT) {
        expect_numbers(order, frames, count);
    }
    if (err == GRANARY_OK) {
        err = gr_frame_concat(frames, count, &all);
    }
    if (err == GRANARY_OK && limit == SORT_NO_LIMIT) {
        err = order_numbers(order, all, &done);
    }
    if (err == GRANARY_OK && done) {
        *ret_frame = all;
        all = NULL;
    } else if (err == GRANARY_OK) {
        expect_sorted(all, limit);
        err = order_frame(order, all, limit, ret_frame);
    }
    gr_frame_destroy(all);
    for (size_t i = 0; firsts != NULL && i < count; i++) {
        gr_frame_destroy(firsts[i]);
    }
    free(firsts);
    return err;
}

granary_err
kernel_sort(struct gr_kernel_call *call, const struct gr_chunk_sort *params)
{
    int64_t limit = params->limit;
    const granary_frame **frames;
    granary_frame *sorted = NULL;
    struct order order;
    granary_err err = call_frames_encoded(call, &frames);

    if (err != GRANARY_OK) {
        return err;
    }
    err = order_init(&params->order, &order);
    if (err == GRANARY_OK) {
        limit = limit < 0 ? SORT_NO_LIMIT : limit;
        if (call->input_count == 1 && (limit != SORT_NO_LIMIT || frames[0]->count > 1)) {
            expect_sorted(frames[0], limit);
            err = order_frame(&order, frames[0], limit, &sorted);
        } else {
            err = frames_sorted(frames, call->input_count, &order, limit, &sorted);
        }
        order_fini(&order);
    }
    free(frames);
    return call_yield(call, 0, sorted, err);
}
