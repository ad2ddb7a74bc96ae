/* A subtask while it runs. subtask.c: inputs, outputs, kernels; subtask_user.c: operators that run user code. */
#ifndef EXECUTOR_SUBTASK_PRIVATE_H
#define EXECUTOR_SUBTASK_PRIVATE_H

#include <string.h>

#include "data/packed.h"
#include "executor/call.h"
#include "executor/parts.h"

/* An object the subtask reads. */
struct input {
    granary_id id;
    uint32_t part;                /* of packed frames, + 1; 0: all of it */
    struct gr_packed_entry entry; /* part > 0: where it is; the view is of it alone */
    bool copied;                  /* ... and of a copy, in run's copies */
    struct gr_value value;        /* once an operator asked for it */
};

struct run {
    struct host *host;
    granary_client *client;
    const Granary__Subtask *subtask;
    Granary__Done *done;
    struct input *inputs; /* distinct */
    granary_view *views;  /* of inputs, leased when leased is true */
    size_t input_count;
    void *copies; /* scratch memory */
    bool leased;
    struct gr_value **values; /* values[op][output] */
    granary_view *kept;       /* results of user code that later operators read, leased */
    size_t kept_count;
    struct gr_buf tail; /* what user code printed before it failed */
    int64_t store_ns;
    bool store_lost;
};

static inline bool
is_object(const Granary__Operand *operand)
{
    return operand->object.len != 0;
}

static inline granary_id
id_of(const ProtobufCBinaryData *bytes)
{
    granary_id id;

    memcpy(id.bytes, bytes->data, sizeof id.bytes);
    return id;
}

/* Note the store's silence: it is no fault of the subtask. */
static inline granary_err
store_failed(struct run *run, granary_err err)
{
    run->store_lost = run->store_lost || err == GRANARY_EUNREACHABLE;
    return err;
}

/* Position of an object, or a part of one, among the inputs; input_count when it is not there. */
size_t run_find_input(const struct run *run, granary_id id, uint32_t part);

/* Make objects of those outputs of an operator that are to be. sealed: those that are already; NULL: none */
granary_err
run_keep_outputs(struct run *run, const Granary__ChunkOp *op, const struct gr_value *values, const bool *sealed);

/* Run operator `position`, a call or a program. */
granary_err run_user_code(struct run *run, size_t position);

#endif
