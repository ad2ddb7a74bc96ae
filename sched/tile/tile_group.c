/*
 * groupby, and what is made of it. Each chunk gives a table of its groups. Few groups: tables are merged in a tree, and
 * one chunk is the result. Many, in no order of theirs: every table is cut into parts by the hashes of the keys, and
 * part j of all of them becomes chunk j of the result; so no merge holds all groups.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "graph/expr.h"
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

/* What the three operators of a groupby are told. */
struct group_attrs {
    gr_attrs map;
    gr_attrs merge;
    gr_attrs final;
};

/* One chunk of all groups; most: bytes it has at most. */
static granary_err
group_in_tree(struct tiling *t, size_t i, const struct gr_tiled *in, const struct group_attrs *attrs, uint64_t most,
              struct gr_piece *ret_piece, uint64_t *ret_bytes)
{
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
        tables.pieces[p] = tiling_add(t, i, GR_CHUNK_groupby_map, attrs->map, &in->pieces[p], 1, tables.bytes[p]);
    }
    count = tiling_tree(t, i, GR_CHUNK_groupby_merge, attrs->merge, tables.pieces, tables.bytes, in->count, TILE_FAN_IN,
                        TILE_SUM);
    *ret_bytes = bytes_sum(tables.bytes, count);
    *ret_bytes = *ret_bytes < most ? *ret_bytes : most;
    *ret_piece = tiling_add(t, i, GR_CHUNK_groupby_final, attrs->final, tables.pieces, count, *ret_bytes);
    tiled_fini(&tables);
    return GRANARY_OK;
}

/* A result of one chunk. */
static granary_err
yield_one(struct tiling *t, size_t i, struct gr_piece piece, uint64_t bytes)
{
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tiled_init(out, 1, true);

    if (err == GRANARY_OK) {
        out->pieces[0] = piece;
        out->bytes[0] = bytes;
    }
    return err;
}

granary_err
tile_groupby(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    size_t parts = in == NULL ? 1 : parts_wanted(t, i, in);
    struct group_attrs attrs;
    struct gr_piece piece;
    uint64_t bytes;
    granary_err err;

    if (in == NULL) {
        return out_of_memory();
    }
    if (parts == 0) {
        return TILE_WAIT;
    }
    attrs.map = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna", "where", "columns"));
    attrs.merge = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna"));
    attrs.final = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna", "sort"));
    if (parts > 1) {
        return group_in_parts(t, i, in, attrs.map, attrs.final, parts);
    }
    err = group_in_tree(t, i, in, &attrs, groups_bytes(t, i, groups_bound(t, i)), &piece, &bytes);
    return err == GRANARY_OK ? yield_one(t, i, piece, bytes) : err;
}

/* ---- value_counts, describe: a groupby, and its result in another form ---- */

/* Keys and aggregates, the same for all three operators. *Takes* the attributes; NULL is out of memory. */
static gr_attrs
new_attrs(struct tiling *t, size_t i, Granary__Attr *keys, Granary__Attr *aggregate)
{
    gr_attrs attrs = tiling_attrs(t, i, NAMES("dropna"));

    gr_attrs_add(t->chunks, attrs, keys);
    gr_attrs_add(t->chunks, attrs, aggregate);
    return attrs;
}

static granary_err
tile_made(struct tiling *t, size_t i, gr_attrs shared, enum gr_chunk_op op, gr_attrs own)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    struct group_attrs attrs = {shared, shared, shared};
    struct gr_piece piece;
    uint64_t bytes;
    granary_err err = in == NULL ? out_of_memory() : group_in_tree(t, i, in, &attrs, UINT64_MAX, &piece, &bytes);

    return err == GRANARY_OK ? yield_one(t, i, tiling_add(t, i, op, own, &piece, 1, bytes), bytes) : err;
}

granary_err
tile_value_counts(struct tiling *t, size_t i)
{
    const struct gr_schema *schema = &t->steps->steps[i].type->schema;
    char *name[] = {schema->fields[schema->count - 1].name};
    char *size[] = {(char *)(uintptr_t) "size"}; /* copied, not written */
    char **names = calloc(schema->count, sizeof *names);
    gr_attrs shared;

    if (names == NULL) {
        return out_of_memory();
    }
    for (size_t c = 0; c + 1 < schema->count; c++) {
        names[c] = schema->fields[c].name;
    }
    shared = new_attrs(t, i, gr_attr_new_strings("keys", names, schema->count - 1),
                       gr_attr_new_map("aggregate", name, size, 1));
    free(names);
    return tile_made(t, i, shared, GR_CHUNK_value_counts, tiling_attrs(t, i, NAMES("normalize", "sort", "ascending")));
}

granary_err
tile_describe(struct tiling *t, size_t i)
{
    static const char *const functions[] = {
        "count(%s)",  "mean(%s)",           "std(%s)", "min(%s)", "quantile(%s, 0.25)",
        "median(%s)", "quantile(%s, 0.75)", "max(%s)"};
    enum { FUNCTIONS = sizeof functions / sizeof functions[0] };
    const struct gr_schema *schema = &t->steps->steps[i].type->schema;
    size_t count = schema->count - 1; /* the first one names the statistics */
    char **texts = calloc(2 * FUNCTIONS * count + 1, sizeof *texts);
    char **names = calloc(count + 1, sizeof *names);
    bool failed = texts == NULL || names == NULL;
    gr_attrs shared = 0;
    gr_attrs own = gr_chunks_attrs(t->chunks);
    granary_err err;

    for (size_t c = 0; c < count && !failed; c++) {
        struct gr_buf quoted = {0};

        names[c] = schema->fields[c + 1].name;
        gr_expr_print_name(names[c], &quoted);
        failed = !gr_buf_ok(&quoted);
        for (size_t f = 0; f < FUNCTIONS && !failed; f++) {
            size_t at = c * FUNCTIONS + f;

            failed = asprintf(&texts[at], "%zu", at) < 0 ||
                     asprintf(&texts[FUNCTIONS * count + at], functions[f], quoted.bytes) < 0;
        }
        gr_buf_free(&quoted);
    }
    if (!failed) {
        shared = new_attrs(t, i, gr_attr_new_strings("keys", NULL, 0),
                           gr_attr_new_map("aggregate", texts, texts + FUNCTIONS * count, FUNCTIONS * count));
        gr_attrs_add(t->chunks, own, gr_attr_new_strings("columns", names, count));
    }
    for (size_t a = 0; texts != NULL && a < 2 * FUNCTIONS * count; a++) {
        free(texts[a]);
    }
    free(texts);
    free(names);
    err = failed ? out_of_memory() : tile_made(t, i, shared, GR_CHUNK_describe, own);
    return err;
}

/* ---- distinct, duplicated ---- */

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
    granary_err err = in == NULL ? out_of_memory() : tiled_init(&parts, in->count, true);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t p = 0; p < in->count; p++) {
        parts.bytes[p] = in->bytes[p];
        parts.pieces[p] = tiling_add(t, i, GR_CHUNK_distinct, attrs, &in->pieces[p], 1, in->bytes[p]);
    }
    count = tiling_tree(t, i, GR_CHUNK_distinct, attrs, parts.pieces, parts.bytes, in->count, TILE_FAN_IN, TILE_SUM);
    bytes = bytes_sum(parts.bytes, count);
    piece = count == 1 && !none
                ? parts.pieces[0]
                : tiling_add(t, i, GR_CHUNK_distinct, keep_attrs(t, i, NULL), parts.pieces, count, bytes);
    tiled_fini(&parts);
    return yield_one(t, i, piece, bytes);
}

granary_err
tile_duplicated(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    uint64_t bytes;

    if (in == NULL) {
        return out_of_memory();
    }
    bytes = bytes_sum(in->bytes, in->count);
    return yield_one(t, i, tiling_add(t, i, GR_CHUNK_duplicated, keep_attrs(t, i, NULL), in->pieces, in->count, bytes),
                     bytes / 8 + 1024);
}
