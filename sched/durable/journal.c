/*
 * What a scheduler leaves to the next one: graphs' serials, executors, and what has become of subtasks; and what the
 * next one learns from executors that have outlived the one before.
 */

#include "sched/durable/journal.h"

#include <stdlib.h>
#include <string.h>

#include "sched/core/manager.h"
#include "sched/recall/recalls.h"

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
    struct journal *journal = manager->journal;
    struct action *action = manager->registry.serial_count < journal->serial_limit
                                ? NULL
                                : entry_add(manager, ACTION_KEEP, MANAGER_METAS, "serials", strlen("serials"));

    if (action != NULL) {
        journal->serial_limit = manager->registry.serial_count + SERIALS;
        gr_buf_addf(&action->bytes, "%u", journal->serial_limit);
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
    } else if (strcmp(key, META_RECALL) == 0) {
        manager->recalls->off = strcmp(text, "off") == 0;
    }
}

/* ---- executors ---- */

static void
executor_entry(struct manager *manager, enum action_kind kind, int64_t pid, uint64_t start_time, uint32_t slot)
{
    struct action *action = entry_add(manager, kind, MANAGER_EXECUTORS, "", 0);

    if (action != NULL) {
        gr_buf_addf(&action->entry_key, "%lld.%llu.%u", (long long)pid, (unsigned long long)start_time, slot);
    }
}

void
manager_keep_executor(struct manager *manager, int64_t pid, uint64_t start_time, uint32_t slot)
{
    executor_entry(manager, ACTION_KEEP, pid, start_time, slot);
}

void
manager_forget_executor(struct manager *manager, int64_t pid, uint64_t start_time, uint32_t slot)
{
    executor_entry(manager, ACTION_FORGET, pid, start_time, slot);
}

/* ---- what has become of subtasks ---- */

static struct action *
events_entry(struct manager *manager, enum action_kind kind, const struct task_graph *graph)
{
    return entry_add_number(manager, kind, MANAGER_EVENTS, graph->serial, sizeof graph->serial);
}

void
events_touch(struct manager *manager, struct task_graph *graph)
{
    if (!graph->journal.is_listed) {
        graph->journal.is_listed = true;
        TAILQ_INSERT_TAIL(&manager->journal->eventful, graph, journal.link);
    }
}

static void
events_untouch(struct manager *manager, struct task_graph *graph)
{
    if (graph->journal.is_listed) {
        graph->journal.is_listed = false;
        TAILQ_REMOVE(&manager->journal->eventful, graph, journal.link);
    }
}

static void
forget_records(struct manager *manager, struct task_graph *graph)
{
    if (graph->journal.log.records > 0 || graph->journal.record_count > 0) {
        (void)events_entry(manager, ACTION_FORGET_ALL, graph);
    }
}

void
events_forget(struct manager *manager, struct task_graph *graph)
{
    forget_records(manager, graph);
    events_untouch(manager, graph);
    event_log_free(&graph->journal.log);
    graph->journal.log = (struct event_log){0};
}

void
events_restart(struct manager *manager, struct task_graph *graph)
{
    forget_records(manager, graph);
    event_log_restart(&graph->journal.log);
    events_touch(manager, graph);
}

/* Takes the record. before_sends: see struct action */
static void
record_keep(struct manager *manager, const struct task_graph *graph, uint64_t number, struct gr_buf *record,
            bool before_sends)
{
    struct action *action = events_entry(manager, ACTION_KEEP, graph);

    if (action == NULL) {
        gr_buf_free(record);
        return;
    }
    entry_key_number(&action->entry_key, number, sizeof number);
    action->bytes = *record;
    action->before_sends = before_sends;
}

void
events_end(struct manager *manager, struct task_graph *graph)
{
    struct gr_buf planner = graph->journal.log.told ? graph->journal.log.planner : (struct gr_buf){0};

    if (planner.size > 0) {
        graph->journal.log.planner = (struct gr_buf){0};
    }
    events_forget(manager, graph);
    if (planner.size == 0 || !gr_buf_ok(&planner)) {
        gr_buf_free(&planner);
        return;
    }
    record_keep(manager, graph, 0, &planner, false);
    graph->journal.log.records = 1; /* to be forgotten with the graph */
}

/* One record a turn and graph. */
void
events_keep(struct manager *manager)
{
    struct task_graph *graph;

    while ((graph = TAILQ_FIRST(&manager->journal->eventful)) != NULL) {
        struct gr_buf record = {0};
        uint64_t number;
        bool is_snapshot;
        bool fed;

        events_untouch(manager, graph);
        if (!event_log_take(&graph->journal.log, graph->execution, &record, &number, &is_snapshot, &fed)) {
            continue;
        }
        if (is_snapshot) {
            (void)events_entry(manager, ACTION_FORGET_ALL, graph);
        }
        record_keep(manager, graph, number, &record, fed);
    }
}
