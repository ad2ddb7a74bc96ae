/*
 * How the words of groups are laid out, and how they grow. Each part of the plan gets its words by kind; numbers
 * that few groups have are kept several times, so that neighbouring rows of one group need not wait for one
 * another's addition.
 */
#include "kernel/aggregate/adders.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

bool
adder_is_extreme(const struct adder *adder)
{
    return adder->spec->kind == GROUP_VALUE && !group_is_wide(adder->dtype) && !gr_dtype_is_text(adder->dtype) &&
           (adder->spec->measure == GROUP_LEAST || adder->spec->measure == GROUP_MOST);
}

bool
adder_is_best(const struct adder *adder)
{
    return (adder->spec->measure == GROUP_TOP || adder->spec->measure == GROUP_BOTTOM) &&
           gr_dtype_kind(adder->dtype) != GRANARY_DECIMAL;
}

/* Sums, counts, extremes: several copies of the words become one. */
static bool
adder_folds(const struct adder *adder)
{
    return adder->spec->kind <= GROUP_REAL || adder_is_extreme(adder);
}

static unsigned
words_wanted(const struct adder *adder)
{
    switch (adder->spec->kind) {
    case GROUP_REAL:
        return 2;
    case GROUP_VALUE:
        if (group_is_arg(adder->spec->measure)) {
            return 5;
        }
        return gr_dtype_is_text(adder->dtype) || adder_is_extreme(adder) ? 1 : 3;
    case GROUP_LIST:
        return adder_is_best(adder) ? 1 + (unsigned)adder->spec->n : 0;
    default:
        return 0; /* it has half of one */
    }
}

/* Whether nothing is there to be counted, in columns without nulls: NaN is rare enough. */
static bool
is_rare(const struct map *map, const struct adder *adder)
{
    bool nulls = false;

    for (size_t s = 0; adder->spec->measure == GROUP_MISSING && s < map->source_count; s++) {
        const struct rows_vector *x = rows_vector(map->sources[s], map->first_argument + (size_t)adder->spec->x);
        int other = adder->spec->mask >= 0 ? adder->spec->mask : adder->spec->y;
        const struct rows_vector *y =
            other >= 0 ? rows_vector(map->sources[s], map->first_argument + (size_t)other) : x;

        nulls =
            nulls || x->column == NULL || x->column->null_count != 0 || y->column == NULL || y->column->null_count != 0;
    }
    return adder->spec->measure == GROUP_MISSING && !nulls;
}

/* Where the words of all adders are: those that sums are added to come first. */
static granary_err
lay_out(struct map *map)
{
    const struct group_plan *plan = map->plan;
    unsigned lanes = 0;

    map->lanes = calloc(plan->part_count + 2, sizeof *map->lanes);
    if (map->lanes == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t p = 0; p < plan->part_count; p++) {
        struct adder *adder = &map->adders[p];

        adder->lane = -1;
        if (adder->spec->kind == GROUP_COUNT || adder->spec->kind == GROUP_INT) {
            adder->cold = map->cold_stride;
            adder->cold_words = adder->spec->kind == GROUP_INT ? 2 : 1;
            map->cold_stride += adder->cold_words;
            if (!is_rare(map, adder)) {
                adder->lane = (int)lanes;
                map->lanes[lanes++] = adder;
            }
        }
    }
    map->pairs = (lanes + 1) / 2;
    map->stride = map->pairs;
    for (int sums = 1; sums >= 0; sums--) {
        for (size_t p = 0; p < plan->part_count; p++) {
            struct adder *adder = &map->adders[p];

            if ((adder->spec->kind == GROUP_REAL) == (sums == 1)) {
                adder->at = map->stride;
                adder->words = words_wanted(adder);
                map->stride += adder->words;
            }
        }
    }
    map->stride += map->stride == 0;
    return GRANARY_OK;
}

granary_err
adders_init(struct map *map)
{
    const struct group_plan *plan = map->plan;
    bool fold = true;
    granary_err err;

    map->adders = calloc(plan->part_count + 1, sizeof *map->adders);
    if (map->adders == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t p = 0; p < plan->part_count; p++) {
        struct adder *adder = &map->adders[p];

        adder->spec = &plan->parts[p];
        adder->dtype = adder->spec->x >= 0 ? plan->dtypes[adder->spec->x] : GRANARY_NULLTYPE;
        adder->wide =
            adder->spec->kind == GROUP_INT && (adder->spec->measure == GROUP_PRODUCT || group_is_wide(adder->dtype));
        adder->reals.top = INT_MIN;
        values_init(&adder->values, adder->dtype);
        values_init(&adder->by, adder->spec->y >= 0 ? plan->dtypes[adder->spec->y] : GRANARY_NULLTYPE);
        adder->values.keeps_nulls = adder->spec->kind == GROUP_LIST && adder->spec->measure == GROUP_ALL;
        fold = fold && adder_folds(adder);
    }
    err = lay_out(map);
    map->first = calloc(map->stride + 1, sizeof *map->first);
    if (err == GRANARY_OK && map->first == NULL) {
        err = gr_no_memory("groupby");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t p = 0; p < plan->part_count; p++) {
        if (adder_is_extreme(&map->adders[p])) {
            map->first[map->adders[p].at] = map->adders[p].spec->measure == GROUP_LEAST ? INT64_MAX : INT64_MIN;
        }
    }
    for (size_t p = 0; p < plan->part_count; p++) {
        for (unsigned w = 1; adder_is_best(&map->adders[p]) && w < map->adders[p].words; w++) {
            map->first[map->adders[p].at + w] = INT64_MIN;
        }
    }
    for (int64_t i = 0; i < ROWS_BLOCK; i++) {
        map->ones[i] = 1;
    }
    map->one = plan->keys->n_strings == 0;
    map->copies =
        fold && !map->one && map_numbers_direct(map) && map_numbers_room(map) <= ADDER_COPIES_GROUPS ? ADDER_COPIES : 1;
    return GRANARY_OK;
}

granary_err
adders_need_cold(struct map *map)
{
    if (map->cold == NULL) {
        map->cold = calloc((size_t)map->room * map->copies * map->cold_stride + 1, sizeof *map->cold);
    }
    return map->cold != NULL ? GRANARY_OK : gr_no_memory("groupby");
}

granary_err
adders_grow(struct map *map)
{
    uint32_t need = map_numbers_room(map);
    uint64_t room = map->room == 0 ? need : (uint64_t)map->room * 2;
    int64_t *words;

    if (need <= map->room) {
        return GRANARY_OK;
    }
    room = room < need ? need : room;
    if (room * map->copies * map->stride > UINT32_MAX) {
        return gr_fail(GRANARY_EFULL,
                       "groupby: %u groups of %u words are more than one chunk can hold: use smaller "
                       "chunks",
                       need, map->stride);
    }
    words = realloc(map->words, (size_t)room * map->copies * map->stride * sizeof *words + 1);
    if (words == NULL) {
        return gr_fail(GRANARY_ENOMEM, "groupby: out of memory for %u groups", need);
    }
    map->words = words;
    for (size_t g = map->room; g < room * map->copies; g++) {
        memcpy(words + g * map->stride, map->first, map->stride * sizeof *words);
    }
    if (map->cold != NULL) {
        int64_t *cold = realloc(map->cold, (size_t)room * map->cold_stride * sizeof *cold + 1);

        if (cold == NULL) {
            return gr_no_memory("groupby");
        }
        memset(cold + (size_t)map->room * map->cold_stride, 0,
               (size_t)(room - map->room) * map->cold_stride * sizeof *cold);
        map->cold = cold;
    }
    map->room = (uint32_t)room;
    return GRANARY_OK;
}

granary_err
adders_add(struct map *map, int64_t n)
{
    granary_err err = sums_add(map, n);

    for (size_t p = 0; p < map->plan->part_count && err == GRANARY_OK; p++) {
        if (map->adders[p].spec->kind > GROUP_REAL) {
            err = singles_add(map, &map->adders[p], n);
        }
    }
    return err;
}

granary_err
adders_fold(struct map *map)
{
    granary_err err = map->copies > 1 ? sums_fold(map) : GRANARY_OK;

    for (size_t p = 0; p < map->plan->part_count && map->copies > 1; p++) {
        const struct adder *adder = &map->adders[p];

        for (size_t g = 0; adder->spec->kind > GROUP_REAL && g < (size_t)map->room * map->copies; g++) {
            const int64_t *from = map->words + g * map->stride + adder->at;
            int64_t *to = map->words + g % map->room * map->stride + adder->at;

            *to = adder->spec->measure == GROUP_LEAST ? (*from < *to ? *from : *to) : (*from > *to ? *from : *to);
        }
    }
    map->copies = 1;
    return err;
}
