/* null: an operator that does nothing, which measures the scheduler. */
#include "kernel/core/call.h"

granary_err
kernel_null(struct gr_kernel_call *call)
{
    (void)call;
    return GRANARY_OK;
}
