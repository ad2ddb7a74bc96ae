/* Any bytes as an NPY file: a tensor within them, or an error with a message. */
#include <stdlib.h>
#include <string.h>

#include "data/print/print.h"
#include "data/tensor.h"
#include "fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct gr_buf text = {0};
    struct gr_tensor tensor;

    if (gr_npy_open(bytes, size, &tensor) != GRANARY_OK) {
        if (granary_error_message()[0] == '\0') {
            abort();
        }
        return 0;
    }
    gr_print_tensor(&tensor.view, 100, &text);
    gr_print_tensor_json(&tensor.view, &text);
    gr_buf_free(&text);
    gr_tensor_free(&tensor);
    return 0;
}
