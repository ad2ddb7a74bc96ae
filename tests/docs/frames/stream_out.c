/* DuckDB's place is taken by a consumer that counts rows. */
typedef struct ArrowArrayStream *duckdb_arrow_stream;

static void
duckdb_arrow_scan(void *connection, const char *name, duckdb_arrow_stream stream)
{
    struct ArrowArray array = {0};
    int64_t rows = 0;

    assert(connection == NULL && strcmp(name, "f") == 0);
    while (stream->get_next(stream, &array) == 0 && array.release != NULL) {
        rows += array.length;
        array.release(&array);
    }
    assert(rows == 3);
}

int
main(void)
{
    void *connection = NULL;
    char key[GRANARY_KEY_MAX];
    granary_graph *graph = granary_graph_create();
    granary_client *client;
    granary_node f = granary_graph_add(graph, "f", "read_csv", NULL, 0);

    assert(granary_connect(NULL, &client) == GRANARY_OK);
    granary_node_set_string(graph, f, "path", "trips.csv");
    granary_graph_target(graph, f);
    {
        BLOCK;
    }
    granary_graph_delete(client, key);
    granary_graph_destroy(graph);
    granary_disconnect(client);
    return 0;
}
