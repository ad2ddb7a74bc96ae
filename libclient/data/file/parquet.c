/* Parquet files, by room parquet: the footer tells names and rows; a frame is written as write_parquet writes it, with
 * zstd. */
#include "parquet/parquet.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/error.h"
#include "base/fd.h"
#include "data/file/format.h"
#include "data/file/paths/regular.h"
#include "data/frame.h"
#include "parquet/write/write.h"

static granary_err
parquet_sketch(const char *path, const char *delimiter, struct gr_sketch *sketch)
{
    struct gr_parquet *file = NULL;
    const struct gr_parquet_column *columns;
    struct stat info;
    size_t count = 0;
    int fd;
    granary_err err = gr_regular_open(path, &fd, &info);

    (void)delimiter;
    err = err == GRANARY_OK ? gr_parquet_open(fd, (uint64_t)info.st_size, path, &file) : err;
    gr_fd_close(&fd);
    if (err != GRANARY_OK) {
        return err;
    }
    sketch->rows = (double)gr_parquet_rows(file);
    columns = gr_parquet_columns(file, &count);
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        err = sketch->column(sketch, columns[i].name);
    }
    gr_parquet_close(file);
    return err;
}

/* ---- written ---- */

static size_t
zstd_most(size_t raw_size)
{
    return ZSTD_compressBound(raw_size);
}

static size_t
zstd_pack(void *context, const uint8_t *raw, size_t raw_size, uint8_t *packed, size_t room)
{
    size_t size = ZSTD_compressCCtx(context, packed, room, raw, raw_size, ZSTD_CLEVEL_DEFAULT);

    return ZSTD_isError(size) ? 0 : size;
}

static granary_err
add_bytes(void *out, const void *bytes, size_t size)
{
    gr_buf_add(out, bytes, size);
    return gr_buf_ok(out) ? GRANARY_OK : gr_no_memory("a Parquet file");
}

static granary_err
parquet_print_frame(const granary_frame *frame, struct gr_buf *out)
{
    const struct gr_parquet_packer packer = {
        .codec = GR_PARQUET_ZSTD, .most = zstd_most, .pack = zstd_pack, .own = ZSTD_createCCtx()};
    const struct gr_parquet_style style = {.packer = &packer};
    const granary_column **columns = calloc(frame->count + 1, sizeof *columns);
    struct gr_parquet_writer *writer = NULL;
    struct gr_buf groups = {0};
    granary_err err = columns == NULL || packer.own == NULL ? gr_no_memory("a Parquet file") : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < frame->count; i++) {
        columns[i] = &frame->columns[i].view;
    }
    if (err == GRANARY_OK) {
        err = gr_parquet_put_groups(columns, frame->count, 0, frame->rows, &style, &groups);
    }
    err = err == GRANARY_OK ? gr_parquet_writer_create(add_bytes, out, &writer) : err;
    err = err == GRANARY_OK ? gr_parquet_writer_add(writer, groups.bytes, groups.size) : err;
    err = err == GRANARY_OK ? gr_parquet_writer_finish(writer) : err;
    gr_parquet_writer_destroy(writer);
    gr_buf_free(&groups);
    (void)ZSTD_freeCCtx(packer.own);
    free(columns);
    return err;
}

const struct gr_format gr_format_parquet = {
    .name = "parquet",
    .what = "a Parquet file",
    .endings = {{.text = ".parquet"}, {.text = ".parq"}},
    .magic = "PAR1",
    .mistaken = GR_FORMAT_MISTAKEN "a Parquet file: read_parquet reads it, and so does a name that ends in .parquet",
    .sketch = parquet_sketch,
    .print_frame = parquet_print_frame,
};
