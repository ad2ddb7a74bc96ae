/* Graphs an earlier scheduler kept: ended ones are known again, the others run again under the same object ids. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "sched/task_private.h"

void
manager_restore_graph(struct manager *manager, const char *key, const void *submit, size_t size)
{
    Granary__Submit *message = granary__submit__unpack(NULL, size, submit);
    struct task_graph *graph = NULL;

    if (message != NULL && strlen(key) < GRANARY_KEY_MAX && graph_find(manager, key) == NULL) {
        graph = graph_create(manager, key, message->session[0] != '\0' ? message->session : "default");
    }
    if (graph == NULL) {
        gr_log_warn("STATE-ENTRY", "graph=%.80s the entry cannot be read, and was passed over", key);
        if (message != NULL) {
            granary__submit__free_unpacked(message, NULL);
        }
        return;
    }
    (void)snprintf(graph->id_key, sizeof graph->id_key, "%s", message->key);
    graph->submitted_ms = message->submitted_ms;
    graph->submit = message;
}

void
manager_restore_end(struct manager *manager, const char *key, const void *status, size_t size)
{
    struct task_graph *graph = graph_find(manager, key);
    Granary__GraphStatus *message = granary__graph_status__unpack(NULL, size, status);

    if (graph != NULL && message != NULL && message->state > GRANARY_GRAPH_RUNNING &&
        message->state <= GRANARY_GRAPH_CANCELLED) {
        graph->restored = true;
        graph->state = (granary_graph_state)message->state;
        graph->err = (granary_err)message->err;
        graph->message = message->message[0] != '\0' ? strdup(message->message) : NULL;
        graph->counts.total = message->subtasks_total;
        graph->counts.succeeded = message->subtasks_done;
        graph->counts.retries = message->retries;
        graph->ended_ms = message->ended_ms;
    }
    if (message != NULL) {
        granary__graph_status__free_unpacked(message, NULL);
    }
}

void
manager_restore_result(struct manager *manager, const char *key, const char *target, const void *result, size_t size)
{
    struct task_graph *graph = graph_find(manager, key);
    Granary__Result *message = granary__result__unpack(NULL, size, result);
    struct target *grown;

    if (graph != NULL && graph->restored && message != NULL) {
        grown = reallocarray(graph->targets, graph->target_count + 1, sizeof *grown);
        if (grown != NULL) {
            graph->targets = grown;
            grown[graph->target_count] =
                (struct target){.name = strdup(target), .packed = malloc(size + 1), .packed_size = size};
            if (grown[graph->target_count].packed != NULL) {
                memcpy(grown[graph->target_count].packed, result, size);
            }
            graph->target_count += grown[graph->target_count].name != NULL;
            (void)graph_kept_add(graph, message);
        }
    }
    if (message != NULL) {
        granary__result__free_unpacked(message, NULL);
    }
}

size_t
manager_restore_start(struct manager *manager)
{
    uint32_t count = manager->serial_count;
    size_t started = 0;
    const struct session *session;

    for (uint32_t serial = 1; serial < count; serial++) {
        struct task_graph *graph = manager->by_serial[serial];
        Granary__Submit *submit = graph == NULL ? NULL : graph->submit;
        granary_err err;

        if (submit == NULL) {
            continue;
        }
        graph->submit = NULL;
        if (!graph->restored) {
            err = graph_plan(manager, graph, submit);
            started++;
            if (err != GRANARY_OK) {
                graph_end(manager, graph, GRANARY_GRAPH_FAILED, err, granary_error_message());
            } else {
                graph_check_end(manager, graph);
            }
        }
        granary__submit__free_unpacked(submit, NULL);
    }
    LIST_FOREACH(session, &manager->sessions, link)
    {
        exports_sweep(manager, session->name);
    }
    return started;
}
