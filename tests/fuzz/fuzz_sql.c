/* Any text as a statement over two files: translated into a graph that passes the check of graphs, or refused. A statement
 * that changes a table is planned as if that had the columns of a.csv. The working directory becomes that of the files:
 * give libFuzzer absolute paths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/builder.h"
#include "data/frame.h"
#include "fuzz.h"
#include "granary/sql.h"
#include "graph/graph.h"
#include "sql/execute/change.h"
#include "sql/parse/parse.h"

static void
make_files(void)
{
    static char directory[] = "/tmp/granary-fuzz-sql-XXXXXX";
    static const char *const files[][2] = {
        {"a.csv", "id,x,name,day\n1,2,one,2020-01-01\n"},
        {"b.csv", "id,y,name\n1,2,one\n"},
    };

    if (mkdtemp(directory) == NULL || chdir(directory) != 0) {
        abort();
    }
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(files[i][0], "w");

        if (file == NULL || fputs(files[i][1], file) < 0 || fclose(file) != 0) {
            abort();
        }
    }
}

static void
remove_files(void)
{
    char directory[128];

    if (getcwd(directory, sizeof directory) != NULL) {
        (void)unlink("a.csv");
        (void)unlink("b.csv");
        (void)rmdir(directory);
    }
}

/* A good statement's graph is one that graphs' check takes. */
static void
check_graph(granary_graph *graph)
{
    Granary__Graph *message = NULL;
    struct gr_graph *checked = NULL;

    if (gr_builder_finish(graph, &message) != GRANARY_OK) {
        abort();
    }
    if (gr_graph_create(message, &checked) != GRANARY_OK) {
        (void)fprintf(stderr, "%s\n", granary_error_message());
        abort(); /* *takes* the message when it is good */
    }
    gr_graph_destroy(checked);
}

static granary_frame *
make_schema(void)
{
    static const struct {
        const char *name;
        granary_dtype dtype;
    } columns[] = {{"id", GRANARY_INT64}, {"x", GRANARY_INT32}, {"name", GRANARY_STRING}, {"day", GRANARY_DATE}};
    granary_frame *schema = gr_frame_create(4, 0);

    for (size_t i = 0; i < 4; i++) {
        struct gr_column column;

        if (gr_column_alloc(columns[i].dtype, 0, 0, false, &column) != GRANARY_OK ||
            gr_frame_set(schema, i, columns[i].name, &column) != GRANARY_OK) {
            abort();
        }
    }
    return schema;
}

/* A statement that changes a table. */
static void
plan_change(const char *text, size_t length, const granary_frame *schema)
{
    struct sql_statement q = {.text = text, .length = length};
    const struct sql_change *change;

    q.region = gr_region_create();
    q.graph = granary_graph_create();
    if (q.region == NULL || q.graph == NULL) {
        abort();
    }
    change = sql_parse(&q).change;
    if (change != NULL && change->kind >= SQL_CREATE_AS && change->kind <= SQL_UPDATE) {
        if (sql_change_plan(&q, change, change->kind == SQL_CREATE_AS ? NULL : schema)) {
            check_graph(q.graph);
        } else if (q.err == GRANARY_OK) {
            abort(); /* refused without a word */
        }
    }
    granary_graph_destroy(q.graph);
    gr_region_destroy(q.region);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static bool ready;
    const char *text = size > 0 ? (const char *)bytes : "";
    granary_graph *graph = NULL;

    if (!ready) {
        make_files();
        (void)atexit(remove_files);
        ready = true;
    }
    if (granary_sql_graph(NULL, text, size, &graph) == GRANARY_OK) {
        check_graph(graph);
    } else {
        granary_frame *schema = make_schema();

        plan_change(text, size, schema);
        gr_frame_destroy(schema);
    }
    granary_graph_destroy(graph);
    return 0;
}
