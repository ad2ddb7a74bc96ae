/* The arguments of aggregates in a block of rows, in the forms that parts add up: each made when it is first asked for.
 */
#ifndef KERNEL_AGGREGATE_BLOCK_H
#define KERNEL_AGGREGATE_BLOCK_H

#include "contract/int128.h"
#include "kernel/aggregate/plan.h"
#include "kernel/rows/rows.h"

struct argument_block {
    const struct rows_vector *vector;
    int scale; /* decimals */
    bool looked;
    const uint8_t *there; /* a byte a row; NULL: all are there. NaN is missing. */
    bool has_ints;
    int64_t most;        /* ints: none is more in size */
    const int64_t *ints; /* 0 where it is missing */
    bool has_top;        /* of the vector's doubles, none of which is NaN: exact_sum_top() */
    int top;
    bool has_reals;
    const double *reals; /* 0.0 where it is missing */
    uint8_t there_room[ROWS_BLOCK];
    int64_t ints_room[ROWS_BLOCK];
    double reals_room[ROWS_BLOCK];
};

/* A new block: what was made is of the one before. */
void argument_begin(struct argument_block *argument, const struct rows_vector *vector);
/* Which values are there. */
const uint8_t *argument_there(struct argument_block *argument, int64_t n);
/* Integers, bools, dates, ...: not of blocks that are ROWS_WIDE. */
const int64_t *argument_ints(struct argument_block *argument, int64_t n);
/* Value i of an integer or decimal, of any class. */
static inline gr_int128
argument_wide_at(const struct argument_block *argument, int64_t i)
{
    return argument->vector->class == ROWS_WIDE ? ((const gr_int128 *)argument->vector->values)[i]
                                                : ((const int64_t *)argument->vector->values)[i];
}
/* Any number as a double; decimals by their value. */
const double *argument_reals(struct argument_block *argument, int64_t n);

#endif
