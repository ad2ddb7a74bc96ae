/*
 * The table of kernels, from contract/ops/chunk_ops.def: an operator without a kernel does not link. Before a kernel runs, its
 * parameters are read into their struct, so that none is missing or of another kind.
 */
#include "kernel/kernel.h"

#include <string.h>

#include "base/error.h"

#define CHUNK_OP(name, text)                                                                                           \
    granary_err run_##name(struct gr_kernel_call *call)                                                                \
    {                                                                                                                  \
        struct gr_chunk_##name params = {.given = 0};                                                                  \
        granary_err err =                                                                                              \
            gr_params_read(gr_chunk_params_of(GR_CHUNK_##name), call->op->attrs, call->op->n_attrs, &params);          \
                                                                                                                       \
        return err == GRANARY_OK ? kernel_##name(call, &params) : gr_fail_in(err, "%s", call->op->op);                 \
    }
#include "contract/ops/chunk_ops.def"

static const struct {
    const char *op;
    gr_kernel *kernel;
} kernels[] = {
#define CHUNK_OP(name, text) {#name, run_##name},
#include "contract/ops/chunk_ops.def"
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
