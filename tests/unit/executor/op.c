#include "unit/executor/op.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Granary__ChunkOp *
op_new(const char *name)
{
    Granary__ChunkOp *op = malloc(sizeof *op);

    assert(op != NULL);
    granary__chunk_op__init(op);
    op->op = strdup(name);
    return op;
}

void
op_attr(Granary__ChunkOp *op, Granary__Attr *attr)
{
    assert(attr != NULL);
    op->attrs = realloc(op->attrs, (op->n_attrs + 1) * sizeof(Granary__Attr *));
    assert(op->attrs != NULL);
    op->attrs[op->n_attrs++] = attr;
}

static Granary__Operand *
add_operand(Granary__ChunkOp *op)
{
    Granary__Operand *operand = malloc(sizeof *operand);

    assert(operand != NULL);
    granary__operand__init(operand);
    op->inputs = realloc(op->inputs, (op->n_inputs + 1) * sizeof(Granary__Operand *));
    assert(op->inputs != NULL);
    op->inputs[op->n_inputs++] = operand;
    return operand;
}

Granary__ChunkOp *
op_range(const char *name, const char *path, size_t offset, size_t size)
{
    Granary__ChunkOp *op = op_new(name);

    op_attr(op, gr_attr_new_string("path", path));
    op_attr(op, gr_attr_new_int("offset", (int64_t)offset));
    op_attr(op, gr_attr_new_int("size", (int64_t)size));
    return op;
}

void
op_input(Granary__ChunkOp *op, granary_id id)
{
    Granary__Operand *operand = add_operand(op);

    operand->object.len = sizeof id.bytes;
    operand->object.data = malloc(sizeof id.bytes);
    assert(operand->object.data != NULL);
    memcpy(operand->object.data, id.bytes, sizeof id.bytes);
}

void
op_input_local(Granary__ChunkOp *op, uint32_t from, uint32_t output)
{
    Granary__Operand *operand = add_operand(op);

    operand->op = from;
    operand->output = output;
}

void
op_output(Granary__ChunkOp *op, const granary_id *id)
{
    ProtobufCBinaryData bytes = {0};

    if (id != NULL) {
        bytes.len = sizeof id->bytes;
        bytes.data = malloc(sizeof id->bytes);
        assert(bytes.data != NULL);
        memcpy(bytes.data, id->bytes, sizeof id->bytes);
    }
    op->outputs = realloc(op->outputs, (op->n_outputs + 1) * sizeof *op->outputs);
    assert(op->outputs != NULL);
    op->outputs[op->n_outputs++] = bytes;
}

granary_err
op_run(gr_kernel *kernel, const Granary__ChunkOp *op, const struct gr_value *inputs, size_t input_count,
       struct gr_value *outputs, size_t output_count, struct gr_buf *answer)
{
    struct gr_buf none = {0};
    struct gr_kernel_call call = {
        .op = op,
        .inputs = inputs,
        .input_count = input_count,
        .outputs = outputs,
        .output_count = output_count,
        .answer = answer == NULL ? &none : answer,
    };
    granary_err err = kernel(&call);

    gr_buf_free(&none);
    return err;
}

char *
file_write(const void *bytes, size_t size)
{
    char template[] = "/tmp/granary-test-XXXXXX";
    int fd = mkstemp(template);
    ssize_t written;

    assert(fd >= 0);
    written = write(fd, bytes, size);
    assert(written == (ssize_t)size);
    (void)written;
    (void)close(fd);
    return strdup(template);
}

void
file_remove(char *path)
{
    (void)unlink(path);
    free(path);
}
