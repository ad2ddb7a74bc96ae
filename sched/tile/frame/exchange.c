/*
 * Operators in two halves, and those that deal rows to parts, for graphs that run on several machines. Each of the parts
 * is one piece, whatever the input is cut into: the next machine reads it by its place.
 *
 *   groupby_partial   a table of groups a chunk (or of several), each dealt to the parts; tables of a part are merged
 *   groupby_combine   merges tables, and makes a frame of the last one
 *   shuffle           shuffle_split (a packed object a chunk) -> concat (a part of all of them)
 */
#include "tile/frame/group.h"

enum {
    PACKED_BYTES = 2048, /* of a packed frame beside its rows */
    TABLE_BYTES = 65536, /* what a table that is there already is taken for */
};

/* ---- groupby ---- */

/* How many tables one operator merges: those of values are not merged twice. */
static size_t
fan_in(const struct tiling *t, size_t i)
{
    return group_keeps_values(t, i) ? SIZE_MAX : TILE_FAN_IN;
}

/* A table of each part from those of all chunks, in order. */
static granary_err
merge_parts(struct tiling *t, size_t i, const struct gr_piece *maps, size_t count, uint64_t bytes)
{
    struct gr_tiled *out = &t->tiled[i];
    gr_attrs attrs = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna"));
    struct gr_tiled tables;
    granary_err err = tiled_init(t, &tables, count, false);

    for (size_t j = 0; j < out->count && err == GRANARY_OK; j++) {
        size_t left;

        for (size_t m = 0; m < count; m++) {
            tables.pieces[m] = (struct gr_piece){.op = maps[m].op, .output = (uint32_t)j};
            tables.bytes[m] = bytes / count / out->count + 1;
        }
        left = tiling_tree(t, i, GR_CHUNK_groupby_merge, attrs, tables.pieces, tables.bytes, count, fan_in(t, i),
                           TILE_SUM);
        out->bytes[j] = bytes_sum(tables.bytes, left);
        out->pieces[j] = left == 1
                             ? tables.pieces[0]
                             : tiling_add(t, i, GR_CHUNK_groupby_merge, attrs, tables.pieces, left, out->bytes[j]);
    }
    return err;
}

granary_err
tile_groupby_partial(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    size_t parts = (size_t)GR_STEP_PARAMS(groupby_partial, &t->steps->steps[i])->parts;
    struct group_maps maps = {.count = group_maps(t, in, group_estimate(t, i, in)),
                              .attrs = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna", "where", "columns")),
                              .parts = parts};
    struct gr_piece *pieces = tiling_scratch(t, maps.count, sizeof *pieces);
    uint64_t read;
    granary_err err = pieces == NULL ? tile_no_memory() : tiled_init(t, &t->tiled[i], parts, false);

    gr_attrs_add(t->chunks, maps.attrs, gr_attr_new_int("parts", (int64_t)parts));
    for (size_t m = 0; m < maps.count && err == GRANARY_OK; m++) {
        err = group_map_add(t, i, in, &maps, m, &pieces[m], &read);
    }
    return err == GRANARY_OK ? merge_parts(t, i, pieces, maps.count, bytes_sum(in->bytes, in->count)) : err;
}

granary_err
tile_groupby_combine(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = &t->tiled[step->inputs[0]]; /* objects are not cut down */
    gr_attrs merge = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna"));
    gr_attrs final = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna", "sort"));
    struct gr_tiled tables;
    size_t count;
    uint64_t bytes;
    granary_err err = tiled_copy(t, in, &tables);

    if (err != GRANARY_OK) {
        return err;
    }
    tiling_add_only_dtypes(t, step, final);
    for (size_t p = 0; p < in->count; p++) {
        tables.bytes[p] = tables.bytes[p] > 0 ? tables.bytes[p] : TABLE_BYTES;
    }
    count = tiling_tree(t, i, GR_CHUNK_groupby_merge, merge, tables.pieces, tables.bytes, in->count, fan_in(t, i),
                        TILE_SUM);
    bytes = bytes_sum(tables.bytes, count);
    return tiling_yield_one(t, i, tiling_add(t, i, GR_CHUNK_groupby_final, final, tables.pieces, count, bytes), bytes);
}

/* ---- shuffle ---- */

/* Where the rows of each chunk begin in the whole. Errors: ENOMEM, TILE_WAIT */
static granary_err
find_firsts(struct tiling *t, size_t i, const struct gr_tiled *in, int64_t *firsts)
{
    const int64_t *rows = in->rows;
    bool known = true;

    for (size_t p = 0; p < in->count; p++) {
        known = known && in->rows[p] >= 0;
    }
    if (!known) {
        const struct gr_measured *measured = tiling_measured(t, i, 0);

        if (measured == NULL) {
            return TILE_WAIT;
        }
        rows = measured->rows;
    }
    for (size_t p = 1; p < in->count; p++) {
        firsts[p] = firsts[p - 1] + rows[p - 1];
    }
    return GRANARY_OK;
}

/* The names of the dtypes in which keys are compared. */
static Granary__Attr *
types_attr(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const Granary__Attr *keys = gr_step_attr(step, "keys");
    const Granary__Attr *given = gr_step_attr(step, "types");
    char **types = tiling_scratch(t, keys->n_strings, sizeof *types);

    for (size_t k = 0; types != NULL && k < keys->n_strings; k++) {
        int at = gr_schema_find(&step->type->schema, keys->strings[k]);

        types[k] =
            given != NULL
                ? given->strings[k]
                : (char *)(uintptr_t)granary_dtype_name(step->type->schema.fields[at].dtype); /* copied, not written */
    }
    return types == NULL ? NULL : gr_attr_new_strings("types", types, keys->n_strings);
}

/* Part j of all dealt chunks is piece j. */
static granary_err
gather_parts(struct tiling *t, size_t i, struct gr_piece *dealt, size_t count, size_t parts, uint64_t bytes)
{
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tiled_init(t, out, parts, true);

    for (size_t j = 0; j < parts && err == GRANARY_OK; j++) {
        pieces_choose(dealt, count, j);
        out->bytes[j] = bytes / parts + 1;
        out->pieces[j] = tiling_add(t, i, GR_CHUNK_concat, 0, dealt, count, out->bytes[j]);
    }
    return err;
}

granary_err
tile_shuffle(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    const struct gr_params_shuffle *params = GR_STEP_PARAMS(shuffle, &t->steps->steps[i]);
    size_t parts = (size_t)params->parts;
    gr_attrs shared = tiling_attrs(t, i, NAMES("keys", "parts"));
    struct gr_piece *dealt = tiling_scratch(t, in->count, sizeof *dealt);
    int64_t *firsts = tiling_scratch(t, in->count, sizeof *firsts);
    granary_err err = dealt == NULL || firsts == NULL ? tile_no_memory() : GRANARY_OK;

    if (err == GRANARY_OK && params->number != NULL) {
        err = find_firsts(t, i, in, firsts);
        gr_attrs_add(t->chunks, shared, gr_attr_new_string("order", params->number));
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("chunk", params->part));
    }
    gr_attrs_add(t->chunks, shared, types_attr(t, i));
    for (size_t p = 0; p < in->count && err == GRANARY_OK; p++) {
        const gr_attrs attrs[2] = {shared, tiling_number(t, "first", (uint64_t)firsts[p])};

        dealt[p] = tiling_add_own(t, i, GR_CHUNK_shuffle_split, attrs, &in->pieces[p], 1,
                                  in->bytes[p] + in->bytes[p] / 8 + PACKED_BYTES * parts);
    }
    return err == GRANARY_OK ? gather_parts(t, i, dealt, in->count, parts, bytes_sum(in->bytes, in->count)) : err;
}
