/* Graphs are planned, and their subtasks taken as the planner makes them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "graph_json/json.h"
#include "sched/dispatch/choose.h"
#include "sched/dispatch/order.h"
#include "sched/durable/journal.h"
#include "sched/execution/event_log.h"
#include "sched/execution/graph.h"
#include "sched/executors/frees.h"
#include "sched/functions/libraries.h"
#include "sched/graphs/again/recall.h"
#include "sched/graphs/deadline.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/tables.h"
#include "sched/graphs/told.h"

static granary_err
note_targets(struct task_graph *graph)
{
    size_t count = gr_plan_target_count(graph->plan);

    graph->results.targets = calloc(count + 1, sizeof *graph->results.targets);
    for (size_t i = 0; graph->results.targets != NULL && i < count; i++) {
        graph->results.targets[i].name = gr_plan_target_name(graph->plan, i);
        graph->results.count++;
    }
    return graph->results.targets != NULL ? GRANARY_OK : gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
}

static bool
plan_keeps(const void *plan, granary_id id)
{
    return gr_plan_keeps(plan, id);
}

granary_err
graph_advance(struct manager *manager, struct task_graph *graph)
{
    granary_err err;
    uint64_t before = execution_graph_counts(graph->execution)->total;
    bool more;

    do {
        struct gr_plan_batch batch = {0};

        err = gr_plan_advance(graph->plan, &batch);
        if (err == GRANARY_OK) {
            err = needs_resolve(manager, &batch);
        }
        if (err == GRANARY_OK && batch.count > 0) {
            err = execution_graph_add(graph->execution, batch.subtasks, batch.count, plan_keeps, graph->plan);
            graph_wake(manager, graph);
        }
        execution_graph_hold(graph->execution, batch.held, batch.held_count);
        execution_graph_settle(graph->execution, batch.settled, batch.settled_count, plan_keeps, graph->plan);
        more = batch.more;
        gr_plan_batch_free(&batch);
    } while (err == GRANARY_OK && more);
    if (err == GRANARY_OK && execution_graph_counts(graph->execution)->total > before) {
        event_log_note_plan(&graph->journal.log, gr_plan_number(graph->plan));
        if (!graph->journal.replays) {
            events_touch(manager, graph);
            event_log_planned(&graph->journal.log, graph->execution, gr_plan_number(graph->plan));
        }
    }
    told_keep(manager, graph);
    if (err == GRANARY_OK && graph->tables.count > 0) {
        tables_learn(manager, graph);
    }
    if (!graph->journal.replays) {
        frees_collect(manager, graph); /* of what was held for consumers that have none */
    }
    return err;
}

granary_err
graph_plan(struct manager *manager, struct task_graph *graph, Granary__Submit *submit)
{
    Granary__Graph *message = submit->graph;
    struct function_scope functions = {.manager = manager, .session = graph->session->name};
    struct gr_plan_options options = {.key = graph->id_key,
                                      .graph = graph->key,
                                      .find_function = manager_find_function,
                                      .functions = &functions,
                                      .session = graph->session->name,
                                      .directory = submit->directory,
                                      .chunk_bytes = submit->chunk_bytes,
                                      .slots = (int)submit->slots,
                                      .memory_bytes = submit->memory_bytes,
                                      .recall = recall_parts(manager, graph, submit),
                                      .again = graph->planned,
                                      .tables = submit->tables,
                                      .table_count = submit->n_tables};
    granary_err err = GRANARY_OK;

    graph_take_wishes(graph, submit);
    submit->graph = NULL;
    deadline_set(manager, graph, submit->deadline_ms);
    err = order_attach(manager, graph, submit->priority);
    if (err == GRANARY_OK && message == NULL) {
        err = gr_graph_from_json(submit->json, strlen(submit->json), &message);
    }
    if (err == GRANARY_OK) {
        graph->level = message->level;
        err = gr_plan_create(message, &options, &graph->plan);
    } else if (message != NULL) {
        granary__graph__free_unpacked(message, NULL);
    }
    if (err == GRANARY_OK) {
        graph->exports = gr_plan_exports(graph->plan);
        err = note_targets(graph);
    }
    if (err == GRANARY_OK) {
        graph->execution = execution_graph_create();
        err = graph->execution == NULL ? gr_fail(GRANARY_ENOMEM, "scheduler: out of memory") : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = tables_hold(manager, graph, submit);
    }
    if (err == GRANARY_OK) {
        execution_graph_count_watched(graph->execution, &manager->watched);
        execution_graph_tell_exhausted(graph->execution, &manager->exhausted);
        if (graph->resumed) {
            execution_graph_given_earlier(graph->execution);
        }
        err = graph_advance(manager, graph);
    }
    return err;
}

void
graph_check_end(struct manager *manager, struct task_graph *graph)
{
    if (graph->state != GRANARY_GRAPH_RUNNING || !execution_graph_idle(graph->execution)) {
        return;
    }
    if (graph->recall.again) {
        recall_again(manager, graph);
        return;
    }
    if (execution_graph_counts(graph->execution)->failed > 0) { /* it kept going */
        char text[512];

        (void)snprintf(text, sizeof text, "%llu of %llu subtasks failed: %s",
                       (unsigned long long)execution_graph_counts(graph->execution)->failed,
                       (unsigned long long)execution_graph_counts(graph->execution)->total,
                       graph->failing.message != NULL ? graph->failing.message : "");
        graph_end(manager, graph, GRANARY_GRAPH_FAILED, graph->failing.err, text);
    } else if (gr_plan_complete(graph->plan)) {
        struct gr_buf notes = {0};

        gr_plan_notes(graph->plan, &notes);
        gr_buf_add(&notes, "", 1);
        graph_end(manager, graph, GRANARY_GRAPH_SUCCEEDED, GRANARY_OK,
                  notes.size > 1 && gr_buf_ok(&notes) ? notes.bytes : NULL);
        gr_buf_free(&notes);
    } else {
        graph_end(manager, graph, GRANARY_GRAPH_FAILED, GRANARY_EFAILED,
                  "scheduler: the plan is not complete, but has nothing left to run");
    }
}
