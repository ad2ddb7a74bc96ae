/*
 * Exact sums of doubles for many groups. Numbers of a block are cut into two integers below a common top
 * (simd/exact_sum.h), which are added up in two words of a group. When a larger number comes, the sum so far moves
 * into a 128-bit integer of the group, in units of a fixed power of two. What fits neither (bits far below the top,
 * infinities) is added to an exact_sum of the group.
 */
#ifndef KERNEL_AGGREGATE_REALS_H
#define KERNEL_AGGREGATE_REALS_H

#include "contract/int128.h"
#include "kernel/aggregate/table.h"

struct reals {
    int top;      /* of the words; INT_MIN: nothing yet */
    int64_t rows; /* added since the words were emptied */
    /* by group, as far as room goes */
    uint32_t room;
    gr_int128 *whole; /* in units of 2^unit; NULL: none */
    int unit;
    uint32_t *other_of; /* which of others, and one; 0: none; NULL: none at all */
    size_t other_count;
    size_t other_room;
    struct exact_sum *others;
};

void reals_fini(struct reals *reals);
/* Room for groups below room, which never becomes less. Errors: ENOMEM */
granary_err reals_grow(struct reals *reals, uint32_t room);
/* Add a number of any kind. Errors: ENOMEM */
granary_err reals_add_other(struct reals *reals, uint32_t group, double x);
/* Add many to one group. Errors: ENOMEM */
granary_err reals_add_many(struct reals *reals, uint32_t group, const double *values, size_t count);
/* Add value * 2^unit. Errors: ENOMEM */
granary_err reals_add_whole(struct reals *reals, uint32_t group, gr_int128 value, int unit);
/* Add an exact sum. Errors: ENOMEM */
granary_err reals_add_sum(struct reals *reals, uint32_t group, const struct exact_sum *sum);

/* The sum as a part: of the groups ids[0 .. count), each once. Errors: ENOMEM */
granary_err reals_part(struct reals *reals, const uint32_t *ids, size_t count, struct group_part *ret_part);

/* The sum of group g of a part, to be given to exact_sum_fini(). Groups are asked for in ascending order; *at is 0 at
 * first. Errors: ENOMEM */
granary_err reals_sum(const struct group_part *part, size_t g, size_t *at, struct exact_sum *ret_sum);
/* The same, rounded. */
granary_err reals_value(const struct group_part *part, size_t g, size_t *at, double *ret_value);

#endif
