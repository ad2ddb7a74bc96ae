/* How a graph is, as clients are told. */
#include <stdio.h>

#include "sched/execution/graph.h"
#include "sched/graphs/again/recall.h"
#include "sched/graphs/graphs.h"

void
graph_status(const struct task_graph *graph, Granary__GraphStatus *ret_status)
{
    const struct execution_graph_counts *counts = graph_counts(graph);

    *ret_status = (Granary__GraphStatus)GRANARY__GRAPH_STATUS__INIT;
    ret_status->state = (uint32_t)graph->state;
    ret_status->subtasks_total = counts->total;
    ret_status->subtasks_done = counts->succeeded;
    ret_status->retries = counts->retries;
    ret_status->subtasks_failed = counts->failed;
    ret_status->err = graph->end.err;
    ret_status->ended_ms = graph->end.ms;
    if (graph->end.message != NULL) {
        ret_status->message = graph->end.message;
    }
}

double
graph_progress(struct task_graph *graph)
{
    const struct execution_graph_counts *counts = graph_counts(graph);
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
reply_status(struct manager *manager, uint64_t ticket, const struct task_graph *graph, bool existed, granary_err err)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    Granary__GraphStatus status;
    char text[160];
    struct gr_buf ids = {0};

    graph_status(graph, &status);
    recall_ids(graph, &ids);
    answer.status = &status;
    answer.recalled = (ProtobufCBinaryData){ids.size, (uint8_t *)ids.bytes};
    answer.existed = existed;
    answer.err = err;
    if (err == GRANARY_ETIMEDOUT) {
        (void)snprintf(text, sizeof text, "graph '%s': still running, %llu of %llu subtasks done", graph->key,
                       (unsigned long long)status.subtasks_done, (unsigned long long)status.subtasks_total);
        answer.message = text;
    } else if (graph->end.err != GRANARY_OK) {
        answer.err = graph->end.err;
        answer.message = status.message;
    }
    (void)reply_message(manager, ticket, &answer);
    gr_buf_free(&ids);
}
