/* Columns that somebody else made, by the public API: checked before they are believed. */
#ifndef DATA_CALLER_H
#define DATA_CALLER_H

#include "data/frame.h"

/* The rows values of a column whose name and dtype are good already. Errors: EINVAL names the column and what is wrong */
granary_err gr_caller_check_values(const granary_column *column, int64_t rows);

/* All of them as a frame, which borrows what it can. Errors: EINVAL as above, or a name that is impossible, or twice · EFULL, ENOMEM */
granary_err gr_caller_frame(const granary_column *columns, size_t count, int64_t rows, granary_frame **ret_frame);

#endif
