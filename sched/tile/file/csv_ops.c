/* The operators that split, look at, read and write a CSV file. */
#include <string.h>

#include "base/error.h"
#include "tile/file/csv.h"

#define BEHIND_MAX ((int64_t)64 << 10) /* a block whose last record is longer is looked at twice */

/* What every operator on the file needs. */
static gr_attrs
file_attrs(const struct gr_file *file, struct gr_chunks *chunks)
{
    static char empty[] = "";
    static char backslash_n[] = "\\N";
    static char *const default_nulls[] = {empty, backslash_n};
    const struct gr_params_read_csv *params = GR_NODE_PARAMS(read_csv, file->node);
    const struct csv *csv = file->own;
    const Granary__Attr *nulls = params->null_values;
    gr_attrs set = gr_chunks_attrs(chunks);

    gr_attrs_add(chunks, set, gr_attr_new_string("path", file->path));
    gr_attrs_add(chunks, set, gr_attr_new_int("inode", file->inode));
    gr_attrs_add(chunks, set, gr_attr_new_string("delimiter", csv->delimiter));
    gr_attrs_add(chunks, set,
                 nulls == NULL ? gr_attr_new_strings("null_values", default_nulls, 2) : gr_attr_copy(nulls));
    if (strcmp(csv->decimal, ".") != 0 || csv->thousands[0] != '\0') {
        gr_attrs_add(chunks, set, gr_attr_new_string("decimal", csv->decimal));
        gr_attrs_add(chunks, set, gr_attr_new_string("thousands", csv->thousands));
    }
    if (params->date_format != NULL) {
        gr_attrs_add(chunks, set, gr_attr_new_string("date_format", params->date_format));
    }
    if (params->timestamp_format != NULL) {
        gr_attrs_add(chunks, set, gr_attr_new_string("timestamp_format", params->timestamp_format));
    }
    if (csv->tolerates) {
        gr_attrs_add(chunks, set, gr_attr_new_string("errors", csv->lists ? "list" : "skip"));
        gr_attrs_add(chunks, set, gr_attr_new_int("fields", csv->fields));
    }
    return set;
}

static gr_attrs
range_attrs(const struct gr_file *file, struct gr_chunks *chunks, size_t range)
{
    const struct csv *csv = file->own;
    const struct gr_csv_range *at = &csv->records.ranges[range];
    gr_attrs set = records_bytes_attrs(chunks, at->offset, at->size);

    gr_attrs_add(chunks, set, gr_attr_new_bool("header", csv->header && range == 0));
    return set;
}

/* A block, and what of the next ones may be read to have its last record whole. */
static gr_attrs
block_attrs(const struct gr_file *file, struct gr_chunks *chunks, const struct gr_csv_block *block)
{
    const struct csv *csv = file->own;
    int64_t left = file->file_bytes - block->offset - block->size;
    gr_attrs set = records_bytes_attrs(chunks, block->offset, block->size);

    gr_attrs_add(chunks, set, gr_attr_new_int("behind", left < BEHIND_MAX ? left : BEHIND_MAX));
    gr_attrs_add(chunks, set, gr_attr_new_bool("header", csv->header && block->offset == 0));
    gr_attrs_add(chunks, set, gr_attr_new_bool("begins", block->begins));
    return set;
}

/* The file's first bytes, and where parts begin and end. */
static void
start_seek(struct gr_file *file, struct gr_chunks *chunks, const struct gr_chunk_spec *split)
{
    const struct csv *csv = file->own;
    const struct gr_csv_block head = {.offset = 0, .size = csv->head_bytes};
    const int64_t borders[CSV_BORDERS] = {file->from, file->to};
    struct gr_chunk_spec seek = {.op = GR_CHUNK_csv_seek, .step = split->step};
    struct gr_chunk_spec one = *split;

    for (size_t job = 0; job < file->jobs; job++) {
        if (csv->seek_jobs[job] == CSV_BORDERS) {
            one.own = block_attrs(file, chunks, &head);
            (void)gr_chunks_add(chunks, &one);
            continue;
        }
        seek.own = records_bytes_attrs(chunks, borders[csv->seek_jobs[job]], file->file_bytes);
        gr_attrs_add(chunks, seek.own, gr_attr_new_string("path", file->path));
        gr_attrs_add(chunks, seek.own, gr_attr_new_int("inode", file->inode));
        gr_attrs_add(chunks, seek.own, gr_attr_new_string("delimiter", csv->delimiter));
        (void)gr_chunks_add(chunks, &seek);
    }
}

void
csv_start(struct gr_file *file, uint32_t step, struct gr_chunks *chunks)
{
    const struct csv *csv = file->own;
    bool is_split = csv->stage == CSV_SPLIT || csv->stage == CSV_SEEK;
    struct gr_piece piece;
    struct gr_chunk_spec spec = {
        .op = is_split ? GR_CHUNK_csv_split : GR_CHUNK_csv_infer, .step = step, .shared = file_attrs(file, chunks)};

    if (csv->stage == CSV_UNPACK) {
        records_start_unpack(file, step, chunks, &csv->dialect);
        return;
    }
    if (csv->known_count > 0) {
        gr_attrs_add(chunks, spec.shared, gr_attr_new_ints("known", csv->known, csv->known_count));
    }
    if (csv->stage == CSV_SEEK) {
        start_seek(file, chunks, &spec);
        return;
    }
    for (size_t i = 0; i < file->jobs; i++) {
        spec.own =
            is_split ? block_attrs(file, chunks, &csv->blocks[i]) : range_attrs(file, chunks, csv->job_ranges[i]);
        if (!is_split) {
            records_add_input(file, csv->job_ranges[i], &piece, &spec);
        }
        (void)gr_chunks_add(chunks, &spec);
    }
}

/* Positions of the columns that the step yields. */
static void
add_positions(struct tiling *t, const struct gr_step *step, gr_attrs set)
{
    size_t all = step->type->schema.count;
    int64_t *positions = tiling_scratch(t, all, sizeof *positions);
    size_t count = 0;

    for (size_t c = 0; positions != NULL && c < all; c++) {
        if (gr_step_yields(step, c)) {
            positions[count++] = (int64_t)c;
        }
    }
    gr_attrs_add(t->chunks, set, positions == NULL ? NULL : gr_attr_new_ints("positions", positions, count));
}

/* All columns: a record fits or does not, whatever of it is read. */
static void
add_checks(struct tiling *t, const struct gr_schema *schema, gr_attrs set)
{
    char **names = tiling_scratch(t, schema->count + 1, sizeof *names);
    char **dtypes = tiling_scratch(t, schema->count + 1, sizeof *dtypes);

    for (size_t c = 0; names != NULL && dtypes != NULL && c < schema->count; c++) {
        names[c] = schema->fields[c].name;
        dtypes[c] = (char *)(uintptr_t)granary_dtype_name(schema->fields[c].dtype); /* copied, not written */
    }
    gr_attrs_add(t->chunks, set, names == NULL ? NULL : gr_attr_new_strings("names", names, schema->count));
    gr_attrs_add(t->chunks, set, dtypes == NULL ? NULL : gr_attr_new_strings("all_dtypes", dtypes, schema->count));
}

granary_err
csv_tile(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, struct gr_tiled *out)
{
    struct gr_chunk_spec spec = {
        .op = GR_CHUNK_csv_read, .step = (uint32_t)i, .shared = file_attrs(file, t->chunks), .outputs = 1};
    const struct csv *csv = file->own;
    granary_err err;

    if (csv->tolerates) {
        add_checks(t, csv->lists ? &csv->all : &step->type->schema, spec.shared);
        gr_attrs_add(t->chunks, spec.shared, gr_attr_new_string("name", file->name));
    } else {
        gr_attrs_add(t->chunks, spec.shared, gr_attr_new_int("fields", csv->fields));
    }
    tiling_add_dtypes(t, step, spec.shared);
    add_positions(t, step, spec.shared);
    err = records_tile(t, file, step, &spec, range_attrs, out);
    for (size_t r = 0; err == GRANARY_OK && csv->tolerates && r < out->count; r++) {
        out->rows[r] = -1;
    }
    return err;
}

granary_err
tile_write_csv(struct tiling *t, size_t i)
{
    const struct gr_params_write_csv *params = GR_STEP_PARAMS(write_csv, &t->steps->steps[i]);
    gr_attrs shared = gr_chunks_attrs(t->chunks);
    const gr_attrs own[2] = {gr_chunks_attrs(t->chunks), gr_chunks_attrs(t->chunks)};

    gr_attrs_add(t->chunks, shared, gr_attr_new_string("delimiter", params->delimiter));
    gr_attrs_add(t->chunks, shared, gr_attr_new_string("null_value", params->null_value));
    file_add_packing(t, shared, params->compression, params->path);
    if (file_is_folders(&t->steps->steps[i])) {
        gr_attrs_add(t->chunks, shared, gr_attr_new_bool("header", params->header));
        return file_write_folders(t, i, "csv", params->compression, shared);
    }
    gr_attrs_add(t->chunks, own[0], gr_attr_new_bool("header", params->header));
    gr_attrs_add(t->chunks, own[1], gr_attr_new_bool("header", false));
    return file_write_texts(t, i, GR_CHUNK_csv_format, shared, own);
}
