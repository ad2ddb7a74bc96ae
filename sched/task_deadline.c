/* Graphs that must have ended by some moment. */
#include <stdio.h>

#include "sched/task_private.h"

/* The wall clock may be set meanwhile: it is looked at again at least this often. */
#define LOOK_MS 1000

/* Of the last event that told the time. */
static int64_t
unix_ms(const struct manager *manager)
{
    return (manager->now_ns + manager->options.unix_offset_ns) / 1000000;
}

void
deadline_set(struct manager *manager, struct task_graph *graph, int64_t deadline_ms)
{
    struct task_graph *before = TAILQ_LAST(&manager->deadlines, deadlines);

    if (deadline_ms <= 0 || graph->has_deadline) {
        return;
    }
    graph->deadline_ms = deadline_ms;
    while (before != NULL && before->deadline_ms > deadline_ms) {
        before = TAILQ_PREV(before, deadlines, deadline_link);
    }
    if (before == NULL) {
        TAILQ_INSERT_HEAD(&manager->deadlines, graph, deadline_link);
    } else {
        TAILQ_INSERT_AFTER(&manager->deadlines, before, graph, deadline_link);
    }
    graph->has_deadline = true;
}

void
deadline_clear(struct manager *manager, struct task_graph *graph)
{
    if (graph->has_deadline) {
        TAILQ_REMOVE(&manager->deadlines, graph, deadline_link);
        graph->has_deadline = false;
    }
}

int64_t
deadline_next_ns(const struct manager *manager)
{
    const struct task_graph *graph = TAILQ_FIRST(&manager->deadlines);
    int64_t now_ms = unix_ms(manager);
    int64_t left_ms;

    if (graph == NULL) {
        return INT64_MAX;
    }
    left_ms = graph->deadline_ms <= now_ms ? 0 : graph->deadline_ms - now_ms;
    left_ms = left_ms < LOOK_MS ? left_ms : LOOK_MS;
    return manager->now_ns + left_ms * 1000000;
}

void
deadline_expire(struct manager *manager)
{
    struct task_graph *graph;

    while ((graph = TAILQ_FIRST(&manager->deadlines)) != NULL && graph->deadline_ms <= unix_ms(manager)) {
        struct execution_graph_counts counts = {0};
        char text[GRANARY_KEY_MAX + 192];

        if (graph->execution != NULL) {
            counts = *execution_graph_counts(graph->execution);
        }
        (void)snprintf(text, sizeof text,
                       "graph '%s': not done by its deadline: %llu of %llu subtasks had succeeded, %llu were at work: "
                       "give it more time (--timeout), or a higher priority",
                       graph->key, (unsigned long long)counts.succeeded, (unsigned long long)counts.total,
                       (unsigned long long)counts.running);
        graph_end(manager, graph, GRANARY_GRAPH_FAILED, GRANARY_ETIMEDOUT, text);
    }
}
