/*
 * Inputs are leased, the operators run in order, each on what the ones before it made, and outputs are sealed;
 * whatever fails, the answer says in which operator.
 */
#include "executor/subtask/subtask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fault/fault.h"
#include "base/id.h"
#include "data/arrow/arrow.h"
#include "executor/confine/confine.h"
#include "executor/link/answer.h"
#include "executor/subtask/placed.h"
#include "executor/subtask/private.h"
#include "executor/subtask/wanted.h"
#include "granary/hold.h"
#include "graph/chunk/ops.h"
#include "graph/params.h"
#include "kernel/core/scratch.h"
#include "object/object.h"

/* ---- operators ---- */

/* An output of the operator that runs. */
static granary_err
keep_now(struct gr_kernel_call *call, size_t i)
{
    struct run *run = call->keeping;
    int64_t start = gr_now_ns();
    granary_err err = i != run->kept_outputs          ? gr_fail(GRANARY_EINVAL, "output %zu is not the next", i)
                      : call->op->outputs[i].len == 0 ? GRANARY_OK
                                                      : run_keep_output(run, call->op, call->outputs, i);

    gr_value_free(&call->outputs[i]);
    call->outputs[i] = (struct gr_value){.kind = GR_VALUE_NONE};
    run->kept_outputs = i + 1;
    run->store_ns += gr_now_ns() - start;
    return err;
}

static bool
is_given_up(const void *context)
{
    const struct run *run = context;

    return page_cancelled(&run->host->page, run->subtask->number);
}

static bool
is_stopped(const struct gr_kernel_call *call)
{
    return is_given_up(call->stopping);
}

static granary_err
run_kernel(struct run *run, size_t position, struct gr_value *inputs, struct gr_value *outputs)
{
    const Granary__ChunkOp *op = run->subtask->ops[position];
    struct gr_buf answer = {0};
    gr_kernel *kernel = gr_kernel_find(op->op);
    bool *first = wanted_first(run, position);
    struct gr_kernel_call call = {
        .op = op,
        .inputs = inputs,
        .input_count = op->n_inputs,
        .outputs = outputs,
        .output_count = op->n_outputs,
        .answer = &answer,
        .client = run->client,
        .keep = keep_now,
        .keeping = run,
        .first = first,
        .find = gr_kernel_find,
        .stopped = is_stopped,
        .stopping = run,
    };
    granary_err err;

    if (kernel == NULL) {
        free(first);
        return gr_fail(GRANARY_EUNSUPPORTED, "this executor has no operator of that name");
    }
    if (position == run->maker) {
        placed_offer(run->placed, run, &call);
    }
    err = FAULT_FAILS(kernel_start) ? gr_fail_errno("it cannot run") : kernel(&call);
    placed_close(run->placed);
    free(first);
    if (err == GRANARY_OK && answer.size > 0 &&
        !answer_add_bytes(&run->done->inlines, &run->done->n_inlines, answer.bytes, answer.size)) {
        err = gr_fail(GRANARY_ENOMEM, "no memory for an answer");
    }
    gr_buf_free(&answer);
    run->failed = call.failed;
    return err;
}

static bool
is_user_code(const Granary__ChunkOp *op)
{
    return strcmp(op->op, "call") == 0 || strcmp(op->op, "exec") == 0;
}

static bool
is_alias(const Granary__ChunkOp *op)
{
    return strcmp(op->op, "alias") == 0;
}

/* What it yields is in the store when it has run; of the others the last one's output is put there at the end. */
static bool
keeps_itself(const Granary__ChunkOp *op)
{
    return is_user_code(op) || is_alias(op);
}

/* It went on as a graph that has ended: its outputs stand for what that made. */
static granary_err
run_alias(struct run *run, size_t position)
{
    const Granary__ChunkOp *op = run->subtask->ops[position];
    granary_err err = op->n_inputs == op->n_outputs
                          ? GRANARY_OK
                          : gr_fail(GRANARY_EPROTO, "%zu objects for %zu outputs", op->n_inputs, op->n_outputs);

    run->values[position] = calloc(op->n_outputs + 1, sizeof *run->values[position]);
    if (err == GRANARY_OK && run->values[position] == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "%zu outputs: out of memory", op->n_outputs);
    }
    for (size_t i = 0; err == GRANARY_OK && i < op->n_outputs; i++) {
        size_t input =
            is_object(op->inputs[i]) ? run_find_input(run, id_of(&op->inputs[i]->object), 0) : run->input_count;

        if (input == run->input_count) {
            err = gr_fail(GRANARY_EPROTO, "output %zu stands for no object", i);
            break;
        }
        if (op->outputs[i].len == 0) {
            continue; /* nobody wants it */
        }
        err = run_lease_input(run, input);
        err = err == GRANARY_OK ? run_open_input(run, input) : err;
        if (err == GRANARY_OK) {
            err = granary_alias(run->client, id_of(&op->outputs[i]), run->inputs[input].id);
            /* It was done before, or an earlier run did not go on. */
            err = err == GRANARY_EEXIST ? GRANARY_OK : store_failed(run, err);
        }
        if (err == GRANARY_OK) {
            err = answer_add_output(run->done, &run->inputs[input].value, &op->outputs[i], run->views[input].data_size);
        }
        run_release_input(run, input);
    }
    return err;
}

static granary_err
run_op(struct run *run, size_t position)
{
    const Granary__ChunkOp *op = run->subtask->ops[position];
    struct gr_value *inputs = calloc(op->n_inputs + 1, sizeof *inputs);
    struct gr_value *outputs = calloc(op->n_outputs + 1, sizeof *outputs);
    granary_err err = GRANARY_OK;

    page_phase(&run->host->page, GR_PHASE_RUN);
    run->values[position] = outputs;
    run->kept_outputs = op->n_outputs > 0 ? 0 : run->kept_outputs; /* those that look at it come before it is kept */
    if (inputs == NULL || outputs == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "%zu inputs: out of memory", op->n_inputs);
    }
    /* Copies, not owned: their values belong to run. */
    for (size_t i = 0; err == GRANARY_OK && i < op->n_inputs; i++) {
        const Granary__Operand *operand = op->inputs[i];

        if (is_object(operand)) {
            size_t input = run_find_input(run, id_of(&operand->object), operand->part);

            err = run_open_input(run, input);
            inputs[i] = run->inputs[input].value;
        } else {
            inputs[i] = run->values[operand->op][operand->output];
        }
    }
    if (err == GRANARY_OK) {
        err = run_kernel(run, position, inputs, outputs);
    }
    if (err == GRANARY_OK && position != run->yielder) {
        err = run_keep_outputs(run, op, outputs, NULL);
    }
    free(inputs);
    return err;
}

/* An object that is gone, as an answer: no rows, not even none. */
static granary_err
answer_absent(struct gr_buf *answer)
{
    Granary__FrameInfo info = GRANARY__FRAME_INFO__INIT;
    Granary__FrameInfo *one = &info;
    Granary__FrameInfos infos = GRANARY__FRAME_INFOS__INIT;
    void *room;

    info.rows = -1;
    infos.frames = &one;
    infos.n_frames = 1;
    room = gr_buf_grow(answer, granary__frame_infos__get_packed_size(&infos));
    if (room == NULL) {
        return gr_fail(GRANARY_ENOMEM, "no memory for an answer");
    }
    (void)granary__frame_infos__pack(&infos, room);
    return GRANARY_OK;
}

static bool
is_alone(const Granary__Subtask *subtask, const char *op)
{
    return subtask->n_ops == 1 && strcmp(subtask->ops[0]->op, op) == 0;
}

/*
 * Objects are looked at one after the other: all together may be more than memory. The answer is a message of repeated
 * fields, so the answers one behind the other are the answer to all.
 */
static granary_err
run_look(struct run *run)
{
    const Granary__ChunkOp *op = run->subtask->ops[0];
    struct gr_chunk_info params = {.given = 0};
    struct gr_buf answer = {0};
    granary_err err = gr_params_read(gr_chunk_params_of(GR_CHUNK_info), op->attrs, op->n_attrs, &params);

    page_phase(&run->host->page, GR_PHASE_RUN);
    for (size_t i = 0; i < op->n_inputs && err == GRANARY_OK; i++) {
        size_t input = run_find_input(run, id_of(&op->inputs[i]->object), 0);
        struct gr_kernel_call call = {
            .op = op, .inputs = &run->inputs[input].value, .input_count = 1, .answer = &answer};

        if (params.absent && !granary_object_contains(run->client, run->inputs[input].id)) {
            err = answer_absent(&answer);
            continue;
        }
        if (params.check || !run_outline_spilled(run, input)) {
            err = run_lease_input(run, input);
            err = err == GRANARY_OK ? run_open_input(run, input) : err;
        }
        if (err == GRANARY_OK) {
            err = gr_kernel_find(op->op)(&call);
        }
        run_release_input(run, input);
    }
    if (err == GRANARY_OK && !gr_buf_ok(&answer)) {
        err = gr_fail(GRANARY_ENOMEM, "no memory for an answer");
    }
    if (err == GRANARY_OK && answer.size > 0 &&
        !answer_add_bytes(&run->done->inlines, &run->done->n_inlines, answer.bytes, answer.size)) {
        err = gr_fail(GRANARY_ENOMEM, "no memory for an answer");
    }
    gr_buf_free(&answer);
    return err;
}

/* One operator, as what it is wants it. */
static granary_err
run_any(struct run *run, size_t position)
{
    const Granary__ChunkOp *op = run->subtask->ops[position];

    if (is_user_code(op)) {
        return run_user_code(run, position);
    }
    return is_alias(op) ? run_alias(run, position) : run_op(run, position);
}

/* The outputs of the last operator that has any, once those behind it have looked at them: what is sealed may be spilled. */
static granary_err
keep_last(struct run *run)
{
    const Granary__ChunkOp *op = run->subtask->ops[run->yielder];
    const struct gr_value *outputs = run->values[run->yielder];
    const int64_t start = gr_now_ns();
    const size_t made = run->done->n_outputs;
    bool sealed = false;
    granary_err err = placed_settle(run->placed, &outputs[0], &sealed);

    if (err == GRANARY_OK && !sealed) {
        /* What is leased cannot be spilled: holding the inputs while waiting for room could wait for ever. */
        if (run_are_owned(outputs, op->n_outputs)) {
            run_release_inputs(run);
        }
        err = run_keep_outputs(run, op, outputs, NULL);
    }
    answer_note_op(run->done, run->yielder, gr_now_ns() - start, made, outputs);
    return err;
}

/* All operators, one after the other. *ret_op: the one that failed */
static granary_err
run_all(struct run *run, const Granary__ChunkOp **ret_op)
{
    const Granary__Subtask *subtask = run->subtask;
    granary_err err = GRANARY_OK;

    for (size_t o = 0; err == GRANARY_OK && o < subtask->n_ops; o++) {
        int64_t begun = gr_now_ns();
        size_t made = run->done->n_outputs;

        *ret_op = subtask->ops[o];
        err = run_any(run, o);
        *ret_op = err != GRANARY_OK && run->failed != NULL ? run->failed : *ret_op;
        answer_note_op(run->done, o, gr_now_ns() - begun, made, run->values[o]);
    }
    if (err == GRANARY_OK && run->yielder != SIZE_MAX && !keeps_itself(subtask->ops[run->yielder])) {
        *ret_op = subtask->ops[run->yielder];
        err = keep_last(run);
    }
    return err;
}

static void
run_fini(struct run *run)
{
    /* Later values may borrow from earlier ones, and all from the leased inputs. */
    for (size_t o = run->subtask->n_ops; run->values != NULL && o-- > 0;) {
        for (size_t i = 0; run->values[o] != NULL && i < run->subtask->ops[o]->n_outputs; i++) {
            gr_value_free(&run->values[o][i]);
        }
        free(run->values[o]);
    }
    free(run->values);
    for (size_t i = 0; i < run->input_count; i++) {
        gr_value_free(&run->inputs[i].value);
        scratch_free(run->inputs[i].read);
        if (run->inputs[i].copy != NULL) {
            (void)munmap(run->inputs[i].copy, run->inputs[i].copy_size);
        }
    }
    placed_drop(run->placed);
    run_release_inputs(run);
    scratch_free(run->copies);
    run_drop_late(run);
    granary_object_release_many(run->client, run->kept, run->kept_count);
    gr_buf_free(&run->tail);
    free(run->kept);
    free(run->inputs);
    free(run->views);
}

/* Who may not, though the file's mode lets him, should know why. */
static granary_err
explain_confined(granary_err err)
{
    bool confined, strict;

    return confine_wished(&confined, &strict) != GRANARY_OK || !confined
               ? err
               : gr_fail(err,
                         "%s: executors of this instance are confined: `granary up --confine-read DIR` and "
                         "`--confine-write DIR` say what they may use",
                         granary_error_message());
}

granary_err
subtask_run(struct host *host, granary_client *client, const Granary__Subtask *subtask, Granary__Done **ret_done)
{
    struct placed placed = {.in_store = false};
    struct run run = {.host = host,
                      .client = client,
                      .subtask = subtask,
                      .placed = &placed,
                      .yielder = placed_yielder(subtask),
                      .maker = placed_maker(subtask),
                      .start_ns = gr_now_ns()};
    const Granary__ChunkOp *op = subtask->n_ops > 0 ? subtask->ops[0] : NULL;
    const struct gr_given_up given_up = {is_given_up, &run};
    const int64_t start = run.start_ns;
    granary_err err;

    gr_client_set_given_up(&given_up);
    page_begin(&host->page, subtask->number, subtask->attempt, start);
    FAULT_STEP(subtask_begin);
    run.done = answer_create(subtask, GRANARY_OK, "");
    run.values = calloc(subtask->n_ops + 1, sizeof *run.values);
    if (run.done == NULL || run.values == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "no memory for a subtask of %zu operators", subtask->n_ops);
        goto end;
    }
    err = run_collect_inputs(&run);
    if (err == GRANARY_OK && is_alone(subtask, "info")) {
        err = run_look(&run);
        goto answered;
    }
    if (err == GRANARY_OK && run.input_count > 0 && !is_alone(subtask, "alias")) { /* they are leased in turn */
        err = run_lease_inputs(&run);
        run.done->lease_ns = (uint64_t)(gr_now_ns() - start);
    }
    err = err == GRANARY_OK ? answer_add_ops(run.done, subtask) : err;
    err = err == GRANARY_OK ? run_all(&run, &op) : err;
    err = err == GRANARY_OK && run.late_count > 0 ? run_keep_late(&run) : err;
    err = err == GRANARY_EPERM ? explain_confined(err) : err;

answered:
    if (run.store_lost) {
        err = gr_fail_in(GRANARY_EUNREACHABLE, "the store");
    } else if (err != GRANARY_OK) {
        err = answer_fail(run.done, err, op, &run.tail);
    }

end:
    run_fini(&run);
    gr_client_set_given_up(NULL);
    FAULT_STEP(subtask_end);
    page_end(&host->page);
    if (err != GRANARY_OK) {
        if (run.done != NULL) {
            granary__done__free_unpacked(run.done, NULL);
        }
        return err;
    }
    run.done->started_ns = start;
    run.done->store_ns = (uint64_t)run.store_ns;
    run.done->nanoseconds = (uint64_t)(gr_now_ns() - start);
    *ret_done = run.done;
    return GRANARY_OK;
}
