/*
 * The output of a subtask that is made in the store, where it will stay: a tensor's elements, or the columns of a frame
 * or bytes (data/place.h), without a copy.
 */
#ifndef EXECUTOR_SUBTASK_PLACED_H
#define EXECUTOR_SUBTASK_PLACED_H

#include "data/layout/directory.h"
#include "data/place.h"
#include "granary/store.h"
#include "kernel/kernel.h"

struct run;

struct placed {
    struct gr_place place; /* of a frame or bytes */
    struct run *run;
    const Granary__ChunkOp *op; /* whose output it is */
    granary_buffer buffer;
    bool in_store; /* buffer is to be sealed or given up */
    bool in_place; /* it is in place */
};

/* The last operator with an output: those behind it only tell of what there is. SIZE_MAX: none has one. */
size_t placed_yielder(const Granary__Subtask *subtask);
/* The operator that makes what that one yields: that one, or one of which it only passes columns on. SIZE_MAX: it has not
 * one output that stays. */
size_t placed_maker(const Granary__Subtask *subtask);

/* Before the kernel of that operator runs, and after. The values it made are to be freed before placed_drop(). */
void placed_offer(struct placed *placed, struct run *run, struct gr_kernel_call *call);
void placed_close(struct placed *placed);

/*
 * When all operators have run: seal what was made in the store. *ret_sealed: the output is there. A frame that does
 * not fit into its place after all is left to be written anew.
 */
granary_err placed_settle(struct placed *placed, const struct gr_value *value, bool *ret_sealed);
/* Give up what is not sealed; its memory stays what it is until something else is made. */
void placed_give_up(struct placed *placed);
/* The same, and no value lies there any more. */
void placed_drop(struct placed *placed);

#endif
