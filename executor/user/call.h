/*
 * One run of user code: what stands behind granary/call.h.
 *
 * call_run.c sets it up, runs it and judges; call.c inputs and context; call_output.c outputs in place; call_frame.c
 * frames column by column. exec.c runs programs with the same inputs and outputs.
 */
#ifndef EXECUTOR_USER_CALL_H
#define EXECUTOR_USER_CALL_H

#include "executor/user/host.h"
#include "granary/call.h"
#include "kernel/kernel.h"

/* How long a result waits for room in a full store before the subtask fails, to be tried again. */
#define ROOM_MS 30000

/* An input: a leased object, or a value of the same subtask that never became one. */
struct operand {
    const granary_view *view;     /* NULL: it is value */
    const struct gr_value *value; /* valid until the subtask ends */
};

/* An operator that runs user code. */
struct user_op {
    struct host *host;
    granary_client *client;
    const Granary__Subtask *subtask;
    const Granary__ChunkOp *op;
    const struct operand *inputs; /* op->n_inputs */
    struct gr_value *outputs;     /* op->n_outputs, of kind NONE: those that are not sealed yet are given here */
    bool *sealed;                 /* op->n_outputs: output i became its object, and is in the answer */
    Granary__Done *done;          /* gets log, peak, outputs, go_on, whose fault it was */
    bool leased;                  /* some of the inputs are */
    struct gr_buf *tail;          /* what was printed last, when it failed */
    int64_t store_ns;             /* spent with the store */
};

/* Operator "call". Errors: the function's own · as library_load(), library_function() · of the store: the caller notes
 */
granary_err call_run(struct user_op *op);
/* Operator "exec". Errors: EFAILED its exit status · ENOENT no such program · ECANCELLED · ETIMEDOUT · the store's */
granary_err exec_run(struct user_op *op);

/* What is printed from here on is the subtask's; in an embedded worker it stays the program's. */
void user_capture_begin(struct user_op *op);
/* No longer; the answer tells of it. Returns err, or ENOMEM */
granary_err user_capture_end(struct user_op *op, granary_err err);

/* ---- inputs as read-only bytes (operand.c) ---- */

struct call_input {
    granary_view view; /* of a value: of its copy, no lease */
    void *copy;        /* mapped for this run; NULL */
    size_t copy_size;
    granary_frame *frame; /* once asked for */
    bool is_tensor;
    granary_tensor tensor;
};

/* Errors: ENOMEM */
granary_err input_open(struct call_input *input, const struct operand *operand);
void input_close(struct call_input *input);

/* ---- outputs (call_output.c) ---- */

struct output {
    const ProtobufCBinaryData *id; /* len 0: it becomes no object */
    granary_buffer buffer;         /* when in_store */
    bool given;
    bool in_store;
    bool later; /* there was no room: it is on the heap, and op->outputs[i] when it is kept */
    void *heap; /* not in_store: gr_data_alloc() */
    uint64_t size;
};

/* Room for an output. Errors: EFULL · ENOMEM · EUNREACHABLE */
granary_err output_create(struct user_op *op, struct output *output, uint64_t size);
/* Another size; what both have stays. Errors: the same */
granary_err output_resize(struct user_op *op, struct output *output, uint64_t size);
/* The bytes of a given output. */
void *output_data(const struct output *output);
/* Seal it and tell so in the answer, or leave it as a value in op->outputs[i]. Errors: of the store · ENOMEM */
granary_err output_keep(struct user_op *op, struct output *output, size_t i);
/* What was not kept is given back. */
void output_drop(struct user_op *op, struct output *output);

/* What bytes are: a frame, a tensor, or just bytes; the value borrows them. */
void value_of_bytes(const void *bytes, uint64_t size, const void *meta, uint64_t meta_size, struct gr_value *ret_value);

/* ---- the call ---- */

struct new_column {
    char *name;
    struct gr_column column;
};

struct granary_call {
    struct user_op *op;
    struct library *library;
    granary_call_context context;
    const Granary__Attr *params; /* NULL: none */
    struct call_input *inputs;
    struct output *outputs;
    uint64_t turn; /* of host->turns */
    /* the frame it makes, column by column (call_frame.c) */
    bool frame_begun;
    bool rows_set; /* no columns of the first input */
    int64_t rows;
    struct new_column *columns;
    size_t column_count;
    int64_t *kept; /* rows; NULL: all */
    int64_t kept_count;
    /* the end */
    bool go_on;
    granary_err failed;    /* granary_call_fail() */
    granary_err store_err; /* what the store refused, no fault of the function */
    char message[768];
};

/* The call is failed with the thread's message. Returns err. */
granary_err call_failed(granary_call *call, granary_err err);
/* Errors: as granary_call_frame() */
granary_err call_frame_of(granary_call *call, size_t i, const granary_frame **ret_frame);
/* The frame that was made, as a value of output 0; it may borrow from the first input. Errors: ENOMEM · EFULL */
granary_err call_frame_finish(granary_call *call, struct gr_value *ret_value);
void call_frame_free(granary_call *call);

#endif
