/*
 * join: an index of one side's keys is built once (join_build), and all executors map it. The chunks of the other
 * side are probed (join_probe), each by itself, so the result has their order. A side that is too large for that is
 * shuffled: join_shuffle.c.
 *
 *   inner, left, semi, anti, cross   the left side probes; when any order will do, the larger one
 *   right                            the right side probes
 *   outer                            the left side probes as in `left`; then the right side's rows without a match
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/expr.h"
#include "tile/frame/join.h"

/* Pieces of a built side: an operator reads no more than so many, and less than so many bytes are made one. */
#define PIECES_MAX  64
#define PIECE_BYTES (UINT64_C(8) << 20)
/* A built side is in memory as a whole, while it is probed: it may be this part of the store. */
#define BUILT_MEMORY_PARTS 4
/* A build of more bytes than that is cut into parts, which are made at the same time: everything waits for them. */
#define PART_BYTES (UINT64_C(8) << 20)
#define PARTS_MAX  4

/* ---- what is built ---- */

static granary_err
settle_types(struct joining *j)
{
    for (size_t k = 0; k < j->join.key_count; k++) {
        int left = gr_schema_find(j->sides[LEFT].schema, j->join.left_on[k]);
        int right = gr_schema_find(j->sides[RIGHT].schema, j->join.right_on[k]);
        granary_dtype dtype;
        granary_err err = gr_join_key_dtype(j->sides[LEFT].schema->fields[left].dtype,
                                            j->sides[RIGHT].schema->fields[right].dtype, &dtype);

        if (err != GRANARY_OK) {
            return err;
        }
        j->types[k] = (char *)(uintptr_t)granary_dtype_name(dtype);
    }
    return GRANARY_OK;
}

/* Few pieces, and no small ones where one would do. */
static granary_err
settle_pieces(struct joining *j, struct side *side)
{
    const struct gr_tiled *in = side->tiled;
    uint64_t total = bytes_sum(in->bytes, in->count);
    size_t group = total <= PIECE_BYTES ? in->count : (in->count + PIECES_MAX - 1) / PIECES_MAX;
    gr_attrs attrs = gr_chunks_attrs(j->t->chunks);

    side->pieces = tiling_scratch(j->t, in->count, sizeof *side->pieces);
    if (side->pieces == NULL) {
        return tile_no_memory();
    }
    for (size_t from = 0; from < in->count; from += group) {
        size_t many = in->count - from < group ? in->count - from : group;

        side->pieces[side->piece_count++] = many == 1
                                                ? in->pieces[from]
                                                : tiling_add(j->t, j->i, GR_CHUNK_concat, attrs, in->pieces + from,
                                                             many, bytes_sum(in->bytes + from, many));
    }
    return GRANARY_OK;
}

static granary_err
add_build(struct joining *j, int which, bool unique)
{
    struct side *side = &j->sides[which];
    uint64_t bytes = bytes_sum(side->tiled->bytes, side->tiled->count);
    struct gr_chunks *chunks = j->t->chunks;
    gr_attrs shared = gr_chunks_attrs(chunks);
    granary_err err = side->pieces == NULL ? settle_pieces(j, side) : GRANARY_OK;

    if (err != GRANARY_OK) {
        return err;
    }
    side->part_count = 1;
    while (side->part_count < PARTS_MAX && bytes / side->part_count > PART_BYTES) {
        side->part_count *= 2;
    }
    gr_attrs_add(chunks, shared, gr_attr_new_strings("keys", side->keys, j->join.key_count));
    gr_attrs_add(chunks, shared, gr_attr_new_strings("types", j->types, j->join.key_count));
    gr_attrs_add(chunks, shared, gr_attr_new_int("parts", (int64_t)side->part_count));
    if (unique) {
        gr_attrs_add(chunks, shared, gr_attr_new_bool("unique", true));
        gr_attrs_add(chunks, shared, gr_attr_new_string("side", which == LEFT ? "left" : "right"));
    }
    for (size_t part = 0; part < side->part_count; part++) {
        const gr_attrs attrs[2] = {shared, tiling_number(j->t, "part", part)};

        side->parts[part] = tiling_add_own(j->t, j->i, GR_CHUNK_join_build, attrs, side->pieces, side->piece_count,
                                           bytes / side->part_count + 4096);
    }
    return GRANARY_OK;
}

/* ---- columns by where they come from ---- */

struct entries {
    char **names;   /* borrowed */
    char **sources; /* owned */
    size_t count;
};

static granary_err
entries_add(struct entries *entries, char *name, const char *prefix, const char *text)
{
    if (asprintf(&entries->sources[entries->count], "%s.%s", prefix, text) < 0) {
        entries->sources[entries->count] = NULL;
        return tile_no_memory();
    }
    entries->names[entries->count++] = name;
    return GRANARY_OK;
}

static granary_err
entries_init(struct tiling *t, struct entries *entries, size_t room)
{
    *entries = (struct entries){.names = tiling_scratch(t, room, sizeof *entries->names),
                                .sources = tiling_scratch(t, room, sizeof *entries->sources)};
    return entries->names == NULL || entries->sources == NULL ? tile_no_memory() : GRANARY_OK;
}

static void
entries_fini(struct entries *entries)
{
    for (size_t i = 0; entries->sources != NULL && i < entries->count; i++) {
        free(entries->sources[i]);
    }
}

static granary_err
add_source(const struct joining *j, const struct probing *probing, const struct gr_join_column *column,
           struct entries *entries)
{
    const struct gr_schema *left = j->sides[LEFT].schema;
    const struct gr_schema *right = j->sides[RIGHT].schema;
    bool shared = column->left >= 0 && column->right >= 0;
    int from = probing->rest || j->join.how == GR_JOIN_RIGHT ? RIGHT : LEFT; /* of a key that comes once */

    if (column->left < 0 && column->right < 0) {
        return entries_add(entries, column->name, "indicator",
                           probing->side == LEFT || (j->join.how != GR_JOIN_RIGHT && !probing->rest) ? "left_only"
                                                                                                     : "right_only");
    }
    if (!shared) {
        from = column->left >= 0 ? LEFT : RIGHT;
    }
    if (probing->rest && from == LEFT) {
        return entries_add(entries, column->name, "null", granary_dtype_name(column->dtype));
    }
    return entries_add(entries, column->name, probing->side == from ? "probe" : "built",
                       from == LEFT ? left->fields[column->left].name : right->fields[column->right].name);
}

static granary_err
add_result(const struct joining *j, const struct probing *probing, gr_attrs attrs)
{
    const struct gr_step *step = &j->t->steps->steps[j->i];
    struct entries entries;
    granary_err err = entries_init(j->t, &entries, j->column_count + 1);

    for (size_t c = 0; c < j->column_count && err == GRANARY_OK; c++) {
        if (gr_step_yields(step, c)) {
            err = add_source(j, probing, &j->columns[c], &entries);
        }
    }
    if (err == GRANARY_OK && j->order[0] != '\0') {
        err = entries_add(&entries, (char *)(uintptr_t)j->order, "probe", j->order);
    }
    if (err == GRANARY_OK) {
        gr_attrs_add(j->t->chunks, attrs, gr_attr_new_map("result", entries.names, entries.sources, entries.count));
    }
    entries_fini(&entries);
    return err;
}

/* The condition, and the columns that it reads. */
static granary_err
add_where(const struct joining *j, const struct probing *probing, gr_attrs attrs)
{
    struct probing pairs = {.side = probing->side};
    struct gr_join_column *columns = NULL;
    struct gr_schema schema = {0};
    const struct gr_expr *expr;
    struct entries entries = {0};
    bool *reads = NULL;
    size_t count = 0;
    granary_err err = gr_join_pair_columns(&j->join, j->sides[LEFT].schema, j->sides[RIGHT].schema, &columns, &count);

    for (size_t c = 0; c < count && err == GRANARY_OK; c++) {
        err = gr_schema_add(&schema, columns[c].name, columns[c].dtype);
    }
    if (err == GRANARY_OK && (reads = tiling_scratch(j->t, count, sizeof *reads)) == NULL) {
        err = tile_no_memory();
    }
    if (err == GRANARY_OK) {
        err = gr_trees_find(j->t->steps->steps[j->i].node->trees, j->join.where, &expr);
    }
    if (err == GRANARY_OK) {
        gr_expr_columns(expr, &schema, reads);
        err = entries_init(j->t, &entries, count);
    }
    for (size_t c = 0; c < count && err == GRANARY_OK; c++) {
        if (reads[c]) {
            err = add_source(j, &pairs, &columns[c], &entries);
        }
    }
    if (err == GRANARY_OK) {
        gr_attrs_add(j->t->chunks, attrs, gr_attr_new_string("where", j->join.where));
        gr_attrs_add(j->t->chunks, attrs,
                     gr_attr_new_map("where_columns", entries.names, entries.sources, entries.count));
    }
    entries_fini(&entries);
    gr_schema_free(&schema);
    gr_join_columns_free(columns, count);
    return err;
}

/* ---- what is probed ---- */

granary_err
join_add_probe_attrs(const struct joining *j, const struct probing *probing, gr_attrs attrs)
{
    struct gr_chunks *chunks = j->t->chunks;
    granary_err err = add_result(j, probing, attrs);

    gr_attrs_add(chunks, attrs, gr_attr_new_string("how", probing->how));
    if (j->join.how != GR_JOIN_CROSS) {
        gr_attrs_add(chunks, attrs, gr_attr_new_strings("keys", j->sides[probing->side].keys, j->join.key_count));
    }
    if (j->join.null_aware) {
        gr_attrs_add(chunks, attrs, gr_attr_new_bool("null_aware", true));
    }
    return err == GRANARY_OK && j->join.where != NULL ? add_where(j, probing, attrs) : err;
}

/*
 * The condition on the rows of the probing side, when a probe can ask it by itself. It then reads of the other
 * columns only what a row needs that is left and has a match. NULL: there is none, or who is left must be known
 * beforehand, or has been computed while the join waited.
 */
static const struct gr_expr *
probe_filter(const struct joining *j, const struct probing *probing)
{
    const struct gr_expr *where = j->t->steps->steps[j->i].where[probing->side];
    const struct gr_tiled *narrowed = j->sides[probing->side].tiled;
    bool of_pairs = j->join.where != NULL && strcmp(probing->how, "inner") != 0 && strcmp(probing->how, "semi") != 0;
    bool computed = narrowed->count > 0 && narrowed->pieces[0].op < j->t->handed_out;

    return j->join.how == GR_JOIN_CROSS || of_pairs || computed ? NULL : where;
}

/*
 * Bytes of a probed piece, about: of the probing side the columns that the result has, and as much again of the built
 * side, if that has so much. Each row is taken to match once. To expect more of every join of a chain would multiply
 * the estimate of its end, and keep apart what is quickest together.
 */
static uint64_t
probed_bytes(const struct joining *j, const struct probing *probing, uint64_t bytes, uint64_t built_bytes)
{
    const struct gr_step *step = &j->t->steps->steps[j->i];
    const bool *narrow = step->narrow[probing->side];
    uint64_t read = 1;
    uint64_t kept = 1;

    for (size_t c = 0; c < j->sides[probing->side].schema->count; c++) {
        read += gr_step_yields(&j->t->steps->steps[step->inputs[probing->side]], c) && (narrow == NULL || narrow[c]);
    }
    for (size_t c = 0; c < j->column_count; c++) {
        kept += gr_step_yields(step, c) && (probing->side == LEFT ? j->columns[c].left : j->columns[c].right) >= 0;
    }
    return (kept < read ? bytes / read * kept : bytes) + (built_bytes < bytes ? built_bytes : bytes);
}

/* One operator a chunk; the result's pieces from number `at` on. */
static granary_err
add_probes(struct joining *j, const struct probing *probing, const struct gr_piece *wait, size_t wait_count, size_t at)
{
    const struct side *built = &j->sides[1 - probing->side];
    const struct gr_tiled *in = j->sides[probing->side].tiled;
    const struct gr_expr *filter = probe_filter(j, probing);
    const struct gr_piece *pieces =
        filter == NULL ? in->pieces : j->t->tiled[j->t->steps->steps[j->i].inputs[probing->side]].pieces;
    struct gr_tiled *out = &j->t->tiled[j->i];
    uint64_t built_bytes = bytes_sum(built->tiled->bytes, built->tiled->count);
    bool of_pairs = j->join.where != NULL || (strcmp(probing->how, "semi") != 0 && strcmp(probing->how, "anti") != 0);
    struct gr_piece *inputs =
        tiling_scratch(j->t, 1 + built->piece_count + built->part_count + wait_count, sizeof *inputs);
    size_t count = 1;
    gr_attrs attrs = gr_chunks_attrs(j->t->chunks);
    granary_err err = inputs == NULL ? tile_no_memory() : join_add_probe_attrs(j, probing, attrs);

    gr_attrs_add(j->t->chunks, attrs, gr_attr_new_int("parts", (int64_t)built->part_count));
    if (filter != NULL) {
        gr_attrs_add(j->t->chunks, attrs, gr_attr_new_expr("filter", filter));
    }
    for (size_t p = 0; err == GRANARY_OK && of_pairs && p < built->piece_count; p++) {
        inputs[count++] = built->pieces[p];
    }
    for (size_t p = 0; err == GRANARY_OK && p < built->part_count; p++) {
        inputs[count++] = built->parts[p];
    }
    for (size_t p = 0; err == GRANARY_OK && p < wait_count; p++) {
        inputs[count++] = wait[p];
    }
    for (size_t p = 0; err == GRANARY_OK && p < in->count; p++) {
        inputs[0] = pieces[p];
        out->bytes[at + p] = of_pairs ? probed_bytes(j, probing, in->bytes[p], built_bytes) : in->bytes[p];
        out->pieces[at + p] = tiling_add(j->t, j->i, GR_CHUNK_join_probe, attrs, inputs, count, out->bytes[at + p]);
    }
    return err;
}

/* A side that is built for nothing but to see that its keys are unique. */
static granary_err
add_check(struct joining *j, int which, struct gr_piece *wait, size_t *wait_count)
{
    granary_err err = add_build(j, which, true);

    for (size_t part = 0; err == GRANARY_OK && part < j->sides[which].part_count; part++) {
        wait[(*wait_count)++] = j->sides[which].parts[part];
    }
    return err;
}

/* One side is built, as a whole, and every chunk of the other one is probed by itself. */
static granary_err
join_by_broadcast(struct joining *j, const struct probing *probings, size_t count)
{
    bool unique[2] = {j->join.unique_left, j->join.unique_right};
    struct gr_piece wait[PARTS_MAX];
    size_t wait_count = 0;
    size_t at = 0;
    int probes = probings[0].side;
    granary_err err = j->join.how == GR_JOIN_CROSS ? settle_pieces(j, &j->sides[1 - probes])
                                                   : add_build(j, 1 - probes, unique[1 - probes]);

    if (err == GRANARY_OK && unique[probes]) {
        err = add_check(j, probes, wait, &wait_count);
    } else if (err == GRANARY_OK && count > 1) {
        err = add_build(j, probes, false);
    }
    for (size_t k = 0; k < count && err == GRANARY_OK; k++) {
        err = add_probes(j, &probings[k], wait, k == 0 ? wait_count : 0, at);
        at += j->sides[probings[k].side].tiled->count;
    }
    return err;
}

/* What a side takes when it is built: as measured, or as estimated where that decides. false: it is to be measured. */
static bool
built_bytes(struct joining *j, int side, uint64_t most, uint64_t *ret_bytes)
{
    const struct gr_measured *measured;

    *ret_bytes = bytes_sum(j->sides[side].tiled->bytes, j->sides[side].tiled->count);
    if (*ret_bytes <= most) {
        return true; /* estimates are rather too many than too few */
    }
    measured = tiling_measured(j->t, j->i, (size_t)side);
    if (measured != NULL) {
        *ret_bytes = measured->all_bytes;
    }
    return measured != NULL;
}

/*
 * Which side's order an inner join has that may have any: the side that is built should be the smaller one by far. By
 * estimates: to measure them both would keep what makes them and the probe apart.
 */
static int
probing_side(const struct joining *j)
{
    uint64_t left = bytes_sum(j->sides[LEFT].tiled->bytes, j->sides[LEFT].tiled->count);
    uint64_t right = bytes_sum(j->sides[RIGHT].tiled->bytes, j->sides[RIGHT].tiled->count);

    if (j->join.how == GR_JOIN_RIGHT) {
        return RIGHT;
    }
    return j->join.how == GR_JOIN_INNER && j->join.any_order && left < right / 2 ? RIGHT : LEFT;
}

static granary_err
add_operators(struct joining *j)
{
    static const char *const kinds[] = {
        [GR_JOIN_INNER] = "inner", [GR_JOIN_LEFT] = "left", [GR_JOIN_RIGHT] = "left", [GR_JOIN_OUTER] = "left",
        [GR_JOIN_SEMI] = "semi",   [GR_JOIN_ANTI] = "anti", [GR_JOIN_CROSS] = "cross"};
    const struct probing probings[2] = {{.side = probing_side(j), .how = kinds[j->join.how]},
                                        {.side = RIGHT, .how = "anti", .rest = true}};
    size_t count = j->join.how == GR_JOIN_OUTER ? 2 : 1;
    uint64_t most = j->t->options->memory_bytes == 0 ? UINT64_MAX : j->t->options->memory_bytes / BUILT_MEMORY_PARTS;
    bool shuffles = false;
    bool known = true;
    size_t pieces = 0;
    granary_err err;

    for (size_t k = 0; k < count; k++) {
        uint64_t bytes;

        known = built_bytes(j, 1 - probings[k].side, most, &bytes) && known;
        shuffles = shuffles || bytes > most;
        pieces += j->sides[probings[k].side].tiled->count;
    }
    if (!known) {
        return gr_chunks_error(j->t->chunks) == GRANARY_OK ? TILE_WAIT : gr_chunks_error(j->t->chunks);
    }
    /* All rows with all rows, and NOT IN, cannot be cut by keys. */
    shuffles = shuffles && j->join.how != GR_JOIN_CROSS && !j->join.null_aware;
    err = tiled_init(j->t, &j->t->tiled[j->i], pieces, true);
    if (err != GRANARY_OK) {
        return err;
    }
    return shuffles ? join_by_shuffle(j, probings, count) : join_by_broadcast(j, probings, count);
}

granary_err
tile_join(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    struct joining j = {.t = t, .i = i};
    size_t attr_count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &attr_count);
    granary_err err = gr_join_parse(attrs, attr_count, &j.join);

    for (size_t k = 0; k < 2; k++) {
        j.sides[k].schema = &t->steps->steps[step->inputs[k]].type->schema;
        j.sides[k].tiled = tiling_input(t, i, k);
        j.sides[k].keys = k == LEFT ? j.join.left_on : j.join.right_on;
    }
    if (err == GRANARY_OK) {
        err = gr_join_columns(&j.join, j.sides[LEFT].schema, j.sides[RIGHT].schema, &j.columns, &j.column_count);
    }
    if (err == GRANARY_OK) {
        err = settle_types(&j);
    }
    if (err == GRANARY_OK) {
        err = add_operators(&j);
    }
    gr_join_columns_free(j.columns, j.column_count);
    return err;
}
