/* What became of a subtask, and what follows for its graph. */
#include <string.h>

#include "base/log.h"
#include "sched/dispatch/choose.h"
#include "sched/dispatch/order.h"
#include "sched/dispatch/reservations.h"
#include "sched/durable/journal.h"
#include "sched/execution/event_log.h"
#include "sched/execution/graph.h"
#include "sched/executors/frees.h"
#include "sched/executors/verdict.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/wait.h"
#include "sched/history/history.h"
#include "sched/manager/manager.h"
#include "sched/manager/manager_private.h"

static void
subtask_succeeded(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done,
                  int32_t node)
{
    struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    bool feeds = subtask->feeds && graph->state == GRANARY_GRAPH_RUNNING;
    granary_err err = GRANARY_OK;

    subtask_learn(manager, graph, number, done);
    subtask->feeds = false;
    function_succeeded(graph, number);
    execution_graph_succeed(graph->execution, number, done, node);
    frees_collect(manager, graph);
    family_spend(manager, graph, number);
    manager->subtasks_done++;
    gr_plan_account(graph->plan, number, done);
    if (graph->state != GRANARY_GRAPH_RUNNING) {
        return;
    }
    if (graph->recall.again) { /* what it made is of no use */
        graph_check_end(manager, graph);
        return;
    }
    event_log_succeeded(&graph->journal.log, graph->execution, number, node, feeds ? done : NULL);
    events_touch(manager, graph);
    if (feeds) {
        err = gr_plan_feed(graph->plan, number, done);
        if (err == GRANARY_OK) {
            err = graph_advance(manager, graph);
        }
    }
    if (err != GRANARY_OK) {
        graph_end(manager, graph, GRANARY_GRAPH_FAILED, err, granary_error_message());
        return;
    }
    if (execution_graph_counts(graph->execution)->ready > 0) {
        graph_wake(manager, graph);
    }
    give_up_doomed(manager, graph);
    waiters_answer_chunks(manager, graph);
    graph_check_end(manager, graph);
}

static void
subtask_ended(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done,
              struct executor *executor)
{
    granary_err err = done->err > 0 || strcmp(granary_error_name((granary_err)done->err), "E?") == 0
                          ? GRANARY_EFAILED
                          : (granary_err)done->err;

    executor->done += err == GRANARY_OK;
    executor->failures += err != GRANARY_OK;
    record_done(manager, graph, number, executor, done, err);
    receipt_note(graph, false);
    info_changed(manager, INFO_WORK);
    if (err == GRANARY_OK) {
        rooms_begin_anew(manager);
    }
    if (err == GRANARY_OK && done->go_on != NULL) {
        if (graph->state == GRANARY_GRAPH_RUNNING && !graph->recall.again) {
            subtask_goes_on(manager, graph, number, done);
        } else {
            execution_graph_requeue(graph->execution, number); /* it has made nothing: it is cancelled instead */
        }
        return;
    }
    if (err == GRANARY_OK) {
        subtask_succeeded(manager, graph, number, done, executor->node);
        return;
    }
    if (graph->state != GRANARY_GRAPH_RUNNING || graph->recall.again) {
        execution_graph_requeue(graph->execution, number); /* it is cancelled instead */
        graph_check_end(manager, graph);
        return;
    }
    if (verdict_is_of(executor, done->number, done->attempt)) {
        failed_by_itself(manager, graph, number, done->node, executor->verdict.err,
                         executor->verdict.message != NULL ? executor->verdict.message : "");
        return;
    }
    if (done->user_failed) {
        failed_by_itself(manager, graph, number, done->node, err, done->message);
        return;
    }
    switch (err) {
    case GRANARY_EFULL:
        no_room(manager, graph, number, executor, done);
        break;
    case GRANARY_ENOENT:
        if (done->n_lost > 0) {
            inputs_lost(manager, graph, number, done);
        } else {
            fail_graph(manager, graph, number, done->node, err, done->message);
        }
        break;
    case GRANARY_EUNREACHABLE:
    case GRANARY_ELOST:
    case GRANARY_ECANCELLED:
        execution_graph_subtask(graph->execution, number)->deaths++;
        run_elsewhere(manager, graph, number, "executors could not run it", err, done->message);
        break;
    default:
        fail_graph(manager, graph, number, done->node, err, done->message);
        break;
    }
}

/*
 * An earlier scheduler gave it, and this one has not given it to anybody: an attempt that is in no log. It becomes
 * RUNNING, under no token.
 */
static bool
given_earlier(struct task_graph *graph, uint32_t number, const struct subtask *subtask, uint32_t attempt)
{
    return graph->resumed && graph->state == GRANARY_GRAPH_RUNNING && attempt > subtask->attempt &&
           execution_graph_claim(graph->execution, number, attempt);
}

void
manager_done(struct manager *manager, uint32_t executor_number, const Granary__Done *done)
{
    struct executor *executor = executor_find(manager, executor_number);
    struct task_graph *graph;
    uint32_t number = (uint32_t)done->number;
    struct subtask *subtask = subtask_of_number(manager, done->number, &graph);
    bool earlier = subtask != NULL && (given_earlier(graph, number, subtask, done->attempt) ||
                                       subtask_is_elsewhere(graph, subtask, done->attempt));

    if (executor == NULL || subtask == NULL ||
        (!earlier && (subtask->state != SUBTASK_RUNNING || subtask->attempt != done->attempt ||
                      reservations_holder(manager->reservations, subtask->token) != executor_number))) {
        gr_log_debug("STALE-REPORT", "executor=%u subtask=%llu attempt=%u", executor_number,
                     (unsigned long long)done->number, done->attempt);
        frees_add_strays(manager, graph, done);
        return;
    }
    if (!earlier) {
        frees_done(manager, executor, reservations_order(manager->reservations, subtask->token));
        (void)reservations_settle(manager->reservations, subtask->token, done->number);
    }
    order_settle(manager, graph, subtask, done->nanoseconds);
    subtask_ended(manager, graph, number, done, executor);
    graph_release(manager, graph);
    /* What has ended may have made room. When nothing runs any more, waiting longer would not help. */
    if (manager->parked > 0 && (done->err == GRANARY_OK || reservations_granted(manager->reservations) == 0)) {
        unpark_all(manager);
    }
}
