/* Columns that somebody else made, by the public API: checked before they are believed. */
#ifndef DATA_CALLER_H
#define DATA_CALLER_H

#include "data/frame.h"

/* One column of rows values; position is for the message. Errors: EINVAL names the column and what is wrong */
granary_err gr_caller_check(const granary_column *column, size_t position, int64_t rows);

/* All of them as a frame, which borrows what it can. Errors: EINVAL as above, or a name twice · EFULL, ENOMEM */
granary_err gr_caller_frame(const granary_column *columns, size_t count, int64_t rows, granary_frame **ret_frame);

#endif
