/* Graphs come and go. */

#include "sched/graphs/graphs.h"

#include <stdio.h>
#include <stdlib.h>

#include "sched/dispatch/order.h"
#include "sched/durable/journal.h"
#include "sched/execution/event_log.h"
#include "sched/execution/graph.h"
#include "sched/graphs/again/recall.h"
#include "sched/graphs/again/restore.h"
#include "sched/graphs/deadline.h"
#include "sched/graphs/tables.h"
#include "sched/history/history.h"

static void
plan_destroy(struct task_graph *graph)
{
    for (size_t i = 0; graph->results.own_names && i < graph->results.count; i++) {
        free((char *)(uintptr_t)graph->results.targets[i].name);
    }
    gr_plan_destroy(graph->plan);
    graph->plan = NULL;
    execution_graph_destroy(graph->execution);
    graph->execution = NULL;
    for (size_t i = 0; i < graph->results.count; i++) {
        free(graph->results.targets[i].packed);
        granary__result__free_unpacked(graph->results.targets[i].result, NULL);
    }
    free(graph->results.targets);
    graph->results.targets = NULL;
    graph->results.count = 0;
    graph->results.own_names = false;
}

void
graph_unplan(struct manager *manager, struct task_graph *graph)
{
    deadline_clear(manager, graph);
    order_detach(manager, graph);
    tables_release(manager, graph);
    plan_destroy(graph);
}

void
graph_destroy(struct task_graph *graph)
{
    event_log_free(&graph->journal.log);
    records_drop(graph);
    plan_destroy(graph);
    granary__submit__free_unpacked(graph->submit, NULL);
    tables_release(NULL, graph);
    recall_leave(NULL, graph);
    gr_buf_free(&graph->leftovers);
    free(graph->results.kept);
    free(graph->failing.poisons);
    free(graph->end.message);
    free(graph->failing.message);
    free(graph);
}

struct task_graph *
graph_create(struct manager *manager, const char *key, const char *session, uint32_t serial)
{
    struct task_graph *graph;

    if (!serial_reserve(manager, serial)) {
        return NULL;
    }
    graph = calloc(1, sizeof *graph);
    if (graph == NULL) {
        return NULL;
    }
    graph->session = session_get(manager, session);
    if (graph->session == NULL) {
        free(graph);
        return NULL;
    }
    (void)snprintf(graph->key, sizeof graph->key, "%s", key);
    (void)snprintf(graph->id_key, sizeof graph->id_key, "%s", key);
    graph->state = GRANARY_GRAPH_RUNNING;
    graph->end.kill_ns = INT64_MAX;
    graph->end.receipt = (Granary__Receipt)GRANARY__RECEIPT__INIT;
    graph_link(manager, graph, serial);
    return graph;
}

void
graph_take_wishes(struct task_graph *graph, const Granary__Submit *submit)
{
    graph->failing.keep_going = submit->keep_going;
    graph->passing = submit->passing;
    if (graph_was_called(graph, graph->key)) { /* else it has got a name since */
        graph->owner = (struct graph_owner){.pid = submit->owner_pid, .start_time = submit->owner_start};
    }
}

void
graph_drop(struct manager *manager, struct task_graph *graph)
{
    deadline_clear(manager, graph);
    order_detach(manager, graph);
    past_forget(manager, graph);
    info_changed(manager, INFO_WORK);
    events_forget(manager, graph);
    family_leave(graph);
    recall_leave(manager, graph);
    tables_release(manager, graph);
    graph_unlink(manager, graph);
    graph_destroy(graph);
}
