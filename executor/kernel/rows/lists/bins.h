/* The ends of equi_width_bins() while they are found. */
#ifndef KERNEL_ROWS_BINS_H
#define KERNEL_ROWS_BINS_H

#include <stdint.h>

#include "base/error.h"

/* The largest first. */
struct bins_ends {
    double *reals;
    int64_t *ints;
    int64_t count;
    int64_t room;
};

/* Errors: ENOMEM */
granary_err bins_add(struct bins_ends *ends, int64_t whole, double real);
/* Nice ones from one moment to another, in us since 1970, at most `bins`. Errors: ENOMEM */
granary_err bins_of_moments(struct bins_ends *ends, int64_t least, int64_t most, int64_t bins);

#endif
