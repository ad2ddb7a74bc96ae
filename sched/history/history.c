/* Runs, calls and ended graphs are remembered, as long as there is room. */
#include "sched/history/history.h"

#include "sched/core/counts.h"
#include "sched/core/manager.h"
#include "sched/execution/graph_private.h"

/* Of so many runs the queueing of one is timed. */
#define QUEUES_TIMED 16

bool
history_init(struct history *history, uint64_t runs)
{
    runs = runs == 0 ? MANAGER_HISTORY : runs;
    TAILQ_INIT(&history->past);
    history->past_most = runs;
    history->records = records_create(runs);
    history->function_stats = function_stats_create();
    return history->records != NULL && history->function_stats != NULL;
}

void
history_fini(struct history *history)
{
    records_destroy(history->records);
    function_stats_destroy(history->function_stats);
}

/* ---- ended graphs ---- */

static void
past_drop(struct manager *manager, struct task_graph *graph)
{
    TAILQ_REMOVE(&manager->history->past, graph, past.link);
    manager->history->past_subtasks -= graph->past.execution->subtasks.count;
    execution_graph_destroy(graph->past.execution);
    graph->past.execution = NULL;
}

void
past_keep(struct manager *manager, struct task_graph *graph, struct execution_graph *execution)
{
    graph->past.execution = execution;
    TAILQ_INSERT_TAIL(&manager->history->past, graph, past.link);
    manager->history->past_subtasks += execution->subtasks.count;
    while (manager->history->past_subtasks > manager->history->past_most) {
        past_drop(manager, TAILQ_FIRST(&manager->history->past));
    }
}

void
past_forget(struct manager *manager, struct task_graph *graph)
{
    if (graph->past.execution != NULL) {
        past_drop(manager, graph);
    }
}

/* What it waited for is looked up one by one, so that is done now and then. */
static void
count_run(struct manager *manager, const struct task_graph *graph, uint32_t number, const struct record *record)
{
    manager_count(manager, record->err == GRANARY_OK ? GR_SCHED_subtasks_succeeded : GR_SCHED_subtasks_failed, 1);
    manager_count(manager, GR_SCHED_subtask_input, record->in_bytes);
    manager_count(manager, GR_SCHED_subtask_output, record->out_bytes);
    if (record->started_ns == 0) {
        return;
    }
    manager_time(manager, GR_SCHED_subtask_run, record->ended_ns - record->started_ns);
    manager_time(manager, GR_SCHED_subtask_inputs, (int64_t)record->lease_ns);
    manager_time(manager, GR_SCHED_subtask_outputs, (int64_t)record->store_ns);
    if (records_end(manager->history->records) % QUEUES_TIMED == 0) {
        manager_time(manager, GR_SCHED_subtask_queue, record->started_ns - ready_since(manager, graph, number));
    }
}

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
    count_run(manager, graph, number, &record);
    subtask->record = records_add(manager->history->records, &record);
    graph->session->used_ns += done->nanoseconds;
    code = execution_graph_user_code(graph->execution, number);
    if (code != NULL) {
        function_stats_note(manager->history->function_stats, graph->session->name, subtask, code, err,
                            done->nanoseconds);
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

    manager_count(manager, GR_SCHED_subtasks_lost, 1);
    subtask->record = records_add(manager->history->records, &record);
}

const struct record *
record_of(const struct manager *manager, const struct task_graph *graph, uint32_t number)
{
    const struct subtask *subtask = execution_graph_subtask(graph_execution(graph), number);

    return subtask == NULL
               ? NULL
               : records_get(manager->history->records, subtask->record, WIRE_NUMBER(graph->serial, number));
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
    const struct execution_graph *execution = graph_execution(graph);
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
