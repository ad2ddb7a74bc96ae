/*
 * Build a graph in C, run it, and read the result where it lies.
 *
 *   cc graph.c $(pkg-config --cflags --libs granary) -o graph
 *   granary up && ./graph birdstrikes.csv
 */
#include <granary/granary.h>
#include <inttypes.h>
#include <stdio.h>

static int
fail(const char *what, granary_err err)
{
    fprintf(stderr, "%s: %s\n", what, granary_error_message());
    return granary_error_exit_status(err);
}

/* The costliest species of a file of bird strikes. */
static granary_graph *
build(const char *path)
{
    granary_graph *graph = granary_graph_create();
    granary_node strikes = granary_graph_add(graph, "strikes", "read_csv", NULL, 0);
    granary_node species = granary_graph_add(graph, "species", "groupby", &strikes, 1);
    granary_node by_cost = granary_graph_add(graph, "by_cost", "sort", &species, 1);
    granary_node top = granary_graph_add(graph, "top", "head", &by_cost, 1);

    granary_node_set_string(graph, strikes, "path", path);
    granary_node_set_strings(graph, species, "keys", (const char *[]){"Wildlife Species"}, 1);
    granary_node_set_entry(graph, species, "aggregate", "total", "sum(Cost Total $)");
    granary_node_set_strings(graph, by_cost, "by", (const char *[]){"total"}, 1);
    granary_node_set_bool(graph, by_cost, "descending", true);
    granary_node_set_int(graph, top, "rows", 3);
    granary_graph_target(graph, top);
    return graph;
}

/* The result's one chunk is mapped, not copied: the strings printed here lie in shared memory. */
static granary_err
print_result(granary_client *client, const char *key)
{
    granary_result result;
    granary_view view;
    granary_frame *frame;
    granary_err err = granary_graph_result(client, key, "top", &result);

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_object_get(client, result.chunks[0], GRANARY_FOREVER, &view);
    granary_result_free(&result);
    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_frame_open(&view, &frame);
    if (err == GRANARY_OK) {
        const granary_column *names = granary_frame_column_named(frame, "Wildlife Species");
        const granary_column *totals = granary_frame_column_named(frame, "total");

        for (int64_t row = 0; row < granary_frame_rows(frame); row++) {
            size_t length;
            const char *name = granary_column_text(names, row, &length);

            printf("%-24.*s %10" PRId64 "\n", (int)length, name == NULL ? "" : name,
                   ((const int64_t *)totals->values)[row]);
        }
        granary_frame_close(frame);
    }
    granary_object_release(client, &view);
    return err;
}

int
main(int argc, char **argv)
{
    granary_client *client;
    granary_graph *graph;
    char key[GRANARY_KEY_MAX];
    granary_err err;

    if (argc != 2) {
        fprintf(stderr, "usage: graph FILE.csv\n");
        return 2;
    }
    err = granary_connect(NULL, &client);
    if (err != GRANARY_OK) {
        return fail("connect", err);
    }
    graph = build(argv[1]);
    err = granary_graph_submit(client, graph, NULL, key);
    granary_graph_destroy(graph);
    if (err == GRANARY_OK) {
        err = granary_graph_wait(client, key, GRANARY_FOREVER, NULL);
        if (err == GRANARY_OK) {
            err = print_result(client, key);
        }
        if (err != GRANARY_OK) {
            fail(argv[1], err);
        }
        (void)granary_graph_delete(client, key);
    } else {
        fail(argv[1], err);
    }
    granary_disconnect(client);
    return granary_error_exit_status(err);
}
