/* An answer's lists grow an item at a time: they are short. */
#include "executor/link/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/text.h"

bool
answer_add_bytes(ProtobufCBinaryData **list, size_t *count, const void *bytes, size_t size)
{
    ProtobufCBinaryData *grown = realloc(*list, (*count + 1) * sizeof *grown);
    uint8_t *copy;

    if (grown == NULL) {
        return false;
    }
    *list = grown;
    copy = malloc(size + 1);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, bytes, size);
    grown[(*count)++] = (ProtobufCBinaryData){.data = copy, .len = size};
    return true;
}

bool
answer_set_text(char **text, const char *value)
{
    char *copy = strdup(value);

    if (copy == NULL) {
        return false;
    }
    if (*text != protobuf_c_empty_string) {
        free(*text);
    }
    *text = copy;
    return true;
}

Granary__Done *
answer_create(const Granary__Subtask *subtask, granary_err err, const char *message)
{
    Granary__Done *done = malloc(sizeof *done);

    if (done == NULL) {
        return NULL;
    }
    granary__done__init(done);
    done->number = subtask->number;
    done->attempt = subtask->attempt;
    done->err = err;
    if (message[0] != '\0' && !answer_set_text(&done->message, message)) {
        granary__done__free_unpacked(done, NULL);
        return NULL;
    }
    return done;
}

granary_err
answer_add_output(Granary__Done *done, const struct gr_value *value, const ProtobufCBinaryData *id, uint64_t size)
{
    Granary__Output *output = malloc(sizeof *output);
    Granary__Output **grown = realloc(done->outputs, (done->n_outputs + 1) * sizeof *grown);

    if (grown != NULL) {
        done->outputs = grown;
    }
    if (output == NULL || grown == NULL) {
        free(output);
        return gr_no_memory("an answer");
    }
    granary__output__init(output);
    grown[done->n_outputs++] = output; /* freed with done from here on */
    output->bytes = size;
    output->rows = value->kind == GR_VALUE_FRAME ? value->frame->rows : -1;
    output->id.data = malloc(id->len);
    if (value->kind == GR_VALUE_TENSOR && value->tensor.view.dims > 0) {
        output->shape = malloc((size_t)value->tensor.view.dims * sizeof *output->shape);
        if (output->shape != NULL) {
            output->n_shape = (size_t)value->tensor.view.dims;
            memcpy(output->shape, value->tensor.view.shape, output->n_shape * sizeof *output->shape);
        }
    }
    if (output->id.data == NULL ||
        (value->kind == GR_VALUE_TENSOR && output->n_shape != (size_t)value->tensor.view.dims)) {
        return gr_no_memory("an answer");
    }
    memcpy(output->id.data, id->data, id->len);
    output->id.len = id->len;
    return GRANARY_OK;
}

/* What only an answer without error has. */
static void
drop_results(Granary__Done *done)
{
    for (size_t i = 0; i < done->n_outputs; i++) {
        granary__output__free_unpacked(done->outputs[i], NULL);
    }
    free(done->outputs);
    done->outputs = NULL;
    done->n_outputs = 0;
    for (size_t i = 0; i < done->n_inlines; i++) {
        free(done->inlines[i].data);
    }
    free(done->inlines);
    done->inlines = NULL;
    done->n_inlines = 0;
    for (size_t i = 0; i < done->n_go_on_targets; i++) {
        free(done->go_on_targets[i]);
    }
    free(done->go_on_targets);
    done->go_on_targets = NULL;
    done->n_go_on_targets = 0;
    granary__graph__free_unpacked(done->go_on, NULL);
    done->go_on = NULL;
}

granary_err
answer_fail(Granary__Done *done, granary_err err, const Granary__ChunkOp *op, const struct gr_buf *tail)
{
    bool in_node = op != NULL && op->node[0] != '\0';
    struct gr_buf message = {0};

    if (in_node) {
        err = gr_fail_in(err, "node '%s' (%s)", op->node, op->op);
    }
    gr_buf_addf(&message, "%s", granary_error_message());
    if (tail != NULL && tail->size > 0) {
        gr_buf_addf(&message, "\nlast output:\n");
        gr_buf_add(&message, tail->bytes, tail->size);
    }
    if (gr_buf_ok(&message)) {
        gr_text_blank(message.bytes, message.size, "\n\t"); /* it is shown on terminals, and messages are UTF-8 */
    }
    drop_results(done);
    done->err = err;
    if (!gr_buf_ok(&message) || !answer_set_text(&done->message, message.bytes) ||
        (in_node && !answer_set_text(&done->node, op->node))) {
        err = gr_no_memory("an answer");
    } else {
        err = GRANARY_OK;
    }
    gr_buf_free(&message);
    return err;
}

granary_err
answer_add_ops(Granary__Done *done, const Granary__Subtask *subtask)
{
    size_t count = subtask->n_ops;

    if (count == 1 && strcmp(subtask->ops[0]->op, "null") == 0) {
        return GRANARY_OK;
    }
    done->op_nanoseconds = calloc(count, sizeof *done->op_nanoseconds);
    done->op_rows = calloc(count, sizeof *done->op_rows);
    done->op_bytes = calloc(count, sizeof *done->op_bytes);
    if (done->op_nanoseconds == NULL || done->op_rows == NULL || done->op_bytes == NULL) {
        return gr_no_memory("an answer");
    }
    done->n_op_nanoseconds = done->n_op_rows = done->n_op_bytes = count;
    return GRANARY_OK;
}

void
answer_note_op(Granary__Done *done, size_t o, int64_t nanoseconds, size_t first_output, const struct gr_value *values)
{
    if (o >= done->n_op_nanoseconds) {
        return;
    }
    done->op_nanoseconds[o] += (uint64_t)nanoseconds;
    for (size_t i = first_output; i < done->n_outputs; i++) {
        done->op_bytes[o] += done->outputs[i]->bytes;
    }
    if (values != NULL && values[0].kind == GR_VALUE_FRAME && values[0].frame != NULL) {
        done->op_rows[o] = (uint64_t)values[0].frame->rows;
    }
}
