/*
 * A graph that loses what it recalled begins again, and computes everything: nobody but the scheduler knows that some of
 * it came from others. First all that runs is told to end. When nothing runs any more it is planned as it was submitted.
 *
 * Clients may have some of its results, which would be cut in another way then. So it fails once a result is there.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "sched/core/pack.h"
#include "sched/dispatch/order.h"
#include "sched/durable/journal.h"
#include "sched/execution/graph.h"
#include "sched/executors/frees.h"
#include "sched/graphs/again/recall.h"
#include "sched/graphs/graphs.h"
#include "sched/recall/content.h"

static bool
has_results(struct task_graph *graph)
{
    bool has = false;

    for (size_t t = 0; t < graph->results.count && !has; t++) {
        const Granary__Result *result = target_known(graph, &graph->results.targets[t]);

        for (size_t i = 0; result != NULL && i < result->n_chunks && !has; i++) {
            has = execution_graph_object(graph->execution, id_of(result->chunks[i]->id), &(int64_t){0}, &(uint64_t){0});
        }
    }
    return has;
}

bool
recall_start_over(struct manager *manager, struct task_graph *graph, uint32_t number)
{
    recall_forget_parts(manager, graph);
    if (graph->state != GRANARY_GRAPH_RUNNING || graph->recall.part_count == 0 || graph->recall.submit == NULL ||
        graph->recall.again || has_results(graph)) {
        return false;
    }
    gr_log_info("RECALL-AGAIN", "graph=%.80s what it recalled is not there any more: it begins again", graph->key);
    graph->recall.again = true;
    graph_sleep(manager, graph);
    graph_cancel_work(manager, graph, false);
    execution_graph_requeue(graph->execution, number); /* which ends it */
    frees_collect(manager, graph);
    graph_check_end(manager, graph);
    return true;
}

/* The tables that it reads stay between one plan and the next. */
static granary_err
plan_again(struct manager *manager, struct task_graph *graph, Granary__Submit *submit)
{
    size_t count = graph->tables.count;
    struct task_graph **from = calloc(count + 1, sizeof(struct task_graph *));
    granary_err err = from == NULL ? gr_fail(GRANARY_ENOMEM, "scheduler: out of memory") : GRANARY_OK;

    for (size_t i = 0; from != NULL && i < count; i++) {
        from[i] = graph->tables.reads[i].from;
        if (from[i] != NULL) {
            from[i]->tables.readers++;
        }
    }
    if (err == GRANARY_OK) {
        events_restart(manager, graph);
        graph_unplan(manager, graph);
        graph->planned = true;
        err = graph_plan(manager, graph, submit);
    }
    for (size_t i = 0; from != NULL && i < count; i++) {
        if (from[i] != NULL && --from[i]->tables.readers == 0) {
            graph_release(manager, from[i]);
        }
    }
    free(from);
    return err;
}

/* The next scheduler is to plan it in the same way. */
static void
keep_submission(struct manager *manager, const struct task_graph *graph, Granary__Submit *submit)
{
    char *key = submit->key;

    submit->key = (char *)(uintptr_t)graph->id_key;
    keep_message(manager, MANAGER_GRAPHS, graph->key, strlen(graph->key), &submit->base);
    submit->key = key;
}

void
recall_again(struct manager *manager, struct task_graph *graph)
{
    Granary__Submit *submit = graph->recall.submit;
    granary_err err;

    graph->recall.submit = NULL;
    graph->recall.again = false;
    granary__recall_told__free_unpacked(submit->told, NULL);
    submit->told = NULL;
    submit->recall = RECALL_OFF;
    keep_submission(manager, graph, submit);
    content_destroy(graph->recall.content);
    graph->recall.content = NULL;
    recall_release_parts(manager, graph);
    frees_collect(manager, graph);
    err = plan_again(manager, graph, submit);
    granary__submit__free_unpacked(submit, NULL);
    if (err != GRANARY_OK) {
        graph_end(manager, graph, GRANARY_GRAPH_FAILED, err, granary_error_message());
    } else {
        graph_check_end(manager, graph);
    }
}
