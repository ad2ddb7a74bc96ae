/* The door of the kernels: one by its operator's name. What it is called with: kernel/core/call.h. */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "kernel/core/call.h"

/* Read the parameters of a call and run the kernel of that operator. */
#define CHUNK_OP(name, text) gr_kernel run_##name;
#include "contract/ops/chunk_ops.def"

/* What runs an operator, or NULL when there is none of that name. */
gr_kernel *gr_kernel_find(const char *op);

#endif
