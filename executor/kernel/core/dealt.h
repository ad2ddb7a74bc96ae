/*
 * Rows dealt out to parts. A mapper writes one object of packed frames (data/layout/packed.h), a frame a part, with rows in
 * order within each. A reader is given its part of each mapper. So a shuffle has as many objects as it has mappers.
 */
#ifndef KERNEL_CORE_DEALT_H
#define KERNEL_CORE_DEALT_H

#include "kernel/core/frame_call.h"

#define DEALT_PARTS_MAX UINT16_MAX

/* The attribute "parts". Errors: EINVAL */
granary_err dealt_parts(int64_t parts);

/*
 * Rows part by part.
 *
 * part_of      by row, below parts
 * ends         parts + 1 entries: part p has the rows [ends[p], ends[p + 1]) of the result
 * ret_indices  scratch_free() takes it back
 */
granary_err dealt_order(const uint16_t *part_of, int64_t rows, int64_t parts, int64_t *ends, int64_t **ret_indices);

/* Output 0: the rows of a frame by part_of, packed. */
granary_err
dealt_yield(struct gr_kernel_call *call, const granary_frame *frame, const uint16_t *part_of, int64_t parts);
/* The same, and behind the parts some frames more, borrowed. */
granary_err dealt_yield_with(struct gr_kernel_call *call, const granary_frame *frame, const uint16_t *part_of,
                             int64_t parts, granary_frame *const *more, size_t more_count);
/* Output 0: stretches of a frame, packed; stretch p is rows [starts[p], starts[p + 1]). */
granary_err
dealt_yield_stretches(struct gr_kernel_call *call, const granary_frame *frame, const int64_t *starts, int64_t parts);

/*
 * Inputs from `first` on, which are frames, one after the other.
 *
 * ret_starts  NULL, or one more than there are inputs: where the rows of each begin in the result; freed with free()
 */
granary_err
dealt_join(const struct gr_kernel_call *call, size_t first, granary_frame **ret_frame, int64_t **ret_starts);

#endif
