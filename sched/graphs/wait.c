/* Requests that are answered when something has become of a graph. */

#include "sched/graphs/wait.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory/grow.h"
#include "sched/graphs/graphs.h"

bool
waiter_add(struct manager *manager, struct waiter waiter)
{
    struct waiters *waiters = manager->waiters;

    if (!gr_grow(&waiters->items, &waiters->room, waiters->count, sizeof *waiters->items)) {
        reply_no_memory(manager, waiter.ticket);
        return false;
    }
    manager->waiters->items[manager->waiters->count++] = waiter;
    graph_of_number(manager, WIRE_NUMBER(waiter.serial, 0))->results.chunk_waiters += waiter.what == WAITS_CHUNK;
    return true;
}

void
waiters_fini(struct waiters *waiters)
{
    free(waiters->items);
}

static void
waiter_remove(struct manager *manager, size_t position)
{
    const struct waiter *waiter = &manager->waiters->items[position];

    graph_of_number(manager, WIRE_NUMBER(waiter->serial, 0))->results.chunk_waiters -= waiter->what == WAITS_CHUNK;
    manager->waiters->items[position] = manager->waiters->items[--manager->waiters->count];
}

static void
reply_deleted(struct manager *manager, uint64_t ticket, const struct task_graph *graph)
{
    char text[GRANARY_KEY_MAX + 32];

    (void)snprintf(text, sizeof text, "graph '%s': deleted", graph->key);
    reply_error(manager, ticket, GRANARY_ECANCELLED, text);
}

/* Answer one of those who wait for the graph, if it is time. */
static bool
waiter_answer(struct manager *manager, struct task_graph *graph, const struct waiter *waiter, bool gone)
{
    bool ended = graph->state != GRANARY_GRAPH_RUNNING;

    switch (waiter->what) {
    case WAITS_GONE:
        if (gone) {
            reply_gone(manager, waiter->ticket, graph->passing);
        }
        return gone;
    case WAITS_END:
        if (gone && !ended) {
            reply_deleted(manager, waiter->ticket, graph);
        } else {
            reply_status(manager, waiter->ticket, graph, waiter->existed, GRANARY_OK);
        }
        return true;
    case WAITS_CHUNK:
        if (gone) {
            reply_deleted(manager, waiter->ticket, graph);
        }
        return gone || chunks_reply(manager, graph, waiter);
    case WAITS_STOPPED:
        if (gone || is_stopped(manager, graph)) {
            reply_with_receipt(manager, waiter->ticket, &graph->end.receipt);
            return true;
        }
        return false;
    }
    return false;
}

void
waiters_answer(struct manager *manager, struct task_graph *graph, bool gone)
{
    for (size_t i = 0; i < manager->waiters->count;) {
        const struct waiter waiter = manager->waiters->items[i];

        if (waiter.serial == graph->serial && waiter_answer(manager, graph, &waiter, gone)) {
            waiter_remove(manager, i);
        } else {
            i++;
        }
    }
}

void
waiters_answer_chunks(struct manager *manager, struct task_graph *graph)
{
    for (size_t i = 0; graph->results.chunk_waiters > 0 && i < manager->waiters->count;) {
        const struct waiter waiter = manager->waiters->items[i];

        if (waiter.serial == graph->serial && waiter.what == WAITS_CHUNK && chunks_reply(manager, graph, &waiter)) {
            waiter_remove(manager, i);
        } else {
            i++;
        }
    }
}

int64_t
waiters_deadline_ns(const struct manager *manager)
{
    int64_t deadline = INT64_MAX;

    for (size_t i = 0; i < manager->waiters->count; i++) {
        deadline =
            manager->waiters->items[i].deadline_ns < deadline ? manager->waiters->items[i].deadline_ns : deadline;
    }
    return deadline;
}

void
waiters_expire(struct manager *manager, int64_t now_ns)
{
    for (size_t i = 0; i < manager->waiters->count;) {
        const struct waiter waiter = manager->waiters->items[i];
        struct task_graph *graph = graph_of_number(manager, WIRE_NUMBER(waiter.serial, 0));

        /* What was freed is told by executors, not by an event of the graph. */
        if (waiter.what == WAITS_STOPPED && waiter_answer(manager, graph, &waiter, false)) {
            waiter_remove(manager, i);
        } else if (waiter.deadline_ns <= now_ns) {
            reply_status(manager, waiter.ticket, graph, waiter.existed, GRANARY_ETIMEDOUT);
            waiter_remove(manager, i);
        } else {
            i++;
        }
    }
}
