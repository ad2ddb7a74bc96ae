/*
 * What a scheduler leaves to the next one: graphs' serials, executors, and what has become of subtasks; and what the
 * next one learns from executors that have outlived the one before.
 */

#include "sched/durable/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "sched/core/manager.h"

/* Serials are noted as used in blocks, before they are. */
#define SERIALS 256

void
journal_init(struct journal *journal)
{
    TAILQ_INIT(&journal->eventful);
}

/* ---- serials ---- */

void
serials_note(struct manager *manager)
{
    struct action *action =
        manager->registry.serial_count < manager->journal->serial_limit ? NULL : action_add(manager, ACTION_KEEP);

    if (action != NULL) {
        manager->journal->serial_limit = manager->registry.serial_count + SERIALS;
        action->space = MANAGER_METAS;
        gr_buf_addf(&action->entry_key, "serials");
        gr_buf_addf(&action->bytes, "%u", manager->journal->serial_limit);
    }
}

void
manager_restore_meta(struct manager *manager, const char *key, const void *value, size_t size)
{
    char text[32] = "";

    memcpy(text, value, size < sizeof text - 1 ? size : sizeof text - 1);
    if (strcmp(key, "serials") == 0) {
        /* Those of the block that were not used never will be: somebody may have been told of them. */
        manager->journal->serial_limit = (uint32_t)strtoul(text, NULL, 10);
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
        TAILQ_INSERT_TAIL(&manager->journal->eventful, graph, eventful_link);
    }
}

static void
events_untouch(struct manager *manager, struct task_graph *graph)
{
    if (graph->has_events) {
        graph->has_events = false;
        TAILQ_REMOVE(&manager->journal->eventful, graph, eventful_link);
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

    while ((graph = TAILQ_FIRST(&manager->journal->eventful)) != NULL) {
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
