/* What the tile rules of files share: what names a file, and how one file is made of many chunks. */
#include "tile/file/tiles.h"

#include "data/text/packing.h"

gr_attrs
file_path_attrs(struct tiling *t, const struct gr_file *file)
{
    gr_attrs set = gr_chunks_attrs(t->chunks);

    gr_attrs_add(t->chunks, set, gr_attr_new_string("path", file->path));
    return set;
}

granary_err
file_write_whole(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs attrs, const struct gr_piece *pieces,
                 size_t count)
{
    struct gr_tiled *out = &t->tiled[i];
    granary_err err = tiled_init(t, out, 1, true);

    if (err == GRANARY_OK) {
        out->rows[0] = 1;
        out->bytes[0] = 1024;
        out->pieces[0] = tiling_add(t, i, op, attrs, pieces, count, out->bytes[0]);
    }
    return err;
}

granary_err
file_write_all(struct tiling *t, size_t i, enum gr_chunk_op op, const struct gr_piece *pieces, size_t count)
{
    return file_write_whole(t, i, op, file_path_attrs(t, t->sources->files[i]), pieces, count);
}

void
file_add_packing(struct tiling *t, gr_attrs set, const char *compression, const char *path)
{
    size_t stem;

    gr_attrs_add(t->chunks, set,
                 gr_attr_new_string("packing", compression != NULL ? compression
                                                                   : gr_packing_name(gr_packing_of_path(path, &stem))));
}

granary_err
file_write_texts(struct tiling *t, size_t i, enum gr_chunk_op op, gr_attrs shared, const gr_attrs own[2])
{
    const struct gr_tiled *in = tiling_input(t, i, 0);
    struct gr_piece *texts = tiling_scratch(t, in->count, sizeof *texts);
    struct gr_chunk_spec spec = {.op = op, .step = (uint32_t)i, .shared = shared, .outputs = 1, .input_count = 1};

    if (texts == NULL) {
        return tile_no_memory();
    }
    for (size_t p = 0; p < in->count; p++) {
        spec.own = own[p > 0];
        spec.inputs = &in->pieces[p];
        spec.bytes = in->bytes[p];
        texts[p] = gr_chunks_add(t->chunks, &spec);
    }
    return file_write_all(t, i, GR_CHUNK_file_write, texts, in->count);
}
