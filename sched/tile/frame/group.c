/*
 * groupby, and what is made of it. Each chunk gives a table of its groups, or several do (group_maps.c). Few
 * groups: tables are merged in a tree, and one chunk is the result. Many, in no order of theirs: every table is cut
 * into parts by the hashes of the keys. Part j of all of them becomes chunk j of the result, so no merge holds all
 * groups. About as many groups as rows, in no order of theirs: tables would be no smaller than the rows, so rows are
 * dealt to the parts as they are. Of clustered rows each range of keys is a chunk of the result, if order is free
 * (group_ranges.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/buf.h"
#include "graph/expr.h"
#include "graph/operators/aggregate.h"
#include "tile/frame/group.h"
#include "tile/frame/sorted.h"

enum {
    GROUP_BYTES = 64, /* of a group in a table, about */
    PARTS_MOST = 64,
    MEMORY_PARTS = 8,    /* what is merged at a time is at most this part of the store's memory */
    TABLE_GROWTH = 2,    /* a table is at most so many times the rows it is made of, about */
    EDGES_MOST = 65536,  /* chunks times parts */
    ROWS_A_GROUP = 2,    /* with more on average, a chunk's table is less than its rows */
    PARTS_GROUPS = 8192, /* with fewer, merging is less than the messages that parts cost */
    PARTS_FEW = 4,       /* of groups that one merge could hold: for executors to share */
};

#define ASK_BYTES  ((uint64_t)16 << 20) /* of input: with less, groups cannot be too many for one merge */
#define PART_BYTES ((uint64_t)16 << 20) /* of tables */

/* At most so many groups, as far as stored tables tell; UINT64_MAX: they do not. */
static uint64_t
groups_bound(const struct tiling *t, size_t i)
{
    const Granary__Attr *keys = gr_step_attr(&t->steps->steps[i], "keys");
    uint64_t groups = 1;

    if (keys == NULL) { /* value_counts, describe */
        return UINT64_MAX;
    }
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
        const char *source = tiling_source_column(t, i, keys->strings[k]);
        const struct gr_measured_column *column = source == NULL ? NULL : gr_measured_all(measured, source);
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

uint64_t
group_estimate(struct tiling *t, size_t i, const struct gr_tiled *in)
{
    uint64_t bound = groups_bound(t, i);
    uint64_t guess;

    return gr_step_attr(&t->steps->steps[i], "keys") != NULL && group_is_stored(t, in) && groups_guess(t, i, &guess) &&
                   guess < bound
               ? guess
               : bound;
}

/* In no order of the keys'. The one group of all rows has no keys to tell parts by. */
static bool
by_hash(const struct tiling *t, size_t i)
{
    const Granary__Attr *sort = gr_step_attr(&t->steps->steps[i], "sort");

    return sort != NULL && sort->n_ints > 0 && sort->ints[0] == 0 &&
           gr_step_attr(&t->steps->steps[i], "keys")->n_strings > 0;
}

/* Into how many parts tables are cut, or, *ret_rows, the rows; 0: TILE_WAIT. */
static size_t
parts_wanted(struct tiling *t, size_t i, const struct gr_tiled *in, bool *ret_rows)
{
    uint64_t groups;
    uint64_t parts;

    *ret_rows = false;
    if (!by_hash(t, i) || in->count < 2 || bytes_sum(in->bytes, in->count) < ASK_BYTES) {
        return 1;
    }
    groups = groups_bound(t, i);
    if (groups >= PART_BYTES / GROUP_BYTES && !groups_guess(t, i, &groups)) {
        return 0;
    }
    if (groups < PART_BYTES / GROUP_BYTES) {
        return groups < PARTS_GROUPS ? 1 : PARTS_FEW;
    }
    if (groups == UINT64_MAX) {
        return 1;
    }
    *ret_rows = groups >= (uint64_t)tiling_measured(t, i, 0)->all_rows / ROWS_A_GROUP;
    parts = groups / (PART_BYTES / GROUP_BYTES) + 1;
    parts = parts > PARTS_MOST ? PARTS_MOST : parts;
    return (size_t)(parts * in->count > EDGES_MOST ? EDGES_MOST / in->count + 1 : parts);
}

static granary_err
group_in_parts(struct tiling *t, size_t i, const struct gr_tiled *in, gr_attrs map_attrs, gr_attrs attrs, size_t parts,
               struct gr_tiled *out)
{
    struct group_maps maps = {.count = group_maps(t, in, group_estimate(t, i, in)), .attrs = map_attrs, .parts = parts};
    uint64_t total = bytes_sum(in->bytes, in->count);
    struct gr_piece *pieces = tiling_scratch(t, maps.count + 1, sizeof *pieces);
    uint64_t read;
    granary_err err = pieces == NULL ? tile_no_memory() : tiled_init(t, out, parts, true);

    gr_attrs_add(t->chunks, map_attrs, gr_attr_new_int("parts", (int64_t)parts));
    if (maps.count < in->count) {
        group_refer(t, i, in, &maps, attrs);
    }
    for (size_t m = 0; m < maps.count && err == GRANARY_OK; m++) {
        err = group_map_add(t, i, in, &maps, m, &pieces[1 + m], &read);
    }
    for (size_t j = 0; j < parts && err == GRANARY_OK; j++) {
        size_t first = 1;

        if (maps.reference != 0) {
            pieces[--first] = group_reference(t, i, in, &maps);
        }
        pieces_choose(pieces + 1, maps.count, j);
        out->bytes[j] = total / parts + 1;
        out->pieces[j] =
            tiling_add(t, i, GR_CHUNK_groupby_final, attrs, pieces + first, maps.count + 1 - first, out->bytes[j]);
    }
    return err;
}

/* ---- more groups than memory holds at a time ---- */

/* What the input was measured to be counts more than what it was taken for, which is rather too much. */
static void
bound_by_measure(struct tiling *t, size_t i, uint64_t *total, uint64_t *groups)
{
    const struct step_input *note = tiling_note(t, i, 0);
    const struct gr_measured *measured = note == NULL ? NULL : note->measured;

    if (measured != NULL && measured->all_rows >= 0) {
        *total = measured->all_bytes < *total ? measured->all_bytes : *total;
        *groups = (uint64_t)measured->all_rows < *groups ? (uint64_t)measured->all_rows : *groups;
    }
}

/* Into how many parts tables are cut so that each is a small part of the store's memory; 1: they need not be. */
static size_t
parts_for_memory(struct tiling *t, size_t i, const struct gr_tiled *in, uint64_t groups)
{
    uint64_t memory = t->options->memory_bytes;
    uint64_t total = bytes_sum(in->bytes, in->count);
    uint64_t bytes;
    uint64_t parts;

    bound_by_measure(t, i, &total, &groups);
    bytes = groups_bytes(t, i, groups);
    bytes = bytes < TABLE_GROWTH * total ? bytes : TABLE_GROWTH * total;
    if (memory == 0 || in->count < 2 || bytes <= memory / MEMORY_PARTS) {
        return 1;
    }
    parts = bytes / (memory / MEMORY_PARTS) + 1;
    return (size_t)(parts > PARTS_MOST ? PARTS_MOST : parts);
}

bool
group_keeps_values(const struct tiling *t, size_t i)
{
    struct gr_aggregate *aggregates = NULL;
    size_t count = 0;
    bool keeps = gr_aggregates_parse(gr_step_attr(&t->steps->steps[i], "aggregate"), &aggregates, &count) != GRANARY_OK;

    for (size_t a = 0; a < count && !keeps; a++) {
        keeps = gr_aggregate_keeps_values(aggregates[a].function);
    }
    gr_aggregates_free(aggregates, count);
    return keeps;
}

/* Groups by parts of the keys' hashes, then sorted. */
static granary_err
group_and_sort(struct tiling *t, size_t i, const struct gr_tiled *in, gr_attrs map, gr_attrs final, size_t parts,
               const struct tile_order *order)
{
    struct gr_tiled groups;
    granary_err err;

    gr_attrs_add(t->chunks, final, gr_attr_new_bool("sort", false));
    err = group_in_parts(t, i, in, map, final, parts, &groups);
    if (err == GRANARY_OK) {
        err = tile_sorted(t, i, &groups, order, bytes_sum(groups.bytes, groups.count));
    }
    return err;
}

/* What the three operators of a groupby are told. */
struct group_attrs {
    gr_attrs map;
    gr_attrs merge;
    gr_attrs final;
    bool keeps; /* tables hold values of rows: merged ones are as large as all they are made of */
};

/* How many tables one operator merges. One of all values may be more than the store's memory: none is made. */
static size_t
fan_in(const struct tiling *t, const struct gr_tiled *in, const struct group_attrs *attrs)
{
    uint64_t memory = t->options->memory_bytes;

    return attrs->keeps && memory > 0 && bytes_sum(in->bytes, in->count) > memory / MEMORY_PARTS ? SIZE_MAX
                                                                                                 : TILE_FAN_IN;
}

/* One chunk of all groups, of which there are at most so many, which have that many bytes at most. */
static granary_err
group_in_tree(struct tiling *t, size_t i, const struct gr_tiled *in, const struct group_attrs *attrs, uint64_t groups,
              struct gr_piece *ret_piece, uint64_t *ret_bytes)
{
    struct group_maps maps = {.count = group_maps(t, in, group_estimate(t, i, in)), .attrs = attrs->map, .parts = 1};
    uint64_t most = groups_bytes(t, i, groups);
    struct gr_tiled tables;
    size_t count;
    granary_err err = tiled_init(t, &tables, maps.count, true);

    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t m = 0; m < maps.count && err == GRANARY_OK; m++) {
        uint64_t read = 0;
        uint64_t guess;

        err = group_map_add(t, i, in, &maps, m, &tables.pieces[m], &read);
        guess = read / 4 + 65536; /* few groups are the rule, but each may be one */
        guess = guess < read ? guess : read;
        tables.bytes[m] = guess < most ? guess : most;
    }
    count = tiling_tree(t, i, GR_CHUNK_groupby_merge, attrs->merge, tables.pieces, tables.bytes, maps.count,
                        fan_in(t, in, attrs), TILE_SUM);
    *ret_bytes = bytes_sum(tables.bytes, count);
    *ret_bytes = *ret_bytes < most ? *ret_bytes : most;
    *ret_piece = tiling_add(t, i, GR_CHUNK_groupby_final, attrs->final, tables.pieces, count, *ret_bytes);
    return err;
}

static granary_err
groupby_sorted(struct tiling *t, size_t i, const struct gr_tiled *in, gr_attrs map, gr_attrs final, size_t parts)
{
    const Granary__Attr *keys = gr_step_attr(&t->steps->steps[i], "keys");
    bool *ascending = tiling_scratch(t, keys->n_strings, sizeof *ascending);
    struct tile_order order = {.by = keys->strings, .keys = keys->n_strings, .descending = ascending};

    return ascending == NULL ? tile_no_memory() : group_and_sort(t, i, in, map, final, parts, &order);
}

granary_err
tile_groupby(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    bool rows = false;
    size_t parts = parts_wanted(t, i, in, &rows);
    struct group_attrs attrs;
    struct gr_piece piece;
    bool done = false;
    uint64_t bytes;
    granary_err err;

    if (parts == 0) {
        return TILE_WAIT;
    }
    if (parts > 1 && group_is_stored(t, in) && group_order_is_free(t, i)) {
        err = group_in_ranges(t, i, in, &done);
        if (done || err != GRANARY_OK) {
            return err;
        }
    }
    attrs.map = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna", "where", "columns"));
    attrs.merge = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna"));
    attrs.keeps = group_keeps_values(t, i);
    if (!by_hash(t, i) && gr_step_attr(&t->steps->steps[i], "keys")->n_strings > 0 &&
        (parts = parts_for_memory(t, i, in, attrs.keeps ? UINT64_MAX : groups_bound(t, i))) > 1) {
        return groupby_sorted(t, i, in, attrs.map, attrs.merge, parts);
    }
    attrs.final = tiling_attrs(t, i, NAMES("keys", "aggregate", "dropna", "sort"));
    if (by_hash(t, i)) {
        size_t small = parts_for_memory(t, i, in, attrs.keeps ? UINT64_MAX : groups_bound(t, i));

        parts = small > parts ? small : parts;
    }
    if (parts > 1 && rows) {
        return group_rows_in_parts(t, i, in, attrs.map, parts);
    }
    if (parts > 1) {
        return group_in_parts(t, i, in, attrs.map, attrs.final, parts, &t->tiled[i]);
    }
    err = group_in_tree(t, i, in, &attrs, groups_bound(t, i), &piece, &bytes);
    return err == GRANARY_OK ? tiling_yield_one(t, i, piece, bytes) : err;
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
tile_made(struct tiling *t, size_t i, gr_attrs shared, bool keeps, enum gr_chunk_op op, gr_attrs own)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    struct group_attrs attrs = {shared, shared, shared, keeps};
    struct gr_piece piece;
    uint64_t bytes;
    granary_err err = group_in_tree(t, i, in, &attrs, UINT64_MAX, &piece, &bytes);

    return err == GRANARY_OK ? tiling_yield_one(t, i, tiling_add(t, i, op, own, &piece, 1, bytes), bytes) : err;
}

static bool
flag(const struct tiling *t, size_t i, const char *name, bool otherwise)
{
    const Granary__Attr *attr = gr_step_attr(&t->steps->steps[i], name);

    return attr == NULL || attr->n_ints == 0 ? otherwise : attr->ints[0] != 0;
}

/* By count, equally frequent ones by their values; or by value alone. names: the columns, and behind them the count. */
static granary_err
counts_sorted(struct tiling *t, size_t i, const struct gr_tiled *in, gr_attrs map, gr_attrs final, size_t parts,
              char **names, size_t count)
{
    bool by_count = flag(t, i, "sort", true);
    char **by = tiling_scratch(t, count, sizeof *by);
    bool *descending = tiling_scratch(t, count, sizeof *descending);
    struct tile_order order = {.by = by, .keys = by_count ? count : count - 1, .descending = descending};

    if (by == NULL || descending == NULL) {
        return tile_no_memory();
    }
    memcpy(by + by_count, names, (count - 1) * sizeof *by);
    if (by_count) {
        by[0] = names[count - 1];
        descending[0] = !flag(t, i, "ascending", false);
    }
    return group_and_sort(t, i, in, map, final, parts, &order);
}

/* The pieces' counts as shares of all of them. */
static granary_err
shares_of_all(struct tiling *t, size_t i, char *name)
{
    struct gr_tiled *pieces = &t->tiled[i];
    struct gr_tiled sums;
    gr_attrs sum = gr_chunks_attrs(t->chunks);
    gr_attrs share = gr_chunks_attrs(t->chunks);
    char *text = NULL;
    struct gr_piece total;
    size_t count;
    granary_err err =
        asprintf(&text, "sum(%s)", name) < 0 ? tile_no_memory() : tiled_init(t, &sums, pieces->count, true);

    if (err != GRANARY_OK) {
        free(text);
        return err;
    }
    gr_attrs_add(t->chunks, sum, gr_attr_new_strings("keys", NULL, 0));
    gr_attrs_add(t->chunks, sum, gr_attr_new_map("aggregate", &name, &text, 1));
    gr_attrs_add(t->chunks, share, gr_attr_new_bool("normalize", true));
    gr_attrs_add(t->chunks, share, gr_attr_new_bool("sort", false));
    for (size_t p = 0; p < pieces->count; p++) {
        sums.bytes[p] = GROUP_BYTES;
        sums.pieces[p] = tiling_add(t, i, GR_CHUNK_groupby_map, sum, &pieces->pieces[p], 1, GROUP_BYTES);
    }
    count =
        tiling_tree(t, i, GR_CHUNK_groupby_merge, sum, sums.pieces, sums.bytes, pieces->count, TILE_FAN_IN, TILE_MAX);
    total = tiling_add(t, i, GR_CHUNK_groupby_final, sum, sums.pieces, count, GROUP_BYTES);
    for (size_t p = 0; p < pieces->count; p++) {
        const struct gr_piece inputs[] = {pieces->pieces[p], total};

        pieces->pieces[p] = tiling_add(t, i, GR_CHUNK_value_counts, share, inputs, 2, pieces->bytes[p]);
    }
    free(text);
    return GRANARY_OK;
}

granary_err
tile_value_counts(struct tiling *t, size_t i)
{
    const struct gr_schema *schema = &t->steps->steps[i].type->schema;
    const struct gr_tiled *in = tiling_input(t, i, 0);
    char *size[] = {(char *)(uintptr_t) "size"}; /* copied, not written */
    char **names = tiling_scratch(t, schema->count, sizeof *names);
    gr_attrs attrs[2];
    size_t parts;
    granary_err err;

    if (names == NULL) {
        return tile_no_memory();
    }
    for (size_t c = 0; c < schema->count; c++) {
        names[c] = schema->fields[c].name;
    }
    for (size_t a = 0; a < 2; a++) {
        attrs[a] = new_attrs(t, i, gr_attr_new_strings("keys", names, schema->count - 1),
                             gr_attr_new_map("aggregate", names + schema->count - 1, size, 1));
    }
    parts = parts_for_memory(t, i, in, UINT64_MAX);
    if (parts == 1) {
        return tile_made(t, i, attrs[0], false, GR_CHUNK_value_counts,
                         tiling_attrs(t, i, NAMES("normalize", "sort", "ascending")));
    }
    err = counts_sorted(t, i, in, attrs[0], attrs[1], parts, names, schema->count);
    return err == GRANARY_OK && flag(t, i, "normalize", false) ? shares_of_all(t, i, names[schema->count - 1]) : err;
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
    char **texts = tiling_scratch(t, 2 * FUNCTIONS * count, sizeof *texts);
    char **names = tiling_scratch(t, count, sizeof *names);
    bool failed = texts == NULL || names == NULL;
    gr_attrs shared = 0;
    gr_attrs own = gr_chunks_attrs(t->chunks);

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
    return failed ? tile_no_memory() : tile_made(t, i, shared, true, GR_CHUNK_describe, own);
}
