/*
 * JSON lines. A line feed always ends a record, so blocks of bytes are ranges at once: executors look at the lines that
 * begin in each, and what they tell is put together, names in the order of the file. A part of which all columns are
 * given is looked at alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/file/json_record.h"
#include "data/text/array.h"
#include "tile/file/records.h"

enum { BEGIN_MAX = 4096 }; /* white space before a list may be so long */

/* ---- ranges ---- */

static gr_attrs
range_attrs(const struct gr_file *file, struct gr_chunks *chunks, size_t range)
{
    const struct records *records = file->own;

    return records_bytes_attrs(chunks, records->ranges[range].offset, records->ranges[range].size);
}

static void
enter_infer(struct gr_file *file)
{
    const struct records *records = file->own;

    file->jobs = file->waiting = records->range_count;
    file->stage = "being looked at for types";
    file->asks = true;
}

static bool
is_complete(const struct gr_file *file)
{
    const struct gr_params_read_ndjson *params = GR_NODE_PARAMS(read_ndjson, file->node);

    return params->complete && params->dtypes != NULL && file->is_part &&
           !((const struct records *)file->own)->is_packed;
}

/*
 * Blocks of which all are looked at, in three parts; the one in the middle is read. Of a part whose columns are given
 * the others are a line, which stands for the columns where nothing is read, and nothing.
 */
static granary_err
cut_blocks(struct gr_file *file)
{
    const bool complete = is_complete(file);
    const int64_t from = file->from == file->to ? 1 : file->from;
    const int64_t begins[] = {0, file->from, file->to};
    const int64_t ends[] = {complete && from > 0 ? 1 : file->from, file->to, complete ? file->to : file->file_bytes};
    struct records *records = file->own;
    size_t most = (size_t)(file->file_bytes / file->block_bytes) + 3;

    records->ranges = calloc(most, sizeof *records->ranges);
    records->types = calloc(most, sizeof(Granary__CsvTypes *));
    if (records->ranges == NULL || records->types == NULL) {
        return tile_no_memory();
    }
    records->lines_from = complete ? file->from : 0;
    for (size_t part = 0; part < 3; part++) {
        records->first = part == 1 ? records->range_count : records->first;
        for (int64_t at = begins[part]; at < ends[part]; at += file->block_bytes) {
            int64_t left = ends[part] - at;

            records->ranges[records->range_count++] =
                (struct gr_csv_range){.offset = at, .size = left < file->block_bytes ? left : file->block_bytes};
        }
        records->end = part == 1 ? records->range_count : records->end;
    }
    enter_infer(file);
    return GRANARY_OK;
}

static granary_err
ndjson_look(struct gr_file *file, int fd)
{
    struct records *records = file->own = calloc(1, sizeof *records);
    char begin[BEGIN_MAX];
    size_t size = file->file_bytes < BEGIN_MAX ? (size_t)file->file_bytes : BEGIN_MAX;
    bool is_packed;
    granary_err err = gr_pread_all(fd, begin, size, 0);

    if (err != GRANARY_OK) {
        return gr_fail_in(err, "%s", file->path);
    }
    if (records == NULL) {
        return tile_no_memory();
    }
    if (file->file_bytes == 0) {
        return gr_fail(GRANARY_EINVAL, "%s: empty: no record", file->path);
    }
    err = records_look_packed(file, fd, gr_array_is(begin, size), &is_packed);
    if (err != GRANARY_OK || is_packed) {
        return err;
    }
    return cut_blocks(file);
}

static void
ndjson_start(struct gr_file *file, uint32_t step, struct gr_chunks *chunks)
{
    const struct records *records = file->own;
    struct gr_chunk_spec spec = {.op = GR_CHUNK_ndjson_infer, .step = step};
    struct gr_piece piece;

    if (records->is_packed && !records->is_unpacked) {
        records_start_unpack(file, step, chunks, NULL);
        return;
    }
    spec.shared = gr_chunks_attrs(chunks);
    gr_attrs_add(chunks, spec.shared, gr_attr_new_string("path", file->path));
    gr_attrs_add(chunks, spec.shared, gr_attr_new_int("inode", file->inode));
    for (size_t i = 0; i < file->jobs; i++) {
        spec.own = range_attrs(file, chunks, i);
        records_add_input(file, i, &piece, &spec);
        (void)gr_chunks_add(chunks, &spec);
    }
}

/* ---- what is in them ---- */

/* All names, and what was seen of each. */
struct union_of_names {
    struct gr_texts names;
    uint32_t kinds[GR_JSON_NAMES_MAX];
    bool has_members[GR_JSON_NAMES_MAX];
};

/* The lines of the ranges are counted on the way, so that the first error is told with its line. */
static granary_err
join_ranges(struct gr_file *file, struct union_of_names *all)
{
    const struct records *records = file->own;
    uint64_t line = 1;
    granary_err err = GRANARY_OK;

    for (size_t r = 0; err == GRANARY_OK && r < records->range_count; r++) {
        const Granary__CsvTypes *types = records->types[r];

        line = r == 1 && records->lines_from > 0 ? 1 : line;
        records->ranges[r].line = line;
        line += types->lines;
        if (types->error[0] != '\0') {
            return records_fail(file, r, records->ranges[r].line + types->error_line, "%s", types->error);
        }
        if (types->n_names != types->n_kinds) {
            return gr_fail(GRANARY_EPROTO, "ndjson_infer: %zu names of %zu kinds", types->n_names, types->n_kinds);
        }
        for (size_t i = 0; err == GRANARY_OK && i < types->n_names; i++) {
            uint32_t name;

            err = gr_texts_add(&all->names, (const char *)types->names[i].data, types->names[i].len, &name);
            if (err == GRANARY_OK && name >= GR_JSON_NAMES_MAX) {
                return records_fail(file, r, records->ranges[r].line, "more than %d different names up to here",
                                    GR_JSON_NAMES_MAX);
            }
            if (err == GRANARY_OK) {
                all->kinds[name] |= types->kinds[i];
            }
        }
    }
    return err;
}

static granary_err
add_columns(struct gr_file *file, struct union_of_names *all)
{
    granary_err err = GRANARY_OK;

    gr_json_mark_objects(&all->names, all->has_members);
    for (uint64_t i = 0; err == GRANARY_OK && i < all->names.count; i++) {
        size_t size;
        const char *text = gr_texts_at(&all->names, i, &size);
        char *name = NULL;

        if (all->kinds[i] != GR_KIND_NULL || !all->has_members[i]) {
            name = strndup(text, size);
            err = name == NULL ? tile_no_memory() : records_add_column(file, name, all->kinds[i]);
        }
        free(name);
    }
    if (err == GRANARY_OK && file->type.schema.count == 0) {
        err = gr_fail(GRANARY_EINVAL, "node '%s': %s: no record with a value", file->node->name, file->name);
    }
    return err;
}

static granary_err
add_given(struct gr_file *file, const struct union_of_names *all)
{
    const Granary__Attr *dtypes = GR_NODE_PARAMS(read_ndjson, file->node)->dtypes;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < dtypes->n_keys; i++) {
        err = records_add_column(file, dtypes->keys[i], GR_KIND_NULL);
    }
    for (uint64_t i = 0; err == GRANARY_OK && i < all->names.count; i++) {
        size_t size;
        const char *text = gr_texts_at(&all->names, i, &size);
        char *name = strndup(text, size);
        int at = name == NULL ? -1 : gr_schema_find(&file->type.schema, name);

        if (name == NULL) {
            err = tile_no_memory();
        } else if (at >= 0) {
            file->kinds[at] = all->kinds[i];
        } else if (all->kinds[i] != GR_KIND_NULL) {
            err = gr_fail(GRANARY_EINVAL,
                          "node '%s': %s: column '%s' is not in the dtypes, which are said to be complete: it has come "
                          "since",
                          file->node->name, file->name, name);
        }
        free(name);
    }
    return err;
}

static granary_err
ndjson_feed(struct gr_file *file, size_t job, const ProtobufCBinaryData *answer)
{
    const struct records *records = file->own;
    struct union_of_names *all;
    granary_err err;

    if (records->is_packed && !records->is_unpacked) {
        err = records_take_pieces(file, answer);
        if (err == GRANARY_OK) {
            records_read_all(file);
            enter_infer(file);
        }
        return err;
    }
    err = records_take(file, "ndjson_infer", job, answer);
    if (err != GRANARY_OK || file->waiting > 0) {
        return err;
    }
    all = calloc(1, sizeof *all);
    err = all == NULL ? tile_no_memory() : join_ranges(file, all);
    if (err == GRANARY_OK) {
        err = is_complete(file) ? add_given(file, all) : add_columns(file, all);
    }
    if (all != NULL) {
        gr_texts_free(&all->names);
    }
    free(all);
    return err == GRANARY_OK ? records_settle(file) : err;
}

static void
ndjson_free(struct gr_file *file)
{
    records_fini(file->own);
    free(file->own);
}

/* ---- chunks ---- */

/* A range has as many rows as were seen. */
static gr_attrs
read_attrs(const struct gr_file *file, struct gr_chunks *chunks, size_t range)
{
    const struct records *records = file->own;
    gr_attrs set = range_attrs(file, chunks, range);

    gr_attrs_add(chunks, set, gr_attr_new_int("rows", (int64_t)records->types[range]->records));
    return set;
}

static granary_err
ndjson_tile(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, struct gr_tiled *out)
{
    struct gr_chunk_spec spec = {
        .op = GR_CHUNK_ndjson_read, .step = (uint32_t)i, .shared = file_path_attrs(t, file), .outputs = 1};

    gr_attrs_add(t->chunks, spec.shared, gr_attr_new_int("inode", file->inode));
    tiling_add_dtypes(t, step, spec.shared);
    return records_tile(t, file, step, &spec, read_attrs, out);
}

const struct gr_source gr_source_ndjson = {
    .look = ndjson_look, .tile = ndjson_tile, .start = ndjson_start, .feed = ndjson_feed, .free_own = ndjson_free};

granary_err
tile_write_ndjson(struct tiling *t, size_t i)
{
    const struct gr_params_write_ndjson *params = GR_STEP_PARAMS(write_ndjson, &t->steps->steps[i]);
    gr_attrs shared = gr_chunks_attrs(t->chunks);

    file_add_packing(t, shared, params->compression, params->path);
    if (file_is_folders(&t->steps->steps[i])) {
        return file_write_folders(t, i, "ndjson", params->compression, shared);
    }
    return file_write_texts(t, i, GR_CHUNK_ndjson_format, shared, (const gr_attrs[2]){0, 0});
}
