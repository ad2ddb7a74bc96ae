/* Graphs are submitted: checked, bound to what they name, kept and planned. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/text/text.h"
#include "graph/graph.h"
#include "graph_json/json.h"
#include "sched/core/counts.h"
#include "sched/dispatch/reservations.h"
#include "sched/durable/journal.h"
#include "sched/executors/frees.h"
#include "sched/functions/libraries.h"
#include "sched/graphs/again/recall.h"
#include "sched/graphs/again/restore.h"
#include "sched/graphs/graphs.h"
#include "sched/graphs/tables.h"
#include "sched/graphs/wait.h"
#include "sched/recall/recalls.h"
#include "state/state.h"

_Static_assert(GRANARY_KEY_MAX + GR_TARGET_MAX <= STATE_KEY_MAX, "a result is kept by its graph's key and its target");

granary_err
key_check(const char *key)
{
    size_t length = strlen(key);

    return length < GRANARY_KEY_MAX ? gr_text_check(key, length, "graph key")
                                    : gr_fail(GRANARY_EINVAL, "graph key: at most %d bytes", GRANARY_KEY_MAX - 1);
}

static granary_err
check_names(const Granary__Submit *submit)
{
    granary_err err = key_check(submit->key);

    return err == GRANARY_OK ? session_check(submit->session) : err;
}

/* A submission as it is kept: the graph itself, and the functions it names bound to the versions there are now. */
static granary_err
submit_bind(struct manager *manager, const struct task_graph *graph, Granary__Submit *submit)
{
    granary_err err = GRANARY_OK;

    if (submit->graph == NULL) {
        err = gr_graph_from_json(submit->json, strlen(submit->json), &submit->graph);
        if (err == GRANARY_OK && submit->json != protobuf_c_empty_string) {
            free(submit->json);
            submit->json = (char *)(uintptr_t)protobuf_c_empty_string;
        }
    }
    if (err == GRANARY_OK) {
        err = graph_bind(manager, graph->session->name, submit->graph);
    }
    return err == GRANARY_OK ? tables_bind(manager, graph, submit) : err;
}

/* What decides how the work is cut is settled once: another scheduler plans the graph in the same way. */
static void
settle_facts(const struct manager *manager, const struct task_graph *graph, Granary__Submit *submit)
{
    uint32_t executors = reservations_executors(manager->reservations);
    uint32_t cores = manager->options.cores;

    submit->serial = graph->serial;
    submit->parent_serial = graph->family.parent == NULL ? 0 : graph->family.parent->serial;
    submit->slots = executors == 0 ? 1 : cores > 0 && cores < executors ? cores : executors; /* at work at a time */
    submit->memory_bytes = manager->options.memory_bytes;
    submit->chunk_bytes = submit->chunk_bytes > 0 ? submit->chunk_bytes : manager->options.chunk_bytes;
    submit->submitted_ms = manager_unix_ms(manager, manager->now_ns);
}

void
request_wait(struct manager *manager, uint64_t ticket, const struct task_graph *graph, bool existed, int64_t timeout_ms,
             int64_t now_ns)
{
    if (graph->state != GRANARY_GRAPH_RUNNING) {
        reply_status(manager, ticket, graph, existed, GRANARY_OK);
    } else if (timeout_ms == 0) {
        reply_status(manager, ticket, graph, existed, GRANARY_ETIMEDOUT);
    } else {
        (void)waiter_add(manager, (struct waiter){.what = WAITS_END,
                                                  .ticket = ticket,
                                                  .serial = graph->serial,
                                                  .existed = existed,
                                                  .deadline_ns = wait_until_ns(timeout_ms, now_ns)});
    }
}

static const char *
session_of(const Granary__Submit *submit)
{
    return submit->session[0] != '\0' ? submit->session : "default";
}

/* What tells one submission from another of the same key. 0: out of memory, and nothing is told. */
static uint64_t
digest_of(const Granary__Submit *submit)
{
    if (submit->digest != 0) {
        return submit->digest; /* of the graph as it was, before the client fixed the times of tables */
    }
    return submit->graph == NULL ? gr_hash64(submit->json, strlen(submit->json)) : gr_graph_digest(submit->graph);
}

/* Whether a submission is that graph, sent again. */
static granary_err
check_again(const struct task_graph *graph, const Granary__Submit *submit)
{
    if (graph->deleting) {
        return gr_fail(GRANARY_EBUSY, "graph '%s': it is being deleted: submit it again when that is done", graph->key);
    }
    if (strcmp(graph->session->name, session_of(submit)) != 0) {
        return gr_fail(GRANARY_EEXIST, "graph '%s': session '%.80s' has one of that key: choose another key",
                       graph->key, graph->session->name);
    }
    if (submit->digest != 0 && graph->digest != 0 && submit->digest != graph->digest) {
        return gr_fail(GRANARY_EEXIST,
                       "graph '%s': another graph was submitted under that key: choose another key, or delete it first",
                       graph->key);
    }
    return GRANARY_OK;
}

/* Its objects get ids that no others have: see graph_was_called(). */
static void
make_id_key(struct manager *manager, struct task_graph *graph)
{
    uint64_t words[2];

    if (manager->options.store_is_shared) {
        gr_id_words(granary_id_random(), words);
        (void)snprintf(graph->id_key, sizeof graph->id_key, "%s~%u@%08x", graph->key, graph->serial,
                       (unsigned)(uint32_t)words[0]);
    } else if (key_deleted_lately(&manager->registry, graph->key) || manager->frees->restored ||
               recalls_have_key(manager->recalls, graph->key)) {
        (void)snprintf(graph->id_key, sizeof graph->id_key, "%s~%u", graph->key, graph->serial);
    }
}

granary_err
graph_accept(struct manager *manager, const char *key, Granary__Submit *submit, struct task_graph **ret_graph)
{
    struct task_graph *graph;
    char *given = submit->key;
    granary_err err;

    serials_note(manager);
    graph = graph_create(manager, key, session_of(submit), manager->registry.serial_count);
    if (graph == NULL) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    make_id_key(manager, graph);
    err = submit_bind(manager, graph, submit);
    if (err != GRANARY_OK) {
        graph_drop(manager, graph);
        return err;
    }
    family_join(manager, graph, submit);
    settle_facts(manager, graph, submit);
    recall_look(manager, graph, submit);
    submit->key = graph->id_key;
    graph->submitted_ms = submit->submitted_ms;
    graph->digest = submit->digest;
    info_changed(manager, INFO_WORK);
    keep_message(manager, MANAGER_GRAPHS, key, strlen(key), &submit->base);
    submit->key = given;
    err = submit->recalled != 0 ? recall_take(manager, graph, submit) : graph_plan(manager, graph, submit);
    if (err != GRANARY_OK) {
        entry_forget(manager, MANAGER_GRAPHS, key, strlen(key));
        graph_drop(manager, graph);
        return err;
    }
    graph->turn = manager->turn;
    manager_count(manager, GR_SCHED_graphs_submitted, 1);
    *ret_graph = graph;
    return GRANARY_OK;
}

static void
reply_submitted(struct manager *manager, uint64_t ticket, const struct task_graph *graph, bool is_new)
{
    struct gr_buf ids = {0};

    recall_ids(graph, &ids);
    reply_accepted(manager, ticket, graph->key, is_new, graph->passing, &ids);
    gr_buf_free(&ids);
}

void
request_submit(struct manager *manager, uint64_t ticket, Granary__Submit *submit, int64_t now_ns)
{
    char key[GRANARY_KEY_MAX];
    struct task_graph *graph;
    granary_err err = check_names(submit);
    int64_t wait_ms = submit->wait_ms;

    if (err != GRANARY_OK) {
        reply_failure(manager, ticket, err);
        return;
    }
    submit->wait_ms = 0; /* of this request, not of the graph */
    submit->digest = digest_of(submit);
    (void)snprintf(key, sizeof key, "%s", submit->key);
    if (key[0] == '\0') {
        granary_id_format(granary_id_random(), key);
    }
    graph = graph_find(manager, key);
    if (graph != NULL && submit->recall == RECALL_AGAIN && graph->recall.from != NULL) {
        recall_forget(manager, graph);
        graph_delete(manager, graph);
        graph = graph_find(manager, key);
    }
    if (graph != NULL) {
        err = check_again(graph, submit);
        if (err != GRANARY_OK) {
            reply_failure(manager, ticket, err);
        } else if (wait_ms != 0) {
            request_wait(manager, ticket, graph, true, wait_ms, now_ns);
        } else {
            reply_submitted(manager, ticket, graph, graph->turn == manager->turn);
        }
        return;
    }
    err = graph_accept(manager, key, submit, &graph);
    if (err != GRANARY_OK) {
        reply_failure(manager, ticket, err);
        return;
    }
    if (wait_ms == 0) {
        reply_submitted(manager, ticket, graph, true);
    } else {
        struct action *action = action_add(manager, ACTION_ACCEPT);

        if (action != NULL) {
            memcpy(action->accepted, key, strlen(key) + 1);
        }
        request_wait(manager, ticket, graph, false, wait_ms, now_ns);
    }
    graph_check_end(manager, graph);
}

void
manager_reject(struct manager *manager, const char *key, granary_err err, const char *why)
{
    struct task_graph *graph = graph_find(manager, key);

    if (graph != NULL && !graph->deleting) {
        if (graph->state == GRANARY_GRAPH_RUNNING) {
            graph_end(manager, graph, GRANARY_GRAPH_CANCELLED, err, why);
        }
        graph_delete(manager, graph);
    }
}
