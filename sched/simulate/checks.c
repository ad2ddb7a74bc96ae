/* What must hold in every run. */
#include "simulate/world_private.h"

#include <stdio.h>

void
check_now(struct world *world)
{
    const struct reservations *reservations = world->manager->reservations;
    uint64_t granted = reservations_bytes(reservations);
    uint64_t memory = world->options->memory_bytes;

    world->report->peak_granted = granted > world->report->peak_granted ? granted : world->report->peak_granted;
    world->lenient = world->lenient && granted > memory;
    if (granted > memory && !world->lenient && reservations_with_bytes(reservations) > 1) {
        world_violated(world, "%llu bytes are granted to %u messages, there are %llu", (unsigned long long)granted,
                       reservations_with_bytes(reservations), (unsigned long long)memory);
    }
    for (size_t i = 0; i < resources_count(world->manager->resources); i++) {
        uint64_t amount;
        uint64_t taken;
        const char *name = resources_at(world->manager->resources, i, &amount, &taken);

        if (taken > amount) {
            world_violated(world, "%llu %s are granted, there are %llu", (unsigned long long)taken, name,
                           (unsigned long long)amount);
        }
    }
}

void
check_end(struct world *world)
{
    const struct reservations *reservations = world->manager->reservations;

    for (uint32_t i = 0; i < world->options->graph_count; i++) {
        if (!world->ended[i]) {
            world_violated(world, "graph g%u does not end: nothing happens any more", i);
        }
    }
    if (reservations_granted(reservations) != 0 || reservations_bytes(reservations) != 0) {
        world_violated(world, "%u tokens and %llu bytes were not returned", reservations_granted(reservations),
                       (unsigned long long)reservations_bytes(reservations));
    }
    for (size_t i = 0; i < resources_count(world->manager->resources); i++) {
        uint64_t amount;
        uint64_t taken;
        const char *name = resources_at(world->manager->resources, i, &amount, &taken);

        if (taken != 0) {
            world_violated(world, "%llu %s were not returned", (unsigned long long)taken, name);
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
        world_violated(world, "sessions have used %.3f to %.3f s by weight: that is more than %.3f s apart",
                       least / 1e9, most / 1e9, bound / 1e9);
    }
}

void
check_shares(struct world *world)
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
