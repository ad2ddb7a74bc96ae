/* What executors are given next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sched/info.h"
#include "sched/pack.h"
#include "sched/task_private.h"

/* A subtask that takes longer than this is not put into one message with others ... */
#define SINGLE_NS 500000u
/* ... and one that takes longer than this goes to an idle executor, with none queued behind it. */
#define ALONE_NS 10000000u
/* A message is to keep its executor busy for about this long. */
#define MESSAGE_NS 1000000u

#define INPUTS_MAX 64

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
    uint32_t count, most;
    uint64_t bytes;
};

/*
 * What a subtask keeps in memory while it runs: its inputs, which it leases all at once, and its outputs. Were inputs
 * not counted, two subtasks could each hold half of what both wait for.
 */
uint64_t
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
    while (chains && message->count < message->most &&
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

/* How long it takes, as far as is known. */
static uint64_t
time_of(const struct manager *manager, struct task_graph *graph, const struct subtask *subtask)
{
    const struct kind *kind = kind_of_subtask(graph, subtask->kind);

    (void)manager;
    return kind == NULL || kind->samples == 0 ? MESSAGE_NS : kind->mean_ns;
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
    exports_send(manager, executor, message->graph, &action->bytes);
    for (uint32_t i = 0; i < message->count; i++) {
        struct subtask *subtask = execution_graph_subtask(execution, (uint32_t)message->numbers[i]);

        subtask->token = token;
        subtask->sent_ns = manager->now_ns;
        order_charge(manager, message->graph, subtask, time_of(manager, message->graph, subtask));
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
        reservations_hold(manager->reservations);
        return false;
    }
    execution_graph_inputs(execution, number, note_input, &inputs);
    bytes = subtask->out_bytes + inputs.bytes;
    if (!reservations_fit(manager->reservations, 0, bytes)) {
        return false;
    }
    executor = candidates[gr_place_choose(candidates, count, inputs.items, inputs.count)].executor;
    message.most = reservations_room(manager->reservations, executor);
    if (several) {
        share = share_of(manager, graph, kind);
    }
    for (uint32_t taken = 0; taken < share && message.count < message.most; taken++) {
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
manager_dispatch(struct manager *manager, int64_t now_ns)
{
    struct task_graph *graph;
    bool failed = false;

    manager->now_ns = now_ns;
    pool_settle(manager);
    frees_send(manager);
    while (reservations_any_free(manager->reservations) && (graph = order_next(manager)) != NULL) {
        uint32_t number = execution_graph_peek(graph->execution);

        if (number == SUBTASK_NONE) {
            graph_sleep(manager, graph);
        } else if (fail_if_inputs_exceed_memory(manager, graph, number)) {
            failed = true;
        } else if (give(manager, graph, number)) {
            order_served(manager, graph);
            info_changed(manager, INFO_WORK);
        } else {
            order_refused(manager, graph);
        }
    }
    order_resume(manager);
    reservations_unhold(manager->reservations);
    if (failed) { /* what those graphs leave to free */
        frees_send(manager);
    }
    events_keep(manager);
    info_turn(manager);
}
