/*
 * Counts and sums. A block's values become columns, one for each word of a group. Up to four of them are added to
 * those words in one pass over the rows.
 */
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/aggregate/adders.h"

enum { FETCHED_LEAST = 1 << 17 }; /* words: fewer are in the cache */

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
        err = sums_reals(map, adder, (int64_t *const[]){map->columns[columns->count], map->columns[columns->count + 1]},
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
    granary_err err = sums_choose(map, n);

    map->multiplied = NULL;
    for (unsigned pair = 0; pair < map->pairs && err == GRANARY_OK; pair++) {
        if (columns.count == ADDER_COLUMNS) {
            columns_add(map, &columns, n);
        }
        columns.at[columns.count] = pair;
        columns.values[columns.count] = sums_pair(map, pair, map->columns[columns.count], n);
        columns.count += columns.values[columns.count] != NULL;
    }
    if (err == GRANARY_OK) {
        err = sums_large(map, n);
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
        for (size_t g = map->room; adder->is_cold && err == GRANARY_OK && g < (size_t)map->room * map->copies; g++) {
            const int64_t *from = adder_cold(map, adder, g);
            int64_t *to = adder_cold(map, adder, g % map->room);

            if (adder->wide) {
                gr_int128 value;

                memcpy(&value, from, sizeof value);
                err = sums_add_wide(to, value);
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
