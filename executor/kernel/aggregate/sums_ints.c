/*
 * Counts and sums of integers. Two small sums share a word: low + high * 2^32 is added to it. Both halves can be told
 * apart as long as neither sum exceeds 2^31 in size. Before that might happen, all of them move elsewhere (cold).
 * Values too large for this are added up there at once.
 */
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/aggregate/adders.h"
#include "kernel/simd/group_loops.h"

enum {
    BLOCKS_LEAST = 64, /* that small sums take before they must move */
    ROOM_BLOCKS = 512, /* groups whose sums can be moved after a block */
};

/* ---- what is added ---- */

/* Where x and the mask are there; NULL: everywhere. */
const uint8_t *
sums_there(struct map *map, const struct group_part_spec *spec, int64_t n)
{
    const uint8_t *there = argument_there(&map->arguments[spec->x], n);
    const uint8_t *other = NULL;
    int mask = spec->mask >= 0 ? spec->mask : spec->y;

    if (mask >= 0 && mask != spec->x) {
        other = argument_there(&map->arguments[mask], n);
    }
    if (there == NULL || other == NULL) {
        return there == NULL ? other : there;
    }
    for (int64_t i = 0; i < n; i++) {
        map->there[i] = there[i] & other[i];
    }
    return map->there;
}

static void
true_values(struct map *map, const struct adder *adder, int64_t *room, int64_t n)
{
    struct argument_block *x = &map->arguments[adder->spec->x];

    if (group_is_real(adder->dtype)) {
        const double *values = argument_reals(x, n);

        for (int64_t i = 0; i < n; i++) {
            room[i] = values[i] != 0.0;
        }
    } else {
        const uint8_t *there = argument_there(x, n);

        for (int64_t i = 0; i < n; i++) {
            room[i] = x->vector->class == ROWS_BOOL   ? ((const uint8_t *)x->vector->values)[i] != 0
                      : x->vector->class == ROWS_NULL ? 0
                                                      : argument_wide_at(x, i) != 0;
            room[i] &= there == NULL || there[i];
        }
    }
}

/* 0 where something is missing. */
static const int64_t *
masked_ints(struct map *map, const struct group_part_spec *spec, int argument, int64_t *room, int64_t n)
{
    const int64_t *values = argument_ints(&map->arguments[argument], n);
    const uint8_t *there = spec->mask >= 0 || spec->y >= 0 ? sums_there(map, spec, n) : NULL;

    if (there == NULL) {
        return values;
    }
    for (int64_t i = 0; i < n; i++) {
        room[i] = there[i] ? values[i] : 0;
    }
    return room;
}

/* What is added to a small sum, in room or where it is anyway. */
static const int64_t *
small_values(struct map *map, const struct adder *adder, int64_t *room, int64_t n)
{
    const struct group_part_spec *spec = adder->spec;
    const int64_t *x;
    const int64_t *y;

    switch (spec->measure) {
    case GROUP_ROWS:
        return map->ones;
    case GROUP_MISSING: {
        const uint8_t *there = sums_there(map, spec, n);

        for (int64_t i = 0; i < n; i++) {
            room[i] = !there[i];
        }
        return room;
    }
    case GROUP_TRUE:
        true_values(map, adder, room, n);
        return room;
    case GROUP_PRODUCT:
        x = masked_ints(map, spec, spec->x, room, n);
        y = spec->y == spec->x ? x : argument_ints(&map->arguments[spec->y], n);
        for (int64_t i = 0; i < n; i++) {
            room[i] = x[i] * y[i];
        }
        return room;
    default:
        return masked_ints(map, spec, spec->x, room, n);
    }
}

/* No value of a block is more in size; INT64_MAX: nobody knows. */
static int64_t
size_of(struct map *map, const struct adder *adder, int64_t n)
{
    const struct group_part_spec *spec = adder->spec;
    struct argument_block *x = spec->x >= 0 ? &map->arguments[spec->x] : NULL;
    struct argument_block *y = spec->y >= 0 ? &map->arguments[spec->y] : NULL;

    if (spec->measure == GROUP_ROWS || spec->measure == GROUP_TRUE) {
        return 1;
    }
    if (spec->measure == GROUP_MISSING) {
        return sums_there(map, spec, n) != NULL;
    }
    if (x->vector->class == ROWS_WIDE || (spec->measure == GROUP_PRODUCT && y->vector->class == ROWS_WIDE)) {
        return INT64_MAX;
    }
    (void)argument_ints(x, n);
    if (spec->measure != GROUP_PRODUCT) {
        return x->most;
    }
    (void)argument_ints(y, n);
    return x->most < INT32_MAX && y->most < INT32_MAX ? x->most * y->most : INT64_MAX;
}

/* ---- large sums ---- */

granary_err
sums_add_wide(int64_t *at, gr_int128 value)
{
    gr_int128 sum;

    memcpy(&sum, at, sizeof sum);
    if (__builtin_add_overflow(sum, value, &sum)) {
        return gr_fail(GRANARY_EFAILED, "a sum exceeds 128 bits: cast the column to float64");
    }
    memcpy(at, &sum, sizeof sum);
    return GRANARY_OK;
}

/* Values of 64 bits to halves that are added up apart, or to a 128-bit number.
 */
static granary_err
add_halves(struct map *map, const struct adder *adder, const int64_t *values, int64_t n)
{
    granary_err err = GRANARY_OK;

    if (map->one) {
        int64_t low = 0;
        int64_t high = 0;

        for (int64_t i = 0; i < n; i++) {
            low += values[i] & 0xffffffff;
            high += values[i] >> 32;
        }
        if (adder->wide) {
            return sums_add_wide(adder_cold(map, adder, 1), (gr_int128)high * ((gr_int128)1 << 32) + low);
        }
        adder_cold(map, adder, 1)[0] += low;
        adder_cold(map, adder, 1)[1] += high;
        return GRANARY_OK;
    }
    for (int64_t i = 0; i < n && !adder->wide; i++) {
        int64_t *at = adder_cold(map, adder, map->slots[i]);

        at[0] += values[i] & 0xffffffff;
        at[1] += values[i] >> 32;
    }
    for (int64_t i = 0; i < n && adder->wide && err == GRANARY_OK; i++) {
        err = sums_add_wide(adder_cold(map, adder, map->slots[i]), values[i]);
    }
    return err;
}

static granary_err
add_large(struct map *map, struct adder *adder, int64_t n)
{
    const struct group_part_spec *spec = adder->spec;
    struct argument_block *x = &map->arguments[spec->x];
    struct argument_block *y = spec->measure == GROUP_PRODUCT ? &map->arguments[spec->y] : NULL;
    granary_err err = adders_need_cold(map);

    if (err != GRANARY_OK || x->vector->class == ROWS_NULL || (y != NULL && y->vector->class == ROWS_NULL)) {
        return err;
    }
    adder->is_cold = true;
    if (x->vector->class != ROWS_WIDE && y == NULL) {
        return add_halves(map, adder, masked_ints(map, spec, spec->x, map->high, n), n);
    }
    if (x->vector->class != ROWS_WIDE && y->vector->class != ROWS_WIDE && x->most < INT32_MAX && y->most < INT32_MAX) {
        return add_halves(map, adder, small_values(map, adder, map->high, n), n);
    }
    if (y == NULL) {
        const uint8_t *there = sums_there(map, spec, n);

        for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
            if (there == NULL || there[i]) {
                err = sums_add_wide(adder_cold(map, adder, map->slots[i]), argument_wide_at(x, i));
            }
        }
    } else {
        const int64_t *a = masked_ints(map, spec, spec->x, map->high, n);
        const int64_t *b = spec->y == spec->x ? a : argument_ints(y, n);

        for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
            err = sums_add_wide(adder_cold(map, adder, map->slots[i]), (gr_int128)a[i] * b[i]);
        }
    }
    return err;
}

/* Of a block. */
granary_err
sums_large(struct map *map, int64_t n)
{
    granary_err err = GRANARY_OK;

    for (size_t p = 0; p < map->plan->part_count && err == GRANARY_OK; p++) {
        struct adder *adder = &map->adders[p];

        if (adder->spec->kind == GROUP_INT && adder->share == SHARE_LARGE) {
            err = add_large(map, adder, n);
        } else if (adder->spec->kind == GROUP_COUNT && adder->share == SHARE_LARGE) {
            const int64_t *values;

            err = adders_need_cold(map);
            adder->is_cold = true;
            values = small_values(map, adder, map->low, n);
            for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
                *adder_cold(map, adder, map->slots[i]) += values[i];
            }
        }
    }
    return err;
}

/* ---- small sums ---- */

/* All small sums move elsewhere. */
static granary_err
small_empty(struct map *map)
{
    granary_err err = adders_need_cold(map);

    for (unsigned lane = 0; lane < 2 * map->pairs; lane++) {
        if (map->lanes[lane] != NULL) {
            map->lanes[lane]->is_cold = true;
        }
    }
    for (size_t slot = 0; slot < (size_t)map->room * map->copies && err == GRANARY_OK; slot++) {
        int64_t *words = map->words + slot * map->stride;

        for (unsigned lane = 0; lane < 2 * map->pairs && err == GRANARY_OK; lane++) {
            const struct adder *adder = map->lanes[lane];

            if (adder != NULL && adder->wide) {
                err = sums_add_wide(adder_cold(map, adder, slot), adder_half(words[lane / 2], (int)lane));
            } else if (adder != NULL) {
                *adder_cold(map, adder, slot) += adder_half(words[lane / 2], (int)lane);
            }
        }
        memset(words, 0, map->pairs * sizeof *words);
    }
    map->small_most = 0;
    return err;
}

/* Which values of a block are small, and that there is room for them. */
granary_err
sums_choose(struct map *map, int64_t n)
{
    int64_t blocks = map->room / ROOM_BLOCKS;
    int64_t most = 0;
    granary_err err = GRANARY_OK;

    blocks = blocks < BLOCKS_LEAST ? BLOCKS_LEAST : blocks;
    for (size_t p = 0; p < map->plan->part_count; p++) {
        struct adder *adder = &map->adders[p];

        if (adder->spec->kind <= GROUP_INT) {
            int64_t size = size_of(map, adder, n);

            adder->share = size == 0 ? SHARE_NONE : size <= INT32_MAX / blocks / n ? SHARE_SMALL : SHARE_LARGE;
            adder->share = adder->share == SHARE_SMALL && adder->lane < 0 ? SHARE_LARGE : adder->share;
            most = adder->share == SHARE_SMALL && size > most ? size : most;
        }
    }
    if (map->small_most > INT32_MAX - most * n) {
        err = small_empty(map);
    }
    map->small_most += most * n;
    return err;
}

/* What is added to a word; NULL: nothing. */
const int64_t *
sums_pair(struct map *map, unsigned pair, int64_t *room, int64_t n)
{
    struct adder *const *lanes = map->lanes + 2 * (size_t)pair;
    bool low = lanes[0] != NULL && lanes[0]->share == SHARE_SMALL;
    bool high = lanes[1] != NULL && lanes[1]->share == SHARE_SMALL;

    bool rows = low && lanes[0]->spec->measure == GROUP_ROWS;

    if (!high) {
        return low ? small_values(map, lanes[0], room, n) : NULL;
    }
    SIMD_CALL(group_pack)
    (low && !rows ? small_values(map, lanes[0], map->low, n) : NULL, rows, small_values(map, lanes[1], map->high, n),
     room, n);
    return room;
}
