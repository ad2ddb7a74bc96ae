/* What the chunk operators of windows share: their attributes, and the frame of what the functions need. */
#ifndef KERNEL_WINDOW_FRAME_H
#define KERNEL_WINDOW_FRAME_H

#include "kernel/core/frame_call.h"
#include "kernel/window/compute.h"

struct window_plan {
    struct gr_window *windows;
    size_t count;
    const Granary__Attr *partition; /* NULL: one for all rows */
    const Granary__Attr *by;        /* NULL: in the frame's order */
    const Granary__Attr *descending;
    const Granary__Attr *nulls_first;
    bool keep_nulls; /* a null is a key of its own */
    bool nan_largest;
};

granary_err window_plan_init(const struct gr_window_params *params, struct window_plan *plan);
void window_plan_fini(struct window_plan *plan);

/*
 * The columns that functions need, and no other: those of the partition, those that order it, the values of the
 * functions that take one, and the distances of frames. Borrowed where they are columns of the frame.
 */
granary_err window_needs(const struct window_plan *plan, const granary_frame *frame, granary_frame **ret_needs);
/* Those of function i. */
void
window_columns_at(const struct window_plan *plan, size_t i, const granary_frame *needs, struct window_columns *columns);

/* All new columns, over a frame of window_needs(). */
granary_err window_results(const struct window_plan *plan, const granary_frame *needs, granary_frame **ret_results);

/* The frame with new columns, which are *taken*: replaced ones keep their places, others follow. */
granary_err window_assign(const granary_frame *frame, granary_frame *results, granary_frame **ret_frame);

#endif
