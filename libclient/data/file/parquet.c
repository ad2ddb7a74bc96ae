/* Parquet files, by room parquet: the footer tells names and rows. */
#include "parquet/parquet.h"
#include "base/error.h"
#include "base/fd.h"
#include "data/file/format.h"
#include "data/file/regular.h"

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

const struct gr_format gr_format_parquet = {
    .name = "parquet",
    .what = "a Parquet file",
    .endings = {{.text = ".parquet"}, {.text = ".parq"}},
    .magic = "PAR1",
    .mistaken = GR_FORMAT_MISTAKEN "a Parquet file: read_parquet reads it, and so does a name that ends in .parquet",
    .sketch = parquet_sketch,
};
