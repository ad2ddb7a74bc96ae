/* Chunk operators for tests, as the planner would write them. */
#ifndef TEST_OP_H
#define TEST_OP_H

#include "kernel/kernel.h"

/* An operator of that name, to be freed with granary__chunk_op__free_unpacked(op, NULL). */
Granary__ChunkOp *op_new(const char *name);
/* ... that reads size bytes of a file, from offset on. */
Granary__ChunkOp *op_range(const char *name, const char *path, size_t offset, size_t size);
/* Give it an attribute (gr_attr_new_...). */
void op_attr(Granary__ChunkOp *op, Granary__Attr *attr);

/* Inputs and outputs. id NULL: an output that becomes no object. */
void op_input(Granary__ChunkOp *op, granary_id id);
void op_input_local(Granary__ChunkOp *op, uint32_t from, uint32_t output);
void op_output(Granary__ChunkOp *op, const granary_id *id);

/* Run a kernel: outputs must be freed by the caller, answer too. */
granary_err op_run(gr_kernel *kernel, const Granary__ChunkOp *op, const struct gr_value *inputs, size_t input_count,
                   struct gr_value *outputs, size_t output_count, struct gr_buf *answer);

/* A file in a directory of its own with these bytes; its path. file_remove() frees it. */
char *file_write(const void *bytes, size_t size);
void file_remove(char *path);

#endif
