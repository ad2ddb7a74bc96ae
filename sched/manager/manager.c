/* The manager and its graphs: found, planned. Their end is in graphs/end.c. */
#include "sched/manager/manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "graph_json/json.h"
#include "sched/core/manager_private.h"
#include "sched/history/function_stats.h"
#include "sched/info/info.h"

/* ---- the manager ---- */

struct manager *
manager_create(const struct manager_options *options)
{
    struct manager *manager = calloc(1, sizeof *manager);

    if (manager == NULL) {
        return NULL;
    }
    manager->options = *options;
    TAILQ_INIT(&manager->deadlines);
    TAILQ_INIT(&manager->past);
    manager->serial_count = 1; /* 0 names no graph */
    manager->info = info_create(options->unix_offset_ns / 1000000);
    manager->records = records_create();
    manager->function_stats = function_stats_create();
    manager->exports = exports_create();
    TAILQ_INIT(&manager->eventful);
    manager->reservations = reservations_create(options->memory_bytes);
    manager->resources = resources_create(options->resources, options->resource_count);
    manager->estimates = estimates_create();
    if (manager->reservations == NULL || manager->resources == NULL || manager->estimates == NULL ||
        manager->info == NULL || manager->records == NULL || manager->function_stats == NULL ||
        manager->exports == NULL) {
        manager_destroy(manager);
        return NULL;
    }
    reservations_use(manager->reservations, manager->resources);
    return manager;
}

static void
plan_destroy(struct task_graph *graph)
{
    gr_plan_destroy(graph->plan);
    graph->plan = NULL;
    execution_graph_destroy(graph->execution);
    graph->execution = NULL;
    for (size_t i = 0; i < graph->target_count; i++) {
        free(graph->targets[i].name);
        free(graph->targets[i].packed);
        if (graph->targets[i].result != NULL) {
            granary__result__free_unpacked(graph->targets[i].result, NULL);
        }
    }
    free(graph->targets);
    graph->targets = NULL;
    graph->target_count = 0;
}

void
graph_unplan(struct manager *manager, struct task_graph *graph)
{
    deadline_clear(manager, graph);
    order_detach(manager, graph);
    tables_release(manager, graph);
    plan_destroy(graph);
}

static void
graph_destroy(struct task_graph *graph)
{
    event_log_free(&graph->log);
    records_drop(graph);
    plan_destroy(graph);
    if (graph->submit != NULL) {
        granary__submit__free_unpacked(graph->submit, NULL);
    }
    tables_release(NULL, graph);
    free(graph->kept);
    free(graph->poisons);
    free(graph->message);
    free(graph->failed_message);
    free(graph);
}

void
manager_destroy(struct manager *manager)
{
    if (manager == NULL) {
        return;
    }
    for (uint32_t serial = 1; serial < manager->serial_count; serial++) {
        if (manager->by_serial[serial] != NULL) {
            order_detach(manager, manager->by_serial[serial]);
            past_forget(manager, manager->by_serial[serial]);
            graph_destroy(manager->by_serial[serial]);
        }
    }
    for (size_t i = 0; i < manager->executor_count; i++) {
        executor_fini(&manager->executors[i]);
    }
    frees_drop(manager->free_orders);
    while (!LIST_EMPTY(&manager->sessions)) {
        struct session *session = LIST_FIRST(&manager->sessions);

        LIST_REMOVE(session, link);
        session_destroy(session);
    }
    manager_actions_done(manager, manager->action_count);
    info_destroy(manager->info);
    records_destroy(manager->records);
    function_stats_destroy(manager->function_stats);
    pool_fini(manager);
    tables_fini(manager);
    order_fini(&manager->order);
    reservations_destroy(manager->reservations);
    exports_destroy(manager->exports);
    resources_destroy(manager->resources);
    estimates_destroy(manager->estimates);
    free(manager->distances);
    free(manager->by_serial);
    free(manager->waiters);
    free(manager->executors);
    free(manager->actions);
    free(manager);
}

void
manager_set_distances(struct manager *manager, uint32_t nodes, const uint32_t *rows)
{
    size_t size = (size_t)nodes * nodes * sizeof *rows;
    uint32_t *copy = nodes > 0 ? malloc(size) : NULL;

    if (copy != NULL) {
        memcpy(copy, rows, size);
    }
    free(manager->distances);
    manager->distances = copy;
    manager->nodes = copy == NULL ? 0 : nodes;
}

/* ---- finding ---- */

static size_t
bucket_of(const char *key)
{
    return gr_hash64(key, strlen(key)) % KEY_BUCKETS;
}

struct task_graph *
graph_find(struct manager *manager, const char *key)
{
    struct task_graph *graph;

    LIST_FOREACH(graph, &manager->buckets[bucket_of(key)], bucket_link)
    {
        if (strcmp(graph->key, key) == 0) {
            return graph;
        }
    }
    return NULL;
}

granary_err
graph_missing(const char *key)
{
    return gr_fail(GRANARY_ENOENT, "graph '%.80s': not found: `granary graphs` lists them", key);
}

void
graph_rekey(struct manager *manager, struct task_graph *graph, const char *key)
{
    LIST_REMOVE(graph, bucket_link);
    if (key == NULL) {
        graph->nameless = true;
        LIST_INSERT_HEAD(&manager->nameless, graph, bucket_link);
    } else {
        (void)snprintf(graph->key, sizeof graph->key, "%s", key);
        LIST_INSERT_HEAD(&manager->buckets[bucket_of(key)], graph, bucket_link);
    }
    info_changed(manager, INFO_WORK);
}

struct task_graph *
graph_of_number(struct manager *manager, uint64_t wire_number)
{
    uint64_t serial = wire_number >> 32;

    return serial > 0 && serial < manager->serial_count ? manager->by_serial[serial] : NULL;
}

/* ---- one graph ---- */

static void
graph_link(struct manager *manager, struct task_graph *graph, uint32_t serial)
{
    LIST_INSERT_HEAD(&manager->buckets[bucket_of(graph->key)], graph, bucket_link);
    graph->serial = serial;
    manager->by_serial[serial] = graph;
    graph->session->graphs++;
}

bool
serial_reserve(struct manager *manager, uint32_t serial)
{
    if (serial == 0 || serial > SERIAL_MAX || (serial < manager->serial_count && manager->by_serial[serial] != NULL)) {
        return false;
    }
    if (serial >= manager->serial_room) {
        uint32_t room = serial * 2 + 64;
        struct task_graph **grown = reallocarray(manager->by_serial, room, sizeof(struct task_graph *));

        if (grown == NULL) {
            return false;
        }
        memset(grown + manager->serial_room, 0, (room - manager->serial_room) * sizeof(struct task_graph *));
        manager->by_serial = grown;
        manager->serial_room = room;
    }
    manager->serial_count = serial < manager->serial_count ? manager->serial_count : serial + 1;
    return true;
}

struct task_graph *
graph_create(struct manager *manager, const char *key, const char *session, uint32_t serial)
{
    struct task_graph *graph;

    if (!serial_reserve(manager, serial)) {
        return NULL;
    }
    graph = calloc(1, sizeof *graph);
    if (graph == NULL) {
        return NULL;
    }
    graph->session = session_get(manager, session);
    if (graph->session == NULL) {
        free(graph);
        return NULL;
    }
    (void)snprintf(graph->key, sizeof graph->key, "%s", key);
    (void)snprintf(graph->id_key, sizeof graph->id_key, "%s", key);
    graph->state = GRANARY_GRAPH_RUNNING;
    graph->kill_ns = INT64_MAX;
    graph->receipt = (Granary__Receipt)GRANARY__RECEIPT__INIT;
    graph_link(manager, graph, serial);
    return graph;
}

void
graph_drop(struct manager *manager, struct task_graph *graph)
{
    deadline_clear(manager, graph);
    order_detach(manager, graph);
    past_forget(manager, graph);
    info_changed(manager, INFO_WORK);
    events_forget(manager, graph);
    family_leave(graph);
    tables_release(manager, graph);
    LIST_REMOVE(graph, bucket_link);
    manager->by_serial[graph->serial] = NULL;
    graph->session->graphs--;
    graph_destroy(graph);
}

/* ---- time ---- */

void
manager_set_unix_offset(struct manager *manager, int64_t unix_offset_ns)
{
    manager->options.unix_offset_ns = unix_offset_ns;
}

int64_t
manager_deadline(const struct manager *manager)
{
    int64_t deadline = deadline_next_ns(manager);
    int64_t info = info_deadline(manager);
    int64_t pool_ns = pool_deadline_ns(manager);

    deadline = pool_ns < deadline ? pool_ns : deadline;
    deadline = info < deadline ? info : deadline;
    return waiters_deadline_ns(manager) < deadline ? waiters_deadline_ns(manager) : deadline;
}

void
manager_expire(struct manager *manager, int64_t now_ns)
{
    manager->now_ns = now_ns;
    deadline_expire(manager);
    info_expire(manager, now_ns);
    pool_expire(manager, now_ns);
    waiters_expire(manager, now_ns);
}

/* ---- planning ---- */

static granary_err
note_targets(struct task_graph *graph)
{
    size_t count = gr_plan_target_count(graph->plan);

    graph->targets = calloc(count + 1, sizeof *graph->targets);
    for (size_t i = 0; graph->targets != NULL && i < count; i++) {
        graph->targets[i].name = strdup(gr_plan_target_name(graph->plan, i));
        if (graph->targets[i].name == NULL) {
            break;
        }
        graph->target_count++;
    }
    return graph->targets != NULL && graph->target_count == count ? GRANARY_OK
                                                                  : gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
}

static bool
plan_keeps(const void *plan, granary_id id)
{
    return gr_plan_keeps(plan, id);
}

granary_err
graph_advance(struct manager *manager, struct task_graph *graph)
{
    granary_err err;
    uint64_t before = execution_graph_counts(graph->execution)->total;
    bool more;

    do {
        struct gr_plan_batch batch = {0};

        err = gr_plan_advance(graph->plan, &batch);
        if (err == GRANARY_OK) {
            err = needs_resolve(manager, &batch);
        }
        if (err == GRANARY_OK && batch.count > 0) {
            err = execution_graph_add(graph->execution, batch.subtasks, batch.count, plan_keeps, graph->plan);
            graph_wake(manager, graph);
        }
        execution_graph_hold(graph->execution, batch.held, batch.held_count);
        execution_graph_settle(graph->execution, batch.settled, batch.settled_count, plan_keeps, graph->plan);
        more = batch.more;
        gr_plan_batch_free(&batch);
    } while (err == GRANARY_OK && more);
    if (err == GRANARY_OK && execution_graph_counts(graph->execution)->total > before && !graph->replays) {
        event_log_planned(&graph->log, graph->execution, gr_plan_digest(graph->plan));
    }
    if (err == GRANARY_OK && graph->read_count > 0) {
        tables_learn(manager, graph);
    }
    if (!graph->replays) {
        frees_collect(manager, graph); /* of what was held for consumers that have none */
    }
    return err;
}

granary_err
graph_plan(struct manager *manager, struct task_graph *graph, Granary__Submit *submit)
{
    Granary__Graph *message = submit->graph;
    struct function_scope functions = {.manager = manager, .session = graph->session->name};
    struct gr_plan_options options = {.key = graph->id_key,
                                      .graph = graph->key,
                                      .find_function = manager_find_function,
                                      .functions = &functions,
                                      .session = graph->session->name,
                                      .directory = submit->directory,
                                      .chunk_bytes = submit->chunk_bytes,
                                      .slots = (int)submit->slots,
                                      .memory_bytes = submit->memory_bytes,
                                      .tables = submit->tables,
                                      .table_count = submit->n_tables};
    granary_err err = GRANARY_OK;

    graph->keep_going = submit->keep_going;
    submit->graph = NULL;
    deadline_set(manager, graph, submit->deadline_ms);
    err = order_attach(manager, graph, submit->priority);
    if (err == GRANARY_OK && message == NULL) {
        err = gr_graph_from_json(submit->json, strlen(submit->json), &message);
    }
    if (err == GRANARY_OK) {
        graph->level = message->level;
        err = gr_plan_create(message, &options, &graph->plan);
    } else if (message != NULL) {
        granary__graph__free_unpacked(message, NULL);
    }
    if (err == GRANARY_OK) {
        graph->exports = gr_plan_exports(graph->plan);
        err = note_targets(graph);
    }
    if (err == GRANARY_OK) {
        graph->execution = execution_graph_create();
        err = graph->execution == NULL ? gr_fail(GRANARY_ENOMEM, "scheduler: out of memory") : GRANARY_OK;
    }
    if (err == GRANARY_OK) {
        err = tables_hold(manager, graph, submit);
    }
    if (err == GRANARY_OK) {
        execution_graph_count_watched(graph->execution, &manager->watched);
        execution_graph_tell_exhausted(graph->execution, &manager->exhausted);
        if (graph->resumed) {
            execution_graph_given_earlier(graph->execution);
        }
        err = graph_advance(manager, graph);
    }
    return err;
}

void
graph_check_end(struct manager *manager, struct task_graph *graph)
{
    if (graph->state != GRANARY_GRAPH_RUNNING || !execution_graph_idle(graph->execution)) {
        return;
    }
    if (execution_graph_counts(graph->execution)->failed > 0) { /* it kept going */
        char text[512];

        (void)snprintf(text, sizeof text, "%llu of %llu subtasks failed: %s",
                       (unsigned long long)execution_graph_counts(graph->execution)->failed,
                       (unsigned long long)execution_graph_counts(graph->execution)->total,
                       graph->failed_message != NULL ? graph->failed_message : "");
        graph_end(manager, graph, GRANARY_GRAPH_FAILED, graph->failed_err, text);
    } else if (gr_plan_complete(graph->plan)) {
        struct gr_buf notes = {0};

        gr_plan_notes(graph->plan, &notes);
        gr_buf_add(&notes, "", 1);
        graph_end(manager, graph, GRANARY_GRAPH_SUCCEEDED, GRANARY_OK,
                  notes.size > 1 && gr_buf_ok(&notes) ? notes.bytes : NULL);
        gr_buf_free(&notes);
    } else {
        graph_end(manager, graph, GRANARY_GRAPH_FAILED, GRANARY_EFAILED,
                  "scheduler: the plan is not complete, but has nothing left to run");
    }
}
