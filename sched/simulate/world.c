/* Playing a run: executors, clients, the store and faults around a task manager. */
#include "simulate/world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "sched/execution_private.h"
#include "sched/keeper.h"
#include "sched/task_private.h"
#include "simulate/store.h"
#include "state/state.h"

#define NEVER         INT64_MAX
#define TURNS_MAX     2000000 /* a run with more of them does not end */
#define RESTART_NS    50000000
#define START_MS      1000000 /* Unix time at the run's begin */
#define MESSAGE_NS    20000   /* a message takes, there or back */
#define NULL_NS       2000
#define DEVICES       3
#define FAULT_EVENTS  6
#define SUBMIT_TICKET 1000

/* A subtask an executor was given. */
struct task {
    struct task *next;
    Granary__ToExecutor *order; /* it is in: freed with the last of them */
    uint32_t *order_refs;
    const Granary__Subtask *subtask;
    bool cancelled;
};

/* What came of the subtask at work. */
struct outcome {
    granary_err err;
    granary_id lost; /* ENOENT */
    uint64_t nanoseconds;
};

struct player {
    uint32_t number; /* 0: not there */
    struct task *first, **last;
    int64_t finish_ns; /* of the first; NEVER: it was not begun */
    int64_t join_ns;   /* when it comes; NEVER: it is there */
    struct outcome outcome;
};

/* A report that the scheduler has got and has not kept: the executor would tell the next one again. */
struct unkept {
    struct unkept *next;
    struct player *player;
    size_t size;
    uint8_t bytes[];
};

struct timed_fault {
    int64_t at_ns;
    enum world_fault kind;
};

struct world {
    const struct world_options *options;
    struct world_report *report;
    struct manager *manager;
    struct keeper keeper;
    int64_t now_ns;
    struct player players[WORLD_EXECUTORS];
    struct player nobody; /* an executor that is gone */
    uint32_t last_number;
    struct played_table objects;
    struct played_table subtasks;
    uint64_t store_bytes; /* of objects that are there */
    uint64_t making_bytes;
    uint64_t used_ns[WORLD_GRAPHS]; /* executor time, by session */
    uint64_t busy_ns;
    bool submitted[WORLD_GRAPHS], accepted[WORLD_GRAPHS], ended[WORLD_GRAPHS];
    struct timed_fault faults[FAULT_EVENTS];
    uint32_t fault_count;
    uint64_t state; /* of the numbers drawn */
    bool lenient;  /* executors brought what they had to a new scheduler: memory may be over the budget until it ends */
    bool compared; /* shares */
    struct unkept *unkept, **last_unkept;
};

static void __attribute__((format(printf, 2, 3))) violated(struct world *world, const char *format, ...)
{
    va_list arguments;

    if (world->report->violation[0] == '\0') {
        va_start(arguments, format);
        (void)vsnprintf(world->report->violation, sizeof world->report->violation, format, arguments);
        va_end(arguments);
    }
}

static void __attribute__((format(printf, 2, 3))) trace(const struct world *world, const char *format, ...)
{
    va_list arguments;

    if (world->options->trace) {
        va_start(arguments, format);
        (void)printf("%14.6f ms  ", (double)world->now_ns / 1e6);
        (void)vprintf(format, arguments);
        (void)printf("\n");
        va_end(arguments);
    }
}

/* A subtask for humans: graph and number. */
#define NAME(number) (unsigned)((number) >> 32), (unsigned)(number)

static bool
may(struct world *world, enum world_fault fault, uint64_t one_of)
{
    return (world->options->faults & fault) != 0 && world_below(&world->state, one_of) == 0;
}

/* ---- objects ---- */

static struct played *
object_of(struct world *world, ProtobufCBinaryData id)
{
    uint64_t key[2] = {0, 0};
    struct played *object;

    memcpy(key, id.data, id.len < sizeof key ? id.len : sizeof key);
    object = played_get(&world->objects, key[0], key[1]);
    if (object == NULL) {
        abort(); /* a simulation without memory shows nothing */
    }
    return object;
}

static struct played *
subtask_of(struct world *world, uint64_t number)
{
    struct played *subtask = played_get(&world->subtasks, number, 0);

    if (subtask == NULL) {
        abort();
    }
    return subtask;
}

static void
object_gone(struct world *world, struct played *object)
{
    world->store_bytes -= object->there ? object->bytes : 0;
    object->there = false;
}

static void
note_peak(struct world *world)
{
    uint64_t bytes = world->store_bytes + world->making_bytes;

    world->report->peak_store = bytes > world->report->peak_store ? bytes : world->report->peak_store;
}

/* ---- what a subtask takes: the same however often it runs ---- */

static const struct world_duration *
recorded_of(const struct world *world, const Granary__Subtask *subtask)
{
    const char *node = subtask->n_ops > 0 ? subtask->ops[subtask->n_ops - 1]->node : "";

    for (size_t i = 0; i < world->options->duration_count; i++) {
        if (strcmp(world->options->durations[i].node, node) == 0) {
            return &world->options->durations[i];
        }
    }
    return NULL;
}

static uint32_t
graph_number(const struct world *world, uint64_t wire_number)
{
    const struct task_graph *graph = graph_of_number(world->manager, wire_number);
    uint32_t position = graph == NULL ? 0 : (uint32_t)strtoul(graph->key + 1, NULL, 10);

    return position < world->options->graph_count ? position : 0;
}

static uint64_t
time_taken(const struct world *world, const Granary__Subtask *subtask)
{
    const struct world_duration *recorded = recorded_of(world, subtask);
    const struct world_graph *graph = &world->options->graphs[graph_number(world, subtask->number)];
    uint64_t draw = world_mix(world->options->seed ^ 11, subtask->number);

    if (recorded != NULL) {
        return recorded->nanoseconds;
    }
    if (graph->mean_bytes == 0) {
        return NULL_NS;
    }
    return graph->mean_ns / 2 + draw % (graph->mean_ns + 1);
}

static uint64_t
bytes_made(const struct world *world, const Granary__Subtask *subtask)
{
    const struct world_duration *recorded = recorded_of(world, subtask);
    const struct world_graph *graph = &world->options->graphs[graph_number(world, subtask->number)];
    uint64_t draw = world_mix(world->options->seed ^ 13, subtask->number);

    if (recorded != NULL) {
        return recorded->bytes;
    }
    return graph->mean_bytes / 2 + draw % (graph->mean_bytes + 1);
}

static size_t
output_count(const Granary__Subtask *subtask)
{
    size_t count = 0;

    for (size_t i = 0; i < subtask->n_ops; i++) {
        for (size_t k = 0; k < subtask->ops[i]->n_outputs; k++) {
            count += subtask->ops[i]->outputs[k].len > 0;
        }
    }
    return count;
}

/* ---- executors ---- */

static struct player *
player_of(struct world *world, uint32_t number)
{
    for (uint32_t i = 0; i < world->options->executors; i++) {
        if (world->players[i].number == number) {
            return &world->players[i];
        }
    }
    return NULL;
}

static void
task_drop(struct player *player)
{
    struct task *task = player->first;

    player->first = task->next;
    if (player->first == NULL) {
        player->last = &player->first;
    }
    if (--*task->order_refs == 0) {
        granary__to_executor__free_unpacked(task->order, NULL);
        free(task->order_refs);
    }
    free(task);
}

/* A follower may begin without an input, when its leader has failed; else the manager knows what is there. */
static bool
is_thought_there(const struct world *world, uint64_t number, ProtobufCBinaryData id)
{
    const struct task_graph *graph = graph_of_number(world->manager, number);
    uint32_t at = graph == NULL || graph->execution == NULL || graph->state != GRANARY_GRAPH_RUNNING
                      ? NONE
                      : object_find(graph->execution, id_of(id));

    return at != NONE && graph->execution->objects.items[at].state == OBJECT_PRESENT;
}

/* The inputs it needs are there; else it will report the one that is not. */
static void
check_inputs(struct world *world, struct player *player, const Granary__Subtask *subtask)
{
    const struct task_graph *graph = graph_of_number(world->manager, subtask->number);
    bool lose = may(world, FAULT_LOSS, 30);

    for (size_t i = 0; i < subtask->n_ops; i++) {
        for (size_t k = 0; k < subtask->ops[i]->n_inputs; k++) {
            ProtobufCBinaryData id = subtask->ops[i]->inputs[k]->object;
            struct played *object = id.len == 0 ? NULL : object_of(world, id);

            if (object == NULL || player->outcome.err != GRANARY_OK) {
                continue;
            }
            if (object->there && lose) {
                trace(world, "an input of %u/%u is lost", NAME(subtask->number));
                object_gone(world, object);
                object->lost = true;
                lose = false;
                world->report->losses++;
            }
            if (!object->there) {
                if (!object->lost && is_thought_there(world, subtask->number, id)) {
                    violated(world, "subtask %u of graph %s: an input was freed before it was read",
                             (unsigned)subtask->number, graph->key);
                }
                player->outcome.err = GRANARY_ENOENT;
                memcpy(player->outcome.lost.bytes, id.data, sizeof player->outcome.lost.bytes);
            }
        }
    }
}

static void
begin(struct world *world, struct player *player)
{
    const Granary__Subtask *subtask = player->first->subtask;

    player->outcome = (struct outcome){.err = GRANARY_OK, .nanoseconds = time_taken(world, subtask)};
    if (player->first->cancelled) {
        player->outcome = (struct outcome){.err = GRANARY_ECANCELLED};
    } else {
        check_inputs(world, player, subtask);
    }
    if (player->outcome.err == GRANARY_OK && output_count(subtask) > 0) {
        if (may(world, FAULT_FULL, 40)) {
            player->outcome.err = GRANARY_EFULL;
            world->report->fulls++;
        } else if (may(world, FAULT_FAILURE, 60)) {
            player->outcome.err = GRANARY_EFAILED;
            world->report->failures++;
        }
    }
    player->finish_ns = world->now_ns + (int64_t)player->outcome.nanoseconds;
    if (player->outcome.err == GRANARY_OK) {
        world->making_bytes += output_count(subtask) > 0 ? bytes_made(world, subtask) : 0;
        note_peak(world);
    }
    subtask_of(world, subtask->number)->runs++;
    trace(world, "executor %u begins %u/%u attempt %u, for %.6f ms, err %d", player->number, NAME(subtask->number),
          subtask->attempt, (double)player->outcome.nanoseconds / 1e6, player->outcome.err);
}

/* It has succeeded: its outputs are there. A second success is one too many while what the first made is there. */
static void
make_outputs(struct world *world, const Granary__Subtask *subtask, Granary__Done *done)
{
    struct played *played = subtask_of(world, subtask->number);
    size_t count = output_count(subtask);
    uint64_t bytes = count == 0 ? 0 : bytes_made(world, subtask);
    size_t had = 0;

    done->outputs = calloc(count + 1, sizeof *done->outputs);
    for (size_t i = 0; i < subtask->n_ops; i++) {
        for (size_t k = 0; k < subtask->ops[i]->n_outputs; k++) {
            Granary__Output *output = subtask->ops[i]->outputs[k].len == 0 ? NULL : malloc(sizeof *output);
            struct played *object;

            if (output == NULL) {
                continue;
            }
            object = object_of(world, subtask->ops[i]->outputs[k]);
            had += object->there;
            object_gone(world, object);
            object->bytes = bytes / count;
            object->there = true;
            trace(world, "%u/%u makes %02x%02x%02x%02x", NAME(subtask->number), subtask->ops[i]->outputs[k].data[0],
                  subtask->ops[i]->outputs[k].data[1], subtask->ops[i]->outputs[k].data[2],
                  subtask->ops[i]->outputs[k].data[3]);
            object->lost = false;
            object->successes++;
            world->store_bytes += object->bytes;
            granary__output__init(output);
            output->id = subtask->ops[i]->outputs[k];
            output->bytes = object->bytes;
            output->rows = -1;
            done->outputs[done->n_outputs++] = output;
        }
    }
    if (played->successes > 0 && had == count) {
        violated(world, "subtask %u succeeded twice, attempt %u: what it had made was there", (unsigned)subtask->number,
                 subtask->attempt);
    }
    played->successes++;
}

static void
unkept_add(struct world *world, struct player *player, const Granary__Done *done)
{
    size_t size = granary__done__get_packed_size(done);
    struct unkept *unkept = calloc(1, sizeof *unkept + size);

    if (unkept == NULL) {
        abort();
    }
    unkept->player = player;
    unkept->size = size;
    (void)granary__done__pack(done, unkept->bytes);
    *world->last_unkept = unkept;
    world->last_unkept = &unkept->next;
}

/* They are kept; or the executor tells them to the next scheduler, if it is still there. */
static void
unkept_drop(struct world *world, bool again)
{
    while (world->unkept != NULL) {
        struct unkept *unkept = world->unkept;
        Granary__Done *done =
            again && unkept->player->number != 0 ? granary__done__unpack(NULL, unkept->size, unkept->bytes) : NULL;

        world->unkept = unkept->next;
        if (done != NULL) {
            manager_done(world->manager, unkept->player->number, done);
            granary__done__free_unpacked(done, NULL);
        }
        free(unkept);
    }
    world->last_unkept = &world->unkept;
}

static void
report_done(struct world *world, struct player *player)
{
    const Granary__Subtask *subtask = player->first->subtask;
    uint32_t session = world->options->graphs[graph_number(world, subtask->number)].session;
    Granary__Done done = GRANARY__DONE__INIT;
    ProtobufCBinaryData lost = {.len = sizeof player->outcome.lost.bytes, .data = player->outcome.lost.bytes};

    done.number = subtask->number;
    done.attempt = subtask->attempt;
    done.err = player->outcome.err;
    done.nanoseconds = player->outcome.nanoseconds;
    done.user_failed = done.err == GRANARY_EFAILED;
    done.message = (char *)(uintptr_t)(done.err == GRANARY_OK ? "" : "played");
    if (done.err == GRANARY_ENOENT) {
        done.lost = &lost;
        done.n_lost = 1;
    }
    if (done.err == GRANARY_OK) {
        world->making_bytes -= output_count(subtask) > 0 ? bytes_made(world, subtask) : 0;
        make_outputs(world, subtask, &done);
        note_peak(world);
    }
    world->busy_ns += done.nanoseconds;
    world->used_ns[session] += done.nanoseconds;
    trace(world, "executor %u reports %u/%u attempt %u, err %d", player->number, NAME(subtask->number),
          subtask->attempt, done.err);
    unkept_add(world, player, &done);
    manager_done(world->manager, player->number, &done);
    for (size_t i = 0; i < done.n_outputs; i++) {
        free(done.outputs[i]);
    }
    free(done.outputs);
    player->finish_ns = NEVER;
    task_drop(player);
}

static void
player_joins(struct world *world, struct player *player)
{
    player->number = ++world->last_number;
    player->join_ns = NEVER;
    player->finish_ns = NEVER;
    manager_executor_joined(world->manager, player->number, (int32_t)(player->number % 2), player->number);
}

static void
player_forgets(struct world *world, struct player *player)
{
    if (player->first != NULL && player->finish_ns != NEVER && player->outcome.err == GRANARY_OK) {
        world->making_bytes -= output_count(player->first->subtask) > 0 ? bytes_made(world, player->first->subtask) : 0;
    }
    while (player->first != NULL) {
        task_drop(player);
    }
    player->finish_ns = NEVER;
}

static void
player_dies(struct world *world, struct player *player)
{
    uint32_t number = player->number;

    player_forgets(world, player);
    for (struct unkept *unkept = world->unkept; unkept != NULL; unkept = unkept->next) {
        unkept->player = unkept->player == player ? &world->nobody : unkept->player;
    }
    player->number = 0;
    player->join_ns = world->now_ns + 1000000 + (int64_t)world_below(&world->state, 100000000);
    world->report->deaths++;
    trace(world, "executor %u dies", number);
    manager_executor_died(world->manager, number);
}

/* ---- messages ---- */

static void
take_order(struct world *world, struct player *player, Granary__ToExecutor *order)
{
    uint32_t *refs = calloc(1, sizeof *refs);

    for (size_t i = 0; i < order->n_free; i++) {
        trace(world, "executor %u frees %02x%02x%02x%02x", player->number, order->free[i].data[0],
              order->free[i].data[1], order->free[i].data[2], order->free[i].data[3]);
        object_gone(world, object_of(world, order->free[i]));
    }
    for (size_t i = 0; i < order->n_cancel; i++) {
        for (struct task *task = player->first; task != NULL; task = task->next) {
            task->cancelled = task->cancelled || task->subtask->number == order->cancel[i];
        }
    }
    for (size_t i = 0; i < order->n_run; i++) {
        struct task *task = calloc(1, sizeof *task);

        *task = (struct task){.order = order, .order_refs = refs, .subtask = order->run[i]};
        *refs += 1;
        trace(world, "executor %u is given %u/%u attempt %u", player->number, NAME(order->run[i]->number),
              order->run[i]->attempt);
        *player->last = task;
        player->last = &task->next;
    }
    if (order->free_order > 0) {
        manager_freed(world->manager, player->number, order->free_order);
    }
    if (*refs == 0) {
        free(refs);
        granary__to_executor__free_unpacked(order, NULL);
    }
}

static void
send_order(struct world *world, const struct action *action)
{
    struct player *player = action->executor == EXECUTOR_POOL ? NULL : player_of(world, action->executor);
    Granary__ToExecutor *order =
        player == NULL ? NULL
                       : granary__to_executor__unpack(NULL, action->bytes.size, (const uint8_t *)action->bytes.bytes);

    if (order != NULL) {
        take_order(world, player, order);
    }
}

static void
graph_over(struct world *world, uint32_t graph, const Granary__Reply *reply)
{
    struct world_report *report = world->report;

    if (world->ended[graph]) {
        return;
    }
    world->ended[graph] = true;
    trace(world, "graph g%u ends: %s %s", graph, granary_error_name((granary_err)reply->err), reply->message);
    if (reply->status == NULL) {
        report->refused++;
    } else if (reply->status->state == GRANARY_GRAPH_SUCCEEDED) {
        report->succeeded++;
    } else {
        report->failed++;
    }
    report->makespan_ns = world->now_ns;
}

static void
ask(struct world *world, uint64_t ticket, Granary__Request *request)
{
    request->version = GRANARY__VERSION__PROTOCOL;
    manager_request(world->manager, ticket, request, world->now_ns);
}

static void
wait_for(struct world *world, uint32_t graph)
{
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__GraphWait wait = GRANARY__GRAPH_WAIT__INIT;
    char key[16];

    (void)snprintf(key, sizeof key, "g%u", graph);
    wait.key = key;
    wait.timeout_ms = -1;
    request.body_case = GRANARY__REQUEST__BODY_WAIT;
    request.wait = &wait;
    ask(world, graph, &request);
}

static void
take_reply(struct world *world, const struct action *action)
{
    Granary__Reply *reply = granary__reply__unpack(NULL, action->bytes.size, (const uint8_t *)action->bytes.bytes);
    uint32_t graph = (uint32_t)(action->ticket % SUBMIT_TICKET);

    if (reply != NULL && action->ticket < SUBMIT_TICKET) {
        graph_over(world, graph, reply);
    } else if (reply != NULL && action->ticket < 2 * SUBMIT_TICKET && reply->err != GRANARY_OK) {
        graph_over(world, graph, reply);
    } else if (reply != NULL && action->ticket < 2 * SUBMIT_TICKET && !world->accepted[graph]) {
        world->accepted[graph] = true;
        wait_for(world, graph);
    }
    if (reply != NULL) {
        granary__reply__free_unpacked(reply, NULL);
    }
}

static void
submit(struct world *world, uint32_t graph)
{
    const struct world_graph *of = &world->options->graphs[graph];
    Granary__Request request = GRANARY__REQUEST__INIT;
    Granary__Submit message = GRANARY__SUBMIT__INIT;
    char key[16];
    char session[16];

    (void)snprintf(key, sizeof key, "g%u", graph);
    (void)snprintf(session, sizeof session, "s%u", of->session);
    message.key = key;
    message.session = session;
    message.directory = (char *)(uintptr_t)(world->options->directory != NULL ? world->options->directory : "/");
    message.priority = of->priority;
    message.deadline_ms = of->deadline_ms > 0 ? START_MS + of->deadline_ms : 0;
    message.graph = world_make_graph(world->options, graph);
    if (message.graph == NULL) {
        abort();
    }
    request.body_case = GRANARY__REQUEST__BODY_SUBMIT;
    request.submit = &message;
    world->submitted[graph] = true;
    trace(world, "graph g%u of session s%u (weight %u): %s", graph, of->session, world->options->weights[of->session],
          "submitted");
    ask(world, SUBMIT_TICKET + graph, &request);
    if (message.graph != NULL) {
        granary__graph__free_unpacked(message.graph, NULL);
    }
}

static void
set_weights(struct world *world)
{
    for (uint32_t i = 0; i < world->options->sessions; i++) {
        Granary__Request request = GRANARY__REQUEST__INIT;
        Granary__SessionSet set = GRANARY__SESSION_SET__INIT;
        char session[16];

        (void)snprintf(session, sizeof session, "s%u", i);
        set.session = session;
        set.weight = world->options->weights[i];
        request.body_case = GRANARY__REQUEST__BODY_SESSION;
        request.session = &set;
        ask(world, 2 * SUBMIT_TICKET, &request);
    }
}

/* ---- what must hold ---- */

static void
check(struct world *world)
{
    const struct reservations *reservations = world->manager->reservations;
    uint64_t granted = reservations_bytes(reservations);
    uint64_t memory = world->options->memory_bytes;

    world->report->peak_granted = granted > world->report->peak_granted ? granted : world->report->peak_granted;
    world->lenient = world->lenient && granted > memory;
    if (granted > memory && !world->lenient && reservations_with_bytes(reservations) > 1) {
        violated(world, "%llu bytes are granted to %u messages, there are %llu", (unsigned long long)granted,
                 reservations_with_bytes(reservations), (unsigned long long)memory);
    }
    for (size_t i = 0; i < resources_count(world->manager->resources); i++) {
        uint64_t amount;
        uint64_t taken;
        const char *name = resources_at(world->manager->resources, i, &amount, &taken);

        if (taken > amount) {
            violated(world, "%llu %s are granted, there are %llu", (unsigned long long)taken, name,
                     (unsigned long long)amount);
        }
    }
}

/* Nothing is left when everything has ended. */
static void
check_end(struct world *world)
{
    const struct reservations *reservations = world->manager->reservations;

    for (uint32_t i = 0; i < world->options->graph_count; i++) {
        if (!world->ended[i]) {
            violated(world, "graph g%u does not end: nothing happens any more", i);
        }
    }
    if (reservations_granted(reservations) != 0 || reservations_bytes(reservations) != 0) {
        violated(world, "%u tokens and %llu bytes were not returned", reservations_granted(reservations),
                 (unsigned long long)reservations_bytes(reservations));
    }
    for (size_t i = 0; i < resources_count(world->manager->resources); i++) {
        uint64_t amount;
        uint64_t taken;
        const char *name = resources_at(world->manager->resources, i, &amount, &taken);

        if (taken != 0) {
            violated(world, "%llu %s were not returned", (unsigned long long)taken, name);
        }
    }
}

/* When the first session has no more to do: what each has used until then, by weight. */
static void
compare_shares(struct world *world)
{
    const struct world_options *options = world->options;
    double least = 1e300;
    double most = 0;
    double bound = 0;

    for (uint32_t i = 0; i < options->sessions; i++) {
        double weight = options->weights[i] / 100.0;
        double used = (double)world->used_ns[i] / weight;
        /* Every executor may have been given the longest of one session; reports come later than grants. */
        double longest = 1.5 * (double)options->graphs[i].mean_ns;

        least = used < least ? used : least;
        most = used > most ? used : most;
        longest = (longest > 2e6 ? longest : 2e6) * (options->executors + 1) * 2 / weight;
        bound = longest > bound ? longest : bound;
    }
    world->compared = true;
    world->report->unfairness = (most - least) / bound;
    if (world->report->unfairness > 1) {
        violated(world, "sessions have used %.3f to %.3f s by weight: that is more than %.3f s apart", least / 1e9,
                 most / 1e9, bound / 1e9);
    }
}

/* A session whose subtasks have all been given out has no demand any more. */
static void
look_at_shares(struct world *world)
{
    for (uint32_t i = 0; i < world->options->graph_count && !world->compared && world->options->fair; i++) {
        char key[16];
        const struct task_graph *graph;

        (void)snprintf(key, sizeof key, "g%u", i);
        graph = graph_find(world->manager, key);
        if (world->ended[i] ||
            (graph != NULL && graph->execution != NULL && execution_graph_counts(graph->execution)->ready == 0)) {
            compare_shares(world);
        }
    }
}

/* ---- turns ---- */

/* Returns whether anything was done. how_far: 0 all of it; 1 messages were sent and no more; 2 not even that. */
static bool
perform(struct world *world, int how_far)
{
    struct action *actions;
    uint64_t number;
    size_t count;

    actions = manager_actions(world->manager, &count);
    for (size_t i = 0; i < count && how_far < 2; i++) {
        if (actions[i].kind == ACTION_SEND) {
            struct action send = actions[i];

            send_order(world, &send);
            actions = manager_actions(world->manager, &(size_t){0});
        }
    }
    if (how_far > 0) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (actions[i].kind == ACTION_REPLY) {
            struct action reply = actions[i];

            take_reply(world, &reply);
            actions = manager_actions(world->manager, &(size_t){0});
        }
    }
    if (keeper_keep(&world->keeper, actions, count, &number) != GRANARY_OK) {
        abort();
    }
    keeper_expire(&world->keeper, NEVER);
    unkept_drop(world, false);
    manager_actions_done(world->manager, count);
    return count > 0;
}

static void
turn(struct world *world)
{
    do {
        manager_expire(world->manager, world->now_ns);
        manager_dispatch(world->manager, world->now_ns);
        check(world);
    } while (perform(world, 0));
    look_at_shares(world);
    for (uint32_t i = 0; i < world->options->executors; i++) {
        struct player *player = &world->players[i];

        if (player->number != 0 && player->first != NULL && player->finish_ns == NEVER) {
            begin(world, player);
        }
    }
}

/* ---- the scheduler's end and beginning ---- */

static struct manager *
manager_begin(const struct world *world)
{
    static const struct resource_amount devices[] = {{"device", DEVICES}};
    struct manager *manager =
        manager_create(&(struct manager_options){.memory_bytes = world->options->memory_bytes,
                                                 .unix_offset_ns = (int64_t)START_MS * 1000000,
                                                 .resources = devices,
                                                 .resource_count = sizeof devices / sizeof devices[0]});

    if (manager == NULL) {
        abort();
    }
    return manager;
}

/* Executors bring what they have to the new one, each with a new number. */
static void
claim(struct world *world, struct player *player)
{
    Granary__Register hello = GRANARY__REGISTER__INIT;
    size_t count = 0;

    for (struct task *task = player->first; task != NULL; task = task->next) {
        count++;
    }
    hello.queued = calloc(count + 1, sizeof *hello.queued);
    hello.attempts = calloc(count + 1, sizeof *hello.attempts);
    for (struct task *task = player->first; task != NULL; task = task->next) {
        hello.queued[hello.n_queued++] = task->subtask->number;
        hello.attempts[hello.n_attempts++] = task->subtask->attempt;
    }
    trace(world, "executor %u is now %u, and has %zu subtasks", player->number, world->last_number + 1, count);
    player->number = ++world->last_number;
    manager_executor_joined(world->manager, player->number, (int32_t)(player->number % 2), player->number);
    manager_executor_claims(world->manager, player->number, &hello);
    free(hello.queued);
    free(hello.attempts);
}

static void
restart(struct world *world)
{
    /* Killed between turns, or when some of what it decided was sent. */
    manager_dispatch(world->manager, world->now_ns);
    (void)perform(world, 1 + (int)world_below(&world->state, 2));
    manager_destroy(world->manager);
    world->manager = manager_begin(world);
    world->report->restarts++;
    trace(world, "the scheduler is killed, and another begins");
    if (keeper_restore(&world->keeper, world->manager, NULL) != GRANARY_OK) {
        violated(world, "restart: %s", granary_error_message());
    }
    for (uint32_t i = 0; i < world->options->executors; i++) {
        if (world->players[i].number != 0) {
            claim(world, &world->players[i]);
        }
    }
    unkept_drop(world, true);
    manager_claims_end(world->manager);
    world->lenient = true;
    for (uint32_t i = 0; i < world->options->graph_count; i++) {
        if (world->submitted[i] && !world->accepted[i]) {
            submit(world, i);
        } else if (world->accepted[i] && !world->ended[i]) {
            wait_for(world, i);
        }
    }
}

/* ---- faults that come at a time ---- */

static void
choose_faults(struct world *world)
{
    static const enum world_fault kinds[] = {FAULT_DEATH, FAULT_STALL, FAULT_RESTART};

    for (uint32_t i = 0; i < FAULT_EVENTS; i++) {
        enum world_fault kind = kinds[world_below(&world->state, 3)];
        uint64_t scale = world->options->graphs[world_below(&world->state, world->options->graph_count)].mean_ns;

        if ((world->options->faults & kind) != 0) {
            world->faults[world->fault_count++] =
                (struct timed_fault){(int64_t)world_below(&world->state, scale * 40 + 1000000), kind};
        }
    }
}

static void
apply_fault(struct world *world, enum world_fault kind)
{
    struct player *player = &world->players[world_below(&world->state, world->options->executors)];

    if (kind == FAULT_RESTART) {
        restart(world);
    } else if (kind == FAULT_DEATH && player->number != 0) {
        player_dies(world, player);
    } else if (kind == FAULT_STALL && player->number != 0 && player->finish_ns != NEVER) {
        player->finish_ns += (int64_t)world_below(&world->state, 3000000000);
        world->report->stalls++;
    }
}

/* ---- time ---- */

static int64_t
earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When the next thing happens; NEVER: nothing will. */
static int64_t
next_ns(const struct world *world)
{
    int64_t next = NEVER;
    bool open = false;

    for (uint32_t i = 0; i < world->options->graph_count; i++) {
        next = world->submitted[i] ? next : earlier(next, world->options->graphs[i].at_ns);
        open = open || !world->ended[i];
    }
    for (uint32_t i = 0; i < world->options->executors; i++) {
        next = earlier(next, earlier(world->players[i].finish_ns, world->players[i].join_ns));
    }
    for (uint32_t i = 0; i < world->fault_count && open; i++) {
        next = earlier(next, world->faults[i].at_ns);
    }
    if (open) {
        next = earlier(next, manager_deadline(world->manager));
    }
    return next;
}

static void
step(struct world *world)
{
    for (uint32_t i = 0; i < world->options->graph_count; i++) {
        if (!world->submitted[i] && world->options->graphs[i].at_ns <= world->now_ns) {
            submit(world, i);
        }
    }
    for (uint32_t i = 0; i < world->options->executors; i++) {
        struct player *player = &world->players[i];

        if (player->join_ns <= world->now_ns) {
            player_joins(world, player);
        } else if (player->finish_ns <= world->now_ns) {
            report_done(world, player);
        }
    }
    for (uint32_t i = 0; i < world->fault_count;) {
        if (world->faults[i].at_ns <= world->now_ns) {
            enum world_fault kind = world->faults[i].kind;

            world->faults[i] = world->faults[--world->fault_count];
            apply_fault(world, kind);
        } else {
            i++;
        }
    }
}

static void
count_runs(struct world *world)
{
    for (size_t i = 0; i < world->subtasks.size; i++) {
        const struct played *subtask = &world->subtasks.slots[i];

        if (subtask->used) {
            world->report->subtasks += subtask->successes > 0;
            world->report->reruns += subtask->runs > 0 ? subtask->runs - 1 : 0;
        }
    }
}

void
world_run(const struct world_options *options, struct world_report *ret_report)
{
    struct world *world = calloc(1, sizeof *world);
    int64_t next;

    *ret_report = (struct world_report){0};
    if (world == NULL) {
        abort();
    }
    world->options = options;
    world->report = ret_report;
    world->state = world_mix(options->seed, 3);
    world->last_unkept = &world->unkept;
    if (keeper_open(&world->keeper, &state_memory, "") != GRANARY_OK) {
        abort();
    }
    world->manager = manager_begin(world);
    set_weights(world);
    for (uint32_t i = 0; i < options->executors; i++) {
        world->players[i].last = &world->players[i].first;
        player_joins(world, &world->players[i]);
    }
    choose_faults(world);
    for (uint64_t turns = 0; ret_report->violation[0] == '\0' && (next = next_ns(world)) != NEVER; turns++) {
        world->now_ns = next > world->now_ns ? next : world->now_ns;
        step(world);
        turn(world);
        if (turns == TURNS_MAX) {
            violated(world, "after %d turns the graphs have not ended", TURNS_MAX);
        }
    }
    if (ret_report->violation[0] == '\0') {
        check_end(world);
    }
    count_runs(world);
    if (ret_report->makespan_ns > 0) {
        ret_report->utilisation =
            (double)world->busy_ns / ((double)ret_report->makespan_ns * (double)options->executors);
    }
    for (uint32_t i = 0; i < options->executors; i++) {
        player_forgets(world, &world->players[i]);
    }
    unkept_drop(world, false);
    manager_destroy(world->manager);
    keeper_close(&world->keeper);
    played_free(&world->objects);
    played_free(&world->subtasks);
    free(world);
}
