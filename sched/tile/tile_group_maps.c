/*
 * How many tables a groupby makes of stored chunks. A table of each chunk is the rule: it costs little, and keeps all
 * executors busy. When most chunks have most groups, tables are as large as what is done for each of their groups is
 * dear, however few rows they are made of: so a table is made of several chunks.
 */
#include "tile/group.h"

enum {
    ROWS_FOR_A_GROUP = 24, /* of a table, about: adding up its rows costs several times what its groups cost */
    MAPS_LEAST = 4,        /* for executors to share */
    CHUNKS_MOST = 16,      /* of a table */
    MEMORY_MAPS = 32,      /* what is read for a table is at most this part of the store's memory */
};

#define READ_MOST ((uint64_t)256 << 20)

/* Whether a piece is there already, or columns of one that is: reading it with others costs nothing. */
static bool
is_stored(const struct tiling *t, struct gr_piece piece)
{
    const struct gr_chunk *chunk = &t->chunks->chunks[piece.op];

    if (chunk->op == GR_CHUNK_select && chunk->input_count == 1) {
        chunk = &t->chunks->chunks[gr_chunk_inputs(t->chunks, chunk)[0].op];
    }
    return chunk->op == GR_CHUNK_object;
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
        if (!is_stored(t, in->pieces[p]) || in->rows[p] < 0) {
            return in->count;
        }
        rows += (uint64_t)in->rows[p];
    }
    if (groups == 0 || groups > rows / ROWS_FOR_A_GROUP) {
        return in->count;
    }
    maps = rows / (groups * ROWS_FOR_A_GROUP);
    maps = maps < MAPS_LEAST ? MAPS_LEAST : maps;
    maps = maps < bytes / most + 1 ? bytes / most + 1 : maps;
    maps = maps < in->count / CHUNKS_MOST + 1 ? in->count / CHUNKS_MOST + 1 : maps;
    return maps < in->count ? (size_t)maps : in->count;
}

struct gr_piece
group_map_add(struct tiling *t, size_t i, const struct gr_tiled *in, const struct group_maps *maps, size_t m,
              uint64_t *ret_read)
{
    size_t begin = in->count * m / maps->count;
    size_t end = in->count * (m + 1) / maps->count;
    struct gr_chunk_spec spec = {.op = GR_CHUNK_groupby_map,
                                 .step = (uint32_t)i,
                                 .shared = maps->attrs,
                                 .inputs = in->pieces + begin,
                                 .input_count = end - begin,
                                 .outputs = (uint32_t)maps->parts,
                                 .bytes = bytes_sum(in->bytes + begin, end - begin)};

    *ret_read = spec.bytes;
    return gr_chunks_add(t->chunks, &spec);
}
