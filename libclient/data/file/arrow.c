/* Arrow IPC files, by data/arrow: the footer tells names and rows. */
#include <stdlib.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "data/file/format.h"

static granary_err
arrow_sketch(const char *path, const char *delimiter, struct gr_sketch *sketch)
{
    const struct gr_arrow_batch *batches;
    struct gr_arrow_file *file = NULL;
    granary_dtype dtype;
    size_t count = 0;
    granary_err err = gr_arrow_file_open(path, &file);

    (void)delimiter;
    if (err != GRANARY_OK) {
        return err;
    }
    batches = gr_arrow_file_batches(file, &count);
    sketch->rows = 0;
    for (size_t i = 0; i < count; i++) {
        sketch->rows += (double)batches[i].rows;
    }
    for (size_t i = 0; err == GRANARY_OK && i < gr_arrow_file_columns(file); i++) {
        err = sketch->column(sketch, gr_arrow_file_column(file, i, &dtype));
    }
    gr_arrow_file_close(file);
    return err;
}

static granary_err
arrow_print_frame(const granary_frame *frame, struct gr_buf *out)
{
    uint64_t data_size;
    uint64_t meta_size;
    granary_err err = gr_arrow_measure(frame, &data_size, &meta_size);
    void *meta;
    void *data;

    if (err != GRANARY_OK) {
        return err;
    }
    meta = gr_data_alloc(meta_size);
    data = gr_buf_grow(out, data_size);
    if (meta == NULL || data == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "out of memory for an Arrow file of %llu bytes", (unsigned long long)data_size);
    } else {
        gr_arrow_write(frame, data, meta);
    }
    free(meta);
    return err;
}

const struct gr_format gr_format_arrow = {
    .name = "arrow",
    .what = "an Arrow file",
    .endings = {{.text = ".arrow"}, {.text = ".feather"}, {.text = ".ipc"}},
    .magic = "ARROW1",
    .mistaken = GR_FORMAT_MISTAKEN "an Arrow file: read_arrow reads it, and so does a name that ends in .arrow",
    .sketch = arrow_sketch,
    .print_frame = arrow_print_frame,
};
