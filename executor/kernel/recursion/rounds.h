/* The body of a recursion: operators that are run again each round. */
#ifndef KERNEL_RECURSION_ROUNDS_H
#define KERNEL_RECURSION_ROUNDS_H

#include "kernel/core/call.h"

struct rounds {
    struct gr_kernel_call *call;
    struct gr_value before;   /* the rows of the round before; borrowed */
    struct gr_value **values; /* values[op][output] */
    struct gr_value **inputs; /* of each operator */
    bool *varies;             /* by operator: it depends on the round */
};

/* Check the body, and run what is the same in all rounds. rounds_end() is due either way. Errors: EPROTO · ENOMEM · of
 * the operators */
granary_err rounds_begin(struct rounds *rounds, struct gr_kernel_call *call);
/* Run the others on these rows. *ret_frame is what they make; rounds_forget() ends it. Errors: of the operators */
granary_err rounds_run(struct rounds *rounds, granary_frame *before, granary_frame **ret_frame);
void rounds_forget(struct rounds *rounds);
void rounds_end(struct rounds *rounds);

#endif
