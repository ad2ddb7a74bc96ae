/* Dice choose operators and parameters: frames are narrowed and gathered, tensors made and multiplied. */
#include "torture/graphs/graphs.h"

#include <stdio.h>

#include "torture/common/random.h"

static uint64_t
roll(uint64_t *seed, uint64_t sides)
{
    return random_next(seed) % sides;
}

/* ---- frames ---- */

bool
graphs_write_table(const char *path, uint64_t seed, unsigned rows)
{
    static const char *const words[] = {"", "oat", "rye", "wheat", "\"barley, naked\"", "spelt", "millet", "rice"};
    FILE *file = fopen(path, "we");
    bool good = file != NULL && fprintf(file, "k,word,x,n\n") > 0;

    for (unsigned i = 0; good && i < rows; i++) {
        good = fprintf(file, "%u,%s,%.6g,%u\n", (unsigned)roll(&seed, 100), words[roll(&seed, 8)],
                       (double)roll(&seed, 1000000) / 997, (unsigned)roll(&seed, 10000)) > 0;
    }
    return (file == NULL || fclose(file) == 0) && good;
}

static granary_node
read_table(granary_graph *graph, const char *table)
{
    granary_node node = granary_graph_add(graph, NULL, "read_csv", NULL, 0);

    granary_node_set_string(graph, node, "path", table);
    return node;
}

static granary_node
narrow(granary_graph *graph, granary_node frame, uint64_t *seed)
{
    static const char *const where[] = {"n > 2500", "x < 700 and k > 10", "word == 'rye' or word == 'oat'", "k < 90"};
    granary_node node;

    switch (roll(seed, 2)) {
    case 0:
        node = granary_graph_add(graph, NULL, "filter", &frame, 1);
        granary_node_set_string(graph, node, "where", where[roll(seed, 4)]);
        return node;
    default:
        node = granary_graph_add(graph, NULL, "assign", &frame, 1);
        granary_node_set_entry(graph, node, "columns", "x", roll(seed, 2) == 0 ? "x * 2 + n" : "x / (n + 1)");
        return node;
    }
}

static granary_node
gather(granary_graph *graph, granary_node frame, uint64_t *seed)
{
    const char *key = roll(seed, 2) == 0 ? "word" : "k";
    const char *const by[] = {"x", "n"};
    granary_node both[2] = {frame, frame};
    granary_node node;

    switch (roll(seed, 3)) {
    case 0:
        node = granary_graph_add(graph, "result", "groupby", &frame, 1);
        granary_node_set_strings(graph, node, "keys", &key, 1);
        granary_node_set_entry(graph, node, "aggregate", "rows", "size");
        granary_node_set_entry(graph, node, "aggregate", "total", "sum(x)");
        granary_node_set_entry(graph, node, "aggregate", "most", "max(n)");
        return node;
    case 1:
        node = granary_graph_add(graph, "result", "sort", &frame, 1);
        granary_node_set_strings(graph, node, "by", by, 2);
        return node;
    default:
        both[1] = granary_graph_add(graph, NULL, "groupby", &frame, 1);
        granary_node_set_strings(graph, both[1], "keys", &key, 1);
        granary_node_set_entry(graph, both[1], "aggregate", "mean", "mean(x)");
        node = granary_graph_add(graph, "result", "join", both, 2);
        granary_node_set_strings(graph, node, "on", &key, 1);
        return node;
    }
}

static granary_node
make_frame(granary_graph *graph, const char *table, uint64_t *seed)
{
    granary_node node = read_table(graph, table);

    for (uint64_t steps = roll(seed, 4); steps > 0; steps--) {
        node = narrow(graph, node, seed);
    }
    return gather(graph, node, seed);
}

/* ---- tensors ---- */

static granary_node
make_random(granary_graph *graph, int64_t rows, int64_t columns, uint64_t *seed)
{
    granary_node node = granary_graph_add(graph, NULL, "random", NULL, 0);

    granary_node_set_ints(graph, node, "shape", (const int64_t[]){rows, columns}, 2);
    granary_node_set_int(graph, node, "seed", (int64_t)roll(seed, 1000));
    return node;
}

static granary_node
make_tensor(granary_graph *graph, int64_t elements, uint64_t *seed)
{
    static const char *const unary[] = {"exp", "negative", "sqrt"};
    static const char *const binary[] = {"add", "multiply", "subtract"};
    int64_t columns = 64 + (int64_t)roll(seed, 256);
    int64_t rows = elements / columns + 1;
    granary_node nodes[6] = {make_random(graph, rows, columns, seed), make_random(graph, rows, columns, seed)};
    int count = 2;
    granary_node node;

    while (count < 6) {
        granary_node pair[2] = {nodes[roll(seed, (uint64_t)count)], nodes[count - 1]};

        nodes[count++] = roll(seed, 3) == 0 ? granary_graph_add(graph, NULL, unary[roll(seed, 3)], &pair[1], 1)
                                            : granary_graph_add(graph, NULL, binary[roll(seed, 3)], pair, 2);
    }
    node = granary_graph_add(graph, "result", roll(seed, 2) == 0 ? "sum" : "mean", &nodes[5], 1);
    granary_node_set_ints(graph, node, "axes", (const int64_t[]){(int64_t)roll(seed, 2)}, 1);
    return node;
}

static granary_node
make_product(granary_graph *graph, int64_t elements, uint64_t *seed)
{
    int64_t side = 64;
    granary_node factors[2];

    while (side * side < elements / 4) {
        side += 64;
    }
    factors[0] = make_random(graph, side, side, seed);
    factors[1] = make_random(graph, side, side / 2, seed);
    return granary_graph_add(graph, "result", "matmul", factors, 2);
}

granary_graph *
graphs_make(uint64_t seed, const char *table, int64_t elements)
{
    granary_graph *graph = granary_graph_create();
    granary_node target;

    switch (roll(&seed, 5)) {
    case 0:
    case 1:
        target = make_frame(graph, table, &seed);
        break;
    case 2:
        target = make_product(graph, elements, &seed);
        break;
    default:
        target = make_tensor(graph, elements, &seed);
        break;
    }
    granary_graph_target(graph, target);
    return graph;
}
