/* Graphs and sessions as tables. */
#include <string.h>

#include "base/error.h"
#include "sched/dispatch/order.h"
#include "sched/execution/graph.h"
#include "sched/graphs/graphs.h"
#include "sched/info/info.h"

/* ---- graphs ---- */

const char *
info_graph_state(const struct task_graph *graph)
{
    static const char *const names[] = {
        [0] = "?",
#define GRAPH_STATE(name, NAME) [GRANARY_GRAPH_##NAME] = #name,
#include "contract/states.def"
    };

    return graph->deleting                                           ? "deleting"
           : (unsigned)graph->state < sizeof names / sizeof names[0] ? names[graph->state]
                                                                     : "?";
}

static void
tell_targets(const struct task_graph *graph, struct table *table)
{
    struct gr_buf names = {0};

    for (size_t i = 0; i < graph->results.count; i++) {
        gr_buf_addf(&names, "%s%s", i > 0 ? "," : "", graph->results.targets[i].name);
    }
    table_take(table, FIELD_graphs_targets, &names);
}

static void
graph_row(struct table *table, struct task_graph *graph, uint64_t position)
{
    Granary__GraphStatus status;
    const struct execution_graph_counts *counts = graph_counts(graph);
    bool running = graph->state == GRANARY_GRAPH_RUNNING;

    if (!table_begin(table, position)) {
        return;
    }
    graph_status(graph, &status);
    table_text(table, FIELD_graphs_key, graph->key);
    table_text(table, FIELD_graphs_session, graph->session->name);
    table_text(table, FIELD_graphs_level, graph->level == GRANARY__GRAPH__LEVEL__CHUNK ? "chunk" : "tileable");
    table_text(table, FIELD_graphs_state, info_graph_state(graph));
    table_int(table, FIELD_graphs_priority, graph->order.lane == NULL ? 0 : graph->order.lane->priority);
    table_int(table, FIELD_graphs_deadline_ms, graph->deadline.ms);
    table_int(table, FIELD_graphs_submitted_ms, graph->submitted_ms);
    table_int(table, FIELD_graphs_ended_ms, running ? 0 : graph->end.ms);
    table_real(table, FIELD_graphs_progress, graph_progress(graph));
    table_int(table, FIELD_graphs_subtasks, (int64_t)counts->total);
    table_int(table, FIELD_graphs_done, (int64_t)counts->succeeded);
    table_int(table, FIELD_graphs_running, (int64_t)counts->running);
    table_int(table, FIELD_graphs_ready, (int64_t)(counts->ready + counts->parked));
    table_int(table, FIELD_graphs_failed, (int64_t)status.subtasks_failed);
    table_int(table, FIELD_graphs_retries, (int64_t)counts->retries);
    tell_targets(graph, table);
    if (graph->end.err != GRANARY_OK) {
        table_text(table, FIELD_graphs_error, granary_error_name(graph->end.err));
    }
    table_text(table, FIELD_graphs_message, status.message);
    table_end(table);
}

static void
all_graphs(struct manager *manager, struct table *table)
{
    struct task_graph *graph;

    FOREACH_GRAPH_FROM(graph, manager, table_start(table, 0) + 1)
    {
        if (table_full(table)) {
            break;
        }
        if (!graph->nameless) {
            graph_row(table, graph, graph->serial);
        }
    }
}

static bool
graph_named(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    struct task_graph *graph = graph_find(manager, key);

    if (graph != NULL) {
        graph_row(table, graph, base + 1);
    }
    return graph != NULL;
}

const struct info_walk info_walk_graphs = {all_graphs, graph_named};

/* ---- sessions ---- */

static void
session_row(struct manager *manager, struct table *table, const struct session *session, uint64_t position)
{
    const struct task_graph *graph;
    uint64_t running = 0;
    uint64_t ready = 0;
    bool busy = false;

    if (!table_begin(table, position)) {
        return;
    }
    FOREACH_GRAPH(graph, manager)
    {

        if (graph->session == session && graph->execution != NULL) {
            running += execution_graph_counts(graph->execution)->running;
            ready += execution_graph_counts(graph->execution)->ready + execution_graph_counts(graph->execution)->parked;
        }
        busy = busy || (graph->session == session && graph->state == GRANARY_GRAPH_RUNNING);
    }
    table_text(table, FIELD_sessions_name, session->name);
    table_int(table, FIELD_sessions_weight, session->weight);
    table_int(table, FIELD_sessions_used_ns, (int64_t)session->used_ns);
    table_int(table, FIELD_sessions_graphs, session->graphs);
    table_int(table, FIELD_sessions_running, (int64_t)running);
    table_int(table, FIELD_sessions_ready, (int64_t)ready);
    if (!busy && session->ended_ns != 0) {
        table_int(table, FIELD_sessions_idle_ms, (manager->now_ns - session->ended_ns) / 1000000);
    }
    table_end(table);
}

/* The session that was made first after a serial; NULL: none. */
static const struct session *
session_after(const struct manager *manager, uint64_t serial)
{
    const struct session *next = NULL;
    const struct session *session;

    LIST_FOREACH(session, &manager->sessions.list, link)
    {
        if (session->serial > serial && (next == NULL || session->serial < next->serial)) {
            next = session;
        }
    }
    return next;
}

static void
all_sessions(struct manager *manager, struct table *table)
{
    const struct session *session = session_after(manager, table_start(table, 0));

    while (session != NULL && !table_full(table)) {
        session_row(manager, table, session, session->serial);
        session = session_after(manager, session->serial);
    }
}

static bool
session_named(struct manager *manager, struct table *table, const char *key, uint64_t base)
{
    const struct session *session = session_find(manager, key);

    if (session != NULL) {
        session_row(manager, table, session, base + 1);
    }
    return session != NULL;
}

const struct info_walk info_walk_sessions = {all_sessions, session_named};
