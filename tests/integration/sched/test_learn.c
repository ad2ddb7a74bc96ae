/* What a client learns of a graph's sources before the graph runs: their columns and shapes, or why not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/fd.h"
#include "client/learn.h"
#include "data/tensor.h"
#include "granary/info.h"
#include "granary/sql.h"
#include "graph_json/json.h"
#include "instance.h"
#include "support/allocations.h"
#include "support/guard.h"

#define assert_ok(expression)                                                                                          \
    do {                                                                                                               \
        if ((expression) != GRANARY_OK) {                                                                              \
            fail_msg("%s: %s", #expression, granary_error_message());                                                  \
        }                                                                                                              \
    } while (0)

static char directory[] = "/tmp/granary-learn-XXXXXX"; /* the instance's */
static char files[] = "/tmp/granary-learnt-XXXXXX";

static void
write_file(const char *name, const void *bytes, size_t size)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/%s", files, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static int
set_up(void **state)
{
    static const char rows[] = "a,b,c\n1,x,2020-01-01\n2,y,2020-01-02\n";
    const granary_tensor tensor = {.dtype = GRANARY_INT16, .dims = 2, .shape = {3, 2}, .values = (int16_t[6]){0}};
    static const char statement[] = "CREATE TABLE t (k INT, v TEXT)";
    void *npy = malloc(gr_npy_measure(&tensor));

    assert_non_null(mkdtemp(files));
    assert_true(guard_start(files));
    instance_start(directory, "--executors 1 --memory 64M --state memory", (granary_client **)state);
    write_file("rows.csv", rows, sizeof rows - 1);
    gr_npy_write(&tensor, npy);
    write_file("a.npy", npy, gr_npy_measure(&tensor));
    free(npy);
    assert_ok(granary_sql_execute(*state, statement, strlen(statement), GRANARY_FOREVER, NULL));
    return 0;
}

static int
tear_down(void **state)
{
    gr_remove_tree(files);
    instance_stop(directory, *state);
    return 0;
}

/* nodes: as in JSON; @ is the directory of files */
static Granary__Graph *
read_graph(const char *nodes)
{
    struct gr_buf json = {0};
    Granary__Graph *message = NULL;

    gr_buf_addf(&json, "{\"nodes\": {");
    for (; *nodes != '\0'; nodes++) {
        gr_buf_addf(&json, *nodes == '@' ? "%s" : "%.1s", *nodes == '@' ? files : nodes);
    }
    gr_buf_addf(&json, "}}");
    assert_ok(gr_graph_from_json(json.bytes, json.size, &message));
    gr_buf_free(&json);
    return message;
}

static const struct gr_node_type *
type_of(const struct gr_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->count; i++) {
        if (strcmp(graph->nodes[i]->node->name, name) == 0) {
            return &graph->nodes[i]->type;
        }
    }
    fail_msg("no node '%s'", name);
    return NULL;
}

static void
assert_columns(const struct gr_graph *graph, const char *name, const char *columns)
{
    const struct gr_schema *schema = &type_of(graph, name)->schema;
    struct gr_buf text = {0};

    for (size_t c = 0; c < schema->count; c++) {
        gr_buf_addf(&text, "%s%s %s", c > 0 ? ", " : "", schema->fields[c].name,
                    granary_dtype_name(schema->fields[c].dtype));
    }
    assert_true(type_of(graph, name)->known);
    assert_string_equal(text.bytes, columns);
    gr_buf_free(&text);
}

static size_t
count_graphs(granary_client *client)
{
    const granary_query query = {.subject = "graphs"};
    granary_table *table = NULL;
    size_t count;

    assert_ok(granary_info(client, &query, &table));
    count = granary_table_rows(table);
    granary_table_free(table);
    return count;
}

/* Two nodes that read the same, a table that changes, an array, and what needs no look; the last is read by nobody. */
static const char many[] = "\"f\": {\"op\": \"read_csv\", \"path\": \"@/rows.csv\"},"
                           "\"?0\": {\"op\": \"read_csv\", \"path\": \"@/rows.csv\"},"
                           "\"j\": {\"op\": \"join\", \"inputs\": [\"f\", \"?0\"], \"on\": \"a\"},"
                           "\"?1\": {\"op\": \"table\", \"name\": \"t\"},"
                           "\"s\": {\"op\": \"select\", \"input\": \"?1\", \"columns\": \"v\"},"
                           "\"n\": {\"op\": \"read_npy\", \"path\": \"@/a.npy\"},"
                           "\"m\": {\"op\": \"sum\", \"input\": \"n\", \"axes\": [0]},"
                           "\"z\": {\"op\": \"zeros\", \"shape\": [4]}";

static void
sources_have_their_types(void **state)
{
    Granary__Graph *message = read_graph(many);
    struct gr_graph *graph = NULL;

    assert_ok(gr_learn(*state, message, &graph));
    assert_columns(graph, "f", "a int64, b string, c date");
    assert_columns(graph, "?0", "a int64, b string, c date");
    assert_columns(graph, "j", "a int64, b_x string, c_x date, b_y string, c_y date");
    assert_columns(graph, "s", "v string");
    assert_int_equal(type_of(graph, "n")->dtype, GRANARY_INT16);
    assert_int_equal(type_of(graph, "n")->shape[0], 3);
    assert_int_equal(type_of(graph, "m")->dims, 1);
    assert_int_equal(count_graphs(*state), 0);
    gr_graph_destroy(graph);
    granary__graph__free_unpacked(message, NULL);
}

/* A part of a tensor has rows of its own; a part of a file has its columns. */
static void
parts_have_their_types(void **state)
{
    Granary__Graph *message =
        read_graph("\"n\": {\"op\": \"read_npy\", \"path\": \"@/a.npy\", \"part\": 0, \"parts\": 2},"
                   "\"m\": {\"op\": \"read_npy\", \"path\": \"@/a.npy\", \"part\": 1, \"parts\": 2},"
                   "\"f\": {\"op\": \"read_csv\", \"path\": \"@/rows.csv\", \"part\": 1, \"parts\": 2}");
    struct gr_graph *graph = NULL;

    assert_ok(gr_learn(*state, message, &graph));
    assert_int_equal(type_of(graph, "n")->shape[0], 2);
    assert_int_equal(type_of(graph, "m")->shape[0], 1);
    assert_columns(graph, "f", "a int64, b string, c date");
    gr_graph_destroy(graph);
    granary__graph__free_unpacked(message, NULL);
}

static void
assert_refused(granary_client *client, const char *nodes, granary_err err, const char *words)
{
    Granary__Graph *message = read_graph(nodes);
    struct gr_graph *graph = NULL;

    assert_int_equal(gr_learn(client, message, &graph), err);
    assert_null(graph);
    if (strstr(granary_error_message(), words) == NULL) {
        fail_msg("'%s' is not in: %s", words, granary_error_message());
    }
    assert_int_equal(count_graphs(client), 0);
    granary__graph__free_unpacked(message, NULL);
}

static void
what_is_wrong_is_said_of_its_node(void **state)
{
    assert_refused(*state, "\"f\": {\"op\": \"read_csv\", \"path\": \"@/none.csv\"}", GRANARY_ENOENT,
                   "node 'f' (read_csv): ");
    assert_refused(*state, "\"n\": {\"op\": \"read_npy\", \"path\": \"@/none.npy\"}", GRANARY_ENOENT,
                   "node 'n' (read_npy): ");
    assert_refused(*state, "\"n\": {\"op\": \"read_npy\", \"path\": \"@/rows.csv\"}", GRANARY_ETYPE,
                   "node 'n' (read_npy): ");
    assert_refused(*state, "\"t\": {\"op\": \"table\", \"name\": \"none\"}", GRANARY_ENOENT, "node 't' (table): ");
    assert_refused(*state,
                   "\"f\": {\"op\": \"read_csv\", \"path\": \"@/rows.csv\"},"
                   "\"s\": {\"op\": \"select\", \"input\": \"f\", \"columns\": \"d\"}",
                   GRANARY_ENOENT, "node 's' (select): ");
    assert_refused(*state, "\"f\": {\"op\": \"filter\", \"input\": \"g\", \"where\": \"a\"}", GRANARY_ENOENT, "'g'");
}

/* Every allocation of this process fails once, or all that there are in so many. */
static void
without_memory_nothing_is_learnt(void **state)
{
    Granary__Graph *message = read_graph(many);
    bool failed = true;

    for (long n = 0; failed; n += 1 + n / 16) {
        struct gr_graph *graph = NULL;
        granary_err err;

        allocations_left = n;
        err = gr_learn(*state, message, &graph);
        failed = allocations_left < 0;
        allocations_left = -1;
        assert_true(err == GRANARY_OK ? graph != NULL : failed && graph == NULL);
        gr_graph_destroy(graph);
    }
    granary__graph__free_unpacked(message, NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_have_their_types),
        cmocka_unit_test(parts_have_their_types),
        cmocka_unit_test(what_is_wrong_is_said_of_its_node),
        cmocka_unit_test(without_memory_nothing_is_learnt),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
