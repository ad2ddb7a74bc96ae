#include <stdlib.h>

#include "kernel/kernel.h"

void
gr_value_free(struct gr_value *value)
{
    gr_frame_destroy(value->frame);
    gr_tensor_free(&value->tensor);
    free(value->owned_bytes);
    *value = (struct gr_value){0};
}
