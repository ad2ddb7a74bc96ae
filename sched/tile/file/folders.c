/* Rows that become files in folders: chunks become pieces of files side by side, and one operator makes the files of them. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "data/text/packing.h"
#include "tile/file/tiles.h"

#define PIECES_FEW                                                                                                     \
    ((uint64_t)32 << 20) /* chunks with fewer bytes are put together, up to so many: fewer pieces a file */
#define PIECES_MOST 64

bool
file_is_folders(const struct gr_step *step)
{
    return GR_STEP_PARAMS(write_parquet, step)->partition_by != NULL;
}

/* How many chunks from there on are written as one. */
static size_t
together(const struct gr_tiled *in, size_t piece)
{
    uint64_t bytes = in->bytes[piece];
    size_t count = 1;

    while (piece + count < in->count && count < PIECES_MOST && bytes + in->bytes[piece + count] <= PIECES_FEW) {
        bytes += in->bytes[piece + count++];
    }
    return count;
}

/* "part-0.csv.gz"; of a file beside others, "part-TOKEN.csv.gz" */
static void
print_name(const struct gr_params_write_parquet *params, const char *format, const char *packing, char name[96])
{
    static const char *const endings[GR_PACKINGS] = {
        [GR_PACKING_GZIP] = ".gz", [GR_PACKING_ZSTD] = ".zst", [GR_PACKING_LZ4] = ".lz4", [GR_PACKING_BZIP2] = ".bz2"};
    enum gr_packing kind = GR_PACKING_NONE;
    const char *ending = packing != NULL && gr_packing_parse(packing, &kind) ? endings[kind] : NULL;

    if (strcmp(params->existing, "append") == 0) {
        (void)snprintf(name, 96, "part-%016llx.%s%s", (unsigned long long)*params->token, format,
                       ending == NULL ? "" : ending);
    } else {
        (void)snprintf(name, 96, "part-0.%s%s", format, ending == NULL ? "" : ending);
    }
}

granary_err
file_write_folders(struct tiling *t, size_t i, const char *format, const char *packing, gr_attrs shared)
{
    const struct gr_step *step = &t->steps->steps[i];
    const struct gr_params_write_parquet *params = GR_STEP_PARAMS(write_parquet, step);
    const struct gr_tiled *in = tiling_input(t, i, 0);
    struct gr_chunk_spec spec = {
        .op = GR_CHUNK_folders_format, .step = (uint32_t)i, .shared = shared, .outputs = 1, .input_count = 1};
    struct gr_piece *made = tiling_scratch(t, in->count, sizeof *made);
    struct gr_tiled *out = &t->tiled[i];
    gr_attrs last = file_path_attrs(t, t->sources->files[i]);
    size_t count = 0;
    char name[96];
    granary_err err = made == NULL ? tile_no_memory() : GRANARY_OK;

    if (err == GRANARY_OK && strcmp(params->existing, "append") == 0 && params->token == NULL) {
        err = gr_fail(GRANARY_EINVAL, "parameter 'token': the scheduler gives one");
    }
    if (err != GRANARY_OK) {
        return err;
    }
    gr_attrs_add(t->chunks, shared, gr_attr_new_string("format", format));
    gr_attrs_add(t->chunks, shared,
                 gr_attr_new_strings("keys", params->partition_by->strings, params->partition_by->n_strings));
    for (size_t p = 0; p < in->count; p += spec.input_count) {
        spec.input_count = (uint32_t)together(in, p);
        spec.inputs = &in->pieces[p];
        spec.bytes = bytes_sum(&in->bytes[p], spec.input_count);
        made[count++] = gr_chunks_add(t->chunks, &spec);
    }
    print_name(params, format, packing, name);
    gr_attrs_add(t->chunks, last, gr_attr_new_string("existing", params->existing));
    gr_attrs_add(t->chunks, last, gr_attr_new_string("format", format));
    gr_attrs_add(t->chunks, last, gr_attr_new_string("name", name));
    err = tiled_init(t, out, 1, true);
    if (err == GRANARY_OK) {
        out->bytes[0] = 1024;
        out->pieces[0] = tiling_add(t, i, GR_CHUNK_folders_write, last, made, count, out->bytes[0]);
    }
    return err;
}
