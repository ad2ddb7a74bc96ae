/* What a scheduler learns from executors that have outlived the one before. */
#include <stdlib.h>

#include "base/log.h"
#include "sched/core/pack.h"
#include "sched/dispatch/choose.h"
#include "sched/dispatch/order.h"
#include "sched/dispatch/reservations.h"
#include "sched/dispatch/resources.h"
#include "sched/execution/graph.h"
#include "sched/graphs/graphs.h"
#include "sched/manager/manager.h"
#include "sched/manager/manager_private.h"

/*
 * Subtasks an executor has at hand, as one message of them. An earlier scheduler gave them; or this one did, and the
 * executor has connected anew: they went back when it left, and it runs them while its claim is on the way.
 */
struct claim {
    uint64_t numbers[RESERVATIONS_BATCH];
    uint32_t count;
    uint64_t bytes;
    uint32_t need; /* of each of them */
};

static void
claim_grant(struct manager *manager, uint32_t executor, struct claim *claim)
{
    /* An instance that was started again may have less: what runs is not stopped for that. */
    struct reservation_ask ask = {.need = resources_fit(manager->resources, claim->need) ? claim->need : NEED_NONE};
    uint32_t token = claim->count == 0 ? RESERVATION_NONE
                                       : reservations_grant(manager->reservations, executor, claim->numbers,
                                                            claim->count, claim->bytes, false, &ask);

    for (uint32_t i = 0; i < claim->count; i++) {
        struct task_graph *graph = graph_of_number(manager, claim->numbers[i]);
        uint32_t number = (uint32_t)claim->numbers[i];

        if (token == RESERVATION_NONE) { /* out of memory: its report will count all the same */
            execution_graph_requeue(graph->execution, number);
        } else {
            execution_graph_subtask(graph->execution, number)->token = token;
        }
    }
    *claim = (struct claim){.count = 0};
}

static bool
claim_add(struct manager *manager, uint32_t executor, struct claim *claim, uint64_t wire_number, uint32_t attempt)
{
    struct task_graph *graph = graph_of_number(manager, wire_number);
    uint32_t number = (uint32_t)wire_number;
    const struct subtask *subtask;

    if (graph == NULL || graph->state != GRANARY_GRAPH_RUNNING ||
        (subtask = execution_graph_subtask(graph->execution, number)) == NULL || attempt < subtask->attempt ||
        attempt == 0) {
        return false;
    }
    if (!graph->resumed && attempt != subtask->attempt) { /* nobody else can have given it */
        return false;
    }
    if (claim->count == RESERVATIONS_BATCH || (claim->count > 0 && claim->need != subtask->need)) {
        claim_grant(manager, executor, claim);
    }
    if (reservations_in_flight(manager->reservations, executor) == RESERVATIONS_CREDIT ||
        !execution_graph_claim(graph->execution, number, attempt)) {
        return false;
    }
    claim->numbers[claim->count++] = wire_number;
    claim->bytes += ask_of(manager, graph, number).bytes;
    claim->need = subtask->need;
    return true;
}

void
manager_executor_claims(struct manager *manager, uint32_t executor, const Granary__Register *message)
{
    struct claim claim = {.count = 0};
    uint64_t *unknown = calloc(message->n_queued + 1, sizeof *unknown);
    size_t unknown_count = 0;
    struct action *action;

    manager->exhausted = manager->exhausted || unknown == NULL;
    if (executor_find(manager, executor) == NULL || unknown == NULL) {
        free(unknown);
        return;
    }
    for (size_t i = 0; i < message->n_queued; i++) {
        uint32_t attempt = i < message->n_attempts ? message->attempts[i] : 0;

        if (!claim_add(manager, executor, &claim, message->queued[i], attempt)) {
            unknown[unknown_count++] = message->queued[i];
        }
    }
    claim_grant(manager, executor, &claim);
    action = unknown_count == 0 ? NULL : send_begin(manager, executor);
    if (action != NULL) {
        gr_log_info("CLAIMS-REFUSED", "executor=%u subtasks=%zu", executor, unknown_count);
        pack_cancel(&action->bytes, unknown, unknown_count);
    }
    free(unknown);
}

void
manager_executor_busy(struct manager *manager, uint64_t wire_number, uint32_t attempt)
{
    struct task_graph *graph;
    uint32_t number = (uint32_t)wire_number;
    struct subtask *subtask = subtask_of_number(manager, wire_number, &graph);

    if (subtask != NULL && graph->resumed && graph->state == GRANARY_GRAPH_RUNNING && attempt > subtask->attempt &&
        execution_graph_claim(graph->execution, number, attempt)) {
        subtask->token = RESERVATION_NONE;
    }
}

bool
subtask_is_elsewhere(const struct task_graph *graph, const struct subtask *subtask, uint32_t attempt)
{
    return graph->resumed && subtask->state == SUBTASK_RUNNING && subtask->token == RESERVATION_NONE &&
           subtask->attempt == attempt;
}

void
manager_executor_busy_died(struct manager *manager, uint64_t wire_number, uint32_t attempt)
{
    struct task_graph *graph;
    uint32_t number = (uint32_t)wire_number;
    struct subtask *subtask = subtask_of_number(manager, wire_number, &graph);

    if (subtask != NULL && subtask_is_elsewhere(graph, subtask, attempt)) {
        subtask->deaths++;
        subtask->suspect = true;
        run_elsewhere(manager, graph, number, "executors died running it", GRANARY_ELOST, "");
        graph_release(manager, graph);
    }
}

void
manager_claims_end(struct manager *manager)
{
    struct task_graph *graph;

    FOREACH_GRAPH(graph, manager)
    {
        if (graph->awaits_claims) {
            graph->awaits_claims = false;
            if (graph->state == GRANARY_GRAPH_RUNNING && execution_graph_counts(graph->execution)->ready > 0) {
                graph_wake(manager, graph);
            }
        }
    }
}
