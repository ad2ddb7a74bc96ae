#include "executor/subtask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "data/arrow.h"
#include "executor/answer.h"
#include "executor/subtask_private.h"
#include "granary/hold.h"
#include "kernel/scratch.h"

#define GIVE_WAY_MS 10 /* so long inputs stay leased while there is no room for the output */

/* ---- inputs ---- */

size_t
run_find_input(const struct run *run, granary_id id, uint32_t part)
{
    size_t i = 0;

    while (i < run->input_count && (run->inputs[i].part != part || !gr_id_equal(run->inputs[i].id, id))) {
        i++;
    }
    return i;
}

/* Check operands and outputs, and list the objects that are read. */
static granary_err
collect_inputs(struct run *run)
{
    const Granary__Subtask *subtask = run->subtask;
    size_t room = 0;

    for (size_t o = 0; o < subtask->n_ops; o++) {
        room += subtask->ops[o]->n_inputs;
    }
    run->inputs = calloc(room + 1, sizeof *run->inputs);
    run->views = calloc(room + 1, sizeof *run->views);
    if (run->inputs == NULL || run->views == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%zu inputs: out of memory", room);
    }
    for (size_t o = 0; o < subtask->n_ops; o++) {
        const Granary__ChunkOp *op = subtask->ops[o];

        for (size_t i = 0; i < op->n_inputs; i++) {
            const Granary__Operand *operand = op->inputs[i];
            bool good = is_object(operand) ? operand->object.len == GRANARY_ID_BYTES
                                           : operand->op < o && operand->part == 0 &&
                                                 operand->output < subtask->ops[operand->op]->n_outputs;

            if (!good) {
                return gr_fail(GRANARY_EPROTO, "operator %zu, input %zu: no such operand", o, i);
            }
            if (is_object(operand) && run_find_input(run, id_of(&operand->object), operand->part) == run->input_count) {
                run->inputs[run->input_count].part = operand->part;
                run->inputs[run->input_count++].id = id_of(&operand->object);
            }
        }
        for (size_t i = 0; i < op->n_outputs; i++) {
            if (op->outputs[i].len != 0 && op->outputs[i].len != GRANARY_ID_BYTES) {
                return gr_fail(GRANARY_EPROTO, "operator %zu, output %zu: an id has 16 bytes", o, i);
            }
        }
    }
    return GRANARY_OK;
}

/* Tell the scheduler which inputs are gone, so that it has them made again. A damaged one is dropped to make room. */
static granary_err
inputs_failed(struct run *run, granary_err err, size_t failed)
{
    char why[1024];
    granary_err cause;

    (void)snprintf(why, sizeof why, "%s", granary_error_message());
    if (err != GRANARY_EUNREACHABLE &&
        granary_object_error(run->client, run->inputs[failed].id, &cause, NULL, 0) == GRANARY_OK) {
        run->done->user_failed = true; /* it is there, as an error: to make it again is not for this graph */
        return gr_fail(err, "an input has failed: %s", why);
    }
    (void)gr_fail(err, "%s", why);
    if (err == GRANARY_ECORRUPT) {
        (void)granary_object_delete(run->client, run->inputs[failed].id, 0);
        err = gr_fail(GRANARY_ENOENT, "an input is damaged and has to be made again");
    }
    if (err != GRANARY_ENOENT) {
        return store_failed(run, err);
    }
    for (size_t i = 0; i < run->input_count; i++) {
        if ((i == failed || !granary_object_contains(run->client, run->inputs[i].id)) &&
            !answer_add_bytes(&run->done->lost, &run->done->n_lost, run->inputs[i].id.bytes, GRANARY_ID_BYTES)) {
            return gr_fail(GRANARY_ENOMEM, "no memory for an answer");
        }
    }
    return err;
}

static void
release_inputs(struct run *run)
{
    if (run->leased) {
        granary_object_release_many(run->client, run->views, run->input_count);
        run->leased = false;
    }
}

/* The objects that are read as they are, all at once; *ret_failed: which one could not. */
static granary_err
lease_whole(struct run *run, size_t *ret_failed)
{
    granary_id *ids = malloc(run->input_count * sizeof *ids);
    granary_view *views = malloc(run->input_count * sizeof *views);
    size_t *positions = malloc(run->input_count * sizeof *positions);
    size_t count = 0;
    size_t failed = 0;
    granary_err err = GRANARY_OK;

    if (ids == NULL || views == NULL || positions == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "%zu inputs: out of memory", run->input_count);
    }
    for (size_t i = 0; err == GRANARY_OK && i < run->input_count; i++) {
        if (run->inputs[i].part == 0) {
            positions[count] = i;
            ids[count++] = run->inputs[i].id;
        }
    }
    /* They were sealed before this subtask was sent: one that is not there is lost. A spilled one is waited for. */
    if (err == GRANARY_OK && count > 0) {
        err = granary_object_get_many(run->client, ids, count, 0, views, &failed);
        *ret_failed = err == GRANARY_OK ? 0 : positions[failed];
    }
    for (size_t i = 0; err == GRANARY_OK && i < count; i++) {
        run->views[positions[i]] = views[i];
        run->done->in_bytes += views[i].data_size;
    }
    free(ids);
    free(views);
    free(positions);
    return err;
}

/* Parts first: to copy them takes room for a moment, which is found as long as nothing is leased. */
static granary_err
lease_inputs(struct run *run)
{
    size_t failed = SIZE_MAX;
    granary_err err;

    run->leased = true; /* what is not leased yet is all zero */
    err = parts_get(run, &failed);
    if (err == GRANARY_OK) {
        failed = SIZE_MAX;
        err = lease_whole(run, &failed);
    }
    return err == GRANARY_OK || failed == SIZE_MAX ? err : inputs_failed(run, err, failed);
}

/* An input that is read while no other one is leased, until release_input(). */
static granary_err
lease_input(struct run *run, size_t position)
{
    granary_err err;

    if (run->views[position].lease != 0) {
        return GRANARY_OK;
    }
    err = granary_object_get(run->client, run->inputs[position].id, 0, &run->views[position]);
    run->leased = true; /* what is not leased is all zero */
    if (err != GRANARY_OK) {
        run->views[position] = (granary_view){0};
        return inputs_failed(run, err, position);
    }
    return GRANARY_OK;
}

static void
release_input(struct run *run, size_t position)
{
    gr_value_free(&run->inputs[position].value);
    granary_object_release(run->client, &run->views[position]);
    run->views[position] = (granary_view){0};
}

/* An object as a value: what it is follows from its first bytes. */
static granary_err
open_input(struct run *run, size_t position)
{
    const granary_view *view = &run->views[position];
    struct gr_value *value = &run->inputs[position].value;
    granary_err err = GRANARY_OK;

    if (value->kind != GR_VALUE_NONE) {
        return GRANARY_OK;
    }
    if (run->inputs[position].part > 0) {
        err = gr_packed_open(view->data, &run->inputs[position].entry, &value->frame);
        value->kind = err == GRANARY_OK ? GR_VALUE_FRAME : GR_VALUE_NONE;
    } else if (view->data_size >= 6 && memcmp(view->data, "ARROW1", 6) == 0) {
        err = gr_arrow_read(view->data, view->data_size, view->meta, view->meta_size, &value->frame);
        value->kind = err == GRANARY_OK ? GR_VALUE_FRAME : GR_VALUE_NONE;
    } else if (view->data_size >= 6 && memcmp(view->data, "\x93NUMPY", 6) == 0) {
        err = gr_npy_read(view->data, view->data_size, &value->tensor.view);
        value->kind = err == GRANARY_OK ? GR_VALUE_TENSOR : GR_VALUE_NONE;
    } else {
        value->bytes = view->data;
        value->bytes_size = view->data_size;
        value->kind = GR_VALUE_BYTES;
    }
    return err;
}

/* ---- outputs ---- */

static uint64_t
measure(const struct gr_value *value, uint64_t *ret_meta_size, granary_err *ret_err)
{
    uint64_t size = 0;

    *ret_meta_size = 0;
    *ret_err = GRANARY_OK;
    if (value->kind == GR_VALUE_FRAME) {
        *ret_err = gr_arrow_measure(value->frame, &size, ret_meta_size);
    } else if (value->kind == GR_VALUE_TENSOR) {
        size = gr_npy_measure(&value->tensor.view);
    } else if (value->kind == GR_VALUE_BYTES) {
        size = value->bytes_size;
    } else {
        *ret_err = gr_fail(GRANARY_EFAILED, "the operator gave no value");
    }
    return size;
}

/* Its bytes as those of an object. meta may be NULL when it has none. */
static void
write_value(const struct gr_value *value, uint64_t size, void *data, void *meta)
{
    if (value->kind == GR_VALUE_FRAME) {
        gr_arrow_write(value->frame, data, meta);
    } else if (value->kind == GR_VALUE_TENSOR) {
        gr_npy_write(&value->tensor.view, data);
    } else if (size > 0) {
        memcpy(data, value->bytes, size);
    }
}

/*
 * There is no room while the inputs, from which the value borrows, are leased, and what is leased cannot make room:
 * two that do so could wait for each other. The value becomes a copy, the inputs go, and then the room is waited for.
 */
static granary_err
seal_copy(struct run *run, const struct gr_value *value, granary_id id, uint64_t size, uint64_t meta_size)
{
    uint64_t meta_at = (size + 63) / 64 * 64;
    char *copy = scratch_alloc(meta_at + meta_size + 1);
    granary_buffer buffer;
    granary_err err;

    if (copy == NULL) {
        return gr_fail(GRANARY_ENOMEM, "an output of %llu bytes: out of memory", (unsigned long long)size);
    }
    write_value(value, size, copy, meta_size > 0 ? copy + meta_at : NULL);
    release_inputs(run);
    err = granary_object_create(run->client, id, size, meta_size, ROOM_MS, &buffer);
    if (err == GRANARY_OK) {
        memcpy(buffer.data, copy, size);
        if (meta_size > 0) {
            memcpy(buffer.meta, copy + meta_at, meta_size);
        }
        err = granary_object_seal(run->client, &buffer);
    }
    scratch_free(copy);
    return err;
}

/*
 * Put a value into the store. An earlier attempt may have done so already: the same work gives the same bytes.
 * may_release: nothing but this value needs the inputs any more
 */
static granary_err
seal_value(struct run *run, const struct gr_value *value, granary_id id, uint64_t size, uint64_t meta_size,
           bool may_release)
{
    granary_buffer buffer;
    granary_err err =
        granary_object_create(run->client, id, size, meta_size, may_release ? GIVE_WAY_MS : ROOM_MS, &buffer);

    if (err == GRANARY_OK) {
        write_value(value, size, buffer.data, buffer.meta);
        err = granary_object_seal(run->client, &buffer);
    } else if (err == GRANARY_EFULL && may_release) {
        err = seal_copy(run, value, id, size, meta_size);
    }
    return err == GRANARY_EEXIST ? GRANARY_OK : store_failed(run, err);
}

static bool
are_owned(const struct gr_value *values, size_t count)
{
    size_t i = 0;

    while (i < count && gr_value_is_owned(&values[i])) {
        i++;
    }
    return i == count;
}

granary_err
run_keep_outputs(struct run *run, const Granary__ChunkOp *op, const struct gr_value *values, const bool *sealed)
{
    bool is_last = op == run->subtask->ops[run->subtask->n_ops - 1];
    int64_t start = gr_now_ns();
    granary_err err = GRANARY_OK;

    page_phase(&run->host->page, GR_PHASE_STORE);
    for (size_t i = 0; err == GRANARY_OK && i < op->n_outputs; i++) {
        uint64_t meta_size;
        uint64_t size;

        if (op->outputs[i].len == 0 || (sealed != NULL && sealed[i])) {
            continue;
        }
        size = measure(&values[i], &meta_size, &err);
        if (err == GRANARY_OK) {
            bool may_release = run->leased && is_last && are_owned(values + i + 1, op->n_outputs - i - 1);

            err = seal_value(run, &values[i], id_of(&op->outputs[i]), size, meta_size, may_release);
        }
        if (err == GRANARY_OK) {
            err = answer_add_output(run->done, &values[i], &op->outputs[i], size);
        }
    }
    run->store_ns += gr_now_ns() - start;
    return err;
}

/* ---- operators ---- */

/* The output of a subtask's last operator while it is made in the store. */
struct placed {
    struct run *run;
    const Granary__ChunkOp *op;
    granary_buffer buffer;
    bool in_store;
};

/* Without waiting: the inputs are leased, and what is leased cannot make room. */
static void *
place_tensor(struct gr_kernel_call *call, const granary_tensor *tensor)
{
    struct placed *placed = call->placing;
    int64_t start = gr_now_ns();

    if (placed->in_store || granary_object_create(placed->run->client, id_of(&placed->op->outputs[0]),
                                                  gr_npy_measure(tensor), 0, 0, &placed->buffer) != GRANARY_OK) {
        return NULL;
    }
    placed->in_store = true;
    placed->run->store_ns += gr_now_ns() - start;
    return gr_npy_begin(tensor, placed->buffer.data);
}

/* Seal what was made in the store, or give it up. *ret_sealed: it is there */
static granary_err
settle_placed(struct placed *placed, const struct gr_value *value, granary_err err, bool *ret_sealed)
{
    struct run *run = placed->run;
    const Granary__ChunkOp *op = placed->op;

    *ret_sealed = false;
    if (!placed->in_store) {
        return err;
    }
    if (err == GRANARY_OK) {
        err = answer_add_output(run->done, value, &op->outputs[0], gr_npy_measure(&value->tensor.view));
    }
    if (err != GRANARY_OK) {
        granary_object_abort(run->client, &placed->buffer);
        return err;
    }
    err = granary_object_seal(run->client, &placed->buffer);
    *ret_sealed = err == GRANARY_OK || err == GRANARY_EEXIST;
    return *ret_sealed ? GRANARY_OK : store_failed(run, err);
}

static granary_err
run_kernel(struct run *run, const Granary__ChunkOp *op, struct gr_value *inputs, struct gr_value *outputs,
           struct placed *placed)
{
    struct gr_buf answer = {0};
    gr_kernel *kernel = gr_kernel_find(op->op);
    struct gr_kernel_call call = {
        .op = op,
        .inputs = inputs,
        .input_count = op->n_inputs,
        .outputs = outputs,
        .output_count = op->n_outputs,
        .answer = &answer,
        .place = placed == NULL ? NULL : place_tensor,
        .placing = placed,
    };
    granary_err err;

    if (kernel == NULL) {
        return gr_fail(GRANARY_EUNSUPPORTED, "this executor has no operator of that name");
    }
    err = kernel(&call);
    if (err == GRANARY_OK && answer.size > 0 &&
        !answer_add_bytes(&run->done->inlines, &run->done->n_inlines, answer.bytes, answer.size)) {
        err = gr_fail(GRANARY_ENOMEM, "no memory for an answer");
    }
    gr_buf_free(&answer);
    return err;
}

static bool
is_user_code(const Granary__ChunkOp *op)
{
    return strcmp(op->op, "call") == 0 || strcmp(op->op, "exec") == 0;
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
        err = lease_input(run, input);
        err = err == GRANARY_OK ? open_input(run, input) : err;
        if (err == GRANARY_OK) {
            err = granary_alias(run->client, id_of(&op->outputs[i]), run->inputs[input].id);
            /* It was done before, or an earlier run did not go on. */
            err = err == GRANARY_EEXIST ? GRANARY_OK : store_failed(run, err);
        }
        if (err == GRANARY_OK) {
            err = answer_add_output(run->done, &run->inputs[input].value, &op->outputs[i], run->views[input].data_size);
        }
        release_input(run, input);
    }
    return err;
}

static granary_err
run_op(struct run *run, size_t position)
{
    const Granary__ChunkOp *op = run->subtask->ops[position];
    struct gr_value *inputs = calloc(op->n_inputs + 1, sizeof *inputs);
    struct gr_value *outputs = calloc(op->n_outputs + 1, sizeof *outputs);
    struct placed placed = {.run = run, .op = op};
    bool last = position + 1 == run->subtask->n_ops;
    bool sealed = false;
    granary_err err = GRANARY_OK;

    page_phase(&run->host->page, GR_PHASE_RUN);
    run->values[position] = outputs;
    if (inputs == NULL || outputs == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "%zu inputs: out of memory", op->n_inputs);
    }
    /* Copies, not owned: their values belong to run. */
    for (size_t i = 0; err == GRANARY_OK && i < op->n_inputs; i++) {
        const Granary__Operand *operand = op->inputs[i];

        if (is_object(operand)) {
            size_t input = run_find_input(run, id_of(&operand->object), operand->part);

            err = open_input(run, input);
            inputs[i] = run->inputs[input].value;
        } else {
            inputs[i] = run->values[operand->op][operand->output];
        }
    }
    if (err == GRANARY_OK) {
        err =
            run_kernel(run, op, inputs, outputs, last && op->n_outputs == 1 && op->outputs[0].len > 0 ? &placed : NULL);
        err = settle_placed(&placed, &outputs[0], err, &sealed);
    }
    if (err == GRANARY_OK && !sealed) {
        /* What is leased cannot be spilled: holding the inputs while waiting for room could wait for ever. */
        if (last && are_owned(outputs, op->n_outputs)) {
            release_inputs(run);
        }
        err = run_keep_outputs(run, op, outputs, NULL);
    }
    free(inputs);
    return err;
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
    struct gr_buf answer = {0};
    granary_err err = GRANARY_OK;

    page_phase(&run->host->page, GR_PHASE_RUN);
    for (size_t i = 0; i < op->n_inputs && err == GRANARY_OK; i++) {
        size_t input = run_find_input(run, id_of(&op->inputs[i]->object), 0);
        struct gr_kernel_call call = {
            .op = op, .inputs = &run->inputs[input].value, .input_count = 1, .answer = &answer};

        err = lease_input(run, input);
        err = err == GRANARY_OK ? open_input(run, input) : err;
        if (err == GRANARY_OK) {
            err = gr_kernel_find(op->op)(&call);
        }
        release_input(run, input);
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
    return strcmp(op->op, "alias") == 0 ? run_alias(run, position) : run_op(run, position);
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
    }
    release_inputs(run);
    scratch_free(run->copies);
    granary_object_release_many(run->client, run->kept, run->kept_count);
    gr_buf_free(&run->tail);
    free(run->kept);
    free(run->inputs);
    free(run->views);
}

granary_err
subtask_run(struct host *host, granary_client *client, const Granary__Subtask *subtask, Granary__Done **ret_done)
{
    struct run run = {.host = host, .client = client, .subtask = subtask};
    const Granary__ChunkOp *op = subtask->n_ops > 0 ? subtask->ops[0] : NULL;
    int64_t start = gr_now_ns();
    granary_err err;

    page_begin(&host->page, subtask->number, subtask->attempt, start);
    run.done = answer_create(subtask, GRANARY_OK, "");
    run.values = calloc(subtask->n_ops + 1, sizeof *run.values);
    if (run.done == NULL || run.values == NULL) {
        err = gr_fail(GRANARY_ENOMEM, "no memory for a subtask of %zu operators", subtask->n_ops);
        goto end;
    }
    err = collect_inputs(&run);
    if (err == GRANARY_OK && is_alone(subtask, "info")) {
        err = run_look(&run);
        goto answered;
    }
    if (err == GRANARY_OK && run.input_count > 0 && !is_alone(subtask, "alias")) { /* they are leased in turn */
        err = lease_inputs(&run);
        run.done->lease_ns = (uint64_t)(gr_now_ns() - start);
    }
    err = err == GRANARY_OK ? answer_add_ops(run.done, subtask) : err;
    for (size_t o = 0; err == GRANARY_OK && o < subtask->n_ops; o++) {
        int64_t begun = gr_now_ns();
        size_t made = run.done->n_outputs;

        op = subtask->ops[o];
        err = run_any(&run, o);
        answer_note_op(run.done, o, gr_now_ns() - begun, made, run.values[o]);
    }

answered:
    if (run.store_lost) {
        err = gr_fail_in(GRANARY_EUNREACHABLE, "the store");
    } else if (err != GRANARY_OK) {
        err = answer_fail(run.done, err, op, &run.tail);
    }

end:
    run_fini(&run);
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
