/* The end of a graph: what is kept of it, what is freed, who is told; and its deletion. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sched/core/counts.h"
#include "sched/core/pack.h"
#include "sched/dispatch/order.h"
#include "sched/dispatch/reservations.h"
#include "sched/durable/journal.h"
#include "sched/execution/graph.h"
#include "sched/executors/frees.h"
#include "sched/functions/libraries.h"
#include "sched/graphs/again/recall.h"
#include "sched/graphs/deadline.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/leftovers.h"
#include "sched/graphs/tables.h"
#include "sched/graphs/wait.h"
#include "sched/history/history.h"

static struct action *
result_entry(struct manager *manager, enum action_kind kind, const struct task_graph *graph,
             const struct target *target)
{
    struct action *action = entry_add(manager, kind, MANAGER_RESULTS, graph->key, strlen(graph->key) + 1);

    if (action != NULL) {
        gr_buf_add(&action->entry_key, target->name, strlen(target->name));
    }
    return action;
}

static void
keep_end(struct manager *manager, struct task_graph *graph)
{
    Granary__GraphStatus status;

    graph_status(graph, &status);
    keep_message(manager, MANAGER_ENDS, graph->key, strlen(graph->key), &status.base);
    for (size_t i = 0; i < graph->results.count; i++) {
        const struct target *target = &graph->results.targets[i];
        struct action *action = target->packed == NULL ? NULL : result_entry(manager, ACTION_KEEP, graph, target);

        if (action != NULL) {
            gr_buf_add(&action->bytes, target->packed, target->packed_size);
        }
    }
}

bool
graph_kept_add(struct task_graph *graph, const Granary__Result *result)
{
    granary_id *grown =
        reallocarray(graph->results.kept, graph->results.kept_count + result->n_chunks + 1, sizeof *grown);

    if (grown == NULL) {
        return false;
    }
    graph->results.kept = grown;
    for (size_t i = 0; i < result->n_chunks; i++) {
        if (result->chunks[i]->id.len == GRANARY_ID_BYTES) {
            memcpy(grown[graph->results.kept_count++].bytes, result->chunks[i]->id.data, GRANARY_ID_BYTES);
        }
    }
    return true;
}

/* Write down where a target lies, for good. */
static bool
target_pack(struct task_graph *graph, struct target *target, Granary__Result *result)
{
    result_fill(graph, result, 0, result->n_chunks);
    target->packed_size = granary__result__get_packed_size(result);
    target->packed = malloc(target->packed_size + 1);
    if (target->packed == NULL || !graph_kept_add(graph, result)) {
        return false;
    }
    (void)granary__result__pack(result, target->packed);
    return true;
}

/* A target that yields nothing has no result. */
static bool
target_settle(struct task_graph *graph, size_t position)
{
    struct target *target = &graph->results.targets[position];
    Granary__Result *result = target_known(graph, target);
    bool good;

    if (result == NULL) {
        return graph->state == GRANARY_GRAPH_FAILED; /* it failed before that was known */
    }
    good = result->n_chunks == 0 || target_pack(graph, target, result);
    if (graph->state == GRANARY_GRAPH_SUCCEEDED) { /* others: see errors_of_missing() */
        granary__result__free_unpacked(result, NULL);
        target->result = NULL;
    }
    return good;
}

void
graph_release(struct manager *manager, struct task_graph *graph)
{
    if (graph->execution != NULL && graph->state != GRANARY_GRAPH_RUNNING && execution_graph_idle(graph->execution)) {
        if (graph->state == GRANARY_GRAPH_FAILED && !graph->deleting) {
            errors_of_missing(graph);
        }
        frees_collect(manager, graph);
        tables_free_snapshots(graph);
        graph->counts = *execution_graph_counts(graph->execution);
        receipt_settle(graph);
        graph->end.frees_after = manager->frees->last;
        graph->end.printed = execution_graph_has_user_code(graph->execution);
        past_keep(manager, graph, graph->execution);
        graph->execution = NULL;
        leftovers_settle(manager, graph);
        tables_release(manager, graph);
        recall_release_parts(manager, graph);
        manager->stopping--;
        if (graph->exports > 0) {
            exports_sweep(manager, graph->session->name);
        }
    }
    if (graph->deleting && graph->execution == NULL && graph->tables.readers == 0) {
        for (size_t i = 0; i < graph->results.kept_count; i++) {
            pack_free(&graph->session->frees, graph->results.kept[i]);
        }
        if ((graph->end.printed || graph->restored) && !graph->nameless) {
            log_forget(manager, graph->key);
        }
        tables_forget_held(manager, graph);
        leftovers_free(manager, graph);
        waiters_answer(manager, graph, true);
        graph_drop(manager, graph);
    }
}

static void
cancel_running(void *context, uint32_t executor, const uint64_t *numbers, size_t count)
{
    struct manager *manager = context;
    struct action *action = send_begin(manager, executor);

    if (action != NULL) {
        pack_cancel(&action->bytes, numbers, count);
    }
}

void
graph_cancel_work(struct manager *manager, struct task_graph *graph, bool keep)
{
    manager->parked -= execution_graph_counts(graph->execution)->parked;
    execution_graph_cancel(graph->execution, keep);
    frees_collect(manager, graph);
    reservations_of_graph(manager->reservations, graph->serial, cancel_running, manager);
}

void
graph_end(struct manager *manager, struct task_graph *graph, granary_graph_state state, granary_err err,
          const char *message)
{
    assert(graph->state == GRANARY_GRAPH_RUNNING && state != GRANARY_GRAPH_RUNNING);
    graph->state = state;
    graph->end.err = err;
    graph->end.message = message == NULL ? NULL : strdup(message);
    manager->exhausted = manager->exhausted || (message != NULL && graph->end.message == NULL);
    graph->end.ms = manager_unix_ms(manager, manager->now_ns);
    graph->session->ended_ns = manager->now_ns;
    info_changed(manager, INFO_WORK);
    graph_sleep(manager, graph);
    deadline_clear(manager, graph);
    manager->stopping += graph->execution != NULL;
    for (size_t i = 0; state != GRANARY_GRAPH_CANCELLED && graph->execution != NULL && i < graph->results.count; i++) {
        if (!target_settle(graph, i)) {
            graph->state = GRANARY_GRAPH_FAILED;
            graph->end.err = GRANARY_ENOMEM;
            if (graph->end.message == NULL) {
                graph->end.message = strdup("scheduler: no memory to note where the results lie");
            }
        }
    }
    if (graph->execution != NULL) {
        graph->end.was = *execution_graph_counts(graph->execution);
        graph->end.receipt.dropped =
            graph->end.was.total - graph->end.was.succeeded - graph->end.was.failed - graph->end.was.running;
    }
    manager_count(manager,
                  graph->state == GRANARY_GRAPH_SUCCEEDED ? GR_SCHED_graphs_succeeded
                  : graph->state == GRANARY_GRAPH_FAILED  ? GR_SCHED_graphs_failed
                                                          : GR_SCHED_graphs_cancelled,
                  1);
    if (graph->state != GRANARY_GRAPH_SUCCEEDED && graph->execution != NULL) {
        graph_cancel_work(manager, graph, graph->state == GRANARY_GRAPH_FAILED);
    }
    recall_note(manager, graph);
    frees_add_dropped(graph);
    leftovers_note(manager, graph);
    events_end(manager, graph);
    keep_end(manager, graph);
    waiters_answer(manager, graph, false);
    if (graph->state != GRANARY_GRAPH_SUCCEEDED) {
        family_stop(manager, graph);
    }
    child_ended(manager, graph);
    graph_release(manager, graph);
}

void
graph_end_at_once(struct manager *manager, struct task_graph *graph)
{
    graph->state = GRANARY_GRAPH_SUCCEEDED;
    graph->end.ms = manager_unix_ms(manager, manager->now_ns);
    graph->session->ended_ns = manager->now_ns;
    manager_count(manager, GR_SCHED_graphs_succeeded, 1);
    manager_count(manager, GR_SCHED_graphs_recalled, 1);
    info_changed(manager, INFO_WORK);
    keep_end(manager, graph);
}

void
graph_delete(struct manager *manager, struct task_graph *graph)
{
    size_t length = strlen(graph->key);

    entry_forget(manager, MANAGER_GRAPHS, graph->key, length);
    entry_forget(manager, MANAGER_ENDS, graph->key, length);
    for (size_t i = 0; i < graph->results.count; i++) {
        if (graph->results.targets[i].packed != NULL) {
            (void)result_entry(manager, ACTION_FORGET, graph, &graph->results.targets[i]);
        }
    }
    events_forget(manager, graph);
    recall_keep(manager, graph);
    tables_keep_held(manager, graph);
    key_note_deleted(&manager->registry, graph->key);
    graph->deleting = true;
    tables_forget(manager, graph);
    family_delete(manager, graph);
    graph_release(manager, graph);
}
