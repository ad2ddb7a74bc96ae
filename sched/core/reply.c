/* Actions and replies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "sched/core/manager_private.h"
#include "sched/info/why.h"

struct action *
action_add(struct manager *manager, enum action_kind kind)
{
    if (manager->action_count == manager->action_room) {
        size_t room = manager->action_room * 2 + 64;
        struct action *actions = reallocarray(manager->actions, room, sizeof *actions);

        if (actions == NULL) {
            gr_log_error("OUT-OF-MEMORY", "actions=%zu", room);
            manager->exhausted = true;
            return NULL;
        }
        manager->actions = actions;
        manager->action_room = room;
    }
    manager->actions[manager->action_count] = (struct action){.kind = kind};
    return &manager->actions[manager->action_count++];
}

struct action *
manager_actions(struct manager *manager, size_t *ret_count)
{
    *ret_count = manager->action_count;
    return manager->actions;
}

bool
manager_exhausted(const struct manager *manager)
{
    bool exhausted = manager->exhausted;

    for (size_t i = 0; i < manager->action_count; i++) {
        exhausted = exhausted || !gr_buf_ok(&manager->actions[i].bytes) || !gr_buf_ok(&manager->actions[i].entry_key);
    }
    return exhausted;
}

void
manager_note_exhausted(struct manager *manager)
{
    manager->exhausted = true;
}

void
manager_actions_done(struct manager *manager, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gr_buf_free(&manager->actions[i].bytes);
        gr_buf_free(&manager->actions[i].entry_key);
    }
    manager->action_count -= count;
    if (manager->action_count > 0) {
        memmove(manager->actions, manager->actions + count, manager->action_count * sizeof *manager->actions);
    }
    manager->turn++;
}

static void
pack_message(struct gr_buf *bytes, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);
    void *room = size > 0 ? gr_buf_grow(bytes, size) : NULL;

    if (room != NULL) {
        (void)protobuf_c_message_pack(message, room);
    }
}

void
keep_message(struct manager *manager, const char *space, const void *key, size_t key_size,
             const ProtobufCMessage *message)
{
    struct action *action = action_add(manager, ACTION_KEEP);

    if (action != NULL) {
        action->space = space;
        gr_buf_add(&action->entry_key, key, key_size);
        pack_message(&action->bytes, message);
    }
}

void
forget(struct manager *manager, const char *space, const void *key, size_t key_size)
{
    struct action *action = action_add(manager, ACTION_FORGET);

    if (action != NULL) {
        action->space = space;
        gr_buf_add(&action->entry_key, key, key_size);
    }
}

void
unlog(struct manager *manager, const char *graph_key)
{
    struct action *action = action_add(manager, ACTION_UNLOG);

    if (action != NULL) {
        gr_buf_add(&action->entry_key, graph_key, strlen(graph_key));
    }
}

static struct action *
reply(struct manager *manager, uint64_t ticket, Granary__Reply *message)
{
    struct action *action = action_add(manager, ACTION_REPLY);

    message->version = GRANARY__VERSION__PROTOCOL;
    if (action != NULL) {
        action->ticket = ticket;
        pack_message(&action->bytes, &message->base);
    }
    return action;
}

void
reply_error(struct manager *manager, uint64_t ticket, granary_err err, const char *message)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;

    answer.err = err;
    answer.message = (char *)(uintptr_t)message;
    (void)reply(manager, ticket, &answer);
}

void
reply_ok(struct manager *manager, uint64_t ticket)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    struct action *action = reply(manager, ticket, &answer);

    if (action != NULL) {
        action->when_durable = true;
    }
}

void
reply_library(struct manager *manager, uint64_t ticket, const Granary__Library *library)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    struct action *action;

    answer.library = (Granary__Library *)(uintptr_t)library; /* packing only reads it */
    action = reply(manager, ticket, &answer);
    if (action != NULL) {
        action->when_durable = true;
    }
}

void
reply_accepted(struct manager *manager, uint64_t ticket, const char *key, bool is_new)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    struct action *action;

    answer.key = (char *)(uintptr_t)key;
    action = reply(manager, ticket, &answer);
    if (action != NULL) {
        action->when_durable = true;
    }
    if (action != NULL && is_new) {
        memcpy(action->accepted, key, strlen(key) + 1);
    }
}

void
graph_status(const struct task_graph *graph, Granary__GraphStatus *ret_status)
{
    const struct execution_graph_counts *counts =
        graph->execution != NULL ? execution_graph_counts(graph->execution) : &graph->counts;

    *ret_status = (Granary__GraphStatus)GRANARY__GRAPH_STATUS__INIT;
    ret_status->state = (uint32_t)graph->state;
    ret_status->subtasks_total = counts->total;
    ret_status->subtasks_done = counts->succeeded;
    ret_status->retries = counts->retries;
    ret_status->subtasks_failed = counts->failed;
    ret_status->err = graph->err;
    ret_status->ended_ms = graph->ended_ms;
    if (graph->message != NULL) {
        ret_status->message = graph->message;
    }
}

double
graph_progress(struct task_graph *graph)
{
    const struct execution_graph_counts *counts =
        graph->execution != NULL ? execution_graph_counts(graph->execution) : &graph->counts;
    double part = counts->total == 0 ? 0 : (double)counts->succeeded / (double)counts->total;

    /* More subtasks may become known, and lost ones run again: what was told once stays. */
    if (graph->state == GRANARY_GRAPH_SUCCEEDED) {
        part = 1;
    } else if (graph->plan == NULL || !gr_plan_complete(graph->plan)) {
        part /= 2;
    }
    graph->progress = part > graph->progress ? part : graph->progress;
    return graph->progress;
}

void
reply_status(struct manager *manager, uint64_t ticket, const struct task_graph *graph, granary_err err)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    Granary__GraphStatus status;
    char text[160];

    graph_status(graph, &status);
    answer.status = &status;
    answer.err = err;
    if (err == GRANARY_ETIMEDOUT) {
        (void)snprintf(text, sizeof text, "graph '%s': still running, %llu of %llu subtasks done", graph->key,
                       (unsigned long long)status.subtasks_done, (unsigned long long)status.subtasks_total);
        answer.message = text;
    } else if (graph->err != GRANARY_OK) {
        answer.err = graph->err;
        answer.message = status.message;
    }
    (void)reply(manager, ticket, &answer);
}

void
reply_explain(struct manager *manager, uint64_t ticket, const struct task_graph *graph, bool analyze)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    struct gr_buf text = {0};

    if (graph->plan != NULL) {
        gr_plan_explain(graph->plan, &text);
        if (analyze) {
            gr_plan_analyze(graph->plan, &text);
        }
    } else if (graph->submit == NULL || restored_explain(manager, graph, &text) != GRANARY_OK) {
        char why[512];

        (void)snprintf(why, sizeof why, "%s", graph->submit == NULL ? "it is gone" : granary_error_message());
        (void)gr_fail(GRANARY_ESTATE,
                      "graph '%s': its plan ended with an earlier scheduler and cannot be made again (%s): submit it "
                      "again to see one",
                      graph->key, why);
        reply_error(manager, ticket, GRANARY_ESTATE, granary_error_message());
        gr_buf_free(&text);
        return;
    }
    if (gr_buf_ok(&text)) {
        answer.text = text.bytes != NULL ? text.bytes : (char *)(uintptr_t) "";
        (void)reply(manager, ticket, &answer);
    } else {
        reply_error(manager, ticket, GRANARY_ENOMEM, "scheduler: out of memory");
    }
    gr_buf_free(&text);
}

void
reply_why(struct manager *manager, uint64_t ticket, const char *subject)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    struct gr_buf text = {0};
    granary_err err = why_tell(manager, subject, &text);

    if (err == GRANARY_OK && !gr_buf_ok(&text)) {
        err = gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    if (err == GRANARY_OK) {
        answer.text = text.bytes != NULL ? text.bytes : (char *)(uintptr_t) "";
        (void)reply(manager, ticket, &answer);
    } else {
        reply_error(manager, ticket, err, granary_error_message());
    }
    gr_buf_free(&text);
}

void
reply_chunks(struct manager *manager, uint64_t ticket, const struct task_graph *graph, Granary__Result *result,
             uint64_t cursor, uint64_t limit)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    Granary__Result part = *result;
    uint64_t first = cursor < result->n_chunks ? cursor : result->n_chunks;
    uint64_t left = result->n_chunks - first;

    part.chunks = result->chunks + first;
    part.n_chunks = left < limit ? left : limit;
    part.cursor = first;
    part.count = result->n_chunks;
    part.complete = graph->state != GRANARY_GRAPH_RUNNING;
    answer.result = &part;
    (void)reply(manager, ticket, &answer);
}

void
reply_with_receipt(struct manager *manager, uint64_t ticket, Granary__Receipt *receipt)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    struct action *action;

    answer.receipt = receipt;
    action = reply(manager, ticket, &answer);
    if (action != NULL) {
        action->when_durable = true;
    }
}

void
reply_cluster(struct manager *manager, uint64_t ticket)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    Granary__Cluster cluster = GRANARY__CLUSTER__INIT;
    size_t count = manager->executor_count;
    Granary__Executor *messages = calloc(count + 1, sizeof *messages);
    Granary__Executor **pointers = calloc(count + 1, sizeof *pointers);

    if (messages == NULL || pointers == NULL) {
        reply_error(manager, ticket, GRANARY_ENOMEM, "scheduler: out of memory");
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        const struct executor *executor = &manager->executors[i];

        messages[i] = (Granary__Executor)GRANARY__EXECUTOR__INIT;
        messages[i].number = executor->number;
        messages[i].pid = executor->pid;
        messages[i].node = executor->node;
        messages[i].busy = reservations_in_flight(manager->reservations, executor->number) > 0;
        messages[i].done = executor->done;
        messages[i].failures = executor->failures;
        pointers[i] = &messages[i];
    }
    for (uint32_t serial = 1; serial < manager->serial_count; serial++) {
        const struct task_graph *graph = manager->by_serial[serial];

        if (graph != NULL && graph->execution != NULL) {
            const struct execution_graph_counts *counts = execution_graph_counts(graph->execution);

            cluster.graphs_running += graph->state == GRANARY_GRAPH_RUNNING;
            cluster.subtasks_ready += counts->ready + counts->parked;
            cluster.subtasks_running += counts->running;
        }
    }
    cluster.subtasks_done = manager->subtasks_done;
    cluster.executors = pointers;
    cluster.n_executors = count;
    answer.cluster = &cluster;
    (void)reply(manager, ticket, &answer);
out:
    free(messages);
    free(pointers);
}
