/* Executors come and go. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory/grow.h"
#include "sched/core/counts.h"
#include "sched/dispatch/order.h"
#include "sched/dispatch/reservations.h"
#include "sched/execution/graph.h"
#include "sched/executors/frees.h"
#include "sched/executors/verdict.h"
#include "sched/graphs/graphs.h"
#include "sched/history/history.h"
#include "sched/manager/manager.h"
#include "sched/manager/manager_private.h"

void
manager_executor_joined(struct manager *manager, uint32_t number, int32_t node, int64_t pid)
{
    struct executors *executors = &manager->executors;

    if (!gr_grow(&executors->items, &executors->room, executors->count, sizeof *executors->items) ||
        !reservations_join(manager->reservations, number, node)) {
        gr_log_error("OUT-OF-MEMORY", "executor=%u is not used", number);
        manager->exhausted = true;
        return;
    }
    info_changed(manager, INFO_POOL);
    executors->items[executors->count++] = (struct executor){.number = number, .node = node, .pid = pid};
}

static void
executor_fini(struct executor *executor)
{
    frees_drop(executor->free_orders);
    verdict_clear(executor);
    free(executor->marks);
    free(executor->last_log);
}

void
executors_fini(struct executors *executors)
{
    for (size_t i = 0; i < executors->count; i++) {
        executor_fini(&executors->items[i]);
    }
    free(executors->items);
}

/* What was at work when it died: the first it had not reported, unless its page says otherwise. */
static uint64_t
culprit_of(struct manager *manager, const struct executor *executor)
{
    uint64_t said = executor->last_subtask;
    struct task_graph *graph;
    const struct subtask *subtask = subtask_of_number(manager, said, &graph);

    if (said != 0 && subtask != NULL && subtask->state == SUBTASK_RUNNING &&
        subtask->attempt == executor->last_attempt &&
        reservations_holder(manager->reservations, subtask->token) == executor->number) {
        return said;
    }
    return reservations_first(manager->reservations, executor->number);
}

/* An executor that is gone, and the subtask it died at. */
struct orphaning {
    struct manager *manager;
    struct executor executor;
    uint64_t culprit;
};

static void
subtask_orphaned(void *context, uint64_t wire_number, bool first)
{
    const struct orphaning *orphaning = context;
    struct manager *manager = orphaning->manager;
    struct task_graph *graph = graph_of_number(manager, wire_number);
    uint32_t number = (uint32_t)wire_number;
    struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    const struct verdict *verdict = &orphaning->executor.verdict;

    (void)first;
    receipt_note(graph, verdict->killed && wire_number == orphaning->culprit);
    if (wire_number == orphaning->culprit) {
        record_lost(manager, graph, number, &orphaning->executor);
    }
    if (wire_number != orphaning->culprit || orphaning->executor.blameless) {
        /* Unless we killed it for another's sake, it may be at fault, too: from now on it runs alone. */
        subtask->suspect = subtask->suspect || !(verdict->killed || orphaning->executor.blameless);
        order_settle(manager, graph, subtask, 0);
        run_elsewhere(manager, graph, number, "executors died running it", GRANARY_ELOST, "");
    } else if (verdict_is_of(&orphaning->executor, wire_number, subtask->attempt)) {
        failed_by_itself(manager, graph, number, "", verdict->err, verdict->message != NULL ? verdict->message : "");
    } else {
        executor_died_at(manager, graph, number, &orphaning->executor);
    }
    graph_release(manager, graph);
}

void
manager_executor_death(struct manager *manager, uint32_t number, int32_t signal, int32_t status)
{
    struct executor *executor = executor_find(manager, number);

    if (executor != NULL) {
        executor->death_told = true;
        executor->signal = signal;
        executor->status = status;
    }
}

void
manager_executor_ended(struct manager *manager, uint32_t number)
{
    reservations_close(manager->reservations, number);
}

void
manager_executor_was_at(struct manager *manager, uint32_t number, uint64_t subtask, uint32_t attempt, const char *log)
{
    struct executor *executor = executor_find(manager, number);

    if (executor != NULL) {
        executor->last_subtask = subtask;
        executor->last_attempt = attempt;
        free(executor->last_log);
        executor->last_log = log == NULL ? NULL : strdup(log);
    }
}

void
manager_executor_died(struct manager *manager, uint32_t number)
{
    struct executor *executor = executor_find(manager, number);
    struct orphaning orphaning;

    if (executor != NULL) {
        info_changed(manager, INFO_WORK);
        manager_count(manager, GR_SCHED_executors_lost, executor->blameless ? 0 : 1);
        frees_reclaim(manager, executor);
        orphaning = (struct orphaning){manager, *executor, culprit_of(manager, executor)};
        *executor = manager->executors.items[--manager->executors.count];
        reservations_leave(manager->reservations, number, subtask_orphaned, &orphaning);
        if (manager->parked > 0 && reservations_granted(manager->reservations) == 0) {
            unpark_all(manager);
        }
        executor_fini(&orphaning.executor);
    }
}

void
manager_executor_left(struct manager *manager, uint32_t number)
{
    struct executor *executor = executor_find(manager, number);

    if (executor != NULL) {
        executor->blameless = true;
        manager_executor_died(manager, number);
    }
}
