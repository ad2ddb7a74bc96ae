/*
 * Columns of a C program as a table, asked in SQL.
 *
 *   cc sql.c $(pkg-config --cflags --libs granary) -o sql
 *   granary up && ./sql
 *
 * The table stays: `granary sql 'SELECT * FROM cities'` finds it, too. `granary forget cities` and `granary rm
 * name:cities` undo it.
 */
#include <granary/granary.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Columns in Arrow's layout become one object; a graph that is kept under a key makes a table of it. It names the
 * object and copies nothing: the object stays as long as the table. */
static granary_err
put_cities(granary_client *client)
{
    static const int32_t offsets[] = {0, 3, 7, 11, 15};
    static const int64_t people[] = {1500000, 3700000, 1800000, 0};
    static const uint8_t known[] = {0x7}; /* the last one is null */
    const granary_column columns[] = {
        {.name = "city", .dtype = GRANARY_STRING, .rows = 4, .values = "UlmRomeOsloBonn", .offsets = offsets},
        {.name = "people", .dtype = GRANARY_INT64, .rows = 4, .values = people, .validity = known},
    };
    granary_graph_options options = {.key = "cities"};
    granary_graph *graph;
    granary_node table;
    granary_id id = granary_id_from_name(NULL, "cities");
    char text[GRANARY_ID_TEXT + 1];
    char key[GRANARY_KEY_MAX];
    granary_err err;

    (void)granary_graph_delete(client, "cities"); /* of the last time */
    (void)granary_object_delete(client, id, 0);
    err = granary_frame_put(client, columns, 2, 4, &id);
    if (err != GRANARY_OK) {
        return err;
    }
    granary_id_format(id, text);
    graph = granary_graph_create();
    table = granary_graph_add(graph, "table", "table", NULL, 0);
    granary_node_set_strings(graph, table, "ids", (const char *[]){text}, 1);
    granary_graph_target(graph, table);
    err = granary_graph_run(client, graph, &options, GRANARY_FOREVER, key, NULL);
    granary_graph_destroy(graph);
    return err;
}

static granary_err
print_chunk(granary_client *client, granary_id id)
{
    granary_view view;
    granary_frame *frame;
    granary_err err = granary_object_get(client, id, GRANARY_FOREVER, &view); /* mapped, not copied */

    if (err != GRANARY_OK) {
        return err;
    }
    err = granary_frame_open(&view, &frame);
    if (err == GRANARY_OK) {
        const granary_column *cities = granary_frame_column_named(frame, "city");
        const granary_column *people = granary_frame_column_named(frame, "people");

        for (int64_t row = 0; row < granary_frame_rows(frame); row++) {
            size_t length;
            const char *city = granary_column_text(cities, row, &length);

            printf("%-8.*s %8" PRId64 "\n", (int)length, city == NULL ? "" : city,
                   ((const int64_t *)people->values)[row]);
        }
        granary_frame_close(frame);
    }
    granary_object_release(client, &view);
    return err;
}

static granary_err
ask(granary_client *client, const char *sql)
{
    granary_graph *graph;
    granary_result result;
    char key[GRANARY_KEY_MAX];
    granary_err err = granary_sql_graph(client, sql, strlen(sql), &graph);

    if (err != GRANARY_OK) {
        return err; /* the message has line, column and a caret */
    }
    err = granary_graph_run(client, graph, NULL, GRANARY_FOREVER, key, NULL);
    granary_graph_destroy(graph);
    if (err != GRANARY_OK) {
        return granary_sql_error(client, err, sql, strlen(sql)); /* so has this one */
    }
    err = granary_graph_result(client, key, GRANARY_SQL_TARGET, &result);
    if (err == GRANARY_OK) {
        for (size_t i = 0; i < result.chunk_count && err == GRANARY_OK; i++) {
            err = print_chunk(client, result.chunks[i]);
        }
        granary_result_free(&result);
    }
    (void)granary_graph_delete(client, key);
    return err;
}

int
main(void)
{
    granary_client *client;
    granary_err err = granary_connect(NULL, &client);

    if (err == GRANARY_OK) {
        err = put_cities(client);
        if (err == GRANARY_OK) {
            err = ask(client, "SELECT city, people FROM cities WHERE people > 1600000 ORDER BY people DESC");
        }
        granary_disconnect(client);
    }
    if (err != GRANARY_OK) {
        fprintf(stderr, "sql: %s\n", granary_error_message());
    }
    return granary_error_exit_status(err);
}
