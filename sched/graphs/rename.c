/*
 * A graph gets another key, perhaps one that another graph has: a table is replaced in one moment. What the key stood
 * for is deleted then, but stays until the graphs that read it have ended; who asks later finds the new one.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sched/graphs/graphs.h"

/* Its objects' ids tell: they come from KEY, KEY~SERIAL, or KEY~SERIAL@RANDOM. */
bool
graph_was_called(const struct task_graph *graph, const char *key)
{
    char late[sizeof graph->id_key];
    size_t length = (size_t)snprintf(late, sizeof late, "%s~%u", key, graph->serial);

    return strcmp(graph->id_key, key) == 0 || (strncmp(graph->id_key, late, length) == 0 &&
                                               (graph->id_key[length] == '\0' || graph->id_key[length] == '@'));
}

static granary_err
check_rename(const struct task_graph *graph, const struct task_graph *other, const Granary__Rename *request)
{
    if (graph == NULL) {
        return graph_missing(request->key);
    }
    if (graph->state != GRANARY_GRAPH_SUCCEEDED || graph->deleting) {
        return gr_fail(GRANARY_ESTATE, "graph '%s': only one that has succeeded gets another key", graph->key);
    }
    if (other == NULL || other == graph) {
        return GRANARY_OK;
    }
    if (other->session != graph->session) {
        return gr_fail(GRANARY_EEXIST, "graph '%s': session '%.80s' has one of that key: choose another key",
                       other->key, other->session->name);
    }
    return request->replace || other->deleting
               ? GRANARY_OK
               : gr_fail(GRANARY_EEXIST, "there is a table or graph called '%s'", other->key);
}

/* key NUL rest, as in the space of results; rest NULL: the key alone */
static void
add_entry_key(struct gr_buf *out, const char *key, const char *rest)
{
    gr_buf_add(out, key, strlen(key) + (rest != NULL));
    if (rest != NULL) {
        gr_buf_add(out, rest, strlen(rest));
    }
}

static void
move_entry(struct manager *manager, const char *space, const char *from, const char *to, const char *rest)
{
    struct action *action = action_add(manager, ACTION_MOVE);

    if (action != NULL) {
        action->space = space;
        add_entry_key(&action->entry_key, from, rest);
        add_entry_key(&action->bytes, to, rest);
    }
}

static void
move_entries(struct manager *manager, const struct task_graph *graph, const char *to)
{
    struct action *action;

    move_entry(manager, MANAGER_GRAPHS, graph->key, to, NULL);
    move_entry(manager, MANAGER_ENDS, graph->key, to, NULL);
    for (size_t i = 0; i < graph->results.count; i++) {
        if (graph->results.targets[i].packed != NULL) {
            move_entry(manager, MANAGER_RESULTS, graph->key, to, graph->results.targets[i].name);
        }
    }
    action = graph->end.printed || graph->restored ? action_add(manager, ACTION_RELOG) : NULL;
    if (action != NULL) {
        add_entry_key(&action->entry_key, graph->key, NULL);
        add_entry_key(&action->bytes, to, NULL);
    }
}

void
request_rename(struct manager *manager, uint64_t ticket, const Granary__Rename *request, int64_t now_ns)
{
    struct task_graph *graph = graph_find(manager, request->key);
    struct task_graph *other = graph_find(manager, request->new_key);
    granary_err err =
        request->new_key[0] == '\0' ? gr_fail(GRANARY_EINVAL, "graph key: it is empty") : key_check(request->new_key);

    if (graph == NULL && other != NULL && graph_was_called(other, request->key)) { /* it was sent twice */
        graph = other;
    }
    err = err == GRANARY_OK ? check_rename(graph, other, request) : err;
    if (err != GRANARY_OK) {
        reply_failure(manager, ticket, err);
        return;
    }
    if (other != graph) {
        if (other != NULL) {
            log_forget(manager, other->key);
            graph_rekey(manager, other, NULL);
            graph_discard(manager, other, "replaced", now_ns);
        }
        move_entries(manager, graph, request->new_key);
        graph_rekey(manager, graph, request->new_key);
        graph->owner.pid = 0; /* a name is for everybody */
    }
    reply_ok(manager, ticket);
}
