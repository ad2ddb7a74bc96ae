/* Which rows there were in any round: a hash table over the rows of a pile. */
#ifndef KERNEL_RECURSION_SEEN_H
#define KERNEL_RECURSION_SEEN_H

#include "kernel/recursion/pile.h"

struct seen {
    struct seen_slot *slots; /* open addressing */
    size_t room;             /* a power of two, or 0 */
    size_t count;
};

/* The rows of a frame that are neither in the pile nor twice in itself, as a new owned frame, which is to become the
 * pile's top. Nulls are equal to one another, nans, too, and -0.0 to 0.0. Errors: EFULL · ENOMEM */
granary_err
seen_sift(struct seen *seen, const struct pile *pile, const granary_frame *frame, granary_frame **ret_frame);
/* Hashes of all rows by some columns. Errors: ENOMEM */
granary_err seen_hashes(const granary_frame *frame, const size_t *columns, size_t count, uint64_t *ret_hashes);
/* Whether two rows are equal in some columns, as above. */
bool
seen_equal(const granary_frame *a, int64_t i, const granary_frame *b, int64_t j, const size_t *columns, size_t count);
/* What it takes beside the rows. */
uint64_t seen_bytes(const struct seen *seen);
void seen_free(struct seen *seen);

#endif
