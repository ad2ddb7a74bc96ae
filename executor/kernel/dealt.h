/*
 * Rows dealt out to parts: a mapper writes one frame, its rows part by part (in order within each), and the positions
 * where parts begin; a reader takes its part of all mappers' frames. So a shuffle has as many objects as it has
 * mappers.
 */
#ifndef KERNEL_DEALT_H
#define KERNEL_DEALT_H

#include "kernel/frame_call.h"

#define DEALT_PARTS_MAX UINT16_MAX

/* The attribute "parts". Errors: EINVAL */
granary_err dealt_parts(const struct gr_kernel_call *call, int64_t *ret_parts);

/*
 * Rows part by part.
 *
 * part_of      by row, below parts
 * ends         parts + 1 entries: part p has the rows [ends[p], ends[p + 1]) of the result
 * ret_indices  scratch_free() takes it back
 */
granary_err dealt_order(const uint16_t *part_of, int64_t rows, int64_t parts, int64_t *ends, int64_t **ret_indices);

/* Outputs 0 and 1: the rows of a frame by part_of, and where parts begin. */
granary_err
dealt_yield(struct gr_kernel_call *call, const granary_frame *frame, const uint16_t *part_of, int64_t parts);

/*
 * A part of all: inputs from `first` on are pairs, a frame and its positions.
 *
 * ret_starts  NULL, or one more than there are pairs: where the rows of each begin in the result; freed with free()
 */
granary_err dealt_join(const struct gr_kernel_call *call, size_t first, int64_t part, granary_frame **ret_frame,
                       int64_t **ret_starts);

/* Output i becomes these positions, which are *taken*. */
granary_err dealt_yield_positions(struct gr_kernel_call *call, size_t i, int64_t *positions, size_t count);

#endif
