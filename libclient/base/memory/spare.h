/*
 * Files below $TMPDIR whose end nobody knows, such as what comes through a pipe, leave some of their disk to others: a tenth of it, or,
 * when that was not free at the beginning, half of what was.
 */
#ifndef BASE_SPARE_H
#define BASE_SPARE_H

#include <stddef.h>
#include <stdint.h>

#include "granary/types.h"

struct gr_spare {
    uint64_t least;  /* what stays free, in bytes; 0: the disk does not tell */
    uint64_t unseen; /* written since it was looked */
};

void gr_spare_begin(int fd, struct gr_spare *ret_spare);

/* Write all of it. Errors: EFULL less would be free than what others are left · errno's */
granary_err gr_spare_write(struct gr_spare *spare, int fd, const void *bytes, size_t size);

#endif
