/* The answer to a subtask, as it grows. */
#ifndef EXECUTOR_LINK_ANSWER_H
#define EXECUTOR_LINK_ANSWER_H

#include <stdbool.h>

#include "kernel/kernel.h"
#include "schema/granary.pb-c.h"

/* An answer without outputs; message is copied. NULL: out of memory. */
Granary__Done *answer_create(const Granary__Subtask *subtask, granary_err err, const char *message);

/* Bytes added to a list of the answer; false: out of memory. */
bool answer_add_bytes(ProtobufCBinaryData **list, size_t *count, const void *bytes, size_t size);

/* A text of the answer, copied, instead of what it was; false: out of memory. */
bool answer_set_text(char **text, const char *value);

/* An output that became an object, of size bytes. Errors: ENOMEM */
granary_err
answer_add_output(Granary__Done *done, const struct gr_value *value, const ProtobufCBinaryData *id, uint64_t size);

/* Room for what each operator of the subtask takes; none when it only measures the scheduler. Errors: ENOMEM */
granary_err answer_add_ops(Granary__Done *done, const Granary__Subtask *subtask);
/* Operator o is done. first_output: how many outputs there were before it; values: what it made, may be NULL */
void
answer_note_op(Granary__Done *done, size_t o, int64_t nanoseconds, size_t first_output, const struct gr_value *values);

/*
 * It failed after all, in an operator (NULL: before any): err with the thread's message, and no outputs. What was found
 * out about its inputs and its log stays.
 *
 * tail    what user code printed last, told behind the message; may be NULL or empty
 * Errors  ENOMEM
 */
granary_err answer_fail(Granary__Done *done, granary_err err, const Granary__ChunkOp *op, const struct gr_buf *tail);

#endif
