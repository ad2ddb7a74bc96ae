/* The table of kernels, from contract/chunk_ops.def: an operator without a kernel does not link. */
#include "kernel/kernel.h"

#include <string.h>

static const struct {
    const char *op;
    gr_kernel *kernel;
} kernels[] = {
#define CHUNK_OP(name, text) {#name, kernel_##name},
#include "contract/chunk_ops.def"
#undef CHUNK_OP
};

gr_kernel *
gr_kernel_find(const char *op)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        if (strcmp(kernels[i].op, op) == 0) {
            return kernels[i].kernel;
        }
    }
    return NULL;
}
