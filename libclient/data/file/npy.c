/* NPY files, by data/tensor.h; and files of bare numbers, which no ending tells. */
#include "base/error.h"
#include "data/file/format.h"
#include "data/tensor.h"

static granary_err
npy_print_tensor(const granary_tensor *tensor, struct gr_buf *out)
{
    void *data = gr_buf_grow(out, gr_npy_measure(tensor));

    if (data == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory for an NPY file");
    }
    gr_npy_write(tensor, data);
    return GRANARY_OK;
}

const struct gr_format gr_format_npy = {
    .name = "npy",
    .what = "an NPY file",
    .endings = {{.text = ".npy"}},
    .magic = "\x93NUMPY",
    .mistaken = GR_FORMAT_MISTAKEN "an NPY file: read_npy reads it, and `granary load` by a name that ends in .npy",
    .print_tensor = npy_print_tensor,
};

const struct gr_format gr_format_raw = {.name = "raw", .what = "a file of numbers"};
