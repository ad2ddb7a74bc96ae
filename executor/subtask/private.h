/*
 * A subtask while it runs. subtask.c: its operators; inputs.c, packed.c, spilled.c, wanted.c: what it reads; outputs.c,
 * placed.c: what it makes; user.c: operators that run user code.
 *
 * Nobody waits long for room, or for an object to be brought back, while it leases objects. A leased object cannot
 * make room, so several that do could wait for each other.
 */
#ifndef EXECUTOR_SUBTASK_PRIVATE_H
#define EXECUTOR_SUBTASK_PRIVATE_H

#include <string.h>

#include "data/layout/packed.h"
#include "executor/user/call.h"
#include "executor/user/parts.h"

/* An object the subtask reads. */
struct input {
    granary_id id;
    uint32_t part;                /* of packed frames, + 1; 0: all of it */
    struct gr_packed_entry entry; /* part > 0: where it is; the view is of it alone */
    bool copied;                  /* ... and of a copy, in run's copies */
    void *copy;                   /* part == 0: mapped, and what the view is of; NULL: it is of the object */
    uint64_t copy_size;
    char *read;            /* part == 0: scratch memory for what was read from disk, and what the value is of */
    bool foreign;          /* anybody may have made it */
    struct gr_value value; /* once an operator asked for it */
};

/* An output there was no room for. */
struct late {
    granary_id id;
    void *data, *meta; /* scratch memory of data */
    uint64_t size, meta_size;
};

struct placed;

struct run {
    struct host *host;
    granary_client *client;
    const Granary__Subtask *subtask;
    Granary__Done *done;
    struct input *inputs; /* distinct */
    granary_view *views;  /* of inputs */
    size_t input_count;
    void *copies;      /* scratch memory */
    bool leased;       /* some view has a lease */
    struct late *late; /* already in the answer */
    size_t late_count;
    struct gr_value **values;       /* values[op][output] */
    struct placed *placed;          /* the output that is made in the store */
    size_t yielder;                 /* the operator whose output that is, the last one that has any */
    const Granary__ChunkOp *failed; /* within the operator at work, which runs others; NULL: itself */
    size_t kept_outputs;            /* of the operator at work: so many of the first are objects already */
    size_t maker;                   /* the operator that may make it; SIZE_MAX: none */
    granary_view *kept;             /* results of user code that later operators read, leased */
    size_t kept_count;
    struct gr_buf tail; /* what user code printed before it failed */
    int64_t start_ns;
    int64_t store_ns; /* of the time since then */
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

/* So long inputs stay leased while there is no room. */
#define GIVE_WAY_MS 10

/* ---- inputs ---- */

/* Position of an object, or a part of one, among the inputs; input_count when it is not there. */
size_t run_find_input(const struct run *run, granary_id id, uint32_t part);
/* Check operands and outputs, and list the objects that are read. Errors: EPROTO · ENOMEM */
granary_err run_collect_inputs(struct run *run);
/* All of them; lost ones are told in the answer. Errors: as granary_object_get() · EFULL also for one not in time */
granary_err run_lease_inputs(struct run *run);
/* All inputs that are parts: views of run, or copies. *ret_failed: the input that could not be had.
 * Errors: as granary_object_get_range() · ECORRUPT */
granary_err run_get_parts(struct run *run, size_t *ret_failed);
void run_release_inputs(struct run *run);
/* One that is read while no other one is leased, until run_release_input(). Errors: the same */
granary_err run_lease_input(struct run *run, size_t position);
void run_release_input(struct run *run, size_t position);
/* An object as a value: what it is follows from its first bytes. Errors: of the readers */
granary_err run_open_input(struct run *run, size_t position);

/* Read spilled inputs from disk, as far as that is better than to bring them back (spilled.c): those have a value then
 * and are leased no more. */
void run_read_spilled(struct run *run);
/* A spilled frame as a value without values, of which only what its directory tells is known. False: it is none. */
bool run_outline_spilled(struct run *run, size_t position);
/* Forget what was read of it, with its value. */
void run_drop_read(struct input *input);

/* ---- outputs ---- */

/* Make objects of those outputs of an operator that are to be. sealed: those that are already; NULL: none */
granary_err
run_keep_outputs(struct run *run, const Granary__ChunkOp *op, const struct gr_value *values, const bool *sealed);
/* The same of one, while the operator runs. */
granary_err run_keep_output(struct run *run, const Granary__ChunkOp *op, const struct gr_value *values, size_t i);
/* At the end: the inputs go, and what there was no room for is put into the store. Errors: of the store */
granary_err run_keep_late(struct run *run);
void run_drop_late(struct run *run);
/* Whether none of these values borrows. */
bool run_are_owned(const struct gr_value *values, size_t count);

/* Run operator `position`, a call or a program. */
granary_err run_user_code(struct run *run, size_t position);

#endif
