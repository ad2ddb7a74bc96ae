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
