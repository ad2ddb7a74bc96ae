/* The end of a value, and whom its bytes belong to. */
#include "data/place.h"
#include "kernel/core/call.h"

void
gr_value_free(struct gr_value *value)
{
    gr_frame_destroy(value->frame);
    gr_tensor_free(&value->tensor);
    gr_bytes_free(value->owned_bytes);
    *value = (struct gr_value){0};
}

bool
gr_value_is_owned(const struct gr_value *value)
{
    switch (value->kind) {
    case GR_VALUE_NONE:
        return true;
    case GR_VALUE_FRAME:
        for (size_t c = 0; c < value->frame->count; c++) {
            if (!value->frame->columns[c].owned) {
                return false;
            }
        }
        return true;
    case GR_VALUE_TENSOR:
        return value->tensor.owned != NULL;
    case GR_VALUE_BYTES:
        return value->owned_bytes != NULL;
    }
    return false;
}
