/*
 * How many tables a groupby makes of stored chunks. A table of each chunk is the rule: it costs little, and keeps all
 * executors busy. When most chunks have most groups, tables are large, and the work for each of their groups is
 * expensive, however few rows they are made of. So a table is made of several chunks.
 */
#include "tile/frame/group.h"

enum {
    ROWS_FOR_A_GROUP = 24, /* of a table, about: adding up its rows costs several times what its groups cost */
    MAPS_LEAST = 4,        /* for executors to share */
    CHUNKS_MOST = 16,      /* of a table */
    MEMORY_MAPS = 32,      /* what is read for a table is at most this part of the store's memory */
};

#define READ_MOST ((uint64_t)256 << 20)

#define REFERENCE_BYTES 65536 /* few of its pages are read */

static bool
is_stored(const struct tiling *t, struct gr_piece piece)
{
    const struct gr_chunk *chunk = &t->chunks->chunks[piece.op];

    if (chunk->op == GR_CHUNK_select && chunk->input_count == 1) {
        chunk = &t->chunks->chunks[gr_chunk_inputs(t->chunks, chunk)[0].op];
    }
    return chunk->op == GR_CHUNK_object;
}

bool
group_is_stored(const struct tiling *t, const struct gr_tiled *in)
{
    bool stored = in->count > 0;

    for (size_t p = 0; p < in->count && stored; p++) {
        stored = is_stored(t, in->pieces[p]) && in->rows[p] >= 0;
    }
    return stored;
}

size_t
group_maps(const struct tiling *t, const struct gr_tiled *in, uint64_t groups)
{
    uint64_t bytes = bytes_sum(in->bytes, in->count);
    uint64_t most = t->options->memory_bytes / MEMORY_MAPS;
    uint64_t rows = 0;
    uint64_t maps;

    most = most == 0 || most > READ_MOST ? READ_MOST : most;
    for (size_t p = 0; p < in->count; p++) {
        rows += in->rows[p] > 0 ? (uint64_t)in->rows[p] : 0;
    }
    if (!group_is_stored(t, in) || groups == 0 || groups > rows / ROWS_FOR_A_GROUP) {
        return in->count;
    }
    maps = rows / (groups * ROWS_FOR_A_GROUP);
    maps = maps < MAPS_LEAST ? MAPS_LEAST : maps;
    maps = maps < bytes / most + 1 ? bytes / most + 1 : maps;
    maps = maps < in->count / CHUNKS_MOST + 1 ? in->count / CHUNKS_MOST + 1 : maps;
    return maps < in->count ? (size_t)maps : in->count;
}

void
group_refer(struct tiling *t, size_t i, const struct gr_tiled *in, struct group_maps *maps, gr_attrs readers)
{
    const struct gr_step *step = &t->steps->steps[i];
    const Granary__Attr *keys = gr_step_attr(step, "keys");
    char **texts = keys == NULL ? NULL : tiling_scratch(t, keys->n_strings, sizeof *texts);
    size_t count = 0;

    for (size_t k = 0; texts != NULL && k < keys->n_strings; k++) {
        if (gr_dtype_class(step->type->schema.fields[k].dtype) >= GR_CLASS_TEXT) {
            texts[count++] = keys->strings[k];
        }
    }
    maps->reference = 0;
    if (count > 0 && is_stored(t, in->pieces[0]) && gr_step_attr(step, "columns") == NULL) {
        maps->reference = gr_chunks_attrs(t->chunks);
        gr_attrs_add(t->chunks, maps->reference, gr_attr_new_strings("columns", texts, count));
        gr_attrs_add(t->chunks, maps->attrs, gr_attr_new_bool("reference", true));
        gr_attrs_add(t->chunks, readers, gr_attr_new_bool("reference", true));
    }
}

struct gr_piece
group_reference(struct tiling *t, size_t i, const struct gr_tiled *in, const struct group_maps *maps)
{
    struct gr_piece piece = in->pieces[0];
    const struct gr_chunk *chunk = &t->chunks->chunks[piece.op];

    if (chunk->op == GR_CHUNK_select) {
        piece = gr_chunk_inputs(t->chunks, chunk)[0];
    }
    return tiling_add(t, i, GR_CHUNK_select, maps->reference, &piece, 1, REFERENCE_BYTES);
}

granary_err
group_map_add(struct tiling *t, size_t i, const struct gr_tiled *in, const struct group_maps *maps, size_t m,
              struct gr_piece *ret_piece, uint64_t *ret_read)
{
    size_t begin = in->count * m / maps->count;
    size_t end = in->count * (m + 1) / maps->count;
    struct gr_piece *inputs = tiling_scratch(t, end - begin + 1, sizeof *inputs);
    struct gr_chunk_spec spec = {.op = GR_CHUNK_groupby_map,
                                 .step = (uint32_t)i,
                                 .shared = maps->attrs,
                                 .inputs = inputs,
                                 .outputs = (uint32_t)maps->parts,
                                 .bytes = bytes_sum(in->bytes + begin, end - begin)};

    if (inputs == NULL) {
        return tile_no_memory();
    }
    if (maps->reference != 0) {
        inputs[spec.input_count++] = group_reference(t, i, in, maps);
    }
    for (size_t p = begin; p < end; p++) {
        inputs[spec.input_count++] = in->pieces[p];
    }
    *ret_read = spec.bytes;
    *ret_piece = gr_chunks_add(t->chunks, &spec);
    return GRANARY_OK;
}
