/* What a dtype counts as, where its width does not matter. */
#ifndef GRAPH_DTYPE_CLASS_H
#define GRAPH_DTYPE_CLASS_H

#include "granary/frame.h"

enum gr_dtype_class {
    GR_CLASS_NULL,
    GR_CLASS_BOOL,
    GR_CLASS_SIGNED,
    GR_CLASS_UNSIGNED,
    GR_CLASS_REAL,
    GR_CLASS_DECIMAL,
    GR_CLASS_DURATION,
    GR_CLASS_MOMENT, /* date, timestamp */
    GR_CLASS_TEXT
};

enum gr_dtype_class gr_dtype_class(granary_dtype dtype);

/* What a value is cast to when a result is beyond that dtype, as messages say it; "": nothing helps. */
const char *gr_dtype_wider(granary_dtype dtype);

#endif
