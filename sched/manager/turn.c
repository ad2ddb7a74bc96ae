/* The end of a turn: whoever may go goes, what is ready is given out, and what is new is kept. */
#include "sched/core/counts.h"
#include "sched/dispatch/dispatch.h"
#include "sched/dispatch/order.h"
#include "sched/dispatch/reservations.h"
#include "sched/durable/journal.h"
#include "sched/execution/graph.h"
#include "sched/executors/frees.h"
#include "sched/executors/pool.h"
#include "sched/graphs/graphs.h"
#include "sched/info/info.h"
#include "sched/manager/manager.h"
#include "sched/recall/recalls.h"

void
manager_note_amounts(struct manager *manager)
{
    enum kind { COUNTER, GAUGE };
    static const enum kind kinds[] = {
#define SCHED_COUNT(name, kind, unit, summary) kind,
#define SCHED_LATENCY(name, summary)
#include "contract/sched_page.def"
#undef SCHED_COUNT
#undef SCHED_LATENCY
    };
    uint64_t amounts[GR_SCHED_COUNTS] = {[GR_SCHED_executors] = manager->executors.count};
    struct task_graph *graph;
    struct session *session;

    FOREACH_GRAPH(graph, manager)
    {
        const struct execution_graph_counts *counts = graph->execution == NULL
                                                          ? &(const struct execution_graph_counts){0}
                                                          : execution_graph_counts(graph->execution);

        amounts[GR_SCHED_graphs]++;
        amounts[GR_SCHED_subtasks_running] += counts->running;
        if (graph->state == GRANARY_GRAPH_RUNNING) {
            amounts[GR_SCHED_graphs_running]++;
            amounts[GR_SCHED_subtasks_ready] += counts->ready;
            amounts[GR_SCHED_subtasks_waiting] +=
                counts->total - counts->ready - counts->running - counts->parked - counts->succeeded - counts->failed;
        }
    }
    LIST_FOREACH(session, &manager->sessions.list, link)
    {
        amounts[GR_SCHED_sessions]++;
    }
    for (size_t i = 0; i < GR_SCHED_COUNTS; i++) {
        if (kinds[i] == GAUGE) {
            atomic_store_explicit(&manager->page->counts[i], amounts[i], memory_order_relaxed);
        }
    }
}

void
manager_dispatch(struct manager *manager, int64_t now_ns)
{
    struct task_graph *graph;
    bool failed = false;

    manager->now_ns = now_ns;
    pool_settle(manager);
    frees_send(manager);
    claims_check(manager);
    while (reservations_any_free(manager->reservations, manager->order->coded > 0) &&
           (graph = order_next(manager)) != NULL) {
        struct choice choice;
        char text[256];

        if (execution_graph_counts(graph->execution)->ready == 0) {
            graph_sleep(manager, graph);
            continue;
        }
        choice = graph_choose(manager, graph);
        if (choice.number == SUBTASK_NONE) {
            order_refused(manager, graph);
        } else if (inputs_exceed_memory(manager, graph, choice.number, text, sizeof text)) {
            fail_graph(manager, graph, choice.number, "", GRANARY_EFULL, text);
            failed = true;
        } else if (dispatch_give(manager, graph, &choice)) {
            order_served(manager, graph);
            info_changed(manager, INFO_WORK);
        } else {
            order_refused(manager, graph);
        }
    }
    order_resume(manager);
    reservations_unhold(manager->reservations);
    if (failed) { /* what those graphs leave to free */
        frees_send(manager);
    }
    events_keep(manager);
    recalls_write(manager, TICKET_NONE);
    info_turn(manager);
}
