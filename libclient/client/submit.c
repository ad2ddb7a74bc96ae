/* Submission: what a graph names is resolved, and the scheduler gets it, once. */
#include "client/submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/text/duration.h"
#include "client/builder.h"
#include "client/resolve.h"
#include "client/user/call.h"
#include "client/user/library.h"
#include "granary/call.h"
#include "graph/graph.h"
#include "object/object.h"

/* A protobuf string is not const, but packing only reads it. */
static char *
borrow(const char *text)
{
    return (char *)(uintptr_t)text;
}

granary_err
gr_graph_check_key(const char *key)
{
    return key != NULL && key[0] != '\0' && strlen(key) < GRANARY_KEY_MAX
               ? GRANARY_OK
               : gr_fail(GRANARY_EINVAL, "a graph's key, or a table's name, is a text of 1 to %d bytes",
                         GRANARY_KEY_MAX - 1);
}

void
gr_status_take(const Granary__Reply *reply, granary_graph_status *ret_status, size_t status_size)
{
    if (reply != NULL && reply->status != NULL) {
        granary_graph_status status = {.state = (granary_graph_state)reply->status->state,
                                       .subtasks_total = reply->status->subtasks_total,
                                       .subtasks_done = reply->status->subtasks_done,
                                       .retries = reply->status->retries,
                                       .subtasks_failed = reply->status->subtasks_failed,
                                       .progress = reply->status->progress};

        gr_sized_give(ret_status, status_size, &status, sizeof status);
    }
}

enum { RECALL_ALLOWED, RECALL_OFF, RECALL_AGAIN, RECALL_EAGER }; /* Submit.recall */

static uint32_t
recall_wish(const granary_graph_options *options)
{
    const char *text = getenv("GRANARY_RECALL");

    return (options->flags & GRANARY_GRAPH_NO_RECALL) != 0 || (text != NULL && strcmp(text, "off") == 0) ? RECALL_OFF
           : text != NULL && strcmp(text, "eager") == 0                                                  ? RECALL_EAGER
                                                        : RECALL_ALLOWED;
}

/* Whether all chunks that were recalled are there: anybody may have deleted them, or a read may have found damage. */
static bool
are_there(granary_client *client, const ProtobufCBinaryData *ids)
{
    granary_object_info info;
    granary_id id;

    for (size_t at = 0; at + sizeof id.bytes <= ids->len; at += sizeof id.bytes) {
        memcpy(id.bytes, ids->data + at, sizeof id.bytes);
        if (granary_object_info_get(client, id, &info) != GRANARY_OK || info.damaged ||
            (info.state != GRANARY_OBJECT_SEALED && info.state != GRANARY_OBJECT_SPILLED)) {
            return false;
        }
    }
    return true;
}

/* submit has the graph, or the text, and how long to wait for its end: 0: not at all. */
static granary_err
submit_message(granary_client *client, Granary__Submit *submit, const granary_graph_options *theirs,
               size_t options_size, char ret_key[GRANARY_KEY_MAX], granary_graph_status *ret_status, size_t status_size,
               bool *ret_existed)
{
    granary_graph_options options = {.key = NULL};
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Reply *reply = NULL;
    char key[GRANARY_KEY_MAX];
    char *directory = getcwd(NULL, 0);
    const struct gr_in_call *in_call = gr_client_in_call();
    granary_err err = directory == NULL ? gr_fail_errno("current directory") : GRANARY_OK;

    if (err == GRANARY_OK && gr_client_is_over(client)) {
        err = gr_fail(GRANARY_EUNREACHABLE, "session '%s': it was deleted, or its store has stopped",
                      gr_client_session(client));
    }
    if (err == GRANARY_OK) {
        err = gr_sized_take(&options, sizeof options, theirs, options_size);
    }
    if (err == GRANARY_OK) {
        err = gr_timeout_check(options.timeout_ms);
    }
    if (err == GRANARY_OK && options.key != NULL) {
        err = gr_graph_check_key(options.key);
        err = err == GRANARY_OK ? gr_check_no_table(client, options.key) : err;
        (void)snprintf(key, sizeof key, "%s", options.key);
    } else {
        /* With a key the submission can be sent twice and is still one. */
        granary_id_format(granary_id_random(), key);
    }
    if (err == GRANARY_OK) {
        submit->key = key;
        submit->session = borrow(gr_client_session(client));
        submit->chunk_bytes = options.chunk_bytes;
        submit->priority = options.priority;
        submit->passing = submit->passing || (options.flags & GRANARY_GRAPH_PASSING) != 0;
        submit->owned = (options.flags & GRANARY_GRAPH_OWNED) != 0;
        submit->keep_going = options.keep_going;
        /* A moment, not a duration: however often it is sent, and whoever runs it in the end. */
        submit->deadline_ms = options.timeout_ms > 0 ? gr_wall_ms() + options.timeout_ms : 0;
        submit->directory = directory;
        submit->parent = borrow(in_call != NULL && in_call->graph != NULL ? in_call->graph : "");
        request.body_case = GRANARY__REQUEST__BODY_SUBMIT;
        request.submit = submit;
        submit->recall = recall_wish(&options);
        do {
            submit->recall = reply == NULL ? submit->recall : RECALL_AGAIN;
            granary__reply__free_unpacked(reply, NULL);
            reply = NULL;
            err = call(client, &request,
                       submit->wait_ms == 0 ? CALL_TIMEOUT_MS : call_patience_ms((int)submit->wait_ms), &reply);
        } while (err == GRANARY_OK && !are_there(client, &reply->recalled) && submit->recall != RECALL_AGAIN);
        gr_status_take(reply, ret_status, status_size);
        *ret_existed = reply == NULL || reply->existed; /* nobody knows: it may not be there at all */
        if (err == GRANARY_OK || submit->wait_ms != 0) {
            memcpy(ret_key, key, strlen(key) + 1);
        }
    }
    granary__reply__free_unpacked(reply, NULL);
    free(directory);
    return err;
}

/* Resolve what the graph names, submit it, and leave its snapshots to it. */
static granary_err
submit_resolved(granary_client *client, Granary__Submit *submit, const granary_graph_options *options,
                size_t options_size, char ret_key[GRANARY_KEY_MAX], granary_graph_status *ret_status,
                size_t status_size)
{
    struct gr_snapshots snapshots = {.count = 0};
    bool existed = true;
    granary_err err = gr_resolve_objects(client, submit->graph, &snapshots);

    submit->tables = snapshots.told;
    submit->n_tables = snapshots.count;
    if (err == GRANARY_OK) {
        err = submit_message(client, submit, options, options_size, ret_key, ret_status, status_size, &existed);
    }
    /* A graph that runs on keeps them; one that has ended needs none. */
    gr_snapshots_end(client, &snapshots, !existed && err == (submit->wait_ms == 0 ? GRANARY_OK : GRANARY_ETIMEDOUT));
    return err;
}

static granary_err
submit_graph(granary_client *client, const granary_graph *graph, const granary_graph_options *options,
             size_t options_size, int wait_ms, char ret_key[GRANARY_KEY_MAX], granary_graph_status *ret_status,
             size_t status_size)
{
    Granary__Submit submit = GRANARY__SUBMIT__INIT;
    granary_err err = gr_client_check_wait(client, wait_ms);

    submit.wait_ms = wait_ms;
    if (err == GRANARY_OK) {
        err = gr_builder_finish(graph, &submit.graph);
    }
    if (err == GRANARY_OK) {
        submit.digest = gr_graph_digest(submit.graph);
        err = submit_resolved(client, &submit, options, options_size, ret_key, ret_status, status_size);
        granary__graph__free_unpacked(submit.graph, NULL);
    }
    return err;
}

granary_err
gr_submit(granary_client *client, Granary__Graph *graph, const granary_graph_options *options, bool passing,
          char ret_key[GRANARY_KEY_MAX])
{
    Granary__Submit submit = GRANARY__SUBMIT__INIT;
    granary_err err = gr_client_check(client);

    submit.graph = graph;
    submit.passing = passing;
    return err == GRANARY_OK
               ? submit_resolved(client, &submit, options, options == NULL ? 0 : sizeof *options, ret_key, NULL, 0)
               : err;
}

granary_err
granary_graph_submit_sized(granary_client *client, const granary_graph *graph, const granary_graph_options *options,
                           char ret_key[GRANARY_KEY_MAX], size_t options_size)
{
    return submit_graph(client, graph, options, options_size, 0, ret_key, NULL, 0);
}

granary_err
granary_graph_run_sized(granary_client *client, const granary_graph *graph, const granary_graph_options *options,
                        int timeout_ms, char ret_key[GRANARY_KEY_MAX], granary_graph_status *ret_status,
                        size_t options_size, size_t status_size)
{
    granary_err err = timeout_ms == 0 ? gr_fail(GRANARY_EINVAL, "graph: a timeout of 0 waits for nothing") : GRANARY_OK;

    return err == GRANARY_OK
               ? submit_graph(client, graph, options, options_size, timeout_ms, ret_key, ret_status, status_size)
               : err;
}

static granary_err
submit_text(granary_client *client, const char *json, size_t length, const granary_graph_options *options,
            size_t options_size, bool passing, int wait_ms, char ret_key[GRANARY_KEY_MAX],
            granary_graph_status *ret_status, size_t status_size)
{
    Granary__Submit submit = GRANARY__SUBMIT__INIT;
    bool existed;
    char *text;
    granary_err err = gr_client_check_wait(client, wait_ms);

    if (err != GRANARY_OK) {
        return err;
    }
    if (json == NULL || memchr(json, '\0', length) != NULL) {
        return gr_fail(GRANARY_EINVAL, "graph: the JSON text is NULL or has a NUL in it");
    }
    text = strndup(json, length);
    if (text == NULL) {
        return gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    submit.json = text;
    submit.passing = passing;
    submit.wait_ms = wait_ms;
    err = submit_message(client, &submit, options, options_size, ret_key, ret_status, status_size, &existed);
    free(text);
    return err;
}

granary_err
gr_submit_text(granary_client *client, const char *json, size_t length, const granary_graph_options *options,
               size_t options_size, bool passing, char ret_key[GRANARY_KEY_MAX])
{
    return submit_text(client, json, length, options, options_size, passing, 0, ret_key, NULL, 0);
}

granary_err
granary_graph_submit_json_sized(granary_client *client, const char *json, size_t length,
                                const granary_graph_options *options, char ret_key[GRANARY_KEY_MAX],
                                size_t options_size)
{
    return gr_submit_text(client, json, length, options, options_size, false, ret_key);
}

granary_err
granary_graph_run_json_sized(granary_client *client, const char *json, size_t length,
                             const granary_graph_options *options, int timeout_ms, char ret_key[GRANARY_KEY_MAX],
                             granary_graph_status *ret_status, size_t options_size, size_t status_size)
{
    granary_err err = timeout_ms == 0 ? gr_fail(GRANARY_EINVAL, "graph: a timeout of 0 waits for nothing") : GRANARY_OK;

    return err == GRANARY_OK ? submit_text(client, json, length, options, options_size, false, timeout_ms, ret_key,
                                           ret_status, status_size)
                             : err;
}
