/*
 * Graphs an earlier scheduler kept. Ended ones are known again. The others are planned again, in the same way, and what
 * their logs tell is applied to that: what is done is not done again.
 */

#include "sched/graphs/again/restore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "graph/copy.h"
#include "sched/core/pack.h"
#include "sched/durable/journal.h"
#include "sched/execution/event_log.h"
#include "sched/execution/graph.h"
#include "sched/functions/libraries.h"
#include "sched/graphs/again/recall.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/tables.h"

void
manager_restore_graph(struct manager *manager, const char *key, const void *submit, size_t size)
{
    Granary__Submit *message = granary__submit__unpack(NULL, size, submit);
    struct task_graph *graph = NULL;

    if (message != NULL && strlen(key) < GRANARY_KEY_MAX && graph_find(manager, key) == NULL) {
        graph = graph_create(manager, key, message->session[0] != '\0' ? message->session : "default", message->serial);
    }
    if (graph == NULL) {
        gr_log_warn("STATE-ENTRY", "graph=%.80s the entry cannot be read, and was passed over", key);
        granary__submit__free_unpacked(message, NULL);
        return;
    }
    (void)snprintf(graph->id_key, sizeof graph->id_key, "%s", message->key);
    graph->submitted_ms = message->submitted_ms;
    graph_take_wishes(graph, message);
    graph->digest = message->digest;
    graph->submit = message;
}

void
manager_restore_end(struct manager *manager, const char *key, const void *status, size_t size)
{
    struct task_graph *graph = graph_find(manager, key);
    Granary__GraphStatus *message = granary__graph_status__unpack(NULL, size, status);

    if (graph != NULL && message != NULL && message->state > GRANARY_GRAPH_RUNNING &&
        message->state <= GRANARY_GRAPH_CANCELLED) {
        graph->restored = true;
        graph->state = (granary_graph_state)message->state;
        graph->end.err = (granary_err)message->err;
        graph->end.message = message->message[0] != '\0' ? strdup(message->message) : NULL;
        graph->counts.total = message->subtasks_total;
        graph->counts.succeeded = message->subtasks_done;
        graph->counts.retries = message->retries;
        graph->counts.failed = message->subtasks_failed;
        graph->end.ms = message->ended_ms;
    }
    granary__graph_status__free_unpacked(message, NULL);
}

void
manager_restore_result(struct manager *manager, const char *key, const char *target, const void *result, size_t size)
{
    struct task_graph *graph = graph_find(manager, key);
    Granary__Result *message = granary__result__unpack(NULL, size, result);
    struct target *grown;

    if (graph != NULL && graph->restored && message != NULL) {
        grown = reallocarray(graph->results.targets, graph->results.count + 1, sizeof *grown);
        if (grown != NULL) {
            graph->results.targets = grown;
            graph->results.own_names = true;
            grown[graph->results.count] =
                (struct target){.name = strdup(target), .packed = malloc(size + 1), .packed_size = size};
            if (grown[graph->results.count].packed != NULL) {
                memcpy(grown[graph->results.count].packed, result, size);
            }
            graph->results.count += grown[graph->results.count].name != NULL;
            if (graph->submit == NULL || graph->submit->recalled == 0) { /* else they are another graph's */
                (void)graph_kept_add(graph, message);
            }
        }
    }
    granary__result__free_unpacked(message, NULL);
}

void
manager_restore_events(struct manager *manager, const void *key, size_t key_size, const void *record, size_t size)
{
    struct task_graph *graph;
    struct gr_buf *grown;

    graph = key_size == 12 ? graph_of_number(manager, WIRE_NUMBER(number_of_key(key, 4), 0)) : NULL;
    if (graph == NULL) {
        return;
    }
    grown = reallocarray(graph->journal.records, graph->journal.record_count + 1, sizeof *grown);
    if (grown == NULL) {
        gr_log_error("OUT-OF-MEMORY", "graph=%.80s: some of it will run again", graph->key);
        return;
    }
    graph->journal.records = grown;
    grown[graph->journal.record_count] = (struct gr_buf){0};
    gr_buf_add(&grown[graph->journal.record_count++], record, size);
    event_log_learn(&graph->journal.log, record, size);
    graph->journal.log.records = number_of_key((const char *)key + 4, 8) + 1;
}

struct replay {
    struct manager *manager;
    struct task_graph *graph;
};

static uint64_t
replay_plan(void *context)
{
    const struct replay *replay = context;

    return gr_plan_number(replay->graph->plan);
}

static granary_err
replay_feed(void *context, uint32_t number, const Granary__Done *done)
{
    const struct replay *replay = context;
    granary_err err = gr_plan_feed(replay->graph->plan, number, done);

    return err == GRANARY_OK ? graph_advance(replay->manager, replay->graph) : err;
}

/* Apply its log. Errors: ESTATE it does not fit */
static granary_err
replay_log(struct manager *manager, struct task_graph *graph)
{
    struct replay context = {.manager = manager, .graph = graph};
    const granary_id *ids;
    granary_err err = GRANARY_OK;

    for (size_t i = 0; err == GRANARY_OK && i < graph->journal.record_count; i++) {
        const struct gr_buf *record = &graph->journal.records[i];
        const struct event_log_replay replay = {
            .execution = graph->execution, .context = &context, .plan = replay_plan, .feed = replay_feed};

        err = gr_buf_ok(record) ? event_log_apply(&graph->journal.log, &replay, record->bytes, record->size)
                                : gr_fail(GRANARY_ENOMEM, "out of memory");
    }
    (void)execution_graph_freed(graph->execution, &ids); /* orders for that were kept with it */
    return err;
}

void
records_drop(struct task_graph *graph)
{
    for (size_t i = 0; i < graph->journal.record_count; i++) {
        gr_buf_free(&graph->journal.records[i]);
    }
    free(graph->journal.records);
    graph->journal.records = NULL;
    graph->journal.record_count = 0;
}

/*
 * Its subtasks are other ones now. They get numbers that no executor knows: what is still at hand of the plan before is
 * refused, and what that yields is freed, as are graphs that its subtasks went on as.
 */
static granary_err
graph_renumber(struct manager *manager, struct task_graph *graph, Granary__Submit *submit)
{
    uint32_t serial = manager->registry.serial_count;

    serials_note(manager);
    if (!serial_reserve(manager, serial)) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    family_delete(manager, graph);
    graph_unlink(manager, graph);
    graph_link(manager, graph, serial);
    submit->serial = serial;
    keep_message(manager, MANAGER_GRAPHS, graph->key, strlen(graph->key), &submit->base);
    return GRANARY_OK;
}

/* Back to where it was: planned again, and what its log tells applied; or from the beginning, if that does not fit. */
static granary_err
graph_resume(struct manager *manager, struct task_graph *graph, Granary__Submit *submit)
{
    Granary__Submit *again = graph->journal.record_count == 0 ? NULL : gr_message_copy(&submit->base);
    granary_err err;

    graph->resumed = graph->planned = true;
    graph->awaits_claims = true;
    graph->journal.replays = again != NULL;
    recall_look_again(manager, graph, submit);
    err = graph_plan(manager, graph, submit);
    if (again == NULL) {
        return err;
    }
    if (err == GRANARY_OK) {
        err = replay_log(manager, graph);
    }
    graph->journal.replays = false;
    if (err == GRANARY_OK) {
        goto out;
    }
    gr_log_warn("EVENTS-DROPPED", "graph=%.80s: %s: it runs from its beginning", graph->key, granary_error_message());
    events_restart(manager, graph);
    graph_unplan(manager, graph);
    err = graph_renumber(manager, graph, again);
    if (err == GRANARY_OK) {
        err = graph_plan(manager, graph, again);
    }
out:
    granary__submit__free_unpacked(again, NULL);
    return err;
}

granary_err
restored_explain(struct manager *manager, const struct task_graph *graph, struct gr_buf *ret_text)
{
    struct task_graph scratch = {
        .session = graph->session,
        .serial = graph->serial,
        .state = GRANARY_GRAPH_RUNNING,
        .planned = true,
        .awaits_claims = true, /* nothing of it is given to anybody */
        .journal = {.replays = true, .records = graph->journal.records, .record_count = graph->journal.record_count}};
    Granary__Submit *submit = gr_message_copy(&graph->submit->base);
    granary_err err;

    memcpy(scratch.key, graph->key, sizeof scratch.key);
    memcpy(scratch.id_key, graph->id_key, sizeof scratch.id_key);
    if (submit == NULL) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    submit->deadline_ms = 0;
    recall_look_again(manager, &scratch, submit);
    err = graph_plan(manager, &scratch, submit);
    if (err == GRANARY_OK) {
        err = replay_log(manager, &scratch);
    }
    if (err == GRANARY_OK) {
        gr_plan_explain(scratch.plan, ret_text);
    }
    graph_unplan(manager, &scratch);
    recall_leave(manager, &scratch);
    event_log_free(&scratch.journal.log);
    granary__submit__free_unpacked(submit, NULL);
    return err;
}

static void
graph_start_again(struct manager *manager, struct task_graph *graph)
{
    Granary__Submit *submit = graph->submit;
    granary_err err;

    graph->submit = NULL;
    err = graph_resume(manager, graph, submit);
    if (err != GRANARY_OK) {
        graph->end.printed = true; /* it may have */
        graph_end(manager, graph, GRANARY_GRAPH_FAILED, err, granary_error_message());
    } else {
        graph_check_end(manager, graph);
    }
    records_drop(graph);
    granary__submit__free_unpacked(submit, NULL);
}

size_t
manager_restore_start(struct manager *manager)
{
    struct task_graph *graph;
    size_t started = 0;
    const struct session *session;

    if (manager->journal->serial_limit > manager->registry.serial_count) { /* those between may have been used */
        (void)serial_reserve(manager, manager->journal->serial_limit - 1);
    }
    recall_restore_start(manager);
    FOREACH_GRAPH(graph, manager)
    {
        if (graph->submit != NULL) {
            family_join(manager, graph, graph->submit);
        }
    }
    FOREACH_GRAPH(graph, manager)
    {
        if (graph->submit != NULL && !graph->restored) { /* else that is for restored_explain() */
            graph_start_again(manager, graph);
            started++;
        }
    }
    tables_release_held(manager);
    LIST_FOREACH(session, &manager->sessions.list, link)
    {
        exports_sweep(manager, session->name);
    }
    return started;
}
