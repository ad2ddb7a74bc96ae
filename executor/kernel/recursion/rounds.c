/* The operators of a body stand in an order in which each takes what those before it have made. */
#include "kernel/recursion/rounds.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool
fits(const struct rounds *rounds, size_t position, const Granary__Operand *operand)
{
    const Granary__ChunkOp *op = rounds->call->op;

    if (operand == NULL || operand->object.len != 0 || operand->part != 0) {
        return false;
    }
    return operand->outer > 0 ? operand->outer <= rounds->call->input_count
                              : operand->op < position && operand->output < op->body[operand->op]->n_outputs;
}

/* Whoever wrote the message may have been wrong: what is read must be there. */
static granary_err
check_operator(struct rounds *rounds, size_t position)
{
    const Granary__ChunkOp *op = rounds->call->op->body[position];
    bool ok = op != NULL && op->op != NULL && rounds->call->find(op->op) != NULL;

    for (size_t k = 0; ok && k < op->n_inputs; k++) {
        ok = fits(rounds, position, op->inputs[k]);
        rounds->varies[position] = ok && (rounds->varies[position] || op->inputs[k]->outer == 1 ||
                                          (op->inputs[k]->outer == 0 && rounds->varies[op->inputs[k]->op]));
    }
    for (size_t o = 0; ok && o < op->n_outputs; o++) {
        ok = op->outputs[o].len == 0;
    }
    if (!ok) {
        return gr_fail(GRANARY_EPROTO, "operator %zu of its body cannot be run", position);
    }
    rounds->inputs[position] = calloc(op->n_inputs + 1, sizeof *rounds->inputs[position]);
    rounds->values[position] = calloc(op->n_outputs + 1, sizeof *rounds->values[position]);
    return rounds->inputs[position] == NULL || rounds->values[position] == NULL ? gr_no_memory("recurse") : GRANARY_OK;
}

static granary_err
run_operator(struct rounds *rounds, size_t position)
{
    struct gr_kernel_call *call = rounds->call;
    const Granary__ChunkOp *op = call->op->body[position];
    struct gr_buf answer = {0};
    struct gr_kernel_call inner = {.op = op,
                                   .inputs = rounds->inputs[position],
                                   .input_count = op->n_inputs,
                                   .outputs = rounds->values[position],
                                   .output_count = op->n_outputs,
                                   .answer = &answer,
                                   .client = call->client,
                                   .find = call->find,
                                   .stopped = call->stopped,
                                   .stopping = call->stopping};
    granary_err err;

    for (size_t k = 0; k < op->n_inputs; k++) { /* copies, not owned */
        const Granary__Operand *operand = op->inputs[k];

        rounds->inputs[position][k] = operand->outer == 1  ? rounds->before
                                      : operand->outer > 1 ? call->inputs[operand->outer - 1]
                                                           : rounds->values[operand->op][operand->output];
    }
    err = call->find(op->op)(&inner);
    gr_buf_free(&answer);
    if (err != GRANARY_OK) {
        call->failed = inner.failed != NULL ? inner.failed : op;
    }
    return err;
}

static void
forget(struct rounds *rounds, bool varying)
{
    const Granary__ChunkOp *op = rounds->call->op;

    for (size_t p = op->n_body; rounds->values != NULL && p-- > 0;) { /* later ones may borrow from earlier ones */
        for (size_t o = 0; rounds->values[p] != NULL && rounds->varies[p] == varying && o < op->body[p]->n_outputs;
             o++) {
            gr_value_free(&rounds->values[p][o]);
        }
    }
}

granary_err
rounds_begin(struct rounds *rounds, struct gr_kernel_call *call)
{
    size_t count = call->op->n_body;
    granary_err err = GRANARY_OK;

    *rounds = (struct rounds){.call = call};
    if (count == 0 || call->op->body[count - 1]->n_outputs == 0) {
        return gr_fail(GRANARY_EPROTO, "it has no body");
    }
    rounds->values = calloc(count, sizeof(struct gr_value *));
    rounds->inputs = calloc(count, sizeof(struct gr_value *));
    rounds->varies = calloc(count, sizeof *rounds->varies);
    if (rounds->values == NULL || rounds->inputs == NULL || rounds->varies == NULL) {
        return gr_no_memory("recurse");
    }
    for (size_t p = 0; p < count && err == GRANARY_OK; p++) {
        err = check_operator(rounds, p);
    }
    for (size_t p = 0; p < count && err == GRANARY_OK; p++) {
        err = rounds->varies[p] ? GRANARY_OK : run_operator(rounds, p);
    }
    return err;
}

granary_err
rounds_run(struct rounds *rounds, granary_frame *before, granary_frame **ret_frame)
{
    size_t count = rounds->call->op->n_body;
    const struct gr_value *end = &rounds->values[count - 1][0];
    granary_err err = GRANARY_OK;

    rounds->before = (struct gr_value){.kind = GR_VALUE_FRAME, .frame = before};
    for (size_t p = 0; p < count && err == GRANARY_OK; p++) {
        err = rounds->varies[p] ? run_operator(rounds, p) : GRANARY_OK;
    }
    if (err == GRANARY_OK && end->kind != GR_VALUE_FRAME) {
        err = gr_fail(GRANARY_EPROTO, "a round makes no frame");
    }
    if (err == GRANARY_OK) {
        *ret_frame = end->frame;
    }
    return err;
}

void
rounds_forget(struct rounds *rounds)
{
    forget(rounds, true);
}

void
rounds_end(struct rounds *rounds)
{
    forget(rounds, true);
    forget(rounds, false);
    for (size_t p = 0; rounds->inputs != NULL && rounds->values != NULL && p < rounds->call->op->n_body; p++) {
        free(rounds->inputs[p]);
        free(rounds->values[p]);
    }
    free(rounds->values);
    free(rounds->inputs);
    free(rounds->varies);
}
