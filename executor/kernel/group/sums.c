/*
 * Counts and sums: a block's values become columns, one for each word of a group, and up to four of them are added to
 * those words in one pass over the rows.
 *
 * Two small sums share a word: low + high * 2^32 is added to it, and both halves can be told apart as long as neither
 * sum exceeds 2^31 in size; before that might happen, all of them move elsewhere (cold). Values too large for this are
 * added up there at once.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "kernel/group/adders.h"
#include "kernel/simd/exact_sum.h"
#include "kernel/simd/group_loops.h"
#include "kernel/simd/products.h"

enum {
    REALS_TOP_MOST = 800,       /* 128-bit sums are far from the end of the range */
    REALS_ROWS = (1 << 22) - 1, /* added to words at most */
    BLOCKS_LEAST = 64,          /* that small sums take before they must move */
    ROOM_BLOCKS = 512,          /* groups whose sums can be moved after a block */
    FETCHED_LEAST = 1 << 17,    /* words: fewer are in the cache */
};

/* ---- what is added ---- */

/* Where x and the mask are there; NULL: everywhere. */
static const uint8_t *
both_there(struct map *map, const struct group_part_spec *spec, int64_t n)
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
    const uint8_t *there = spec->mask >= 0 || spec->y >= 0 ? both_there(map, spec, n) : NULL;

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
        const uint8_t *there = both_there(map, spec, n);

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
        return both_there(map, spec, n) != NULL;
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

static granary_err
add_wide(int64_t *at, __int128 value)
{
    __int128 sum;

    memcpy(&sum, at, sizeof sum);
    if (__builtin_add_overflow(sum, value, &sum)) {
        return gr_fail(GRANARY_EFAILED, "groupby: a sum exceeds 128 bits; convert the values, as in x * 1.0");
    }
    memcpy(at, &sum, sizeof sum);
    return GRANARY_OK;
}

static int64_t *
cold_of(const struct map *map, const struct adder *adder, size_t slot)
{
    return map->cold + slot * map->cold_stride + adder->cold;
}

/* Values of 64 bits to halves that are added up apart, or to a 128-bit number. */
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
            return add_wide(cold_of(map, adder, 1), (__int128)high * ((__int128)1 << 32) + low);
        }
        cold_of(map, adder, 1)[0] += low;
        cold_of(map, adder, 1)[1] += high;
        return GRANARY_OK;
    }
    for (int64_t i = 0; i < n && !adder->wide; i++) {
        int64_t *at = cold_of(map, adder, map->slots[i]);

        at[0] += values[i] & 0xffffffff;
        at[1] += values[i] >> 32;
    }
    for (int64_t i = 0; i < n && adder->wide && err == GRANARY_OK; i++) {
        err = add_wide(cold_of(map, adder, map->slots[i]), values[i]);
    }
    return err;
}

static granary_err
add_large(struct map *map, const struct adder *adder, int64_t n)
{
    const struct group_part_spec *spec = adder->spec;
    struct argument_block *x = &map->arguments[spec->x];
    struct argument_block *y = spec->measure == GROUP_PRODUCT ? &map->arguments[spec->y] : NULL;
    granary_err err = adders_need_cold(map);

    if (err != GRANARY_OK || x->vector->class == ROWS_NULL || (y != NULL && y->vector->class == ROWS_NULL)) {
        return err;
    }
    if (x->vector->class != ROWS_WIDE && y == NULL) {
        return add_halves(map, adder, masked_ints(map, spec, spec->x, map->high, n), n);
    }
    if (x->vector->class != ROWS_WIDE && y->vector->class != ROWS_WIDE && x->most < INT32_MAX && y->most < INT32_MAX) {
        return add_halves(map, adder, small_values(map, adder, map->high, n), n);
    }
    if (y == NULL) {
        const uint8_t *there = both_there(map, spec, n);

        for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
            if (there == NULL || there[i]) {
                err = add_wide(cold_of(map, adder, map->slots[i]), argument_wide_at(x, i));
            }
        }
    } else {
        const int64_t *a = masked_ints(map, spec, spec->x, map->high, n);
        const int64_t *b = spec->y == spec->x ? a : argument_ints(y, n);

        for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
            err = add_wide(cold_of(map, adder, map->slots[i]), (__int128)a[i] * b[i]);
        }
    }
    return err;
}

/* ---- small sums ---- */

static int32_t
half_of(int64_t word, int lane)
{
    int32_t low = (int32_t)(uint64_t)word;

    return (lane & 1) == 0 ? low : (int32_t)((word - low) >> 32);
}

/* All small sums move elsewhere. */
static granary_err
small_empty(struct map *map)
{
    granary_err err = adders_need_cold(map);

    for (size_t slot = 0; slot < (size_t)map->room * map->copies && err == GRANARY_OK; slot++) {
        int64_t *words = map->words + slot * map->stride;

        for (unsigned lane = 0; lane < 2 * map->pairs && err == GRANARY_OK; lane++) {
            const struct adder *adder = map->lanes[lane];

            if (adder != NULL && adder->wide) {
                err = add_wide(cold_of(map, adder, slot), half_of(words[lane / 2], (int)lane));
            } else if (adder != NULL) {
                *cold_of(map, adder, slot) += half_of(words[lane / 2], (int)lane);
            }
        }
        memset(words, 0, map->pairs * sizeof *words);
    }
    map->small_most = 0;
    return err;
}

/* Which values of a block are small, and that there is room for them. */
static granary_err
small_choose(struct map *map, int64_t n)
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
static const int64_t *
pair_column(struct map *map, unsigned pair, int64_t *room, int64_t n)
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

/* ---- doubles ---- */

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
            __int128 value = (__int128)at[0] * ((__int128)1 << EXACT_LEVEL_BITS) + at[1];

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

/* Numbers that are too large, or not finite, are added one by one, and 0 stands for them in room. */
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

/* Numbers as the two columns that are added to the words of their groups. top: as of exact_sum_top(). */
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
    const uint8_t *there = spec->mask >= 0 || spec->y >= 0 ? both_there(map, spec, n) : NULL;

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

static granary_err
add_reals(struct map *map, struct adder *adder, int64_t *const *split, int64_t n)
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

/* ---- columns into words ---- */

struct columns {
    size_t count;
    unsigned at[ADDER_COLUMNS]; /* word of a group */
    const int64_t *values[ADDER_COLUMNS];
};

/* count, fetched: known at compile time. */
static inline __attribute__((always_inline)) void
add_to_words(const struct map *map, const struct columns *columns, size_t count, bool fetched, int64_t n)
{
    const uint32_t *offsets = map->offsets;
    const int64_t *values[ADDER_COLUMNS];
    int64_t *words[ADDER_COLUMNS];

    for (size_t c = 0; c < count; c++) {
        values[c] = columns->values[c];
        words[c] = map->words + columns->at[c];
    }
    for (int64_t i = 0; i < n; i++) {
        if (fetched) {
            __builtin_prefetch(words[0] + offsets[i + ADDER_AHEAD], 1);
        }
        for (size_t c = 0; c < count; c++) {
            words[c][offsets[i]] += values[c][i];
        }
    }
}

static void
columns_add(struct map *map, struct columns *columns, int64_t n)
{
    bool fetched = (size_t)map->room * map->stride >= FETCHED_LEAST && columns->at[0] == 0;

    if (map->one) {
        for (size_t c = 0; c < columns->count; c++) {
            int64_t sum = 0;

            for (int64_t i = 0; i < n; i++) {
                sum += columns->values[c][i];
            }
            map->words[map->stride + columns->at[c]] += sum; /* group 1 */
        }
        columns->count = 0;
        return;
    }
    switch (columns->count) {
#define COLUMNS(wanted)                                                                                                \
    case wanted:                                                                                                       \
        if (fetched) {                                                                                                 \
            add_to_words(map, columns, wanted, true, n);                                                               \
        } else {                                                                                                       \
            add_to_words(map, columns, wanted, false, n);                                                              \
        }                                                                                                              \
        break;
        COLUMNS(1)
        COLUMNS(2)
        COLUMNS(3)
        COLUMNS(4)
#undef COLUMNS
    default:
        break;
    }
    columns->count = 0;
}

static granary_err
add_all_reals(struct map *map, struct columns *columns, int64_t n)
{
    granary_err err = GRANARY_OK;

    for (size_t p = 0; p < map->plan->part_count && err == GRANARY_OK; p++) {
        struct adder *adder = &map->adders[p];

        if (adder->spec->kind != GROUP_REAL) {
            continue;
        }
        if (columns->count + 2 > ADDER_COLUMNS) {
            columns_add(map, columns, n);
        }
        err = add_reals(map, adder, (int64_t *const[]){map->columns[columns->count], map->columns[columns->count + 1]},
                        n);
        for (unsigned w = 0; w < 2 && !map->one && err == GRANARY_OK; w++) {
            columns->at[columns->count] = adder->at + w;
            columns->values[columns->count] = map->columns[columns->count];
            columns->count++;
        }
    }
    return err;
}

granary_err
sums_add(struct map *map, int64_t n)
{
    struct columns columns = {0};
    granary_err err = small_choose(map, n);

    map->multiplied = NULL;
    for (unsigned pair = 0; pair < map->pairs && err == GRANARY_OK; pair++) {
        if (columns.count == ADDER_COLUMNS) {
            columns_add(map, &columns, n);
        }
        columns.at[columns.count] = pair;
        columns.values[columns.count] = pair_column(map, pair, map->columns[columns.count], n);
        columns.count += columns.values[columns.count] != NULL;
    }
    for (size_t p = 0; p < map->plan->part_count && err == GRANARY_OK; p++) {
        const struct adder *adder = &map->adders[p];

        if (adder->spec->kind == GROUP_INT && adder->share == SHARE_LARGE) {
            err = add_large(map, adder, n);
        } else if (adder->spec->kind == GROUP_COUNT && adder->share == SHARE_LARGE) {
            const int64_t *values;

            err = adders_need_cold(map);
            values = small_values(map, adder, map->low, n);
            for (int64_t i = 0; i < n && err == GRANARY_OK; i++) {
                *cold_of(map, adder, map->slots[i]) += values[i];
            }
        }
    }
    if (err == GRANARY_OK) {
        err = add_all_reals(map, &columns, n);
    }
    columns_add(map, &columns, n);
    return err;
}

/* ---- what they have become ---- */

granary_err
sums_fold(struct map *map)
{
    granary_err err = GRANARY_OK;

    for (size_t p = 0; p < map->plan->part_count && err == GRANARY_OK; p++) {
        struct adder *adder = &map->adders[p];

        if (adder->spec->kind == GROUP_REAL) {
            err = sums_empty_reals(map, adder);
        }
        for (size_t g = map->room; adder->spec->kind <= GROUP_INT && map->cold != NULL && err == GRANARY_OK &&
                                   g < (size_t)map->room * map->copies;
             g++) {
            const int64_t *from = cold_of(map, adder, g);
            int64_t *to = cold_of(map, adder, g % map->room);

            if (adder->wide) {
                __int128 value;

                memcpy(&value, from, sizeof value);
                err = add_wide(to, value);
            } else {
                for (unsigned w = 0; w < adder->cold_words; w++) {
                    to[w] += from[w];
                }
            }
        }
    }
    for (size_t g = map->room; g < (size_t)map->room * map->copies; g++) {
        for (unsigned pair = 0; pair < map->pairs; pair++) {
            map->words[g % map->room * map->stride + pair] += map->words[g * map->stride + pair];
        }
    }
    return err;
}

int64_t
sums_count(const struct map *map, const struct adder *adder, uint32_t id)
{
    int64_t count = map->cold != NULL ? *cold_of(map, adder, id) : 0;

    return adder->lane < 0
               ? count
               : count + half_of(map->words[(size_t)id * map->stride + (unsigned)adder->lane / 2], adder->lane);
}

__int128
sums_int(const struct map *map, const struct adder *adder, uint32_t id)
{
    __int128 sum = half_of(map->words[(size_t)id * map->stride + (unsigned)adder->lane / 2], adder->lane);
    __int128 more = 0;

    if (map->cold != NULL && adder->wide) {
        memcpy(&more, cold_of(map, adder, id), sizeof more);
    } else if (map->cold != NULL) {
        const int64_t *halves = cold_of(map, adder, id);

        more = (__int128)halves[1] * ((__int128)1 << 32) + halves[0];
    }
    return more + sum;
}
