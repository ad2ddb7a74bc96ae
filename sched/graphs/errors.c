/* Errors as data: what failed is stored under the ids of the results that lack it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sched/core/pack.h"
#include "sched/execution/describe.h"
#include "sched/execution/graph.h"
#include "sched/executors/frees.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/wait.h"

#define MESSAGE_MAX 1024 /* of one that is stored; there may be many */

static void
store_error(struct task_graph *graph, granary_id id, granary_err err, const char *message)
{
    char text[MESSAGE_MAX];

    (void)snprintf(text, sizeof text, "%s", message != NULL && message[0] != '\0' ? message : granary_error_text(err));
    pack_error(&graph->session->frees, id, err, text);
    graph->session->has_errors = true;
}

static void
failed_collect(struct task_graph *graph, granary_err err, const char *message)
{
    const granary_id *ids;
    size_t count = execution_graph_failed(graph->execution, &ids);

    for (size_t i = 0; i < count; i++) {
        store_error(graph, ids[i], err, message);
    }
}

/* The graph keeps going: the subtask has failed for good, and so has what needs it. */
static void
subtask_given_up(struct manager *manager, struct task_graph *graph, uint32_t number, granary_err err,
                 const char *message)
{
    if (graph->failing.err == GRANARY_OK) {
        graph->failing.err = err;
        graph->failing.message = strdup(message);
    }
    manager->parked -= execution_graph_counts(graph->execution)->parked;
    (void)execution_graph_give_up(graph->execution, number);
    manager->parked += execution_graph_counts(graph->execution)->parked;
    failed_collect(graph, err, message);
    frees_collect(manager, graph);
    waiters_answer_chunks(manager, graph);
    graph_check_end(manager, graph);
}

void
give_up_doomed(struct manager *manager, struct task_graph *graph)
{
    if (graph->state == GRANARY_GRAPH_RUNNING && graph->failing.err != GRANARY_OK &&
        execution_graph_give_up(graph->execution, SUBTASK_NONE)) {
        failed_collect(graph, graph->failing.err, graph->failing.message);
        frees_collect(manager, graph);
        waiters_answer_chunks(manager, graph);
        graph_check_end(manager, graph);
    }
}

void
errors_of_missing(struct task_graph *graph)
{
    for (size_t i = 0; i < graph->results.count; i++) {
        const Granary__Result *result = graph->results.targets[i].result;

        for (size_t k = 0; result != NULL && k < result->n_chunks; k++) {
            granary_id id = id_of(result->chunks[k]->id);

            if (execution_graph_object_lacks(graph->execution, id)) {
                store_error(graph, id, graph->end.err, graph->end.message);
            }
        }
    }
}

void
fail_graph(struct manager *manager, struct task_graph *graph, uint32_t number, const char *node, granary_err err,
           const char *message)
{
    struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    char *name = node[0] != '\0' ? strdup(node) : subtask_node(subtask);

    if (strncmp(message, "node '", strlen("node '")) != 0) {
        (void)gr_fail(err, "node '%s': %s", name != NULL ? name : "?",
                      message[0] != '\0' ? message : granary_error_text(err));
        message = granary_error_message();
    }
    free(name);
    if (graph->failing.keep_going) {
        char *text = strdup(message); /* it may be the thread's, which changes */

        subtask_given_up(manager, graph, number, err, text != NULL ? text : "");
        free(text);
        return;
    }
    if (subtask->state == SUBTASK_RUNNING) {
        execution_graph_fail(graph->execution, number);
    }
    graph_end(manager, graph, GRANARY_GRAPH_FAILED, err, message);
}
