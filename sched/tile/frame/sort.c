/*
 * sort. Few rows wanted: each chunk's first ones, merged. Little data: all at once. Otherwise samples of all chunks
 * give pivots. Every chunk is dealt out at the pivots into one object, and part j of all of them is sorted into chunk
 * j of the result. Between equal keys chunk and row decide, as in a stable sort, so that parts are even however often
 * a key repeats.
 */
#include <string.h>

#include "tile/frame/sorted.h"

enum {
    SAMPLES_MIN = 32, /* of a chunk */
    SAMPLES_MAX = 1024,
    SAMPLES_PER_PART = 64, /* of all chunks: a part is then rarely more than a third above its share */
    PARTS_MAX = 512,
    PARTS_EAGER = 32,    /* so many are made of little data, so that all executors work */
    EDGES_MAX = 65536,   /* chunks times parts */
    PACKED_BYTES = 2048, /* of a packed frame beside its rows */
    MEMORY_PARTS = 8,    /* a part takes at most this part of the store's memory */
};

#define AT_ONCE_BYTES   ((uint64_t)1 << 20) /* sorted in less time than dealing it out takes */
#define PART_BYTES      ((uint64_t)4 << 20) /* of little data: words and rows of a part fit the cache */
#define PART_BYTES_MOST ((uint64_t)16 << 20)

granary_err
tile_order_init(struct tiling *t, size_t i, struct tile_order *ret_order)
{
    const struct gr_step *step = &t->steps->steps[i];
    const Granary__Attr *by = gr_step_attr(step, "by");
    const Granary__Attr *descending = gr_step_attr(step, "descending");
    const Granary__Attr *nulls = gr_step_attr(step, "nulls");
    size_t keys = by->n_strings;
    bool *flags = tiling_scratch(t, 2 * keys, sizeof *flags);

    if (flags == NULL) {
        return tile_no_memory();
    }
    for (size_t k = 0; descending != NULL && k < keys; k++) {
        flags[k] = descending->n_ints > 0 && descending->ints[descending->n_ints > k ? k : 0] != 0;
    }
    for (size_t k = 0; nulls != NULL && k < keys; k++) {
        flags[keys + k] = strcmp(nulls->strings[nulls->n_strings > k ? k : 0], "first") == 0;
    }
    *ret_order = (struct tile_order){.by = by->strings,
                                     .keys = keys,
                                     .descending = flags,
                                     .nulls_first = nulls == NULL ? NULL : flags + keys,
                                     .nan_largest = GR_STEP_PARAMS(sort, step)->nan_largest};
    return GRANARY_OK;
}

gr_attrs
tile_order_attrs(struct tiling *t, const struct tile_order *order, const char *count_name, int64_t count)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, attrs, gr_attr_new_strings("by", order->by, order->keys));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_bools("descending", order->descending, order->keys));
    if (order->nulls_first != NULL) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_bools("nulls_first", order->nulls_first, order->keys));
    }
    if (order->nan_largest) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_bool("nan_largest", true));
    }
    if (count_name != NULL) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_int(count_name, count));
    }
    return attrs;
}

/* ---- all at once, or the first rows ---- */

static granary_err
sort_at_once(struct tiling *t, size_t i, const struct gr_tiled *in, const struct tile_order *order)
{
    uint64_t bytes = bytes_sum(in->bytes, in->count);

    return tiling_yield_one(
        t, i, tiling_add(t, i, GR_CHUNK_sort, tile_order_attrs(t, order, NULL, 0), in->pieces, in->count, bytes),
        bytes);
}

static granary_err
sort_first(struct tiling *t, size_t i, const struct gr_tiled *in, const struct tile_order *order, int64_t limit)
{
    gr_attrs attrs = tile_order_attrs(t, order, "limit", limit);
    uint64_t limit_bytes = (uint64_t)limit * 64 * gr_step_width(&t->steps->steps[i]);
    struct gr_tiled first;
    size_t count;
    uint64_t bytes;
    granary_err err = tiled_init(t, &first, in->count, true);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t p = 0; p < in->count; p++) {
        first.bytes[p] = limit_bytes < in->bytes[p] ? limit_bytes : in->bytes[p];
        first.pieces[p] = tiling_add(t, i, GR_CHUNK_sort, attrs, &in->pieces[p], 1, first.bytes[p]);
    }
    count = tiling_tree(t, i, GR_CHUNK_sort, attrs, first.pieces, first.bytes, first.count, TILE_FAN_IN, TILE_MAX);
    bytes = bytes_max(first.bytes, count);
    return tiling_yield_one(
        t, i, count == 1 ? first.pieces[0] : tiling_add(t, i, GR_CHUNK_sort, attrs, first.pieces, count, bytes), bytes);
}

/* ---- in parts ---- */

static size_t
count_parts(const struct tiling *t, const struct gr_tiled *in, uint64_t total)
{
    uint64_t memory = t->options->memory_bytes;
    uint64_t most = PART_BYTES_MOST;
    uint64_t parts = total / PART_BYTES;

    if (memory > 0 && memory / MEMORY_PARTS < most) {
        most = memory / MEMORY_PARTS + 1;
    }
    parts = parts > PARTS_EAGER ? PARTS_EAGER : parts;
    parts = total / most > parts ? total / most : parts;
    parts = parts > PARTS_MAX ? PARTS_MAX : parts;
    parts = parts * in->count > EDGES_MAX ? EDGES_MAX / in->count : parts;
    return parts < 2 ? 2 : parts;
}

/* Samples of all chunks, and from them the pivots. */
static granary_err
add_pivots(struct tiling *t, size_t i, const struct gr_tiled *in, const struct tile_order *order, size_t parts,
           struct gr_piece *ret_pivots)
{
    size_t samples = SAMPLES_PER_PART * parts / in->count;
    gr_attrs sample_attrs;
    struct gr_piece *pieces = tiling_scratch(t, in->count, sizeof *pieces);

    if (pieces == NULL) {
        return tile_no_memory();
    }
    samples = samples < SAMPLES_MIN ? SAMPLES_MIN : samples > SAMPLES_MAX ? SAMPLES_MAX : samples;
    sample_attrs = tile_order_attrs(t, order, "samples", (int64_t)samples);
    for (size_t p = 0; p < in->count; p++) {
        const gr_attrs attrs[2] = {sample_attrs, tiling_number(t, "chunk", p)};

        pieces[p] = tiling_add_own(t, i, GR_CHUNK_sort_sample, attrs, &in->pieces[p], 1,
                                   64 * samples < in->bytes[p] ? 64 * samples : in->bytes[p]);
    }
    *ret_pivots = tiling_add(t, i, GR_CHUNK_sort_pivots, tile_order_attrs(t, order, "parts", (int64_t)parts), pieces,
                             in->count, 64 * parts);
    return GRANARY_OK;
}

static granary_err
sort_in_parts(struct tiling *t, size_t i, const struct gr_tiled *in, const struct tile_order *order, uint64_t total)
{
    struct gr_tiled *out = &t->tiled[i];
    size_t parts = count_parts(t, in, total);
    gr_attrs split_attrs = tile_order_attrs(t, order, "parts", (int64_t)parts);
    gr_attrs part_attrs = tile_order_attrs(t, order, NULL, 0);
    struct gr_piece *dealt = tiling_scratch(t, in->count, sizeof *dealt);
    struct gr_piece pivots;
    granary_err err = dealt == NULL ? tile_no_memory() : add_pivots(t, i, in, order, parts, &pivots);

    for (size_t p = 0; p < in->count && err == GRANARY_OK; p++) {
        struct gr_piece inputs[2] = {in->pieces[p], pivots};
        const gr_attrs attrs[2] = {split_attrs, tiling_number(t, "chunk", p)};

        dealt[p] = tiling_add_own(t, i, GR_CHUNK_sort_split, attrs, inputs, 2,
                                  in->bytes[p] + in->bytes[p] / 8 + PACKED_BYTES * parts);
    }
    if (err == GRANARY_OK) {
        err = tiled_init(t, out, parts, true);
    }
    for (size_t j = 0; j < parts && err == GRANARY_OK; j++) {
        pieces_choose(dealt, in->count, j);
        out->bytes[j] = total / parts;
        out->pieces[j] = tiling_add(t, i, GR_CHUNK_sort, part_attrs, dealt, in->count, out->bytes[j]);
    }
    return err;
}

/* One subtask sorts it all. With chunks of a given size, small ones too are sorted in parts. */
static bool
is_little(const struct tiling *t, uint64_t total)
{
    uint64_t memory = t->options->memory_bytes;
    int64_t chunk = t->options->chunk_bytes;
    uint64_t most = chunk > 0 && (uint64_t)chunk < AT_ONCE_BYTES ? (uint64_t)chunk : AT_ONCE_BYTES;

    return total <= most && (memory == 0 || total <= memory / MEMORY_PARTS);
}

/* How much there is may be far less than it seems. */
static bool
is_guess(const struct gr_tiled *in)
{
    size_t p = 0;

    while (p < in->count && in->rows[p] >= 0) {
        p++;
    }
    return p < in->count;
}

granary_err
tile_sorted(struct tiling *t, size_t i, const struct gr_tiled *in, const struct tile_order *order, uint64_t total)
{
    return in->count == 0 || is_little(t, total) ? sort_at_once(t, i, in, order)
                                                 : sort_in_parts(t, i, in, order, total);
}

granary_err
tile_sort(struct tiling *t, size_t i)
{
    int64_t limit = t->steps->steps[i].limit;
    const struct gr_tiled *in = tiling_input(t, i, 0);
    struct tile_order order;
    uint64_t total = bytes_sum(in->bytes, in->count);
    granary_err err;

    if (limit == GR_STEP_NO_LIMIT && !is_little(t, total) && is_guess(in)) {
        const struct gr_measured *measured = tiling_measured(t, i, 0);

        if (measured == NULL) {
            return TILE_WAIT;
        }
        total = measured->all_bytes;
    }
    err = tile_order_init(t, i, &order);
    if (err != GRANARY_OK) {
        return err;
    }
    return limit != GR_STEP_NO_LIMIT ? sort_first(t, i, in, &order, limit) : tile_sorted(t, i, in, &order, total);
}
