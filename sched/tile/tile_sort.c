/*
 * sort: chunks are sorted, then merged. Few chunks, or few rows wanted: one merge, or a tree of them. Many: samples of
 * all give pivots, every sorted chunk is cut at the pivots, and part j of all chunks is merged into chunk j of the
 * result. Between equal keys chunk and row decide, as in a stable sort, so that parts are even however often a key
 * repeats.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tile/rules.h"

/* Merging all at once holds everything twice: only what is at most this part of the store's memory. */
#define MERGE_MEMORY_PARTS 8
#define PIECES_MAX         65536 /* of all chunks cut at all pivots */
#define SAMPLES_MIN        16    /* of a chunk; as many as there are parts bounds every part by twice its share */
#define SAMPLES_MAX        256

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

/* by, and descending once a column. */
static gr_attrs
sort_attrs(struct tiling *t, size_t i, const char *count_name, int64_t count)
{
    const struct gr_step *step = &t->steps->steps[i];
    const Granary__Attr *by = gr_step_attr(step, "by");
    const Granary__Attr *descending = gr_step_attr(step, "descending");
    gr_attrs attrs = gr_chunks_attrs(t->chunks);
    bool *flags = calloc(by->n_strings + 1, sizeof *flags);

    for (size_t k = 0; flags != NULL && descending != NULL && k < by->n_strings; k++) {
        flags[k] = descending->n_ints > 0 && descending->ints[descending->n_ints > k ? k : 0] != 0;
    }
    gr_attrs_add(t->chunks, attrs, gr_attr_copy(by));
    gr_attrs_add(t->chunks, attrs, flags == NULL ? NULL : gr_attr_new_bools("descending", flags, by->n_strings));
    if (count_name != NULL) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_int(count_name, count));
    }
    free(flags);
    return attrs;
}

/* Everything in one piece. */
static void
merge_all(struct tiling *t, size_t i, gr_attrs attrs, struct gr_tiled *sorted, enum tile_growth growth)
{
    struct gr_tiled *out = &t->tiled[i];
    size_t count = tiling_tree(t, i, GR_CHUNK_sort_merge, attrs, sorted->pieces, sorted->bytes, sorted->count,
                               TILE_FAN_IN, growth);

    out->bytes[0] = growth == TILE_SUM ? bytes_sum(sorted->bytes, count) : bytes_max(sorted->bytes, count);
    out->pieces[0] = count == 1 ? sorted->pieces[0]
                                : tiling_add(t, i, GR_CHUNK_sort_merge, attrs, sorted->pieces, count, out->bytes[0]);
}

/* Which chunk it is. */
static gr_attrs
chunk_attrs(struct tiling *t, size_t chunk)
{
    gr_attrs attrs = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, attrs, gr_attr_new_int("chunk", (int64_t)chunk));
    return attrs;
}

/* Samples of all chunks, and from them the pivots. Overwrites nothing. */
static granary_err
add_pivots(struct tiling *t, size_t i, const struct gr_tiled *sorted, size_t parts, struct gr_piece *ret_pivots)
{
    size_t samples = parts < SAMPLES_MIN ? SAMPLES_MIN : parts > SAMPLES_MAX ? SAMPLES_MAX : parts;
    gr_attrs sample_attrs = sort_attrs(t, i, "samples", (int64_t)samples);
    struct gr_piece *pieces = malloc(sorted->count * sizeof *pieces);

    if (pieces == NULL) {
        return out_of_memory();
    }
    for (size_t p = 0; p < sorted->count; p++) {
        uint64_t bytes = 64 * samples < sorted->bytes[p] ? 64 * samples : sorted->bytes[p];
        struct gr_chunk_spec spec = {.op = GR_CHUNK_sort_sample,
                                     .step = (uint32_t)i,
                                     .shared = sample_attrs,
                                     .own = chunk_attrs(t, p),
                                     .inputs = &sorted->pieces[p],
                                     .input_count = 1,
                                     .outputs = 1,
                                     .bytes = bytes};

        pieces[p] = gr_chunks_add(t->chunks, &spec);
    }
    *ret_pivots = tiling_add(t, i, GR_CHUNK_sort_pivots, sort_attrs(t, i, "parts", (int64_t)parts), pieces,
                             sorted->count, 64 * parts);
    free(pieces);
    return GRANARY_OK;
}

static granary_err
merge_in_parts(struct tiling *t, size_t i, const struct gr_tiled *sorted, size_t parts)
{
    struct gr_tiled *out = &t->tiled[i];
    uint64_t total = bytes_sum(sorted->bytes, sorted->count);
    gr_attrs split_attrs = sort_attrs(t, i, "parts", (int64_t)parts);
    gr_attrs merge_attrs = sort_attrs(t, i, NULL, 0);
    struct gr_piece *splits = malloc(sorted->count * sizeof *splits);
    struct gr_piece pivots;
    granary_err err = splits == NULL ? out_of_memory() : add_pivots(t, i, sorted, parts, &pivots);

    for (size_t p = 0; p < sorted->count && err == GRANARY_OK; p++) {
        struct gr_piece inputs[2] = {sorted->pieces[p], pivots};
        struct gr_chunk_spec spec = {.op = GR_CHUNK_sort_split,
                                     .step = (uint32_t)i,
                                     .shared = split_attrs,
                                     .own = chunk_attrs(t, p),
                                     .inputs = inputs,
                                     .input_count = 2,
                                     .outputs = (uint32_t)parts,
                                     .bytes = sorted->bytes[p]};

        splits[p] = gr_chunks_add(t->chunks, &spec);
    }
    for (size_t j = 0; j < parts && err == GRANARY_OK; j++) {
        for (size_t p = 0; p < sorted->count; p++) {
            splits[p].output = (uint32_t)j;
        }
        out->bytes[j] = total / parts;
        out->pieces[j] = tiling_add(t, i, GR_CHUNK_sort_merge, merge_attrs, splits, sorted->count, out->bytes[j]);
    }
    free(splits);
    return err;
}

granary_err
tile_sort(struct tiling *t, size_t i)
{
    int64_t limit = t->steps->steps[i].limit;
    bool limited = limit != GR_STEP_NO_LIMIT;
    const struct gr_tiled *in = tiling_input(t, i, 0);
    gr_attrs attrs = limited ? sort_attrs(t, i, "limit", limit) : sort_attrs(t, i, NULL, 0);
    uint64_t memory = t->options->memory_bytes;
    struct gr_tiled sorted;
    bool at_once;
    size_t parts = 1;
    granary_err err = in == NULL ? out_of_memory() : tiled_init(&sorted, in->count, true);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t p = 0; p < in->count; p++) {
        uint64_t limited_bytes = limited ? (uint64_t)limit * 64 * gr_step_width(&t->steps->steps[i]) : UINT64_MAX;

        sorted.bytes[p] = limited_bytes < in->bytes[p] ? limited_bytes : in->bytes[p];
        sorted.pieces[p] = tiling_add(t, i, GR_CHUNK_sort, attrs, &in->pieces[p], 1, sorted.bytes[p]);
    }
    at_once = limited || in->count == 1 ||
              (in->count <= TILE_FAN_IN &&
               (memory == 0 || bytes_sum(sorted.bytes, sorted.count) <= memory / MERGE_MEMORY_PARTS));
    if (!at_once) {
        parts = in->count * in->count <= PIECES_MAX ? in->count : PIECES_MAX / in->count + 1;
    }
    err = tiled_init(&t->tiled[i], parts, true);
    if (err == GRANARY_OK && at_once) {
        merge_all(t, i, attrs, &sorted, limited ? TILE_MAX : TILE_SUM);
    } else if (err == GRANARY_OK) {
        err = merge_in_parts(t, i, &sorted, parts);
    }
    tiled_fini(&sorted);
    return err;
}
