/* Runs that did not succeed: which are tried again, where and how often. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/dispatch/order.h"
#include "sched/dispatch/reservations.h"
#include "sched/durable/journal.h"
#include "sched/execution/describe.h"
#include "sched/execution/event_log.h"
#include "sched/graphs/again/recall.h"
#include "sched/graphs/graphs.h"

#define DEATHS_MAX 3           /* executors that may die running a subtask, or a function in subtasks that differ */
#define ROOMS_MAX  11          /* times there may be no room for what it makes */
#define FULL_MAX   2           /* times in a row that an executor may wait for room that nobody is about to make, ... */
#define FULL_NS    25000000000 /* ... from the end of the first wait to that of the last */

/* What is counted of it is for the next scheduler to know, too. */
static void
note_try(struct manager *manager, struct task_graph *graph, uint32_t number)
{
    if (graph->state == GRANARY_GRAPH_RUNNING) {
        event_log_tried(&graph->journal.log, graph->execution, number);
        events_touch(manager, graph);
    }
}

/* How often it has found no room since some may have been made. */
static uint32_t
full_of(const struct manager *manager, const struct executor *executor)
{
    return executor->full_of == manager->full_row ? executor->full : 0;
}

/* Whether anybody is at work whose end may make room: not who waits for room as well, nor who stands behind it. */
static bool
others_work(const struct manager *manager, const struct executor *executor)
{
    bool any = false;

    for (size_t i = 0; i < manager->executors.count && !any; i++) {
        const struct executor *other = &manager->executors.items[i];

        any = other != executor && full_of(manager, other) == 0 &&
              reservations_in_flight(manager->reservations, other->number) > 0;
    }
    return any;
}

/* Whether waiting longer would not help. Who did not wait says nothing: what stands behind it may make room. */
static bool
is_full(const struct manager *manager, const struct executor *executor)
{
    return full_of(manager, executor) >= FULL_MAX && manager->now_ns - executor->full_ns >= FULL_NS &&
           !others_work(manager, executor);
}

void
rooms_begin_anew(struct manager *manager)
{
    manager->full_row++;
}

void
no_room(struct manager *manager, struct task_graph *graph, uint32_t number, struct executor *executor,
        const Granary__Done *done)
{
    struct subtask *subtask = execution_graph_subtask(graph->execution, number);

    /* A message's subtasks wait one after the other, so the row is the executor's. */
    if (full_of(manager, executor) == 0) {
        executor->full_of = manager->full_row;
        executor->full = 0;
        executor->full_ns = manager->now_ns;
    }
    executor->full++;
    /* Twice with nothing else at work is enough: only others' leases and pins are left. */
    subtask->rooms += reservations_granted(manager->reservations) == 0 ? (ROOMS_MAX + 1) / 2 : 1;
    if (subtask->rooms > ROOMS_MAX || is_full(manager, executor)) {
        if (!graph->failing.keep_going) { /* what it leaves is room for others */
            rooms_begin_anew(manager);
        }
        fail_graph(manager, graph, number, done->node, GRANARY_EFULL, done->message);
        return;
    }
    note_try(manager, graph, number);
    execution_graph_park(graph->execution, number);
    manager->parked += subtask->state == SUBTASK_PARKED;
}

void
unpark_all(struct manager *manager)
{
    struct task_graph *graph;

    FOREACH_GRAPH(graph, manager)
    {
        if (manager->parked > 0 && graph->execution != NULL && execution_graph_counts(graph->execution)->parked > 0) {
            manager->parked -= execution_graph_counts(graph->execution)->parked;
            execution_graph_unpark_all(graph->execution);
            graph_wake(manager, graph);
        }
    }
}

static void
run_again(struct manager *manager, struct task_graph *graph, uint32_t number)
{
    note_try(manager, graph, number);
    execution_graph_requeue(graph->execution, number);
    if (graph->recall.again) {
        graph_check_end(manager, graph);
        return;
    }
    if (graph->state == GRANARY_GRAPH_RUNNING) {
        graph_wake(manager, graph);
        give_up_doomed(manager, graph);
    }
}

void
run_elsewhere(struct manager *manager, struct task_graph *graph, uint32_t number, const char *what, granary_err err,
              const char *message)
{
    const struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    char text[640];

    if (graph->state == GRANARY_GRAPH_RUNNING && subtask->deaths >= DEATHS_MAX) {
        (void)snprintf(text, sizeof text, "%u %s%s%s", subtask->deaths, what, message[0] != '\0' ? ": " : "", message);
        fail_graph(manager, graph, number, "", err, text);
        return;
    }
    run_again(manager, graph, number);
}

void
inputs_lost(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done)
{
    granary_err err;

    if (graph->state == GRANARY_GRAPH_RUNNING && execution_graph_restore_body(graph->execution, number)) {
        run_again(manager, graph, number); /* what it went on as is gone */
        return;
    }
    err = execution_graph_lose(graph->execution, number, done->lost, done->n_lost);
    if (err != GRANARY_OK) {
        char text[256];

        (void)snprintf(text, sizeof text, "%s", granary_error_message());
        if (!recall_start_over(manager, graph, number)) {
            fail_graph(manager, graph, number, done->node, err, text);
        }
    } else if (graph->state == GRANARY_GRAPH_RUNNING) {
        for (size_t i = 0; i < done->n_lost; i++) {
            granary_id id = id_of(done->lost[i]);

            /* One that was made again by now is not lost: this report is older than that. */
            if (!execution_graph_object(graph->execution, id, &(int64_t){0}, &(uint64_t){0})) {
                event_log_lost(&graph->journal.log, graph->execution, &done->lost[i], 1);
            }
        }
        note_try(manager, graph, number);
        graph_wake(manager, graph);
        give_up_doomed(manager, graph);
    }
}

void
failed_by_itself(struct manager *manager, struct task_graph *graph, uint32_t number, const char *node, granary_err err,
                 const char *message)
{
    struct user_code *code = execution_graph_user_code(graph->execution, number);

    if (graph->state == GRANARY_GRAPH_RUNNING && (code == NULL || code->failures >= code->retries)) {
        fail_graph(manager, graph, number, node, err, message);
        return;
    }
    if (code != NULL) {
        code->failures++;
    }
    run_again(manager, graph, number);
}

/* ---- executors that die ---- */

/* One more executor died of the subtask's function. Returns how many did by now, in subtasks that differ. */
static uint32_t
function_kills(struct task_graph *graph, uint32_t number, const struct executor *executor)
{
    const struct user_code *code = execution_graph_user_code(graph->execution, number);
    struct poison *grown;
    size_t i = 0;

    /* Who kills or ends a process from outside says nothing about the function. */
    if (code == NULL || executor->signal == SIGKILL || executor->signal == SIGTERM || executor->signal == SIGINT) {
        return 0;
    }
    while (i < graph->failing.poison_count && graph->failing.poisons[i].function != code->function) {
        i++;
    }
    if (i == graph->failing.poison_count) {
        grown = reallocarray(graph->failing.poisons, i + 1, sizeof *grown);
        if (grown == NULL) {
            return 0;
        }
        graph->failing.poisons = grown;
        graph->failing.poisons[graph->failing.poison_count++] =
            (struct poison){.function = code->function, .last = SUBTASK_NONE};
    }
    graph->failing.poisons[i].deaths += graph->failing.poisons[i].last != number;
    graph->failing.poisons[i].last = number;
    return graph->failing.poisons[i].deaths;
}

void
function_succeeded(struct task_graph *graph, uint32_t number)
{
    const struct user_code *code =
        graph->failing.poison_count == 0 ? NULL : execution_graph_user_code(graph->execution, number);

    for (size_t i = 0; code != NULL && i < graph->failing.poison_count; i++) {
        if (graph->failing.poisons[i].function == code->function) {
            graph->failing.poisons[i] = graph->failing.poisons[--graph->failing.poison_count];
        }
    }
}

void
executor_died_at(struct manager *manager, struct task_graph *graph, uint32_t number, const struct executor *executor)
{
    struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    uint32_t kills = function_kills(graph, number, executor);
    char what[160];
    char how[64] = "";
    char text[3072];

    subtask->suspect = true;
    subtask->deaths++;
    if (graph->state != GRANARY_GRAPH_RUNNING || (subtask->deaths < DEATHS_MAX && kills < DEATHS_MAX)) {
        run_again(manager, graph, number);
        return;
    }
    subtask_describe(subtask, what, sizeof what);
    if (executor->signal != 0 && sigabbrev_np(executor->signal) != NULL) {
        (void)snprintf(how, sizeof how, ", the last killed by SIG%s", sigabbrev_np(executor->signal));
    } else if (executor->death_told && executor->signal == 0) {
        (void)snprintf(how, sizeof how, ", the last left with status %d", executor->status);
    }
    (void)snprintf(text, sizeof text, "%u executors died running %s%s%s%s%s",
                   subtask->deaths >= DEATHS_MAX ? subtask->deaths : kills, what,
                   subtask->deaths >= DEATHS_MAX ? "" : " in different subtasks", how,
                   executor->last_log != NULL ? "; its output ends: " : "",
                   executor->last_log != NULL ? executor->last_log : "");
    fail_graph(manager, graph, number, "", GRANARY_ELOST, text);
}
