/*
 * Operators in two halves, and those that deal rows to parts, for graphs that run on several machines. Each of the parts
 * is one piece, whatever the input is cut into: the next machine reads it by its place.
 *
 *   groupby_partial   a table of groups a chunk (or of several), each dealt to the parts; tables of a part are merged
 *   groupby_combine   merges tables, and makes a frame of the last one
 *   shuffle           shuffle_split (a packed object a chunk) -> concat (a part of all of them)
 *   sort_sample       samples of all chunks, one below the other
 *   shuffle_sorted    sort_pivots of all samples, sort_split at these, then as shuffle
 */
#include "tile/frame/group.h"
#include "tile/frame/sorted.h"

#define WEIGHT "#rows" /* of samples: graph/operators/exchange.c */

enum {
    SAMPLES_LEAST = 16, /* of a chunk */
    SAMPLE_BYTES = 64,
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

/* The frame of hot keys, in one piece. */
static struct gr_piece
hot_keys(struct tiling *t, size_t i)
{
    const struct gr_tiled *hot = tiling_input(t, i, 1);

    return hot->count == 1
               ? hot->pieces[0]
               : tiling_add(t, i, GR_CHUNK_concat, 0, hot->pieces, hot->count, bytes_sum(hot->bytes, hot->count));
}

granary_err
tile_shuffle(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    const struct gr_params_shuffle *params = GR_STEP_PARAMS(shuffle, &t->steps->steps[i]);
    size_t parts = (size_t)params->parts;
    size_t part = (size_t)params->part;
    gr_attrs shared = tiling_attrs(t, i, NAMES("keys", "parts", "hot"));
    struct gr_piece *dealt = tiling_scratch(t, in->count, sizeof *dealt);
    int64_t *firsts = tiling_scratch(t, in->count, sizeof *firsts);
    struct gr_piece inputs[2];
    size_t input_count = t->steps->steps[i].input_count;
    granary_err err = dealt == NULL || firsts == NULL ? tile_no_memory() : GRANARY_OK;

    if (err == GRANARY_OK && params->number != NULL) {
        err = find_firsts(t, i, in, firsts);
        gr_attrs_add(t->chunks, shared, gr_attr_new_string("order", params->number));
        gr_attrs_add(t->chunks, shared, gr_attr_new_int("chunk", params->part));
    }
    if (err != GRANARY_OK) {
        return err;
    }
    gr_attrs_add(t->chunks, shared, types_attr(t, i));
    if (input_count > 1) {
        inputs[1] = hot_keys(t, i);
    }
    for (size_t p = 0; p < in->count; p++) {
        const gr_attrs attrs[2] = {shared, tiling_number(t, "first", (uint64_t)firsts[p])};

        inputs[0] = in->pieces[p];
        gr_attrs_add(t->chunks, attrs[1], gr_attr_new_int("turn", (int64_t)(part + p)));
        dealt[p] = tiling_add_own(t, i, GR_CHUNK_shuffle_split, attrs, inputs, input_count,
                                  in->bytes[p] + in->bytes[p] / 8 + PACKED_BYTES * parts);
    }
    return gather_parts(t, i, dealt, in->count, parts, bytes_sum(in->bytes, in->count));
}

/* ---- sort ---- */

granary_err
tile_sort_sample(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    int64_t rows = GR_STEP_PARAMS(sort_sample, &t->steps->steps[i])->rows;
    int64_t samples = rows / (int64_t)in->count;
    struct gr_piece *pieces = tiling_scratch(t, in->count, sizeof *pieces);
    struct tile_order order;
    uint64_t bytes;
    gr_attrs shared;
    granary_err err = pieces == NULL ? tile_no_memory() : tile_order_init(t, i, &order);

    if (err != GRANARY_OK) {
        return err;
    }
    samples = samples < SAMPLES_LEAST && rows > SAMPLES_LEAST ? SAMPLES_LEAST : samples < 1 ? 1 : samples;
    bytes = SAMPLE_BYTES * (uint64_t)samples;
    shared = tile_order_attrs(t, &order, "samples", samples);
    gr_attrs_add(t->chunks, shared, gr_attr_new_string("weight", WEIGHT));
    for (size_t p = 0; p < in->count; p++) {
        const gr_attrs attrs[2] = {shared, tiling_number(t, "chunk", p)};

        pieces[p] = tiling_add_own(t, i, GR_CHUNK_sort_sample, attrs, &in->pieces[p], 1, bytes);
    }
    bytes *= in->count;
    return tiling_yield_one(t, i, tiling_add(t, i, GR_CHUNK_concat, 0, pieces, in->count, bytes), bytes);
}

granary_err
tile_shuffle_sorted(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    const struct gr_tiled *samples = tiling_input(t, i, 1);
    int64_t parts = GR_STEP_PARAMS(shuffle_sorted, &t->steps->steps[i])->parts;
    struct gr_piece *dealt = tiling_scratch(t, in->count, sizeof *dealt);
    struct tile_order order;
    gr_attrs attrs;
    gr_attrs split;
    struct gr_piece inputs[2];
    granary_err err = dealt == NULL ? tile_no_memory() : tile_order_init(t, i, &order);

    if (err != GRANARY_OK) {
        return err;
    }
    attrs = tile_order_attrs(t, &order, "parts", parts);
    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("weight", WEIGHT));
    inputs[1] =
        tiling_add(t, i, GR_CHUNK_sort_pivots, attrs, samples->pieces, samples->count, SAMPLE_BYTES * (uint64_t)parts);
    split = tile_order_attrs(t, &order, "parts", parts);
    gr_attrs_add(t->chunks, split, gr_attr_new_bool("together", true));
    gr_attrs_add(t->chunks, split, gr_attr_new_int("chunk", 0));
    for (size_t p = 0; p < in->count; p++) {
        inputs[0] = in->pieces[p];
        dealt[p] = tiling_add(t, i, GR_CHUNK_sort_split, split, inputs, 2,
                              in->bytes[p] + in->bytes[p] / 8 + PACKED_BYTES * (uint64_t)parts);
    }
    return gather_parts(t, i, dealt, in->count, (size_t)parts, bytes_sum(in->bytes, in->count));
}
