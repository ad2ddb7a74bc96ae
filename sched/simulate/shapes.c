/* Runs and graphs from a seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/copy.h"
#include "graph/graph.h"
#include "sched/core/pack.h"
#include "simulate/world.h"

#define INPUTS_MAX 1024
#define MIB        ((uint64_t)1 << 20)

uint64_t
world_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a ^ (b * 0x9e3779b97f4a7c15ull + 0x7f4a7c15ull);

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static uint64_t
world_draw(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ull;
    return world_mix(*state, 1);
}

uint64_t
world_below(uint64_t *state, uint64_t bound)
{
    return world_draw(state) % bound;
}

/* ---- runs ---- */

static void
choose_graph(uint64_t *state, const struct world_options *options, struct world_graph *graph)
{
    static const uint64_t times_ns[] = {2000, 50000, 400000, 3000000, 40000000, 900000000};
    uint64_t part = 4 + world_below(state, 60);

    *graph = (struct world_graph){.at_ns = (int64_t)world_below(state, 3) * (int64_t)world_below(state, 200000000),
                                  .session = (uint32_t)world_below(state, options->sessions),
                                  .priority = world_below(state, 4) == 0 ? (int32_t)world_below(state, 5) - 2 : 0,
                                  .shape = (enum world_shape)world_below(state, SHAPES),
                                  .size = 2 + (uint32_t)world_below(state, 60),
                                  .mean_ns = times_ns[world_below(state, sizeof times_ns / sizeof times_ns[0])],
                                  .mean_bytes = world_below(state, 5) == 0 ? 0 : options->memory_bytes / part,
                                  .depth_first = world_below(state, 2) == 0,
                                  .resources = world_below(state, 4) == 0};
    if (world_below(state, 12) == 0) {
        graph->deadline_ms = 1 + (graph->at_ns + (int64_t)(graph->mean_ns * world_below(state, 100))) / 1000000;
    }
}

static void
choose_fair(uint64_t *state, struct world_options *options)
{
    options->fair = true;
    options->faults = 0;
    options->sessions = 2 + (uint32_t)world_below(state, 3);
    options->graph_count = options->sessions;
    for (uint32_t i = 0; i < options->graph_count; i++) {
        struct world_graph *graph = &options->graphs[i];

        choose_graph(state, options, graph);
        graph->session = i;
        graph->at_ns = 0;
        graph->priority = 0;
        graph->deadline_ms = 0;
        graph->shape = SHAPE_MAP;
        graph->size = 200;
        graph->mean_bytes = 64;
        graph->resources = false;
        options->weights[i] = world_below(state, 2) == 0 ? 100 : 50 + (uint32_t)world_below(state, 300);
    }
}

void
world_choose(uint64_t seed, struct world_options *ret_options)
{
    uint64_t state = world_mix(seed, 7);
    struct world_options options = {.seed = seed,
                                    .executors = 1 + (uint32_t)world_below(&state, 6),
                                    .memory_bytes = (16 + world_below(&state, 500)) * MIB,
                                    .sessions = 1 + (uint32_t)world_below(&state, 4),
                                    .graph_count = 1 + (uint32_t)world_below(&state, 5)};

    for (size_t i = 0; i < sizeof options.weights / sizeof options.weights[0]; i++) {
        options.weights[i] = 100;
    }
    /* A third without faults, a third with one kind, a third with several. */
    switch (world_below(&state, 3)) {
    case 1:
        options.faults = 1u << world_below(&state, 6);
        break;
    case 2:
        options.faults = (uint32_t)world_below(&state, FAULTS_ALL + 1);
        break;
    default:
        break;
    }
    for (uint32_t i = 0; i < options.graph_count; i++) {
        choose_graph(&state, &options, &options.graphs[i]);
    }
    if (world_below(&state, 8) == 0) {
        choose_fair(&state, &options);
    }
    *ret_options = options;
}

/* ---- graphs ---- */

struct making {
    const struct world_graph *of;
    Granary__Graph *graph;
    uint64_t state;
    bool failed; /* out of memory */
};

static bool
attr_add(Granary__Node *node, Granary__Attr *attr)
{
    Granary__Attr **grown = attr == NULL ? NULL : reallocarray(node->attrs, node->n_attrs + 1, sizeof *grown);

    if (grown == NULL) {
        return false;
    }
    node->attrs = grown;
    node->attrs[node->n_attrs++] = attr;
    return true;
}

/* A program of one of a few kinds, which may need something. */
static bool
node_describe(struct making *making, Granary__Node *node)
{
    char kind[] = "kind-?";
    char *const command[] = {kind};
    char name[] = "device";
    char amount[] = "1";
    char *const names[] = {name};
    char *const amounts[] = {amount};
    bool good;

    kind[5] = (char)('a' + making->of->shape + SHAPES * making->of->session);
    good = attr_add(node, gr_attr_new_strings("command", command, 1)) &&
           attr_add(node, gr_attr_new_int("retries", (int64_t)world_below(&making->state, 3)));
    if (good && making->of->resources && world_below(&making->state, 3) == 0) {
        amount[0] = (char)('1' + world_below(&making->state, 3));
        good = attr_add(node, gr_attr_new_map("resources", names, amounts, 1));
    }
    return good;
}

/* Returns its position. */
static uint32_t
add_node(struct making *making, const uint32_t *inputs, uint32_t count)
{
    Granary__Graph *graph = making->graph;
    Granary__Node *node = malloc(sizeof *node);
    Granary__Node **grown = reallocarray(graph->nodes, graph->n_nodes + 1, sizeof *grown);
    char name[24];

    graph->nodes = grown != NULL ? grown : graph->nodes;
    if (node == NULL || grown == NULL) {
        free(node);
        making->failed = true;
        return 0;
    }
    granary__node__init(node);
    graph->nodes[graph->n_nodes++] = node;
    (void)snprintf(name, sizeof name, "n%zu", graph->n_nodes - 1);
    node->name = strdup(name);
    node->op = strdup(making->of->mean_bytes == 0 ? "null" : "exec");
    node->inputs = calloc(count + 1, sizeof *node->inputs);
    making->failed = making->failed || node->name == NULL || node->op == NULL || node->inputs == NULL;
    for (uint32_t i = 0; !making->failed && i < count; i++) {
        node->inputs[node->n_inputs++] = strdup(graph->nodes[inputs[i]]->name);
        making->failed = node->inputs[i] == NULL;
    }
    if (!making->failed && making->of->mean_bytes > 0) {
        making->failed = !node_describe(making, node);
    }
    return (uint32_t)graph->n_nodes - 1;
}

/* Leaves, and what combines two of a level, up to one. */
static uint32_t
add_tree(struct making *making, uint32_t leaves)
{
    uint32_t pair[2];

    if (leaves <= 1 || making->failed) {
        return add_node(making, NULL, 0);
    }
    pair[0] = add_tree(making, leaves / 2);
    pair[1] = add_tree(making, leaves - leaves / 2);
    return add_node(making, pair, 2);
}

static void
add_levels(struct making *making, uint32_t leaves)
{
    uint32_t *level = calloc(leaves + 1, sizeof *level);
    uint32_t count = leaves;

    making->failed = making->failed || level == NULL;
    for (uint32_t i = 0; !making->failed && i < leaves; i++) {
        level[i] = add_node(making, NULL, 0);
    }
    while (!making->failed && count > 1) {
        uint32_t made = 0;

        for (uint32_t i = 0; i < count; i += 2) {
            level[made++] = i + 1 < count ? add_node(making, &level[i], 2) : level[i];
        }
        count = made;
    }
    free(level);
}

static void
add_chains(struct making *making, uint32_t size)
{
    uint32_t chains = 1 + (uint32_t)world_below(&making->state, 4);

    for (uint32_t c = 0; c < chains; c++) {
        uint32_t last = add_node(making, NULL, 0);

        for (uint32_t i = 1; i < size / chains; i++) {
            last = add_node(making, &last, 1);
        }
    }
}

/* Many that read nothing; `readers` that read all of them. */
static void
add_stages(struct making *making, uint32_t size, uint32_t readers)
{
    uint32_t count = size < INPUTS_MAX ? size : INPUTS_MAX;
    uint32_t *all = calloc(count + 1, sizeof *all);

    making->failed = making->failed || all == NULL;
    for (uint32_t i = 0; !making->failed && i < count; i++) {
        all[i] = add_node(making, NULL, 0);
    }
    for (uint32_t i = 0; !making->failed && i < readers; i++) {
        (void)add_node(making, all, count);
    }
    free(all);
}

static void
add_random(struct making *making, uint32_t size)
{
    for (uint32_t i = 0; i < size && !making->failed; i++) {
        uint32_t inputs[4];
        uint32_t count = 0;

        for (uint32_t k = 0; k < 4 && i > 0 && world_below(&making->state, 2) == 0; k++) {
            uint32_t input = i - 1 - (uint32_t)world_below(&making->state, i < 12 ? i : 12);
            bool twice = false;

            for (uint32_t j = 0; j < count; j++) {
                twice = twice || inputs[j] == input;
            }
            if (!twice) {
                inputs[count++] = input;
            }
        }
        (void)add_node(making, inputs, count);
    }
}

static void
add_array(struct making *making, uint32_t size)
{
    uint32_t root = add_node(making, NULL, 0);
    uint32_t array = add_node(making, &root, 1);

    if (!making->failed) {
        making->failed = !attr_add(making->graph->nodes[array], gr_attr_new_int("count", size));
        (void)add_node(making, &array, 1);
    }
}

Granary__Graph *
world_make_graph(const struct world_options *options, uint32_t graph)
{
    struct making making = {.of = &options->graphs[graph], .state = world_mix(options->seed, 100 + graph)};
    uint32_t size = making.of->size;

    if (options->recorded != NULL) {
        return gr_message_copy(&options->recorded->base);
    }
    making.graph = malloc(sizeof *making.graph);
    if (making.graph == NULL) {
        return NULL;
    }
    granary__graph__init(making.graph);
    switch (making.of->shape) {
    case SHAPE_TREE:
        if (making.of->depth_first) {
            (void)add_tree(&making, size / 2 + 1);
        } else {
            add_levels(&making, size / 2 + 1);
        }
        break;
    case SHAPE_CHAIN:
        add_chains(&making, size);
        break;
    case SHAPE_MAP:
        add_stages(&making, size, 0);
        break;
    case SHAPE_SHUFFLE:
        add_stages(&making, size / 2 + 1, size / 4 + 1);
        break;
    case SHAPE_ARRAY:
        add_array(&making, size);
        break;
    default:
        add_random(&making, size);
        break;
    }
    if (making.failed) {
        granary__graph__free_unpacked(making.graph, NULL);
        return NULL;
    }
    return making.graph;
}
