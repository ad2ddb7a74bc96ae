/* Sums of doubles: numbers are split into two integers each, which are added to
 * two words of a group (reals.h). */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/aggregate/adders.h"
#include "kernel/simd/exact_sum.h"
#include "kernel/simd/products.h"

enum {
    REALS_TOP_MOST = 800,       /* 128-bit sums are far from the end of the range */
    REALS_ROWS = (1 << 22) - 1, /* added to words at most */
};

granary_err
sums_empty_reals(struct map *map, struct adder *adder)
{
    granary_err err = GRANARY_OK;

    if (adder->reals.top == INT_MIN) {
        return GRANARY_OK;
    }
    err = reals_grow(&adder->reals, map->room);
    for (unsigned copy = 0; copy < map->copies; copy++) {
        for (uint32_t group = 1; group < map->room && err == GRANARY_OK; group++) {
            int64_t *at = map->words + ((size_t)copy * map->room + group) * map->stride + adder->at;
            gr_int128 value = (gr_int128)at[0] * ((gr_int128)1 << EXACT_LEVEL_BITS) + at[1];

            if (value != 0) {
                err = reals_add_whole(&adder->reals, group, value, adder->reals.top - EXACT_TOP_BITS);
            }
            at[0] = 0;
            at[1] = 0;
        }
    }
    adder->reals.rows = 0;
    return err;
}

/* Numbers that are too large, or not finite, are added one by one, and 0 stands
 * for them in room. */
static granary_err
take_large(struct map *map, struct adder *adder, const double *values, double *room, int64_t n)
{
    double limit = ldexp(1.0, REALS_TOP_MOST);
    granary_err err = reals_grow(&adder->reals, map->room);

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        room[i] = values[i];
        if (!(fabs(values[i]) < limit)) {
            room[i] = 0.0;
            if (map->ids[i] != GROUP_NONE_ID) {
                err = reals_add_other(&adder->reals, map->ids[i], values[i]);
            }
        }
    }
    return err;
}

/* What lies below the lower integer of numbers that were split. */
static granary_err
take_small(struct map *map, struct adder *adder, const double *values, int64_t *const *split, int64_t n)
{
    double unit = ldexp(1.0, adder->reals.top - EXACT_TOP_BITS);
    double upper_unit = ldexp(unit, EXACT_LEVEL_BITS);
    granary_err err = reals_grow(&adder->reals, map->room);

    for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
        double rest = (values[i] - (double)split[0][i] * upper_unit) - (double)split[1][i] * unit; /* exact */

        if (rest != 0.0 && map->ids[i] != GROUP_NONE_ID) {
            err = reals_add_other(&adder->reals, map->ids[i], rest);
        }
    }
    return err;
}

/* Numbers as the two columns that are added to the words of their groups. top:
 * as of exact_sum_top(). */
static granary_err
split_reals(struct map *map, struct adder *adder, const double *values, int top, int64_t *const *split, int64_t n)
{
    granary_err err = GRANARY_OK;

    if (top > REALS_TOP_MOST) {
        err = take_large(map, adder, values, map->left, n);
        values = map->left;
        top = SIMD_CALL(exact_sum_top)(values, (size_t)n);
    }
    top = top < EXACT_TOP_LEAST ? EXACT_TOP_LEAST : top;
    if (err == GRANARY_OK && (top > adder->reals.top || adder->reals.rows + n > REALS_ROWS)) {
        err = sums_empty_reals(map, adder);
        adder->reals.top = top > adder->reals.top ? top : adder->reals.top;
    }
    if (err != GRANARY_OK) {
        return err;
    }
    adder->reals.rows += n;
    if (!SIMD_CALL(exact_sum_split)(values, (size_t)n, adder->reals.top, split[0], split[1])) {
        err = take_small(map, adder, values, split, n);
    }
    return err;
}

/* 0.0 where something is missing. */
static const double *
masked_reals(struct map *map, const struct group_part_spec *spec, int argument, double *room, int64_t n)
{
    const double *values = argument_reals(&map->arguments[argument], n);
    const uint8_t *there = spec->mask >= 0 || spec->y >= 0 ? sums_there(map, spec, n) : NULL;

    if (there == NULL) {
        return values;
    }
    for (int64_t i = 0; i < n; i++) {
        room[i] = there[i] ? values[i] : 0.0;
    }
    return room;
}

/* Products and their rests, which are parts of their own, are computed once. */
static const double *
real_products(struct map *map, const struct group_part_spec *spec, int64_t n)
{
    const struct group_part_spec *before = map->multiplied;

    if (before == NULL || before->x != spec->x || before->y != spec->y || before->mask != spec->mask) {
        const double *x = masked_reals(map, spec, spec->x, map->left, n);
        const double *y = spec->y == spec->x ? x : masked_reals(map, spec, spec->y, map->right, n);

        SIMD_CALL(exact_products)(x, y, (size_t)n, map->products, map->rests);
        map->multiplied = spec;
    }
    return spec->measure == GROUP_PRODUCT ? map->products : map->rests;
}

granary_err
sums_reals(struct map *map, struct adder *adder, int64_t *const *split, int64_t n)
{
    const struct group_part_spec *spec = adder->spec;
    struct argument_block *x = &map->arguments[spec->x];
    const double *values =
        spec->measure == GROUP_SUM ? masked_reals(map, spec, spec->x, map->left, n) : real_products(map, spec, n);
    granary_err err;

    if (map->one) {
        err = reals_grow(&adder->reals, map->room);
        return err == GRANARY_OK ? reals_add_many(&adder->reals, 1, values, (size_t)n) : err;
    }
    return split_reals(map, adder, values,
                       x->has_top && values == x->vector->values ? x->top : SIMD_CALL(exact_sum_top)(values, (size_t)n),
                       split, n);
}
