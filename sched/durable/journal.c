/*
 * What a scheduler leaves to the next one: graphs' serials, executors, and what has become of subtasks; and what the
 * next one learns from executors that have outlived the one before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sched/core/manager_private.h"
#include "sched/core/pack.h"

/* Serials are noted as used in blocks, before they are. */
#define SERIALS 256

/* ---- serials ---- */

void
serials_note(struct manager *manager)
{
    struct action *action = manager->serial_count < manager->serial_limit ? NULL : action_add(manager, ACTION_KEEP);

    if (action != NULL) {
        manager->serial_limit = manager->serial_count + SERIALS;
        action->space = MANAGER_METAS;
        gr_buf_addf(&action->entry_key, "serials");
        gr_buf_addf(&action->bytes, "%u", manager->serial_limit);
    }
}

void
manager_restore_meta(struct manager *manager, const char *key, const void *value, size_t size)
{
    char text[32] = "";

    memcpy(text, value, size < sizeof text - 1 ? size : sizeof text - 1);
    if (strcmp(key, "serials") == 0) {
        /* Those of the block that were not used never will be: somebody may have been told of them. */
        manager->serial_limit = (uint32_t)strtoul(text, NULL, 10);
    }
}

/* ---- executors ---- */

static void
executor_key(struct gr_buf *key, int64_t pid, uint64_t start_time, uint32_t slot)
{
    gr_buf_addf(key, "%lld.%llu.%u", (long long)pid, (unsigned long long)start_time, slot);
}

void
manager_keep_executor(struct manager *manager, int64_t pid, uint64_t start_time, uint32_t slot)
{
    struct action *action = action_add(manager, ACTION_KEEP);

    if (action != NULL) {
        action->space = MANAGER_EXECUTORS;
        executor_key(&action->entry_key, pid, start_time, slot);
    }
}

void
manager_forget_executor(struct manager *manager, int64_t pid, uint64_t start_time, uint32_t slot)
{
    struct action *action = action_add(manager, ACTION_FORGET);

    if (action != NULL) {
        action->space = MANAGER_EXECUTORS;
        executor_key(&action->entry_key, pid, start_time, slot);
    }
}

/* ---- claims ---- */

/*
 * Subtasks an executor has at hand, as one message of them. An earlier scheduler gave them; or this one did, and the
 * executor has connected anew: they went back when it left, and it runs them while its claim is on the way.
 */
struct claim {
    uint64_t numbers[RESERVATIONS_BATCH];
    uint32_t count;
    uint64_t bytes;
    uint32_t need; /* of each of them */
};

static void
claim_grant(struct manager *manager, uint32_t executor, struct claim *claim)
{
    /* An instance that was started again may have less: what runs is not stopped for that. */
    struct reservation_ask ask = {.need = resources_fit(manager->resources, claim->need) ? claim->need : NEED_NONE};
    uint32_t token = claim->count == 0 ? RESERVATION_NONE
                                       : reservations_grant(manager->reservations, executor, claim->numbers,
                                                            claim->count, claim->bytes, false, &ask);

    for (uint32_t i = 0; i < claim->count; i++) {
        struct task_graph *graph = graph_of_number(manager, claim->numbers[i]);
        uint32_t number = (uint32_t)claim->numbers[i];

        if (token == RESERVATION_NONE) { /* out of memory: its report will count all the same */
            execution_graph_requeue(graph->execution, number);
        } else {
            execution_graph_subtask(graph->execution, number)->token = token;
        }
    }
    *claim = (struct claim){.count = 0};
}

static bool
claim_add(struct manager *manager, uint32_t executor, struct claim *claim, uint64_t wire_number, uint32_t attempt)
{
    struct task_graph *graph = graph_of_number(manager, wire_number);
    uint32_t number = (uint32_t)wire_number;
    const struct subtask *subtask;

    if (graph == NULL || graph->state != GRANARY_GRAPH_RUNNING ||
        (subtask = execution_graph_subtask(graph->execution, number)) == NULL || attempt < subtask->attempt ||
        attempt == 0) {
        return false;
    }
    if (!graph->resumed && attempt != subtask->attempt) { /* nobody else can have given it */
        return false;
    }
    if (claim->count == RESERVATIONS_BATCH || (claim->count > 0 && claim->need != subtask->need)) {
        claim_grant(manager, executor, claim);
    }
    if (reservations_in_flight(manager->reservations, executor) == RESERVATIONS_CREDIT ||
        !execution_graph_claim(graph->execution, number, attempt)) {
        return false;
    }
    claim->numbers[claim->count++] = wire_number;
    claim->bytes += ask_of(manager, graph, number).bytes;
    claim->need = subtask->need;
    return true;
}

void
manager_executor_claims(struct manager *manager, uint32_t executor, const Granary__Register *message)
{
    struct claim claim = {.count = 0};
    uint64_t *unknown = calloc(message->n_queued + 1, sizeof *unknown);
    size_t unknown_count = 0;
    struct action *action;

    manager->exhausted = manager->exhausted || unknown == NULL;
    if (executor_find(manager, executor) == NULL || unknown == NULL) {
        free(unknown);
        return;
    }
    for (size_t i = 0; i < message->n_queued; i++) {
        uint32_t attempt = i < message->n_attempts ? message->attempts[i] : 0;

        if (!claim_add(manager, executor, &claim, message->queued[i], attempt)) {
            unknown[unknown_count++] = message->queued[i];
        }
    }
    claim_grant(manager, executor, &claim);
    action = unknown_count == 0 ? NULL : action_add(manager, ACTION_SEND);
    if (action != NULL) {
        gr_log_info("CLAIMS-REFUSED", "executor=%u subtasks=%zu", executor, unknown_count);
        action->executor = executor;
        pack_begin(&action->bytes);
        pack_cancel(&action->bytes, unknown, unknown_count);
    }
    free(unknown);
}

void
manager_executor_busy(struct manager *manager, uint64_t wire_number, uint32_t attempt)
{
    struct task_graph *graph = graph_of_number(manager, wire_number);
    uint32_t number = (uint32_t)wire_number;
    struct subtask *subtask =
        graph == NULL || graph->execution == NULL ? NULL : execution_graph_subtask(graph->execution, number);

    if (subtask != NULL && graph->resumed && graph->state == GRANARY_GRAPH_RUNNING && attempt > subtask->attempt &&
        execution_graph_claim(graph->execution, number, attempt)) {
        subtask->token = RESERVATION_NONE;
    }
}

void
manager_executor_busy_died(struct manager *manager, uint64_t wire_number, uint32_t attempt)
{
    struct task_graph *graph = graph_of_number(manager, wire_number);
    uint32_t number = (uint32_t)wire_number;
    struct subtask *subtask =
        graph == NULL || graph->execution == NULL ? NULL : execution_graph_subtask(graph->execution, number);

    if (subtask != NULL && subtask_is_elsewhere(graph, subtask, attempt)) {
        subtask->deaths++;
        subtask->suspect = true;
        run_elsewhere(manager, graph, number, "executors died running it", GRANARY_ELOST, "");
        graph_release(manager, graph);
    }
}

bool
subtask_is_elsewhere(const struct task_graph *graph, const struct subtask *subtask, uint32_t attempt)
{
    return graph->resumed && subtask->state == SUBTASK_RUNNING && subtask->token == RESERVATION_NONE &&
           subtask->attempt == attempt;
}

void
manager_claims_end(struct manager *manager)
{
    for (uint32_t serial = 1; serial < manager->serial_count; serial++) {
        struct task_graph *graph = manager->by_serial[serial];

        if (graph != NULL && graph->awaits_claims) {
            graph->awaits_claims = false;
            if (graph->state == GRANARY_GRAPH_RUNNING && execution_graph_counts(graph->execution)->ready > 0) {
                graph_wake(manager, graph);
            }
        }
    }
}

/* ---- what has become of subtasks ---- */

static void
events_key(const struct task_graph *graph, struct gr_buf *key)
{
    unsigned char bytes[sizeof graph->serial];

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)(graph->serial >> (24 - 8 * i));
    }
    gr_buf_add(key, bytes, sizeof bytes);
}

void
events_touch(struct manager *manager, struct task_graph *graph)
{
    if (!graph->has_events) {
        graph->has_events = true;
        TAILQ_INSERT_TAIL(&manager->eventful, graph, eventful_link);
    }
}

static void
events_untouch(struct manager *manager, struct task_graph *graph)
{
    if (graph->has_events) {
        graph->has_events = false;
        TAILQ_REMOVE(&manager->eventful, graph, eventful_link);
    }
}

void
events_forget(struct manager *manager, struct task_graph *graph)
{
    struct action *action =
        graph->log.records == 0 && graph->record_count == 0 ? NULL : action_add(manager, ACTION_FORGET_ALL);

    if (action != NULL) {
        action->space = MANAGER_EVENTS;
        events_key(graph, &action->entry_key);
    }
    events_untouch(manager, graph);
    event_log_free(&graph->log);
    graph->log = (struct event_log){0};
}

void
events_end(struct manager *manager, struct task_graph *graph)
{
    struct gr_buf planner = graph->log.told ? graph->log.planner : (struct gr_buf){0};
    const char number[sizeof(uint64_t)] = {0};
    struct action *action;

    if (planner.size > 0) {
        graph->log.planner = (struct gr_buf){0};
    }
    events_forget(manager, graph);
    action = planner.size == 0 || !gr_buf_ok(&planner) ? NULL : action_add(manager, ACTION_KEEP);
    if (action == NULL) {
        gr_buf_free(&planner);
        return;
    }
    action->space = MANAGER_EVENTS;
    events_key(graph, &action->entry_key);
    gr_buf_add(&action->entry_key, number, sizeof number);
    action->bytes = planner;
    graph->log.records = 1; /* to be forgotten with the graph */
}

/* One record a turn and graph. */
void
events_keep(struct manager *manager)
{
    struct task_graph *graph;

    while ((graph = TAILQ_FIRST(&manager->eventful)) != NULL) {
        struct gr_buf record = {0};
        struct action *action;
        uint64_t number;
        bool is_snapshot;
        bool fed;

        events_untouch(manager, graph);
        if (!event_log_take(&graph->log, graph->execution, &record, &number, &is_snapshot, &fed)) {
            continue;
        }
        action = is_snapshot ? action_add(manager, ACTION_FORGET_ALL) : NULL;
        if (action != NULL) {
            action->space = MANAGER_EVENTS;
            events_key(graph, &action->entry_key);
        }
        action = action_add(manager, ACTION_KEEP);
        if (action == NULL) {
            gr_buf_free(&record);
            continue;
        }
        action->space = MANAGER_EVENTS;
        events_key(graph, &action->entry_key);
        for (int shift = 56; shift >= 0; shift -= 8) {
            const unsigned char byte = (unsigned char)(number >> shift);

            gr_buf_add(&action->entry_key, &byte, 1);
        }
        action->bytes = record;
        action->before_sends = fed;
    }
}
