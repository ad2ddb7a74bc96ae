/* granary/call.h: inputs, parameters and context of a call. */
#include "executor/user/call.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "client/builder.h"
#include "client/resolve.h"
#include "data/arrow/arrow.h"
#include "graph/chunk/graph.h"
#include "graph/copy.h"
#include "graph/operators/nearest.h"

/* ---- failing ---- */

granary_err
granary_call_fail(granary_call *call, granary_err err, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(call->message, sizeof call->message, format, arguments);
    va_end(arguments);
    call->failed = err == GRANARY_OK ? GRANARY_EFAILED : err;
    return call->failed;
}

granary_err
call_failed(granary_call *call, granary_err err)
{
    return granary_call_fail(call, err, "%s", granary_error_message());
}

/* ---- inputs ---- */

size_t
granary_call_inputs(const granary_call *call)
{
    return call->op->op->n_inputs;
}

const granary_view *
granary_call_input(granary_call *call, size_t i)
{
    return i < granary_call_inputs(call) ? &call->inputs[i].view : NULL;
}

static granary_err
check_input(const granary_call *call, size_t i)
{
    return i < granary_call_inputs(call) ? GRANARY_OK
                                         : gr_fail(GRANARY_EINVAL, "function '%s' asks for input %zu: it has %zu",
                                                   call->context.function, i, granary_call_inputs(call));
}

granary_err
call_frame_of(granary_call *call, size_t i, const granary_frame **ret_frame)
{
    granary_err err = check_input(call, i);

    if (err == GRANARY_OK && call->inputs[i].frame == NULL) {
        const granary_view *view = &call->inputs[i].view;

        /* The function asks for columns; those that cannot be read hinder none of the others. */
        err = gr_arrow_read_columns(view->data, view->data_size, view->meta, view->meta_size, NULL, 0,
                                    &call->inputs[i].frame);
        err = err == GRANARY_OK ? err : gr_fail_in(err, "input %zu", i);
    }
    if (err == GRANARY_OK) {
        *ret_frame = call->inputs[i].frame;
    }
    return err;
}

/* Why input i has no such column: it may be there, and of a type that is not supported. */
static granary_err
no_column(const granary_call *call, size_t i, const granary_frame *frame, const char *name)
{
    const granary_view *view = &call->inputs[i].view;
    struct gr_nearest nearest = {.name = name};
    char hint[GR_HINT_MAX];
    granary_frame *again = NULL;
    granary_err err = gr_arrow_read_columns(view->data, view->data_size, view->meta, view->meta_size, &name, 1, &again);

    granary_frame_close(again);
    if (err != GRANARY_OK) {
        return gr_fail_in(err, "input %zu", i);
    }
    for (size_t c = 0; c < granary_frame_columns(frame); c++) {
        gr_nearest_offer(&nearest, granary_frame_column(frame, c)->name);
    }
    return gr_fail(GRANARY_ENOENT, "input %zu has no column '%s'%s", i, name, gr_nearest_hint(&nearest, hint));
}

granary_err
granary_call_frame(granary_call *call, size_t i, const granary_frame **ret_frame)
{
    granary_err err = call_frame_of(call, i, ret_frame);

    return err == GRANARY_OK ? gr_frame_plain(*ret_frame, ret_frame) : err;
}

granary_err
granary_call_tensor(granary_call *call, size_t i, granary_tensor *ret_tensor)
{
    granary_err err = check_input(call, i);

    if (err == GRANARY_OK && !call->inputs[i].is_tensor) {
        err = granary_tensor_open(&call->inputs[i].view, &call->inputs[i].tensor);
        call->inputs[i].is_tensor = err == GRANARY_OK;
        err = err == GRANARY_OK ? err : gr_fail_in(err, "input %zu", i);
    }
    if (err == GRANARY_OK) {
        *ret_tensor = call->inputs[i].tensor;
    }
    return err;
}

const void *
granary_call_column(granary_call *call, const char *name, granary_dtype dtype, int64_t *ret_rows)
{
    const granary_frame *frame;
    const granary_column *column;
    granary_err err = call_frame_of(call, 0, &frame);

    if (err != GRANARY_OK) {
        (void)call_failed(call, err);
        return NULL;
    }
    column = granary_frame_column_named(frame, name);
    if (column == NULL) {
        (void)call_failed(call, no_column(call, 0, frame, name));
        return NULL;
    }
    if (column->dtype != dtype) {
        (void)granary_call_fail(call, GRANARY_ETYPE, "column '%s' is of %s; function '%s' asks for %s", name,
                                granary_dtype_name(column->dtype), call->context.function, granary_dtype_name(dtype));
        return NULL;
    }
    *ret_rows = column->rows;
    return column->values;
}

/* ---- parameters ---- */

const char *
granary_call_param(granary_call *call, const char *key, const char *fallback)
{
    const Granary__Attr *params = call->params;

    for (size_t i = 0; params != NULL && i < params->n_keys && i < params->n_strings; i++) {
        if (strcmp(params->keys[i], key) == 0) {
            return params->strings[i];
        }
    }
    return fallback;
}

static void
no_number(granary_call *call, const char *key, const char *text, const char *kind)
{
    (void)granary_call_fail(call, GRANARY_EINVAL, "parameter '%s' is '%.100s', which is no %s", key, text, kind);
}

int64_t
granary_call_param_int(granary_call *call, const char *key, int64_t fallback)
{
    const char *text = granary_call_param(call, key, NULL);
    char *rest;
    long long value;

    if (text == NULL) {
        return fallback;
    }
    errno = 0;
    value = strtoll(text, &rest, 10);
    if (rest == text || *rest != '\0' || errno != 0) {
        no_number(call, key, text, "integer of 64 bits");
        return fallback;
    }
    return value;
}

double
granary_call_param_double(granary_call *call, const char *key, double fallback)
{
    const char *text = granary_call_param(call, key, NULL);
    char *rest;
    double value;

    if (text == NULL) {
        return fallback;
    }
    value = strtod(text, &rest);
    if (rest == text || *rest != '\0') {
        no_number(call, key, text, "number");
        return fallback;
    }
    return value;
}

/* ---- context ---- */

const granary_call_context *
granary_call_context_get(const granary_call *call)
{
    return &call->context;
}

bool
granary_call_cancelled(const granary_call *call)
{
    return page_cancelled(&call->op->host->page, call->op->subtask->number);
}

void
granary_call_progress(granary_call *call, double part)
{
    double within = part > 0 ? part : 0; /* not a number is none */

    page_progress(&call->op->host->page, (uint64_t)((within < 1 ? within : 1) * 1e9));
}

void
granary_call_program(granary_call *call, int64_t pid)
{
    page_program(&call->op->host->page, pid);
}

void *
granary_call_reusable(granary_call *call, const char *name)
{
    struct host *host = call->op->host;
    void *value = NULL;
    granary_err err = reusable_get(&host->reusables, &host->libraries, call->library, call, call->turn, name, &value);

    if (err != GRANARY_OK) {
        if (call->failed == GRANARY_OK) {
            (void)granary_call_fail(call, err, "reusable variable '%s': %s", name,
                                    granary_error_message()[0] != '\0' ? granary_error_message()
                                                                       : granary_error_name(err));
        }
        return NULL;
    }
    return value;
}

granary_client *
granary_call_client(granary_call *call)
{
    return call->op->client;
}

/* ---- going on ---- */

/* Its targets by name; when none was named, those nodes nobody reads. Errors: as gr_graph_create() */
static granary_err
name_targets(Granary__Graph *message)
{
    struct gr_chunk_graph *chunks = NULL;
    struct gr_graph *graph = NULL;
    Granary__Graph *copy = gr_message_copy(&message->base);
    granary_err err;

    if (copy == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    err = message->level == GRANARY__GRAPH__LEVEL__CHUNK ? gr_chunk_graph_create(copy, &chunks)
                                                         : gr_graph_create(copy, &graph);
    if (err != GRANARY_OK) {
        granary__graph__free_unpacked(copy, NULL);
        return err;
    }
    message->targets = copy->targets; /* the check has named them */
    message->n_targets = copy->n_targets;
    copy->targets = NULL;
    copy->n_targets = 0;
    gr_graph_destroy(graph);
    gr_chunk_graph_destroy(chunks);
    return GRANARY_OK;
}

static granary_err
copy_targets(Granary__Done *done, const Granary__Graph *graph)
{
    done->go_on_targets = calloc(graph->n_targets + 1, sizeof *done->go_on_targets);
    for (size_t i = 0; done->go_on_targets != NULL && i < graph->n_targets; i++) {
        done->go_on_targets[i] = strdup(graph->targets[i]);
        if (done->go_on_targets[i] == NULL) {
            break;
        }
        done->n_go_on_targets++;
    }
    return done->n_go_on_targets == graph->n_targets ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "out of memory");
}

static bool
outputs_given(const granary_call *call)
{
    bool given = call->frame_begun || call->go_on;

    for (size_t i = 0; i < call->op->op->n_outputs; i++) {
        given = given || call->outputs[i].given;
    }
    return given;
}

granary_err
granary_call_go_on(granary_call *call, const granary_graph *graph)
{
    size_t outputs = call->op->op->n_outputs;
    Granary__Graph *message = NULL;
    granary_err err;

    if (outputs_given(call)) {
        return gr_fail(GRANARY_EINVAL, "a call goes on as one graph, and then gives no outputs itself");
    }
    err = gr_builder_finish(graph, &message);
    if (err == GRANARY_OK) {
        err = gr_resolve_objects(granary_call_client(call), message, NULL);
    }
    if (err == GRANARY_OK && message->n_targets == 0) {
        err = name_targets(message);
    }
    if (err == GRANARY_OK && message->n_targets != outputs) {
        err = gr_fail(GRANARY_EINVAL, "a call with %zu outputs goes on as a graph with as many targets, not %zu",
                      outputs, message->n_targets);
    }
    if (err == GRANARY_OK) {
        err = copy_targets(call->op->done, message);
    }
    if (err == GRANARY_OK) {
        call->op->done->go_on = message;
        call->go_on = true;
        message = NULL;
    }
    if (message != NULL) {
        granary__graph__free_unpacked(message, NULL);
    }
    return err;
}
