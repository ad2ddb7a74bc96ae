/*
 * Parquet files: the footer tells columns and row groups. These become chunks, once it is known which columns are read:
 * small ones together, large ones in parts where they have pages enough. What nobody wants is left out (parquet_want.c).
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/memory/grow.h"
#include "data/file/paths/regular.h"
#include "data/frame.h"
#include "parquet/parquet.h"
#include "tile/file/parquet_cuts.h"
#include "tile/file/tiles.h"
#include "tile/source/choose.h"

#define BYTES_LEAST ((double)(1 << 20)) /* of the columns that are read, unpacked, in a chunk */
#define ROWS_MOST   ((int64_t)1 << 23)  /* of a chunk, whatever is claimed to be in it */
#define ROWS_CUT    ((int64_t)1 << 17)  /* a row group with fewer stays whole */
#define CUTS_MOST   64                  /* parts of a row group that is cut at pages */
#define CUTS_ENOUGH 32                  /* of a file: more row groups than that are put together */
#define PART_ROWS   ((int64_t)1 << 15)  /* a row group with fewer lies in one part of a file */

static granary_err
parquet_look(struct gr_file *file, int fd)
{
    struct gr_parquet *parquet = NULL;
    const struct gr_parquet_column *columns;
    const struct gr_parquet_leaf *leaves;
    size_t count = 0;
    granary_err err = gr_parquet_open(fd, (uint64_t)file->file_bytes, file->path, &parquet);

    if (err != GRANARY_OK) {
        return err;
    }
    file->own = parquet;
    leaves = gr_parquet_leaves(parquet, &count);
    columns = gr_parquet_columns(parquet, &count);
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = gr_schema_find(&file->type.schema, columns[i].name) >= 0
                  ? gr_fail(GRANARY_EINVAL, "%s: it has column '%s' twice", file->path, columns[i].name)
                  : gr_schema_add(&file->type.schema, columns[i].name,
                                  columns[i].readable ? gr_parquet_dtype(&leaves[columns[i].leaf]) : GR_DTYPE_OTHER);
    }
    return err;
}

/* Whoever changes the file meanwhile will see that it is refused. */
static uint64_t
parquet_distinct(const struct gr_file *file, const char *column)
{
    struct stat info;
    uint64_t distinct = 0;
    int fd;

    if (gr_regular_open(file->path, &fd, &info) == GRANARY_OK) {
        distinct = gr_parquet_distinct(file->own, fd, column);
    }
    gr_fd_close(&fd);
    return distinct;
}

static void
parquet_free(struct gr_file *file)
{
    gr_parquet_close(file->own);
}

/* ---- the rows of a chunk ---- */

/* Bytes of the columns that are read, as they will be in memory. */
static double
group_bytes(const struct cuts *cuts, const struct gr_parquet_group *group)
{
    double bytes = 0;

    for (size_t c = 0; c < cuts->step->type->schema.count; c++) {
        const struct gr_parquet_leaf *leaf = &cuts->leaves[cuts->columns[c].leaf];

        if (gr_step_yields(cuts->step, c)) {
            int64_t values = leaf->repeats > 0 ? group->chunks[cuts->columns[c].leaf].values : group->rows;

            bytes += (double)values * (double)(gr_dtype_size(leaf->dtype) > 0 ? gr_dtype_size(leaf->dtype) : 4);
            bytes += leaf->repeats > 0 ? (double)group->rows * 4 : 0;
            bytes += gr_dtype_is_text(leaf->dtype) ? (double)group->chunks[cuts->columns[c].leaf].raw_size : 0;
        }
    }
    return bytes;
}

/* Pages of the columns that are read, of that which has fewest; 1 when nobody knows. */
static int64_t
group_pages(const struct cuts *cuts, const struct gr_parquet_group *group)
{
    int64_t pages = INT32_MAX;

    for (size_t c = 0; c < cuts->step->type->schema.count; c++) {
        int64_t has = group->chunks[cuts->columns[c].leaf].data_pages;

        if (gr_step_yields(cuts->step, c)) {
            pages = has < pages ? has : pages;
        }
    }
    return pages < 1 || pages == INT32_MAX ? 1 : pages;
}

static granary_err
add_cut(struct cuts *cuts, const struct cut *cut)
{
    if (!gr_grow(&cuts->cuts, &cuts->room, cuts->count, sizeof *cuts->cuts)) {
        return tile_no_memory();
    }
    cuts->cuts[cuts->count++] = *cut;
    return GRANARY_OK;
}

/* A row group by itself, in so many parts. */
static granary_err
cut_group(struct cuts *cuts, size_t group, int64_t parts, double bytes)
{
    int64_t rows = cuts->groups[group].rows;
    granary_err err = GRANARY_OK;

    for (int64_t p = 0; err == GRANARY_OK && p < parts; p++) {
        int64_t from = rows / parts * p + (p < rows % parts ? p : rows % parts);

        err = add_cut(cuts, &(struct cut){.first = group,
                                          .count = 1,
                                          .from = from,
                                          .rows = rows / parts + (p < rows % parts),
                                          .bytes = bytes / (double)parts});
    }
    return err;
}

/* In how many parts. */
static int64_t
parts_of(const struct cuts *cuts, const struct gr_parquet_group *group, double bytes, double wanted)
{
    int64_t pages = group_pages(cuts, group);
    int64_t parts = group->rows < ROWS_CUT || bytes < 2 * wanted ? 1 : (int64_t)(bytes / wanted);

    parts = parts > pages ? pages : parts;
    parts = parts > CUTS_MOST ? CUTS_MOST : parts;
    return group->rows / parts > ROWS_MOST ? (group->rows + ROWS_MOST - 1) / ROWS_MOST : parts;
}

static bool
is_whole(const struct gr_parquet_group *group, const struct spans *spans)
{
    return spans->count == 1 && spans->spans[0].from == 0 && spans->spans[0].to == group->rows;
}

/* Some rows of a row group: no chunk has more than `most`. */
static granary_err
cut_spans(struct cuts *cuts, size_t group, int64_t most, double bytes)
{
    granary_err err = GRANARY_OK;

    for (size_t s = 0; err == GRANARY_OK && s < cuts->wanted[group].count; s++) {
        struct span span = cuts->wanted[group].spans[s];

        for (; err == GRANARY_OK && span.from < span.to; span.from += most) {
            int64_t rows = span.to - span.from < most ? span.to - span.from : most;

            err = add_cut(cuts, &(struct cut){.first = group,
                                              .count = 1,
                                              .from = span.from,
                                              .rows = rows,
                                              .bytes = bytes * (double)rows / (double)cuts->groups[group].rows});
        }
    }
    return err;
}

/* Whether the border of two parts lies within it. */
static bool
is_halved(const struct cuts *cuts, size_t group)
{
    return (group == cuts->first && cuts->from > 0) || (group + 1 == cuts->end && cuts->to < cuts->groups[group].rows);
}

static granary_err
cut_groups(struct cuts *cuts)
{
    double all = 1;
    double wanted;
    double joined;     /* row groups are put together up to that */
    bool open = false; /* the last cut takes more row groups */
    granary_err err = GRANARY_OK;

    for (size_t g = cuts->first; g < cuts->end; g++) {
        all += group_bytes(cuts, &cuts->groups[g]);
    }
    wanted = all * (double)cuts->file->block_bytes / (double)(cuts->file->to - cuts->file->from + 1);
    wanted = wanted < BYTES_LEAST ? BYTES_LEAST : wanted;
    joined = all / CUTS_ENOUGH < BYTES_LEAST ? BYTES_LEAST : all / CUTS_ENOUGH;
    joined = joined < wanted ? joined : wanted;
    for (size_t g = cuts->first; err == GRANARY_OK && g < cuts->end; g++) {
        const struct gr_parquet_group *group = &cuts->groups[g];
        double bytes = group_bytes(cuts, group);
        struct cut *last = open ? &cuts->cuts[cuts->count - 1] : NULL;
        int64_t parts = parts_of(cuts, group, bytes, wanted);

        if (!is_whole(group, &cuts->wanted[g])) {
            err = cut_spans(cuts, g, is_halved(cuts, g) ? group->rows / parts + 1 : ROWS_MOST, bytes);
            open = false;
        } else if (last != NULL && parts == 1 && last->bytes + bytes <= joined &&
                   last->rows + group->rows <= ROWS_MOST) {
            last->count++;
            last->rows += group->rows;
            last->bytes += bytes;
        } else if (parts > (1 << 16)) {
            err = gr_fail(GRANARY_EUNSUPPORTED, "%s: row group %zu claims %lld rows; write smaller ones",
                          cuts->file->path, g, (long long)group->rows);
        } else {
            err = cut_group(cuts, g, parts, bytes);
            open = parts == 1;
        }
    }
    return err == GRANARY_OK && cuts->count == 0 ? add_cut(cuts, &(struct cut){.count = 0}) : err;
}

/* ---- the rule ---- */

/* That all columns that are wanted can be read. */
static granary_err
check_columns(const struct gr_step *step, const struct gr_file *file)
{
    size_t count = 0;
    bool *wanted;
    granary_err err;

    (void)gr_parquet_columns(file->own, &count);
    wanted = calloc(count + 1, sizeof *wanted);
    if (wanted == NULL) {
        return tile_no_memory();
    }
    for (size_t c = 0; c < count; c++) {
        wanted[c] = gr_step_yields(step, c);
    }
    err = gr_parquet_check(file->own, wanted);
    free(wanted);
    return err == GRANARY_OK ? err : gr_fail_in(err, "%s", file->path);
}

/*
 * What the only reader asks of rows goes with the reading, which can spare the values of rows that it leaves out. Rows
 * that may be recalled for others are all read, and so are files whose columns become others. Returns whether it was added.
 */
static bool
add_condition(struct tiling *t, size_t i, const struct cuts *cuts, gr_attrs attrs)
{
    const struct gr_schema *schema = &cuts->step->type->schema;
    const struct gr_expr *where =
        cuts->step->spare || !gr_step_yields_as(cuts->step, &t->steps->steps[i]) ? NULL : zone_only_condition(t, i);
    bool *used = gr_region_zalloc(t->scratch, schema->count + 1, sizeof *used);
    char **names = tiling_scratch(t, schema->count, sizeof *names);
    size_t count = 0;

    if (where == NULL || used == NULL || names == NULL) {
        return false;
    }
    gr_expr_columns(where, schema, used);
    for (size_t c = 0; c < schema->count; c++) {
        if (used[c] && !gr_step_yields(cuts->step, c)) {
            return false;
        }
        if (used[c]) {
            names[count++] = schema->fields[c].name;
        }
    }
    if (count > 0) {
        gr_attrs_add(t->chunks, attrs, gr_attr_new_expr("where", where));
        gr_attrs_add(t->chunks, attrs, gr_attr_new_strings("tests", names, count));
    }
    return count > 0;
}

static granary_err
add_pieces(struct tiling *t, size_t i, const struct cuts *cuts, struct gr_tiled *out)
{
    struct gr_chunk_spec spec = {
        .op = GR_CHUNK_parquet_read, .step = (uint32_t)i, .outputs = 1, .shared = file_path_attrs(t, cuts->file)};
    granary_err err = tiled_init(t, out, cuts->count, true);
    bool narrowed = add_condition(t, i, cuts, spec.shared);

    tiling_add_dtypes(t, cuts->step, spec.shared);
    gr_attrs_add(t->chunks, spec.shared, gr_attr_new_int("size", cuts->file->file_bytes));
    gr_attrs_add(t->chunks, spec.shared, gr_attr_new_int("modified", cuts->file->modified_ns));
    for (size_t p = 0; err == GRANARY_OK && p < out->count; p++) {
        const struct cut *cut = &cuts->cuts[p];

        out->rows[p] = narrowed ? -1 : cut->rows;
        out->bytes[p] = (uint64_t)cut->bytes;
        spec.bytes = out->bytes[p];
        spec.own = gr_chunks_attrs(t->chunks);
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("first", (int64_t)cut->first));
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("count", (int64_t)cut->count));
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("from", cut->from));
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("rows", cut->rows));
        out->pieces[p] = gr_chunks_add(t->chunks, &spec);
    }
    return err;
}

/*
 * Where a part ends that has the rows up to `row`: the next one begins there. The row group, and a row of it; a small row group stays
 * whole. It depends on nothing else, so both parts find the same place.
 */
static size_t
find_border(const struct cuts *cuts, int64_t row, int64_t *ret_row)
{
    size_t g = 0;

    while (g < cuts->group_count && row >= cuts->groups[g].rows) {
        row -= cuts->groups[g++].rows;
    }
    if (g < cuts->group_count && cuts->groups[g].rows < PART_ROWS) {
        g += row > cuts->groups[g].rows / 2;
        row = 0;
    }
    *ret_row = row;
    return g;
}

/* Row groups of a part, and where its rows begin in the first and end in the last. */
static void
find_part(struct cuts *cuts)
{
    uint64_t rows = 0, from, to;
    int64_t left;

    for (size_t g = 0; g < cuts->group_count; g++) {
        rows += (uint64_t)cuts->groups[g].rows;
    }
    gr_file_part(cuts->file, rows, &from, &to);
    cuts->first = find_border(cuts, (int64_t)from, &cuts->from);
    cuts->end = find_border(cuts, (int64_t)to, &left);
    if (left > 0) {
        cuts->to = left;
        cuts->end++;
    } else {
        cuts->to = cuts->end > cuts->first ? cuts->groups[cuts->end - 1].rows : 0;
    }
}

static granary_err
parquet_tile(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, struct gr_tiled *out)
{
    struct cuts cuts = {.file = file, .step = step};
    size_t count = 0;
    granary_err err = check_columns(cuts.step, file);

    if (err != GRANARY_OK) {
        return err;
    }
    cuts.leaves = gr_parquet_leaves(file->own, &count);
    cuts.columns = gr_parquet_columns(file->own, &count);
    cuts.groups = gr_parquet_groups(file->own, &cuts.group_count);
    find_part(&cuts);
    err = parquet_want(t, i, &cuts);
    err = err == GRANARY_OK ? cut_groups(&cuts) : err;
    err = err == GRANARY_OK ? add_pieces(t, i, &cuts, out) : err;
    free(cuts.cuts);
    return err;
}

const struct gr_source gr_source_parquet = {
    .look = parquet_look, .tile = parquet_tile, .distinct = parquet_distinct, .free_own = parquet_free};

/* ---- written ---- */

#define WRITE_MANY                                                                                                     \
    ((uint64_t)32 << 20) /* a chunk of twice as many bytes is cut; unless the graph says how many a chunk has */
#define WRITE_FEW  ((uint64_t)16 << 20) /* chunks with fewer bytes are put together, up to so many */
#define WRITE_ROWS ((int64_t)1 << 17)   /* of a part, at least */

/* In how many parts a chunk is written. */
static int64_t
write_parts(const struct tiling *t, const struct gr_tiled *in, size_t piece)
{
    uint64_t bytes = t->options->chunk_bytes > 0 ? (uint64_t)t->options->chunk_bytes : WRITE_MANY;
    int64_t parts = (int64_t)(in->bytes[piece] / bytes);
    int64_t most = in->rows[piece] / WRITE_ROWS;

    parts = parts > most ? most : parts;
    return parts < 1 ? 1 : parts > CUTS_MOST ? CUTS_MOST : parts;
}

/* How many chunks from there on are written as one. */
static size_t
write_together(const struct gr_tiled *in, size_t piece)
{
    uint64_t bytes = in->bytes[piece];
    size_t count = 1;

    while (piece + count < in->count && count < CUTS_MOST && bytes + in->bytes[piece + count] <= WRITE_FEW) {
        bytes += in->bytes[piece + count++];
    }
    return count;
}

/* How row groups are made. */
static void
add_style(struct tiling *t, const struct gr_params_write_parquet *params, gr_attrs set)
{
    gr_attrs_add(t->chunks, set, gr_attr_new_string("compression", params->compression));
    gr_attrs_add(t->chunks, set, gr_attr_new_int("level", params->level));
    if (params->bloom != NULL) {
        gr_attrs_add(t->chunks, set, gr_attr_new_strings("bloom", params->bloom->strings, params->bloom->n_strings));
    }
}

granary_err
tile_write_parquet(struct tiling *t, size_t i)
{
    const struct gr_params_write_parquet *params = GR_STEP_PARAMS(write_parquet, &t->steps->steps[i]);
    const struct gr_tiled *in = tiling_input(t, i, 0);
    struct gr_chunk_spec spec = {
        .op = GR_CHUNK_parquet_format, .step = (uint32_t)i, .shared = gr_chunks_attrs(t->chunks), .outputs = 1};
    size_t most = 0;
    size_t made = 0;
    struct gr_piece *groups;
    gr_attrs whole;

    add_style(t, params, spec.shared);
    if (file_is_folders(&t->steps->steps[i])) {
        return file_write_folders(t, i, "parquet", NULL, spec.shared);
    }
    for (size_t p = 0; p < in->count; p++) {
        most += (size_t)write_parts(t, in, p);
    }
    groups = tiling_scratch(t, most, sizeof *groups);
    if (groups == NULL) {
        return tile_no_memory();
    }
    for (size_t p = 0; p < in->count; p += spec.input_count) {
        int64_t parts = write_parts(t, in, p);

        spec.input_count = (uint32_t)write_together(in, p);
        spec.inputs = &in->pieces[p];
        spec.bytes = 0;
        for (size_t k = 0; k < spec.input_count; k++) {
            spec.bytes += in->bytes[p + k] / (uint64_t)parts;
        }
        for (int64_t part = 0; part < parts; part++) {
            spec.own = gr_chunks_attrs(t->chunks);
            gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("part", part));
            gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("parts", parts));
            groups[made++] = gr_chunks_add(t->chunks, &spec);
        }
    }
    whole = file_path_attrs(t, t->sources->files[i]);
    add_style(t, params, whole);
    return file_write_whole(t, i, GR_CHUNK_parquet_write, whole, groups, made);
}
