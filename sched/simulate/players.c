/* The executors and the store of a run: what each was given, how long that takes and what comes of it. */
#include "simulate/world_private.h"

#include <stdlib.h>
#include <string.h>

#include "sched/execution/graph_private.h"

#define NULL_NS 2000

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

static uint64_t
time_taken(const struct world *world, const Granary__Subtask *subtask)
{
    const struct world_duration *recorded = recorded_of(world, subtask);
    const struct world_graph *graph = &world->options->graphs[world_graph_number(world, subtask->number)];
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
    const struct world_graph *graph = &world->options->graphs[world_graph_number(world, subtask->number)];
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

struct player *
player_of(struct world *world, uint32_t number)
{
    const uint32_t count = world->options->executors;

    /* Where it is unless one has died before it, and then wherever. */
    for (uint32_t i = 0; i < count; i++) {
        struct player *player = &world->players[(number - 1 + i) % count];

        if (player->number == number) {
            return player;
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
    bool lose = world_may(world, FAULT_LOSS, 30);

    for (size_t i = 0; i < subtask->n_ops; i++) {
        for (size_t k = 0; k < subtask->ops[i]->n_inputs; k++) {
            ProtobufCBinaryData id = subtask->ops[i]->inputs[k]->object;
            struct played *object = id.len == 0 ? NULL : object_of(world, id);

            if (object == NULL || player->outcome.err != GRANARY_OK) {
                continue;
            }
            if (object->there && lose) {
                world_trace(world, "an input of %u/%u is lost", NAME(subtask->number));
                object_gone(world, object);
                object->lost = true;
                lose = false;
                world->report->losses++;
            }
            if (!object->there) {
                if (!object->lost && is_thought_there(world, subtask->number, id)) {
                    world_violated(world, "subtask %u of graph %s: an input was freed before it was read",
                                   (unsigned)subtask->number, graph->key);
                }
                player->outcome.err = GRANARY_ENOENT;
                memcpy(player->outcome.lost.bytes, id.data, sizeof player->outcome.lost.bytes);
            }
        }
    }
}

void
player_begin(struct world *world, struct player *player)
{
    const Granary__Subtask *subtask = player->first->subtask;

    player->outcome = (struct outcome){.err = GRANARY_OK, .nanoseconds = time_taken(world, subtask)};
    if (player->first->cancelled) {
        player->outcome = (struct outcome){.err = GRANARY_ECANCELLED};
    } else {
        check_inputs(world, player, subtask);
    }
    if (player->outcome.err == GRANARY_OK && output_count(subtask) > 0) {
        if (world_may(world, FAULT_FULL, 40)) {
            player->outcome.err = GRANARY_EFULL;
            world->report->fulls++;
        } else if (world_may(world, FAULT_FAILURE, 60)) {
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
    world_trace(world, "executor %u begins %u/%u attempt %u, for %.6f ms, err %d", player->number,
                NAME(subtask->number), subtask->attempt, (double)player->outcome.nanoseconds / 1e6,
                player->outcome.err);
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
            world_trace(world, "%u/%u makes %02x%02x%02x%02x", NAME(subtask->number),
                        subtask->ops[i]->outputs[k].data[0], subtask->ops[i]->outputs[k].data[1],
                        subtask->ops[i]->outputs[k].data[2], subtask->ops[i]->outputs[k].data[3]);
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
        world_violated(world, "subtask %u succeeded twice, attempt %u: what it had made was there",
                       (unsigned)subtask->number, subtask->attempt);
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
void
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

void
player_reports(struct world *world, struct player *player)
{
    const Granary__Subtask *subtask = player->first->subtask;
    uint32_t session = world->options->graphs[world_graph_number(world, subtask->number)].session;
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
    world_trace(world, "executor %u reports %u/%u attempt %u, err %d", player->number, NAME(subtask->number),
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

void
player_joins(struct world *world, struct player *player)
{
    player->number = ++world->last_number;
    player->join_ns = NEVER;
    player->finish_ns = NEVER;
    manager_executor_joined(world->manager, player->number, (int32_t)(player->number % 2), player->number);
}

void
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

void
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
    world_trace(world, "executor %u dies", number);
    manager_executor_died(world->manager, number);
}

void
player_takes(struct world *world, struct player *player, Granary__ToExecutor *order)
{
    uint32_t *refs = calloc(1, sizeof *refs);

    for (size_t i = 0; i < order->n_free; i++) {
        world_trace(world, "executor %u frees %02x%02x%02x%02x", player->number, order->free[i].data[0],
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
        world_trace(world, "executor %u is given %u/%u attempt %u", player->number, NAME(order->run[i]->number),
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

void
player_claims(struct world *world, struct player *player)
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
    world_trace(world, "executor %u is now %u, and has %zu subtasks", player->number, world->last_number + 1, count);
    player->number = ++world->last_number;
    manager_executor_joined(world->manager, player->number, (int32_t)(player->number % 2), player->number);
    manager_executor_claims(world->manager, player->number, &hello);
    free(hello.queued);
    free(hello.attempts);
}
