/* What executors are given next. */

#include "sched/dispatch/dispatch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched/core/manager.h"
#include "sched/core/pack.h"
#include "sched/dispatch/estimates.h"
#include "sched/dispatch/order.h"
#include "sched/dispatch/reservations.h"
#include "sched/dispatch/resources.h"
#include "sched/functions/libraries.h"

/* A message is to keep its executor busy for about this long. */
#define MESSAGE_NS 1000000u

#define INPUTS_MAX 64

/* Of the private memory of subtasks, what copies of inputs may take that the store cannot hold all at once. */
#define COPIES_PART 4

/* The inputs of a subtask: the first of them. */
struct inputs {
    struct gr_place_input items[INPUTS_MAX];
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
    struct manager *manager;
    struct task_graph *graph;
    uint64_t numbers[RESERVATIONS_BATCH];
    uint32_t count, most;
    uint64_t bytes;
    uint64_t nanoseconds; /* it will take */
    uint32_t need;
};

/* The subtask is taken; it may take this long. */
static void
message_add(struct message *message, uint32_t number, const struct reservation_ask *ask, uint64_t nanoseconds)
{
    execution_graph_take(message->graph->execution, number);
    message->numbers[message->count++] = ask->number;
    message->bytes += ask->bytes;
    message->nanoseconds += nanoseconds;
}

/* ---- runs of dependent subtasks ---- */

/* A short one, of whatever kind, goes behind the one it waits for: the executor follows without a round trip. */
static bool
may_follow(const void *context, uint32_t number)
{
    const struct message *message = context;
    const struct manager *manager = message->manager;
    const struct subtask *subtask = execution_graph_subtask(message->graph->execution, number);
    const struct estimate *estimate = estimates_find(manager->estimates, subtask->kind);
    struct reservation_ask ask;

    if (estimate == NULL || estimate->mean_ns > MESSAGE_NS / 2 || message->nanoseconds > MESSAGE_NS ||
        subtask->need != message->need || subtask->rooms > 0) {
        return false;
    }
    ask = ask_of(manager, message->graph, number);
    return reservations_allow_more(manager->reservations, &ask) &&
           reservations_fit(manager->reservations, message->bytes, ask.bytes);
}

/* Behind the subtask last added: those that wait for nothing else. */
static void
message_follow(struct message *message, uint32_t number)
{
    struct task_graph *graph = message->graph;

    while (message->count < message->most &&
           (number = execution_graph_take_follower(graph->execution, number, may_follow, message)) != SUBTASK_NONE) {
        struct reservation_ask ask = ask_of(message->manager, graph, number);

        message->numbers[message->count++] = ask.number;
        message->bytes += ask.bytes;
        message->nanoseconds += time_of(message->manager, graph, number);
    }
}

/* ---- several of a kind ---- */

/*
 * How many ready subtasks of this kind belong into one message. Of user code no more than twice as many as were seen
 * before: what one call takes says little of the next.
 */
static uint32_t
share_of(const struct manager *manager, const struct task_graph *graph, const struct subtask *first,
         uint64_t nanoseconds)
{
    const struct estimate *estimate = estimates_find(manager->estimates, first->kind);
    uint64_t ready = execution_graph_counts(graph->execution)->ready;
    uint64_t executors = reservations_executors(manager->reservations);
    uint64_t share = (ready + executors - 1) / executors;
    uint64_t most = MESSAGE_NS / nanoseconds;

    if (first->user_code != SUBTASK_NONE && estimate != NULL) {
        most = most < estimate->samples * 2ull ? most : estimate->samples * 2ull;
    }
    share = share < most ? share : most;
    share = share < RESERVATIONS_BATCH ? share : RESERVATIONS_BATCH;
    return share > 0 ? (uint32_t)share : 1;
}

/* The next ready one, if it is like the first and fits beside what the message has. */
static uint32_t
next_of_kind(const struct message *message, const struct subtask *first, struct reservation_ask *ret_ask)
{
    struct manager *manager = message->manager;
    struct execution_graph *execution = message->graph->execution;
    uint32_t number = execution_graph_peek_class(execution, first->ready_class);
    const struct subtask *subtask = number == SUBTASK_NONE ? NULL : execution_graph_subtask(execution, number);

    if (subtask == NULL || subtask->kind != first->kind || subtask->suspect || subtask->rooms > 0 ||
        (subtask->is_root && roots_are_held(manager, message->graph, message->bytes))) {
        return SUBTASK_NONE;
    }
    *ret_ask = ask_of(manager, message->graph, number);
    /* Their need is held once for all of them: it is the same, and they run one after another. */
    return reservations_allow_more(manager->reservations, ret_ask) &&
                   reservations_fit(manager->reservations, message->bytes, ret_ask->bytes)
               ? number
               : SUBTASK_NONE;
}

static void
message_fill(struct message *message, const struct choice *choice)
{
    const struct subtask *first = execution_graph_subtask(message->graph->execution, choice->number);
    uint32_t share = choice->several ? share_of(message->manager, message->graph, first, choice->nanoseconds) : 1;
    struct reservation_ask ask = choice->ask;
    uint32_t number = choice->number;

    message->need = choice->ask.need;
    for (uint32_t taken = 0; number != SUBTASK_NONE; number = next_of_kind(message, first, &ask)) {
        message_add(message, number, &ask, choice->nanoseconds);
        if (choice->several) {
            message_follow(message, number);
        }
        if (++taken >= share || message->count >= message->most) {
            break;
        }
    }
}

/* ---- sending ---- */

static void
note_warm(struct manager *manager, uint32_t executor_number, const struct subtask *subtask)
{
    struct executor *executor = subtask->user_code != SUBTASK_NONE ? executor_find(manager, executor_number) : NULL;

    for (size_t i = 0; executor != NULL && i < WARM_KINDS; i++) {
        executor = executor->warm[i] == subtask->kind ? NULL : executor;
    }
    if (executor != NULL) {
        executor->warm[executor->warm_next++ % WARM_KINDS] = subtask->kind;
    }
}

static void
find_warm(struct manager *manager, struct gr_place_candidate *candidates, size_t count, uint32_t kind)
{
    for (size_t i = 0; i < count; i++) {
        const struct executor *executor = executor_find(manager, candidates[i].executor);

        for (size_t k = 0; executor != NULL && k < WARM_KINDS; k++) {
            candidates[i].warm = candidates[i].warm || executor->warm[k] == kind;
        }
    }
}

/*
 * What users wrote may have effects that nobody takes back: nothing of it runs for a submission that a scheduler's death
 * would undo. Work of the operators is only done again, and need not wait.
 */
static bool
waits_for_commit(const struct message *message)
{
    const struct task_graph *graph = message->graph;
    bool waits = false;

    for (uint32_t i = 0; i < message->count && graph->turn == message->manager->turn; i++) {
        waits = waits ||
                execution_graph_subtask(graph->execution, (uint32_t)message->numbers[i])->user_code != SUBTASK_NONE;
    }
    return waits;
}

static bool
message_send(struct message *message, uint32_t executor, bool alone, const struct reservation_ask *ask)
{
    struct manager *manager = message->manager;
    struct execution_graph *execution = message->graph->execution;
    struct action *action = action_add(manager, ACTION_SEND);
    uint32_t token = action == NULL ? RESERVATION_NONE
                                    : reservations_grant(manager->reservations, executor, message->numbers,
                                                         message->count, message->bytes, alone, ask);

    if (token == RESERVATION_NONE) {
        /* Back to where they were; a better moment may never come by itself. */
        manager->exhausted = true;
        manager->actions.count -= action != NULL;
        for (uint32_t i = 0; i < message->count; i++) {
            execution_graph_requeue(execution, (uint32_t)message->numbers[i]);
        }
        return false;
    }
    action->executor = executor;
    action->before_sends = waits_for_commit(message);
    pack_begin(&action->bytes);
    exports_send(manager, executor, message->graph, &action->bytes);
    for (uint32_t i = 0; i < message->count; i++) {
        uint32_t number = (uint32_t)message->numbers[i];
        struct subtask *subtask = execution_graph_subtask(execution, number);
        uint64_t nanoseconds = time_of(manager, message->graph, number);

        subtask->token = token;
        subtask->sent_ns = manager->now_ns;
        order_charge(manager, message->graph, subtask, nanoseconds > 0 ? nanoseconds : MESSAGE_NS);
        note_warm(manager, executor, subtask);
        pack_run(&action->bytes, message->numbers[i], subtask->attempt, subtask->packed, subtask->packed_size);
    }
    return true;
}

/* Whether enough executors have nothing to do for one that needs several. */
static bool
slots_fit(struct manager *manager, const struct reservation_ask *ask)
{
    uint32_t slots = resources_slots(manager->resources, ask->need);

    if (slots <= 1 || reservations_idle(manager->reservations) >= slots) {
        return true;
    }
    reservations_refused(manager->reservations, ask, false);
    for (uint32_t i = 0; i < slots; i++) {
        reservations_hold(manager->reservations);
    }
    return false;
}

/* Send one message of the graph's ready subtasks. false: nobody can take it now */
bool
dispatch_give(struct manager *manager, struct task_graph *graph, const struct choice *choice)
{
    const struct subtask *subtask = execution_graph_subtask(graph->execution, choice->number);
    const struct gr_place_distances distances = {manager->distances->nodes, manager->distances->rows};
    struct message message = {.manager = manager, .graph = graph};
    struct inputs inputs = {.count = 0};
    size_t count;
    struct gr_place_candidate *candidates =
        reservations_candidates(manager->reservations, choice->alone, choice->ask.user_code, &count);
    uint32_t executor;

    if (count == 0) {
        reservations_hold(manager->reservations);
        return false;
    }
    if (!slots_fit(manager, &choice->ask)) {
        return false;
    }
    if (!reservations_fit(manager->reservations, 0, choice->ask.bytes)) {
        reservations_refused(manager->reservations, &choice->ask, true);
        return false;
    }
    execution_graph_inputs(graph->execution, choice->number, note_input, &inputs);
    if (subtask->user_code != SUBTASK_NONE) {
        find_warm(manager, candidates, count, subtask->kind);
    }
    executor = candidates[gr_place_choose(candidates, count, inputs.items, inputs.count, &distances)].executor;
    message.most = reservations_room(manager->reservations, executor);
    message_fill(&message, choice);
    return message_send(&message, executor, choice->alone, &choice->ask);
}

bool
inputs_exceed_memory(const struct manager *manager, struct task_graph *graph, uint32_t number, char *text, size_t size)
{
    struct inputs inputs = {.count = 0};
    uint64_t memory = manager->options.memory_bytes;
    uint64_t copies = manager->options.task_memory_bytes / COPIES_PART;

    execution_graph_inputs(graph->execution, number, note_input, &inputs);
    if (memory == 0 || inputs.bytes <= (copies > memory ? copies : memory)) {
        return false;
    }
    (void)snprintf(
        text, size,
        "needs inputs of %llu bytes in memory at once, the store holds %llu: start the instance with a larger "
        "--memory",
        (unsigned long long)inputs.bytes, (unsigned long long)memory);
    return true;
}

/* ---- distances ---- */

void
distances_set(struct distances *distances, uint32_t nodes, const uint32_t *rows)
{
    size_t size = (size_t)nodes * nodes * sizeof *rows;
    uint32_t *copy = nodes > 0 ? malloc(size) : NULL;

    if (copy != NULL) {
        memcpy(copy, rows, size);
    }
    free(distances->rows);
    *distances = (struct distances){copy == NULL ? 0 : nodes, copy};
}
