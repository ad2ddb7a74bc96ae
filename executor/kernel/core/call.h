/*
 * Kernels: one function an operator of contract/ops/chunk_ops.def. A kernel reads values, and makes new ones on the heap
 * or where they will stay (data/place.h). It touches neither the store nor the network, but for tables that change
 * (kernel/table). The worker writes values that become objects.
 */
#ifndef KERNEL_CORE_CALL_H
#define KERNEL_CORE_CALL_H

#include "base/text/buf.h"
#include "data/frame.h"
#include "data/tensor.h"
#include "graph/graph.h"

enum gr_value_kind { GR_VALUE_NONE, GR_VALUE_FRAME, GR_VALUE_TENSOR, GR_VALUE_BYTES };

/* What flows between operators. Owned by the worker: gr_value_free(). */
struct gr_value {
    enum gr_value_kind kind;
    granary_frame *frame;
    struct gr_tensor tensor;
    const void *bytes; /* BYTES: 64-byte aligned */
    uint64_t bytes_size;
    void *owned_bytes; /* bytes when they are ours (free()), else NULL */
};
void gr_value_free(struct gr_value *value);
/* Whether none of its bytes belong to somebody else: it outlives what it was made from. */
bool gr_value_is_owned(const struct gr_value *value);

struct gr_kernel_call;

/* Errors: ETYPE, EINVAL, ENOMEM, EIO, ...: the message says what and, for files, file and line; the node's name is
 * added by the worker. */
typedef granary_err gr_kernel(struct gr_kernel_call *call);

struct gr_kernel_call {
    const Granary__ChunkOp *op;
    const struct gr_value *inputs; /* valid until the subtask ends, longer than the outputs of this call */
    size_t input_count;
    struct gr_value
        *outputs; /* output_count of kind NONE, to be set. An output may borrow from inputs (filtered columns, ...) */
    size_t output_count;
    struct gr_buf *answer;  /* the packed answer, for operators that have one */
    granary_client *client; /* of the graph's session, for operators on tables that change */
    /* Room for the elements of output 0, a tensor, where it will stay; it returns NULL when they belong on the heap.
     * NULL: they do. */
    void *(*place)(struct gr_kernel_call *call, const granary_tensor *tensor);
    void *placing; /* the worker's */
    /* Output i, bytes, becomes an object now, and leaves memory: of many large ones, in order. NULL: all stay until the
     * end. */
    granary_err (*keep)(struct gr_kernel_call *call, size_t i);
    void *keeping; /* the worker's */
    /* A join is all that reads output 0, by these columns first: the others of a frame may be late (data/frame.h). One a
     * column of the operator's `columns`; NULL: all are wanted at once. */
    const bool *first;
    /* For an operator that runs others: what runs one, NULL when there is none of that name. */
    gr_kernel *(*find)(const char *op);
    /* Whether the subtask is to be given up, which an operator that takes long asks now and then; or NULL. */
    bool (*stopped)(const struct gr_kernel_call *call);
    const void *stopping;           /* the worker's */
    const Granary__ChunkOp *failed; /* set by an operator that runs others: the one that has failed */
};

/* Output i becomes bytes; *takes* them. */
static inline void
call_yield_bytes(struct gr_kernel_call *call, size_t i, void *bytes, uint64_t size)
{
    call->outputs[i] =
        (struct gr_value){.kind = GR_VALUE_BYTES, .bytes = bytes, .bytes_size = size, .owned_bytes = bytes};
}

/* One kernel per operator, which takes its parameters as a struct: an operator without one does not link. */
#define CHUNK_OP(name, text)                                                                                           \
    granary_err kernel_##name(struct gr_kernel_call *call, const struct gr_chunk_##name *params);
#include "contract/ops/chunk_ops.def"

#endif
