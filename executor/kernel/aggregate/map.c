/*
 * Rows to groups: block by block, every row is given the number of its group, and then each part adds the block's
 * values to the words of those groups (adders.h).
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "kernel/aggregate/adders.h"
#include "kernel/simd/group_loops.h"

/* A column that is missing is the message, not an expression that cannot be read. */
static granary_err
sources_open(struct map *map, const granary_frame *const *frames, size_t count, const char *where,
             const Granary__Attr *columns, int64_t *ret_rows)
{
    const struct group_plan *plan = map->plan;
    size_t wanted = map->first_argument + plan->argument_count;
    const char **names = calloc(wanted + 1, sizeof *names);
    struct rows_spec spec = {.where = where, .columns = columns, .wanted = names, .wanted_count = wanted};
    granary_err err = GRANARY_OK;

    map->sources = calloc(count + 1, sizeof(struct rows *));
    if (names == NULL || map->sources == NULL) {
        free(names);
        return gr_no_memory("groupby");
    }
    for (size_t i = 0; i < wanted; i++) {
        names[i] = i < map->first_argument ? plan->keys->strings[i] : plan->arguments[i - map->first_argument];
    }
    *ret_rows = 0;
    while (map->source_count < count && err == GRANARY_OK) {
        err = rows_open(frames[map->source_count], &spec, &map->sources[map->source_count]);
        if (err == GRANARY_OK) {
            *ret_rows += frames[map->source_count++]->rows;
        }
    }
    free(names);
    return err;
}

/* The same dtypes in all sources. */
static granary_err
map_types(struct map *map)
{
    struct group_plan *plan = map->plan;
    granary_dtype *dtypes = calloc(plan->argument_count + 1, sizeof *dtypes);
    granary_err err = dtypes == NULL ? gr_no_memory("groupby") : GRANARY_OK;

    for (size_t s = 0; s < map->source_count && err == GRANARY_OK; s++) {
        for (size_t a = 0; a < plan->argument_count && err == GRANARY_OK; a++) {
            granary_dtype dtype = rows_vector(map->sources[s], map->first_argument + a)->dtype;

            if (s > 0 && dtype != dtypes[a]) {
                err = gr_fail(GRANARY_ETYPE, "groupby: `%s` is %s in one chunk and %s in another", plan->arguments[a],
                              granary_dtype_name(dtypes[a]), granary_dtype_name(dtype));
            }
            dtypes[a] = dtype;
        }
    }
    if (err == GRANARY_OK) {
        err = group_plan_types(plan, dtypes);
    }
    free(dtypes);
    return err;
}

static void
map_fini(struct map *map)
{
    for (size_t p = 0; map->adders != NULL && p < map->plan->part_count; p++) {
        reals_fini(&map->adders[p].reals);
        values_fini(&map->adders[p].values);
        values_fini(&map->adders[p].by);
        free(map->adders[p].owners);
    }
    free(map->adders);
    free(map->first);
    free(map->words);
    free(map->lanes);
    free(map->cold);
    free(map->arguments);
    group_keys_destroy(map->keys);
    for (size_t s = 0; s < map->source_count; s++) {
        rows_close(map->sources[s]);
    }
    free(map->sources);
    free(map);
}

static granary_err
block_add(struct map *map, size_t source, int64_t from, int64_t n)
{
    granary_err err = GRANARY_OK;

    if (map->one) {
        for (int64_t i = 0; i < n; i++) {
            map->ids[i] = 1;
        }
    } else if (map->keys == NULL) {
        memcpy(map->ids, map->numbers + from, (size_t)n * sizeof *map->ids);
    } else {
        err = group_keys_find(map->keys, source, n, map->ids);
    }
    if (err == GRANARY_OK) {
        err = adders_grow(map);
    }
    if (err != GRANARY_OK) {
        return err;
    }
    SIMD_CALL(group_places)(map->ids, map->copies, map->room, map->stride, map->slots, map->offsets, n);
    for (size_t a = 0; a < map->plan->argument_count; a++) {
        argument_begin(&map->arguments[a], rows_vector(map->sources[source], map->first_argument + a));
    }
    return adders_add(map, n);
}

/* What all rows add up to. */
static granary_err
map_run(struct map *map, size_t parts, struct group_table *ret_table, size_t **ret_starts)
{
    granary_err err;

    map->arguments = calloc(map->plan->argument_count + 1, sizeof *map->arguments);
    err = map->arguments == NULL ? gr_no_memory("groupby") : adders_init(map);
    if (err == GRANARY_OK) {
        err = adders_grow(map);
    }
    for (size_t s = 0; s < map->source_count && err == GRANARY_OK; s++) {
        struct rows_block block = {.count = 1};

        while (err == GRANARY_OK && (err = rows_next(map->sources[s], &block)) == GRANARY_OK && block.count > 0) {
            err = block_add(map, s, block.from, block.count);
        }
    }
    return err == GRANARY_OK ? map_table(map, parts, ret_table, ret_starts) : err;
}

granary_err
group_map(struct group_plan *plan, const granary_frame *const *frames, size_t count, const char *where,
          const Granary__Attr *columns, size_t parts, bool coded, struct group_table *ret_table, size_t **ret_starts)
{
    struct map *map = calloc(1, sizeof *map);
    int64_t rows;
    granary_err err;

    if (map == NULL) {
        return gr_no_memory("groupby");
    }
    map->plan = plan;
    map->coded = coded;
    map->first_argument = plan->keys->n_strings;
    err = sources_open(map, frames, count, where, columns, &rows);
    if (err == GRANARY_OK) {
        err = map_types(map);
    }
    if (err == GRANARY_OK) {
        err = group_keys_create(map->sources, count, plan->keys->n_strings, rows, plan->keep_nulls, &map->keys);
    }
    if (err == GRANARY_OK) {
        err = map_run(map, parts, ret_table, ret_starts);
    }
    map_fini(map);
    return err;
}

granary_err
group_map_numbered(struct group_plan *plan, const granary_frame *frame, const uint32_t *numbers, uint32_t groups,
                   struct group_table *ret_table)
{
    struct map *map = calloc(1, sizeof *map);
    size_t *starts;
    int64_t rows;
    granary_err err;

    if (map == NULL) {
        return gr_no_memory("groupby");
    }
    map->plan = plan;
    map->numbers = numbers;
    map->number_room = groups + 1;
    err = sources_open(map, &frame, 1, NULL, NULL, &rows);
    if (err == GRANARY_OK) {
        err = map_types(map);
    }
    if (err == GRANARY_OK) {
        err = map_run(map, 1, ret_table, &starts);
    }
    map_fini(map);
    return err;
}
