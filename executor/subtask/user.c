/* Operators of a subtask that run user code: their operands are bytes, their outputs may have become objects already.
 */
#include <stdlib.h>

#include "base/error.h"
#include "executor/subtask/private.h"

/* Whether an operator behind this one reads its output. */
static bool
is_read_later(const struct run *run, size_t position, size_t output)
{
    for (size_t o = position + 1; o < run->subtask->n_ops; o++) {
        const Granary__ChunkOp *op = run->subtask->ops[o];

        for (size_t i = 0; i < op->n_inputs; i++) {
            if (!is_object(op->inputs[i]) && op->inputs[i]->op == position && op->inputs[i]->output == output) {
                return true;
            }
        }
    }
    return false;
}

/* What was sealed where it was made is read as any other object. */
static granary_err
read_back(struct run *run, const Granary__ChunkOp *op, size_t output, struct gr_value *ret_value)
{
    granary_view *kept = realloc(run->kept, (run->kept_count + 1) * sizeof *kept);
    granary_view *view;
    granary_err err;

    if (kept == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for a result");
    }
    run->kept = kept;
    view = &kept[run->kept_count];
    err = granary_object_get(run->client, id_of(&op->outputs[output]), 0, view);
    if (err == GRANARY_OK) {
        run->kept_count++;
        value_of_bytes(view->data, view->data_size, view->meta, view->meta_size, ret_value);
    }
    return store_failed(run, err);
}

/* Operands are bytes for user code, whatever they contain. */
static void
find_operands(const struct run *run, const Granary__ChunkOp *op, struct operand *operands)
{
    for (size_t i = 0; i < op->n_inputs; i++) {
        const Granary__Operand *operand = op->inputs[i];

        if (is_object(operand)) {
            operands[i].view = &run->views[run_find_input(run, id_of(&operand->object), 0)];
        } else {
            operands[i].value = &run->values[operand->op][operand->output];
        }
    }
}

granary_err
run_user_code(struct run *run, size_t position)
{
    const Granary__ChunkOp *op = run->subtask->ops[position];
    struct operand *operands = calloc(op->n_inputs + 1, sizeof *operands);
    struct gr_value *outputs = calloc(op->n_outputs + 1, sizeof *outputs);
    bool *sealed = calloc(op->n_outputs + 1, sizeof *sealed);
    struct user_op user = {.host = run->host,
                           .client = run->client,
                           .subtask = run->subtask,
                           .op = op,
                           .inputs = operands,
                           .outputs = outputs,
                           .sealed = sealed,
                           .done = run->done,
                           .leased = run->leased,
                           .tail = &run->tail};
    granary_err err = GRANARY_OK;

    run->values[position] = outputs;
    if (operands == NULL || outputs == NULL || sealed == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "%zu inputs: out of memory", op->n_inputs);
        goto end;
    }
    find_operands(run, op, operands);
    page_phase(&run->host->page, GR_PHASE_RUN);
    err = strcmp(op->op, "exec") == 0 ? exec_run(&user) : call_run(&user);
    run->store_ns += user.store_ns;
    if (err == GRANARY_OK) {
        err = run_keep_outputs(run, op, outputs, sealed);
    }
    for (size_t i = 0; err == GRANARY_OK && i < op->n_outputs; i++) {
        if (sealed[i] && is_read_later(run, position, i)) {
            err = read_back(run, op, i, &outputs[i]);
        }
    }
    if (!run->done->user_failed) {
        err = store_failed(run, err);
    }

end:
    free(operands);
    free(sealed);
    return err;
}
