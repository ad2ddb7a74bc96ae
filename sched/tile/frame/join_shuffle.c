/*
 * A join of two sides that are both large. Rows are dealt out to parts by the hash of their keys, equal keys to the
 * same part. Each part is joined by itself. The chunks of the probing side get a column of positions. By it the
 * results are dealt out again, to the chunks they came from, and put back into order there. M and N chunks and P
 * parts make M + N + P packed objects. Their frames are read one by one, so a spilled one need not come back whole.
 *
 *   shuffle_split (M + N) -> join_probe, shuffle_split by position (P) -> order_merge (M)
 */
#include <stdio.h>
#include <string.h>

#include "tile/frame/join.h"

/*
 * A part, of both sides together, is about this share of the store's memory. Smaller ones would read more of spilled
 * objects, whose frames are unpacked as a whole.
 */
#define SHUFFLE_MEMORY_PARTS 6
#define SHUFFLE_PART_BYTES   (UINT64_C(1) << 20)   /* but not less */
#define SHUFFLE_PART_MOST    (UINT64_C(128) << 20) /* nor more: who joins it has a copy */
#define SHUFFLE_PARTS_MAX    1024

/* A name that neither side nor the result has. */
static void
name_order(struct joining *j)
{
    bool taken = true;

    for (unsigned n = 0; taken && n < 1000; n++) {
        (void)snprintf(j->order, sizeof j->order, "granary.position%u", n);
        taken = gr_schema_find(j->sides[LEFT].schema, j->order) >= 0 ||
                gr_schema_find(j->sides[RIGHT].schema, j->order) >= 0;
        for (size_t c = 0; c < j->column_count; c++) {
            taken = taken || strcmp(j->columns[c].name, j->order) == 0;
        }
    }
}

static size_t
count_parts(const struct joining *j)
{
    uint64_t bytes = bytes_sum(j->sides[LEFT].tiled->bytes, j->sides[LEFT].tiled->count) +
                     bytes_sum(j->sides[RIGHT].tiled->bytes, j->sides[RIGHT].tiled->count);
    uint64_t part = j->t->options->memory_bytes / SHUFFLE_MEMORY_PARTS;
    uint64_t parts;

    part = part < SHUFFLE_PART_BYTES ? SHUFFLE_PART_BYTES : part;
    part = part > SHUFFLE_PART_MOST ? SHUFFLE_PART_MOST : part;
    parts = bytes / part + 1;
    return parts < 2 ? 2 : parts > SHUFFLE_PARTS_MAX ? SHUFFLE_PARTS_MAX : (size_t)parts;
}

/* Every chunk of a side becomes packed parts; *ret_pieces are the first frame of each. */
static granary_err
split_side(struct joining *j, int which, size_t parts, struct gr_piece **ret_pieces)
{
    const struct side *side = &j->sides[which];
    struct gr_chunks *chunks = j->t->chunks;
    gr_attrs shared = gr_chunks_attrs(chunks);
    struct gr_piece *pieces = tiling_scratch(j->t, side->tiled->count, sizeof *pieces);

    if (pieces == NULL) {
        return tile_no_memory();
    }
    gr_attrs_add(chunks, shared, gr_attr_new_strings("keys", side->keys, j->join.key_count));
    gr_attrs_add(chunks, shared, gr_attr_new_strings("types", j->types, j->join.key_count));
    gr_attrs_add(chunks, shared, gr_attr_new_int("parts", (int64_t)parts));
    gr_attrs_add(chunks, shared, gr_attr_new_string("order", j->order));
    for (size_t p = 0; p < side->tiled->count; p++) {
        const gr_attrs attrs[2] = {shared, tiling_number(j->t, "chunk", p)};
        uint64_t bytes = side->tiled->bytes[p];

        pieces[p] = tiling_add_own(j->t, j->i, GR_CHUNK_shuffle_split, attrs, &side->tiled->pieces[p], 1,
                                   bytes + bytes / 8 + 2048 * parts);
    }
    *ret_pieces = pieces;
    return GRANARY_OK;
}

static granary_err
probe_attrs(const struct joining *j, const struct probing *probing, gr_attrs *ret_attrs)
{
    const struct side *built = &j->sides[1 - probing->side];
    const bool unique[2] = {j->join.unique_left, j->join.unique_right};
    const char *const names[2] = {"left", "right"};
    struct gr_chunks *chunks = j->t->chunks;
    gr_attrs attrs = gr_chunks_attrs(chunks);

    gr_attrs_add(chunks, attrs, gr_attr_new_int("parts", 0));
    gr_attrs_add(chunks, attrs, gr_attr_new_int("probes", (int64_t)j->sides[probing->side].tiled->count));
    gr_attrs_add(chunks, attrs, gr_attr_new_strings("built_keys", built->keys, j->join.key_count));
    gr_attrs_add(chunks, attrs, gr_attr_new_strings("types", j->types, j->join.key_count));
    if (unique[1 - probing->side]) {
        gr_attrs_add(chunks, attrs, gr_attr_new_string("unique_built", names[1 - probing->side]));
    }
    if (unique[probing->side]) {
        gr_attrs_add(chunks, attrs, gr_attr_new_string("unique_probing", names[probing->side]));
    }
    *ret_attrs = attrs;
    return join_add_probe_attrs(j, probing, attrs);
}

/* Part after part is joined, and dealt out to the chunks of the probing side. */
static granary_err
join_parts(struct joining *j, const struct probing *probing, struct gr_piece *const *splits, size_t parts,
           struct gr_piece *ret_dealt)
{
    const struct gr_tiled *probes = j->sides[probing->side].tiled;
    const struct gr_tiled *built = j->sides[1 - probing->side].tiled;
    struct gr_chunks *chunks = j->t->chunks;
    uint64_t bytes = (2 * bytes_sum(probes->bytes, probes->count) + bytes_sum(built->bytes, built->count)) / parts;
    struct gr_piece *inputs = tiling_scratch(j->t, probes->count + built->count, sizeof *inputs);
    gr_attrs deal = gr_chunks_attrs(chunks);
    gr_attrs attrs = 0;
    granary_err err = inputs == NULL ? tile_no_memory() : probe_attrs(j, probing, &attrs);

    gr_attrs_add(chunks, deal, gr_attr_new_string("order", j->order));
    gr_attrs_add(chunks, deal, gr_attr_new_bool("by_order", true));
    gr_attrs_add(chunks, deal, gr_attr_new_int("parts", (int64_t)probes->count));
    for (size_t part = 0; part < parts && err == GRANARY_OK; part++) {
        struct gr_piece joined;

        memcpy(inputs, splits[probing->side], probes->count * sizeof *inputs);
        memcpy(inputs + probes->count, splits[1 - probing->side], built->count * sizeof *inputs);
        pieces_choose(inputs, probes->count + built->count, part);
        joined = tiling_add(j->t, j->i, GR_CHUNK_join_probe, attrs, inputs, probes->count + built->count, bytes);
        ret_dealt[part] =
            tiling_add(j->t, j->i, GR_CHUNK_shuffle_split, deal, &joined, 1, bytes + 2048 * probes->count);
    }
    return err;
}

static void
merge_chunks(struct joining *j, const struct probing *probing, struct gr_piece *dealt, size_t parts, size_t at)
{
    const struct gr_tiled *probes = j->sides[probing->side].tiled;
    const struct gr_tiled *built = j->sides[1 - probing->side].tiled;
    struct gr_tiled *out = &j->t->tiled[j->i];
    uint64_t more = bytes_sum(built->bytes, built->count) / (probes->count + 1);
    gr_attrs attrs = gr_chunks_attrs(j->t->chunks);

    gr_attrs_add(j->t->chunks, attrs, gr_attr_new_string("order", j->order));
    for (size_t p = 0; p < probes->count; p++) {
        pieces_choose(dealt, parts, p);
        out->bytes[at + p] = 2 * probes->bytes[p] + more;
        out->pieces[at + p] = tiling_add(j->t, j->i, GR_CHUNK_order_merge, attrs, dealt, parts, out->bytes[at + p]);
    }
}

granary_err
join_by_shuffle(struct joining *j, const struct probing *probings, size_t count)
{
    size_t parts = count_parts(j);
    struct gr_piece *splits[2] = {NULL, NULL};
    struct gr_piece *dealt = tiling_scratch(j->t, parts, sizeof *dealt);
    size_t at = 0;
    granary_err err = dealt == NULL ? tile_no_memory() : GRANARY_OK;

    name_order(j);
    for (int which = LEFT; which <= RIGHT && err == GRANARY_OK; which++) {
        err = split_side(j, which, parts, &splits[which]);
    }
    for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
        err = join_parts(j, &probings[k], splits, parts, dealt);
        if (err == GRANARY_OK) {
            merge_chunks(j, &probings[k], dealt, parts, at);
        }
        at += j->sides[probings[k].side].tiled->count;
    }
    return err;
}
