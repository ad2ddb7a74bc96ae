/* Subtasks that take too long or too much, or belong to a graph that has ended, are given up. */

#include "sched/executors/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sched/core/manager.h"
#include "sched/dispatch/reservations.h"
#include "sched/execution/describe.h"
#include "sched/executors/waits.h"

/* A function that is asked to stop has this long, before its executor is killed. */
#define GRACE_NS 2000000000
/* ... and this long when its graph has failed. */
#define FAILED_NS 10000000000
/* One that is to be killed and has nothing at work may be about to answer. */
#define IDLE_NS 500000000
/* One that neither begins what it was given nor reports on it is deaf, for this long at most. */
#define DEAF_NS 15000000000

void
manager_watched(struct manager *manager, int64_t now_ns)
{
    waits_break(manager, now_ns);
}

bool
manager_watching(const struct manager *manager)
{
    return manager->watched > 0 || manager->stopping > 0;
}

bool
verdict_is_of(const struct executor *executor, uint64_t wire_number, uint32_t attempt)
{
    return executor->verdict.subtask == wire_number && executor->verdict.attempt == attempt;
}

void
verdict_clear(struct executor *executor)
{
    free(executor->verdict.message);
    executor->verdict = (struct verdict){0};
}

static void
ask_to_stop(struct manager *manager, struct executor *executor)
{
    struct action *action = action_add(manager, ACTION_CANCEL);

    if (action != NULL) {
        action->executor = executor->number;
        action->subtask = executor->verdict.subtask;
    }
}

static void
kill_executor(struct manager *manager, struct executor *executor)
{
    /* A program that embeds a worker is not ours to end: it is waited for. */
    struct action *action = executor->pull ? NULL : action_add(manager, ACTION_KILL);

    if (action != NULL) {
        action->executor = executor->number;
        executor->verdict.killed = true;
    }
}

/* What it says in the thread's message is kept with it. */
static void
verdict_set(struct executor *executor, uint64_t wire_number, uint32_t attempt, granary_err err, int64_t kill_ns)
{
    executor->verdict = (struct verdict){.subtask = wire_number,
                                         .attempt = attempt,
                                         .err = err,
                                         .kill_ns = kill_ns,
                                         .message = strdup(granary_error_message())};
}

void
subtask_give_up(struct manager *manager, struct executor *executor, uint64_t wire_number, uint32_t attempt,
                granary_err err, int64_t now_ns)
{
    if (!verdict_is_of(executor, wire_number, attempt)) {
        verdict_clear(executor);
        verdict_set(executor, wire_number, attempt, err, now_ns + GRACE_NS);
        ask_to_stop(manager, executor);
    }
}

static void
judge_limits(struct manager *manager, struct executor *executor, struct task_graph *graph, uint64_t wire_number,
             const struct manager_seen *seen, int64_t now_ns)
{
    uint32_t number = (uint32_t)wire_number;
    const struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    uint32_t attempt = subtask->attempt;
    const struct user_code *code = execution_graph_user_code(graph->execution, number);
    uint64_t memory_bytes = code == NULL             ? 0
                            : code->memory_bytes > 0 ? code->memory_bytes
                                                     : manager->options.task_memory_bytes;
    char what[160];

    if (memory_bytes > 0 && seen->private_bytes > memory_bytes) {
        subtask_describe(subtask, what, sizeof what);
        (void)gr_fail(GRANARY_EFULL, "%s used %.1f MiB of private memory, its limit is %.1f MiB", what,
                      (double)seen->private_bytes / 1048576, (double)memory_bytes / 1048576);
        verdict_set(executor, wire_number, attempt, GRANARY_EFULL, now_ns); /* it grows while it is asked */
    } else if (code != NULL && code->timeout_ms > 0 && seen->running_ns / 1000000 > code->timeout_ms) {
        subtask_describe(subtask, what, sizeof what);
        (void)gr_fail(GRANARY_ETIMEDOUT, "%s ran %.3g s, its limit is %.3g s", what, (double)seen->running_ns / 1e9,
                      (double)code->timeout_ms / 1e3);
        subtask_give_up(manager, executor, wire_number, attempt, GRANARY_ETIMEDOUT, now_ns);
    }
}

/* Its process was stopped, or what it hears and speaks by is broken: user code can do that. */
static void
judge_silence(struct manager *manager, struct executor *executor, uint64_t wire_number, uint32_t attempt,
              const struct manager_seen *seen, int64_t now_ns)
{
    if (!seen->idle || executor->unbegun != wire_number || executor->unbegun_attempt != attempt) {
        executor->unbegun = seen->idle ? wire_number : 0;
        executor->unbegun_attempt = attempt;
        executor->unbegun_ns = now_ns;
    } else if (now_ns - executor->unbegun_ns >= DEAF_NS) {
        executor->unbegun_ns = now_ns;
        kill_executor(manager, executor);
    }
}

void
manager_watch(struct manager *manager, uint32_t executor_number, const struct manager_seen *seen, int64_t now_ns)
{
    struct executor *executor = executor_find(manager, executor_number);
    uint64_t wire_number =
        seen->subtask != 0 ? seen->subtask : reservations_first(manager->reservations, executor_number);
    struct task_graph *graph;
    const struct subtask *subtask = subtask_of_number(manager, wire_number, &graph);

    if (executor == NULL || subtask == NULL || subtask->state != SUBTASK_RUNNING ||
        (seen->subtask != 0 && seen->attempt != subtask->attempt) ||
        reservations_holder(manager->reservations, subtask->token) != executor_number) {
        return; /* between two subtasks, or its report is on the way */
    }
    executor->wait =
        (struct wait){executor_number, wire_number, subtask->attempt, seen->waits_for, seen->waits_since_ns};
    if (!verdict_is_of(executor, wire_number, subtask->attempt)) {
        verdict_clear(executor);
        if (graph->state == GRANARY_GRAPH_RUNNING) {
            judge_limits(manager, executor, graph, wire_number, seen, now_ns);
        } else {
            (void)gr_fail(GRANARY_ECANCELLED, "graph '%s': it has ended", graph->key);
            /* Who stopped it says when to kill. When it has failed nobody may ever ask. */
            verdict_set(executor, wire_number, subtask->attempt, GRANARY_ECANCELLED,
                        graph->state == GRANARY_GRAPH_FAILED &&
                                execution_graph_user_code(graph->execution, (uint32_t)wire_number) != NULL
                            ? now_ns + FAILED_NS
                            : INT64_MAX);
            ask_to_stop(manager, executor);
        }
    }
    if (graph->state != GRANARY_GRAPH_RUNNING && executor->verdict.kill_ns > graph->end.kill_ns) {
        executor->verdict.kill_ns = graph->end.kill_ns; /* it was told since */
    }
    judge_silence(manager, executor, wire_number, subtask->attempt, seen, now_ns);
    if (executor->verdict.subtask != 0 && !executor->verdict.killed &&
        executor->verdict.kill_ns < INT64_MAX - IDLE_NS &&
        executor->verdict.kill_ns + (seen->idle ? IDLE_NS : 0) <= now_ns) {
        kill_executor(manager, executor);
    }
}
