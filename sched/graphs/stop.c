/* Graphs that are stopped, and what that gave back. */
#include <stdio.h>

#include "sched/execution/graph.h"
#include "sched/executors/frees.h"
#include "sched/graphs/again/restore.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/wait.h"

/* How long user code has to stop before its executor is killed, when nobody says. */
#define DELETE_GRACE_NS 10000000000

void
receipt_note(struct task_graph *graph, bool killed)
{
    if (graph->state != GRANARY_GRAPH_RUNNING) {
        graph->end.receipt.killed += killed;
        graph->end.receipt.stopped += !killed;
    }
}

void
receipt_settle(struct task_graph *graph)
{
    const struct execution_graph_counts *now =
        graph->execution != NULL ? execution_graph_counts(graph->execution) : &graph->counts;

    graph->end.receipt.freed_objects = now->freed_objects - graph->end.was.freed_objects;
    graph->end.receipt.freed_bytes = now->freed_bytes - graph->end.was.freed_bytes;
}

bool
is_stopped(const struct manager *manager, struct task_graph *graph)
{
    return graph->state != GRANARY_GRAPH_RUNNING && graph->execution == NULL && family_is_stopped(graph) &&
           frees_are_done(manager, graph);
}

static void
kill_after(struct task_graph *graph, int64_t kill_ns)
{
    graph->end.kill_ns = kill_ns < graph->end.kill_ns ? kill_ns : graph->end.kill_ns;
}

void
graph_stop(struct manager *manager, struct task_graph *graph, const char *how)
{
    char text[GRANARY_KEY_MAX + 32];

    if (graph->state == GRANARY_GRAPH_RUNNING) {
        (void)snprintf(text, sizeof text, "graph '%s': %s", graph->key, how);
        graph_end(manager, graph, GRANARY_GRAPH_CANCELLED, GRANARY_ECANCELLED, text);
    }
}

void
graph_discard(struct manager *manager, struct task_graph *graph, const char *how, int64_t now_ns)
{
    kill_after(graph, now_ns + DELETE_GRACE_NS);
    graph_stop(manager, graph, how);
    if (!graph->deleting) {
        graph_delete(manager, graph);
    }
}

void
manager_owner_ended(struct manager *manager, int64_t pid, uint64_t start_time, int64_t now_ns)
{
    struct task_graph *graph;

    manager->now_ns = now_ns;
    FOREACH_GRAPH(graph, manager)
    {
        if (graph->owner.pid == pid && graph->owner.start_time == start_time && !graph->deleting) {
            graph_discard(manager, graph, "the process that submitted it has ended", now_ns);
        }
    }
}

void
manager_owners(const struct manager *manager, void (*tell)(void *context, int64_t pid, uint64_t start_time),
               void *context)
{
    const struct task_graph *graph;

    FOREACH_GRAPH(graph, manager)
    {
        if (graph->owner.pid != 0) {
            tell(context, graph->owner.pid, graph->owner.start_time);
        }
    }
}

void
request_stop(struct manager *manager, uint64_t ticket, struct task_graph *graph, const Granary__GraphRef *ref,
             int64_t now_ns)
{
    /* Who does not wait and says nothing only asks. */
    if (ref->wait || ref->kill_after_ms > 0) {
        kill_after(graph, wait_until_ns(ref->kill_after_ms, now_ns));
    }
    graph_stop(manager, graph, "stopped");
    if (!ref->wait) {
        reply_ok(manager, ticket);
        return;
    }
    if (waiter_add(manager,
                   (struct waiter){
                       .what = WAITS_STOPPED, .ticket = ticket, .serial = graph->serial, .deadline_ns = INT64_MAX})) {
        waiters_answer(manager, graph, false);
    }
}

void
request_delete(struct manager *manager, uint64_t ticket, struct task_graph *graph, int64_t now_ns)
{
    if (!waiter_add(
            manager,
            (struct waiter){.what = WAITS_GONE, .ticket = ticket, .serial = graph->serial, .deadline_ns = INT64_MAX})) {
        return;
    }
    graph_discard(manager, graph, "deleted", now_ns);
}
