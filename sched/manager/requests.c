/* The requests of clients: each goes to its module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sched/core/counts.h"
#include "sched/dispatch/reservations.h"
#include "sched/execution/graph.h"
#include "sched/executors/pool.h"
#include "sched/functions/libraries.h"
#include "sched/graphs/again/recall.h"
#include "sched/graphs/again/restore.h"
#include "sched/graphs/graphs.h"
#include "sched/info/info.h"
#include "sched/info/why.h"
#include "sched/manager/manager.h"

/* analyze: with what each step has taken */
static void
reply_explain(struct manager *manager, uint64_t ticket, const struct task_graph *graph, bool analyze)
{
    struct gr_buf text = {0};
    granary_err err = GRANARY_OK;

    recall_explain(graph, &text);
    if (graph->plan != NULL) {
        gr_plan_explain(graph->plan, &text);
        if (analyze) {
            gr_plan_analyze(graph->plan, &text);
        }
    } else if (graph->submit == NULL || restored_explain(manager, graph, &text) != GRANARY_OK) {
        char why[512];

        (void)snprintf(why, sizeof why, "%s", graph->submit == NULL ? "it is gone" : granary_error_message());
        err = gr_fail(GRANARY_ESTATE,
                      "graph '%s': its plan ended with an earlier scheduler and cannot be made again (%s): submit it "
                      "again to see one",
                      graph->key, why);
    }
    reply_text(manager, ticket, err, &text);
    gr_buf_free(&text);
}

static void
reply_why(struct manager *manager, uint64_t ticket, const char *subject)
{
    struct gr_buf text = {0};
    granary_err err = why_tell(manager, subject, &text);

    reply_text(manager, ticket, err, &text);
    gr_buf_free(&text);
}

static void
reply_cluster(struct manager *manager, uint64_t ticket)
{
    Granary__Reply answer = GRANARY__REPLY__INIT;
    Granary__Cluster cluster = GRANARY__CLUSTER__INIT;
    size_t count = manager->executors.count;
    Granary__Executor *messages = calloc(count + 1, sizeof *messages);
    Granary__Executor **pointers = calloc(count + 1, sizeof *pointers);
    const struct task_graph *graph;

    if (messages == NULL || pointers == NULL) {
        reply_no_memory(manager, ticket);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        const struct executor *executor = &manager->executors.items[i];

        messages[i] = (Granary__Executor)GRANARY__EXECUTOR__INIT;
        messages[i].number = executor->number;
        messages[i].pid = executor->pid;
        messages[i].node = executor->node;
        messages[i].busy = reservations_in_flight(manager->reservations, executor->number) > 0;
        messages[i].done = executor->done;
        messages[i].failures = executor->failures;
        pointers[i] = &messages[i];
    }
    FOREACH_GRAPH(graph, manager)
    {
        if (graph->execution != NULL) {
            const struct execution_graph_counts *counts = execution_graph_counts(graph->execution);

            cluster.graphs_running += graph->state == GRANARY_GRAPH_RUNNING;
            cluster.subtasks_ready += counts->ready + counts->parked;
            cluster.subtasks_running += counts->running;
        }
    }
    cluster.subtasks_done = manager->subtasks_done;
    cluster.executors = pointers;
    cluster.n_executors = count;
    answer.cluster = &cluster;
    (void)reply_message(manager, ticket, &answer);
out:
    free(messages);
    free(pointers);
}

/* The graph a request names; answers and returns NULL when there is none. */
static struct task_graph *
graph_asked(struct manager *manager, uint64_t ticket, const char *key)
{
    struct task_graph *graph = graph_find(manager, key);

    if (graph == NULL) {
        reply_failure(manager, ticket, graph_missing(key));
    }
    return graph;
}

void
manager_request(struct manager *manager, uint64_t ticket, Granary__Request *request, int64_t now_ns)
{
    struct task_graph *graph;

    manager->now_ns = now_ns;
    manager_count(manager, GR_SCHED_requests, 1);
    switch (request->body_case) {
    case GRANARY__REQUEST__BODY_EXPORT:
        request_export(manager, ticket, request->export);
        return;
    case GRANARY__REQUEST__BODY_UNEXPORT:
        request_unexport(manager, ticket, request->unexport);
        return;
    case GRANARY__REQUEST__BODY_SUBMIT:
        request_submit(manager, ticket, request->submit, now_ns);
        return;
    case GRANARY__REQUEST__BODY_CLUSTER:
        reply_cluster(manager, ticket);
        return;
    case GRANARY__REQUEST__BODY_RECALL:
        request_recall(manager, ticket, request->recall);
        return;
    case GRANARY__REQUEST__BODY_POOL:
        request_pool(manager, ticket, request->pool, now_ns);
        return;
    case GRANARY__REQUEST__BODY_WAIT:
        graph = graph_asked(manager, ticket, request->wait->key);
        if (graph != NULL) {
            request_wait(manager, ticket, graph, true, request->wait->timeout_ms, now_ns);
        }
        return;
    case GRANARY__REQUEST__BODY_STOP:
        graph = graph_asked(manager, ticket, request->stop->key);
        if (graph != NULL) {
            request_stop(manager, ticket, graph, request->stop, now_ns);
        }
        return;
    case GRANARY__REQUEST__BODY_DELETE:
        graph = graph_asked(manager, ticket, request->delete_->key);
        if (graph != NULL) {
            request_delete(manager, ticket, graph, now_ns);
        }
        return;
    case GRANARY__REQUEST__BODY_EXPLAIN:
        graph = graph_asked(manager, ticket, request->explain->key);
        if (graph != NULL) {
            reply_explain(manager, ticket, graph, strcmp(request->explain->target, "analyze") == 0);
        }
        return;
    case GRANARY__REQUEST__BODY_RESULT:
        graph = graph_asked(manager, ticket, request->result->key);
        if (graph != NULL) {
            request_result(manager, ticket, graph, request->result, now_ns);
        }
        return;
    case GRANARY__REQUEST__BODY_INFO:
        info_request(manager, ticket, request->info, now_ns);
        return;
    case GRANARY__REQUEST__BODY_WHY:
        reply_why(manager, ticket, request->why->subject);
        return;
    case GRANARY__REQUEST__BODY_RENAME:
        request_rename(manager, ticket, request->rename, now_ns);
        return;
    case GRANARY__REQUEST__BODY_SESSION:
        request_session(manager, ticket, request->session);
        return;
    default:
        reply_error(manager, ticket, GRANARY_EPROTO, "the scheduler does not know this request");
        return;
    }
}
