/* The part of the chunk operator linalg that is about complex numbers. */
#ifndef KERNEL_TENSOR_LINALG_H
#define KERNEL_TENSOR_LINALG_H

#include "kernel/tensor/call.h"

/* eig, and whatever has a complex input. */
granary_err linalg_complex(struct gr_kernel_call *call, const struct gr_chunk_linalg *params);

#endif
