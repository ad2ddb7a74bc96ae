/* NPY files, whose headers tell dtype and shape, and files of bare numbers, of which the node tells both. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/frame.h"
#include "data/tensor.h"
#include "graph/tensor/types.h"
#include "tile/file/tiles.h"
#include "tile/tensor/tensor.h"

enum { NPY_HEAD = 64 << 10 }; /* of a file, in which its header ends */

/* Rows of a part lie one behind the other: they are an array themselves. The parts are those of `split`. */
static granary_err
keep_part(struct gr_file *file)
{
    const struct gr_params_read_npy *params = GR_NODE_PARAMS(read_npy, file->node); /* as of read_raw */
    int64_t parts = *params->parts;
    int64_t part = *params->part;
    int64_t each = file->type.shape[0] / parts; /* of no dimension it is not used */
    int64_t larger = file->type.shape[0] % parts;
    int64_t row = file->is_half ? 2 : (int64_t)gr_tensor_element(file->type.dtype);

    if (file->type.dims == 0) {
        return gr_fail(GRANARY_EINVAL, "%s: parameter 'part': a tensor without dimensions has no parts", file->path);
    }
    for (int d = 1; d < file->type.dims; d++) {
        row *= file->type.shape[d];
    }
    file->values_at += (uint64_t)((part * each + (part < larger ? part : larger)) * row);
    file->type.shape[0] = each + (part < larger);
    return GRANARY_OK;
}

static granary_err
set_tensor(struct gr_file *file, const granary_tensor *tensor, uint64_t values_at)
{
    file->type.is_tensor = true;
    file->type.dtype = tensor->dtype;
    file->type.dims = tensor->dims;
    memcpy(file->type.shape, tensor->shape, sizeof file->type.shape);
    file->values_at = values_at;
    return file->is_part ? keep_part(file) : GRANARY_OK;
}

static granary_err
npy_look(struct gr_file *file, int fd)
{
    size_t size = file->file_bytes < NPY_HEAD ? (size_t)file->file_bytes : NPY_HEAD;
    char *head = malloc(size + 1);
    granary_tensor tensor = {0};
    uint64_t at = 0;
    granary_err err = head == NULL ? tile_no_memory() : gr_pread_all(fd, head, size, 0);

    if (err == GRANARY_OK) {
        err = gr_npy_head(head, size, (uint64_t)file->file_bytes, &tensor, &at, &file->is_half);
    }
    free(head);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "%s", file->path);
    }
    return set_tensor(file, &tensor, at);
}

static granary_err
raw_look(struct gr_file *file, int fd)
{
    const struct gr_params_read_raw *params = GR_NODE_PARAMS(read_raw, file->node);
    const Granary__Attr *shape = params->shape;
    granary_dtype dtype = gr_tensor_dtype_parse(params->dtype);
    int64_t offset = params->offset;
    granary_tensor tensor;
    uint64_t bytes;
    granary_err err = gr_npy_plan(dtype, (int)shape->n_ints, shape->ints, &tensor);

    (void)fd;
    if (err != GRANARY_OK) {
        return err;
    }
    bytes = (uint64_t)gr_tensor_elements(&tensor) * gr_tensor_element(dtype);
    if (offset < 0 || offset > file->file_bytes || bytes > (uint64_t)(file->file_bytes - offset)) {
        return gr_fail(GRANARY_EINVAL, "%s: has %lld bytes; from byte %lld on that is less than the %llu of its shape",
                       file->path, (long long)file->file_bytes, (long long)offset, (unsigned long long)bytes);
    }
    return set_tensor(file, &tensor, (uint64_t)offset);
}

static granary_err
npy_tile(struct tiling *t, size_t i, const struct gr_file *file, const struct gr_step *step, struct gr_tiled *out)
{
    gr_attrs shared = file_path_attrs(t, file);

    (void)step;
    (void)out; /* it is step i's */
    gr_attrs_add(t->chunks, shared, gr_attr_new_string("dtype", granary_dtype_name(file->type.dtype)));
    gr_attrs_add(t->chunks, shared, gr_attr_new_int("at", (int64_t)file->values_at));
    gr_attrs_add(t->chunks, shared, gr_attr_new_bool("half", file->is_half));
    return tile_tensor_source(t, i, GR_CHUNK_tensor_read, shared);
}

const struct gr_source gr_source_npy = {.look = npy_look, .tile = npy_tile};
const struct gr_source gr_source_raw = {.look = raw_look, .tile = npy_tile};

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
    return err == GRANARY_OK ? file_write_all(t, i, GR_CHUNK_npy_write, whole.pieces, whole.count) : err;
}
