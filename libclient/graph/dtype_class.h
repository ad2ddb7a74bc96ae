/* What a dtype counts as, where its width does not matter. */
#ifndef GRAPH_DTYPE_CLASS_H
#define GRAPH_DTYPE_CLASS_H

#include <stdbool.h>
#include <stddef.h>

#include "contract/int128.h"
#include "granary/frame.h"

enum gr_dtype_class {
    GR_CLASS_NULL,
    GR_CLASS_BOOL,
    GR_CLASS_SIGNED,
    GR_CLASS_UNSIGNED,
    GR_CLASS_REAL,
    GR_CLASS_COMPLEX, /* tensors only */
    GR_CLASS_DECIMAL,
    GR_CLASS_DURATION,
    GR_CLASS_MOMENT, /* date, time of day, timestamps */
    GR_CLASS_TEXT,
    GR_CLASS_BYTES,
    GR_CLASS_LIST
};

enum gr_dtype_class gr_dtype_class(granary_dtype dtype);

bool gr_dtype_is_float(granary_dtype dtype);
bool gr_dtype_is_complex(granary_dtype dtype);
/* Of integers; false for bool. */
bool gr_dtype_is_integer(granary_dtype dtype);
bool gr_dtype_is_signed(granary_dtype dtype);
/* Integers, floats and decimals. */
bool gr_dtype_is_number(granary_dtype dtype);
/* The integer dtype of 1, 2, 4 or 8 bytes. */
granary_dtype gr_dtype_of_integer(bool is_signed, size_t bytes);

struct gr_limits {
    gr_int128 least;
    gr_int128 most;
};

/* Integers, moments and decimals: the least and the greatest value, in units. Others: those of int64. */
struct gr_limits gr_dtype_limits(granary_dtype dtype);

static inline bool
gr_dtype_fits(granary_dtype dtype, gr_int128 value)
{
    struct gr_limits limits = gr_dtype_limits(dtype);

    return value >= limits.least && value <= limits.most;
}

/* What a value is cast to when a result is beyond that dtype, as messages say it; "": nothing helps. */
const char *gr_dtype_wider(granary_dtype dtype);

#endif
