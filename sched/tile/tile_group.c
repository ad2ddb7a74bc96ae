/*
 * groupby. Each chunk gives a table of its groups. Few groups: tables are merged in a tree, and one chunk is the
 * result. Many, in no order of theirs: every table is cut into parts by the hashes of the keys, and part j of all of
 * them becomes chunk j of the result; so no merge holds all groups.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tile/rules.h"

#define NAMES(...)                                                                                                     \
    ((const char *const[]){__VA_ARGS__}), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)

enum {
    GROUP_BYTES = 64, /* of a group in a table, about */
    PARTS_MOST = 64,
    EDGES_MOST = 65536, /* chunks times parts */
};

#define ASK_BYTES  ((uint64_t)16 << 20) /* of input: with less, groups cannot be too many for one merge */
#define PART_BYTES ((uint64_t)16 << 20) /* of tables */

static granary_err
out_of_memory(void)
{
    return gr_fail(GRANARY_ENOMEM, "out of memory");
}

/* At most so many groups, as far as stored tables tell; UINT64_MAX: they do not. */
static uint64_t
groups_bound(const struct tiling *t, size_t i)
{
    const Granary__Attr *keys = gr_step_attr(&t->steps->steps[i], "keys");
    uint64_t groups = 1;

    for (size_t k = 0; k < keys->n_strings; k++) {
        uint64_t distinct = tiling_distinct(t, i, 0, keys->strings[k]);

        if (distinct == 0 || groups > (UINT64_MAX - 1) / (distinct + 1)) {
            return UINT64_MAX;
        }
        groups *= distinct + 1; /* null is a key, too */
    }
    return groups;
}

/* Of the tables and the result, with so many groups. */
static uint64_t
groups_bytes(const struct tiling *t, size_t i, uint64_t groups)
{
    uint64_t width = GROUP_BYTES + 16 * gr_step_width(&t->steps->steps[i]);

    return groups > UINT64_MAX / width ? UINT64_MAX : groups * width;
}

/* How many groups there may be; UINT64_MAX: nobody knows. false: the input must be measured first. */
static bool
groups_guess(struct tiling *t, size_t i, uint64_t *ret_groups)
{
    const Granary__Attr *keys = gr_step_attr(&t->steps->steps[i], "keys");
    const struct gr_measured *measured = tiling_measured(t, i, 0);
    uint64_t groups = 1;

    if (measured == NULL) {
        return false;
    }
    for (size_t k = 0; k < keys->n_strings; k++) {
        const struct gr_measured_column *column = gr_measured_all(measured, keys->strings[k]);
        uint64_t distinct = column != NULL ? column->distinct : 0;

        if (distinct == 0) {
            *ret_groups = UINT64_MAX;
            return true;
        }
        groups = groups > UINT64_MAX / (distinct + 1) ? UINT64_MAX - 1 : groups * (distinct + 1);
    }
    if (measured->all_rows >= 0 && groups > (uint64_t)measured->all_rows) {
        groups = (uint64_t)measured->all_rows;
    }
    *ret_groups = groups;
    return true;
}

/* Into how many parts tables are cut; 0: TILE_WAIT. */
static size_t
parts_wanted(struct tiling *t, size_t i, const struct gr_tiled *in)
{
    const Granary__Attr *sort = gr_step_attr(&t->steps->steps[i], "sort");
    bool by_hash = sort != NULL && sort->n_ints > 0 && sort->ints[0] == 0;
    uint64_t groups;
    uint64_t parts;

    if (!by_hash || in->count < 2 || bytes_sum(in->bytes, in->count) < ASK_BYTES ||
        groups_bound(t, i) < PART_BYTES / GROUP_BYTES) {
        return 1;
    }
    if (!groups_guess(t, i, &groups)) {
        return 0;
    }
    if (groups == UINT64_MAX) {
        return 1;
    }
    parts = groups / (PART_BYTES / GROUP_BYTES) + 1;
    parts = parts > PARTS_MOST ? PARTS_MOST : parts;
    return (size_t)(parts * in->count > EDGES_MOST ? EDGES_MOST / in->count + 1 : parts);
}

static granary_err
group_in_parts(struct tiling *t, size_t i, const struct gr_tiled *in, gr_attrs map_attrs, gr_attrs attrs, size_t parts)
{
    struct gr_tiled *out = &t->tiled[i];
    uint64_t total = bytes_sum(in->bytes, in->count);
    struct gr_piece *pieces = malloc((in->count + 1) * sizeof *pieces);
    granary_err err = pieces == NULL ? out_of_memory() : tiled_init(out, parts, true);

    gr_attrs_add(t->chunks, map_attrs, gr_attr_new_int("parts", (int64_t)parts));
    for (size_t p = 0; p < in->count && err == GRANARY_OK; p++) {
        struct gr_chunk_spec spec = {.op = GR_CHUNK_groupby_map,
                                     .step = (uint32_t)i,
                                     .shared = map_attrs,
                                     .inputs = &in->pieces[p],
                                     .input_count = 1,
                                     .outputs = (uint32_t)parts,
                                     .bytes = in->bytes[p]};

        pieces[p] = gr_chunks_add(t->chunks, &spec);
    }
    for (size_t j = 0; j < parts && err == GRANARY_OK; j++) {
        for (size_t p = 0; p < in->count; p++) {
            pieces[p].output = (uint32_t)j;
        }
        out->bytes[j] = total / parts + 1;
        out->pieces[j] = tiling_add(t, i, GR_CHUNK_groupby_final, attrs, pieces, in->count, out->bytes[j]);
    }
    free(pieces);
    return err;
}

static granary_err
group_in_tree(struct tiling *t, size_t i, const struct gr_tiled *in, gr_attrs map_attrs, gr_attrs attrs)
{
    gr_attrs merge_attrs = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna"));
    struct gr_tiled *out = &t->tiled[i];
    uint64_t most = groups_bytes(t, i, groups_bound(t, i));
    struct gr_tiled tables;
    size_t count;
    granary_err err = tiled_init(&tables, in->count, true);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t p = 0; p < in->count; p++) {
        /* few groups are the rule, but each may be one */
        uint64_t guess = in->bytes[p] / 4 + 65536;

        guess = guess < in->bytes[p] ? guess : in->bytes[p];
        tables.bytes[p] = guess < most ? guess : most;
        tables.pieces[p] = tiling_add(t, i, GR_CHUNK_groupby_map, map_attrs, &in->pieces[p], 1, tables.bytes[p]);
    }
    count = tiling_tree(t, i, GR_CHUNK_groupby_merge, merge_attrs, tables.pieces, tables.bytes, in->count, TILE_FAN_IN,
                        TILE_SUM);
    err = tiled_init(out, 1, true);
    if (err == GRANARY_OK) {
        out->bytes[0] = bytes_sum(tables.bytes, count);
        out->bytes[0] = out->bytes[0] < most ? out->bytes[0] : most;
        out->pieces[0] = tiling_add(t, i, GR_CHUNK_groupby_final, attrs, tables.pieces, count, out->bytes[0]);
    }
    tiled_fini(&tables);
    return err;
}

granary_err
tile_groupby(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    size_t parts = in == NULL ? 1 : parts_wanted(t, i, in);
    gr_attrs map_attrs;
    gr_attrs attrs;

    if (in == NULL) {
        return out_of_memory();
    }
    if (parts == 0) {
        return TILE_WAIT;
    }
    map_attrs = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna", "where", "columns"));
    attrs = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna", "sort"));
    return parts > 1 ? group_in_parts(t, i, in, map_attrs, attrs, parts) : group_in_tree(t, i, in, map_attrs, attrs);
}
