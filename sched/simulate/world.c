/* Playing a run: executors, clients, the store and faults around a task manager. */
#include "simulate/world_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "state/state.h"

#define TURNS_MAX 2000000 /* a run with more of them does not end */
#define DEVICES   3

void
world_violated(struct world *world, const char *format, ...)
{
    va_list arguments;

    if (world->report->violation[0] == '\0') {
        va_start(arguments, format);
        (void)vsnprintf(world->report->violation, sizeof world->report->violation, format, arguments);
        va_end(arguments);
    }
}

void
world_trace(const struct world *world, const char *format, ...)
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

bool
world_may(struct world *world, enum world_fault fault, uint64_t one_of)
{
    return (world->options->faults & fault) != 0 && world_below(&world->state, one_of) == 0;
}

uint32_t
world_graph_number(const struct world *world, uint64_t wire_number)
{
    const struct task_graph *graph = graph_of_number(world->manager, wire_number);
    uint32_t position = graph == NULL ? 0 : (uint32_t)strtoul(graph->key + 1, NULL, 10);

    return position < world->options->graph_count ? position : 0;
}

/* ---- turns ---- */

static void
send_order(struct world *world, const struct action *action)
{
    struct player *player = action->executor == EXECUTOR_POOL ? NULL : player_of(world, action->executor);
    Granary__ToExecutor *order =
        player == NULL ? NULL
                       : granary__to_executor__unpack(NULL, action->bytes.size, (const uint8_t *)action->bytes.bytes);

    if (order != NULL) {
        player_takes(world, player, order);
    }
}

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

            client_hears(world, &reply);
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
        check_now(world);
    } while (perform(world, 0));
    check_shares(world);
    for (uint32_t i = 0; i < world->options->executors; i++) {
        struct player *player = &world->players[i];

        if (player->number != 0 && player->first != NULL && player->finish_ns == NEVER) {
            player_begin(world, player);
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

static void
restart(struct world *world)
{
    /* Killed between turns, or when some of what it decided was sent. */
    manager_dispatch(world->manager, world->now_ns);
    (void)perform(world, 1 + (int)world_below(&world->state, 2));
    manager_destroy(world->manager);
    world->manager = manager_begin(world);
    world->report->restarts++;
    world_trace(world, "the scheduler is killed, and another begins");
    if (restore_all(&world->keeper, world->manager, NULL) != GRANARY_OK) {
        world_violated(world, "restart: %s", granary_error_message());
    }
    for (uint32_t i = 0; i < world->options->executors; i++) {
        if (world->players[i].number != 0) {
            player_claims(world, &world->players[i]);
        }
    }
    unkept_drop(world, true);
    manager_claims_end(world->manager);
    world->lenient = true;
    for (uint32_t i = 0; i < world->options->graph_count; i++) {
        if (world->submitted[i] && !world->accepted[i]) {
            client_submits(world, i);
        } else if (world->accepted[i] && !world->ended[i]) {
            client_waits(world, i);
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
            client_submits(world, i);
        }
    }
    for (uint32_t i = 0; i < world->options->executors; i++) {
        struct player *player = &world->players[i];

        if (player->join_ns <= world->now_ns) {
            player_joins(world, player);
        } else if (player->finish_ns <= world->now_ns) {
            player_reports(world, player);
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
    client_sets_weights(world);
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
            world_violated(world, "after %d turns the graphs have not ended", TURNS_MAX);
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
