/* Slices as text, for `granary read` and `granary tensor`. */
#ifndef CLI_SLICE_H
#define CLI_SLICE_H

#include "granary/read.h"

/*
 * "3", "A:B", "A:B:STEP", any of them left out, up to a comma or the end, to which *text moves. A position has step 0.
 * bytes: numbers may have K, M, G or T behind them. Errors: EINVAL
 */
granary_err slice_parse(const char **text, bool bytes, granary_slice *ret_slice);

/* A number at *text, which moves on; GRANARY_OMITTED when there is none. Errors: EINVAL it is too large */
granary_err slice_number(const char **text, int64_t *ret_number);

#endif
