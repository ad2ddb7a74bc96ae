/* Inputs of user code: bytes that cannot be written. */
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "data/arrow/arrow.h"
#include "executor/user/call.h"

#define ALIGNED(size) (((size) + 63) / 64 * 64)

/* A value as the bytes it would have as an object. */
static granary_err
copy_value(struct call_input *input, const struct gr_value *value)
{
    uint64_t meta_size = 0;
    uint64_t size = 0;
    granary_err err = GRANARY_OK;
    char *bytes;

    if (value->kind == GR_VALUE_FRAME) {
        err = gr_arrow_measure(value->frame, &size, &meta_size);
    } else if (value->kind == GR_VALUE_TENSOR) {
        size = gr_npy_measure(&value->tensor.view);
    } else {
        size = value->bytes_size;
    }
    if (err != GRANARY_OK) {
        return err;
    }
    input->copy_size = ALIGNED(size) + meta_size + 1;
    bytes = mmap(NULL, input->copy_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        return gr_fail(GRANARY_ENOMEM, "an input of %llu bytes: out of memory", (unsigned long long)size);
    }
    if (value->kind == GR_VALUE_FRAME) {
        gr_arrow_write(value->frame, bytes, bytes + ALIGNED(size));
    } else if (value->kind == GR_VALUE_TENSOR) {
        gr_npy_write(&value->tensor.view, bytes);
    } else if (size > 0) {
        memcpy(bytes, value->bytes, size);
    }
    (void)mprotect(bytes, input->copy_size, PROT_READ);
    input->copy = bytes;
    input->view = (granary_view){.data = bytes,
                                 .data_size = size,
                                 .meta = meta_size == 0 ? NULL : bytes + ALIGNED(size),
                                 .meta_size = meta_size};
    return GRANARY_OK;
}

granary_err
input_open(struct call_input *input, const struct operand *operand)
{
    *input = (struct call_input){.copy = NULL};
    if (operand->view != NULL) {
        input->view = *operand->view;
        return GRANARY_OK;
    }
    return copy_value(input, operand->value);
}

void
input_close(struct call_input *input)
{
    gr_frame_destroy(input->frame);
    if (input->copy != NULL) {
        (void)munmap(input->copy, input->copy_size);
    }
}
