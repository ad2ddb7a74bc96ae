/* Files that are read and written, CSV read aside. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "tile/source/file.h"
#include "tile/tensor/tensor.h"

static gr_attrs
path_attrs(struct tiling *t, size_t i)
{
    gr_attrs set = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, set, gr_attr_new_string("path", t->sources->files[i]->path));
    return set;
}

/* ---- read ---- */

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

granary_err
tile_read_arrow(struct tiling *t, size_t i)
{
    const struct gr_file *file = t->sources->files[i];
    const struct gr_step *step = &t->steps->steps[i];
    struct gr_chunk_spec spec = {
        .op = GR_CHUNK_arrow_read, .step = (uint32_t)i, .outputs = 1, .shared = path_attrs(t, i)};
    struct gr_tiled *out = &t->tiled[i];
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

granary_err
tile_read_parquet(struct tiling *t, size_t i)
{
    (void)t;
    (void)i;
    return gr_fail(GRANARY_EUNSUPPORTED, "Parquet files cannot be read yet"); /* refused with the graph, in fact */
}

static granary_err
tile_file_tensor(struct tiling *t, size_t i)
{
    const struct gr_file *file = t->sources->files[i];
    gr_attrs shared = path_attrs(t, i);

    gr_attrs_add(t->chunks, shared, gr_attr_new_string("dtype", granary_dtype_name(file->type.dtype)));
    gr_attrs_add(t->chunks, shared, gr_attr_new_int("at", (int64_t)file->values_at));
    return tile_tensor_source(t, i, GR_CHUNK_tensor_read, shared);
}

TILE_AS(read_npy, tile_file_tensor(t, i))
TILE_AS(read_raw, tile_file_tensor(t, i))

/* ---- write ---- */

/* One operator that has all of it, and makes the file. */
static granary_err
write_all(struct tiling *t, size_t i, enum gr_chunk_op op, const struct gr_piece *pieces, size_t count)
{
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tiled_init(t, out, 1, true);

    if (err == GRANARY_OK) {
        out->rows[0] = 1;
        out->bytes[0] = 1024;
        out->pieces[0] = tiling_add(t, i, op, path_attrs(t, i), pieces, count, out->bytes[0]);
    }
    return err;
}

granary_err
tile_write_csv(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_tiled *in = tiling_input(t, i, 0);
    struct gr_piece *texts = tiling_scratch(t, in->count, sizeof *texts);
    size_t count;
    Granary__Attr *const *attrs = gr_step_attrs(step, &count);
    bool header = gr_attr_bool(attrs, count, "header", true);
    struct gr_chunk_spec spec = {.op = GR_CHUNK_csv_format, .step = (uint32_t)i, .outputs = 1, .input_count = 1};

    if (texts == NULL) {
        return tile_no_memory();
    }
    spec.shared = gr_chunks_attrs(t->chunks);
    gr_attrs_add(t->chunks, spec.shared,
                 gr_attr_new_string("delimiter", gr_attr_string(attrs, count, "delimiter", ",")));
    gr_attrs_add(t->chunks, spec.shared,
                 gr_attr_new_string("null_value", gr_attr_string(attrs, count, "null_value", "")));
    for (size_t p = 0; p < in->count; p++) {
        spec.own = gr_chunks_attrs(t->chunks);
        gr_attrs_add(t->chunks, spec.own, gr_attr_new_bool("header", header && p == 0));
        spec.inputs = &in->pieces[p];
        spec.bytes = in->bytes[p];
        texts[p] = gr_chunks_add(t->chunks, &spec);
    }
    return write_all(t, i, GR_CHUNK_file_write, texts, in->count);
}

granary_err
tile_write_arrow(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = tiling_input(t, i, 0);

    return write_all(t, i, GR_CHUNK_arrow_write, in->pieces, in->count);
}

granary_err
tile_write_npy(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = &t->tiled[t->steps->steps[i].inputs[0]];
    struct gr_tiled whole;
    int64_t block[8];
    granary_err err;

    for (int d = 0; d < 8; d++) {
        block[d] = d < in->grid->dims && in->grid->shape[d] > 0 ? in->grid->shape[d] : 1;
    }
    err = grid_rechunk(t, i, in, block, &whole);
    return err == GRANARY_OK ? write_all(t, i, GR_CHUNK_npy_write, whole.pieces, whole.count) : err;
}
