/* Which of a graph's ready subtasks is next, and what is known of it. */

#include "sched/dispatch/choose.h"

#include <stdlib.h>

#include "base/error.h"
#include "sched/core/manager.h"
#include "sched/dispatch/estimates.h"
#include "sched/dispatch/order.h"
#include "sched/dispatch/reservations.h"
#include "sched/dispatch/resources.h"

/* A subtask that takes longer than this is not put into one message with others ... */
#define SINGLE_NS 500000u
/* ... and one that takes longer than this goes to an idle executor, with none queued behind it. */
#define ALONE_NS 10000000u
/* What roots have made and nobody has read yet may take this part of the memory. */
#define ROOTS_PART 2
/* An output that is doubled as it grows is there twice and more while it moves. */
#define GROWING 3

/* ---- what a subtask asks for ---- */

static void
add_bytes(void *context, int32_t node, uint64_t bytes)
{
    uint64_t *sum = context;

    (void)node;
    *sum += bytes;
}

static uint64_t
in_bytes_of(struct task_graph *graph, uint32_t number)
{
    uint64_t bytes = 0;

    execution_graph_inputs(graph->execution, number, add_bytes, &bytes);
    return bytes;
}

/*
 * Its memory is what it keeps there while it runs: its inputs, which it leases all at once, and its outputs. Were
 * inputs not counted, two subtasks could each hold half of what both wait for.
 */
struct reservation_ask
ask_of(const struct manager *manager, struct task_graph *graph, uint32_t number)
{
    const struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    const struct user_code *code = execution_graph_user_code(graph->execution, number);
    uint64_t bytes = in_bytes_of(graph, number);
    uint64_t out_bytes = 0;

    if (subtask->output_count > 0) {
        out_bytes = estimate_out_bytes(estimates_find(manager->estimates, subtask->kind), subtask->out_bytes, bytes);
    }
    bytes += code != NULL && code->grows ? out_bytes * GROWING : out_bytes;
    return (struct reservation_ask){.number = WIRE_NUMBER(graph->serial, number),
                                    .bytes = bytes + resources_memory(manager->resources, subtask->need),
                                    .need = subtask->need,
                                    .rank = graph->order.lane->priority,
                                    .user_code = code != NULL};
}

uint64_t
time_of(const struct manager *manager, struct task_graph *graph, uint32_t number)
{
    const struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    const struct estimate *estimate = estimates_find(manager->estimates, subtask->kind);
    uint64_t nanoseconds;

    if (estimate == NULL) {
        return 0;
    }
    nanoseconds = estimate_ns(estimate, subtask->out_bytes, in_bytes_of(graph, number));
    return nanoseconds > 0 ? nanoseconds : 1;
}

void
subtask_learn(struct manager *manager, struct task_graph *graph, uint32_t number, const Granary__Done *done)
{
    const struct subtask *subtask = execution_graph_subtask(graph->execution, number);
    struct estimate_sample sample = {.nanoseconds = done->nanoseconds,
                                     .in_bytes = in_bytes_of(graph, number),
                                     .planned_bytes = subtask->out_bytes,
                                     .peak_bytes = done->peak_bytes};

    for (size_t i = 0; i < done->n_outputs; i++) {
        sample.out_bytes += done->outputs[i]->bytes;
    }
    estimates_learn(manager->estimates, subtask->kind, &sample);
}

/* ---- resources ---- */

static granary_err
need_of(struct manager *manager, const Granary__Subtask *message, uint32_t *ret_need)
{
    struct resource_amount *amounts = calloc(message->n_resources, sizeof *amounts);
    uint64_t slots = reservations_executors(manager->reservations);
    const char *node = message->n_ops > 0 ? message->ops[message->n_ops - 1]->node : "";
    granary_err err;

    if (amounts == NULL) {
        return gr_fail(GRANARY_ENOMEM, "scheduler: out of memory");
    }
    for (size_t i = 0; i < message->n_resources; i++) {
        amounts[i] = (struct resource_amount){message->resources[i]->name, message->resources[i]->amount};
    }
    err = resources_need(manager->resources, amounts, message->n_resources, slots, manager->options.memory_bytes,
                         ret_need);
    free(amounts);
    return err == GRANARY_OK || err == GRANARY_ENOMEM ? err
                                                      : gr_fail(err, "node '%s': %s", node, granary_error_message());
}

granary_err
needs_resolve(struct manager *manager, struct gr_plan_batch *batch)
{
    granary_err err = GRANARY_OK;

    for (size_t i = 0; i < batch->count && err == GRANARY_OK; i++) {
        if (batch->subtasks[i].subtask->n_resources > 0) {
            err = need_of(manager, batch->subtasks[i].subtask, &batch->subtasks[i].need);
        }
    }
    return err;
}

/* ---- choosing ---- */

bool
roots_are_held(const struct manager *manager, const struct task_graph *graph, uint64_t more_bytes)
{
    const struct execution_graph_counts *counts = execution_graph_counts(graph->execution);
    uint64_t bound = manager->options.memory_bytes / ROOTS_PART;

    /* When nothing else can run or does, more roots are what it takes to go on. */
    return bound > 0 && counts->live_bytes + more_bytes > bound &&
           counts->ready + counts->running > counts->roots_ready + counts->roots_running;
}

/* A ready subtask of this graph that waited long enough to be next; SUBTASK_NONE: none. */
static uint32_t
claimant_of(struct manager *manager, const struct task_graph *graph, bool memory)
{
    uint64_t number = reservations_claimant(manager->reservations, memory);

    return number >> 32 == graph->serial ? (uint32_t)number : SUBTASK_NONE;
}

void
claims_check(struct manager *manager)
{
    for (int memory = 0; memory < 2; memory++) {
        uint64_t number = reservations_claimant(manager->reservations, memory != 0);
        struct task_graph *graph;
        const struct subtask *subtask = subtask_of_number(manager, number, &graph);

        if (number != 0 && (subtask == NULL || subtask->state != SUBTASK_READY)) {
            reservations_claim_drop(manager->reservations, memory != 0);
        }
    }
}

/* Roots after all others, then by priority, then by number. */
static bool
goes_before(struct execution_graph *execution, uint32_t a, uint32_t b)
{
    const struct subtask *one = execution_graph_subtask(execution, a);
    const struct subtask *other = execution_graph_subtask(execution, b);

    if (one->is_root != other->is_root) {
        return other->is_root;
    }
    return one->priority != other->priority ? one->priority > other->priority : a < b;
}

/* The best so far, or this one, if it may be granted. */
static void
consider(struct manager *manager, struct task_graph *graph, uint32_t number, struct choice *best)
{
    struct reservation_ask ask;

    if (number == SUBTASK_NONE ||
        (best->number != SUBTASK_NONE && !goes_before(graph->execution, number, best->number))) {
        return;
    }
    ask = ask_of(manager, graph, number);
    if (reservations_allow(manager->reservations, &ask)) {
        best->number = number;
        best->ask = ask;
    } else if (!resources_fit(manager->resources, ask.need)) {
        reservations_refused(manager->reservations, &ask, false);
    }
}

struct choice
graph_choose(struct manager *manager, struct task_graph *graph)
{
    struct choice choice = {.number = SUBTASK_NONE};
    bool held = roots_are_held(manager, graph, 0);
    const struct subtask *subtask;

    for (uint32_t class = execution_graph_classes(graph->execution); class -- > 0;) {
        uint32_t number = execution_graph_peek_class(graph->execution, class);

        if (number != SUBTASK_NONE && !(held && execution_graph_subtask(graph->execution, number)->is_root)) {
            consider(manager, graph, number, &choice);
        }
    }
    /* Those with a claim may be hidden behind others of their class, which must wait for them. */
    if (choice.number == SUBTASK_NONE) {
        consider(manager, graph, claimant_of(manager, graph, true), &choice);
        consider(manager, graph, claimant_of(manager, graph, false), &choice);
    }
    if (choice.number != SUBTASK_NONE) {
        subtask = execution_graph_subtask(graph->execution, choice.number);
        choice.nanoseconds = subtask->suspect || subtask->rooms > 0 ? 0 : time_of(manager, graph, choice.number);
        choice.alone = choice.nanoseconds == 0 || choice.nanoseconds > ALONE_NS ||
                       resources_slots(manager->resources, choice.ask.need) > 1;
        choice.several = !choice.alone && choice.nanoseconds <= SINGLE_NS;
    }
    return choice;
}
