/* Appends and counts of rows. An append's token is its number. */
#include "torture/graphs/tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "granary/mutable.h"
#include "granary/read.h"

typedef char table_name[32];

static void
name_table(unsigned number, table_name name)
{
    (void)snprintf(name, sizeof(table_name), "tally-%u", number);
}

granary_err
tally_open(granary_client *client, unsigned number)
{
    static const granary_column columns[] = {{.name = "n", .dtype = GRANARY_INT64},
                                             {.name = "append", .dtype = GRANARY_INT64}};
    const granary_mutable_options options = {.flags = GRANARY_MUTABLE_OPEN};
    granary_mutable *table = NULL;
    table_name name;
    granary_err err;

    name_table(number, name);
    err = granary_mutable_create_frame(client, name, columns, 2, &options, &table);
    granary_mutable_close(table);
    return err;
}

granary_err
tally_delete(granary_client *client, unsigned number)
{
    table_name name;

    name_table(number, name);
    return granary_mutable_delete(client, name);
}

granary_graph *
tally_append(unsigned number, uint64_t append)
{
    static const char *const columns[] = {"n"};
    granary_graph *graph = granary_graph_create();
    granary_node numbers = granary_graph_add(graph, NULL, "arange", NULL, 0);
    granary_node rows = granary_graph_add(graph, NULL, "from_tensor", &numbers, 1);
    granary_node told = granary_graph_add(graph, NULL, "assign", &rows, 1);
    granary_node node = granary_graph_add(graph, "result", "append_to", &told, 1);
    char text[32];
    table_name name;

    name_table(number, name);
    (void)snprintf(text, sizeof text, "%" PRIu64, append);
    granary_node_set_int(graph, numbers, "stop", TALLY_ROWS);
    granary_node_set_ints(graph, numbers, "chunk", (const int64_t[]){TALLY_ROWS / 4}, 1);
    granary_node_set_strings(graph, rows, "columns", columns, 1);
    granary_node_set_entry(graph, told, "columns", "append", text);
    granary_node_set_string(graph, node, "name", name);
    granary_node_set_int(graph, node, "token", (int64_t)append);
    granary_graph_target(graph, node);
    return graph;
}

static granary_graph *
count_graph(unsigned number)
{
    static const char *const keys[] = {"append"};
    granary_graph *graph = granary_graph_create();
    granary_node rows = granary_graph_add(graph, NULL, "table", NULL, 0);
    granary_node node = granary_graph_add(graph, "result", "groupby", &rows, 1);
    table_name name;

    name_table(number, name);
    granary_node_set_string(graph, rows, "name", name);
    granary_node_set_strings(graph, node, "keys", keys, 1);
    granary_node_set_entry(graph, node, "aggregate", "rows", "size");
    granary_node_set_entry(graph, node, "aggregate", "sum", "sum(n)");
    granary_graph_target(graph, node);
    return graph;
}

/* Whether a chunk's groups are appends that are whole. Adds how many they are. */
static bool
groups_are_right(const granary_frame *frame, uint64_t appends, uint64_t *count)
{
    const granary_column *append = granary_frame_column_named(frame, "append");
    const granary_column *rows = granary_frame_column_named(frame, "rows");
    const granary_column *sum = granary_frame_column_named(frame, "sum");
    bool right = append != NULL && rows != NULL && sum != NULL;

    for (int64_t i = 0; right && i < granary_frame_rows(frame); i++) {
        const int64_t number = ((const int64_t *)append->values)[i];

        right = number >= 1 && (uint64_t)number <= appends && ((const int64_t *)rows->values)[i] == TALLY_ROWS &&
                ((const int64_t *)sum->values)[i] == TALLY_ROWS * (TALLY_ROWS - 1) / 2;
        if (!right) {
            (void)fprintf(stderr,
                          "torture: append %" PRId64 " of %" PRIu64 " has %" PRId64 " rows of sum %" PRId64 "\n",
                          number, appends, ((const int64_t *)rows->values)[i], ((const int64_t *)sum->values)[i]);
        }
        ++*count;
    }
    return right;
}

static granary_err
look_at_result(granary_client *client, const char *key, uint64_t appends, int timeout_ms, bool *ret_right)
{
    const granary_read_options options = {.timeout_ms = timeout_ms};
    granary_result result;
    uint64_t count = 0;
    granary_err err = granary_graph_result(client, key, "result", &result);

    *ret_right = err == GRANARY_OK;
    for (size_t i = 0; err == GRANARY_OK && i < result.chunk_count; i++) {
        const granary_chunk_request request = {.graph = key, .target = "result", .chunk = i};
        granary_chunk chunk;

        err = granary_chunk_read_many(client, &request, 1, &options, &chunk);
        *ret_right = *ret_right && (err != GRANARY_OK || groups_are_right(chunk.frame, appends, &count));
        granary_chunk_release(client, &chunk, 1);
    }
    if (err == GRANARY_OK && *ret_right && count != appends) {
        (void)fprintf(stderr, "torture: %" PRIu64 " of %" PRIu64 " appends are there\n", count, appends);
        *ret_right = false;
    }
    if (err == GRANARY_OK) {
        granary_result_free(&result);
    }
    return err;
}

granary_err
tally_check(granary_client *client, unsigned number, const char *key, uint64_t appends, int timeout_ms, bool *ret_right)
{
    const granary_graph_options options = {.key = key};
    granary_graph *graph = count_graph(number);
    char taken[GRANARY_KEY_MAX];
    granary_err err = granary_graph_submit(client, graph, &options, taken);

    granary_graph_destroy(graph);
    err = err == GRANARY_OK ? granary_graph_wait(client, key, timeout_ms, NULL) : err;
    err = err == GRANARY_OK ? look_at_result(client, key, appends, timeout_ms, ret_right) : err;
    if (err == GRANARY_OK) {
        err = granary_graph_delete(client, key);
        err = err == GRANARY_ENOENT ? GRANARY_OK : err;
    }
    return err;
}
