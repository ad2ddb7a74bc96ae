/* Subtasks and their runs as tables. */
#include <inttypes.h>
#include <stdlib.h>

#include "sched/core/manager.h"
#include "sched/dispatch/reservations.h"
#include "sched/execution/describe.h"
#include "sched/execution/graph_private.h"
#include "sched/history/history.h"
#include "sched/info/info.h"

static void
tell_names(struct table *table, const struct subtask *subtask, enum info_field node_field, enum info_field ops_field)
{
    struct gr_buf node = {0};
    struct gr_buf ops = {0};

    if (subtask != NULL && (table_wants(table, node_field) || table_wants(table, ops_field))) {
        subtask_says(subtask, &node, &ops);
        table_take(table, node_field, &node);
        table_take(table, ops_field, &ops);
    }
}

/* ---- subtasks ---- */

static void
tell_run(struct table *table, const struct record *record)
{
    table_int(table, FIELD_subtasks_executor, record->executor);
    table_int(table, FIELD_subtasks_band, record->node);
    table_int(table, FIELD_subtasks_started_ns, record->started_ns);
    table_int(table, FIELD_subtasks_ended_ns, record->ended_ns);
    table_int(table, FIELD_subtasks_lease_ns, (int64_t)record->lease_ns);
    table_int(table, FIELD_subtasks_store_ns, (int64_t)record->store_ns);
    table_int(table, FIELD_subtasks_in_bytes, (int64_t)record->in_bytes);
    table_text(table, FIELD_subtasks_log, record_log(record));
    if (record->err == GRANARY_OK) {
        table_int(table, FIELD_subtasks_out_bytes, (int64_t)record->out_bytes);
    }
}

/* One that an executor has: what is known of it before it is over. */
static void
tell_work(struct manager *manager, struct table *table, const struct task_graph *graph, uint32_t number,
          const struct subtask *subtask)
{
    const struct manager_host *host = &manager->options.host;
    const struct executor *executor =
        executor_find(manager, reservations_holder(manager->reservations, subtask->token));
    struct host_process process = {.has_page = false};

    if (executor == NULL) {
        return;
    }
    table_int(table, FIELD_subtasks_executor, executor->number);
    table_int(table, FIELD_subtasks_band, executor->node);
    if (host->process != NULL &&
        (table_wants(table, FIELD_subtasks_started_ns) || table_wants(table, FIELD_subtasks_log)) &&
        host->process(host->context, executor->pid, &process) && process.has_page &&
        process.page.subtask == WIRE_NUMBER(graph->serial, number)) {
        table_int(table, FIELD_subtasks_started_ns, process.page.since_ns);
        table_text(table, FIELD_subtasks_log, process.page.log);
    }
}

static void
subtask_row(struct manager *manager, struct table *table, const struct task_graph *graph, uint32_t number,
            uint64_t position)
{
    const struct subtask *subtask = execution_graph_subtask(graph_execution(graph), number);
    const struct record *record = record_of(manager, graph, number);

    if (!table_begin(table, position)) {
        return;
    }
    table_textf(table, FIELD_subtasks_subtask, "%s/%" PRIu32, graph->key, number);
    tell_names(table, subtask, FIELD_subtasks_node, FIELD_subtasks_ops);
    table_text(table, FIELD_subtasks_state, subtask_state_name((enum subtask_state)subtask->state));
    table_int(table, FIELD_subtasks_attempt, subtask->attempt);
    table_int(table, FIELD_subtasks_sent_ns, subtask->sent_ns);
    table_int(table, FIELD_subtasks_out_bytes, (int64_t)subtask->out_bytes);
    if (subtask->state != SUBTASK_WAITING && table_wants(table, FIELD_subtasks_ready_ns)) {
        table_int(table, FIELD_subtasks_ready_ns, ready_since(manager, graph, number));
    }
    if (subtask->state == SUBTASK_RUNNING) {
        tell_work(manager, table, graph, number, subtask);
    } else if (record != NULL) {
        tell_run(table, record);
    }
    if (record != NULL && record->err != GRANARY_OK) {
        table_textf(table, FIELD_subtasks_error, "%s%s%s", granary_error_name(record->err),
                    record_message(record)[0] != '\0' ? ": " : "", record_message(record));
    }
    table_end(table);
}

static void
subtasks_of(struct manager *manager, struct table *table, const struct task_graph *graph, uint64_t base)
{
    const struct execution_graph *execution = graph_execution(graph);
    uint64_t number = table_start(table, base);

    for (; execution != NULL && number < execution->subtasks.count && !table_full(table); number++) {
        subtask_row(manager, table, graph, (uint32_t)number, base + number + 1);
    }
}

static void
all_subtasks(struct manager *manager, struct table *table)
{
    const struct task_graph *graph;

    FOREACH_GRAPH_FROM(graph, manager, table_start(table, 0) >> 32)
    {
        if (table_full(table)) {
            break;
        }
        subtasks_of(manager, table, graph, (uint64_t)graph->serial << 32);
    }
}

/* A subtask's number; SUBTASK_NONE: it is none of the graph's. */
uint32_t
subtask_number(const struct task_graph *graph, const char *text)
{
    const struct execution_graph *execution = graph_execution(graph);
    char *end;
    unsigned long long number = strtoull(text, &end, 10);

    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && execution != NULL && number < execution->subtasks.count
               ? (uint32_t)number
               : SUBTASK_NONE;
}

/* KEY or KEY/NUMBER. */
static bool
subtasks_named(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    const char *rest;
    const struct task_graph *graph = info_graph(manager, key, &rest);
    uint32_t number;

    if (graph == NULL) {
        return false;
    }
    if (rest[0] == '\0') {
        subtasks_of(manager, table, graph, base);
        return true;
    }
    number = subtask_number(graph, rest);
    if (number != SUBTASK_NONE) {
        subtask_row(manager, table, graph, number, base + 1);
    }
    return number != SUBTASK_NONE;
}

const struct info_walk info_walk_subtasks = {all_subtasks, subtasks_named};

/* ---- runs ---- */

#define DELETED                                                                                                        \
    "-" /* instead of the key of a graph that is there no more: queries are deleted when they have answered */

static void
run_row(struct manager *manager, struct table *table, const struct record *record, uint64_t position)
{
    const struct task_graph *graph = graph_of_number(manager, record->number);
    struct execution_graph *execution = graph == NULL ? NULL : graph_execution(graph);

    if (!table_begin(table, position)) {
        return;
    }
    table_textf(table, FIELD_runs_run, "%s/%" PRIu32 ".%" PRIu32, graph == NULL ? DELETED : graph->key,
                (uint32_t)record->number, record->attempt);
    if (execution != NULL) {
        tell_names(table, execution_graph_subtask(execution, (uint32_t)record->number), FIELD_runs_node,
                   FIELD_runs_ops);
    }
    table_int(table, FIELD_runs_executor, record->executor);
    table_int(table, FIELD_runs_band, record->node);
    table_int(table, FIELD_runs_sent_ns, record->sent_ns);
    table_int(table, FIELD_runs_started_ns, record->started_ns);
    table_int(table, FIELD_runs_ended_ns, record->ended_ns);
    table_int(table, FIELD_runs_lease_ns, (int64_t)record->lease_ns);
    table_int(table, FIELD_runs_store_ns, (int64_t)record->store_ns);
    table_int(table, FIELD_runs_in_bytes, (int64_t)record->in_bytes);
    table_int(table, FIELD_runs_out_bytes, (int64_t)record->out_bytes);
    table_int(table, FIELD_runs_peak_bytes, (int64_t)record->peak_bytes);
    table_text(table, FIELD_runs_log, graph == NULL ? "" : record_log(record));
    if (record->err != GRANARY_OK) {
        table_text(table, FIELD_runs_error, granary_error_name(record->err));
    }
    table_text(table, FIELD_runs_message, record_message(record));
    table_end(table);
}

/* Those of a graph, or all. */
static void
runs_of(struct manager *manager, struct table *table, const struct task_graph *graph, uint64_t base)
{
    uint64_t first = records_first(manager->history->records);
    uint64_t from = table_start(table, base);

    for (uint64_t i = from > first ? from : first; i < records_end(manager->history->records) && !table_full(table);
         i++) {
        const struct record *record = records_at(manager->history->records, i);

        if (graph == NULL || record->number >> 32 == graph->serial) {
            run_row(manager, table, record, base + i + 1);
        }
    }
}

static void
all_runs(struct manager *manager, struct table *table)
{
    runs_of(manager, table, NULL, 0);
}

static bool
runs_named(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    const struct task_graph *graph = graph_find(manager, key);

    if (graph != NULL) {
        runs_of(manager, table, graph, base);
    }
    return graph != NULL;
}

const struct info_walk info_walk_runs = {all_runs, runs_named};
