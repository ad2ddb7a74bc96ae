/* Operator "call": a function of an exported library, run on one subtask's inputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/log.h"
#include "executor/link/answer.h"
#include "executor/user/call.h"
#include "object/object.h"

/* Libraries a process loads before it is replaced. */
#define LOADED_MAX 128

/* ---- setting up ---- */

static granary_err
open_call(granary_call *call)
{
    const Granary__ChunkOp *op = call->op->op;
    granary_err err = GRANARY_OK;

    call->inputs = calloc(op->n_inputs + 1, sizeof *call->inputs);
    call->outputs = calloc(op->n_outputs + 1, sizeof *call->outputs);
    if (call->inputs == NULL || call->outputs == NULL) {
        return gr_fail(GRANARY_ENOMEM, "%zu inputs and %zu outputs: out of memory", op->n_inputs, op->n_outputs);
    }
    for (size_t i = 0; i < op->n_outputs; i++) {
        call->outputs[i].id = &op->outputs[i];
    }
    for (size_t i = 0; err == GRANARY_OK && i < op->n_inputs; i++) {
        err = input_open(&call->inputs[i], &call->op->inputs[i]);
    }
    return err;
}

static void
close_call(granary_call *call)
{
    call_frame_free(call);
    for (size_t i = 0; call->inputs != NULL && i < call->op->op->n_inputs; i++) {
        input_close(&call->inputs[i]);
    }
    for (size_t i = 0; call->outputs != NULL && i < call->op->op->n_outputs; i++) {
        output_drop(call->op, &call->outputs[i]);
    }
    free(call->inputs);
    free(call->outputs);
}

static void
set_context(granary_call *call, const char *function)
{
    const Granary__Subtask *subtask = call->op->subtask;
    const Granary__ChunkOp *op = call->op->op;
    uint32_t place = (uint32_t)subtask->number;
    const struct gr_chunk_call *params = GR_CHUNK_PARAMS(call, op->attrs, op->n_attrs);

    call->context = (granary_call_context){
        .env = GRANARY_ENV_EXEC,
        .session = library_session(subtask->session),
        .graph = subtask->graph,
        .node = op->node,
        .function = function,
        .subtask = place,
        .attempt = subtask->attempt,
        .index = (uint64_t)params->index,
        .count = (uint64_t)params->count,
        .executor = call->op->host->number,
        .numa_node = call->op->host->node,
        .cpus = call->op->host->cpus,
        .seed = gr_hash64_seeded(subtask->graph, strlen(subtask->graph), place),
        .deadline_ms = subtask->timeout_ms > 0 ? gr_wall_ms() + subtask->timeout_ms : 0,
    };
    call->params = params->params;
}

/* ---- running ---- */

/* The function, ready to be called with so many inputs and outputs. */
static granary_err
find_function(granary_call *call, struct function **ret_function)
{
    const Granary__ChunkOp *op = call->op->op;
    struct host *host = call->op->host;
    bool loaded = call->library->handle != NULL;
    struct function *function = NULL;
    granary_err err = library_load(call->library, call->op->client);

    /* Libraries are never unloaded, for who knows what they left behind: a process that has many is replaced. */
    if (err == GRANARY_OK && !loaded && ++host->loaded >= LOADED_MAX && !host->embedded) {
        gr_log_info("LIBRARIES-LOADED", "%u libraries: this executor leaves", host->loaded);
        host->worn_out = true;
    }

    if (err == GRANARY_OK) {
        err = library_function(call->library, call->context.function, &function);
    }
    if (err == GRANARY_OK) {
        const granary_function_info *info = function->info;
        size_t outputs = info->outputs == 0 ? 1 : info->outputs;

        if (op->n_inputs < info->inputs_min || (info->inputs_max != 0 && op->n_inputs > info->inputs_max)) {
            err = gr_fail(GRANARY_EINVAL, "function '%s' takes %u to %u inputs, not %zu", info->name, info->inputs_min,
                          info->inputs_max, op->n_inputs);
        } else if (op->n_outputs != outputs) {
            err = gr_fail(GRANARY_EINVAL, "function '%s' has %zu outputs, not %zu", info->name, outputs, op->n_outputs);
        }
    }
    *ret_function = function;
    return err;
}

/* Those the function says it asks for are put in order before it is called. False: the call has failed. */
static bool
prepare_reusables(granary_call *call, const granary_function_info *info)
{
    char *names = info->reusables == NULL ? NULL : strdup(info->reusables);
    char *rest = NULL;
    bool ready = info->reusables == NULL || names != NULL;

    for (char *name = names == NULL ? NULL : strtok_r(names, " ", &rest); ready && name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
        ready = granary_call_reusable(call, name) != NULL || call->failed == GRANARY_OK;
    }
    if (names == NULL && !ready) {
        (void)granary_call_fail(call, GRANARY_ENOMEM, "out of memory");
    }
    free(names);
    return ready;
}

/* What it returned as an error with a message. */
static granary_err
judge_return(granary_call *call, granary_err returned)
{
    const char *function = call->context.function;
    bool own = call->failed != GRANARY_OK;

    if (returned == GRANARY_OK && !own) {
        return GRANARY_OK;
    }
    if (returned == GRANARY_OK) {
        returned = call->failed;
    } else if (returned > 0 || strcmp(granary_error_name(returned), "E?") == 0) {
        return gr_fail(GRANARY_EFAILED, "function '%s' returned %d%s%s", function, (int)returned, own ? ": " : "",
                       own ? call->message : "");
    }
    if (own) {
        return gr_fail(returned, "%s", call->message);
    }
    if (granary_error_message()[0] != '\0') { /* of a call to granary that it passed on */
        return gr_fail_in(returned, "function '%s' returned %s", function, granary_error_name(returned));
    }
    return gr_fail(returned, "function '%s' returned %s", function, granary_error_name(returned));
}

static void
tell_wait(void *context, const granary_id *id)
{
    page_waits(context, id);
}

static granary_err
run_function(granary_call *call, struct function *function)
{
    struct host *host = call->op->host;
    const struct gr_in_call in_call = {.graph = call->context.graph, .waits = tell_wait, .context = &host->page};
    const granary_function_info *info = function->info;
    granary_err err = GRANARY_OK;

    function->calls++;
    gr_fail_message("%s", "");
    gr_client_set_in_call(&in_call);
    if (prepare_reusables(call, info)) {
        gr_fail_message("%s", "");
        err = info->run(call);
        if (getpid() != host->pid) {
            _exit(err == GRANARY_OK ? 0 : 1); /* a child it forked, which came back: the parent answers */
        }
    }
    gr_client_set_in_call(NULL);
    page_program(&host->page, 0);
    err = judge_return(call, err);
    if (info->max_calls != 0 && function->calls >= info->max_calls && !host->embedded) {
        gr_log_info("MAX-CALLS", "function '%s' was called %llu times: this executor leaves", info->name,
                    (unsigned long long)function->calls);
        host->worn_out = true;
    }
    /* The machine's shortage is not the function's mistake, unless it made another one of it. */
    call->op->done->user_failed =
        err != GRANARY_OK && err != call->store_err && !(err == GRANARY_ECANCELLED && granary_call_cancelled(call));
    return err;
}

/* ---- outputs ---- */

/* Position of a name in a mapping; its size when it is not there. */
static size_t
find_key(const Granary__Attr *map, const char *name)
{
    size_t i = 0;

    while (i < map->n_keys && strcmp(map->keys[i], name) != 0) {
        i++;
    }
    return i;
}

/* The columns the graph promises to whoever reads this frame, in that order; those of the input it does not go. */
static granary_err
keep_columns(const granary_call *call, const Granary__Attr *columns, granary_frame **frame)
{
    const char *function = call->context.function;
    granary_frame *kept = gr_frame_create(columns->n_keys, (*frame)->rows);
    granary_err err = kept == NULL ? gr_no_memory("a frame") : GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < columns->n_keys && i < columns->n_strings; i++) {
        const char *name = columns->keys[i];
        int at = gr_frame_find(*frame, name);
        const char *dtype = at < 0 ? "" : granary_dtype_name((*frame)->columns[at].view.dtype);

        if (at < 0) {
            err = gr_fail(GRANARY_ETYPE, "function '%s' gives no column '%s'; the graph says that it does", function,
                          name);
        } else if (strcmp(dtype, columns->strings[i]) != 0) {
            err = gr_fail(GRANARY_ETYPE, "function '%s' gives column '%s' of %s; the graph says %s", function, name,
                          dtype, columns->strings[i]);
        } else {
            err = gr_frame_move(kept, i, *frame, (size_t)at);
        }
    }
    if (err != GRANARY_OK) {
        gr_frame_destroy(kept);
        return err;
    }
    gr_frame_destroy(*frame);
    *frame = kept;
    return GRANARY_OK;
}

/* A frame made column by column. */
static granary_err
finish_frame(granary_call *call, struct gr_value *ret_value)
{
    const Granary__ChunkOp *op = call->op->op;
    const Granary__Attr *columns = GR_CHUNK_PARAMS(call, op->attrs, op->n_attrs)->columns;
    granary_err err;

    for (size_t i = 0; columns != NULL && i < call->column_count; i++) {
        if (find_key(columns, call->columns[i].name) == columns->n_keys) {
            return gr_fail(GRANARY_ETYPE,
                           "function '%s' gives column '%s', which the graph does not tell of: name it "
                           "in the node's columns",
                           call->context.function, call->columns[i].name);
        }
    }
    err = call_frame_finish(call, ret_value);
    return err == GRANARY_OK && columns != NULL ? keep_columns(call, columns, &ret_value->frame) : err;
}

/* An output of bytes, which must be what the graph says. */
static granary_err
check_promise(const granary_call *call, const struct gr_value *value)
{
    const Granary__ChunkOp *op = call->op->op;
    const struct gr_chunk_call *params = GR_CHUNK_PARAMS(call, op->attrs, op->n_attrs);
    const Granary__Attr *columns = params->columns;
    const Granary__Attr *shape = params->shape;
    const char *dtype = params->dtype;
    const granary_tensor *tensor = &value->tensor.view;
    const char *function = call->context.function;

    if (columns != NULL) {
        bool same = value->kind == GR_VALUE_FRAME && value->frame->count == columns->n_keys;

        for (size_t i = 0; same && i < columns->n_keys; i++) {
            same = strcmp(value->frame->columns[i].view.name, columns->keys[i]) == 0 &&
                   strcmp(granary_dtype_name(value->frame->columns[i].view.dtype), columns->strings[i]) == 0;
        }
        if (!same) {
            return gr_fail(GRANARY_ETYPE, "function '%s' gives no frame of the columns the graph tells of", function);
        }
    }
    if (shape != NULL || dtype != NULL) {
        bool same = value->kind == GR_VALUE_TENSOR &&
                    (dtype == NULL || strcmp(granary_dtype_name(tensor->dtype), dtype) == 0) &&
                    (shape == NULL || (size_t)tensor->dims == shape->n_ints);

        for (int i = 0; same && shape != NULL && i < tensor->dims; i++) {
            same = tensor->shape[i] == shape->ints[i];
        }
        if (!same) {
            return gr_fail(GRANARY_ETYPE, "function '%s' gives no tensor of the shape and dtype the graph tells of",
                           function);
        }
    }
    return GRANARY_OK;
}

/* The outputs as the function left them; a promise it broke is its failure. */
static granary_err
check_outputs(granary_call *call)
{
    struct gr_value value = {.kind = GR_VALUE_NONE};
    granary_err err = GRANARY_OK;

    for (size_t i = call->frame_begun ? 1 : 0; i < call->op->op->n_outputs; i++) {
        if (!call->outputs[i].given) {
            return gr_fail(GRANARY_EFAILED, "function '%s' returned OK but gave no output %zu", call->context.function,
                           i);
        }
    }
    if (call->frame_begun) {
        return finish_frame(call, &call->op->outputs[0]);
    }
    if (call->op->op->n_outputs > 0) {
        value_of_bytes(output_data(&call->outputs[0]), call->outputs[0].size, NULL, 0, &value);
        err = check_promise(call, &value);
        gr_value_free(&value);
    }
    return err;
}

static granary_err
keep_outputs(granary_call *call)
{
    granary_err err;

    if (call->go_on) {
        for (size_t i = 0; i < call->op->op->n_outputs; i++) {
            call->op->sealed[i] = true; /* by others, later */
        }
        return GRANARY_OK;
    }
    err = check_outputs(call);
    if (err != GRANARY_OK) {
        call->op->done->user_failed = err != GRANARY_ENOMEM;
        return err;
    }
    for (size_t i = call->frame_begun ? 1 : 0; err == GRANARY_OK && i < call->op->op->n_outputs; i++) {
        err = output_keep(call->op, &call->outputs[i], i);
    }
    return err;
}

/* ---- the whole ---- */

void
user_capture_begin(struct user_op *op)
{
    struct host *host = op->host;

    if (!host->embedded) {
        capture_begin(&host->capture, op->subtask->graph, (uint32_t)op->subtask->number, op->subtask->attempt);
        page_log(&host->page, host->capture.name);
    }
}

granary_err
user_capture_end(struct user_op *op, granary_err err)
{
    struct host *host = op->host;

    if (host->embedded) {
        return err;
    }
    if (!capture_end(&host->capture, err == GRANARY_OK ? NULL : op->tail)) {
        gr_log_warn("DESCRIPTORS-CLOSED", "user code closed descriptors of its executor, which leaves");
        host->worn_out = true;
    }
    page_log(&host->page, host->capture.name);
    if (host->capture.name[0] != '\0' && !answer_set_text(&op->done->log, host->capture.name)) {
        return gr_fail(GRANARY_ENOMEM, "no memory for an answer");
    }
    return err;
}

/* User code at work: what it prints is captured, what it changes is put back. */
static granary_err
run_guarded(granary_call *call)
{
    struct user_op *op = call->op;
    struct host *host = op->host;
    struct guard_range *ranges = calloc(op->op->n_inputs + 1, sizeof *ranges);
    struct function *function;
    bool spoiled = false;
    uint64_t peak;
    char what[160];
    granary_err err;

    if (ranges == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < op->op->n_inputs; i++) {
        ranges[i] = (struct guard_range){call->inputs[i].view.data, call->inputs[i].view.data_size};
    }
    (void)snprintf(what, sizeof what, "function '%.100s'", call->context.function);
    call->turn = ++host->turns;
    user_capture_begin(op);
    if (!host->embedded) {
        (void)setenv("GRANARY_SESSION", call->context.session, 1);
        guard_begin(&host->guard, what, ranges, op->op->n_inputs, op->subtask->directory);
    }
    err = find_function(call, &function);
    if (err == GRANARY_OK) {
        err = run_function(call, function);
    } else {
        /* Trying again would change nothing, unless the store is at fault. */
        op->done->user_failed = err == GRANARY_ENOENT || err == GRANARY_EINVAL || err == GRANARY_EVERSION;
    }
    if (!host->embedded) {
        peak = guard_end(&host->guard);
        spoiled = !guard_is_whole(&host->guard);
        op->done->peak_bytes = peak > op->done->peak_bytes ? peak : op->done->peak_bytes;
    }
    err = user_capture_end(op, err);
    if (spoiled) { /* said now: until here it would have been what the function printed */
        gr_log_warn("PROCESS-SPOILED", "%s lowered limits or used up descriptors: this executor leaves", what);
        host->worn_out = true;
    }
    free(ranges);
    return err;
}

granary_err
call_run(struct user_op *op)
{
    Granary__Attr *const *attrs = op->op->attrs;
    size_t count = op->op->n_attrs;
    const char *library = gr_attr_string(attrs, count, "library", "");
    const char *version = gr_attr_string(attrs, count, "version", "");
    struct granary_call call = {.op = op};
    granary_err err;

    set_context(&call, gr_attr_string(attrs, count, "function", ""));
    err = libraries_find(&op->host->libraries, op->subtask->session, library, version, &call.library);
    if (err == GRANARY_OK) {
        err = open_call(&call);
    }
    if (err == GRANARY_OK) {
        err = run_guarded(&call);
    }
    if (err == GRANARY_OK) {
        err = keep_outputs(&call);
    }
    close_call(&call);
    return err;
}
