/* What the rows of groupby_map were added up to, as a table of groups. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contract/int128.h"
#include "kernel/aggregate/adders.h"

/* The groups of a table. What they were added up to lies in the order of their numbers, in more memory than the caches
 * have: sums are taken from there in that order, and put where they go. */
struct order {
    uint32_t *ids;    /* in the table's order: part by part */
    uint32_t *rising; /* the same, rising */
    uint32_t *places; /* where a rising one is in the table; NULL: they are in that order there, too */
    size_t count;
};

static inline size_t
place_of(const struct order *order, size_t i)
{
    return order->places != NULL ? order->places[i] : i;
}

static granary_err
table_counts(const struct map *map, const struct adder *adder, const struct order *order, struct group_part *part)
{
    part->counts = malloc(order->count * sizeof *part->counts + 1);
    if (part->counts == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t i = 0; i < order->count; i++) {
        part->counts[place_of(order, i)] = sums_count(map, adder, order->rising[i]);
    }
    return GRANARY_OK;
}

static granary_err
table_ints(const struct map *map, const struct adder *adder, const struct order *order, struct group_part *part)
{
    part->ints = malloc(order->count * sizeof *part->ints + 1);
    if (part->ints == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t i = 0; i < order->count; i++) {
        part->ints[place_of(order, i)] = sums_int(map, adder, order->rising[i]);
    }
    return GRANARY_OK;
}

/* How many values of an argument are missing in each group. */
static const struct adder *
missing_of(const struct map *map, int x)
{
    for (size_t p = 0; p < map->plan->part_count; p++) {
        const struct group_part_spec *spec = map->adders[p].spec;

        if (spec->measure == GROUP_MISSING && spec->x == x && spec->mask < 0) {
            return &map->adders[p];
        }
    }
    return NULL;
}

/* The value each group has, as a column. */
static granary_err
table_values(struct map *map, struct adder *adder, const uint32_t *ids, size_t count, struct group_part *part)
{
    const struct adder *missing = missing_of(map, adder->spec->x);
    uint8_t *there = malloc(count + 1);
    granary_err err = there == NULL ? gr_no_memory("groupby") : values_reserve(&adder->values, count);

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        const int64_t *words = adder_words(map, adder, ids[i]);
        gr_int128 bits = words[0];

        if (group_is_arg(adder->spec->measure)) {
            there[i] = words[0] == 2;
            memcpy(&bits, words + 1, sizeof bits);
        } else if (gr_dtype_is_text(adder->dtype)) {
            there[i] = words[0] != 0;
            bits = words[0] - 1;
        } else if (adder_is_extreme(adder)) {
            there[i] = sums_count(map, missing, ids[i]) < sums_count(map, &map->adders[0], ids[i]);
            bits = group_is_real(adder->dtype) ? singles_ordered(words[0]) : words[0];
        } else {
            there[i] = words[0] != 0;
            memcpy(&bits, words + 1, sizeof bits);
        }
        values_put(&adder->values, i, bits);
    }
    if (err == GRANARY_OK) {
        err = values_column(&adder->values, NULL, there, count, &part->values);
    }
    free(there);
    return err;
}

/* How many of the best there are. */
static int64_t
best_count(const struct adder *adder, const int64_t *words)
{
    return words[0] < adder->spec->n ? words[0] : adder->spec->n;
}

/* The lists of the best, from their words. */
static granary_err
table_best(struct map *map, struct adder *adder, const uint32_t *ids, size_t count, struct group_part *part)
{
    bool top = adder->spec->measure == GROUP_TOP;
    size_t total = 0;
    granary_err err;

    part->starts = malloc((count + 1) * sizeof *part->starts);
    if (part->starts == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t i = 0; i < count; i++) {
        part->starts[i] = (uint32_t)total;
        total += (size_t)best_count(adder, adder_words(map, adder, ids[i]));
    }
    part->starts[count] = (uint32_t)total;
    err = values_reserve(&adder->values, total);
    total = 0;
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        const int64_t *words = adder_words(map, adder, ids[i]);

        for (int64_t k = 1; k <= best_count(adder, words); k++) {
            int64_t value = top ? words[k] : ~words[k];
            gr_int128 bits = group_is_real(adder->dtype) ? singles_ordered(value) : value;

            if (adder->dtype == GRANARY_UINT64) {
                bits = (uint64_t)value ^ (UINT64_C(1) << 63);
            }
            values_put(&adder->values, total++, bits);
        }
    }
    return err == GRANARY_OK ? values_column(&adder->values, NULL, NULL, total, &part->values) : err;
}

/* Values as they came, group by group; at: where those of a group go next. */
static granary_err
list_column(const struct adder *adder, uint32_t *at, const uint32_t *place, struct gr_column *ret_column)
{
    size_t total = adder->values.count;
    uint32_t *pick = NULL;
    uint8_t *there = NULL;
    granary_err err;

    if (!adder->values.keeps_nulls && adder->values.width == 8 && gr_dtype_size(adder->dtype) == 8) {
        const int64_t *values = (const void *)adder->values.bytes;

        err = gr_column_alloc_unset(adder->dtype, (int64_t)total, 0, false, ret_column);
        for (size_t v = 0; v < total && err == GRANARY_OK; v++) {
            ((int64_t *)(uintptr_t)ret_column->view.values)[at[place[adder->owners[v]]]++] = values[v];
        }
        return err;
    }
    pick = malloc((total + 1) * sizeof *pick);
    if (pick == NULL) {
        return gr_no_memory("groupby");
    }
    for (size_t v = 0; v < total; v++) {
        pick[at[place[adder->owners[v]]]++] = (uint32_t)v;
    }
    there = adder->values.keeps_nulls ? malloc(total + 1) : NULL;
    for (size_t i = 0; i < total && there != NULL; i++) {
        there[i] = adder->values.there[pick[i]];
    }
    err = adder->values.keeps_nulls && there == NULL ? gr_no_memory("groupby")
                                                     : values_column(&adder->values, pick, there, total, ret_column);
    free(there);
    free(pick);
    return err;
}

/* Values dealt out to their groups, and where each group's begin. */
static granary_err
list_deal(struct map *map, struct adder *adder, const uint32_t *ids, size_t count, struct group_part *part)
{
    size_t total = adder->values.count;
    uint32_t *place = calloc((size_t)map->room + 1, sizeof *place);
    uint32_t *next = calloc(count + 2, sizeof *next);
    granary_err err = place == NULL || next == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        place[ids[i]] = (uint32_t)i;
    }
    for (size_t v = 0; v < total && err == GRANARY_OK; v++) {
        next[place[adder->owners[v]] + 1]++;
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        next[i + 1] += next[i];
    }
    if (err == GRANARY_OK) {
        memcpy(part->starts, next, (count + 1) * sizeof *next);
        err = list_column(adder, next, place, &part->values);
    }
    free(place);
    free(next);
    return err;
}

static granary_err
table_list(struct map *map, struct adder *adder, const uint32_t *ids, size_t count, struct group_part *part)
{
    size_t total = adder->values.count;
    bool different = count == 1 && adder->values.different == total;
    granary_err err;

    part->starts = malloc((count + 1) * sizeof *part->starts);
    if (part->starts == NULL) {
        err = gr_no_memory("groupby");
    } else if (total >= UINT32_MAX) {
        err = gr_fail(GRANARY_EFULL, "groupby: %zu values are more than one part can hold", total);
    } else if (count == 1) { /* all are its own */
        part->starts[0] = 0;
        part->starts[1] = (uint32_t)total;
        err = values_column(&adder->values, NULL, adder->values.there, total, &part->values);
    } else {
        err = list_deal(map, adder, ids, count, part);
    }
    return err == GRANARY_OK && !different ? group_list_prune(adder->spec, adder->dtype, count, part) : err;
}

static granary_err
table_part(struct map *map, struct adder *adder, const struct order *order, struct group_part *part)
{
    const uint32_t *ids = order->ids;
    size_t count = order->count;
    granary_err err;

    switch (adder->spec->kind) {
    case GROUP_COUNT:
        return table_counts(map, adder, order, part);
    case GROUP_INT:
        return table_ints(map, adder, order, part);
    case GROUP_REAL:
        err = sums_empty_reals(map, adder);
        if (err == GRANARY_OK) {
            err = reals_grow(&adder->reals, map->room);
        }
        return err == GRANARY_OK ? reals_part(&adder->reals, ids, count, part) : err;
    case GROUP_VALUE:
        return table_values(map, adder, ids, count, part);
    case GROUP_LIST:
        return adder_is_best(adder) ? table_best(map, adder, ids, count, part)
                                    : table_list(map, adder, ids, count, part);
    }
    return GRANARY_OK;
}

/* Groups that have rows. Without keys there is one group, with or without rows. */
static granary_err
groups_list(const struct map *map, uint32_t **ret_ids, size_t *ret_count)
{
    uint32_t room = map_numbers_room(map);
    uint32_t *ids = malloc((size_t)room * sizeof *ids);
    bool all = map->one || !map_numbers_direct(map);
    size_t count = 0;

    if (ids == NULL) {
        return gr_no_memory("groupby");
    }
    for (uint32_t id = 1; id < room; id++) {
        if (all || sums_count(map, &map->adders[0], id) != 0) { /* part 0 counts rows */
            ids[count++] = id;
        }
    }
    *ret_ids = ids;
    *ret_count = count;
    return GRANARY_OK;
}

/* Groups, which are rising, in the order of the parts they are dealt to; *ret_starts: where each part begins, and the
 * end. */
static granary_err
groups_deal(const struct map *map, size_t parts, struct order *order, size_t **ret_starts)
{
    size_t count = order->count;
    uint64_t *hashes = malloc((count + 1) * sizeof *hashes);
    size_t *starts = calloc(parts + 2, sizeof *starts);
    granary_err err;

    order->ids = malloc((count + 1) * sizeof *order->ids);
    order->places = malloc((count + 1) * sizeof *order->places);
    err = hashes == NULL || order->ids == NULL || order->places == NULL || starts == NULL
              ? gr_no_memory("groupby")
              : group_keys_hash(map->keys, order->rising, (int64_t)count, hashes);
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) {
        hashes[i] = (hashes[i] >> 32) * parts >> 32; /* from here on the part */
        starts[hashes[i] + 2]++;
    }
    for (size_t p = 0; p < parts && err == GRANARY_OK; p++) {
        starts[p + 2] += starts[p + 1];
    }
    for (size_t i = 0; i < count && err == GRANARY_OK; i++) { /* starts[p + 1] moves from where p begins to its end */
        order->places[i] = (uint32_t)starts[hashes[i] + 1]++;
        order->ids[order->places[i]] = order->rising[i];
    }
    if (err == GRANARY_OK) {
        *ret_starts = starts;
        starts = NULL;
    }
    free(starts);
    free(hashes);
    return err;
}

granary_err
map_table(struct map *map, size_t parts, struct group_table *ret_table, size_t **ret_starts)
{
    const struct group_plan *plan = map->plan;
    struct group_table table = {.coded = map->coded};
    struct order order = {.count = 0};
    size_t *starts = NULL;
    granary_err err = adders_fold(map);

    if (err == GRANARY_OK) {
        err = groups_list(map, &order.rising, &order.count);
    }
    if (err == GRANARY_OK && parts > 1) {
        err = groups_deal(map, parts, &order, &starts);
    } else {
        order.ids = order.rising;
    }
    table.groups = order.count;
    if (err == GRANARY_OK) {
        table.keys = gr_frame_create(map->keys != NULL ? plan->keys->n_strings : 0, (int64_t)table.groups);
        table.parts = calloc(plan->part_count + 1, sizeof *table.parts);
        table.part_count = plan->part_count;
        err = table.keys == NULL || table.parts == NULL ? gr_no_memory("groupby") : GRANARY_OK;
    }
    for (size_t k = 0; map->keys != NULL && k < plan->keys->n_strings && err == GRANARY_OK; k++) {
        struct gr_column column;

        err = group_keys_column(map->keys, k, order.ids, (int64_t)table.groups, map->coded, &column);
        if (err == GRANARY_OK) {
            err = gr_frame_set(table.keys, k, plan->keys->strings[k], &column);
        }
    }
    for (size_t p = 0; p < plan->part_count && err == GRANARY_OK; p++) {
        err = table_part(map, &map->adders[p], &order, &table.parts[p]);
    }
    if (order.ids != order.rising) {
        free(order.ids);
    }
    free(order.rising);
    free(order.places);
    if (err != GRANARY_OK) {
        group_table_fini(&table);
        free(starts);
        return err;
    }
    *ret_table = table;
    *ret_starts = starts;
    return GRANARY_OK;
}
