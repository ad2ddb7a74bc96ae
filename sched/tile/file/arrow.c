/* Arrow files: the footer tells columns and record batches, which become chunks as they follow one another. */
#include <stdlib.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "tile/file/tiles.h"

/* Batches that follow one another as chunks of about that many bytes. */
static granary_err
cut_batches(struct gr_file *file, const struct gr_arrow_batch *batches, size_t count)
{
    uint64_t first, end;
    size_t made = 0;

    gr_file_part(file, count, &first, &end);
    file->parts = calloc(count + 1, sizeof *file->parts);
    if (file->parts == NULL) {
        return tile_no_memory();
    }
    for (size_t i = first; i < end; i++) {
        struct gr_file_part *part = &file->parts[made > 0 ? made - 1 : 0];

        if (made == 0 || part->bytes + batches[i].bytes > (uint64_t)file->block_bytes) {
            part = &file->parts[made++];
            *part = (struct gr_file_part){.first = i};
        }
        part->count++;
        part->rows += batches[i].rows;
        part->bytes += batches[i].bytes;
    }
    file->part_count = made > 0 ? made : 1; /* without batches: a chunk without rows */
    return GRANARY_OK;
}

static granary_err
arrow_look(struct gr_file *file, int fd)
{
    const struct gr_arrow_batch *batches;
    struct gr_arrow_file *arrow;
    size_t count;
    granary_err err = gr_arrow_file_open(file->path, &arrow);

    (void)fd;
    if (err != GRANARY_OK) {
        return err;
    }
    for (size_t i = 0; err == GRANARY_OK && i < gr_arrow_file_columns(arrow); i++) {
        granary_dtype dtype;
        const char *name = gr_arrow_file_column(arrow, i, &dtype);

        err = gr_schema_find(&file->type.schema, name) >= 0
                  ? gr_fail(GRANARY_EINVAL, "%s: it has column '%s' twice", file->path, name)
                  : gr_schema_add(&file->type.schema, name, dtype);
    }
    if (err == GRANARY_OK) {
        batches = gr_arrow_file_batches(arrow, &count);
        err = cut_batches(file, batches, count);
    }
    gr_arrow_file_close(arrow);
    return err;
}

/* The file has columns that cannot be read, one of which is wanted: say which. */
static granary_err
refuse_columns(const struct gr_step *step, const char *path)
{
    const struct gr_schema *schema = &step->type->schema;
    struct gr_arrow_file *file = NULL;
    granary_err err = gr_arrow_file_open(path, &file);
    bool *wanted = err == GRANARY_OK ? calloc(gr_arrow_file_columns(file) + 1, sizeof *wanted) : NULL;

    if (err == GRANARY_OK) {
        err = wanted == NULL ? tile_no_memory() : GRANARY_OK;
    }
    for (size_t i = 0; err == GRANARY_OK && i < gr_arrow_file_columns(file); i++) {
        granary_dtype dtype;
        int at = gr_schema_find(schema, gr_arrow_file_column(file, i, &dtype));

        wanted[i] = at >= 0 && gr_step_yields(step, (size_t)at);
    }
    if (err == GRANARY_OK) {
        err = gr_arrow_file_check(file, wanted);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "%s", path);
    }
    free(wanted);
    gr_arrow_file_close(file);
    return err;
}

/* That all columns that are wanted can be read. */
static granary_err
check_columns(const struct gr_step *step, const char *path)
{
    const struct gr_schema *schema = &step->type->schema;

    for (size_t c = 0; c < schema->count; c++) {
        if (!gr_field_is_readable(&schema->fields[c]) && gr_step_yields(step, c)) {
            return refuse_columns(step, path);
        }
    }
    return GRANARY_OK;
}

static granary_err
arrow_tile(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, struct gr_tiled *out)
{
    struct gr_chunk_spec spec = {
        .op = GR_CHUNK_arrow_read, .step = (uint32_t)i, .outputs = 1, .shared = file_path_attrs(t, file)};
    granary_err err = tiled_init(t, out, file->part_count, true);

    if (err == GRANARY_OK) {
        err = check_columns(step, file->path);
    }
    tiling_add_dtypes(t, step, spec.shared);
    for (size_t p = 0; err == GRANARY_OK && p < out->count; p++) {
        const struct gr_file_part *part = &file->parts[p];

        out->rows[p] = part->rows;
        out->bytes[p] = part->bytes / (step->type->schema.count + 1) * (gr_step_width(step) + 1);
        spec.bytes = out->bytes[p];
        spec.own = gr_chunks_attrs(t->chunks);
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("first", (int64_t)part->first));
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("count", (int64_t)part->count));
        out->pieces[p] = gr_chunks_add(t->chunks, &spec);
    }
    return err;
}

const struct gr_source gr_source_arrow = {.look = arrow_look, .tile = arrow_tile};

granary_err
tile_write_arrow(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);

    if (file_is_folders(&t->steps->steps[i])) {
        return file_write_folders(t, i, "arrow", NULL, gr_chunks_attrs(t->chunks));
    }
    return file_write_all(t, i, GR_CHUNK_arrow_write, in->pieces, in->count);
}
