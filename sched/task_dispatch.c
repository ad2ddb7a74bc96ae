/* Executors: what they report, and what they are given next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "sched/pack.h"
#include "sched/task_private.h"

/* A subtask that takes longer than this is not put into one message with others ... */
#define SINGLE_NS 500000u
/* ... and one that takes longer than this goes to an idle executor, with none queued behind it. */
#define ALONE_NS 10000000u
/* A message is to keep its executor busy for about this long. */
#define MESSAGE_NS 1000000u

#define DEATHS_MAX 3 /* executors that may die running a subtask */
#define ROOMS_MAX  5 /* times there may be no room for what it makes */
#define INPUTS_MAX 64

/* ---- executors come and go ---- */

static struct executor *
executor_find(struct manager *manager, uint32_t number)
{
    for (size_t i = 0; i < manager->executor_count; i++) {
        if (manager->executors[i].number == number) {
            return &manager->executors[i];
        }
    }
    return NULL;
}

void
manager_executor_joined(struct manager *manager, uint32_t number, int32_t node, int64_t pid)
{
    if (manager->executor_count == manager->executor_room) {
        size_t room = manager->executor_room * 2 + 8;
        struct executor *grown = reallocarray(manager->executors, room, sizeof *grown);

        if (grown == NULL) {
            gr_log_error("OUT-OF-MEMORY", "executor=%u is not used", number);
            return;
        }
        manager->executors = grown;
        manager->executor_room = room;
    }
    if (!reservations_join(manager->reservations, number, node)) {
        gr_log_error("OUT-OF-MEMORY", "executor=%u is not used", number);
        return;
    }
    manager->executors[manager->executor_count++] = (struct executor){.number = number, .node = node, .pid = pid};
}

static void
free_order_drop(struct executor *executor)
{
    struct free_order *order = executor->free_orders;

    executor->free_orders = order->next;
    order->session->orders--;
    gr_buf_free(&order->frees);
    free(order);
}

/* It has reported on the token: what it was told to free before it got that is gone. */
static void
frees_done(struct executor *executor, uint64_t order)
{
    while (executor->free_orders != NULL && executor->free_orders->order < order) {
        free_order_drop(executor);
    }
}

/* It is dead: somebody else is to free what it may not have freed. An object that is gone already does no harm. */
static void
frees_reclaim(struct executor *executor)
{
    while (executor->free_orders != NULL) {
        struct free_order *order = executor->free_orders;

        gr_buf_add(&order->session->frees, order->frees.bytes, order->frees.size);
        free_order_drop(executor);
    }
}

void
executor_fini(struct executor *executor)
{
    while (executor->free_orders != NULL) {
        free_order_drop(executor);
    }
}

/* ---- what became of a subtask ---- */

/* The name of the node a subtask comes from: of its last operator. To be freed; NULL: out of memory. */
static char *
node_of(const struct subtask *subtask)
{
    Granary__Subtask *message = granary__subtask__unpack(NULL, subtask->packed_size, subtask->packed);
    char *name = NULL;

    if (message != NULL) {
        name = message->n_ops > 0 ? strdup(message->ops[message->n_ops - 1]->node) : NULL;
        granary__subtask__free_unpacked(message, NULL);
    }
    return name;
}

/* The graph fails because of a subtask. node: as the executor named it, or "" . */
static void
fail_graph(struct manager *manager, struct task_graph *graph, uint32_t number, const char *node, granary_err err,
           const char *message)
{
    struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    char *name = node[0] != '\0' ? strdup(node) : node_of(subtask);

    if (strncmp(message, "node '", strlen("node '")) != 0) {
        (void)gr_fail(err, "node '%s': %s", name != NULL ? name : "?",
                      message[0] != '\0' ? message : granary_error_text(err));
        message = granary_error_message();
    }
    free(name);
    if (subtask->state == SUBTASK_RUNNING) {
        execution_graph_fail(graph->execution, number);
    }
    graph_end(manager, graph, GRANARY_GRAPH_FAILED, err, message);
}

static void
unpark_all(struct manager *manager)
{
    for (uint32_t serial = 1; manager->parked > 0 && serial < manager->serial_count; serial++) {
        struct task_graph *graph = manager->by_serial[serial];

        if (graph != NULL && graph->execution != NULL && execution_graph_counts(graph->execution)->parked > 0) {
            manager->parked -= execution_graph_counts(graph->execution)->parked;
            execution_graph_unpark_all(graph->execution);
            graph_wake(manager, graph);
        }
    }
}

static void
subtask_succeeded(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done,
                  int32_t node)
{
    struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    struct kind *kind = kind_of_subtask(graph, subtask->kind);
    bool feeds = subtask->feeds && graph->state == GRANARY_GRAPH_RUNNING;
    granary_err err = GRANARY_OK;

    if (kind != NULL) {
        uint64_t weight = ++kind->samples < 8 ? kind->samples : 8;

        kind->mean_ns = (kind->mean_ns * (weight - 1) + done->nanoseconds) / weight;
    }
    subtask->feeds = false;
    execution_graph_succeed(graph->execution, number, done, node);
    frees_collect(manager, graph);
    manager->subtasks_done++;
    if (graph->state != GRANARY_GRAPH_RUNNING) {
        return;
    }
    if (feeds) {
        err = gr_plan_feed(graph->plan, number, done);
        if (err == GRANARY_OK) {
            err = graph_advance(manager, graph);
        }
    }
    if (err != GRANARY_OK) {
        graph_end(manager, graph, GRANARY_GRAPH_FAILED, err, granary_error_message());
        return;
    }
    if (execution_graph_counts(graph->execution)->ready > 0) {
        graph_wake(manager, graph);
    }
    graph_check_end(manager, graph);
}

static void
no_room(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done)
{
    struct subtask *subtask = execution_graph_subtask(graph->execution, number);

    /* Each try waited for room. Twice with nothing else at work is enough: only others' leases and pins are left. */
    subtask->rooms += reservations_granted(manager->reservations) == 0 ? (ROOMS_MAX + 1) / 2 : 1;
    if (subtask->rooms > ROOMS_MAX) {
        fail_graph(manager, graph, number, done->node, GRANARY_EFULL, done->message);
        return;
    }
    execution_graph_park(graph->execution, number);
    manager->parked += subtask->state == SUBTASK_PARKED;
}

/* It ended through no fault of its own: again, but not for ever. */
static void
run_elsewhere(struct manager *manager, struct task_graph *graph, uint32_t number, const char *what, granary_err err,
              const char *message)
{
    struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    char text[640];

    if (graph->state == GRANARY_GRAPH_RUNNING && subtask->deaths >= DEATHS_MAX) {
        (void)snprintf(text, sizeof text, "%u %s it%s%s", subtask->deaths, what, message[0] != '\0' ? ": " : "",
                       message);
        fail_graph(manager, graph, number, "", err, text);
        return;
    }
    execution_graph_requeue(graph->execution, number);
    if (graph->state == GRANARY_GRAPH_RUNNING) {
        graph_wake(manager, graph);
    }
}

static void
inputs_lost(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done)
{
    granary_err err = execution_graph_lose(graph->execution, number, done->lost, done->n_lost);

    if (err != GRANARY_OK) {
        char text[256];

        (void)snprintf(text, sizeof text, "%s", granary_error_message());
        fail_graph(manager, graph, number, done->node, err, text);
    } else if (graph->state == GRANARY_GRAPH_RUNNING) {
        graph_wake(manager, graph);
    }
}

static void
subtask_ended(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done,
              struct executor *executor)
{
    granary_err err = done->err > 0 || strcmp(granary_error_name((granary_err)done->err), "E?") == 0
                          ? GRANARY_EFAILED
                          : (granary_err)done->err;

    executor->done += err == GRANARY_OK;
    executor->failures += err != GRANARY_OK;
    if (err == GRANARY_OK) {
        subtask_succeeded(manager, graph, number, done, executor->node);
        return;
    }
    if (graph->state != GRANARY_GRAPH_RUNNING) {
        execution_graph_requeue(graph->execution, number); /* it is cancelled instead */
        return;
    }
    switch (err) {
    case GRANARY_EFULL:
        no_room(manager, graph, number, done);
        break;
    case GRANARY_ENOENT:
        if (done->n_lost > 0) {
            inputs_lost(manager, graph, number, done);
        } else {
            fail_graph(manager, graph, number, done->node, err, done->message);
        }
        break;
    case GRANARY_EUNREACHABLE:
    case GRANARY_ELOST:
    case GRANARY_ECANCELLED:
        execution_graph_subtask(graph->execution, number)->deaths++;
        run_elsewhere(manager, graph, number, "executors could not run", err, done->message);
        break;
    default:
        fail_graph(manager, graph, number, done->node, err, done->message);
        break;
    }
}

void
manager_done(struct manager *manager, uint32_t executor_number, const Granary__Done *done)
{
    struct executor *executor = executor_find(manager, executor_number);
    struct task_graph *graph = graph_of_number(manager, done->number);
    uint32_t number = (uint32_t)done->number;
    struct subtask *subtask =
        graph == NULL || graph->execution == NULL ? NULL : execution_graph_subtask(graph->execution, number);

    if (executor == NULL || subtask == NULL || subtask->state != SUBTASK_RUNNING || subtask->attempt != done->attempt ||
        reservations_holder(manager->reservations, subtask->token) != executor_number) {
        gr_log_debug("STALE-REPORT", "executor=%u subtask=%llu attempt=%u", executor_number,
                     (unsigned long long)done->number, done->attempt);
        return;
    }
    frees_done(executor, reservations_order(manager->reservations, subtask->token));
    (void)reservations_settle(manager->reservations, subtask->token, done->number);
    subtask_ended(manager, graph, number, done, executor);
    graph_release(manager, graph);
    /* What has ended may have made room. When nothing runs any more, waiting longer would not help. */
    if (manager->parked > 0 && (done->err == GRANARY_OK || reservations_granted(manager->reservations) == 0)) {
        unpark_all(manager);
    }
}

static void
subtask_orphaned(void *context, uint64_t wire_number, bool first)
{
    struct manager *manager = context;
    struct task_graph *graph = graph_of_number(manager, wire_number);
    struct subtask *subtask = execution_graph_subtask(graph->execution, (uint32_t)wire_number);

    subtask->suspect = true;
    subtask->deaths += first;
    run_elsewhere(manager, graph, (uint32_t)wire_number, "executors died running", GRANARY_ELOST, "");
    graph_release(manager, graph);
}

void
manager_executor_died(struct manager *manager, uint32_t number)
{
    struct executor *executor = executor_find(manager, number);

    if (executor != NULL) {
        frees_reclaim(executor);
        *executor = manager->executors[--manager->executor_count];
        reservations_leave(manager->reservations, number, subtask_orphaned, manager);
        if (manager->parked > 0 && reservations_granted(manager->reservations) == 0) {
            unpark_all(manager);
        }
    }
}

/* ---- giving ---- */

/* The inputs of a subtask. */
struct inputs {
    struct gr_place_input items[INPUTS_MAX]; /* the first of them */
    size_t count;
    uint64_t bytes; /* of all */
};

static void
note_input(void *context, int32_t node, uint64_t bytes)
{
    struct inputs *inputs = context;

    inputs->bytes += bytes;
    if (inputs->count < INPUTS_MAX) {
        inputs->items[inputs->count++] = (struct gr_place_input){node, bytes};
    }
}

/* A message being filled. */
struct message {
    struct task_graph *graph;
    uint64_t numbers[RESERVATIONS_BATCH];
    uint32_t count;
    uint64_t bytes;
};

/*
 * What a subtask keeps in memory while it runs: its inputs, which it leases all at once, and its outputs. Were inputs
 * not counted, two subtasks could each hold half of what both wait for.
 */
static uint64_t
demand_of(const struct task_graph *graph, uint32_t number)
{
    struct inputs inputs = {.count = 0};

    execution_graph_inputs(graph->execution, number, note_input, &inputs);
    return execution_graph_subtask(graph->execution, number)->out_bytes + inputs.bytes;
}

static void
message_add(struct message *message, uint32_t number, uint64_t bytes)
{
    message->numbers[message->count++] = WIRE_NUMBER(message->graph->serial, number);
    message->bytes += bytes;
}

/* Take the next ready subtask and, behind it, a chain of those that wait for nothing else. */
static void
message_fill_chain(struct message *message, uint32_t number, uint64_t bytes, bool chains)
{
    struct execution_graph *execution = message->graph->execution;
    uint32_t kind = execution_graph_subtask(execution, number)->kind;

    execution_graph_take(execution, number);
    message_add(message, number, bytes);
    while (chains && message->count < RESERVATIONS_BATCH &&
           (number = execution_graph_take_follower(execution, number, kind)) != SUBTASK_NONE) {
        message_add(message, number, demand_of(message->graph, number));
    }
}

/* How many ready subtasks of this kind belong into one message. */
static uint32_t
share_of(const struct manager *manager, const struct task_graph *graph, const struct kind *kind)
{
    uint64_t ready = execution_graph_counts(graph->execution)->ready;
    uint64_t executors = reservations_executors(manager->reservations);
    uint64_t share = (ready + executors - 1) / executors;
    uint64_t most = kind->mean_ns == 0 ? RESERVATIONS_BATCH : MESSAGE_NS / kind->mean_ns;

    share = share < most ? share : most;
    share = share < RESERVATIONS_BATCH ? share : RESERVATIONS_BATCH;
    return share > 0 ? (uint32_t)share : 1;
}

static bool
message_send(struct manager *manager, struct message *message, uint32_t executor, bool alone)
{
    struct execution_graph *execution = message->graph->execution;
    struct action *action = action_add(manager, ACTION_SEND);
    uint32_t token = action == NULL ? RESERVATION_NONE
                                    : reservations_grant(manager->reservations, executor, message->numbers,
                                                         message->count, message->bytes, alone);

    if (token == RESERVATION_NONE) {
        /* Out of memory: back to where they were, for a better moment. */
        manager->action_count -= action != NULL;
        for (uint32_t i = 0; i < message->count; i++) {
            execution_graph_requeue(execution, (uint32_t)message->numbers[i]);
        }
        return false;
    }
    action->executor = executor;
    pack_begin(&action->bytes);
    for (uint32_t i = 0; i < message->count; i++) {
        struct subtask *subtask = execution_graph_subtask(execution, (uint32_t)message->numbers[i]);

        subtask->token = token;
        pack_run(&action->bytes, message->numbers[i], subtask->attempt, subtask->packed, subtask->packed_size);
    }
    return true;
}

/* Send one message of the graph's ready subtasks. false: nobody can take it now */
static bool
give(struct manager *manager, struct task_graph *graph, uint32_t number)
{
    struct execution_graph *execution = graph->execution;
    const struct subtask *subtask = execution_graph_subtask(execution, number);
    struct kind *kind = kind_of_subtask(graph, subtask->kind);
    bool known = kind != NULL && kind->samples > 0 && !subtask->suspect && subtask->rooms == 0;
    bool alone = !known || kind->mean_ns > ALONE_NS;
    bool several = known && kind->mean_ns <= SINGLE_NS;
    struct message message = {.graph = graph};
    struct inputs inputs = {.count = 0};
    uint32_t share = 1;
    uint64_t bytes;
    size_t count;
    const struct gr_place_candidate *candidates = reservations_candidates(manager->reservations, alone, &count);
    uint32_t executor;

    if (count == 0) {
        return false;
    }
    execution_graph_inputs(execution, number, note_input, &inputs);
    bytes = subtask->out_bytes + inputs.bytes;
    if (!reservations_fit(manager->reservations, 0, bytes)) {
        return false;
    }
    executor = candidates[gr_place_choose(candidates, count, inputs.items, inputs.count)].executor;
    if (several) {
        share = share_of(manager, graph, kind);
    }
    for (uint32_t taken = 0; taken < share && message.count < RESERVATIONS_BATCH; taken++) {
        message_fill_chain(&message, number, bytes, several);
        number = taken + 1 < share ? execution_graph_peek(execution) : SUBTASK_NONE;
        subtask = number == SUBTASK_NONE ? NULL : execution_graph_subtask(execution, number);
        if (subtask == NULL || subtask->kind != kind->kind || subtask->suspect || subtask->rooms > 0) {
            break;
        }
        bytes = demand_of(graph, number);
        if (!reservations_fit(manager->reservations, message.bytes, bytes)) {
            break;
        }
    }
    return message_send(manager, &message, executor, alone);
}

/* Tell an executor to free what a session has to free. It is remembered until it is known to be done. */
static void
frees_order(struct manager *manager, struct executor *executor, struct session *session)
{
    struct free_order *order = calloc(1, sizeof *order);
    struct action *action = order == NULL ? NULL : action_add(manager, ACTION_SEND);
    struct free_order **last = &executor->free_orders;

    if (action == NULL) {
        free(order); /* out of memory: next turn */
        return;
    }
    order->order = reservations_last_order(manager->reservations);
    order->session = session;
    order->frees = session->frees;
    session->frees = (struct gr_buf){0};
    session->orders++;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = order;
    action->executor = executor->number;
    pack_begin(&action->bytes);
    gr_buf_add(&action->bytes, order->frees.bytes, order->frees.size);
    pack_free_session(&action->bytes, session->name);
}

static void
frees_send(struct manager *manager)
{
    struct session *session = LIST_FIRST(&manager->sessions);
    struct executor *least = NULL;

    for (size_t i = 0; i < manager->executor_count; i++) {
        struct executor *executor = &manager->executors[i];

        if (least == NULL || reservations_in_flight(manager->reservations, executor->number) <
                                 reservations_in_flight(manager->reservations, least->number)) {
            least = executor;
        }
    }
    while (session != NULL) {
        struct session *next = LIST_NEXT(session, link);

        if (least != NULL && session->frees.size > 0) {
            frees_order(manager, least, session);
        }
        if (session->graphs == 0 && session->orders == 0 && session->frees.size == 0) {
            LIST_REMOVE(session, link);
            session_destroy(session);
        }
        session = next;
    }
}

/* Inputs are leased all at once: more than memory holds can never be, and trying would take minutes to find out. */
static bool
fail_if_inputs_exceed_memory(struct manager *manager, struct task_graph *graph, uint32_t number)
{
    struct inputs inputs = {.count = 0};
    uint64_t memory = manager->options.memory_bytes;
    char text[256];

    execution_graph_inputs(graph->execution, number, note_input, &inputs);
    if (memory == 0 || inputs.bytes <= memory) {
        return false;
    }
    (void)snprintf(
        text, sizeof text,
        "needs inputs of %llu bytes in memory at once, the store holds %llu: start the instance with a larger "
        "--memory",
        (unsigned long long)inputs.bytes, (unsigned long long)memory);
    fail_graph(manager, graph, number, "", GRANARY_EFULL, text);
    return true;
}

void
manager_dispatch(struct manager *manager)
{
    size_t refused = 0;
    size_t free_executors;
    bool failed = false;

    frees_send(manager);
    /* Round robin: a session sends a message of one of its graphs, then it is another session's turn. */
    while (refused < manager->runnable_graphs) {
        struct session *session = TAILQ_FIRST(&manager->runnable);
        struct task_graph *graph = TAILQ_FIRST(&session->runnable);
        uint32_t number = execution_graph_peek(graph->execution);

        (void)reservations_candidates(manager->reservations, false, &free_executors);
        if (free_executors == 0) {
            break;
        }
        if (number == SUBTASK_NONE) {
            graph_sleep(manager, graph);
            continue;
        }
        if (fail_if_inputs_exceed_memory(manager, graph, number)) {
            failed = true;
            continue;
        }
        refused = give(manager, graph, number) ? 0 : refused + 1;
        TAILQ_REMOVE(&session->runnable, graph, runnable_link);
        TAILQ_INSERT_TAIL(&session->runnable, graph, runnable_link);
        TAILQ_REMOVE(&manager->runnable, session, runnable_link);
        TAILQ_INSERT_TAIL(&manager->runnable, session, runnable_link);
    }
    if (failed) { /* what those graphs leave to free */
        frees_send(manager);
    }
}
