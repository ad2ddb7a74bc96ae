/* Expressions as columns of a frame of their own. */
#ifndef KERNEL_COLUMNS_H
#define KERNEL_COLUMNS_H

#include "data/frame.h"

/*
 * A frame with a column for each text. One that is the name of a column is borrowed, encoded or plain.
 *
 * Errors  as expressions have them; the message names the column that was to be made · ENOMEM
 */
granary_err columns_compute(const granary_frame *frame, char *const *names, char *const *texts, size_t count,
                            granary_frame **ret_frame);

#endif
