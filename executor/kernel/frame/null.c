/* null: an operator that does nothing, which measures the scheduler. */
#include "kernel/core/call.h"

granary_err
kernel_null(struct gr_kernel_call *call, const struct gr_chunk_null *params)
{
    (void)params;
    (void)call;
    return GRANARY_OK;
}
