/* Chunk operators for tests, as the planner would write them. */
#ifndef TEST_OP_H
#define TEST_OP_H

#include "kernel/kernel.h"

/* An operator of that name, to be freed with granary__chunk_op__free_unpacked(op, NULL). */
Granary__ChunkOp *op_new(const char *name);
/* Give it an attribute (gr_attr_new_...). */
void op_attr(Granary__ChunkOp *op, Granary__Attr *attr);

/* Run a kernel: outputs must be freed by the caller, answer too. */
granary_err op_run(gr_kernel *kernel, const Granary__ChunkOp *op, const struct gr_value *inputs, size_t input_count,
                   struct gr_value *outputs, size_t output_count, struct gr_buf *answer);

/* A file in a directory of its own with these bytes; its path. file_remove() frees it. */
char *file_write(const void *bytes, size_t size);
void file_remove(char *path);

#endif
