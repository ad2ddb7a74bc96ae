/* See leftovers.h. An entry of MANAGER_LEFT has them, for the next scheduler. */
#include "sched/graphs/leftovers.h"

#include <string.h>

#include "sched/core/pack.h"
#include "sched/execution/graph.h"
#include "sched/graphs/graphs.h"

static struct action *
left_entry(struct manager *manager, enum action_kind kind, uint32_t serial)
{
    return entry_add_number(manager, kind, MANAGER_LEFT, serial, sizeof serial);
}

static void
free_plans(struct session *session, const char *plans, size_t size)
{
    for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t plan;

        memcpy(&plan, plans + at, sizeof plan);
        pack_free_plan(&session->frees, plan);
    }
}

void
leftovers_note(struct manager *manager, struct task_graph *graph)
{
    const struct gr_buf *plans = &graph->journal.log.plans; /* of those that were dropped, all is being freed */
    bool may_leave = graph->resumed || (graph->execution != NULL && !execution_graph_idle(graph->execution));
    struct action *action;

    if (graph->state == GRANARY_GRAPH_SUCCEEDED || !may_leave || plans->size == 0) {
        return;
    }
    gr_buf_add(&graph->leftovers, plans->bytes, plans->size);
    action = left_entry(manager, ACTION_KEEP, graph->serial);
    manager->exhausted = manager->exhausted || !gr_buf_ok(&graph->leftovers);
    if (action != NULL) {
        gr_buf_add(&action->bytes, graph->session->name, strlen(graph->session->name) + 1);
        gr_buf_add(&action->bytes, graph->leftovers.bytes, graph->leftovers.size);
    }
}

static void
forget(struct manager *manager, struct task_graph *graph)
{
    if (graph->leftovers.size > 0) {
        (void)left_entry(manager, ACTION_FORGET, graph->serial);
    }
    gr_buf_free(&graph->leftovers);
}

void
leftovers_settle(struct manager *manager, struct task_graph *graph)
{
    if (!graph->resumed) {
        forget(manager, graph);
    }
}

void
leftovers_free(struct manager *manager, struct task_graph *graph)
{
    free_plans(graph->session, graph->leftovers.bytes, graph->leftovers.size);
    forget(manager, graph);
}

void
manager_restore_left(struct manager *manager, const void *key, size_t key_size, const void *value, size_t size)
{
    const char *name = value;
    size_t length = strnlen(name, size) + 1;
    uint32_t serial = key_size == sizeof serial ? (uint32_t)number_of_key(key, key_size) : 0;
    struct task_graph *graph = serial == 0 ? NULL : graph_of_number(manager, WIRE_NUMBER(serial, 0));
    struct session *session;

    if (serial == 0 || length > size || session_check(name) != GRANARY_OK) {
        return;
    }
    if (graph != NULL) {
        gr_buf_add(&graph->leftovers, name + length, size - length);
        return;
    }
    session = session_get(manager, name);
    manager->exhausted = manager->exhausted || session == NULL;
    if (session != NULL) {
        free_plans(session, name + length, size - length);
        (void)left_entry(manager, ACTION_FORGET, serial);
    }
}
