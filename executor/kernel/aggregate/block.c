/*
 * The arguments of aggregates in a block, made when they are first asked for and kept until the next block: which
 * values are there, as integers with their largest size, as doubles.
 */
#include "kernel/aggregate/block.h"

#include <math.h>
#include <string.h>

#include "graph/expr.h"
#include "kernel/simd/exact_sum.h"
#include "kernel/simd/group_loops.h"

enum { DOUBLE_TOP = 1024 }; /* of finite numbers */

void
argument_begin(struct argument_block *argument, const struct rows_vector *vector)
{
    argument->vector = vector;
    argument->scale = gr_dtype_scale(vector->dtype);
    argument->looked = false;
    argument->has_ints = false;
    argument->has_reals = false;
    argument->has_top = false;
}

static const uint8_t *
there_of_doubles(struct argument_block *argument, int64_t n)
{
    const double *values = argument->vector->values;
    const uint8_t *valid = argument->vector->valid;
    unsigned nans = 0;

    if (valid == NULL) { /* under nulls there is anything */
        argument->top = SIMD_CALL(exact_sum_top)(values, (size_t)n);
        argument->has_top = argument->top <= DOUBLE_TOP;
    }
    if (argument->has_top) {
        return NULL;
    }
    for (int64_t i = 0; i < n; i++) {
        nans += isnan(values[i]);
    }
    if (nans == 0) {
        return valid;
    }
    for (int64_t i = 0; i < n; i++) {
        argument->there_room[i] = (uint8_t)(!isnan(values[i]) & (valid == NULL || valid[i]));
    }
    return argument->there_room;
}

const uint8_t *
argument_there(struct argument_block *argument, int64_t n)
{
    if (argument->looked) {
        return argument->there;
    }
    argument->looked = true;
    if (argument->vector->class == ROWS_NULL) {
        memset(argument->there_room, 0, (size_t)n);
        argument->there = argument->there_room;
    } else if (argument->vector->class == ROWS_DOUBLE) {
        argument->there = there_of_doubles(argument, n);
    } else {
        argument->there = argument->vector->valid;
    }
    return argument->there;
}

const int64_t *
argument_ints(struct argument_block *argument, int64_t n)
{
    const uint8_t *there = argument_there(argument, n);

    if (argument->has_ints) {
        return argument->ints;
    }
    argument->has_ints = true;
    argument->ints = argument->ints_room;
    if (argument->vector->class == ROWS_NULL) {
        memset(argument->ints_room, 0, (size_t)n * sizeof *argument->ints_room);
    } else if (argument->vector->class == ROWS_BOOL) {
        for (int64_t i = 0; i < n; i++) {
            argument->ints_room[i] = ((const uint8_t *)argument->vector->values)[i] & (there == NULL || there[i]);
        }
    } else if (there == NULL) {
        argument->ints = argument->vector->values;
    } else {
        for (int64_t i = 0; i < n; i++) {
            argument->ints_room[i] = there[i] ? ((const int64_t *)argument->vector->values)[i] : 0;
        }
    }
    argument->most = SIMD_CALL(group_size)(argument->ints, n);
    return argument->ints;
}

const double *
argument_reals(struct argument_block *argument, int64_t n)
{
    const uint8_t *there = argument_there(argument, n);
    double *room = argument->reals_room;
    double divisor = (double)gr_power_of_ten(argument->scale);

    if (argument->has_reals) {
        return argument->reals;
    }
    argument->has_reals = true;
    argument->reals = room;
    switch (argument->vector->class) {
    case ROWS_DOUBLE:
        if (there == NULL) {
            argument->reals = argument->vector->values;
            break;
        }
        for (int64_t i = 0; i < n; i++) {
            room[i] = there[i] ? ((const double *)argument->vector->values)[i] : 0.0;
        }
        break;
    case ROWS_BOOL:
        for (int64_t i = 0; i < n; i++) {
            room[i] = (double)(((const uint8_t *)argument->vector->values)[i] & (there == NULL || there[i]));
        }
        break;
    case ROWS_INT:
    case ROWS_WIDE:
        for (int64_t i = 0; i < n; i++) {
            room[i] = there == NULL || there[i] ? (double)argument_wide_at(argument, i) / divisor : 0.0;
        }
        break;
    default:
        memset(room, 0, (size_t)n * sizeof *room);
        break;
    }
    return argument->reals;
}
