/*
 * Graphs that must have ended by some moment. Clients and state tell it in wall-clock time; what is left of that when
 * it is told is left, whatever the wall clock is set to meanwhile.
 */

#include "sched/graphs/deadline.h"

#include <stdio.h>

#include "sched/execution/graph.h"
#include "sched/graphs/graphs.h"

#define MOST_MS ((int64_t)1 << 40) /* 34 years: as good as never */

/* Of the last event that told the time; a restored graph is planned before there was one. */
static int64_t
unix_ms(const struct manager *manager)
{
    return (manager->now_ns + manager->options.unix_offset_ns) / 1000000;
}

void
deadline_set(struct manager *manager, struct task_graph *graph, int64_t deadline_ms)
{
    struct task_graph *before = TAILQ_LAST(manager->deadlines, deadlines);
    int64_t left_ms;

    if (deadline_ms <= 0 || graph->deadline.is_listed) {
        return;
    }
    left_ms = deadline_ms - unix_ms(manager);
    left_ms = left_ms < 0 ? 0 : left_ms;
    graph->deadline.ms = deadline_ms;
    graph->deadline.ns = manager->now_ns + (left_ms < MOST_MS ? left_ms : MOST_MS) * 1000000;
    while (before != NULL && before->deadline.ns > graph->deadline.ns) {
        before = TAILQ_PREV(before, deadlines, deadline.link);
    }
    if (before == NULL) {
        TAILQ_INSERT_HEAD(manager->deadlines, graph, deadline.link);
    } else {
        TAILQ_INSERT_AFTER(manager->deadlines, before, graph, deadline.link);
    }
    graph->deadline.is_listed = true;
}

void
deadline_clear(struct manager *manager, struct task_graph *graph)
{
    if (graph->deadline.is_listed) {
        TAILQ_REMOVE(manager->deadlines, graph, deadline.link);
        graph->deadline.is_listed = false;
    }
}

int64_t
deadline_next_ns(const struct manager *manager)
{
    const struct task_graph *graph = TAILQ_FIRST(manager->deadlines);

    return graph == NULL ? INT64_MAX : graph->deadline.ns;
}

void
deadline_expire(struct manager *manager)
{
    struct task_graph *graph;

    while ((graph = TAILQ_FIRST(manager->deadlines)) != NULL && graph->deadline.ns <= manager->now_ns) {
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
