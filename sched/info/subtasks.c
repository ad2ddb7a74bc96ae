/* Subtasks and their runs as tables. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/core/manager_private.h"
#include "sched/execution/graph_private.h"
#include "sched/history/function_stats.h"
#include "sched/info/host.h"
#include "sched/info/info.h"

/* Subtasks of ended graphs that are remembered. */
#define PAST_MAX (1u << 18)

/* ---- ended graphs ---- */

static void
past_drop(struct manager *manager, struct task_graph *graph)
{
    TAILQ_REMOVE(&manager->past, graph, past_link);
    manager->past_subtasks -= graph->past->subtasks.count;
    execution_graph_destroy(graph->past);
    graph->past = NULL;
}

void
past_keep(struct manager *manager, struct task_graph *graph, struct execution_graph *execution)
{
    graph->past = execution;
    TAILQ_INSERT_TAIL(&manager->past, graph, past_link);
    manager->past_subtasks += execution->subtasks.count;
    while (manager->past_subtasks > PAST_MAX) {
        past_drop(manager, TAILQ_FIRST(&manager->past));
    }
}

void
past_forget(struct manager *manager, struct task_graph *graph)
{
    if (graph->past != NULL) {
        past_drop(manager, graph);
    }
}

static struct execution_graph *
execution_of(const struct task_graph *graph)
{
    return graph->execution != NULL ? graph->execution : graph->past;
}

/* ---- moments ---- */

void
record_done(struct manager *manager, struct task_graph *graph, uint32_t number, const struct executor *executor,
            const Granary__Done *done, granary_err err)
{
    struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    const struct user_code *code;
    struct record record = {.number = WIRE_NUMBER(graph->serial, number),
                            .attempt = subtask->attempt,
                            .executor = executor->number,
                            .node = executor->node,
                            .err = err,
                            .sent_ns = subtask->sent_ns,
                            .started_ns = done->started_ns,
                            .ended_ns = (int64_t)((uint64_t)done->started_ns + done->nanoseconds),
                            .lease_ns = done->lease_ns,
                            .store_ns = done->store_ns,
                            .in_bytes = done->in_bytes,
                            .peak_bytes = done->peak_bytes,
                            .texts = record_texts(done->log, done->message)};

    for (size_t i = 0; i < done->n_outputs; i++) {
        record.out_bytes += done->outputs[i]->bytes;
    }
    if (record.started_ns <= 0 || record.ended_ns < record.started_ns) {
        record.started_ns = 0;
        record.ended_ns = manager->now_ns;
    }
    subtask->record = records_add(manager->records, &record);
    graph->session->used_ns += done->nanoseconds;
    code = execution_graph_user_code(graph->execution, number);
    if (code != NULL) {
        function_stats_note(manager->function_stats, graph->session->name, subtask, code, err, done->nanoseconds);
    }
}

void
record_lost(struct manager *manager, struct task_graph *graph, uint32_t number, const struct executor *executor)
{
    struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    const char *message = executor->verdict.message != NULL ? executor->verdict.message : "its executor died";
    const struct record record = {.number = WIRE_NUMBER(graph->serial, number),
                                  .attempt = subtask->attempt,
                                  .executor = executor->number,
                                  .node = executor->node,
                                  .err = executor->verdict.message != NULL ? executor->verdict.err : GRANARY_ELOST,
                                  .sent_ns = subtask->sent_ns,
                                  .ended_ns = manager->now_ns,
                                  .texts = record_texts("", message)};

    subtask->record = records_add(manager->records, &record);
}

const struct record *
record_of(const struct manager *manager, const struct task_graph *graph, uint32_t number)
{
    const struct subtask *subtask = execution_graph_subtask(execution_of(graph), number);

    return subtask == NULL ? NULL : records_get(manager->records, subtask->record, WIRE_NUMBER(graph->serial, number));
}

static int64_t
ended_ns(const struct manager *manager, const struct task_graph *graph, uint32_t number)
{
    const struct record *record = record_of(manager, graph, number);

    return record == NULL ? 0 : record->ended_ns;
}

int64_t
ready_since(const struct manager *manager, const struct task_graph *graph, uint32_t number)
{
    const struct execution_graph *execution = execution_of(graph);
    const struct subtask *subtask = &execution->subtasks.items[number];
    int64_t since = graph->submitted_ms * 1000000 - manager->options.unix_offset_ns;

    since = graph->submitted_ms == 0 ? 0 : since;
    for (uint32_t i = 0; i < subtask->input_count; i++) {
        uint32_t input = execution->links.items[subtask->first_input + i];
        int64_t made = ended_ns(manager, graph, execution->objects.items[input].producer);

        since = made > since ? made : since;
    }
    for (uint32_t i = 0; i < subtask->before_count; i++) {
        int64_t ended = ended_ns(manager, graph, execution->links.items[subtask->first_before + i]);

        since = ended > since ? ended : since;
    }
    if (subtask->attempt > 0 && (subtask->state == SUBTASK_READY || subtask->state == SUBTASK_PARKED)) {
        int64_t tried = ended_ns(manager, graph, number); /* the last run failed */

        since = tried > since ? tried : since;
    }
    return since;
}

/* ---- what a subtask is ---- */

const char *
subtask_state_name(enum subtask_state state)
{
    static const char *const names[SUBTASK_STATES] = {
#define SUBTASK_STATE(name, NAME) [SUBTASK_##NAME] = #name,
#include "contract/states.def"
    };

    return state < SUBTASK_STATES && names[state] != NULL ? names[state] : "?";
}

void
subtask_says(const struct subtask *subtask, struct gr_buf *ret_node, struct gr_buf *ret_ops)
{
    Granary__Subtask *message = granary__subtask__unpack(NULL, subtask->packed_size, subtask->packed);

    if (message == NULL) {
        return;
    }
    for (size_t i = 0; i < message->n_ops; i++) {
        gr_buf_addf(ret_ops, "%s%s", i > 0 ? "," : "", message->ops[i]->op);
    }
    if (message->n_ops > 0) {
        const char *node = message->ops[message->n_ops - 1]->node;

        gr_buf_add(ret_node, node, strlen(node));
    }
    granary__subtask__free_unpacked(message, NULL);
}

static void
tell_names(struct table *table, const struct subtask *subtask, enum info_field node_field, enum info_field ops_field)
{
    struct gr_buf node = {0};
    struct gr_buf ops = {0};

    if (subtask != NULL && (table_wants(table, node_field) || table_wants(table, ops_field))) {
        subtask_says(subtask, &node, &ops);
        table_text(table, node_field, node.size > 0 && gr_buf_ok(&node) ? node.bytes : "");
        table_text(table, ops_field, ops.size > 0 && gr_buf_ok(&ops) ? ops.bytes : "");
    }
    gr_buf_free(&node);
    gr_buf_free(&ops);
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
    const struct subtask *subtask = execution_graph_subtask(execution_of(graph), number);
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
    const struct execution_graph *execution = execution_of(graph);
    uint64_t number = table_start(table, base);

    for (; execution != NULL && number < execution->subtasks.count && !table_full(table); number++) {
        subtask_row(manager, table, graph, (uint32_t)number, base + number + 1);
    }
}

static void
all_subtasks(struct manager *manager, struct table *table)
{
    uint64_t serial = table_start(table, 0) >> 32;

    for (serial = serial > 0 ? serial : 1; serial < manager->serial_count && !table_full(table); serial++) {
        if (manager->by_serial[serial] != NULL) {
            subtasks_of(manager, table, manager->by_serial[serial], serial << 32);
        }
    }
}

/* A subtask's number; SUBTASK_NONE: it is none of the graph's. */
uint32_t
subtask_number(const struct task_graph *graph, const char *text)
{
    const struct execution_graph *execution = execution_of(graph);
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

static void
run_row(struct manager *manager, struct table *table, const struct record *record, uint64_t position)
{
    const struct task_graph *graph = graph_of_number(manager, record->number);
    struct execution_graph *execution = graph == NULL ? NULL : execution_of(graph);

    if (graph == NULL || !table_begin(table, position)) {
        return; /* its graph was deleted */
    }
    table_textf(table, FIELD_runs_run, "%s/%" PRIu32 ".%" PRIu32, graph->key, (uint32_t)record->number,
                record->attempt);
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
    table_text(table, FIELD_runs_log, record_log(record));
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
    uint64_t first = records_first(manager->records);
    uint64_t from = table_start(table, base);

    for (uint64_t i = from > first ? from : first; i < records_end(manager->records) && !table_full(table); i++) {
        const struct record *record = records_at(manager->records, i);

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
