/*
 * distinct, duplicated. Each chunk's repetitions go first. The rest is merged in a tree. When it is more than a small
 * part of the store's memory, it is dealt out to parts by the hash of the compared columns. Repetitions go from each
 * part, and the rows come back to the chunks they are of, in order (as in join_shuffle.c).
 */
#include <stdio.h>
#include <string.h>

#include "tile/core/rules.h"

enum {
    PARTS_MOST = 256,
    MEMORY_PARTS = 8,    /* a part is at most this part of the store's memory */
    PACKED_BYTES = 2048, /* of a packed frame beside its rows */
};

/* "subset", and keep instead of the step's when it is not NULL. */
static gr_attrs
keep_attrs(struct tiling *t, size_t i, const char *keep)
{
    gr_attrs attrs = tiling_attrs(t, i, NAMES("subset"));
    const Granary__Attr *own = gr_step_attr(&t->steps->steps[i], "keep");

    keep = keep == NULL && own != NULL ? own->strings[0] : keep;
    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("keep", keep == NULL ? "first" : keep));
    return attrs;
}

/* ---- more than memory holds at a time ---- */

/* Into how many parts what is left is dealt out; 1: it need not be. */
static size_t
count_parts(const struct tiling *t, const struct gr_tiled *in)
{
    uint64_t memory = t->options->memory_bytes;
    uint64_t total = bytes_sum(in->bytes, in->count);
    uint64_t parts;

    if (memory == 0 || in->count < 2 || total <= memory / 2) {
        return 1;
    }
    parts = total / (memory / MEMORY_PARTS + 1) + 1;
    return (size_t)(parts > PARTS_MOST ? PARTS_MOST : parts);
}

/* A name no column has. */
static void
name_order(const struct gr_schema *schema, char *name, size_t room)
{
    unsigned n = 0;

    do {
        (void)snprintf(name, room, "granary.position%u", n++);
    } while (gr_schema_find(schema, name) >= 0);
}

/* How rows are dealt out: by what is compared, with a column of positions. Errors: ENOMEM */
static granary_err
deal_attrs(struct tiling *t, size_t i, size_t parts, const char *order, gr_attrs deal, gr_attrs last)
{
    const struct gr_schema *schema = &t->steps->steps[i].type->schema;
    const Granary__Attr *subset = gr_step_attr(&t->steps->steps[i], "subset");
    const Granary__Attr *keep = gr_step_attr(&t->steps->steps[i], "keep");
    size_t count = subset != NULL ? subset->n_strings : schema->count;
    char **texts = tiling_scratch(t, count, sizeof *texts);
    char **types = tiling_scratch(t, count, sizeof *types);

    if (texts == NULL || types == NULL) {
        return tile_no_memory();
    }
    for (size_t c = 0; c < count; c++) {
        texts[c] = subset != NULL ? subset->strings[c] : schema->fields[c].name;
        types[c] = (char *)(uintptr_t)granary_dtype_name(/* copied, not written */
                                                         schema->fields[gr_schema_find(schema, texts[c])].dtype);
    }
    gr_attrs_add(t->chunks, deal, gr_attr_new_strings("keys", texts, count));
    gr_attrs_add(t->chunks, deal, gr_attr_new_strings("types", types, count));
    gr_attrs_add(t->chunks, deal, gr_attr_new_int("parts", (int64_t)parts));
    gr_attrs_add(t->chunks, deal, gr_attr_new_string("order", order));
    gr_attrs_add(t->chunks, last, gr_attr_new_strings("subset", texts, count));
    gr_attrs_add(t->chunks, last, gr_attr_new_string("keep", keep == NULL ? "first" : keep->strings[0]));
    return GRANARY_OK;
}

/* The pieces, whose own repetitions are gone, through parts and back. */
static granary_err
distinct_in_parts(struct tiling *t, size_t i, const struct gr_tiled *in, size_t parts)
{
    struct gr_chunks *chunks = t->chunks;
    struct gr_tiled *out = &t->tiled[i];
    uint64_t bytes = bytes_sum(in->bytes, in->count) / parts + PACKED_BYTES;
    struct gr_piece *dealt = tiling_scratch(t, in->count, sizeof *dealt);
    struct gr_piece *back = tiling_scratch(t, parts, sizeof *back);
    gr_attrs deal = gr_chunks_attrs(chunks);
    gr_attrs last = gr_chunks_attrs(chunks);
    gr_attrs by_order = gr_chunks_attrs(chunks);
    gr_attrs merge = gr_chunks_attrs(chunks);
    char order[64];
    granary_err err = dealt == NULL || back == NULL ? tile_no_memory() : tiled_init(t, out, in->count, true);

    name_order(&t->steps->steps[i].type->schema, order, sizeof order);
    err = err == GRANARY_OK ? deal_attrs(t, i, parts, order, deal, last) : err;
    gr_attrs_add(chunks, by_order, gr_attr_new_string("order", order));
    gr_attrs_add(chunks, by_order, gr_attr_new_bool("by_order", true));
    gr_attrs_add(chunks, by_order, gr_attr_new_int("parts", (int64_t)in->count));
    gr_attrs_add(chunks, merge, gr_attr_new_string("order", order));
    for (size_t p = 0; p < in->count && err == GRANARY_OK; p++) {
        const gr_attrs attrs[2] = {deal, tiling_number(t, "chunk", p)};

        dealt[p] = tiling_add_own(t, i, GR_CHUNK_shuffle_split, attrs, &in->pieces[p], 1,
                                  in->bytes[p] + in->bytes[p] / 8 + PACKED_BYTES * parts);
    }
    for (size_t j = 0; j < parts && err == GRANARY_OK; j++) {
        struct gr_piece part;

        pieces_choose(dealt, in->count, j);
        part = tiling_add(t, i, GR_CHUNK_distinct, last, dealt, in->count, bytes);
        back[j] = tiling_add(t, i, GR_CHUNK_shuffle_split, by_order, &part, 1, bytes + PACKED_BYTES * in->count);
    }
    for (size_t p = 0; p < in->count && err == GRANARY_OK; p++) {
        pieces_choose(back, parts, p);
        out->bytes[p] = in->bytes[p];
        out->pieces[p] = tiling_add(t, i, GR_CHUNK_order_merge, merge, back, parts, in->bytes[p]);
    }
    return err;
}

/* ---- the rules ---- */

granary_err
tile_distinct(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    const Granary__Attr *keep = gr_step_attr(&t->steps->steps[i], "keep");
    /* Which rows come once only is known at the end: until then two of each tell enough. */
    bool none = keep != NULL && strcmp(keep->strings[0], "none") == 0;
    gr_attrs attrs = keep_attrs(t, i, none ? "two" : NULL);
    struct gr_tiled parts;
    struct gr_piece piece;
    uint64_t bytes;
    size_t count;
    size_t many;
    granary_err err = tiled_copy(t, in, &parts);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t p = 0; p < in->count; p++) {
        parts.pieces[p] = tiling_add(t, i, GR_CHUNK_distinct, attrs, &in->pieces[p], 1, in->bytes[p]);
    }
    many = count_parts(t, in);
    if (many > 1) {
        return distinct_in_parts(t, i, &parts, many);
    }
    count = tiling_tree(t, i, GR_CHUNK_distinct, attrs, parts.pieces, parts.bytes, in->count, TILE_FAN_IN, TILE_SUM);
    bytes = bytes_sum(parts.bytes, count);
    piece = count == 1 && !none
                ? parts.pieces[0]
                : tiling_add(t, i, GR_CHUNK_distinct, keep_attrs(t, i, NULL), parts.pieces, count, bytes);
    return tiling_yield_one(t, i, piece, bytes);
}

granary_err
tile_duplicated(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    uint64_t bytes = bytes_sum(in->bytes, in->count);

    return tiling_yield_one(t, i,
                            tiling_add(t, i, GR_CHUNK_duplicated, keep_attrs(t, i, NULL), in->pieces, in->count, bytes),
                            bytes / 8 + 1024);
}
