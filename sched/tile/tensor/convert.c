/* from_tensor, to_tensor: frames out of tensors, and tensors out of frames. */
#include "base/error.h"
#include "tile/core/rules.h"

/* Blocks of whole rows, as many as an automatic block holds, but no more than there are in a block now. */
granary_err
tile_from_tensor(struct tiling *t, size_t i)
{
    const struct gr_tiled *in = &t->tiled[t->steps->steps[i].inputs[0]];
    gr_attrs attrs = tiling_attrs(t, i, NAMES("columns"));
    int64_t block[8] = {in->grid->block[0], in->grid->dims == 2 ? in->grid->shape[1] : 0};
    int64_t most = in->grid->dims == 2 && in->grid->splits[1] > 1 ? tile_block_elements(t) / block[1] : block[0];
    struct gr_tiled *out = &t->tiled[i];
    struct gr_tiled rows;
    granary_err err;

    block[0] = block[0] < most ? block[0] : most > 0 ? most : 1;
    err = grid_rechunk(t, i, in, block, &rows);
    if (err == GRANARY_OK) {
        err = tiled_init(t, out, rows.count, true);
    }
    for (size_t n = 0; err == GRANARY_OK && n < rows.count; n++) {
        int64_t offset[8], size[8];

        grid_block(rows.grid, n, offset, size);
        out->rows[n] = size[0];
        out->bytes[n] = rows.bytes[n];
        out->pieces[n] = tiling_add(t, i, GR_CHUNK_from_tensor, attrs, &rows.pieces[n], 1, rows.bytes[n]);
    }
    return err;
}

/* The columns' names, in order. */
static Granary__Attr *
columns_attr(struct tiling *t, const struct gr_step *step)
{
    const struct gr_schema *schema = &t->steps->steps[step->inputs[0]].type->schema;
    const Granary__Attr *columns = gr_step_attr(step, "columns");
    char **names;

    if (columns != NULL) {
        return gr_attr_copy(columns);
    }
    names = tiling_scratch(t, schema->count, sizeof *names);
    for (size_t c = 0; names != NULL && c < schema->count; c++) {
        names[c] = schema->fields[c].name;
    }
    return names == NULL ? NULL : gr_attr_new_strings("columns", names, schema->count);
}

/* Block n: the pieces that have rows of it, in a row. */
static void
add_block(struct tiling *t, size_t i, const struct gr_tiled *in, const int64_t *rows, gr_attrs shared, size_t n)
{
    struct gr_tiled *out = &t->tiled[i];
    struct gr_chunk_spec spec = {.op = GR_CHUNK_to_tensor, .step = (uint32_t)i, .shared = shared, .outputs = 1};
    int64_t offset[8], size[8];
    int64_t before = 0;
    size_t first = 0;
    size_t behind;
    int64_t end;

    grid_block(out->grid, n, offset, size);
    while (first + 1 < in->count && before + rows[first] <= offset[0]) {
        before += rows[first++];
    }
    behind = first + 1;
    end = before + rows[first];
    while (behind < in->count && end < offset[0] + size[0]) {
        end += rows[behind++];
    }
    spec.inputs = &in->pieces[first];
    spec.input_count = behind - first;
    spec.own = gr_chunks_attrs(t->chunks);
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("skip", offset[0] - before));
    gr_attrs_add(t->chunks, spec.own, gr_attr_new_int("rows", size[0]));
    spec.bytes = out->bytes[n];
    out->pieces[n] = gr_chunks_add(t->chunks, &spec);
}

granary_err
tile_to_tensor(struct tiling *t, size_t i)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_node_type *type = step->type;
    const struct gr_tiled *in = tiling_input(t, i, 0);
    const struct gr_measured *measured = tiling_measured(t, i, 0);
    int64_t columns = type->dims == 2 ? type->shape[1] : 1;
    int64_t block[8] = {tile_block_elements(t) / columns, columns};
    int64_t shape[8] = {0, columns};
    gr_attrs attrs;
    granary_err err;

    if (measured == NULL) {
        return TILE_WAIT;
    }
    shape[0] = measured->all_rows;
    block[0] = block[0] > 0 ? block[0] : 1;
    if (!gr_type_is_unsized(type) && shape[0] != type->shape[0]) {
        return gr_fail(GRANARY_EINVAL, "parameter 'rows' is %lld, but the frame has %lld", (long long)type->shape[0],
                       (long long)shape[0]);
    }
    attrs = gr_chunks_attrs(t->chunks);
    gr_attrs_add(t->chunks, attrs, columns_attr(t, step));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_string("dtype", granary_dtype_name(type->dtype)));
    gr_attrs_add(t->chunks, attrs, gr_attr_new_bool("flat", type->dims == 1));
    err = tiled_init_grid(t, &t->tiled[i], type->dims, shape, block);
    for (size_t n = 0; err == GRANARY_OK && n < t->tiled[i].count; n++) {
        add_block(t, i, in, measured->rows, attrs, n);
    }
    return err;
}
