/* Arrow and NPY files: opened, their footers or headers read, cut at record batches or rows. */
#include "tile/source/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/arrow/arrow.h"
#include "data/tensor.h"

enum { NPY_HEAD = 64 << 10 }; /* of a file, in which its header ends */

static bool
gr_file_is_read(enum gr_tile_op op)
{
    return op == GR_TILE_read_arrow || op == GR_TILE_read_npy || op == GR_TILE_read_raw;
}

bool
gr_file_is(enum gr_tile_op op)
{
    return gr_file_is_read(op) || op == GR_TILE_write_csv || op == GR_TILE_write_arrow || op == GR_TILE_write_npy;
}

void
gr_file_destroy(struct gr_file *file)
{
    if (file != NULL) {
        gr_schema_free(&file->type.schema);
        free(file->parts);
        free(file->path);
        free(file);
    }
}

/* ---- looking ---- */

/* Open it for reading; a pipe must not hold us up. */
static granary_err
open_regular(struct gr_file *file, int *ret_fd)
{
    struct stat info;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    granary_err err = GRANARY_OK;

    if (fd < 0 || fstat(fd, &info) < 0) {
        err = gr_fail_errno("%s", file->path);
    } else if (!S_ISREG(info.st_mode)) {
        err = gr_fail(GRANARY_EINVAL, "%s: is no regular file", file->path);
    } else {
        file->file_bytes = info.st_size;
        file->modified_ns = info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    }
    if (err != GRANARY_OK) {
        gr_fd_close(&fd);
        return err;
    }
    *ret_fd = fd;
    return GRANARY_OK;
}

/* Batches that follow one another as chunks of about that many bytes. */
static granary_err
cut_batches(struct gr_file *file, const struct gr_arrow_batch *batches, size_t count, int64_t chunk_bytes)
{
    size_t made = 0;

    file->parts = calloc(count + 1, sizeof *file->parts);
    if (file->parts == NULL) {
        return tile_no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        struct gr_file_part *part = &file->parts[made > 0 ? made - 1 : 0];

        if (made == 0 || part->bytes + batches[i].bytes > (uint64_t)chunk_bytes) {
            part = &file->parts[made++];
            *part = (struct gr_file_part){.first = i};
        }
        part->count++;
        part->rows += batches[i].rows;
        part->bytes += batches[i].bytes;
    }
    file->part_count = made > 0 ? made : 1; /* a file without batches: a chunk without rows */
    return GRANARY_OK;
}

static granary_err
look_at_arrow(struct gr_file *file, const struct gr_csv_options *options)
{
    const struct gr_arrow_batch *batches;
    struct gr_arrow_file *arrow;
    size_t count;
    granary_err err = gr_arrow_file_open(file->path, &arrow);

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
        err = cut_batches(file, batches, count, gr_csv_block(file->file_bytes, options));
    }
    gr_arrow_file_close(arrow);
    return err;
}

static void
set_tensor(struct gr_file *file, const granary_tensor *tensor, uint64_t values_at)
{
    file->type.is_tensor = true;
    file->type.dtype = tensor->dtype;
    file->type.dims = tensor->dims;
    memcpy(file->type.shape, tensor->shape, sizeof file->type.shape);
    file->values_at = values_at;
}

static granary_err
look_at_npy(struct gr_file *file, int fd)
{
    size_t size = file->file_bytes < NPY_HEAD ? (size_t)file->file_bytes : NPY_HEAD;
    char *head = malloc(size + 1);
    granary_tensor tensor = {0};
    uint64_t at = 0;
    granary_err err = head == NULL ? tile_no_memory() : gr_pread_all(fd, head, size, 0);

    if (err == GRANARY_OK) {
        err = gr_npy_head(head, size, (uint64_t)file->file_bytes, &tensor, &at);
    }
    free(head);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "%s", file->path);
    }
    set_tensor(file, &tensor, at);
    return GRANARY_OK;
}

static granary_err
look_at_raw(struct gr_file *file, const Granary__Node *node)
{
    const Granary__Attr *shape = gr_attr_find(node->attrs, node->n_attrs, "shape");
    granary_dtype dtype = gr_dtype_parse(gr_attr_string(node->attrs, node->n_attrs, "dtype", ""));
    int64_t offset = gr_attr_int(node->attrs, node->n_attrs, "offset", 0);
    granary_tensor tensor;
    uint64_t bytes;
    granary_err err = gr_npy_plan(dtype, (int)shape->n_ints, shape->ints, &tensor);

    if (err != GRANARY_OK) {
        return err;
    }
    bytes = (uint64_t)gr_tensor_elements(&tensor) * gr_tensor_element(dtype);
    if (offset < 0 || offset > file->file_bytes || bytes > (uint64_t)(file->file_bytes - offset)) {
        return gr_fail(GRANARY_EINVAL, "%s: has %lld bytes; from byte %lld on that is less than the %llu of its shape",
                       file->path, (long long)file->file_bytes, (long long)offset, (unsigned long long)bytes);
    }
    set_tensor(file, &tensor, (uint64_t)offset);
    return GRANARY_OK;
}

/* A file to be made: its folder is there, and takes new files. */
static granary_err
look_at_target(const struct gr_file *file)
{
    char *folder = strdup(file->path);
    struct stat info;
    granary_err err = folder == NULL ? tile_no_memory() : GRANARY_OK;

    if (err == GRANARY_OK) {
        *strrchr(folder, '/') = '\0';
        if (stat(folder[0] == '\0' ? "/" : folder, &info) < 0 || access(folder[0] == '\0' ? "/" : folder, W_OK) < 0) {
            err = gr_fail_errno("%s", folder);
        } else if (!S_ISDIR(info.st_mode)) {
            err = gr_fail(GRANARY_EINVAL, "%s: is no folder", folder);
        } else if (stat(file->path, &info) == 0 && !S_ISREG(info.st_mode)) {
            err = gr_fail(GRANARY_EINVAL, "%s: is there, and is no regular file", file->path);
        }
    }
    free(folder);
    return err;
}

static granary_err
look_at(struct gr_file *file, const struct gr_graph_node *node, const struct gr_csv_options *options)
{
    int fd = -1;
    granary_err err;

    if (!gr_file_is_read(node->op)) {
        return look_at_target(file);
    }
    err = open_regular(file, &fd);
    if (err == GRANARY_OK) {
        err = node->op == GR_TILE_read_arrow ? look_at_arrow(file, options)
              : node->op == GR_TILE_read_npy ? look_at_npy(file, fd)
                                             : look_at_raw(file, node->node);
    }
    gr_fd_close(&fd);
    file->type.known = err == GRANARY_OK;
    return err;
}

granary_err
gr_file_create(const struct gr_graph_node *node, const struct gr_csv_options *options, struct gr_file **ret_file)
{
    struct gr_file *file = calloc(1, sizeof *file);
    granary_err err = GRANARY_OK;

    if (file != NULL) {
        file->path =
            gr_absolute_path(options->directory, gr_attr_string(node->node->attrs, node->node->n_attrs, "path", ""));
    }
    if (file == NULL || file->path == NULL) {
        err = tile_no_memory();
    }
    err = err == GRANARY_OK ? look_at(file, node, options) : err;
    if (err != GRANARY_OK) {
        gr_file_destroy(file);
        return gr_fail_in(err, "node '%s' (%s)", node->node->name, node->node->op);
    }
    *ret_file = file;
    return GRANARY_OK;
}
