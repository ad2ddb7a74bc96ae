/* A groupby with about as many groups as rows: rows are dealt to parts as they are, and each part is grouped once. */
#include "tile/frame/group.h"

/* Keys that are strings: each has a dictionary in every chunk, perhaps. */
static Granary__Attr *
text_positions(struct tiling *t, const struct gr_step *step, size_t *ret_count)
{
    size_t keys = gr_step_attr(step, "keys")->n_strings;
    int64_t *positions = tiling_scratch(t, keys, sizeof *positions);

    *ret_count = 0;
    for (size_t k = 0; positions != NULL && k < keys; k++) {
        if (gr_dtype_class(step->type->schema.fields[k].dtype) >= GR_CLASS_TEXT) {
            positions[(*ret_count)++] = (int64_t)k;
        }
    }
    return positions == NULL ? NULL : gr_attr_new_ints("texts", positions, *ret_count);
}

granary_err
group_rows_in_parts(struct tiling *t, size_t i, const struct gr_tiled *in, gr_attrs deal_attrs, size_t parts)
{
    struct gr_tiled *out = &t->tiled[i];
    uint64_t total = bytes_sum(in->bytes, in->count);
    gr_attrs attrs = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna"));
    size_t texts;
    Granary__Attr *positions = text_positions(t, &t->steps->steps[i], &texts);
    struct group_maps maps = {.count = in->count, .attrs = deal_attrs, .parts = parts};
    size_t first = 0;
    struct gr_piece *pieces;
    granary_err err;

    gr_attrs_add(t->chunks, attrs, positions == NULL ? NULL : gr_attr_copy(positions));
    gr_attrs_add(t->chunks, deal_attrs, positions);
    gr_attrs_add(t->chunks, deal_attrs, gr_attr_new_int("parts", (int64_t)parts));
    group_refer(t, i, in, &maps, attrs);
    first = maps.reference != 0;
    pieces = tiling_scratch(t, first + in->count * (1 + texts), sizeof *pieces);
    err = pieces == NULL ? tile_no_memory() : tiled_init(t, out, parts, true);
    for (size_t p = 0; p < in->count && err == GRANARY_OK; p++) {
        struct gr_piece inputs[] = {first > 0 ? group_reference(t, i, in, &maps) : in->pieces[p], in->pieces[p]};
        struct gr_piece dealt = tiling_add(t, i, GR_CHUNK_groupby_deal, deal_attrs, inputs, 1 + first,
                                           in->bytes[p] + in->bytes[p] / 4 + 65536);

        for (size_t k = 0; k <= texts; k++) {
            pieces[first + p * (1 + texts) + k] = dealt;
            pieces[first + p * (1 + texts) + k].output = (uint32_t)(parts + k - 1);
        }
    }
    for (size_t j = 0; j < parts && err == GRANARY_OK; j++) {
        if (first > 0) {
            pieces[0] = group_reference(t, i, in, &maps);
        }
        for (size_t p = 0; p < in->count; p++) {
            pieces[first + p * (1 + texts)].output = (uint32_t)j;
        }
        out->bytes[j] = total / parts + 1;
        out->pieces[j] =
            tiling_add(t, i, GR_CHUNK_groupby_part, attrs, pieces, first + in->count * (1 + texts), out->bytes[j]);
    }
    return err;
}
