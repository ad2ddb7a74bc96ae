/* What the kernels on frames share: inputs, attributes and outputs of a call, checked. */
#ifndef KERNEL_CORE_FRAME_CALL_H
#define KERNEL_CORE_FRAME_CALL_H

#include "kernel/core/call.h"

/*
 * Input i as a frame whose string columns are plain: dictionary-encoded ones are decoded, once, and kept with the
 * input. Errors: EINVAL there is none · ETYPE it is something else · ENOMEM
 */
granary_err call_frame(const struct gr_kernel_call *call, size_t i, const granary_frame **ret_frame);
/* The same as it is, for kernels that know dictionaries (column->dictionary). */
granary_err call_frame_encoded(const struct gr_kernel_call *call, size_t i, const granary_frame **ret_frame);

/* All inputs as frames, at least one. *ret_frames is to be freed. Errors: as call_frame · ENOMEM */
granary_err call_frames_encoded(const struct gr_kernel_call *call, const granary_frame ***ret_frames);

/* All of them one behind the other. *ret_owned: to be destroyed; NULL when there is one, borrowed. Errors: as
 * call_frames_encoded() and gr_frame_concat() */
granary_err
call_frames_joined(const struct gr_kernel_call *call, const granary_frame **ret_frame, granary_frame **ret_owned);

/* The columns of a frame with the given names. *ret_columns is to be freed. Errors: ENOENT names the column · ENOMEM */
granary_err
frame_columns(const granary_frame *frame, char *const *names, size_t count, const granary_column ***ret_columns);

/* Rows of some columns, in the order of names, as a new owned frame. Errors: as frame_columns() and gr_frame_take() */
granary_err frame_take_columns(const granary_frame *frame, char *const *names, size_t count, const int64_t *indices,
                               int64_t rows, granary_frame **ret_frame);

/* For loops that take long. Errors: ECANCELLED the subtask is to be given up */
granary_err call_go_on(const struct gr_kernel_call *call);

/* The end of a call: output i becomes a frame, which it *takes*; after an error the frame, if any, is destroyed. Returns
 * err. Errors: EINVAL the call has no such output (the frame is destroyed) */
granary_err call_yield(struct gr_kernel_call *call, size_t i, granary_frame *frame, granary_err err);

/* Output i becomes bytes, of so many rows; *takes* them. Errors: EINVAL as call_yield() · ENOMEM the text is cut short */
granary_err call_yield_text(struct gr_kernel_call *call, size_t i, struct gr_buf *text, int64_t rows);
/* Output i becomes a text, of so many rows, packed as a name says (data/text/packing.h); *takes* it. Errors: EINVAL as
 * call_yield(), there is no such packing · ENOMEM the text is cut short */
granary_err
call_yield_packed(struct gr_kernel_call *call, size_t i, struct gr_buf *text, int64_t rows, const char *packing);

/* Output i becomes a frame of one row: a text, then numbers. Errors: EINVAL as call_yield() · ENOMEM */
struct call_number {
    const char *name; /* of the column */
    int64_t value;
};
granary_err call_yield_row(struct gr_kernel_call *call, size_t i, const char *name, const char *text,
                           const struct call_number *numbers, size_t count);

/* A frame with the columns of another one, borrowed. Errors: ENOMEM */
granary_err frame_borrow(const granary_frame *frame, granary_frame **ret_frame);

#endif
